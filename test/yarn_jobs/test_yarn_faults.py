"""What happens to a job on YARN when something of it is killed."""

import contextlib
import json
import os
import signal
import time
from pathlib import Path

import pytest
from ydl_cluster.patience import end_if_late, stretched

LATE_S = 300
NOTICED_S = 10 + 20  # so soon we know of what is lost, whatever YARN knows; a machine may stand still
STEPS = """
import os, socket, sys, time
if "YDL_PORT" in os.environ:
    own = socket.socket()
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.bind(("0.0.0.0", int(os.environ["YDL_PORT"])))
    own.listen()
    print("port", os.environ["YDL_PORT"], os.environ["YDL_ATTEMPT"], flush=True)
for i in range(int(sys.argv[1])):
    while i == int(sys.argv[1]) - 1 and not os.path.exists(sys.argv[2]):
        time.sleep(0.05)  # the last step is for when the test has done its part, however slow it is
    print("step", i, os.getpid(), os.environ["YDL_ATTEMPT"], flush=True)
    time.sleep(0.2)
"""


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def agent_of(pid):
    """The agent above a task."""
    while b"ydl-node\0agent" not in Path(f"/proc/{pid}/cmdline").read_bytes():
        pid = parent(pid)
    return pid


def noticed(failure, began):
    """Seconds from `began` (by time.time()) to what the events log says of it."""
    return failure["t"] / 1000 - began


class Run:
    """A job that counts, followed by its client. It does not end before `end`, unless it is ended."""

    SIZE = ("-n", 2, "--mem", "128m")

    def __init__(self, jobs, steps=60, *options, program=()):
        (jobs.work / "steps.py").write_text(STEPS)
        self.jobs, self.go = jobs, jobs.work / "go"
        self.process = jobs.start("run", "--on", "yarn", *self.SIZE, *options, "--", "python3", "-u",
                                  *(program or ("steps.py", steps, self.go)))
        self.lines = []
        end_if_late(self.process, LATE_S)  # nobody waits for ever for a line
        self.until(lambda line: "worker:0│ step 2" in line)

    def until(self, wanted):
        """Reads on until a line is as wanted."""
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if wanted(line):
                return
        raise AssertionError(f"ended: {self.lines}\n{self.process.stderr.read()}")

    def end(self, code=0, go=True):
        if go:
            self.go.touch()
        # communicate() would lose what the pipe's reader has already in its hands.
        self.lines += [line.rstrip("\n") for line in self.process.stdout]
        _, err = self.process.communicate(timeout=120)
        assert self.process.returncode == code, f"{self.process.returncode}\n{self.lines}\n{err}"
        return err

    def steps(self, task):
        """(number, process, attempt) of every step that the client showed."""
        return [tuple(map(int, line.split()[-3:])) for line in self.lines
                if line.startswith(f"{task}│ step")]

    def pid(self, text):
        """One process of the job with this in its command line."""
        found = sorted(self.jobs.processes(text))
        assert found, text
        return found[-1]

    def agents(self):
        """The agents, without the processes that stand above them."""
        found, above = self.jobs.processes("ydl-node agent"), set()
        for pid in found:
            with contextlib.suppress(FileNotFoundError):  # it has just gone
                above.add(parent(pid))
        return [pid for pid in sorted(found) if pid not in above]

    def ports(self, task):
        """(port, attempt) of each time that it listened there."""
        return [tuple(map(int, line.split()[-2:])) for line in self.lines
                if line.startswith(f"{task}│ port")]

    def events(self):
        text = self.jobs.run("events", "--json", self.jobs.apps()[0], check=0).stdout
        return [json.loads(line) for line in text.splitlines()]

    def failures(self, *keys):
        """These keys of every failure in the events log, in the order of time."""
        return [tuple(e.get(key) for key in keys) for e in self.events()
                if e["event"] == "failure"]

    def status(self):
        return json.loads(self.jobs.run("status", "--json", self.jobs.apps()[0], check=0).stdout)

    def succeeded(self):
        """It did, for YARN and for us, and there is no story to tell of it."""
        page, status = self.jobs.ended(), self.status()
        assert (page["state"], page["finalStatus"]) == ("FINISHED", "SUCCEEDED"), page
        assert (status["state"], status["exit"], status["story"]) == ("SUCCEEDED", 0, None), status

    def nothing_failed(self):
        self.succeeded()
        assert self.failures("task", "class") == []


