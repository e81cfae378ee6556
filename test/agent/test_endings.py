"""Everything ends: whatever a task does to outlive its end, and whoever is killed."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from agent_support import (BIN, EXIT, NONE, PATIENCE, PERSON, SIGNAL, Bench, alive, all_pids, command, environ,
                           wait_until)

# Known by its argument, where there is no environment; another run's is not ours.
NAP = f"599.{os.getpid()}"

# How a task's process gets away from it. Each leaves something that sleeps for ten minutes.
DAEMON = ("python3 -c 'import os, time\n"
          "if os.fork() == 0:\n"
          "    os.setsid()\n"
          "    if os.fork() == 0:\n"
          "        {inside}\n"
          "        open(\"up\", \"w\").close()\n"
          "        time.sleep(600)\n"
          "    os._exit(0)\n"
          "os.wait()\n"
          "{after}'")
TRICKS = {  # each makes the file `up` when its processes are there
    "child": "sleep 600 & touch up; {stay}",
    "setsid": "setsid sh -c 'touch up; exec sleep 600' & {stay}",
    "daemon": DAEMON.format(inside="pass", after="{stay}"),
    "daemon-closed": DAEMON.format(inside="[os.close(i) for i in range(3)]", after="{stay}"),
    "ignores": "trap '' TERM INT HUP; sleep 600 & touch up; {stay}",
    "daemon-ignores": "trap '' TERM; setsid sh -c 'sleep 600 & touch up; sleep 600' & {stay}",
    "job-control": "set -m; sleep 600 & sleep 600 & touch up; {stay}",
    "no-environment": f"setsid env -i sh -c 'sleep {NAP} & touch up; sleep {NAP}' & {{stay}}",
    "forks": "touch up; while :; do setsid sleep 0.05 & done",
}
# What the leader does then: it is there until it is ended, or leaves when the others are there.
STAY = {True: ("sleep 600", "time.sleep(600)"),
        False: ("until [ -e up ]; do sleep 0.01; done",
                "while not os.path.exists(\"up\"): time.sleep(0.01)")}


def script(trick: str, stays: bool) -> str:
    """With `stays` the leader is there until it is ended, else it leaves at once."""
    return TRICKS[trick].replace("{stay}", STAY[stays]["python3" in TRICKS[trick]])


def up(b: Bench, task: int) -> bool:
    return (b.run / "tasks" / f"worker-{task}.work" / "up").exists()


def sleepers() -> set[int]:
    """Processes with no environment to know them by."""
    found = set()
    for pid in all_pids():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if f.read() == f"sleep\0{NAP}\0".encode() and alive(pid):
                    found.add(pid)
        except OSError:
            pass
    return found


@pytest.mark.parametrize("trick", [t for t in TRICKS if t != "forks"])
def test_a_task_that_ends_leaves_nothing(bench, trick):
    b = bench()
    b.launch(0, script(trick, stays=False))
    assert b.exited(0)["fail"] == NONE
    assert not b.processes() and not sleepers()  # before its end is told, not later
    b.shutdown()


@pytest.mark.parametrize("trick", list(TRICKS))
def test_a_stopped_task_leaves_nothing(bench, trick):
    b = bench()
    b.launch(0, script(trick, stays=True))
    wait_until(lambda: up(b, 0))
    b.stop(0, grace=300)
    end = b.exited(0)
    assert end["fail"] in (PERSON, NONE, EXIT), end
    assert not b.processes() and not sleepers()
    b.shutdown()


@pytest.mark.parametrize("victim, trick", [
    pytest.param(victim, trick, marks=() if victim == "master" or trick == "daemon-ignores" else pytest.mark.full)
    for victim in ("master", "agent's SIGTERM", "task", "connection") for trick in TRICKS])
def test_whoever_is_killed_nothing_is_left(bench, trick, victim):
    b = bench()
    pid = b.launch(0, script(trick, stays=True))
    b.launch(1, script(trick, stays=True))
    wait_until(lambda: up(b, 0) and up(b, 1))
    if victim == "master":
        b.driver.kill()
    elif victim == "agent's SIGTERM":
        b.agents[0].terminate()
    elif victim == "connection":
        b.driver.stdin.write('{"agent": 0, "hang_up": true}\n')
        b.driver.stdin.flush()
    else:
        os.kill(pid, signal.SIGKILL)
        assert b.exited(0)["fail"] == SIGNAL
        b.driver.kill()
    assert b.gone(), b.processes()
    wait_until(lambda: not sleepers())
    assert not b.run.exists()  # the last agent removes it when the master cannot
    assert b.agents[0].returncode == (143 if victim == "agent's SIGTERM" else 69), b.agents[0]


def test_a_neighbours_processes_are_left_alone(bench):
    b = bench()
    b.launch(1, DAEMON.format(inside="pass", after="time.sleep(600)"))
    b.launch(2, "setsid sh -c 'touch up; exec sleep 600' & sleep 600")
    b.launch(0, "setsid sh -c 'touch up; exec sleep 600' & until [ -e leave ]; do sleep 0.05; done")
    wait_until(lambda: all(up(b, i) for i in range(3)) and len(b.processes()) >= 7)
    before = set(b.processes())
    (b.run / "tasks" / "worker-0.work" / "leave").touch()
    assert b.exited(0)["fail"] == NONE
    left = set(b.processes())
    assert len(left) >= 5 and before - left and all(
        b"worker-0" not in environ(pid) for pid in left)
    # A stranger that only looks like one of ours, outside: it stays.
    stranger = subprocess.Popen(["sleep", "600"], env={"YDL_SOCKET": f"{b.run}/tasks/worker-1.sock"})
    b.stop(1, grace=0)
    b.exited(1)
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()
    assert b.processes() and all(b"worker-2" in environ(pid) for pid in b.processes())
    b.shutdown()


def test_grace_is_a_file_a_signal_and_a_kill(bench):
    for grace in (3000, 60000):  # a busy machine may not let a task run for so long
        b = bench()
        b.launch(0, "trap 'cat $YDL_STOP; date +%s%3N' TERM; touch up; while :; do sleep 0.02; done")
        wait_until((b.run / "tasks" / "worker-0.work" / "up").exists)
        now = time.time() * 1000
        b.stop(0, grace=grace)
        end = b.exited(0, timeout=grace / 1000 + PATIENCE)
        assert (end["fail"], end["signal"]) == (PERSON, signal.SIGKILL)
        if len(said := b.output(0).split()) == 2:
            break
    deadline, heard = map(int, said)
    assert now + grace - 10 < deadline < heard + grace and heard < deadline <= end["when"] + 20


def test_being_asked_again_gives_no_more_time(bench):
    b = bench()
    for first, second in ((500, 60000), (60000, 0), (60000, 500)):
        b.launch(0, "trap '' TERM; touch deaf; while :; do sleep 0.02; done")
        wait_until((b.run / "tasks" / "worker-0.work" / "deaf").exists)
        (b.run / "tasks" / "worker-0.work" / "deaf").unlink()
        b.stop(0, grace=first)
        b.stop(0, grace=second)
        assert b.exited(0, timeout=50)["signal"] == signal.SIGKILL  # before the minute is over


def test_the_master_is_answered_while_the_last_task_takes_its_time(bench, monkeypatch):
    """Else it takes the agent for lost, and nobody waits for what it saves."""
    monkeypatch.setenv("DRIVER_PONGS", "1")
    b = bench()
    work = b.run / "tasks" / "worker-0.work"
    b.launch(0, "trap 'touch told' TERM; touch up; until test -e go; do sleep 0.02; done")
    wait_until((work / "up").exists)
    b.tell(shutdown={"grace_ms": 600_000})
    wait_until((work / "told").exists)
    b.tell(ping={"seq": 4711})
    b.take(lambda e: e.get("from", {}).get("pong", {}).get("seq") == 4711)
    (work / "go").touch()
    assert b.exited(0)["code"] == 0
    assert b.agents[0].wait(PATIENCE) == 0


def test_a_task_that_was_suspended_hears_the_signal(bench):
    b = bench()
    pid = b.launch(0, "trap 'echo heard; exit 5' TERM; touch up; while :; do sleep 0.02; done")
    wait_until((b.run / "tasks" / "worker-0.work" / "up").exists)
    os.kill(pid, signal.SIGSTOP)
    b.stop(0, grace=600_000)
    end = b.exited(0)
    assert (end["fail"], end["code"]) == (EXIT, 5) and b.output(0) == b"heard\n"


def test_the_lease_is_kept_and_ends(bench):
    b = bench(lease=6000)  # from the last word that it heard
    b.launch(0, "sleep 600")
    began = time.monotonic()
    b.driver.kill()
    assert b.gone()
    assert time.monotonic() - began > 2  # it ran on without a master


def test_a_silent_master_is_no_master(bench):
    b = bench(lease=6000)
    b.launch(0, "sleep 600")
    b.driver.send_signal(signal.SIGSTOP)
    assert b.gone()


def test_a_suspended_agent_goes_on(bench):
    b = bench()
    pid = b.launch(0, "until [ -e leave ]; do sleep 0.01; done")
    b.agents[0].send_signal(signal.SIGSTOP)
    (b.run / "tasks" / "worker-0.work" / "leave").touch()
    wait_until(lambda: not alive(pid))
    b.agents[0].send_signal(signal.SIGCONT)
    assert b.exited(0)["fail"] == NONE
    b.shutdown()


def test_the_agents_own_death_takes_its_tasks_along(bench):
    b = bench()
    pids = [b.launch(i, ["sleep", "600"]) for i in range(3)]
    b.agents[0].kill()
    wait_until(lambda: not any(alive(pid) for pid in pids))


def test_several_agents_share_a_run_directory(bench):
    b = bench(agents=3)
    for i in range(3):
        b.launch(i, "sleep 600", agent=i)
    b.agents[0].terminate()
    b.agents[0].wait(60)
    assert (b.run / "tasks" / "worker-1.sock").exists() and b.join.exists()
    b.driver.kill()
    assert b.gone() and not b.run.exists()


def test_an_agent_without_a_master_says_so(tmp_path):
    join = tmp_path / "join.json"
    join.write_text('{"address": "unix:/no/such", "job": "j", "key": "'
                    + "A" * 43 + '="}')
    join.chmod(0o644)
    open_ = subprocess.run([BIN / "ydl-node", "agent", "--join", join], capture_output=True,
                           text=True, check=False)
    assert open_.returncode == 77 and "can be read by others" in open_.stderr, open_
    join.chmod(0o600)
    nobody = subprocess.run([BIN / "ydl-node", "agent", "--join", join], capture_output=True,
                            text=True, check=False)
    assert nobody.returncode != 0 and "/no/such" in nobody.stderr, nobody
    assert "AAAA" not in open_.stderr + nobody.stderr


def test_many_are_stopped_at_once(bench):
    """Each has ten seconds from when it was asked, and none of them needs it."""
    b = bench()
    b.prepare(*[{"task": i, "name": f"worker:{i}"} for i in range(300)])
    b.start(*[command(i, ["sleep", "600"]) for i in range(300)])
    for i in range(300):
        b.take_task("started", i)
    b.stop(*range(300), grace=10000)
    for i in range(300):
        assert b.exited(i)["signal"] == signal.SIGTERM
    b.shutdown()


def test_tls_is_the_same(bench):
    b = bench(tls=True)
    b.launch(0, "setsid sleep 600 & exit 3")
    assert b.exited(0)["code"] == 3
    b.launch(0, "sleep 600")
    b.driver.kill()
    assert b.gone()


def test_the_master_may_refuse(bench):
    b: Bench = bench()
    with open(b.join) as f:
        text = f.read()
    b.join.write_text(text.replace("job-1", "job-2"))
    # Over a Unix socket the key is in the hello, for the master to judge.
    other = b.start_agent(5, stderr=subprocess.PIPE, text=True)
    hello = b.take(lambda e: e.get("from", {}).get("hello", {}).get("agent") == 5)["from"]["hello"]
    assert (hello["job"], hello["version"], hello["node"]) == ("job-2", 1, "node-5")
    above = int(Path(f"/proc/{hello['pid']}/stat").read_text().rpartition(")")[2].split()[1])
    assert hello["host"] == "127.0.0.1" and above == other.pid  # its guard
    other.kill()
    other.wait()
