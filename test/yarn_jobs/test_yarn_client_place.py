"""Roles with `place: client`: their tasks run here, under an agent beside `ydl run`, and speak with
those in the cluster."""

import contextlib
import json
import os
import re
import shutil
import signal
import tempfile
import textwrap
import time
from pathlib import Path

import pytest
from ydl_cluster.patience import Limit

# The scheduler takes a word of each worker and answers over the worker's own port.
SCHEDULER = """
import os, socket, sys
listen = socket.create_server(("0.0.0.0", int(sys.argv[1])))
print("AT", os.getcwd(), os.environ["HOME"], os.environ["YDL_HOST"], os.environ["MINE"], flush=True)
for _ in range(2):
    peer, _ = listen.accept()
    rank, host, port = peer.makefile().readline().split()
    back = socket.create_connection((host, int(port)), timeout=120)
    back.sendall(f"welcome {rank}\\n".encode())
print("ALL", open("beside.txt").read(), flush=True)
"""

WORKER = """
import os, socket, sys, time
rank, host, port, here, own = sys.argv[1:]
listen = socket.create_server(("0.0.0.0", int(own)))
def dial():
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=120)
        except OSError:
            time.sleep(0.1)
dial().sendall(f"{rank} {here} {own}\\n".encode())
print("HEARD", listen.accept()[0].makefile().readline().strip(), flush=True)
"""

TALK = {"roles": {
    "scheduler": {"place": "client", "ports": 1, "decides": True,
                  "command": ["python3", "-u", "scheduler.py", "{port}"]},
    "worker": {"count": 2, "memory": "128m", "ports": 1, "decides": True,
               "command": ["python3", "-u", "worker.py", "{rank}", "{host:scheduler:0}",
                           "{port:scheduler:0}", "{host}", "{port}"]}}}

STEPS = """
import os, sys, time
for i in range(int(sys.argv[1])):
    while i == int(sys.argv[1]) - 1 and not os.path.exists(sys.argv[2]):
        time.sleep(0.05)  # the last step is for when the test has done its part, however slow it is
    print("step", i, os.getpid(), os.environ["YDL_ATTEMPT"], flush=True)
    time.sleep(0.2)
"""


class Here:
    """`jobs`, with an eye on what is left on this machine."""

    def __init__(self, jobs, run: Path):
        self.jobs, self.run_dir = jobs, run
        for name, text in (("scheduler.py", SCHEDULER), ("worker.py", WORKER),
                           ("steps.py", STEPS), ("job.yaml", json.dumps(TALK))):
            (jobs.work / name).write_text(textwrap.dedent(text))
        (jobs.work / "beside.txt").write_text("is here")
        self.go = jobs.work / "go"
        self.env = {"TMPDIR": str(run), "MINE": "my own", "YDL_TEST_RUN": str(run)}

    def run(self, *args, **options):
        return self.jobs.run(*args, env=self.env, **options)

    def start(self, *args):
        return self.jobs.start(*args, env=self.env)

    def processes(self) -> dict[int, str]:
        """What lives of our agents and their tasks: they know the run directory."""
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                environ = (entry / "environ").read_bytes().split(b"\0")
            except (OSError, UnicodeDecodeError):
                continue
            if line and f"YDL_TEST_RUN={self.run_dir}".encode() in environ:
                found[int(entry.name)] = line.strip()
        return found

    def agent(self) -> int:
        """The agent itself, not the processes above it."""
        found = {pid for pid, line in self.processes().items() if "ydl-node agent" in line}
        above = set()
        for pid in found:
            with contextlib.suppress(FileNotFoundError):  # it has just gone
                above.add(parent(pid))
        return next(pid for pid in sorted(found) if pid not in above)

    def left(self) -> list[str]:
        return [*self.processes().values(), *map(str, self.run_dir.iterdir())]

    def events(self):
        text = self.jobs.run("events", "--json", self.jobs.apps()[0], check=0).stdout
        return [json.loads(line) for line in text.splitlines()]


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.fixture
def here(jobs):
    """Nothing may be left on this machine at the end."""
    run = Path(tempfile.mkdtemp(prefix="ydl-run-", dir="/tmp"))
    made = Here(jobs, run)
    yield made
    limit = Limit(60)
    while (left := made.left()) and not limit.over():
        time.sleep(0.1)
    shutil.rmtree(run, ignore_errors=True)
    assert not left, "\n".join(left)


def reader(process):
    """`until(text)`: reads the output on to a line with `text`, and returns it."""
    seen = []

    def until(text):
        for line in process.stdout:
            seen.append(line)
            if text in line:
                return line
        raise AssertionError(f"no '{text}': {seen[-20:]}\n{process.stderr.read()}")
    return until


def steps_job(*options):
    return ("run", "--on", "yarn", "--role", "script=1,place=client,decides=true", "--role",
            "worker=1,memory=128m", *options, "--", "python3", "-u", "steps.py")


def test_a_scheduler_here_and_workers_there_exchange_bytes(here):
    done = here.run("run", "--on", "yarn", "-f", "job.yaml", check=0)
    lines = done.stdout.splitlines()
    at = next(line for line in lines if "AT " in line).split()
    assert at[1] == "AT" and at[2:4] == [str(here.jobs.work), str(here.jobs.home)]
    assert at[-2:] == ["my", "own"]
    for expected in ("worker:0│ HEARD welcome 0", "worker:1│ HEARD welcome 1",
                     "scheduler:0│ ALL is here"):
        assert any(re.sub(r"\s*│", "│", line) == expected for line in lines), lines
    assert "1 scheduler on this machine" in done.stderr
    app = here.jobs.apps()[0]
    agents = {e["container"] for e in here.events() if e["event"] == "agent" and e["state"] == "up"}
    assert f"client_{app}" in agents and len(agents) == 3
    assert "ALL is here" in here.jobs.run("logs", app, "scheduler", check=0).stdout


