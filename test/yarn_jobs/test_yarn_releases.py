"""Other releases of Hadoop: the newest, the last Hadoop 2, and a very old one. Every verb that talks to
a cluster is used once, and a job survives what jobs have to survive."""

import json
import os
import signal

import pytest
from test_yarn_faults import Run

pytestmark = [pytest.mark.full, pytest.mark.parametrize(
    "each_cluster", ["latest_cluster", "hadoop2_cluster", "hadoop27_cluster"], indirect=True)]
SHOWN = {"3.5.0": "3.5", "2.10.2": "2", "2.7.7": "2"}


def test_a_job_runs_and_is_looked_at(jobs_on, each_cluster):
    jobs = jobs_on(each_cluster)
    (jobs.work / "a.py").write_text("import b; print(b.x)")
    (jobs.work / "b.py").write_text("x = 42")
    what = ("-n", 2, "--mem", "128m", "--", "python3", "a.py")
    plan = jobs.run("plan", "--on", "yarn", *what, check=0).stdout
    assert "there is room now" in plan
    done = jobs.run("run", "--on", "yarn", *what, check=0)
    assert sorted(done.stdout.splitlines()) == ["worker:0│ 42", "worker:1│ 42"]
    assert jobs.ended()["finalStatus"] == "SUCCEEDED"
    app = jobs.apps()[0]
    assert json.loads(jobs.run("status", "--json", app, check=0).stdout)["state"] == "SUCCEEDED"
    assert sorted(jobs.run("logs", app, check=0).stdout.splitlines()) == sorted(
        done.stdout.splitlines())
    for verb in (("list",), ("events", app), ("wait", app), ("cluster", "info"),
                 ("cluster", "nodes"), ("cluster", "queues"), ("cluster", "apps"),
                 ("cluster", "app", app)):
        jobs.run(*verb, check=0)


def test_results_travel(jobs_on, each_cluster):
    jobs = jobs_on(each_cluster)
    (jobs.work / "input").write_bytes(os.urandom(3_000_000))
    jobs.run("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--files", "input", "--output",
             "/tmp/yr-results", "--", "sh", "-c", "cp input $YDL_OUT/copy", check=0)
    jobs.run("fs", "get", "-r", "/tmp/yr-results", "back", check=0)
    copy, = (jobs.work / "back").rglob("copy")
    assert copy.read_bytes() == (jobs.work / "input").read_bytes()
    jobs.run("fs", "rm", "-r", "/tmp/yr-results", check=0)


def test_a_new_master_takes_over(jobs_on, each_cluster):
    run = Run(jobs_on(each_cluster), 60)
    os.kill(run.pid("ydl-node master"), signal.SIGKILL)
    run.end()
    for task in ("worker:0", "worker:1"):
        assert [n for n, _, a in run.steps(task)] == list(range(60))
    run.nothing_failed()


def test_the_doctor_finds_nothing_wrong(jobs_on, each_cluster):
    jobs = jobs_on(each_cluster)
    report = json.loads(jobs.run("doctor", "--json", check=0).stdout)
    assert {row["level"] for row in report["checks"]} == {"ok"}, report
    rm = next(row["text"] for row in report["checks"] if "ResourceManager: Hadoop" in row["text"])
    assert rm.startswith(f"ResourceManager: Hadoop {SHOWN[each_cluster.lay.spec.version]}"), rm
