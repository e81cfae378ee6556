"""Workers that are no scripts: a program in C++ and one in Java, compiled here."""

import json
import subprocess

import pytest

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


@pytest.mark.parametrize("make,word", [(_cpp, "CPP"), (_java, "JAVA")], ids=["C++", "Java"])
def test_a_compiled_program_is_a_worker(fronts, make, word):
    program = make(fronts)
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
