"""Output of long tasks is cut into files while it is written: no line is lost, and none comes twice."""

import http.client
import json
import os
import signal
import socket
import time

from ydl_cluster.patience import stretched

LINES = 40000  # of 32 bytes: about 20 pieces of 64 KiB
WRITER = """
import sys, time
for i in range(int(sys.argv[1])):
    print(f"{i:031d}")
    if i % 2000 == 1999:
        sys.stdout.flush()
        time.sleep(0.25)
"""


def _job(local, lines=LINES, **keys):
    (local.work / "w.py").write_text(WRITER)
    more = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in keys.items())
    (local.work / "job.yaml").write_text(
        f"name: long\n{more}roles:\n  worker:\n    count: 2\ncommand: [python3, w.py, '{lines}']\n")
    return "-f", "job.yaml"


def _files(local, task="worker-0"):
    """The pieces in their order, then the file that was written last."""
    logs = local.jobs()[-1] / "logs"
    pieces = sorted(logs.glob(f"{task}.out.*"), key=lambda path: int(path.suffix[1:]))
    return [*pieces, logs / f"{task}.out"]


def _numbers(text, task="worker:0"):
    return [int(line.split("│ ")[1]) for line in text.splitlines() if line.startswith(f"{task}│")]


def test_who_follows_sees_every_line_once(local, cuts):
    done = local.run("run", *_job(local, log_rotate="64k"), check=0)
    files = _files(local)
    assert len(files) > 10
    assert {path.stat().st_size for path in files[:-1]} == {65536}
    for task in ("worker:0", "worker:1"):
        assert _numbers(done.stdout.decode(), task) == list(range(LINES))
    whole = "".join(path.read_text() for path in files)
    assert [int(line) for line in whole.splitlines()] == list(range(LINES))
    assert _numbers(local.run("logs", "last", check=0).stdout.decode()) == list(range(LINES))
    tail = local.run("logs", "last", "--tail", "3000", "worker:0", check=0).stdout.decode()
    assert _numbers(tail) == list(range(LINES - 3000, LINES))
    assert not list((local.jobs()[-1] / "logs").glob("*.part"))


def test_reading_while_it_is_cut_gives_what_was_there(local, cuts):
    local.run("submit", *_job(local, log_rotate="64k"), check=0)
    seen = []
    while not seen or seen[-1] < LINES - 1:
        numbers = _numbers(local.run("logs", "long", check=0).stdout.decode())
        assert numbers == list(range(len(numbers)))
        seen.append(numbers[-1] if numbers else -1)
    assert len(_files(local)) > 10


def test_only_so_many_pieces_are_kept(local, cuts):
    done = local.run("run", *_job(local, log_rotate="64k", log_keep=2), check=0)
    assert _numbers(done.stdout.decode()) == list(range(LINES))  # who follows is never behind
    files = _files(local)
    assert len(files) == 3
    kept = _numbers(local.run("logs", "last", check=0).stdout.decode())
    assert kept == list(range(kept[0], LINES))
    assert kept[0] > LINES // 2


def test_nothing_is_cut_when_nobody_wants_it(local):
    local.run("run", *_job(local, lines=10000, log_rotate=0), check=0)
    assert len(_files(local)) == 1


def test_pieces_of_a_killed_agent_are_read_on(local, cuts):
    run = local.start("run", *_job(local, log_rotate="64k"))
    lines = [run.stdout.readline().decode() for _ in range(30000)]
    agent = local.agents()[0]
    os.kill(agent, signal.SIGKILL)
    lines.append(run.stdout.read().decode())  # with what it has read ahead, unlike communicate()
    run.communicate(timeout=60)
    numbers = _numbers("".join(lines))
    assert numbers == list(range(len(numbers)))


def _get(local, target):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(120)
    sock.connect(str(next(local.run_dir.rglob("api.sock"))))
    connection = http.client.HTTPConnection("localhost", timeout=120)
    connection.sock = sock
    connection.request("GET", target)
    answer, got, end = connection.getresponse(), b"", time.monotonic() + stretched(60)
    while piece := answer.read1(65536):
        got += piece
        assert time.monotonic() < end, "it does not end"
    return got


def test_who_does_not_follow_gets_what_there_was_and_an_end(local):
    busy = "import sys, time\nwhile True: print('x' * 50, flush=True); time.sleep(0.002)\n"
    (local.work / "busy.py").write_text(busy)
    local.run("submit", "--name", "busy", "-n", "2", "--", "python3", "busy.py", check=0)
    local.wait_for(lambda: local.run("logs", "busy", "worker:0", check=0).stdout.count(b"\n") > 100, "output")
    got = _get(local, "/v1/logs?task=worker:0")
    assert got.count(b"x" * 50) > 30
    assert got.count(b"x" * 50) < 100000
    local.run("kill", "busy", check=0)


def test_who_does_not_follow_is_told_what_a_silent_agent_did_not_send(local):
    said = "import sys, time; print('said', flush=True); time.sleep(600)"
    local.run("submit", "--name", "mute", "-n", "1", "--", "python3", "-c", said, check=0)
    local.wait_for(lambda: local.run("logs", "mute", check=0).stdout, "output")
    assert b"missing" not in _get(local, "/v1/logs")
    agent = local.agents()[0]
    os.kill(agent, signal.SIGSTOP)
    try:
        got = _get(local, "/v1/logs")
    finally:
        os.kill(agent, signal.SIGCONT)
    assert [json.loads(line) for line in got.splitlines()] == [
        {"task": "worker:0", "stream": stream, "end": True,
         "missing": "its agent has sent nothing for 3 s"} for stream in ("out", "err")]
    local.run("kill", "mute", check=0)
