"""SIGUSR1 and SIGUSR2: what is sent to the launcher reaches the first process of every task."""

import signal

import pytest

TASK = r"""
import os, signal, subprocess, sys, time
def note(number, _):
    with open(f"got.{os.environ['YDL_RANK']}", "a") as f:
        f.write(signal.Signals(number).name + "\n")
signal.signal(signal.SIGUSR1, note)
signal.signal(signal.SIGUSR2, note)
# A child would be ended by a signal that it does not expect.
child = subprocess.Popen(["sleep", "600"], preexec_fn=lambda: [
    signal.signal(s, signal.SIG_DFL) for s in (signal.SIGUSR1, signal.SIGUSR2)])
open(f"up.{os.environ['YDL_RANK']}", "w").close()
while not os.path.exists("finish"):
    time.sleep(0.02)
alive = child.poll() is None
child.kill()
sys.exit(0 if alive else 9)
"""


def _got(local, rank):
    path = local.work / f"got.{rank}"
    return path.read_text().split() if path.exists() else []


@pytest.mark.parametrize("words", [[], ["--nodes", "2"], ["--detach-on-interrupt"]],
                         ids=["one-agent", "two-agents", "detached"])
def test_signals_of_the_users_own_reach_every_task(local, words):
    (local.work / "task.py").write_text(TASK)
    p = local.start("run", *words, "-n", "3", "--", "python3", "-S", "-E", "task.py")
    local.wait_for(lambda: len(list(local.work.glob("up.*"))) == 3, "the tasks run")
    sent = []
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1):
        p.send_signal(number)
        sent.append(number.name)
        local.wait_for(lambda: all(len(_got(local, r)) >= len(sent) for r in range(3)),
                       f"{number.name} has come")
    (local.work / "finish").touch()
    _, said = p.communicate(timeout=50)
    assert p.returncode == 0, said.decode()
    assert [_got(local, r) for r in range(3)] == [sent] * 3


def test_a_task_that_expects_none_is_ended_as_by_a_shell(local):
    p = local.start("run", "-n", "1", "--", "sleep", "600")
    local.wait_for(lambda: local.tasks("sleep 600"), "the task runs")
    p.send_signal(signal.SIGUSR1)
    _, said = p.communicate(timeout=50)
    assert p.returncode == 128 + signal.SIGUSR1, said.decode()
    assert "worker:0" in said.decode() and "SIGUSR1" in said.decode()


def test_no_other_signal_is_taken(local):
    p = local.start("run", "-n", "1", "--", "sleep", "600")
    local.wait_for(lambda: local.tasks("sleep 600"), "the task runs")
    api = next(local.run_dir.glob("ydl-*/api.sock"))
    for name, code in (("KILL", "400"), ("", "400"), ("USR1x", "400")):
        done = local.command("curl", "-s", "-o", "answer", "-w", "%{http_code}", "-X", "PUT",
                             "--unix-socket", api, f"http://x/v1/signal?name={name}")
        assert done.stdout.decode() == code
        assert "USR1 or USR2" in (local.work / "answer").read_text()
    assert local.tasks("sleep 600")
    p.terminate()
    p.wait(20)
