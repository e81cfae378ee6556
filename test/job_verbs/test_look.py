"""The verbs that look at jobs: list, status, wait, logs, events, top, spec."""

import contextlib
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest


@pytest.fixture
def ended(jobs):
    """A job of two workers that has failed, with output on both streams."""
    script = jobs.script("two", 'echo "out $YDL_RANK"\necho "err $YDL_RANK" >&2\nsleep 0.3\n'
                                '[ $YDL_RANK = 1 ] || { touch said; exec sleep 600; }\n'
                                'until [ -e said ]; do sleep 0.05; done\nexit 7\n')
    done = jobs("run", "-q", "-n", "2", "--name", "ended", "--", script)
    assert done.returncode == 7
    return jobs


@pytest.fixture
def alive(jobs):
    """A job of two workers that runs until it is stopped; its id."""
    script = jobs.script("live", 'echo "start $YDL_RANK"\ntrap "exit 0" TERM\n'
                                 "while :; do echo tick; sleep 0.1; done\n")
    jobs.job = jobs.submit("-n", "2", "--name", "alive", "--", script)
    jobs.running(jobs.job, 2)
    return jobs


# ---- list ----

def test_list_shows_the_newest_first(jobs):
    assert jobs.json("list") == {"jobs": []}
    for name, code in (("one", 0), ("two", 3)):
        jobs("run", "-q", "--name", name, "--", "sh", "-c", f"exit {code}")
    listed = jobs.json("list")["jobs"]
    assert [(j["name"], j["state"], j["exit"]) for j in listed] == [
        ("two", "FAILED", 3), ("one", "SUCCEEDED", 0)]
    assert all(j["created"] <= j["ended"] for j in listed)
    assert [j["name"] for j in jobs.json("list", "-n", "1")["jobs"]] == ["two"]
    assert jobs.json("list", "--running")["jobs"] == []
    head, two, one = jobs.ok("list").splitlines()
    assert head.split() == ["JOB", "WHERE", "NAME", "STATE", "EXIT", "STARTED", "TIME"]
    assert {j["where"] for j in listed} == {"local"}
    assert " two " in two and " failed " in two and " one " in one


def test_list_knows_what_runs(alive):
    (job,) = alive.json("list", "--running")["jobs"]
    assert job["job"] == alive.job and job["state"] == "RUNNING" and job["exit"] is None
    assert " running " in alive.ok("list").splitlines()[1]


@pytest.fixture
def unreachable(tmp_path):
    """The environment of a cluster where nobody listens."""
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(
        "<configuration><property><name>yarn.resourcemanager.address</name>"
        "<value>127.0.0.1:1</value></property></configuration>")
    (conf / "core-site.xml").write_text(
        "<configuration><property><name>fs.defaultFS</name>"
        "<value>hdfs://127.0.0.1:1</value></property></configuration>")
    return {"HADOOP_CONF_DIR": str(conf)}


def test_a_cluster_that_is_away_hides_no_job_of_this_machine(ended, unreachable):
    done = ended("list", "--json", env=unreachable)
    assert done.returncode == 0 and "jobs on YARN are left out" in done.stderr, done
    assert [j["name"] for j in json.loads(done.stdout)["jobs"]] == ["ended"]
    for what in ("last", "ended"):
        done = ended("wait", what, env=unreachable)
        assert done.returncode == 7 and "jobs on YARN are left out" in done.stderr, done
    for words in (("list", "--on", "local"), ("top", "--on", "local"),
                  ("status", "last", "--on", "local"),
                  ("status", ended.json("list")["jobs"][0]["job"])):
        assert ended(*words, env=unreachable).stderr == "", words
    for words in (("list", "--on", "yarn"), ("status", "application_1_0001")):
        assert ended(*words, env=unreachable).returncode == 69, words
    for words in (("status", "another"), ("serve", "status", "another"), ("predict", "another", "--json", "{}")):
        done = ended(*words, env=unreachable)
        assert done.returncode == 69 and "the cluster could not be asked" in done.stderr, done


def test_a_broken_configuration_hides_no_job_of_this_machine(ended, unreachable, tmp_path):
    (tmp_path / "conf" / "yarn-site.xml").write_text("<configuration>")
    done = ended("list", "--json", env=unreachable)
    assert done.returncode == 0 and "yarn-site.xml" in done.stderr, done
    assert [j["name"] for j in json.loads(done.stdout)["jobs"]] == ["ended"]
    assert ended("status", "application_1_0001", env=unreachable).returncode == 2


def test_an_application_id_that_is_none(jobs):
    done = jobs("status", "application_x")
    assert done.returncode == 2 and "'application_x'" in done.stderr, done


# ---- status ----

