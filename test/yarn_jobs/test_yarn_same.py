"""The same job file here and on the cluster: plans and events are equal but for hosts and times."""

import json
import re
from pathlib import Path

import pytest

# Tasks that fail let the others start first: which of two machines is faster is no part of a story. Who
# leaves a barrier knows that the master has heard of all that came to it.
MEET = """
import os, socket, sys, time
if sys.argv[2:] == [os.environ["YDL_GENERATION"]]:
    sys.exit(0)
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["YDL_SOCKET"])
s.sendall(b"barrier all 2\\n")
assert s.makefile().readline().split() == ["ok"]
if os.environ["YDL_RANK"] == "1":
    print("no", file=sys.stderr, flush=True)
    sys.exit(int(sys.argv[1]))
time.sleep(600)
"""
JOBS = {
    "two workers": {"roles": {"worker": {"count": 2, "memory": "128m",
                                         "command": ["sh", "-c", "echo $YDL_RANK of $YDL_WORLD"]}}},
    "one after the other": {"roles": {
        "first": {"count": 1, "memory": "128m", "ports": 1, "side": True,
                  "ready": {"log": "listening"},
                  "command": ["sh", "-c", "echo listening; exec sleep 600"]},
        "second": {"count": 2, "memory": "128m", "after": [{"first": "ready"}],
                   "command": ["sh", "-c", "echo done"]}}},
    "a task that needs a second try": {
        "restart": {"policy": "task", "max": 2},
        "roles": {"worker": {"count": 2, "memory": "128m",
                             "command": ["sh", "-c", '[ $YDL_RANK$YDL_ATTEMPT != 10 ]']}}},
    "a gang that needs a second try": {
        "restart": {"policy": "gang", "max": 2},
        "roles": {"worker": {"count": 2, "memory": "128m", "command": [
            "python3", "-c", MEET, "3", "1"]}}},
    "a failure": {"roles": {"worker": {"count": 2, "memory": "128m", "command": [
        "python3", "-c", MEET, "5"]}}},
    "two processes in a container": {"framework": "pytorch", "roles": {"worker": {
        "count": 2, "procs": 2, "memory": "128m",
        "command": ["sh", "-c", "echo $RANK $LOCAL_RANK $WORLD_SIZE $YDL_LOCAL_RANK"]}}},
}
# Files that the tests of plans on one machine use too, as they are. What they start is written here:
# tasks on the side stay until they are ended, those that work wait for them to have spoken.
FILES = Path(__file__).resolve().parents[1] / "job" / "files"
SHARED = ["comments", "minimal", "pipeline", "unicode", "variables"]
SAYS = '#!/bin/sh\necho "$YDL_ROLE:$YDL_INDEX" "$@" "[$PEERS] [$MINE]"\nexec sleep {}\n'
PROGRAMS = {"ps": 60, "work": 2, "fetch.sh": 0, "train.sh": 0, "report.sh": 0}
# What YARN alone has, and what depends on the machine.
ONLY_YARN = ("phase", "master", "agent", "note")
HERE = re.compile(r"127\.0\.\d+\.\d+|application_\d+_\d+|local-[\w-]+|/[^\s\"]*|\bydl-result\b")


# Variables that a container adds, and those that are a place on the task's machine.
OF_CONTAINER = {"HOME", "HADOOP_TOKEN_FILE_LOCATION", "YDL_CONTAINER", "YDL_HADOOP_CONF",
                "YDL_HADOOP_USER", "YDL_NODE_DIRS"}
PLACES = {"PWD", "YDL_OUT"}


def story(records):
    """Of each task, and of the job: what happened, in its order, without hosts, times, numbers."""
    tasks, job = {}, []
    for r in records:
        if r["event"] in ONLY_YARN:
            continue
        kept = {k: v for k, v in r.items()
                if k in ("event", "state", "attempt", "generation", "class", "code", "what", "exit",
                         "ready", "signal", "used", "max")}
        (tasks.setdefault(r["task"], []) if "task" in r else job).append(kept)
    return {"tasks": tasks, "job": [j for j in job if j["event"] in ("job", "end", "restart")]}


def both_ways(jobs):
    """job.yaml run here and there: {place: how it ended}, {place: its story}."""
    done, seen = {}, {}
    for place in ("local", "yarn"):
        done[place] = jobs.run("run", "--on", place, "-f", "job.yaml")
        text = jobs.run("events", "--on", place, "--json", "last", check=0).stdout
        seen[place] = story([json.loads(line) for line in text.splitlines()])
    return done, seen


@pytest.mark.parametrize("name", JOBS)
def test_the_same_file_has_the_same_story(jobs, name):
    (jobs.work / "job.yaml").write_text(json.dumps(JOBS[name]))
    done, seen = both_ways(jobs)
    assert done["local"].returncode == done["yarn"].returncode
    assert sorted(done["local"].stdout.splitlines()) == sorted(done["yarn"].stdout.splitlines())
    assert seen["local"] == seen["yarn"]


@pytest.mark.full
@pytest.mark.parametrize("name", SHARED)
def test_the_files_of_the_local_tests_run_as_they_are(jobs, name):
    (jobs.work / "job.yaml").write_bytes((FILES / f"{name}.yaml").read_bytes())
    for program, seconds in PROGRAMS.items():
        (jobs.work / program).write_text(SAYS.format(seconds))
        (jobs.work / program).chmod(0o755)
    done, seen = both_ways(jobs)
    assert done["local"].returncode == done["yarn"].returncode == 0, done["yarn"].stderr
    # Ports are as different as hosts, and so is where results go.
    said = {place: sorted(re.sub(r"\b\d{4,5}\b", "P", HERE.sub("X", line)).replace("hdfs:X", "X")
                          for line in done[place].stdout.splitlines()) for place in done}
    assert said["local"] == said["yarn"]
    assert seen["local"] == seen["yarn"]
    same_plan(jobs)


@pytest.mark.parametrize("name", JOBS)
def test_the_same_file_has_the_same_plan(jobs, name):
    (jobs.work / "job.yaml").write_text(json.dumps(JOBS[name]))
    same_plan(jobs)


def same_plan(jobs):
    plans = [json.loads(jobs.run("plan", "--on", place, "-f", "job.yaml", "--json", check=0).stdout)
             for place in ("local", "yarn")]
    envs = [[t["env"] for r in plan["roles"] for t in r["tasks"]] for plan in plans]
    for here, there in zip(*envs):
        assert set(there) - set(here) == OF_CONTAINER and set(here) < set(there)
        for env in (here, there):
            for name in PLACES | OF_CONTAINER:
                env.pop(name, None)
    texts = [HERE.sub("X", json.dumps(plan["roles"], sort_keys=True)) for plan in plans]
    assert texts[0] == texts[1]
