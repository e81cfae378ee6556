"""Story: which rank failed first, why, with which code, and what it said last. A hundred faults."""

import json
import os
import re
import signal
import socket

import pytest

RANKS = 4

# name, rank that fails, shell text that makes it fail, class, exit code, words in its last lines
OWN = [
    *[(f"exit-{code}", code % RANKS, f"echo last words {code} >&2; exit {code}", "exit", code,
       f"last words {code}")
      for code in (*range(1, 51), 64, 77, 99, 100, 125, 128, 129, 150, 200, 254, 255)],
    *[(f"{name}-{rank}", rank, f"echo hit by {name}; kill -{name} $$; sleep 600", "signal",
       128 + getattr(signal, "SIG" + name), f"hit by {name}")
      for name in ("HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1",
                   "SEGV", "USR2", "PIPE", "ALRM", "TERM")
      for rank in (0, 3)],
]


def _status(local):
    return json.loads(local.run("status", "--json", "last", check=0).stdout)


def _check(local, task, cls, code, words=""):
    story = _status(local)["story"]
    assert (story["task"], story["class"], story["code"]) == (task, cls, code)
    assert words in (story["lines"] or "") + (story["text"] or "")
    return story


def _either(local):
    """All of them fail in the same way: the story is of one that did."""
    return _status(local)["story"]["task"]


@pytest.mark.parametrize("name, rank, text, cls, code, words", OWN, ids=[f[0] for f in OWN])
def test_the_failing_rank_is_told(local, name, rank, text, cls, code, words):
    done = local.run("run", "-n", str(RANKS), "--", "sh", "-c",
                     f"if [ $YDL_RANK = {rank} ]; then {text}; fi; sleep 600", check=code)
    _check(local, f"worker:{rank}", cls, code, words)
    assert f"worker:{rank}" in done.stderr.decode() and words in done.stderr.decode()


def test_the_first_of_many_is_the_story(local):
    # Rank 3 fails and takes the others down a moment later, as a broken connection would.
    text = ("if [ $YDL_RANK = 3 ]; then echo $$ > pid.tmp; mv pid.tmp pid; echo cause >&2; exit 9; fi; "
            "while [ ! -e pid ] || kill -0 $(cat pid) 2>/dev/null; do :; done; "
            "echo consequence >&2; exit 1")
    local.run("run", "-n", "4", "--", "sh", "-c", text, check=9)
    _check(local, "worker:3", "exit", 9, "cause")


# ---- what cannot be started ----

def _script(local, text, mode=0o755):
    path = local.work / "task.sh"
    path.write_bytes(text)
    path.chmod(mode)
    return "./task.sh"


@pytest.mark.parametrize("name, text, words", [
    ("interpreter", b"#!/no/such/interpreter\n", "/no/such/interpreter"),
    ("windows", b"#!/bin/sh\r\nexit 0\r\n", "task.sh"),
    ("no-program", b"\x7fELF garbage that is no program", "task.sh"),
])
def test_a_program_that_cannot_run(local, name, text, words):
    local.run("run", "-n", "2", "--", _script(local, text), check=126)
    _check(local, _either(local), "start", 126, words)


def test_an_archive_that_is_none(local):
    (local.work / "env.tar").write_text("no archive")
    local.run("run", "-n", "2", "--archives", "env.tar", "--", "true", check=1)
    _check(local, _either(local), "files", 1, "env.tar")


