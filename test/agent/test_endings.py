"""Everything ends: whatever a task does to outlive its end, and whoever is killed."""

import os
import signal
import subprocess
import time

import pytest
from agent_support import (BIN, EXIT, NONE, PERSON, SIGNAL, Bench, alive, all_pids, command, environ,
                           wait_until)

# Known by its argument, where there is no environment; another run's is not ours.
NAP = f"599.{os.getpid()}"

# How a task's process gets away from it. Each leaves something that sleeps for ten minutes.
DAEMON = ("python3 -c 'import os, time\n"
          "if os.fork() == 0:\n"
          "    os.setsid()\n"
          "    if os.fork() == 0:\n"
          "        {inside}\n"
          "        time.sleep(600)\n"
          "    os._exit(0)\n"
          "os.wait()\n"
          "{after}'")
TRICKS = {
    "child": "sleep 600 & {stay}",
    "setsid": "setsid sleep 600 & {stay}",
    "daemon": DAEMON.format(inside="pass", after="time.sleep({wait})"),
    "daemon-closed": DAEMON.format(inside="[os.close(i) for i in range(3)]",
                                   after="time.sleep({wait})"),
    "ignores": "trap '' TERM INT HUP; sleep 600 & {stay}",
    "daemon-ignores": "trap '' TERM; setsid sh -c 'sleep 600 & sleep 600' & {stay}",
    "job-control": "set -m; sleep 600 & sleep 600 & {stay}",
    "no-environment": f"setsid env -i sh -c 'sleep {NAP} & sleep {NAP}' & {{stay}}",
    "forks": "while :; do setsid sleep 0.05 & done",
}


def script(trick: str, stays: bool) -> str:
    """With `stays` the leader is there until it is ended, else it leaves at once."""
    text = TRICKS[trick].replace("{stay}", "sleep 600" if stays else "sleep 0.2")
    return text.replace("{wait}", "600" if stays else "0.2")


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
    time.sleep(0.3)
    b.stop(0, grace=300)
    end = b.exited(0, timeout=5)
    assert end["fail"] in (PERSON, NONE, EXIT), end
    assert not b.processes() and not sleepers()
    b.shutdown()


@pytest.mark.parametrize("trick", list(TRICKS))
@pytest.mark.parametrize("victim", ["master", "agent's SIGTERM", "task", "connection"])
def test_whoever_is_killed_nothing_is_left(bench, trick, victim):
    b = bench()
    pid = b.launch(0, script(trick, stays=True))
    b.launch(1, script(trick, stays=True))
    time.sleep(0.3)
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
    assert b.gone(5.0) and not sleepers(), b.processes()
    assert not b.run.exists()  # the last agent removes it when the master cannot
    assert b.agents[0].returncode == (143 if victim == "agent's SIGTERM" else 69), b.agents[0]


def test_a_neighbours_processes_are_left_alone(bench):
    b = bench()
    b.launch(1, DAEMON.format(inside="pass", after="time.sleep(600)"))
    b.launch(2, "setsid sleep 600 & sleep 600")
    b.launch(0, "setsid sleep 600 & until [ -e leave ]; do sleep 0.05; done")
    time.sleep(0.5)
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
    b = bench()
    b.launch(0, "trap 'cat $YDL_STOP; date +%s%3N' TERM; touch up; while :; do sleep 0.02; done")
    wait_until((b.run / "tasks" / "worker-0.work" / "up").exists)
    now = time.time() * 1000
    b.stop(0, grace=700)
    end = b.exited(0)
    assert (end["fail"], end["signal"]) == (PERSON, signal.SIGKILL)
    deadline, heard = map(int, b.output(0).split())
    assert abs(deadline - now - 700) < 300 and heard < deadline <= end["when"] + 20


