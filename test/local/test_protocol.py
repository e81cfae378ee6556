"""Robust protocol: who may join a job as an agent, and what becomes of those who may not."""

import base64
import json
import socket
import struct

import pytest


def _varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def _field(number: int, value) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _hello(job: str, key: bytes, version=1, agent=1) -> bytes:
    """A ToMaster with a Hello, as proto/agent.proto has it."""
    body = (_field(1, version) + _field(2, b"test") + _field(3, job.encode()) + _field(4, key) +
            _field(5, agent) + _field(6, b"127.0.0.1") + _field(7, b"nowhere"))
    return _field(1, body)


def _frame(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message


@pytest.fixture
def job(local):
    """A running job: its id, its key, where agents dial, and its master's own notes."""
    p = local.start("run", "-n", "1", "--", "sleep", "600")
    local.wait_for(lambda: local.tasks("sleep 600"), "the task runs")
    run = next(local.run_dir.glob("ydl-*"))
    join = json.loads((run / "join.json").read_text())
    yield {"id": join["job"], "key": base64.b64decode(join["key"]), "address": join["address"],
           "log": local.jobs()[-1] / "master.log", "run": run}
    assert local.tasks("sleep 600"), "the job was disturbed"
    p.terminate()
    p.wait(20)


def _say(job, data: bytes) -> bytes:
    """Sends bytes as an agent would; returns all that comes back until the end of the stream."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(120)
        s.connect(job["address"].removeprefix("unix:"))
        s.sendall(data)
        answer = b""
        try:
            while piece := s.recv(65536):
                answer += piece
        except ConnectionResetError:
            pass
        return answer


BAD = [
    ("wrong-key", lambda j: _frame(_hello(j["id"], bytes(32))), "key is wrong"),
    ("short-key", lambda j: _frame(_hello(j["id"], j["key"][:31])), "key is wrong"),
    ("no-key", lambda j: _frame(_hello(j["id"], b"")), "key is wrong"),
    ("another-job", lambda j: _frame(_hello("local-20200101-000000-000000", j["key"])),
     "belongs to another job"),
    ("old-version", lambda j: _frame(_hello(j["id"], j["key"], version=0)), "version 0"),
    ("new-version", lambda j: _frame(_hello(j["id"], j["key"], version=2)), "version 2"),
    ("unexpected", lambda j: _frame(_hello(j["id"], j["key"], agent=99)), "nobody expects agent 99"),
    ("twice", lambda j: _frame(_hello(j["id"], j["key"], agent=1)), "agent 1 is here already"),
    ("no-hello", lambda j: _frame(_field(8, _field(1, 1))), "did not say hello"),
    ("too-large", lambda j: struct.pack(">I", 1 << 30) + b"x" * 1000, "refused"),
    ("garbage", lambda j: _frame(b"\xff" * 100), "refused"),
    ("http", lambda j: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "refused"),
]


@pytest.mark.parametrize("name, data, words", BAD, ids=[b[0] for b in BAD])
def test_who_may_not_join_is_refused_and_logged(local, job, name, data, words):
    _say(job, data(job))
    local.wait_for(lambda: words in job["log"].read_text(), f"'{words}' in the master's log")
    assert "refused" in job["log"].read_text()


def test_the_key_is_readable_by_its_owner_alone(local, job):
    assert (job["run"] / "join.json").stat().st_mode & 0o777 == 0o600
    assert job["run"].stat().st_mode & 0o777 == 0o700
    text = base64.b64encode(job["key"]).decode()
    for path in local.jobs()[-1].rglob("*"):
        assert not path.is_file() or text not in path.read_text(errors="replace")
    for pid in local.processes():
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            assert text.encode() not in f.read()
        with open(f"/proc/{pid}/environ", "rb") as f:
            assert text.encode() not in f.read()


def test_with_tls_a_plain_connection_gets_nothing(local):
    p = local.start("run", "--nodes", "2", "-n", "2", "--", "sleep", "600")
    local.wait_for(lambda: len(local.tasks("sleep 600")) == 2, "the tasks run")
    run = next(local.run_dir.glob("ydl-*"))
    join = json.loads((run / "join.json").read_text())
    host, port = join["address"].removeprefix("tcp:").rsplit(":", 1)
    answer = b""
    with socket.create_connection((host, int(port)), 300) as s:
        s.sendall(_frame(_hello(join["job"], base64.b64decode(join["key"]), agent=1)))
        try:
            while piece := s.recv(1000):
                answer += piece
        except ConnectionResetError:
            pass
    # The end of the stream, perhaps after one TLS alert (type 21, two bytes); nothing else.
    assert answer == b"" or (answer[0] == 21 and len(answer) == 7), answer
    log = local.jobs()[-1] / "master.log"
    local.wait_for(lambda: "refused" in log.read_text(), "it is logged")
    p.terminate()
    p.wait(20)


@pytest.mark.parametrize("nodes, refusals", [
    ([], ["master: an agent was refused: its key is wrong",
          "master: an agent was refused: it belongs to another job"]),
    (["--nodes", "2"], ["wire: agents: 127.0.0.1 was refused: TLS: wrong key or job"] * 2)],
                         ids=["plain", "tls"])
def test_the_key_of_one_job_opens_no_other(local, nodes, refusals):
    """A real agent of ours with the key of job A and the address of job B."""
    jobs = []
    for seconds in ("6001", "6002"):
        p = local.start("run", *nodes, "-n", "2", "--", "sleep", seconds)
        local.wait_for(lambda: len(local.tasks(f"sleep {seconds}")) == 2, "the tasks run")
        run = next(d for d in local.run_dir.glob("ydl-*") if d not in [j[1] for j in jobs])
        jobs.append((p, run, json.loads((run / "join.json").read_text()), local.jobs()[-1]))
    (a, a_run, join_a, _), (b, _, join_b, home_b) = jobs
    assert join_a["key"] != join_b["key"] and join_a["job"] != join_b["job"]
    log = home_b / "master.log"
    for job, refusal in zip((join_b["job"], join_a["job"]), refusals):  # whoever it says it is
        before = log.read_text()
        mixed = {**join_b, "key": join_a["key"], "job": job}
        path = a_run / "mixed.json"
        path.write_text(json.dumps(mixed))
        path.chmod(0o600)
        done = local.command(local.bin / "ydl-node", "agent", "--join", path, "--number", "1")
        assert done.returncode != 0
        local.wait_for(lambda: len(log.read_text()) > len(before), "it is logged")
        path.unlink(missing_ok=True)
        said = log.read_text().removeprefix(before)
        assert said == f"ydl-node: warn: {refusal}\n"
    for seconds in ("6001", "6002"):
        assert len(local.tasks(f"sleep {seconds}")) == 2, "a job was disturbed"
    for p in (a, b):
        p.terminate()
        p.wait(20)