def test_a_file_that_is_gone_when_its_task_comes(local):
    """It was there when the job was looked at, and went while the job waited for memory."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    most = f"{total * 6 // 10}m"
    (local.work / "data").write_text("x")
    first = local.start("run", "--mem", most, "--", "sh", "-c",
                        "touch up; until test -e go; do sleep 0.02; done")
    local.wait_for((local.work / "up").exists, "the first runs")
    local.run("submit", "--name", "second", "--mem", most, "--files", "data", "--", "cat", "data", check=0)
    local.wait_for(lambda: b"memory" in local.run("events", "second", check=0).stdout, "the second waits")
    (local.work / "data").unlink()
    (local.work / "go").touch()
    assert first.wait(20) == 0
    local.run("wait", "second", check=1)
    story = _check(local, "worker:0", "files", 1, "data")
    assert "check that it still exists" in story["hint"]


def test_files_stand_beside_the_task(local):
    (local.work / "data").mkdir()
    (local.work / "data" / "x").write_text("x\n")
    (local.work / "job.yaml").write_text(
        "command: sh -c 'cat data/x d/x'\nfiles: [data, data: d]\nroles: {worker: 1}\n")
    done = local.run("run", "-f", "job.yaml", check=0)
    assert done.stdout.decode() == "worker:0│ x\n" * 2


# ---- resources ----

@pytest.mark.parametrize("where", ["itself", "child"])
def test_out_of_memory(local, where):
    grab = "x = b'x' * (200 << 20); time.sleep(600)"
    text = ("import os, subprocess, sys, time\n"
            "if os.environ['YDL_RANK'] == '1':\n"
            f"    {grab}\n" if where == "itself" else
            "import os, subprocess, sys, time\n"
            "if os.environ['YDL_RANK'] == '1':\n"
            f"    subprocess.run([sys.executable, '-c', \"import time; {grab}\"])\n") + "time.sleep(600)\n"
    (local.work / "grab.py").write_text(text)
    done = local.run("run", "-n", "2", "--mem", "64m", "--", "python3", "grab.py", check=137)
    _check(local, "worker:1", "memory", 137)
    assert "--mem" in done.stderr.decode()


def test_a_port_that_somebody_else_has(local):
    with socket.create_server(("0.0.0.0", 0)) as other:
        port = other.getsockname()[1]
        (local.work / "job.yaml").write_text(
            f"command: sleep 600\nport-range: {port}-{port}\nroles: {{worker: {{count: 1, ports: 1}}}}\n")
        local.run("run", "-f", "job.yaml", check=75)
    _check(local, "worker:0", "port", 75, str(port))


def test_a_full_disk(local):
    small = local.tmp / "small"
    small.mkdir()
    script = (f"mount -t tmpfs -o size=400k none {small} && cd {local.work} && "
              f"exec {local.bin}/ydl run -n 2 -- sh -c "
              "'[ $YDL_RANK = 1 ] && exec head -c 2000000 /dev/zero; sleep 600'")
    done = local.command("unshare", "-rm", "sh", "-c", script,
                         env={"XDG_STATE_HOME": str(small)})
    text = done.stderr.decode()
    assert done.returncode == 1, text  # what head says when it cannot write
    assert re.search(r"worker:1.*disk full or broken: the disk with '.*' is full \(exit code 1\)", text), text


# ---- readiness ----

@pytest.mark.parametrize("ready", ["port: true", "http: /health", "file: flag", "log: listening"])
def test_not_ready_in_time(local, ready):
    (local.work / "job.yaml").write_text(
        "command: sleep 600\n"
        f"roles: {{worker: {{count: 2, ports: 1, ready: {{{ready}, timeout: 300ms}}}}}}\n")
    done = local.run("run", "-f", "job.yaml", check=124)
    _check(local, _either(local), "not-ready", 124)
    assert "(exit code 124)" in done.stderr.decode()


# ---- agents ----

def _running(local):
    p = local.start("run", "-n", "2", "--", "sleep", "600")
    local.wait_for(lambda: len(local.tasks("sleep 600")) == 2, "tasks run")
    return p


def test_an_agent_that_was_killed(local):
    p = _running(local)
    os.kill(local.agents()[0], signal.SIGKILL)
    assert p.wait(20) == 75
    _check(local, _either(local), "node", 75)


def test_an_agent_that_stands_still(local):
    p = _running(local)
    os.kill(local.agents()[0], signal.SIGSTOP)
    assert p.wait(40) == 75
    _check(local, _either(local), "node", 75)


# ---- who was waited for ----

_BARRIER = """
import os, socket, sys
if os.environ["YDL_RANK"] == "1":
    sys.exit(0)
def ask(line):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["YDL_SOCKET"])
    s.sendall(line + b"\\n")
    return s.makefile()
if os.environ["YDL_RANK"] == "2":
    meeting = ask(b"barrier meeting 3 600000")
    ask(b"put there 1").readline()
else:
    ask(b"wait there").readline()  # then the other is at the barrier
    meeting = ask(b"barrier meeting 3 1000")
sys.exit(4 if meeting.readline() == "timeout\\n" else 0)
"""


def test_a_barrier_that_is_given_up_names_who_is_missing(local):
    done = local.run("run", "-n", "3", "--", "python3", "-c", _BARRIER, check=4)
    text = local.run("events", "last", check=0).stdout.decode()
    said = "barrier 'meeting': 2 of 3 tasks came in time; missing: worker:1"
    assert text.count("missing: ") == 1 and said in text, text
    assert said in done.stderr.decode(), done.stderr.decode()