def test_a_new_master_takes_over_and_training_goes_on(jobs):
    run = Run(jobs)
    os.kill(run.pid("ydl-node master"), signal.SIGKILL)
    run.end()
    for task in ("worker:0", "worker:1"):
        steps = run.steps(task)
        assert [n for n, _, _ in steps] == list(range(60))
        assert len({(pid, attempt) for _, pid, attempt in steps}) == 1
    run.nothing_failed()
    assert [e["attempt"] for e in run.events() if e["event"] == "master"] == [1, 2]


class Listening(Run):
    """Each worker has a port."""

    SIZE = ("--role", "worker=2,memory=128m,ports=1")


def test_a_killed_agent_comes_back_in_its_container(jobs):
    run = Listening(jobs, 40, "--restart", "task")
    os.kill(run.agents()[0], signal.SIGKILL)
    run.end()
    attempts = {task: sorted({a for _, _, a in run.steps(task)}) for task in ("worker:0", "worker:1")}
    assert sorted(attempts.values()) == [[0], [0, 1]]
    again = next(task for task, a in attempts.items() if len(a) == 2)
    assert [n for n, _, a in run.steps(again) if a == 1] == list(range(40))
    up = [e["container"] for e in run.events() if e["event"] == "agent" and e["state"] == "up"]
    assert len(up) == 3 and len(set(up)) == 2
    first, second = run.ports(again)
    assert first == (second[0], 0) and second[1] == 1
    assert run.failures("task", "class", "counted", "attempt") == [(again, "node", False, 0)]
    run.succeeded()


class Told(Run):
    """Tasks that are told each other's addresses."""

    SIZE = ("--framework", "tensorflow", "-n", 2, "-s", 1, "--mem", "128m")


@pytest.mark.full
@pytest.mark.parametrize("kind", [Run, Told])
def test_an_agent_that_is_killed_too_often_loses_its_container(jobs, kind):
    """YARN starts it again three times. Then its task moves; one that others have the address of
    takes them along, because they have to be told of the new one."""
    run = kind(jobs, 150, "--restart", "task")
    for _ in range(4):
        old = run.steps("worker:0")[-1][1]
        os.kill(agent_of(old), signal.SIGKILL)
        run.until(lambda line: line.startswith("worker:0│ step") and int(line.split()[-2]) != old)
    run.end()
    for task in ("worker:0", "worker:1"):
        assert [n for n, _, _ in run.steps(task)][-150:] == list(range(150))
    assert len({pid for _, pid, _ in run.steps("worker:0")}) == 5
    events = run.events()
    up = [e["container"] for e in events if e["event"] == "agent" and e["state"] == "up"]
    often = max(up, key=up.count)
    assert up.count(often) == 4 and up[-1] != often, up
    assert run.failures("task", "class", "counted") == [("worker:0", "node", False)] * 4
    last = max(e["generation"] for e in events if e["event"] == "task")
    others = {pid for _, pid, _ in run.steps("worker:1")}
    assert (last, len(others)) == ((0, 1) if kind is Run else (1, 2))
    run.succeeded()


def test_a_killed_task_is_restarted_by_its_policy(jobs):
    run = Run(jobs, 30, "--restart", "task")
    os.kill(run.steps("worker:0")[-1][1], signal.SIGKILL)
    run.end()
    assert [n for n, _, a in run.steps("worker:0") if a == 1] == list(range(30))
    assert {a for _, _, a in run.steps("worker:1")} == {0}
    assert run.failures("task", "class", "signal", "code", "counted", "then") == [
        ("worker:0", "signal", 9, 137, True, "again")]
    run.succeeded()


