"""A gang of hundreds of containers on fifty real NodeManagers, one of which is lost."""

import contextlib
import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from ydl_cluster.patience import stretched

NODES, TASKS = 50, 500
# In the first generation nobody ends; the second one is over as soon as all of it was there.
WORKER = """import os, sys, time
print("world", os.environ["YDL_WORLD"], "generation", os.environ["YDL_GENERATION"], flush=True)
if os.environ["YDL_GENERATION"] == "0":
    time.sleep(3600)
"""
LATE_S = 900  # only a machine that does nothing else starts a thousand processes in a minute
MASTER_KB = 64 * 1024  # what is asked of YARN for a small job: a large one must not need much more


@pytest.fixture
def many(own_cluster):
    """Every node has room for some of the tasks, none for many: 0.5 GB."""
    return own_cluster(nodes=1, datanodes=1, many=NODES, node_mb=2048, node_vcores=64,
                       heartbeat_ms=500)


def _peak_kb(pid: int) -> int:
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def _to_its_end(run: subprocess.Popen, master: int) -> tuple[str, str, int]:
    """What the job printed, and the most memory that its master ever had."""
    peak, end = 0, time.monotonic() + stretched(LATE_S)
    while True:
        try:
            return *run.communicate(timeout=0.5), peak
        except subprocess.TimeoutExpired:
            assert time.monotonic() < end, "it does not end"
        with contextlib.suppress(OSError):  # it has just ended
            peak = max(peak, _peak_kb(master))


def _running(jobs, generation: int) -> int:
    done = jobs.run("status", "--json", "last", timeout=120)
    tasks = json.loads(done.stdout)["tasks"] if done.returncode == 0 else []
    return sum(t["state"] in ("RUNNING", "DONE") and t["generation"] >= generation for t in tasks)


@pytest.mark.full
def test_a_gang_of_hundreds_is_formed_again_when_a_machine_is_lost(many, jobs_on):
    jobs = jobs_on(many)
    (jobs.work / "worker.py").write_text(WORKER)
    run = jobs.start("run", "--on", "yarn", "--role", f"worker={TASKS},memory=64m",
                     "--framework", "pytorch", "--restart", "gang", "--max-restarts", "3", "--",
                     "python3", "worker.py")
    jobs.wait_for(lambda: run.poll() is not None or (jobs.apps() and _running(jobs, 0) == TASKS),
                  "all of them to run", LATE_S)
    assert run.poll() is None, run.communicate()
    master = next(iter(jobs.processes("ydl-node master")))
    lost = next(int(host.rsplit(".", 1)[1]) for host in _hosts(jobs) if host.startswith("127.1."))
    many.lose_one_of_many(lost)
    out, err, peak = _to_its_end(run, master)
    assert run.returncode == 0, (out[-2000:], err[-4000:])
    seen = re.findall(rf"world {TASKS} generation (\d+)", out)
    assert sum(int(generation) > 0 for generation in seen) >= TASKS, err[-4000:]
    assert peak <= MASTER_KB


def _hosts(jobs) -> list[str]:
    """Where tasks are, the master's own node left out."""
    status = json.loads(jobs.run("status", "--json", "last", check=0).stdout)
    home = jobs.cluster.app(jobs.apps()[0])["amHostHttpAddress"].split(":")[0]
    return [task["host"] for task in status["tasks"] if task["host"] != home]
