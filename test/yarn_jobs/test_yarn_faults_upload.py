"""DataNodes that die while a job's files go up, and quotas that are reached then."""

import hashlib
import json
import os
import re
import signal

import pytest
from ydl_cluster import spec as specs

BYTES = 400 << 20
HOME = f"/user/{specs.me()}/.ydl"
CACHE = f"{HOME}/cache"
_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"


def halfway(jobs, *datanodes):
    """A job with a large file, whose DataNodes are killed while it goes up; and its digest."""
    digest, piece = hashlib.md5(), os.urandom(1 << 20)
    with open(jobs.work / "big", "wb") as file:
        for _ in range(BYTES >> 20):
            file.write(piece)
            digest.update(piece)
    before = set(jobs.cluster.hdfs_names(CACHE))

    def sending():
        return [name for name in set(jobs.cluster.hdfs_names(CACHE)) - before
                if not re.fullmatch("[0-9a-f]{64}", name)]
    run = jobs.start("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--files", "big", "--",
                     "md5sum", "big")
    jobs.wait_for(sending, "the upload", 60)
    os.kill(run.pid, signal.SIGSTOP)
    for datanode in datanodes:
        jobs.cluster.kill(datanode)
    assert jobs.apps() == [] and sending(), "the upload was quicker than we"
    os.kill(run.pid, signal.SIGCONT)
    return run, digest.hexdigest()


@pytest.mark.full
@pytest.mark.parametrize("datanode", ["dn1", "dn2"])
def test_an_upload_survives_the_death_of_a_datanode(jobs, datanode):
    run, digest = halfway(jobs, datanode)
    out, err = run.communicate(timeout=240)
    assert run.returncode == 0, err
    assert out == f"worker:0│ {digest}  big\n"


@pytest.mark.full
def test_an_upload_without_any_datanode_is_told(jobs):
    run, _ = halfway(jobs, "dn1", "dn2")
    out, err = run.communicate(timeout=240)
    assert run.returncode not in (0, 2) and "big" in err and not out, err
    assert jobs.apps() == []
    assert [name for name in jobs.cluster.hdfs_names(CACHE) if len(name) != 64] == []


def test_everybody_learns_why_a_submission_failed(jobs):
    """The application is submitted while its small files are written. When these cannot be, it is taken
    back, which YARN calls killed; nobody has killed it."""
    words = ("--on", "yarn", "-n", 1, "--mem", "128m", "--no-ship", "--", "true")
    jobs.run("run", *words, check=0)  # ydl-node is in the cache, and the directories are there
    first = set(jobs.apps())
    jobs.cluster.java(_ADMIN, "-setSpaceQuota", "1", f"{HOME}/logs")
    try:
        run = jobs.run("run", *words, check=73)
    finally:
        jobs.cluster.java(_ADMIN, "-clrSpaceQuota", f"{HOME}/logs")
    (app,) = set(jobs.apps()) - first
    assert "quota" in run.stderr, run.stderr
    assert jobs.ended(app)["finalStatus"] == "KILLED"
    status = json.loads(jobs.run("status", "--json", app).stdout)
    assert (status["state"], status["exit"]) == ("FAILED", 73), status
    why = status["reason"].removeprefix("the submission failed: ")
    assert why != status["reason"] and why in run.stderr, (status["reason"], run.stderr)
    jobs.run("wait", app, check=73)
    listed = json.loads(jobs.run("list", "--all", "--json", check=0).stdout)
    assert [row["state"] for row in listed["jobs"] if row["job"] == app] == ["FAILED"], listed
    assert app not in jobs.cluster.hdfs_names(f"{HOME}/logs")


def test_who_looks_at_a_refused_job_learns_what_its_submitter_did(jobs):
    """YARN takes the application and then refuses it: its queue has no place."""
    words = ("--on", "yarn", "-n", 1, "--mem", "128m", "--queue", "closed", "--no-ship", "--", "true")
    run = jobs.run("run", *words, user="carol", check=1)
    (app,) = jobs.apps()
    page = jobs.ended(app)
    assert (page["state"], page["finalStatus"]) == ("FAILED", "FAILED"), page
    status = json.loads(jobs.run("status", "--json", app, user="carol").stdout)
    assert (status["state"], status["exit"]) == ("FAILED", 1), status
    assert status["reason"] in run.stderr and page["diagnostics"] in status["reason"], run.stderr
    jobs.run("wait", app, user="carol", check=1)
    listed = json.loads(jobs.run("list", "--all", "--json", user="carol", check=0).stdout)
    assert [(row["state"], row["exit"]) for row in listed["jobs"] if row["job"] == app] == [
        ("FAILED", 1)], listed
    assert jobs.run("events", app, user="carol", check=0).stdout == ""
    for home in ("jobs", "logs"):
        assert app not in jobs.cluster.hdfs_names(f"/user/carol/.ydl/{home}")
