"""Output: every byte of every task is in its file, whatever happens to the task."""

import hashlib
import json
import os
import re
import select
import signal
import socket

from ydl_cluster.patience import stretched

WRITER = r"""
import os, sys
n = int(sys.argv[1])
data = os.urandom(n)
os.write(2, b"")
at = 0
while at < n:
    at += os.write(1, data[at:at + 65536])
import hashlib
open(os.environ["OUT"] + "." + os.environ["YDL_RANK"], "w").write(hashlib.sha256(data).hexdigest())
if len(sys.argv) > 2:
    os.kill(os.getpid(), 9)
"""


def _log(local, task, stream="out"):
    return local.jobs()[-1] / "logs" / f"{task.replace(':', '-')}.{stream}"


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_ten_megabytes_of_bytes_without_lines_arrive_exactly(local):
    (local.work / "w.py").write_text(WRITER)
    done = local.run("run", "-n", "2", "--no-prefix", "--", "python3", "w.py", str(10 << 20),
                     env={"OUT": str(local.tmp / "sum")}, check=0)
    for rank in range(2):
        assert _digest(_log(local, f"worker:{rank}")) == (local.tmp / f"sum.{rank}").read_text()
    assert len(done.stdout) >= 20 << 20


def test_the_last_bytes_of_a_killed_task_are_there(local):
    (local.work / "w.py").write_text(WRITER)
    local.run("run", "-n", "1", "--", "python3", "w.py", str(3 << 20), "die",
              env={"OUT": str(local.tmp / "sum")}, check=137)
    assert _digest(_log(local, "worker:0")) == (local.tmp / "sum.0").read_text()


def test_a_task_that_is_started_again_writes_behind_what_it_wrote(local):
    text = "echo out >> $0.lives; cat $0.lives; echo err >&2; test $(wc -l < $0.lives) = 2 || kill -9 $$"
    (local.work / "twice.sh").write_text(text)
    local.run("run", "-n", "1", "--restart", "task", "--", "sh", "twice.sh", check=0)
    assert _log(local, "worker:0").read_text() == "out\n" * 3
    assert _log(local, "worker:0", "err").read_text() == "err\n" * 2


def test_lines_are_never_mixed(local):
    text = "import sys\nfor i in range(2000): print(f'{i:05d}' * 20, flush=i % 7 == 0)\n"
    (local.work / "lines.py").write_text(text)
    done = local.run("run", "-n", "8", "--", "python3", "lines.py", check=0)
    seen = {}
    for line in done.stdout.decode().splitlines():
        name, body = line.split("│ ")
        assert body == body[:5] * 20
        seen.setdefault(name, []).append(int(body[:5]))
    assert len(seen) == 8
    assert all(numbers == list(range(2000)) for numbers in seen.values())


def test_output_and_errors_are_kept_apart(local):
    local.run("run", "-n", "1", "--", "sh", "-c", "echo to out; echo to err >&2", check=0)
    assert _log(local, "worker:0").read_text() == "to out\n"
    assert _log(local, "worker:0", "err").read_text() == "to err\n"


def test_a_stopped_reader_slows_nobody(local):
    """Neither the tasks nor another reader, and it has every line when it goes on."""
    lines = 100000  # more than anything on the way keeps
    local.run("submit", "--name", "chatty", "-n", "2", "--", "sh", "-c",
              "echo first; until test -e go; do sleep 0.02; done; "
              f"seq -f '%06.0f {'0123456789' * 8}' {lines}; touch done.$YDL_RANK", check=0)
    stopped = local.start("logs", "-f", "chatty", bufsize=0)
    assert [stopped.stdout.readline()[-6:] for _ in range(2)] == [b"first\n"] * 2
    os.kill(stopped.pid, signal.SIGSTOP)
    reader = local.start("logs", "-f", "chatty")
    (local.work / "go").touch()
    out, _ = reader.communicate(timeout=50)
    assert len(list(local.work.glob("done.*"))) == 2
    assert out.count(b"\n") == 2 * lines + 2
    os.kill(stopped.pid, signal.SIGCONT)
    out, _ = stopped.communicate(timeout=60)
    assert out.count(b"\n") == 2 * lines


def _ask_and_stand(local, target):
    """Asks a running job's master for something, and never reads the answer."""
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(next(local.run_dir.rglob("api.sock"))))
    sock.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return sock


def _given_up(sock):
    """Has the other end been closed? What was sent before can still be read."""
    poll = select.poll()
    poll.register(sock, select.POLLRDHUP)
    return bool(poll.poll(0))


def _goes_on_beside_one_who_stands(local, name):
    """Whether a follower gets what it has missed while another reader, who wants what was there when it
    asked, does not take it."""
    few, many = 7000, 100000
    local.run("submit", "--name", name, "--", "sh", "-c",
              f"text() {{ seq -f '%06.0f {'0123456789' * 8}' $1; }}; text {few}; "
              f"until test -e go.{name}; do sleep 0.02; done; text {many}; touch done.{name}", check=0)
    follower = local.start("logs", "-f", name)
    for _ in range(few):
        assert follower.stdout.readline()
    with _ask_and_stand(local, "/v1/logs?task=worker:0") as standing:
        assert standing.recv(12) == b"HTTP/1.1 200"
        os.kill(follower.pid, signal.SIGSTOP)
        (local.work / f"go.{name}").touch()
        local.wait_for((local.work / f"done.{name}").exists, "everything is written")
        os.kill(follower.pid, signal.SIGCONT)
        seen = 1 if follower.stdout.readline() else 0
        waited = _given_up(standing)
        seen += sum(1 for _ in follower.stdout)
    follower.communicate(timeout=50)
    assert seen == many
    local.wait_for(lambda: not list(local.run_dir.iterdir()), "the master is gone")
    return not waited


def test_a_reader_that_has_all_it_wants_holds_up_nobody(local):
    """It is given up after ten seconds, in which a busy machine may do nothing: seen once is enough."""
    assert any(_goes_on_beside_one_who_stands(local, f"chatty{i}") for i in range(3))


def test_python_is_not_kept_back(local):
    """A line is there when it is printed, not when 8 KB are together; an empty variable turns that off."""
    script = "import os, signal; print('here', os.getenv('PYTHONUNBUFFERED')); os.kill(os.getpid(), signal.SIGKILL)"
    assert b"here 1\n" in local.run("run", "--", "python3", "-c", script, check=137).stdout
    done = local.run("run", "--env", "PYTHONUNBUFFERED=", "--", "python3", "-c", script, check=137)
    assert b"here" not in done.stdout


def test_a_job_that_waits_says_for_what_where_there_is_no_terminal(local):
    (local.work / "job.yaml").write_text("""
roles:
  first: {command: 'sh -c "while [ ! -e go ]; do sleep 0.05; done; sleep 600"', ready: {file: go}, side: true}
  second: {command: echo done, after: {first: ready}}
""")
    told, quiet, document = (local.start("run", *words, "-f", "job.yaml", bufsize=0)
                             for words in ([], ["-q"], ["--json"]))
    lines = [b""]
    while not re.search(rb"starting tasks: first 1 running; second 1 ready \(\d+ s\)", lines[-1]):
        ready, _, _ = select.select([told.stderr], [], [], stretched(60))
        lines.append(told.stderr.readline() if ready else b"")
        assert lines[-1], lines
    assert lines[1].startswith(b"ydl: local-")
    (local.work / "go").touch()
    for run in (told, quiet, document):
        out, err = run.communicate(timeout=60)
        assert run.returncode == 0, err
        assert b"starting tasks" not in out + (err if run != told else b"")
    for line in out.decode().splitlines():
        json.loads(line)
