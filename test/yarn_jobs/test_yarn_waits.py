"""Servers that are away for a moment, or not ready yet, are waited for: by masters and by verbs."""

import os
import signal

import pytest
from test_yarn_faults import Run

_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"


def test_a_master_that_starts_in_safe_mode_waits(jobs):
    """It has to write before it can go on, and another attempt would find the same."""
    run = Run(jobs, 100)
    first = run.pid("ydl-node master")
    jobs.cluster.java(_ADMIN, "-safemode", "enter")
    try:
        os.kill(first, signal.SIGKILL)
        jobs.wait_for(lambda: set(jobs.processes("ydl-node master")) - {first}, "another master")
    finally:
        jobs.cluster.java(_ADMIN, "-safemode", "leave")
    run.end()
    run.nothing_failed()
    assert [e["attempt"] for e in run.events() if e["event"] == "master"] == [1, 2]


@pytest.mark.full
def test_logs_wait_for_a_namenode_that_has_just_started(jobs):
    """Until the DataNodes have reported their blocks, nothing can be read."""
    jobs.run("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "echo", "written", check=0)
    app, cluster = jobs.apps()[0], jobs.cluster
    jobs.ended()
    nodes = cluster.lay.datanodes
    for daemon in nodes:  # which are there again sooner than those that have to be started
        cluster.pause(daemon)
    try:
        cluster.kill("nn")
        cluster.start("nn")
        reader = jobs.start("logs", app)
        assert "trying again" in reader.stderr.readline()
    finally:
        for daemon in nodes:
            cluster.resume(daemon)
    out, err = reader.communicate(timeout=120)
    assert reader.returncode == 0 and "written" in out, err


@pytest.mark.full
def test_a_job_submitted_while_the_resourcemanagers_change_places(jobs_on, ha_cluster):
    """At first both refuse, then the new one has no nodes."""
    jobs = jobs_on(ha_cluster)
    for _ in range(3):
        ha_cluster.kill(ha_cluster.active("rm"))
        done = jobs.run("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--", "echo", "here")
        if "no active ResourceManager" not in done.stderr:  # as long as a person waits, it took the other
            break
        ha_cluster.heal()
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["worker:0│ here", "worker:1│ here"], done.stderr
