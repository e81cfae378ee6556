"""The key-value store for user code: lines, HTTP and PMI-1."""

import contextlib
import os
import resource
import socket
import time

import pytest
from agent_support import EXIT, NONE, UNIT, command, wait_until
from flooding import NOBODY, memory_mb

CURL = "curl -sS --unix-socket $YDL_SOCKET "


@pytest.fixture
def connect(bench):
    """A bench with a task that sleeps, and connections to its socket."""
    b = bench()
    b.launch(0, "sleep 600")
    made = []

    def make():
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(120)
        s.connect(str(b.run / "tasks" / "worker-0.sock"))
        made.append(s.makefile("rwb"))
        s.close()
        return made[-1]
    yield b, make
    for f in made:
        with contextlib.suppress(OSError):
            f.close()


def ask(f, line: str) -> str:
    f.write(line.encode() + b"\n")
    f.flush()
    return f.readline().decode().rstrip("\n")


def test_lines(connect):
    _, make = connect
    f = make()
    for line, answer in [
            ("get a", "none"), ("put a 1 2  3 ", "ok"), ("get a", "value 1 2  3 "),
            ("put e ", "ok"), ("get e", "value "), ("list", "keys a e"), ("add n 5", "value 5"),
            ("add n -2", "value 3"), ("wait a", "value 1 2  3 "), ("del a", "ok"), ("del a", "none"),
            ("progress 1 10 loss=0.5", "ok 1 10 loss=0.5"), ("get", "error usage: get KEY"),
            ("nonsense", "error unknown request (try: help)"),
            ("note it  is grün ", "ok it  is grün "), ("note", "error usage: note TEXT"),
            ("put ü grün", "ok"), ("get ü\r", "value grün")]:
        assert ask(f, line) == answer, line
    f.write(b"put x 1\nput y 2\nget x\nget y\n")  # several at once
    f.flush()
    assert [f.readline() for _ in range(4)] == [b"ok\n", b"ok\n", b"value 1\n", b"value 2\n"]
    assert ask(f, "version") == "value 1"
    assert ask(f, "help").startswith("put KEY VALUE")


def test_a_wait_is_answered_when_the_key_comes(connect):
    _, make = connect
    one, two = make(), make()
    one.write(b"wait later\n")
    one.flush()
    assert ask(two, "put later now") == "ok"
    assert one.readline() == b"value now\n"
    one.write(b"barrier b 2\n")
    one.flush()
    assert ask(two, "barrier b 2") == "ok"
    assert one.readline() == b"ok\n"


def test_long_values_and_long_lines(connect):
    _, make = connect
    f = make()
    assert ask(f, "put long " + "x" * (1 << 20)) == "ok"
    assert ask(f, "get long") == "value " + "x" * (1 << 20)
    g = make()
    answer = b""
    with contextlib.suppress(OSError):
        g.write(b"put long " + b"x" * (3 << 20) + b"\n")
        g.flush()
        answer = g.readline()
    assert answer in (b"error the line is too long\n", b"")
    assert ask(f, "get no") == "none"  # the others do not mind


def test_connections_end_with_the_task(connect):
    b, make = connect
    f = make()
    f.write(b"wait never\n")
    f.flush()
    b.stop(0, grace=0)
    b.exited(0)
    assert f.read() == b""


def test_more_connections_than_a_task_may_have(connect):
    _, make = connect
    many = [make() for _ in range(80)]
    answers = []
    for f in many:
        try:
            answers.append(ask(f, "get a"))
        except OSError:
            answers.append("")
    assert answers[:60] == ["none"] * 60 and "" in answers


def test_http(bench):
    b = bench()
    data = b.run / "value"
    data.write_bytes(os.urandom(100_000))
    script = f"""set -e
{CURL} -X PUT --data-binary @{data} http://x/v1/kv/a/b
{CURL} http://x/v1/kv/a/b | cmp - {data}
{CURL} -o /dev/null -w '%{{http_code}} ' http://x/v1/kv/none
{CURL} -X POST 'http://x/v1/kv/n?add=5'; echo
{CURL} -X PUT -d later http://x/v1/kv/w
{CURL} 'http://x/v1/kv/w?wait=1000' http://x/v1/kv/n; echo
{CURL} 'http://x/v1/kv?prefix='
{CURL} -X DELETE http://x/v1/kv/n
{CURL} -X POST 'http://x/v1/barrier/b?count=1'
{CURL} -d '{{"step": 3, "total": 9, "metrics": {{"loss": 0.5}}}}' http://x/v1/progress; echo
{CURL} -o /dev/null -w '%{{http_code}} ' -d 'nonsense' http://x/v1/progress
{CURL} -o /dev/null -w '%{{http_code}} ' -X PATCH http://x/v1/kv/n
{CURL} -o /dev/null -w '%{{http_code}} ' http://x/other
"""
    b.launch(0, script)
    end = b.exited(0)
    assert end["fail"] == NONE, end
    assert b.output(0).decode().split() == [
        "404", "5", "later5", "a/b", "n", "w", "39loss=0.5", "400", "400", "404"]


