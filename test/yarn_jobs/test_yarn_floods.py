"""Strangers at all ports of a master on YARN: the job goes on, within the master's memory."""

import os

import pytest

from flooding import KINDS, NOBODY, Flood, listening, memory_mb, print_as

MEMORY_MB = 24  # what a small job's master may have at any moment; its container has 64


def started(jobs, go):
    """A job with a tracker, whose tasks run until `go` is there; its master, where that listens."""
    job = jobs.start("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--framework", "rabit",
                     "--restart", "task", "--", "sh", "-c", f"while [ ! -e {go} ]; do sleep 0.1; done")
    jobs.wait_for(lambda: jobs.apps() and len(jobs.processes(f"sh -c while [ ! -e {go}")) >= 2,
                  "the tasks run", 90)
    [master] = [pid for pid, line in jobs.processes("ydl-node master").items()
                if line.startswith("./ydl-node")]
    host = jobs.cluster.app(jobs.apps()[0])["amRPCAddress"].split(":")[0]
    ports = listening(master)
    assert len(ports) == 4, "agents', API, page and tracker"
    return job, master, host, ports


def flood(jobs, tmp_path, seconds, kinds):
    go = tmp_path / "go"
    job, master, host, ports = started(jobs, go)
    for kind in kinds:
        with Flood(host, ports, kind, seconds) as strangers:
            jobs.wait_for(lambda: strangers.opened > 1000, "the flood")
            assert "is running" in jobs.run("status", jobs.apps()[0], check=0).stdout
            strangers.wait()
    peak = memory_mb(master)
    go.touch()
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0, f"{out}\n{err}\n{jobs.tell()}"
    assert peak < MEMORY_MB, f"{peak:.1f} MB at most"
    assert "restart" not in err and "lost" not in err, err


def test_floods_neither_end_a_job_nor_keep_its_client_out(jobs, tmp_path):
    flood(jobs, tmp_path, 5, KINDS)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_long_floods_do_not_either(jobs, tmp_path, kind):
    flood(jobs, tmp_path, 60, [kind])


def test_a_tracker_listens_to_the_jobs_own_user_alone(jobs, needs_root, tmp_path):
    """Its node has other users too: the agent there says whose a connection is."""
    go = tmp_path / "go"
    job, _, host, ports = started(jobs, go)
    for port in ports:
        print_as(NOBODY, host, port)
    assert "I was here" not in jobs.run("events", jobs.apps()[0], check=0).stdout
    for port in ports:
        print_as(os.geteuid(), host, port)
    jobs.wait_for(lambda: "I was here" in jobs.run("events", jobs.apps()[0], check=0).stdout,
                  "the owner is heard")
    go.touch()
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0, f"{out}\n{err}\n{jobs.tell()}"