def test_a_killed_task_is_the_story_where_it_may_not_come_back(jobs):
    run = Run(jobs, 6000, "--restart", "never")
    run.until(lambda line: line.startswith("worker:1│ step"))
    victim = run.steps("worker:1")[-1][1]
    host = jobs.cluster.nodes()[jobs.node_of(victim)]["nodeHostName"]
    os.kill(victim, signal.SIGKILL)
    story = f"worker:1 on {host}: ended by signal 9 (SIGKILL) (exit code 137)"
    assert story in run.end(137)
    status, page = run.status(), jobs.ended()
    assert (status["state"], status["exit"], status["whose"]) == ("FAILED", 137, "worker:1")
    assert [status["story"][key] for key in ("task", "class", "signal", "code")] == [
        "worker:1", "signal", 9, 137]
    assert story in jobs.run("status", jobs.apps()[0], check=0).stdout
    assert (page["state"], page["finalStatus"]) == ("FINISHED", "FAILED")
    assert "worker:1" in page["diagnostics"] and "signal 9 (SIGKILL)" in page["diagnostics"]


def test_a_stopped_agent_is_noticed_by_us_and_its_task_moves(jobs):
    run = Run(jobs, 60, "--restart", "task")
    began = time.time()
    os.kill(run.agents()[0], signal.SIGSTOP)
    run.until(lambda line: line.split()[-1] == "1")
    (moved,) = {task for task in ("worker:0", "worker:1") if run.steps(task)[-1][2] == 1}
    (before,) = {pid for _, pid, a in run.steps(moved) if a == 0}
    assert not Path(f"/proc/{before}").exists()  # its tasks ran on while it stood still
    run.end()
    (failure,) = [e for e in run.events() if e["event"] == "failure"]
    assert noticed(failure, began) <= stretched(NOTICED_S)
    assert (failure["class"], failure["counted"], failure["then"]) == ("node", False, "move")
    assert "does not answer" in failure["text"]
    moved = [n for n, _, a in run.steps(failure["task"]) if a == 1]
    assert moved == list(range(60))
    run.succeeded()


def test_a_killed_client_ends_an_attached_job(jobs):
    run = Run(jobs, 6000)
    run.process.kill()
    run.process.communicate()
    page, status = jobs.ended(), run.status()
    assert (page["state"], page["finalStatus"]) == ("FINISHED", "KILLED")
    assert status["state"] == "KILLED" and "client" in status["reason"], status
    assert "client" in page["diagnostics"]


def test_an_application_killed_through_yarn_leaves_nothing(jobs):
    run = Run(jobs, 6000)
    app = jobs.apps()[0]
    jobs.cluster.java("org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application", "-kill",
                      app)
    out, err = run.process.communicate(timeout=60)
    assert run.process.returncode == 143, (out, err)
    status, page = run.status(), jobs.ended()
    assert (status["state"], status["exit"]) == ("KILLED", 143)
    assert (page["state"], page["finalStatus"]) == ("KILLED", "KILLED")


def test_an_agent_that_is_told_to_go_does_not_speak_for_its_tasks(jobs):
    """Only YARN knows why it ends a container; that the task said 0 then is no success."""
    script = "trap 'exit 0' TERM; echo $YDL_ATTEMPT; while [ $YDL_ATTEMPT = 0 ]; do sleep 0.05; done"
    process = jobs.start("run", "--on", "yarn", "--mem", "128m", "--restart", "task", "--", "sh",
                         "-c", script)
    assert process.stdout.readline() == "worker:0│ 0\n"
    found = jobs.processes("ydl-node agent")
    os.kill(next(pid for pid in found if parent(pid) in found), signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "worker:0│ 1\n"), err
    text = jobs.run("events", "--json", jobs.apps()[0], check=0).stdout
    failures = [e for e in map(json.loads, text.splitlines()) if e["event"] == "failure"]
    assert [(e["class"], e["counted"]) for e in failures] == [("node", False)]


