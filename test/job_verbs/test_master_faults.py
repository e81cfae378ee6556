"""A master that answers nonsense, refuses, or goes away: a made-up job with a server of ours."""

import contextlib
import fcntl
import json
import os
import socket
import threading

import pytest

ID = "local-20261116-000000-000abc"


class Master:
    """Holds the lock of a job and answers each connection with the next of some bytes."""

    def __init__(self, jobs, answers):
        self.dir = jobs.dir / "state" / "ydl" / "jobs" / ID
        self.run = jobs.dir / "ydl-abcdef"
        (self.dir / "logs").mkdir(parents=True)
        self.run.mkdir(mode=0o700)
        (self.dir / "run").write_text(str(self.run))
        (self.dir / "job.json").write_text(json.dumps({"id": ID, "name": "fake", "created": 1000}))
        self.lock = (self.dir / "lock").open("w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.server = socket.socket(socket.AF_UNIX)
        self.here = os.open(self.run, os.O_RDONLY)  # the path may be longer than a socket's name
        self.server.bind(f"/proc/self/fd/{self.here}/api.sock")
        self.server.listen()
        self.answers, self.asked = list(answers), []
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        for reply in self.answers:
            with contextlib.suppress(OSError):  # who is gone before all is said, or we are
                peer, _ = self.server.accept()
                with peer:
                    self.asked.append(peer.recv(65536).split(b"\r\n")[0].decode())
                    peer.sendall(reply)

    def leave(self):
        """As a master that was killed."""
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.server.close()
        self.lock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()
        os.close(self.here)


def answer(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_refusal_is_told_in_the_masters_words(jobs):
    no = b'{"error": {"text": "worker:9 is not there", "hint": "look at the spec"}}'
    with Master(jobs, [answer(no, "404 Not Found")]) as master:
        done = jobs("restart", "fake", "worker:9")
        assert master.asked == ["PUT /v1/restart?task=worker:9 HTTP/1.1"]
    assert done.returncode == 1
    assert done.stderr == "ydl: worker:9 is not there\n  hint: look at the spec\n"


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[1]", b'{"error": 3}', b"\xff" * 1000])
def test_a_refusal_without_words(jobs, body):
    with Master(jobs, [answer(body, "500 Internal Server Error")]):
        done = jobs("spec", "fake")
    assert done.returncode == 1 and f"the master of {ID} answered 500" in done.stderr


@pytest.mark.parametrize("reply", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\n",
                                   b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
                                   answer(b"nonsense"), answer(b"{" * 100000)])
def test_nonsense_is_an_error_not_a_crash(jobs, reply):
    with Master(jobs, [reply] * 3):
        done = jobs("status", "fake")
    assert done.returncode in (1, 69, 70), (done.returncode, done.stderr)
    assert done.stderr.startswith("ydl: ")


STREAMS = [
    b"nonsense\n",
    b'{"task":"worker:0","stream":"out","offset":0,"len":-5}\n',
    b'{"task":"../x","stream":"out","offset":0,"len":5}\nhello',
    b"x" * 3000000,
]


@pytest.mark.parametrize("stream", STREAMS, ids=range(len(STREAMS)))
def test_a_stream_of_nonsense_ends_with_a_sentence(jobs, stream):
    with Master(jobs, [answer(stream)]):
        done = jobs("logs", "-f", "fake")
    assert done.returncode == 70 and "is not valid" in done.stderr or "line" in done.stderr
    assert done.stdout == ""


def test_output_goes_through_as_the_master_sends_it(jobs):
    records = [{"seq": 0, "t": 1000, "event": "job", "state": "NEW", "job": ID, "name": "fake",
                "roles": [{"name": "worker", "count": 11, "procs": 1}]},
               {"seq": 1, "t": 2000, "event": "new-kind", "x": [1]},
               {"seq": 2, "t": 3000, "event": "note", "level": "info", "text": "a note"},
               {"seq": 3, "t": 4000, "event": "end", "state": "SUCCEEDED", "exit": 0}]
    pieces = [json.dumps({"event": r}, separators=(",", ":")).encode() + b"\n" for r in records]
    output = b'{"task":"worker:1","stream":"out","offset":0,"len":3}\nhi\n'
    status = json.dumps({"roles": [{"name": "worker"}, {"name": "ps"}]}).encode()
    with Master(jobs, [answer(status), answer(b"".join(pieces[:3]) + output + pieces[3])]) as master:
        done = jobs("logs", "-f", "fake", "worker", "ps:0")
        assert "&task=worker,ps%3A0 " in master.asked[-1]
    assert done.returncode == 0 and done.stdout == "worker:1 │ hi\n"
    assert done.stderr == "ydl: a note\n"


def test_a_master_that_is_gone_leaves_what_it_wrote(jobs):
    with Master(jobs, []) as master:
        (master.dir / "logs" / "worker-0.out").write_text("written\n")
        (master.dir / "events.jsonl").write_text(
            '{"seq":0,"t":1000,"event":"job","state":"RUNNING"}\n{"seq":1,"t":20')
        master.leave()
        assert jobs("logs", "-f", "fake").stdout == "worker:0│ written\n"
        status = jobs.json("status", "fake")
        assert status["state"] == "FAILED" and status["exit"] == 70 and status["lost"]
        assert jobs("wait", "fake").returncode == 70
        assert jobs.json("list")["jobs"][0]["state"] == "FAILED"
        assert not master.run.exists()
        (jobs.dir / "ydl-abcdef").mkdir()
