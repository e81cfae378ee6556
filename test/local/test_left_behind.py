"""Nothing left behind: however a job ends, five seconds later there is no process and no file."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HOLD = Path(__file__).with_name("hold.py")

STUBBORN = r"""
import os, signal, sys, time
# Everything a program can do to outlive its launcher.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
def forever():
    while True:
        time.sleep(1000)
if os.fork() == 0:          # a child in the group
    forever()
if os.fork() == 0:          # a daemon: new session, parent gone
    os.setsid()
    if os.fork() == 0:
        forever()
    os._exit(0)
print("up", flush=True)
forever()
"""


@pytest.fixture
def stubborn(local):
    """A running job of two such tasks; the process of `ydl run`."""
    (local.work / "stubborn.py").write_text(STUBBORN)
    # A suite that runs under nohup would hand SIGHUP on ignored, and the job would rightly stay.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    p = local.start("run", "-n", "2", "--grace", "1s", "--", "python3", "stubborn.py")
    signal.signal(signal.SIGHUP, before)
    # Two tasks, each with a child and a daemon.
    local.wait_for(lambda: len(local.find("stubborn.py")) >= 7, "all processes are there")
    yield p
    p.kill()
    p.wait()


def _agent(local):
    return local.agents()[0]


def _master(local):
    return local.find("ydl-node master")[0]


def _task(local):
    agent = _agent(local)
    for pid in local.find("python3 stubborn.py"):
        with contextlib.suppress(OSError):  # one that has just left
            parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == agent and os.getsid(pid) == pid:
                return pid
    raise AssertionError("no task")


@pytest.mark.parametrize("how", ["INT", "TERM", "KILL", "HUP"])
def test_client_ended_by_a_signal(local, stubborn, how):
    os.kill(stubborn.pid, getattr(signal, "SIG" + how))
    local.assert_nothing_left(timeout=1 + 5)


def test_under_nohup_a_hangup_is_nothing(local):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    p = local.start("run", "-n", "2", "--", "sh", "-c", "until test -e go; do sleep 0.05; done")
    signal.signal(signal.SIGHUP, before)
    local.wait_for(lambda: len(local.find("until test")) >= 3, "both tasks run")
    os.killpg(p.pid, signal.SIGHUP)  # as a terminal does when it goes away
    (local.work / "go").touch()
    assert p.wait(20) == 0


def test_interrupted_twice_kills_at_once(local, stubborn):
    os.kill(stubborn.pid, signal.SIGINT)
    os.kill(stubborn.pid, signal.SIGINT)
    local.assert_nothing_left()
    assert stubborn.wait(5) == 130


@pytest.mark.parametrize("whom", [_master, _agent, _task])
def test_a_part_killed_hard(local, stubborn, whom):
    os.kill(whom(local), signal.SIGKILL)
    local.assert_nothing_left(timeout=1 + 5)
    assert stubborn.wait(5) != 0


def _guard(local):
    """What stands above the agent."""
    return next(pid for pid in local.find("ydl-node agent") if pid not in local.agents())


@pytest.mark.parametrize("then", [_agent, _guard])
def test_parts_killed_hard_one_after_the_other(local, stubborn, then):
    """The one that is left ends what the others would have ended."""
    second = then(local)
    os.kill(_master(local), signal.SIGKILL)
    os.kill(second, signal.SIGKILL)
    local.assert_nothing_left(timeout=1 + 5)
    assert stubborn.wait(5) != 0


def test_last_lines_are_seen_after_the_masters_death(local):
    """Tasks have a moment to end then, and whoever stayed with the job sees what they say."""
    (local.work / "farewell.sh").write_text(
        "trap 'sleep 0.1; echo last words; echo and errors >&2; exit 0' TERM\n"
        "echo up\nwhile :; do sleep 0.05; done\n")
    run = local.start("run", "-n", "2", "--", "sh", "farewell.sh")
    logs = local.start("logs", "-f", "last") if run.stdout.readline() else None
    assert logs.stdout.readline().endswith(b"up\n") and logs.stdout.readline().endswith(b"up\n")
    waits = local.start("wait", "last")
    local.wait_for(lambda: waits.poll() is not None or _connected(waits.pid), "wait is there")
    os.kill(_master(local), signal.SIGKILL)
    out, err = run.communicate(timeout=30)
    assert out.count(b"last words") == 2 and err.count(b"and errors") == 2, (out, err)
    assert run.returncode == 70
    out, err = logs.communicate(timeout=30)
    assert out.count(b"last words") == 2 and err.count(b"and errors") == 2, (out, err)
    assert waits.wait(30) == 70 and not local.find("farewell.sh")
    local.assert_nothing_left()


def test_last_lines_are_seen_by_who_comes_after_the_masters_death(local):
    """The job has failed by then, and its tasks have still something to say."""
    (local.work / "farewell.sh").write_text(
        "trap 'until test -e say; do sleep 0.05; done; echo last words; exit 0' TERM\n"
        "echo up\nwhile :; do sleep 0.05; done\n")
    run = local.start("run", "-n", "2", "--grace", "20s", "--", "sh", "farewell.sh")
    assert run.stdout.readline() and run.stdout.readline()
    master = _master(local)
    os.kill(master, signal.SIGKILL)
    local.wait_for(lambda: master not in local.find("ydl-node master"), "the master is gone")
    later = [local.start("logs", "-f", "last"), local.start("wait", "last")]
    for p in later:
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(0.5)
        assert p.poll() is None, p.communicate()
    (local.work / "say").touch()
    assert later[0].communicate(timeout=30)[0].count(b"last words") == 2
    assert run.communicate(timeout=30)[0].count(b"last words") == 2
    assert later[1].wait(30) == 70 and not local.find("farewell.sh")
    local.assert_nothing_left()


def _connected(pid: int) -> bool:
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:"):
                return True
    return False


def test_agent_stopped_hard_is_found_out(local, stubborn):
    os.kill(_agent(local), signal.SIGSTOP)
    stubborn.wait(30)
    local.assert_nothing_left()
    assert stubborn.returncode == 75


def test_tasks_that_end_well_take_their_daemons_along(local):
    (local.work / "leaver.py").write_text(STUBBORN.replace("forever()\n", "", 0).replace(
        'print("up", flush=True)\nforever()', 'print("up", flush=True)'))
    local.run("run", "-n", "2", "--", "python3", "leaver.py", check=0)
    local.assert_nothing_left()


def test_a_failed_job_takes_everything_along(local):
    (local.work / "stubborn.py").write_text(STUBBORN)
    local.run("run", "-n", "2", "--grace", "1s", "--", "sh", "-c",
              "python3 stubborn.py & sleep 1; exit 3", check=3)
    local.assert_nothing_left()


def test_an_agent_that_comes_when_the_job_has_ended_goes_again(local):
    held = subprocess.run([sys.executable, HOLD, "ydl-node agent", local.bin / "ydl", "submit", "-n", "1",
                           "--", "sleep", "600"], env=local.env, cwd=local.work, timeout=100,
                          stdout=subprocess.PIPE, check=True, text=True)
    agent = next(int(line) for line in held.stdout.splitlines() if line.isdigit())
    job = local.wait_for(lambda: local.jobs()[-1:], "the job")[0]
    killer = local.start("kill", job.name)
    events = local.jobs()[-1] / "events.jsonl"
    local.wait_for(lambda: '"KILLED"' in events.read_text(), "the job has ended")
    os.kill(agent, signal.SIGCONT)
    local.assert_nothing_left()
    killer.communicate(timeout=50)