def test_plan_shows_what_runs_here_and_asks_for_less(here):
    plan = here.run("plan", "--on", "yarn", "-f", "job.yaml", check=0).stdout
    assert "scheduler: 1, on the submitting machine" in plan
    assert "3 containers with the master's" in plan
    assert "worker.py" in plan and here.jobs.apps() == []


@pytest.mark.parametrize("words", [("submit",), ("run", "--detach-on-interrupt")])
def test_who_does_not_stay_cannot_have_tasks_here(here, words):
    done = here.run(*words, "--on", "yarn", "-f", "job.yaml", check=2)
    assert "roles.scheduler.place: tasks on this machine end with the command" in done.stderr
    assert "use 'ydl run'" in done.stderr and here.jobs.apps() == []


def test_a_killed_client_ends_the_job_and_leaves_nothing(here):
    run = here.start(*steps_job(), 6000, here.go)
    until = reader(run)
    until("script:0│ step 1")
    run.kill()
    assert here.jobs.ended()["finalStatus"] == "KILLED"  # long before its 6000 steps
    run.communicate()
    assert "client" in json.dumps(here.events()[-1])


def test_an_application_killed_through_yarn_ends_its_tasks_here(here):
    run = here.start(*steps_job(), 6000, here.go)
    until = reader(run)
    until("script:0│ step 1")
    here.jobs.cluster.java("org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application",
                           "-kill", here.jobs.apps()[0])
    _, err = run.communicate(timeout=60)
    assert run.returncode != 0 and "killed" in err
    assert here.left() == []
    here.jobs.run("list", "--on", "yarn", check=0)  # helps a master that had no time


def test_ctrl_c_stops_both_sides_with_grace(here):
    run = here.start("run", "--on", "yarn", "--role", "script=1,place=client,decides=true",
                     "--role", "worker=1,memory=128m", "--grace", "2m", "--", "sh", "-c",
                     'trap "echo saved; exit 0" TERM; echo here; while :; do sleep 0.1; done')
    until = reader(run)
    until("here"), until("here")
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 130 and out.count("saved") == 2


def test_a_task_here_that_fails_tells_its_story(here):
    done = here.run("run", "--on", "yarn", "--role",
                    "script=1,place=client,command=sh -c 'sleep 1; echo no such port >&2; exit 9'",
                    "--role", "worker=1,memory=128m,command=sleep 600", check=9)
    assert "script:0" in done.stderr and "no such port" in done.stderr
    assert "script:0" in here.jobs.ended()["diagnostics"]


def test_a_program_that_is_not_here_is_told(here):
    done = here.run("run", "--on", "yarn", "--role",
                    "script=1,place=client,command=./no-such-program", "--role",
                    "worker=1,memory=128m,command=sleep 600", check=127)
    assert "script:0" in done.stderr and "no-such-program" in done.stderr


def test_a_killed_agent_is_started_again_and_its_task_with_it(here):
    run = here.start(*steps_job("--restart", "task"), 30, here.go)
    until = reader(run)
    until("script:0│ step 2")
    os.kill(here.agent(), signal.SIGKILL)
    assert until("script:0│ step 0").split()[-1] == "1"
    here.go.touch()
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    assert re.search(r"script:0│ step 29 \d+ 1", out)


def test_a_new_master_takes_the_task_here_back(here):
    run = here.start(*steps_job(), 60, here.go)
    until = reader(run)
    first = until("script:0│ step 2").split()
    os.kill(max(here.jobs.processes("ydl-node master")), signal.SIGKILL)
    here.go.touch()
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    last = next(line for line in out.splitlines() if "script:0│ step 59" in line).split()
    assert last[-2:] == first[-2:]


@pytest.mark.parametrize("words, address", [((), None), (("--client-address", "127.0.0.1"),
                                                         "127.0.0.1")])
def test_a_scheduler_of_mxnet_here_is_known_to_all(here, words, address):
    spoke = here.jobs.work / "spoke"  # the job ends with its worker, so that one waits for the others
    done = here.run("run", "--on", "yarn", "--framework", "mxnet", "-n", 1, "-s", 1, "--mem",
                    "128m", "--role", "server=1,memory=128m", "--role",
                    f"scheduler=1,place=client,command=sh -c 'env; touch {spoke}.scheduler; sleep 600'",
                    *words, "--", "sh", "-c", f"env; touch {spoke}.$DMLC_ROLE; "
                    f"until [ -e {spoke}.scheduler -a -e {spoke}.server ]; do sleep 0.1; done",
                    check=0)
    told = {}
    for line in done.stdout.splitlines():
        task, _, text = line.partition("│ ")
        name, _, value = text.partition("=")
        told.setdefault(task.strip(), {})[name] = value
    assert {e["DMLC_ROLE"] for e in told.values()} == {"scheduler", "server", "worker"}
    assert len({(e["DMLC_PS_ROOT_URI"], e["DMLC_PS_ROOT_PORT"]) for e in told.values()}) == 1
    scheduler = told["scheduler:0"]
    assert scheduler["DMLC_PS_ROOT_URI"] == scheduler["YDL_HOST"]
    assert address in (None, scheduler["YDL_HOST"])


def test_an_address_that_nobody_knows_is_refused(here):
    done = here.run("run", "--on", "yarn", "-f", "job.yaml", "--client-address", "no.such.host.",
                    check=2)
    assert "client-address" in done.stderr and here.jobs.apps() == []


def test_on_one_machine_it_is_simply_here(here):
    done = here.run("run", "-f", "job.yaml", check=0)
    assert "ALL is here" in done.stdout and done.stdout.count("HEARD welcome") == 2
