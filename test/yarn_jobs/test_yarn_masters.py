"""Jobs on YARN that outlive many masters, and nodes that nobody else is as large as."""

import json
import os
import random

import pytest
from test_yarn_takeover import kill_master, read_all, read_until
from ydl_cluster.cluster import Cluster
from ydl_cluster.patience import end_if_late

pytestmark = pytest.mark.full  # a cluster of its own
MASTERS = 8
RUN = ("run", "--on", "yarn", "--attempts", MASTERS)


@pytest.fixture(scope="module")
def uneven_cluster():
    """nm3 alone has room for more than 2 GB; a job may have as many masters as it needs."""
    cluster = Cluster.up(name=f"uneven-{os.getpid()}", nodes=3, datanodes=1, node_mb=2048,
                         on=["nm3:yarn.nodemanager.resource.memory-mb=6144"],
                         settings=[f"yarn:yarn.resourcemanager.am.max-attempts={MASTERS}",
                                   "yarn:yarn.scheduler.maximum-allocation-mb=6144"])
    yield cluster
    cluster.down()


def events(jobs):
    text = jobs.run("events", "--json", jobs.apps()[0], check=0).stdout
    return [json.loads(line) for line in text.splitlines()]


# ---- barriers ----

# Every round all come to a barrier, count to three together and leave through another one. The first
# says in the store whether this was the last round.
ROUNDS = r"""
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["YDL_SOCKET"])
f = s.makefile("rw")
def ask(line):
    f.write(line + "\n")
    f.flush()
    return f.readline().split()
n, last = 0, False
while not last:
    if os.environ["YDL_RANK"] == "0" and os.path.exists(sys.argv[1]):
        assert ask(f"put last {n}") == ["ok"]
    assert ask("barrier in 3") == ["ok"]
    last = ask("get last") == ["value", str(n)]
    assert ask("add count 1")[0] == "value"
    assert ask("barrier out 3") == ["ok"]
    n += 1
    if n % 50 == 0 or last:
        print("round", n, *ask("get count")[1:] if last else (), flush=True)
"""


def test_no_barrier_hangs_and_nothing_counts_twice_when_masters_die(jobs_on, uneven_cluster, tmp_path):
    """A master may die when it has answered some of those at a barrier, and the others' answers are
    lost with it: the next one knows who may go on."""
    jobs = jobs_on(uneven_cluster)
    go = tmp_path / "go"
    (jobs.work / "rounds.py").write_text(ROUNDS)
    run = jobs.start(*RUN, "-n", 3, "--mem", "128m", "--", "python3", "rounds.py", go)
    seen = []
    end_if_late(run, 300)
    for _ in range(3):
        rounds = len(seen) + random.randrange(1, 6)
        read_until(run, seen, lambda line, rounds=rounds: len(seen) >= rounds)
        kill_master(jobs)
    read_until(run, seen, lambda line: "round" in line)
    go.touch()
    read_all(run, seen)
    said = [line.split("│ ")[1].split()[1:] for line in seen if "│ round" in line]
    ends = [words for words in said if len(words) == 2]
    assert len(ends) == 3 and len({n for n, _ in ends}) == 1, seen[-20:]
    assert {int(count) for _, count in ends} == {3 * int(ends[0][0])}, ends


# ---- budgets ----

# Fails with 3 in its N-th life when there is a file "fail-N".
LIVES = r"""
import os, sys, time
life = os.environ["YDL_ATTEMPT"]
print("life", life, flush=True)
while not os.path.exists(f"{sys.argv[1]}/fail-{life}"):
    time.sleep(0.05)
sys.exit(3)
"""


def test_the_fourth_master_has_counted_everything_once(jobs_on, uneven_cluster, tmp_path):
    """Two restarts are allowed: two there are, and the third failure is the last, whoever reads the
    log of whom before."""
    jobs = jobs_on(uneven_cluster)
    (jobs.work / "lives.py").write_text(LIVES)
    run = jobs.start(*RUN, "-n", 1, "--mem", "128m", "--restart", "task", "--max-restarts", 2, "--",
                     "python3", "lives.py", tmp_path)
    seen = []
    read_until(run, seen, lambda line: "life 0" in line)
    for life in range(2):
        (tmp_path / f"fail-{life}").touch()
        read_until(run, seen, lambda line, life=life: f"life {life + 1}" in line)
        kill_master(jobs)
    kill_master(jobs)
    jobs.wait_for(lambda: sum(e["event"] == "master" for e in events(jobs)) == 4, "the fourth master")
    told = events(jobs)
    assert [e["seq"] for e in told] == sorted({e["seq"] for e in told})
    assert sum(e["event"] == "restart" for e in told) == 2
    status = json.loads(jobs.run("status", "--json", jobs.apps()[0], check=0).stdout)
    assert status["restarts"] == 2, status
    (tmp_path / "fail-2").touch()
    run.communicate(timeout=120)
    assert run.returncode == 3
    told = events(jobs)
    assert [e["seq"] for e in told] == sorted({e["seq"] for e in told})
    assert [e["event"] for e in told].count("restart") == 2
    assert [e["event"] for e in told].count("failure") == 3
    assert [e["event"] for e in told].count("end") == 1


# ---- refused ----

WAITS = r"""
import os, sys, time
print("up", os.environ["YDL_ATTEMPT"], os.getpid(), flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
"""


def test_what_no_node_has_room_for_is_asked_for_until_one_has(jobs_on, uneven_cluster, tmp_path):
    """The only node that is large enough leaves: YARN refuses the request for another container
    (InvalidResourceRequestException). The job says so, waits, and goes on when the node is back."""
    jobs = jobs_on(uneven_cluster)
    go = tmp_path / "go"
    (jobs.work / "waits.py").write_text(WAITS)
    run = jobs.start(*RUN, "-n", 1, "--mem", "3g", "--restart", "task", "--", "python3", "waits.py", go)
    seen = []
    read_until(run, seen, lambda line: "up 0" in line)
    old = int(seen[-1].split()[-1])
    assert jobs.node_of(old) == "nm3"
    jobs.cluster.stop("nm3")
    told = jobs.wait_for(lambda: [e for e in events(jobs) if "InvalidResourceRequest" in str(e)],
                         "a word about the refusal")
    assert len(told) <= 3, told
    status = jobs.run("status", jobs.apps()[0], check=0).stdout
    assert "InvalidResourceRequest" in status, status
    jobs.cluster.start("nm3")
    read_until(run, seen, lambda line: "up 1" in line)
    assert old not in jobs.processes("waits.py")
    go.touch()
    read_all(run, seen)
    assert sum("│ up" in line for line in seen) == 2, seen