def test_status_of_a_job_that_runs(alive):
    text = alive.ok("status", "alive")
    assert text.startswith(f"job 'alive' ({alive.job}) is running\n")
    assert re.search(r"^worker +2  2 running *$", text, re.MULTILINE)
    tasks = alive.ok("status", "last", "--tasks")
    assert re.search(r"^worker:1 +running +[\d.]+ m?s ", tasks, re.MULTILINE)
    status = alive.json("status", alive.job)
    assert status["job"] == alive.job and status["name"] == "alive" and status["exit"] is None
    assert [t["task"] for t in status["tasks"]] == ["worker:0", "worker:1"]
    assert status["roles"][0]["states"] == {"RUNNING": 2}


def test_status_of_a_job_that_has_ended(ended):
    text = ended.ok("status", "ended")
    assert re.match(r"job 'ended' \(local-\S+\) failed: worker:1.* exit code 7", text)
    assert "\n    err 1\n" in text and "\n    out 1\n" in text
    status = ended.json("status", "ended")
    assert status["story"]["task"] == status["whose"] == "worker:1" and status["exit"] == 7


def test_a_job_that_is_not_there(jobs):
    for verb in ("status", "wait", "logs", "events", "stop", "kill", "restart", "spec", "top"):
        done = jobs(verb, "nothing")
        assert done.returncode == 1 and "there is no job 'nothing'" in done.stderr, verb
        assert "hint: " in done.stderr
    assert jobs("scale", "nothing", "worker=2").returncode == 1
    assert "there are no jobs yet" in jobs("status", "last").stderr
    assert json.loads(jobs("status", "x", "--json").stdout)["error"]["code"] == "ENOENT"


def test_a_name_must_be_unique(jobs):
    for _ in range(2):
        jobs("run", "-q", "--name", "same", "--", "true")
    done = jobs("status", "same")
    assert done.returncode != 0 and "2 jobs are called 'same'" in done.stderr


def test_a_job_on_yarn_wants_a_cluster(jobs):
    done = jobs("status", "application_1794718682665_0001")
    assert done.returncode == 2 and "YARN" in done.stderr


# ---- wait ----

def test_wait_gives_the_jobs_code(jobs):
    job = jobs.submit("--", "sh", "-c", "sleep 0.5; exit 6")
    done = jobs("wait", job)
    assert done.returncode == 6 and "failed: worker:0" in done.stderr and done.stdout == ""
    assert jobs("wait", "-q", job).stderr == ""
    done = jobs("wait", job, "--json")
    assert done.returncode == 6 and json.loads(done.stdout)["exit"] == 6


def test_wait_has_a_limit(alive):
    began = time.monotonic()
    done = alive("wait", "alive", "--timeout", "500ms")
    assert done.returncode == 124 and time.monotonic() - began > 0.4
    assert done.stderr == f"ydl: {alive.job} has not ended within 500 ms\n"
    assert alive.json("status", "alive")["state"] == "RUNNING"


def connected(pid: int) -> bool:
    """Whether a process has a socket: it is in the middle of talking to a master."""
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            if os.readlink(fd).startswith("socket:"):
                return True
    return False


def test_waiting_can_be_interrupted(alive):
    with alive.start("wait", "alive") as wait:
        alive.until(lambda: connected(wait.pid), "it does not wait")
        wait.send_signal(signal.SIGINT)
        assert wait.wait(timeout=60) == 130
    assert alive.json("status", "alive")["state"] == "RUNNING"


# ---- logs ----

def test_logs_of_a_job_that_has_ended(ended):
    done = ended("logs", "ended")
    assert done.stdout.splitlines() == ["worker:0│ out 0", "worker:1│ out 1"]
    assert done.stderr.splitlines() == ["worker:0│ err 0", "worker:1│ err 1"]
    assert ended("logs", "-f", "ended").stdout == done.stdout


@pytest.mark.parametrize("words,out,err", [
    (["worker:1"], "worker:1│ out 1\n", "worker:1│ err 1\n"),
    (["worker", "--stdout"], "worker:0│ out 0\nworker:1│ out 1\n", ""),
    (["worker:0", "--stderr"], "", "worker:0│ err 0\n"),
    (["worker:0", "--no-prefix"], "out 0\n", "err 0\n"),
    (["worker:0", "--tail", "0"], "", ""),
    (["--collapse", "--stderr", "worker:1"], "", "worker:1│ err 1\n"),
])
def test_logs_can_be_chosen(ended, words, out, err):
    done = ended("logs", "ended", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, out, err)


def test_logs_without_prefix_are_byte_for_byte(jobs):
    data = bytes(range(256)) * 5000 + b"no newline"
    (jobs.work / "data").write_bytes(data)
    assert jobs("run", "-q", "--", "cat", "data", text=False).returncode == 0
    assert jobs("logs", "last", "--no-prefix", text=False).stdout == data
    tail = jobs("logs", "last", "--no-prefix", "--tail", "1", text=False).stdout
    assert tail == data[data.rindex(b"\n") + 1:]