def test_being_asked_again_gives_no_more_time(bench):
    b = bench()
    for first, second in ((500, 60000), (60000, 0), (60000, 500)):
        b.launch(0, "trap '' TERM; touch deaf; while :; do sleep 0.02; done")
        wait_until((b.run / "tasks" / "worker-0.work" / "deaf").exists)
        (b.run / "tasks" / "worker-0.work" / "deaf").unlink()
        b.stop(0, grace=first)
        b.stop(0, grace=second)
        assert b.exited(0, timeout=5)["signal"] == signal.SIGKILL


def test_a_task_that_was_suspended_hears_the_signal(bench):
    b = bench()
    pid = b.launch(0, "trap 'echo heard; exit 5' TERM; touch up; while :; do sleep 0.02; done")
    wait_until((b.run / "tasks" / "worker-0.work" / "up").exists)
    os.kill(pid, signal.SIGSTOP)
    b.stop(0, grace=5000)
    end = b.exited(0)
    assert (end["fail"], end["code"]) == (EXIT, 5) and b.output(0) == b"heard\n"


def test_the_lease_is_kept_and_ends(bench):
    b = bench(lease=1500)
    b.launch(0, "sleep 600")
    began = time.monotonic()
    b.driver.kill()
    time.sleep(0.7)
    assert b.processes()  # it runs on without a master
    assert b.gone(7.0)
    assert 1.2 < time.monotonic() - began < 5


def test_a_silent_master_is_no_master(bench):
    b = bench(lease=1000)
    b.launch(0, "sleep 600")
    b.driver.send_signal(signal.SIGSTOP)
    assert b.gone(6.0)


def test_a_suspended_agent_goes_on(bench):
    b = bench()
    b.launch(0, "sleep 1")
    b.agents[0].send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    b.agents[0].send_signal(signal.SIGCONT)
    assert b.exited(0)["fail"] == NONE
    b.shutdown()


def test_the_agents_own_death_takes_its_tasks_along(bench):
    b = bench()
    pids = [b.launch(i, ["sleep", "600"]) for i in range(3)]
    b.agents[0].kill()
    wait_until(lambda: not any(alive(pid) for pid in pids), 2)


def test_several_agents_share_a_run_directory(bench):
    b = bench(agents=3)
    for i in range(3):
        b.launch(i, "sleep 600", agent=i)
    b.agents[0].terminate()
    b.agents[0].wait(10)
    assert (b.run / "tasks" / "worker-1.sock").exists() and b.join.exists()
    b.driver.kill()
    assert b.gone(5.0) and not b.run.exists()


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


def test_a_stop_of_many_is_quick(bench):
    b = bench()
    b.prepare(*[{"task": i, "name": f"worker:{i}"} for i in range(300)])
    b.start(*[command(i, ["sleep", "600"]) for i in range(300)])
    for i in range(300):
        b.take_task("started", i)
    began = time.monotonic()
    b.stop(*range(300), grace=10000)
    for i in range(300):
        assert b.exited(i)["signal"] == signal.SIGTERM
    assert time.monotonic() - began < 8
    b.shutdown()


def test_tls_is_the_same(bench):
    b = bench(tls=True)
    b.launch(0, "setsid sleep 600 & exit 3")
    assert b.exited(0)["code"] == 3
    b.launch(0, "sleep 600")
    b.driver.kill()
    assert b.gone(5.0)


def test_the_master_may_refuse(bench):
    b: Bench = bench()
    with open(b.join) as f:
        text = f.read()
    b.join.write_text(text.replace("job-1", "job-2"))
    # Over a Unix socket the key is in the hello, for the master to judge.
    other = b.start_agent(5, stderr=subprocess.PIPE, text=True)
    hello = b.take(lambda e: e.get("from", {}).get("hello", {}).get("agent") == 5)["from"]["hello"]
    assert (hello["job"], hello["version"], hello["node"]) == ("job-2", 1, "node-5")
    assert hello["host"] == "127.0.0.1" and hello["pid"] == other.pid
    other.kill()
    other.wait()
