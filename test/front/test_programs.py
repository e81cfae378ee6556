"""Workers that are no scripts: programs in C++, Java and Go, compiled here."""

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from front_support import BIN, call

# Says what it was told, and ends with the code that its first word names.
CPP = """
#include <cstdlib>
#include <iostream>
#include <unistd.h>
int main(int argc, char **argv)
{
    if (std::string(std::getenv("DMLC_ROLE")) != "worker")
        for (;;)
            pause();
    std::cout << "CPP " << std::getenv("DMLC_TASK_ID") << " of " << std::getenv("DMLC_NUM_WORKER") << " at "
              << std::getenv("DMLC_PS_ROOT_URI") << ":" << std::getenv("DMLC_PS_ROOT_PORT") << " [" << argv[2]
              << "]" << std::endl;
    return std::atoi(argv[1]);
}
"""
JAVA = """
public class Worker {
    public static void main(String[] args) throws Exception {
        if (!System.getenv("DMLC_ROLE").equals("worker"))
            Thread.sleep(Long.MAX_VALUE);
        System.out.println("JAVA " + System.getenv("DMLC_TASK_ID") + " of " + System.getenv("DMLC_NUM_WORKER") + " at "
            + System.getenv("DMLC_PS_ROOT_URI") + ":" + System.getenv("DMLC_PS_ROOT_PORT") + " [" + args[1] + "]");
        System.exit(Integer.parseInt(args[0]));
    }
}
"""


def _cpp(fronts):
    fronts.write("worker.cpp", CPP)
    subprocess.run(["c++", "-o", "worker", "worker.cpp"], cwd=fronts.work, check=True)
    return "worker"


def _java(fronts):
    fronts.write("Worker.java", JAVA)
    subprocess.run(["javac", "Worker.java"], cwd=fronts.work, check=True)
    subprocess.run(["jar", "--create", "--file", "worker.jar", "--main-class", "Worker", "Worker.class"],
                   cwd=fronts.work, check=True)
    return "worker.jar"


@pytest.fixture(scope="session")
def go_program(tmp_path_factory) -> Path:
    """Go's own library is in it, as in what other compilers of Go make."""
    program = tmp_path_factory.mktemp("go") / "worker"
    source = Path(__file__).with_name("worker.go")
    subprocess.run(["gccgo-12", "-static-libgo", "-o", program, source], check=True)
    return program


def _go(fronts, program):
    shutil.copy(program, fronts.work)
    return "worker"


@pytest.mark.parametrize("make,word", [(_cpp, "CPP"), (_java, "JAVA")], ids=["C++", "Java"])
def test_a_compiled_program_is_a_worker(fronts, make, word):
    _works(fronts, make(fronts), word)


@pytest.mark.full
def test_so_is_one_in_go(fronts, go_program):
    _works(fronts, _go(fronts, go_program), "GO")


def _works(fronts, program, word):
    done = fronts.run("ydl-mx", "local", "-n", "2", "-s", "1", "--native", "no", program, "0", "a b", check=0)
    said = sorted(line.partition("│ ")[2] for line in done.stdout.splitlines() if word in line)
    assert [line.partition(" at ")[0] for line in said] == [f"{word} 0 of 2", f"{word} 1 of 2"]
    places = {line.partition(" at ")[2] for line in said}
    assert len(places) == 1
    place, _, rest = places.pop().partition(" ")
    assert rest == "[a b]" and place.rpartition(":")[2].isdigit() and place[0].isdigit()
    done = fronts.run("ydl-mx", "local", "-n", "2", "-s", "1", "--native", "no", program, "41", "x", check=41)
    assert "exit code 41" in done.stderr


def test_a_compiled_program_is_told_of_its_cluster_as_tensorflow_is(fronts):
    fronts.write("show.cpp", "#include <cstdlib>\n#include <iostream>\n"
                             'int main() { std::cout << std::getenv("TF_CONFIG") << std::endl; return 0; }\n')
    subprocess.run(["c++", "-o", "show", "show.cpp"], cwd=fronts.work, check=True)
    done = fronts.run("ydl", "run", "--framework", "tensorflow", "-n", "2", "--", "./show", check=0)
    found = [json.loads(line.partition("│ ")[2]) for line in done.stdout.splitlines()]
    assert sorted((one["task"]["type"], one["task"]["index"]) for one in found) == [("worker", 0), ("worker", 1)]
    assert all(one["cluster"] == found[0]["cluster"] for one in found) and len(found[0]["cluster"]["worker"]) == 2


def _met(out: str, count: int) -> list[str]:
    """What all workers in Go say once they have met."""
    line = f"MET {', '.join(f'of {i}' for i in range(count))}, sum {sum(range(count))}"
    said = sorted(text.partition("│ ")[2] for text in out.splitlines())
    assert said.count(line) == count, out
    return [text for text in said if not text.startswith("MET")]


def _ends_with_grace(start, count: int):
    """Ctrl-C when all of them are there: each has the time to say that it ends."""
    run = start("--grace", "10m", "--", "./worker", "stay", "x")
    lines = []
    while sum("STAYS" in line for line in lines) < count:
        lines.append(run.stdout.readline())
        assert lines[-1], lines
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert sorted(line.partition("│ ")[2] for line in out.splitlines()) == [
        f"ENDS, as number {i + 1}" for i in range(count)]


def test_workers_in_go_meet_by_the_store_and_end_with_grace(fronts, go_program):
    _go(fronts, go_program)
    done = fronts.run("ydl", "run", "-n", 3, "--", "./worker", "0", "a b", check=0)
    assert _met(done.stdout, 3) == [f"GO {i} of 3 at : [a b]" for i in range(3)]
    done = fronts.run("dmlc-submit", "--cluster", "local", "--num-workers", 2, "./worker", "0", "x", check=0)
    assert len(_met(done.stdout, 2)) == 2
    _ends_with_grace(lambda *words: subprocess.Popen(
        [BIN / "ydl", "run", "-n", "2", *words], cwd=fronts.work, env=fronts.env, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL), 2)


@pytest.mark.full
def test_workers_in_go_run_on_a_cluster(jobs, go_program):
    _go(jobs, go_program)
    yarn = ("run", "--on", "yarn", "--mem", "128m", "--files", "worker")
    done = jobs.run(*yarn, "-n", 3, "--", "./worker", "0", "a b", check=0)
    assert _met(done.stdout, 3) == [f"GO {i} of 3 at : [a b]" for i in range(3)]
    done = call("ydl-mx", ["yarn", "-n", 2, "-s", 1, "--mem", "128m", "--native", "no", "worker", "0", "x"],
                jobs.env(), jobs.work, 120)
    assert done.returncode == 0, done.stderr
    assert [text.partition(" at ")[0] for text in _met(done.stdout, 2)] == ["GO 0 of 2", "GO 1 of 2"]
    _ends_with_grace(lambda *words: jobs.start(*yarn, "-n", 2, *words), 2)
