"""Client, master and agents of different versions: read, or one sentence (doc/reference/versions.md).

What earlier versions left is in `test/golden`; what later ones may say is said by a peer of the test.
`test/yarn_jobs/test_yarn_pairs.py` does the same with programs that were built from an earlier commit.
"""

import base64
import fcntl
import json
import os
import shutil
import socket
import threading
from pathlib import Path

import pytest
from test_protocol import _field, _frame

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
OTHER_VERSION = 76  # the exit code


# ---- what earlier versions left ----

@pytest.fixture(params=VERSIONS)
def old_jobs(local, request):
    """The jobs of an earlier version, by their names, in the state directory."""
    jobs = local.state / "ydl" / "jobs"
    jobs.mkdir(parents=True, mode=0o700)
    found = {}
    for path in (GOLDEN / request.param / "local").iterdir():
        shutil.copytree(path, jobs / path.name)
        found[json.loads((path / "job.json").read_text())["name"]] = path.name
    return found


def test_jobs_of_an_earlier_version_are_listed(local, old_jobs):
    rows = json.loads(local.run("list", "--all", "--json", check=0).stdout)["jobs"]
    listed = {row["name"]: row for row in rows}
    assert {name: (row["job"], row["state"], row["exit"]) for name, row in listed.items()} == {
        "ended": (old_jobs["ended"], "SUCCEEDED", 0),
        "restarted": (old_jobs["restarted"], "SUCCEEDED", 0),
        "failed": (old_jobs["failed"], "FAILED", 7)}


@pytest.mark.parametrize("name, code, restarts, output", [
    ("ended", 0, 0, ["worker:0│ hello from 0", "worker:1│ hello from 1"]),
    ("restarted", 0, 1, ["worker:0│ ok", "worker:0│ ok", "worker:1│ dies", "worker:1│ ok"]),
    ("failed", 7, 0, ["worker:1│ no such file"])])
def test_verbs_understand_a_job_of_an_earlier_version(local, old_jobs, name, code, restarts, output):
    status = json.loads(local.run("status", name, "--json", check=0).stdout)
    assert (status["exit"], status["restarts"], len(status["tasks"])) == (code, restarts, 2)
    assert local.run("wait", name).returncode == code
    logs = local.run("logs", name, check=0)
    assert sorted((logs.stdout + logs.stderr).decode().splitlines()) == output
    events = local.run("events", name, "--json", check=0).stdout.decode().splitlines()
    assert [json.loads(line)["seq"] for line in events] == list(range(len(events)))
    assert json.loads(events[-1])["event"] == "end"
    assert b"had already ended" in local.run("stop", name, check=0).stdout


# ---- a master of another version ----

class Peer:
    """A job whose master is the test: it answers everything with one document and these headers."""

    def __init__(self, local, headers: str, status="200 OK", document: dict | None = None):
        self.id = "local-20990101-000000-abcdef"
        self.dir = local.state / "ydl" / "jobs" / self.id
        self.dir.mkdir(parents=True, mode=0o700)
        run = local.run_dir / "ydl-abcdef"
        run.mkdir(mode=0o700)
        (self.dir / "run").write_text(str(run))
        (self.dir / "job.json").write_text(json.dumps({"id": self.id, "name": "theirs", "user": "me",
                                                       "created": 1794961983150}))
        self.lock = open(self.dir / "lock", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        body = json.dumps(document or {}).encode()
        self.answer = (f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: "
                       f"{len(body)}\r\n{headers}\r\n").encode() + body
        self.requests = []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(run / "api.sock"))
        self.socket.listen()
        self.run = run
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                request = b""
                while b"\r\n\r\n" not in request and (piece := connection.recv(65536)):
                    request += piece
                self.requests.append(request.decode())
                connection.sendall(self.answer)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        self.socket.close()
        self.lock.close()
        shutil.rmtree(self.run)


@pytest.fixture
def peer(local):
    made = []

    def give(*args, **more):
        made.append(Peer(local, *args, **more))
        return made[-1]
    yield give
    for one in made:
        one.close()


VERBS = [("status",), ("status", "--tasks"), ("logs", "-f"), ("events", "-f"), ("stop",), ("kill",),
         ("restart",), ("wait",), ("top",)]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: "-".join(verb))
def test_a_newer_master_is_one_sentence(local, peer, verb):
    theirs = peer("Ydl-Protocol: 2\r\n")
    done = local.run(verb[0], theirs.id, *verb[1:])
    said = done.stderr.decode()
    assert done.returncode == OTHER_VERSION, said
    assert said.splitlines() == [
        f"ydl: {theirs.id}: the API of the job's master: version 2 is newer than this ydl understands (1)",
        "  hint: use the ydl that made it, or a newer one; this one is " +
        local.run("version").stdout.decode().split()[1]]