def test_logs_for_programs(ended):
    lines = [json.loads(line)["output"] for line in ended.ok("logs", "ended", "--json").splitlines()]
    assert {(o["task"], o["stream"], o["text"]) for o in lines} == {
        (f"worker:{i}", s, f"{s} {i}") for i in (0, 1) for s in ("out", "err")}


def test_a_role_that_is_not_there(ended):
    done = ended("logs", "ended", "wroker")
    assert done.returncode == 2 and "no role 'wroker'; did you mean 'worker'?" in done.stderr
    assert ended("logs", "ended", "worker:x").returncode == 2
    assert ended("logs", "ended", "--tail", "many").returncode == 2


def test_following_logs_ends_with_the_job(alive):
    alive.until(lambda: alive.ok("logs", "alive", "worker:1").count("tick") > 2)
    with alive.start("logs", "-f", "alive", "worker:1", "--tail", "2") as logs:
        assert logs.stdout.readline() == "worker:1│ tick\n"
        assert logs.stdout.readline() == "worker:1│ tick\n"
        alive.ok("stop", "alive")
        rest = logs.stdout.read()
        assert logs.wait(timeout=50) == 0
    assert "start" not in rest and set(rest.splitlines()) <= {"worker:1│ tick"}


def test_following_with_timestamps(alive):
    with alive.start("logs", "-f", "alive", "-t") as logs:
        assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} worker:\d│ .*\n", logs.stdout.readline())
        logs.send_signal(signal.SIGINT)
        assert logs.wait(timeout=50) == 130


# ---- events ----

def test_events_are_told_in_order(ended):
    lines = ended.ok("events", "ended").splitlines()
    assert all(re.match(r"\d\d:\d\d:\d\d\.\d{3}  ", line) for line in lines)
    words = [line.split("  ", 1)[1] for line in lines]
    assert words[0] == "job new" and words[-1].startswith("end: failed (exit 7, whose worker:1")
    assert words.index("job asking") < words.index("job running")
    records = [json.loads(line) for line in ended.ok("events", "ended", "--json").splitlines()]
    assert [r["seq"] for r in records] == list(range(len(records))) and len(records) == len(lines)


def test_events_as_a_timeline(ended):
    doc = ended.json("events", "ended", "--timeline")
    rows = {row["phase"]: row for row in doc["timeline"]}
    order = ["asked", "granted", "prepared", "running", "ended", "finished"]
    times = [rows[name]["at_ms"] for name in order]
    assert times == sorted(times) and times[-1] == sum(doc["sums_ms"].values())
    assert rows["ended"]["who"] == "user" and doc["sums_ms"]["user"] >= 300
    assert doc["sums_ms"]["rm"] == doc["sums_ms"]["nm"] == 0
    lines = ended.ok("events", "ended", "--timeline").splitlines()
    assert lines[0].split() == ["PHASE", "AT", "TOOK", "WAITED", "FOR"]
    assert re.fullmatch(r"ydl \d+ ms, the job itself \d+ ms", lines[-1])


def test_events_can_be_followed(alive):
    with alive.start("events", "-f", "alive", "--json") as events:
        assert json.loads(events.stdout.readline())["event"] == "job"
        alive.ok("stop", "alive")
        last = events.stdout.read().splitlines()[-1]
        assert events.wait(timeout=50) == 0
    assert json.loads(last)["event"] == "end"


# ---- top and spec ----

def test_top_shows_what_is_used(alive):
    head, row = alive.ok("top").splitlines()
    assert head.split()[0] == "JOB" and row.split()[0] == alive.job and " running " in row

    def used():
        """Numbers that are not there within a second are left out."""
        lines = alive.ok("top", "alive").splitlines()
        assert lines[0].split() == [alive.job, "running"]
        assert [line.split()[0] for line in lines[2:]] == ["TASK", "worker:0", "worker:1"]
        return re.search(r" \d+ %  +[\d.]+ [KMG]?B", lines[3])
    alive.until(used, "it shows nothing")
    assert alive.json("top")["jobs"][0]["job"] == alive.job


def test_the_addresses_of_a_job(jobs):
    job = jobs.submit("--role", "worker=2,ports=1", "--", "sleep", "1000")
    jobs.running(job, 2)
    spec = jobs.json("spec", job)
    ports = [t["ports"][0] for t in spec["roles"]["worker"]]
    assert len(set(ports)) == 2
    for style in ("hosts", "env", "tf"):
        assert str(ports[1]) in jobs.ok("spec", job, "--format", style), style
    assert jobs.json("spec", job, "--format", "tf")["cluster"]["worker"][1].endswith(str(ports[1]))
    for style in ("hosts", "env", "clusterspec"):
        done = jobs("spec", job, "--json", "--format", style)
        assert done.returncode == 2 and f"--format {style} is not JSON" in done.stderr
        assert set(json.loads(done.stdout)) == {"error"}
    jobs.ok("kill", job)
    done = jobs("spec", job)
    assert done.returncode == 1 and "has ended" in done.stderr
