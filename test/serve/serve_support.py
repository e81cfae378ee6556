"""What tests of the model server share: a running server, requests, waiting."""

import http.client
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "cluster"))

from ydl_cluster import patience  # noqa: E402

BIN = Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin")


class Server:
    """`ydl-native serve ARGS` on a port of its own, ready unless told otherwise. What it prints as
    errors is read unless it is not `heard`; `files` are its soft and hard limit of open files."""

    def __init__(self, library: Path, *args, ready: bool = True, heard: bool = True, files=None):
        self.process = subprocess.Popen(
            [BIN / "ydl-native", "serve", "--json", "--port", "0", "--lib", library,
             "--cpus", "1", *map(str, args)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files)))
        self.said, self.errors = [], []
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        if heard:
            self.hear()
        self.listening = self._event("listening")
        self.port = int(self.listening["url"].rsplit(":", 1)[1])
        self.ready = self._event("ready") if ready else None

    def hear(self):
        """Reads what it prints as errors from here on."""
        self._reader.start()

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def _event(self, name: str) -> dict:
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith("{") and json.loads(line)["event"] == name:
                return json.loads(line)
        raise AssertionError(f"it ended with {self.process.wait(60)} before '{name}': "
                             f"{''.join(self.said)} {self.complaints()}")

    def complaints(self) -> str:
        """All that it wrote to its standard error, once it has ended."""
        self.process.wait(60)
        self._reader.join(60)
        return "".join(self.errors)

    def connect(self) -> http.client.HTTPConnection:
        """A connection of its own, for several requests."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method: str, path: str, body=None, headers=()) -> "Answer":
        """One request on a connection of its own. A body that is no bytes is sent as JSON."""
        connection = self.connect()
        try:
            return ask(connection, method, path, body, headers)
        finally:
            connection.close()

    def get(self, path: str) -> "Answer":
        """GET PATH."""
        return self.ask("GET", path)

    def post(self, path: str, body, headers=()) -> "Answer":
        """POST BODY to PATH."""
        return self.ask("POST", path, body, headers)

    def metric(self, name: str) -> float:
        """The value of one line of /metrics."""
        text = self.get("/metrics").text
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.split(" ")[0] == name)

    def memory(self) -> int:
        """Resident bytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line.split()[1] for line in text.splitlines()
                        if line.startswith("VmRSS"))) << 10

    def end(self) -> int:
        """Asks it to end; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self) -> None:
        """Whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)
        self.process.stdout.close()


class Answer:
    """Status, headers and body."""

    def __init__(self, response: http.client.HTTPResponse):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def json(self):
        """The body as JSON."""
        return json.loads(self.body)


def ask(connection, method: str, path: str, body=None, headers=()) -> Answer:
    """One request on a connection that stays."""
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    connection.request(method, path, body, dict(headers))
    return Answer(connection.getresponse())


LONG = 10 ** 9  # rounds of the slow model: longer than any test waits


def infer(name, values, shape, datatype="FP32", **more):
    """An infer request of one input."""
    return {"inputs": [{"name": name, "shape": shape, "datatype": datatype, "data": values}], **more}


def rounds(n):
    """A request that takes the slow model `n` rounds."""
    return infer("n", [n], [1], "INT64")


SLOW = "/v2/models/slow/infer"


def start_asking(server, path, body, headers=()):
    """Sends a request without waiting for its answer; returns the connection."""
    connection = server.connect()
    connection.request("POST", path, json.dumps(body).encode(), dict(headers))
    return connection


def wait_for(what):
    """Until it is so."""
    limit = patience.Limit(60)
    while not what():
        assert not limit.over(), "waited too long"
        time.sleep(0.005)


def tensors_request(inputs, as_json=()):
    """An infer request of {NAME: (DATATYPE, SHAPE, BYTES)}, and its headers. What has values in
    `as_json` is sent as those."""
    def more(name, data):
        return ({"data": as_json[name]} if name in as_json else
                {"parameters": {"binary_data_size": len(data)}})
    head = json.dumps({"inputs": [{"name": name, "shape": shape, "datatype": datatype,
                                   **more(name, data)}
                                  for name, (datatype, shape, data) in inputs.items()],
                       "parameters": {"binary_data_output": True}}).encode()
    return (head + b"".join(v[2] for name, v in inputs.items() if name not in as_json),
            {"Inference-Header-Content-Length": str(len(head))})


def ask_tensors(server, name, inputs, as_json=()):
    """{OUTPUT: (DATATYPE, SHAPE, BYTES)}"""
    answer = server.post(f"/v2/models/{name}/infer", *tensors_request(inputs, as_json))
    assert answer.status == 200, answer.text
    n = int(answer.headers["Inference-Header-Content-Length"])
    found, rest = {}, answer.body[n:]
    for one in json.loads(answer.body[:n])["outputs"]:
        size = one["parameters"]["binary_data_size"]
        found[one["name"]] = (one["datatype"], one["shape"], rest[:size])
        rest = rest[size:]
    assert rest == b""
    return found


def refused(model, *args):
    """What it says when it ends with 1."""
    done = subprocess.run([BIN / "ydl-native", "serve", "--port", "0", *map(str, args), model],
                          capture_output=True, text=True, errors="replace", timeout=60, check=False,
                          env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
    assert done.returncode == 1, done.stderr
    return done.stderr
