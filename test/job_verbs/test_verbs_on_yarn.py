"""Every verb that looks at jobs or acts on them, for jobs on a real YARN cluster."""

import json
import os
import re
import signal

import pytest
from verbs_support import Terminal

TICKS = ('i=0; trap "echo over; exit 0" TERM; '
         'while :; do echo tick $YDL_RANK $i; i=$((i+1)); sleep 0.1; done')


@pytest.fixture
def yarn(jobs, cluster):
    """`jobs` on a cluster."""
    jobs.env |= {key: value for key, value in cluster.env().items() if not key.startswith("YDL_")}
    jobs.cluster = cluster
    return jobs


def _submit(yarn, name: str, *words: str, count: int = 2) -> str:
    """A job on YARN that runs; its id."""
    job = yarn.ok("submit", "--on", "yarn", "-q", "-n", str(count), "--mem", "128m", "--name", name,
                  "--", *words).strip()
    yarn.running(job, count)
    return job


def _master(yarn, job: str) -> int:
    """The process that is the job's master."""
    (pid,) = [pid for pid, line in yarn.cluster.processes(job).items()
              if re.search(r"ydl-node master", line) and not line.startswith(("bash", "/bin/bash"))]
    return pid


def test_looking_at_a_job_that_runs_and_acting_on_it(yarn):
    job = _submit(yarn, "looked-at", "sh", "-c", TICKS)
    assert re.fullmatch(r"application_\d+_\d+", job)
    (listed,) = yarn.json("list", "--running", "--on", "yarn")["jobs"]
    assert (listed["job"], listed["where"], listed["state"]) == (job, "yarn", "RUNNING")
    assert yarn.json("status", "looked-at")["job"] == job == yarn.json("status", "last")["job"]
    assert f"({job}) is running" in yarn.ok("status", "last")
    assert yarn.json("top", job)["jobs"][0]["job"] == job
    assert len(yarn.json("spec", job)["roles"]["worker"]) == 2
    yarn.until(lambda: yarn.ok("logs", job, "worker:1").count("tick") >= 3, "no output")
    lines = yarn.ok("logs", job, "worker:1", "--tail", "3", "--no-prefix").splitlines()
    assert [re.fullmatch(r"tick 1 \d+", line) is not None for line in lines] == [True] * 3
    with yarn.start("logs", "-f", job, "worker:0", "--tail", "1") as follower:
        assert follower.stdout.readline().startswith("worker:0│ tick 0 ")
        yarn.ok("restart", job, "worker:1")
        yarn.until(lambda: yarn.json("status", job)["tasks"][1]["attempt"] == 1)
        assert yarn("wait", job, "--timeout", "1s").returncode == 124
        assert json.loads(yarn.ok("stop", job, "--json"))["state"] == "KILLED"
        assert follower.stdout.read().endswith("worker:0│ over\n")
        assert follower.wait(timeout=50) == 0
    assert yarn.json("list", "--running")["jobs"] == []
    status = yarn.json("status", job)
    assert (status["state"], status["exit"]) == ("KILLED", 143)
    out = yarn.ok("logs", job, "worker:0", "--stdout", "--no-prefix").splitlines()
    assert out[:-1] == [f"tick 0 {i}" for i in range(len(out) - 1)] and out[-1] == "over"
    for words in (("spec", job), ("scale", job, "worker=3"), ("restart", job)):
        assert yarn(*words).returncode == 1, words


@pytest.mark.full
def test_nothing_is_lost_or_repeated_when_the_master_is_replaced(yarn):
    script = yarn.script("count", "i=0\nwhile [ $i -lt 150 ]; do echo tick $i; i=$((i+1)); "
                                  "sleep 0.1; done\nexit 3\n")
    with yarn.start("run", "--on", "yarn", "--mem", "128m", "--name", "replaced", "--no-prefix",
                    "--files", script, "--", script) as run:
        first = run.stdout.readline()
        job = yarn.json("status", "replaced")["job"]
        with yarn.start("events", "-f", job, "--json") as events:
            os.kill(_master(yarn, job), signal.SIGKILL)
            out, notes = run.communicate(timeout=90)
            records = [json.loads(line) for line in events.communicate(timeout=50)[0].splitlines()]
    assert (first + out).splitlines() == [f"tick {i}" for i in range(150)], notes
    assert run.returncode == 3 and "the master is being restarted" in notes
    assert [r["seq"] for r in records] == list(range(len(records)))
    assert records[-1]["event"] == "end"
    again = [json.loads(line) for line in yarn.ok("events", job, "--json").splitlines()]
    assert again == records


