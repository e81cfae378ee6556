"""`slider`: several commands at once, options of verbs, and instances that fail."""

import json
import os
import signal
import subprocess
import time

from front_support import BIN
from slider_front import (MINUTE, SCRIPT, SHELL_LINE, TEXTS_LINE, _here, texts_files,  # noqa: F401
                          write_package, write_shell)
from ydl_cluster.patience import Limit


def run_at_once(here, *lines):
    """Commands that begin together: their exit codes, and what they printed."""
    started = [subprocess.Popen([str(BIN / "slider"), *map(str, line)], env=here.env, cwd=here.work, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for line in lines]
    return [(process.communicate(timeout=MINUTE), process.returncode) for process in started]


def test_of_several_at_once_one_creates_and_one_starts(here):
    """Otherwise a job would run that nobody finds again."""
    write_shell(here.work / "sh", "sleep 3000")
    done = run_at_once(here, *[("create", "o1", *SHELL_LINE, "-q")] * 4)
    assert sorted(code for _, code in done) == [0, 75, 75, 75], done
    job = next(out.strip() for (out, _), code in done if code == 0)
    assert [path.name for path in here.state.glob("ydl/jobs/*")] == [job]
    here.slider("stop", "o1", "--force", check=0)
    done = run_at_once(here, *[("start", "o1", "-q")] * 4)
    assert sorted(code for _, code in done) == [0, 73, 73, 73], done
    again = next(out.strip() for (out, _), code in done if code == 0)
    assert sorted(path.name for path in here.state.glob("ydl/jobs/*")) == sorted([job, again])
    assert here.slider("list", "o1", "--live", check=0).stdout.split()[2] == again


def test_one_that_is_killed_as_it_starts_can_be_started_again(here):
    """Even when its agent comes after the end."""
    write_shell(here.work / "sh", "sleep 3000")
    here.slider("build", "s1", *SHELL_LINE, check=0)
    for _ in range(8):
        here.slider("start", "s1", "-q", check=0)
        here.slider("stop", "s1", "--force", check=0)
        limit = Limit(5)
        while here.processes():
            assert not limit.over(), here.processes()
            time.sleep(0.01)


def test_a_command_that_was_killed_is_not_in_the_way_for_ever(here):
    write_shell(here.work / "sh", "sleep 3000")
    here.slider("build", "k1", *SHELL_LINE, check=0)
    busy = here.state / "ydl" / "slider" / "k1" / "busy"
    busy.touch()
    assert "another command is starting or changing 'k1'" in here.slider("start", "k1", check=73).stderr
    here.slider("update", "k1", "--component", "server", 1, check=73)
    long_ago = time.time() - 11 * MINUTE
    os.utime(busy, (long_ago, long_ago))
    here.slider("update", "k1", "--component", "server", 1, check=0)
    here.slider("start", "k1", "-q", check=0)
    assert not busy.exists()


def test_options_besides_have_their_effect(here):
    write_shell(here.work / "sh", "sleep 3000", instances=1)
    here.slider("create", "e1", *SHELL_LINE, "--wait", 300, "-q", check=0)
    assert "server:0" in here.slider("list", "--containers", "--version", "1", check=0).stdout
    assert "server:0" not in here.slider("list", "--containers", "--version", "2", check=0).stdout
    assert here.slider("registry", "--list", check=0).stdout == "e1\n"
    assert here.slider("registry", "--list", "--servicetype", "org-apache-slider", check=0).stdout == "e1\n"
    here.slider("registry", "--list", "--servicetype", "other", check=44)
    here.slider("registry", "--list", "--user", "somebody", check=44)
    here.slider("registry", "--name", "e1", "--listconf", "--user", "../root", check=2)
    assert here.slider("registry", "--name", "e1", "--listexp", check=0).stdout == "server\n"
    here.slider("registry", "--name", "e1", "--getexp", "server", "--out", "x.json", check=0)
    assert len(json.loads((here.work / "x.json").read_text())["entries"]["url"]) == 1
    assert (here.work / "x.json").stat().st_mode & 0o777 == 0o600
    here.slider("registry", "--name", "e1", "--getexp", "no", check=44)
    here.slider("stop", "e1", "--message", "enough", check=0)
    assert json.loads(here.slider("status", "e1", check=0).stdout)["info"]["info.stop.message"] == "enough"
    here.slider("start", "e1", "-q", check=0)
    assert json.loads(here.slider("status", "e1", check=0).stdout)["info"]["info.stop.message"] is None
    done = here.slider("stop", "e1", "--force", "-S", "a=b", check=0)
    assert "-S has no effect: ydl does not use Java" in done.stderr


# ---- failures ----

LIFE = """
import os, sys, time
with open(os.environ["LIVES"] + "/" + "-".join(sys.argv[1:3]), "a") as file:
    print(os.getpid(), os.environ["YDL_GENERATION"], os.environ["YDL_PORT"], file=file)
while not os.path.exists(os.environ["LIVES"] + "/finish"):
    time.sleep(0.05)
while sys.argv[1] == "ps":
    time.sleep(1)
"""


class Lived:
    """The text's application, whose instances write down who they were."""

    def __init__(self, here, *options):
        self.here, self.lives = here, here.tmp / "lives"
        self.lives.mkdir()
        write_package(here.work / "app-packages" / "tensorflow", texts_files(), trainer=LIFE,
                      script=SCRIPT.replace('print("STOP")', 'open(os.environ["LIVES"] + "/stopped", "a").write('
                                            'Script.get_config()["componentName"] + " ")'))
        self.job = here.slider("create", "g1", *TEXTS_LINE, "--env", f"LIVES={self.lives}", "-q", *options,
                               check=0).stdout.strip()

    def of(self, name: str) -> list[list[int]]:
        """Number, generation and port of each life."""
        path = self.lives / name
        text = path.read_text() if path.exists() else ""
        return [[int(word) for word in line.split()] for line in text.splitlines(keepends=True) if line[-1] == "\n"]

    def wait(self, **counts: int):
        """Until each has lived so often."""
        limit = Limit(MINUTE)
        while any(len(self.of(name.replace("_", "-"))) < n for name, n in counts.items()):
            assert not limit.over(), self.here.run("ydl", "logs", self.job).stdout
            time.sleep(0.02)

    def exports(self, group: str) -> list[str]:
        """What is published."""
        entries = json.loads(self.here.slider("exports", "g1", group, check=0).stdout)["entries"]
        return [entry["value"] for entry in entries["host_port"]]

    def finish(self):
        """All did what there was to do."""
        (self.lives / "finish").touch()
        self.here.run("ydl", "wait", self.job, check=0, timeout=MINUTE)


def test_a_killed_instance_has_the_whole_cluster_start_again(here):
    app = Lived(here)
    app.wait(ps_0=1, ps_1=1, worker_0=1, worker_1=1)
    os.kill(app.of("ps-1")[0][0], signal.SIGKILL)
    app.wait(ps_0=2, ps_1=2, worker_0=2, worker_1=2)
    names = ("ps-0", "ps-1", "worker-0", "worker-1")
    assert {app.of(name)[1][1] for name in names} == {1}
    assert {int(value.rpartition(":")[2]) for value in app.exports("ps")} == {
        app.of(name)[1][2] for name in ("ps-0", "ps-1")}
    app.finish()
    assert all(len(app.of(name)) == 2 for name in names)
    assert (app.lives / "stopped").read_text().split()[-2:] == ["ps", "ps"]


def test_with_restart_task_it_comes_back_alone_on_its_port(here):
    app = Lived(here, "--resopt", "ydl.restart", "task")
    app.wait(ps_0=1, ps_1=1, worker_0=1, worker_1=1)
    published = app.exports("worker")
    os.kill(app.of("worker-1")[0][0], signal.SIGKILL)
    app.wait(worker_1=2)
    first, second = app.of("worker-1")
    assert first[1:] == second[1:] and app.exports("worker") == published
    app.finish()
    assert [len(app.of(name)) for name in ("ps-0", "ps-1", "worker-0", "worker-1")] == [1, 1, 1, 2]


def test_a_stop_is_the_scripts_own(here):
    app = Lived(here)
    app.wait(ps_0=1, ps_1=1, worker_0=1, worker_1=1)
    here.slider("stop", "g1", check=0)
    assert sorted((app.lives / "stopped").read_text().split()) == ["ps", "ps", "worker", "worker"]
    assert "KILLED" in here.slider("list", "g1", check=0).stdout
