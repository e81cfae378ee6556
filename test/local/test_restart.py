"""Restarts: same rank, same port, right generation, the budget counted once."""

import json
import os
import random
import signal

import pytest

WORKER = r"""
import json, os, signal, sys, time
def say(kind):
    with open(f"{os.environ['LIVES']}/{os.environ['YDL_RANK']}", "a") as f:
        f.write(json.dumps({"kind": kind, "pid": os.getpid(), "port": os.environ["YDL_PORT"],
                            "generation": os.environ["YDL_GENERATION"],
                            "attempt": os.environ["YDL_ATTEMPT"]}) + "\n")
def stop(*_):
    say("stopped")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
say("born")
while not os.path.exists(os.environ["LIVES"] + "/finish"):
    time.sleep(0.05)
say("done")
"""


class Campaign:
    """A running job whose ranks write down every life they have."""

    def __init__(self, local, ranks, policy, restarts):
        self.local = local
        self.lives_dir = local.tmp / "lives"
        self.lives_dir.mkdir()
        (local.work / "worker.py").write_text(WORKER)
        self.ranks = ranks
        self.process = local.start(
            "run", "--role", f"worker={ranks},ports=1", "--restart", policy, "--max-restarts",
            str(restarts), "--grace", "10m", "--", "python3", "-S", "-E", "worker.py",
            env={"LIVES": str(self.lives_dir)})
        self.wait_lives(ranks)

    def lives(self, rank):
        path = self.lives_dir / str(rank)
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().splitlines()]

    def born(self):
        return sum(1 for r in range(self.ranks) for x in self.lives(r) if x["kind"] == "born")

    def wait_lives(self, n):
        self.local.wait_for(lambda: self.born() >= n, f"{n} lives", timeout=60)

    def kill(self, rank):
        os.kill(self.lives(rank)[-1]["pid"], signal.SIGKILL)

    def finish(self, code=0):
        (self.lives_dir / "finish").touch()
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == code, err.decode()

    def restarts(self):
        """What the events log says about restarts."""
        lines = (self.local.jobs()[-1] / "events.jsonl").read_text().splitlines()
        return [e for e in map(json.loads, lines) if e["event"] == "restart"]


def _kill_ranks(local, ranks, kills):
    c = Campaign(local, ranks, "task", kills)
    choose = random.Random(7)
    killed = [0] * ranks
    for i in range(kills):
        rank = choose.randrange(ranks)
        c.kill(rank)
        killed[rank] += 1
        c.wait_lives(ranks + i + 1)
    c.finish()
    for rank in range(ranks):
        lives = [x for x in c.lives(rank) if x["kind"] == "born"]
        assert len(lives) == killed[rank] + 1
        assert len({x["port"] for x in lives}) == 1
        assert [x["attempt"] for x in lives] == [str(i) for i in range(len(lives))]
        assert {x["generation"] for x in lives} == {"0"}
    assert len(c.restarts()) == kills


def test_a_killed_rank_comes_back_as_itself(local):
    _kill_ranks(local, ranks=10, kills=5)


@pytest.mark.full
def test_fifty_killed_ranks_of_a_hundred_come_back_as_themselves(local):
    _kill_ranks(local, ranks=100, kills=50)


def _kill_gangs(local, ranks, kills):
    c = Campaign(local, ranks, "gang", kills)
    for i in range(kills):
        c.kill(i)
        c.wait_lives(ranks * (i + 2))
    c.finish()
    for rank in range(ranks):
        lives = c.lives(rank)
        born = [x for x in lives if x["kind"] == "born"]
        assert [x["generation"] for x in born] == [str(i) for i in range(kills + 1)]
        assert len({x["port"] for x in born}) == 1
        stopped = sum(1 for x in lives if x["kind"] == "stopped")
        assert stopped == (kills - 1 if rank < kills else kills)  # all but the one that was killed
    assert len(c.restarts()) == kills


def test_a_gang_stops_cleanly_and_begins_a_new_generation(local):
    _kill_gangs(local, ranks=6, kills=2)


@pytest.mark.full
def test_a_gang_of_a_hundred_stops_cleanly_and_begins_anew(local):
    _kill_gangs(local, ranks=100, kills=5)


def test_two_ranks_that_die_together_use_one_restart_of_the_gang(local):
    """One failure or two in the same moment: the gang is formed anew once, and that is counted."""
    c = Campaign(local, 6, "gang", 1)
    pids = [c.lives(rank)[-1]["pid"] for rank in (1, 4)]
    master, = local.find("ydl-node master")
    os.kill(master, signal.SIGSTOP)  # it hears of both when it goes on
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    local.wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "both are reaped")
    os.kill(master, signal.SIGCONT)
    c.wait_lives(12)
    c.finish()
    assert len(c.restarts()) == 1
    for rank in range(6):
        born = [x["generation"] for x in c.lives(rank) if x["kind"] == "born"]
        assert born == ["0", "1"]
        stopped = sum(1 for x in c.lives(rank) if x["kind"] == "stopped")
        assert stopped == (0 if rank in (1, 4) else 1)


def test_a_budget_that_is_used_up_ends_the_job(local):
    done = local.run("run", "-n", "2", "--restart", "task", "--max-restarts", "2", "--", "sh", "-c",
                     "echo x >> tries.$YDL_RANK; [ $YDL_RANK = 0 ] && exec sleep 600; "
                     "until [ -s tries.0 ]; do sleep 0.02; done; exit 7", check=7)
    assert (local.work / "tries.1").read_text() == "x\n" * 3
    assert (local.work / "tries.0").read_text() == "x\n"
    assert "worker:1" in done.stderr.decode()


def test_a_command_that_is_missing_is_not_tried_again(local):
    (local.work / "gone.sh").write_text("#!/no/such/interpreter\n")
    (local.work / "gone.sh").chmod(0o755)
    local.run("run", "-n", "1", "--restart", "task", "--max-restarts", "5", "--", "./gone.sh",
              check=126)
    assert '"attempt":1' not in (local.jobs()[-1] / "events.jsonl").read_text().replace(" ", "")


def test_only_after_exit_codes_that_were_named_and_no_sooner_than_asked(local):
    local.run("run", "-n", "1", "--restart", "task", "--max-restarts", "9", "--restart-codes", "7,9",
              "--restart-delay", "700ms", "--", "sh", "-c",
              "date +%s%N >> tries; [ $(wc -l < tries) = 1 ] && exit 7; exit 8", check=8)
    first, second = map(int, (local.work / "tries").read_text().split())
    assert second - first >= 700_000_000
    done = local.run("run", "--restart-codes", "none", "--", "true", check=2)
    assert "'none' is not an exit code from 1 to 255" in done.stderr.decode()
    done = local.run("run", "--restart-delay", "soon", "--", "true", check=2)
    assert "soon" in done.stderr.decode()
