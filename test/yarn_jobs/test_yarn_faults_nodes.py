"""Jobs on YARN whose nodes stand still, or are given up by YARN while our agents live on."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from test_yarn_faults import Run
from ydl_cluster.patience import Limit

TASKS = ("worker:0", "worker:1")


class Spread(Run):
    """Two workers on two of three nodes; the master is on any of them."""

    SIZE = ("--role", "worker=2,spread=node,memory=128m")

    def __init__(self, jobs, steps, *options, **more):
        super().__init__(jobs, steps, *options, **more)
        self.until_all(2)
        self.at = {task: jobs.node_of(self.steps(task)[-1][1]) for task in TASKS}
        self.home = jobs.node_of(self.pid("ydl-node master"))

    def until_all(self, step):
        """Reads on until every worker has come so far."""
        while min((self.steps(task) or [(-1,)])[-1][0] for task in TASKS) < step:
            self.until(lambda line: "│ step" in line)


def test_a_nodemanager_that_stands_still_for_a_while_stops_nothing(jobs):
    """Shorter than YARN's patience (40 s here): tasks are ours, and our own channel lives."""
    run = Spread(jobs, 50)
    jobs.cluster.pause(run.at["worker:0"])
    run.until_all(15)
    jobs.cluster.resume(run.at["worker:0"])
    run.end()
    for task in TASKS:
        assert [n for n, _, a in run.steps(task)] == list(range(50))


@pytest.mark.full
def test_a_node_that_yarn_gives_up_loses_its_task_to_another(jobs):
    """Only its NodeManager is dead: the old task has to end before the new one begins."""
    run = Spread(jobs, 150, "--restart", "task")
    task = next(task for task in TASKS if run.at[task] != run.home)
    old = run.steps(task)[-1][1]
    jobs.cluster.pause(run.at[task])
    run.until(lambda line: line.startswith(f"{task}│ step 0") and line.split()[-1] == "1")
    jobs.wait_for(lambda: old not in jobs.processes("steps.py"), "the end of the old task", 60)
    assert jobs.node_of(run.steps(task)[-1][1]) != run.at[task]
    jobs.cluster.resume(run.at[task])
    err = run.end()
    assert [n for n, _, a in run.steps(task) if a == 1] == list(range(150)), err
    for other in set(TASKS) - {task}:
        assert [(n, a) for n, _, a in run.steps(other)] == [(n, 0) for n in range(150)]


@pytest.mark.full
def test_a_master_on_a_node_that_yarn_gives_up_is_replaced(jobs):
    """YARN starts another one while the first still lives: that one has to leave the job alone."""
    run = Spread(jobs, 150, "--restart", "task")
    first = set(jobs.processes("ydl-node master"))
    jobs.cluster.pause(run.home)
    jobs.wait_for(lambda: set(jobs.processes("ydl-node master")) - first, "another master")
    jobs.wait_for(lambda: not first & set(jobs.processes("ydl-node master")), "only that one", 60)
    jobs.cluster.resume(run.home)
    err = run.end()
    for task in TASKS:
        if run.at[task] != run.home:
            assert [(n, a) for n, _, a in run.steps(task)] == [(n, 0) for n in range(150)], err
        else:
            last = run.steps(task)[-1][2]
            assert [n for n, _, a in run.steps(task) if a == last] == list(range(150)), err
    assert jobs.ended()["finalStatus"] == "SUCCEEDED"


CLOCKED = """
import os, sys, time
for i in range(int(sys.argv[1])):
    print("step", i, os.getpid(), os.environ["YDL_ATTEMPT"], flush=True)
    with open(sys.argv[2] + "-" + os.environ["YDL_RANK"], "a") as f:
        print(time.monotonic(), os.getpid(), file=f)
    time.sleep(0.05)
"""


@pytest.mark.full
def test_a_nodemanager_without_recovery_that_begins_anew_makes_no_two_of_one_rank(own_cluster, jobs_on,
                                                                                  tmp_path):
    """It knows nothing of the containers that it had, and YARN takes them for lost at once, while
    their processes live: the new task waits until the old one is gone."""
    jobs = jobs_on(own_cluster(nodes=3, datanodes=1,
                               settings=["yarn:yarn.nodemanager.recovery.enabled=false"]))
    (jobs.work / "clocked.py").write_text(CLOCKED)
    run = Spread(jobs, 400, "--restart", "task", program=("clocked.py", 400, tmp_path / "lived"))
    task = next(task for task in TASKS if run.at[task] != run.home)
    old = run.steps(task)[-1][1]
    jobs.cluster.kill(run.at[task])
    jobs.cluster.start(run.at[task])
    run.until(lambda line: line.startswith(f"{task}│ step 0") and line.split()[-1] == "1")
    assert old not in jobs.processes("clocked.py")
    run.end()
    rows = [line.split() for line in (tmp_path / f"lived-{task[-1]}").read_text().splitlines()]
    assert [int(pid) for _, pid in rows].count(old) > 0
    last = max(float(at) for at, pid in rows if int(pid) == old)
    first = min(float(at) for at, pid in rows if int(pid) != old)
    assert last < first, f"two of {task} for {last - first} s"
    assert [n for n, _, a in run.steps(task) if a == 1] == list(range(400))
    assert jobs.ended()["finalStatus"] == "SUCCEEDED"


@pytest.mark.full
def test_a_dead_resourcemanager_has_a_standby(jobs_on, ha_cluster):
    run = Run(jobs_on(ha_cluster), 100)
    dead = ha_cluster.active("rm")
    ha_cluster.kill(dead)
    run.until(lambda line: "step 90 " in line)
    assert ha_cluster.active("rm") not in (None, dead)
    run.end()
    for task in TASKS:
        assert [(n, a) for n, _, a in run.steps(task)] == [(n, 0) for n in range(100)]


# ---- files that take long ----

def unpacking(jobs) -> int:
    """The program by which a NodeManager unpacks an archive, stopped; 0: there is none."""
    run = str(jobs.cluster.lay.run)
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"tar") and run in os.readlink(entry / "cwd"):
                os.kill(int(entry.name), signal.SIGSTOP)
                return int(entry.name)
        except OSError:
            pass
    return 0


def stopped_while_unpacking(jobs, turn: int):
    """A job with an archive of many files whose unpacking was stopped in the middle, and the process
    that was stopped; None where it was done before we saw it."""
    files = jobs.work / "many"
    files.mkdir(exist_ok=True)
    for i in range(30000):
        (files / f"f{turn}-{i}").touch()  # others than before, and more: no node has these yet
    subprocess.run(["tar", "-czf", jobs.work / "many.tar.gz", "-C", files, "."], check=True)
    run = jobs.start("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--archives", "many.tar.gz",
                     "--", "true")
    limit = Limit(120)
    while run.poll() is None:  # without a pause: it does not take long
        assert not limit.over(), jobs.tell()
        if pid := unpacking(jobs):
            return run, pid
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    return None


def test_a_job_that_is_stopped_while_files_are_unpacked_gives_all_back_at_once(jobs):
    run, tar = next(found for turn in range(6) if (found := stopped_while_unpacking(jobs, turn)))
    app = jobs.apps()[-1]
    try:
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)
        assert run.returncode == 130, err
        assert jobs.ended(app)["finalStatus"] == "KILLED"
        os.kill(tar, 0)  # all the while the node was at it
    finally:
        os.kill(tar, signal.SIGKILL)