def test_a_list_shows_a_job_of_a_newer_master(local, peer):
    theirs = peer("Ydl-Protocol: 2\r\n")
    row = json.loads(local.run("list", "--json", check=0).stdout)["jobs"][0]
    assert (row["job"], row["name"]) == (theirs.id, "theirs")


def test_a_refusal_of_a_newer_master_is_shown_in_its_words(local, peer):
    theirs = peer("Ydl-Protocol: 3\r\n", "426 Upgrade Required",
                  {"error": {"text": "too old for me", "hint": "get a new one"}})
    done = local.run("stop", theirs.id)
    assert done.returncode == OTHER_VERSION
    assert done.stderr.decode() == "ydl: too old for me\n  hint: get a new one\n"


def test_a_master_without_a_number_is_of_version_1(local, peer):
    theirs = peer("", document={"job": "x", "state": "RUNNING", "tasks": [], "unheard": "of"})
    assert json.loads(local.run("status", theirs.id, "--json", check=0).stdout)["state"] == "RUNNING"
    assert all("\r\nYdl-Protocol: 1\r\n" in request for request in theirs.requests)


# ---- a client of another version ----

@pytest.fixture
def running(local):
    """A job of ours, which goes on whatever it is asked."""
    process = local.start("run", "-n", "1", "--", "sleep", "600")
    local.wait_for(lambda: local.tasks("sleep 600"), "the task runs")
    yield next(local.run_dir.glob("ydl-*"))
    assert local.tasks("sleep 600"), "the job was disturbed"
    process.terminate()
    process.wait(20)


@pytest.mark.parametrize("header, status, words", [
    ("", "200 OK", '"state":"RUNNING"'),
    ("Ydl-Protocol: 1\r\n", "200 OK", '"state":"RUNNING"'),
    ("Ydl-Protocol: 99\r\n", "200 OK", '"state":"RUNNING"'),  # it knows what to make of our number
    ("Ydl-Protocol: 0\r\n", "426 Upgrade Required", "answers version 1 of its API and later ones, not 0"),
    ("Ydl-Protocol: new\r\n", "426 Upgrade Required", "or a newer one")])
def test_clients_of_other_versions_are_answered(running, header, status, words):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(300)
        s.connect(str(running / "api.sock"))
        s.sendall(f"GET /v1/job HTTP/1.1\r\nHost: x\r\n{header}Connection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: s.recv(65536), b"")).decode()
    head, _, body = answer.partition("\r\n\r\n")
    assert head.splitlines()[0] == f"HTTP/1.1 {status}"
    assert "Ydl-Protocol: 1" in head.splitlines()
    assert words in body


# ---- programs that do not belong together ----

def test_an_agent_leaves_a_master_of_another_version(local):
    """Its master is the test, and welcomes it with another number."""
    path = local.run_dir / "agents.sock"
    key = os.urandom(32)
    join = local.run_dir / "join.json"
    join.write_text(json.dumps({"format": 1, "address": f"unix:{path}", "job": "local-1",
                                "key": base64.b64encode(key).decode()}))
    join.chmod(0o600)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(300)
        agent = local.start_command("sh", "-c", f"exec ydl-node agent --join {join} --number 1 2> said")
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(65536)
            connection.sendall(_frame(_field(1, _field(3, _field(1, b"local-1")) + _field(5, 9))))
            assert agent.wait(60) != 0
    assert "the protocol of agents: version 9 is newer than this ydl understands (1)" in (
        local.work / "said").read_text()
    path.unlink()
    join.unlink()


def test_a_job_of_a_newer_ydl_is_not_begun_by_an_older_ydl_node(local, tmp_path):
    """As when one of the two programs was installed without the other."""
    other = tmp_path / "bin"
    other.mkdir()
    shutil.copy(local.bin / "ydl", other / "ydl")
    node = other / "ydl-node"
    node.write_text(f"""#!/bin/sh
for dir; do :; done
sed -i 's/"format":1/"format":2/' "$dir/job.json"
exec {local.bin}/ydl-node "$@"
""")
    node.chmod(0o755)
    done = local.command(other / "ydl", "run", "-n", "1", "--", "true")
    assert done.returncode == OTHER_VERSION, done.stderr.decode()
    assert done.stderr.decode().endswith(
        "ydl: job.json: version 2 is newer than this ydl understands (1)\n"
        "  hint: ydl and ydl-node have to be of the same version: install them together\n")
