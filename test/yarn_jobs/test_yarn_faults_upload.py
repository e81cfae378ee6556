"""DataNodes that die while a job's files go up."""

import hashlib
import os
import re
import signal

import pytest
from ydl_cluster import spec as specs

BYTES = 400 << 20
CACHE = f"/user/{specs.me()}/.ydl/cache"


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