def test_a_value_with_newlines_is_for_http_alone(connect):
    b, make = connect
    b.kv.values[b"k"] = b"two\nlines"
    assert ask(make(), "get k") == "error the value is not one line of text: get it by HTTP"


def test_nonsense_harms_nobody(connect):
    b, make = connect
    for junk in (os.urandom(5000), b"GET / HTTP/9.9\r\n\r\n", b"GET", b"\0" * 100, b"A" * 100_000,
                 b"PUT /v1/kv/x HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"):
        f = make()
        with contextlib.suppress(OSError):
            f.write(junk)
            f.flush()
    assert ask(make(), "put a 1") == "ok"
    assert b.agents[0].poll() is None


def test_pmi(bench):
    b = bench(agents=2)
    client = str(UNIT / "agent_pmi_client")
    for i in range(2):
        b.prepare(*[{"task": n, "name": f"worker:{n}"} for n in (2 * i, 2 * i + 1)], agent=i)
        b.start(*[command(n, [client], pmi=True, rank=n, world=4) for n in (2 * i, 2 * i + 1)],
                agent=i)
    for n in range(4):
        end = b.exited(n, agent=n // 2)
        assert end["fail"] == NONE, end["lines"]
        assert b.output(n) == b"rank %d of 4 knows all\n" % n
    b.shutdown()


def test_pmi_abort(bench):
    b = bench()
    b.launch(0, [str(UNIT / "agent_pmi_client"), "abort"], pmi=True, rank=0, world=1)
    end = b.exited(0)
    assert (end["fail"], end["code"]) == (EXIT, 9)


def test_the_socket_is_for_its_owner(bench):
    b = bench()
    b.launch(0, "stat -c %a $YDL_SOCKET; stat -c %a $(dirname $YDL_SOCKET)")
    b.exited(0)
    assert b.output(0).split() == [b"600", b"700"]


# ---- many connections ----

AGENT_MB = 16  # an agent has 4 or so, and a task's 64 connections a few pages each


@pytest.mark.parametrize("word", [b"", b"put half", b"GET /v1/kv/a HTTP/1.1\r\nX: ",
                                  b"nonsense\n", bytes(4000), b"POST / HTTP/9\r\n\r\n"])
def test_a_flood_of_its_own_socket_harms_nobody_else(bench, word):
    b = bench()
    sockets = [str(b.run / "tasks" / f"worker-{n}.sock") for n in (0, 1)]
    b.launch(0, "sleep 600")
    b.launch(1, "sleep 600")

    def other():
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(sockets[1])
            s.settimeout(120)
            return ask(s.makefile("rwb"), "put a 1")
    kept = []
    for i in range(5000):
        s = socket.socket(socket.AF_UNIX)
        s.connect(sockets[0])  # waits while the queue is full
        s.settimeout(120)
        with contextlib.suppress(OSError):  # one too many is closed at once
            s.send(word)
        kept.append(s)
        if len(kept) > 500:
            kept.pop(0).close()
        if i % 1000 == 0:
            assert other() == "ok"
    assert other() == "ok"
    assert memory_mb(b.agents[0].pid) < AGENT_MB
    for s in kept:
        s.close()

    def own():
        with socket.socket(socket.AF_UNIX) as s, contextlib.suppress(OSError):
            s.connect(sockets[0])
            s.settimeout(120)
            return ask(s.makefile("rwb"), "get b") == "none"
    wait_until(own)


def test_a_task_has_64_connections_at_most_and_gets_others_when_it_closes_some(connect):
    _, make = connect
    held = [make() for _ in range(64)]
    assert all(ask(f, "get a") == "none" for f in held)
    one_more = make()
    with contextlib.suppress(OSError):  # it may be closed before the line is written
        assert ask(one_more, "get a") == ""
    held.pop().close()

    def served():
        with contextlib.suppress(OSError):
            return ask(make(), "get a") == "none"
    wait_until(served)


def cpu_ticks(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_an_agent_without_descriptors_waits_for_one(connect):
    b, make = connect
    assert ask(make(), "put a 1") == "ok"
    pid = b.agents[0].pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    f = make()
    f.write(b"get a\n")
    f.flush()
    ticks = cpu_ticks(pid)
    time.sleep(2)  # it must have nothing to do for so long
    assert cpu_ticks(pid) - ticks < 20, "it looks all the time"
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    assert f.readline() == b"value 1\n"


def test_another_user_cannot_connect(connect, needs_root):
    b, make = connect
    assert ask(make(), "put a 1") == "ok"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setuid(NOBODY)
            socket.socket(socket.AF_UNIX).connect(str(b.run / "tasks" / "worker-0.sock"))
        except PermissionError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0) == (child, 0)