def test_tasks_that_take_their_leave_have_not_succeeded(jobs):
    """Their container is ended, and they say 0: that is how they end, not how the job does."""
    app = jobs.run("submit", "--on", "yarn", "-q", "-n", 2, "--mem", "128m", "--", "sh", "-c",
                   "trap 'exit 0' TERM; while :; do sleep 0.05; done", check=0).stdout.strip()
    jobs.wait_for(lambda: len(jobs.processes("sh -c trap")) == 2, "the tasks")
    jobs.run("cluster", "kill", app, check=0)
    assert jobs.ended(app)["state"] == "KILLED"
    jobs.run("wait", app, check=143)


def test_who_follows_a_job_that_is_killed_with_its_master_is_told_where_its_output_is(jobs):
    """Its agents save what they have when they are ended, which may be after the client's own end."""
    run = Run(jobs, 6000)
    app = jobs.apps()[0]
    os.kill(run.pid("ydl-node master"), signal.SIGSTOP)  # a master that hears of it says the end itself
    jobs.run("cluster", "kill", app, check=0)
    assert f"output may be missing; see 'ydl logs {app}'" in run.end(143, go=False)


def test_ctrl_c_may_leave_the_job_alone(jobs):
    run = Run(jobs, 30, "--detach-on-interrupt")
    run.process.send_signal(signal.SIGINT)
    err = run.end(130, go=False)
    app = jobs.apps()[0]
    assert f"{app} goes on. Follow it: ydl logs -f {app}. Stop it: ydl stop {app}" in err
    assert jobs.cluster.app(app)["state"] == "RUNNING"
    run.go.touch()
    jobs.run("wait", app, check=0)
    out = jobs.run("logs", app, "worker:1", "--no-prefix", check=0).stdout
    assert [int(line.split()[1]) for line in out.splitlines()] == list(range(30))
    assert jobs.ended(app)["finalStatus"] == "SUCCEEDED"


def test_a_resourcemanager_that_restarts_stops_nothing(jobs):
    run = Run(jobs, 150)
    jobs.cluster.kill("rm")
    jobs.cluster.start("rm")
    run.end()
    for task in ("worker:0", "worker:1"):
        assert [(n, a) for n, _, a in run.steps(task)] == [(n, 0) for n in range(150)]
    run.nothing_failed()


def test_a_nodemanager_that_restarts_stops_nothing(jobs):
    run = Run(jobs, 120)
    node = jobs.node_of(run.steps("worker:0")[-1][1])
    jobs.cluster.kill(node)
    jobs.cluster.start(node)
    run.end()
    for task in ("worker:0", "worker:1"):
        assert [(n, a) for n, _, a in run.steps(task)] == [(n, 0) for n in range(120)]
    run.nothing_failed()


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_job_is_ended_from_anywhere(jobs, verb):
    run = Run(jobs, 6000)
    jobs.run(verb, jobs.apps()[0], check=0)
    run.process.communicate(timeout=60)
    assert run.process.returncode == 143
    status = run.status()
    assert (status["state"], status["exit"]) == ("KILLED", 143)
    assert jobs.ended()["finalStatus"] == "KILLED"


def test_a_job_is_scaled_from_anywhere(jobs):
    run = Run(jobs, 6000)
    app = jobs.apps()[0]
    jobs.run("scale", app, "worker=3", check=0)
    run.until(lambda line: line.startswith("worker:2│ step 0"))
    last = agent_of(run.steps("worker:2")[0][1])
    jobs.run("scale", app, "worker=2", check=0)
    jobs.wait_for(lambda: last not in (found := run.agents()) and len(found) == 2,
                  "the third to be given up, and nobody else")
    run.process.send_signal(signal.SIGINT)
    run.end(130)
    steps = [n for n, _, _ in run.steps("worker:0")]
    assert steps == list(range(len(steps)))
    assert run.status()["missing"] is None  # what the third wrote was saved when it went