def test_a_job_that_was_killed_through_yarn(yarn):
    job = _submit(yarn, "killed", "sh", "-c", "echo out; exec sleep 1000", count=1)
    with yarn.start("logs", "-f", job) as follower:
        assert follower.stdout.readline() == "worker:0│ out\n"
        yarn.ok("cluster", "kill", job)
        assert follower.wait(timeout=50) == 0
    status = yarn.json("status", job)
    assert (status["state"], status["exit"]) == ("KILLED", 143)
    assert yarn("wait", job).returncode == 143
    assert json.loads(yarn.ok("kill", job, "--json"))["done"] == "nothing"


def test_a_master_that_stands_still_is_no_protection(yarn):
    job = _submit(yarn, "still", "sleep", "1000", count=1)
    master = _master(yarn, job)
    os.kill(master, signal.SIGSTOP)
    assert json.loads(yarn.ok("kill", job, "--json"))["state"] == "KILLED"


def test_jobs_of_both_kinds_are_found(yarn):
    yarn.ok("run", "-q", "--name", "both", "--", "true")
    here = yarn.json("status", "last")["job"]
    job = yarn.ok("submit", "--on", "yarn", "-q", "--mem", "128m", "--name", "both", "--",
                  "true").strip()
    assert yarn("wait", job).returncode == 0
    assert yarn.json("status", "last")["job"] == job
    assert yarn.json("status", "last", "--on", "local")["job"] == here
    done = yarn("status", "both")
    assert done.returncode == 1 and job in done.stderr and here in done.stderr
    assert yarn.json("status", "both", "--on", "yarn")["job"] == job
    rows = {row["job"]: row["where"] for row in yarn.json("list")["jobs"]}
    assert rows[job] == "yarn" and rows[here] == "local"
    other = yarn("status", job, env=yarn.cluster.env("alice"))
    assert other.returncode == 77 and "is a job of" in other.stderr


def test_the_time_of_a_start_is_told(yarn):
    yarn.ok("run", "-q", "--on", "yarn", "--mem", "128m", "-n", "2", "--", "true")
    doc = yarn.json("events", "last", "--timeline")
    names = [row["phase"] for row in doc["timeline"]]
    assert names[0] == "command" and names[-1] == "finished"
    assert {"submitted", "master", "registered", "granted", "agents", "running"} <= set(names)
    assert doc["sums_ms"]["rm"] > 0 and doc["sums_ms"]["nm"] > 0
    assert sum(doc["sums_ms"].values()) == doc["timeline"][-1]["at_ms"]
    assert "ResourceManager" in yarn.ok("events", "last", "--timeline").splitlines()[-1]


def test_an_interrupted_run_stops_its_job(yarn):
    with yarn.start("run", "--on", "yarn", "--mem", "128m", "--name", "broken-off", "--", "sh", "-c",
                    TICKS) as run:
        assert "tick" in run.stdout.readline()
        run.send_signal(signal.SIGINT)
        out, notes = run.communicate(timeout=60)
    assert run.returncode == 130 and "stopping the job" in notes, notes
    assert out.endswith("over\n")
    assert yarn.json("status", "broken-off")["state"] == "KILLED"


def test_signals_of_the_users_own_reach_tasks_in_containers(yarn):
    task = ('trap "echo one" USR1; trap "echo two; exit 0" USR2; echo up; '
            "while :; do sleep 0.1; done")
    with yarn.start("run", "--on", "yarn", "-n", "2", "--mem", "128m", "--", "sh", "-c",
                    task) as run:
        said = [run.stdout.readline() for _ in range(2)]
        run.send_signal(signal.SIGUSR1)
        said += [run.stdout.readline() for _ in range(2)]
        run.send_signal(signal.SIGUSR2)
        said += run.stdout.readlines()
        assert run.wait(timeout=60) == 0
    for rank in (0, 1):
        mine = [line.split("│ ")[1].strip() for line in said if line.startswith(f"worker:{rank}")]
        assert mine == ["up", "one", "two"]


def test_an_upload_shows_how_far_it_is(yarn):
    (yarn.work / "big.bin").write_bytes(os.urandom(1 << 20) * 128)
    with Terminal(yarn, "run", "--on", "yarn", "--mem", "128m", "--files", "big.bin", "--", "true",
                  columns=100) as terminal:
        assert terminal.end() == 0
    shown = [int(n) for n in re.findall(r"\r(?:sending|big\.bin)  [^\r]*?(\d+) %[^\r]*? of 1\d\d(?:\.\d+)? MB",
                                        re.sub(r"\033\[[\d;]*m", "", terminal.text))]
    assert [n for n in shown if 0 < n < 100], terminal.text
    done = terminal.text.rindex(" %")
    assert "\r\033[K" in terminal.text[done:] and "succeeded" in terminal.text[done:]
