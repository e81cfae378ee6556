"""A real gateway with a real HAProxy, replicas to put behind it, and load that does not wait for
answers before it sends more."""

import asyncio
import collections
import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin")
SOON = 60  # seconds that anything may take before it counts as never


def until(look, what, seconds=SOON):
    """The first true value that look() gives."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = look()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Replica:
    """replica.py as a process. It can be killed and started again on its port."""

    def __init__(self, name, delay_ms=0, ready_file=None):
        self.name, self.port, self.process = name, free_port(), None
        self.more = [str(delay_ms)] + ([str(ready_file)] if ready_file else [])
        self.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__).parent / "replica.py", str(self.port), self.name,
             *self.more], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def spec(self):
        return {"name": self.name, "address": self.address}


class Gateway:
    """`ydl-native gateway` with its control socket."""

    def __init__(self, directory, **spec):
        self.dir = Path(directory)
        self.spec_path = self.dir / "spec.json"
        self.spec = {"listen": f"127.0.0.1:{free_port()}", "drain_time": "20s", **spec}
        self.process, self.asked = None, False

    @property
    def port(self):
        return int(self.spec["listen"].rpartition(":")[2])

    def start(self, *options):
        self.write()
        self.asked = False
        self.process = subprocess.Popen(
            [BIN / "ydl-native", "gateway", "--dir", self.dir / "g", "--control", self.dir / "c",
             *options, self.spec_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        assert line == f"127.0.0.1:{self.port}\n"
        return self

    def write(self):
        self.spec_path.write_text(json.dumps(self.spec))

    def ask(self, **command):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(SOON)
            s.connect(str(self.dir / "c"))
            s.sendall(json.dumps(command).encode() + b"\n")
            return json.loads(s.makefile().readline())

    def do(self, **command):
        answer = self.ask(**command)
        assert answer["ok"], answer
        return answer

    def apply(self):
        self.write()
        return self.do(do="apply")

    def status(self):
        return self.do(do="status")

    def versions(self):
        """{version: its status} of the first model."""
        return {v["version"]: v for v in self.status()["models"][0]["versions"]}

    def await_ready(self, *names):
        def look():
            states = {r["name"]: r["state"] for m in self.status()["models"]
                      for v in m["versions"] for r in v["replicas"]}
            return all(states.get(name) == "ready" for name in names)
        until(look, f"{names} are ready")

    def await_settled(self):
        return until(lambda: (s := self.status())["settled"] and s, "the gateway settles")

    def ask_to_end(self):
        """Once: a second signal ends it at once, whatever is under way."""
        if not self.asked and self.process.poll() is None:
            self.asked = True
            self.process.send_signal(signal.SIGTERM)

    def stop(self):
        if self.process is None:
            return ""
        self.ask_to_end()
        try:
            said = self.process.communicate(timeout=SOON)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        code, self.process = self.process.returncode, None
        assert code == 0 or not self.asked, said
        return said


def model(*versions, serve=1, **more):
    """A model `m`; each version is a list of replicas."""
    return {"name": "m", "serve": serve, **more,
            "versions": [{"version": i, "replicas": [r.spec() for r in replicas]}
                         for i, replicas in enumerate(versions, start=1) if replicas is not None]}


@contextlib.contextmanager
def running(*parts):
    """Ends gateways and replicas, whatever happens."""
    try:
        yield parts
    finally:
        for part in parts:
            if isinstance(part, Gateway):
                part.stop()
            elif part.process.poll() is None:
                part.kill()


def request(port, path="/v2/models/m/infer", body=b"", headers=(), method="POST", seconds=SOON):
    """(status, headers, body) of one request on a connection of its own."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as s:
        lines = [f"{method} {path} HTTP/1.1", "Host: test", "Connection: close",
                 f"Content-Length: {len(body)}", *headers]
        s.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return parse(s.makefile("rb").read())


def parse(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin1").split("\r\n")
    fields = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in rest)}
    return int(first.split()[1]) if first else 0, fields, body


class Load:
    """Requests at a constant rate over a pool of kept connections, while the test goes on. Each
    body is different, and its digest must come back: any other answer is a wrong one."""

    def __init__(self, port, rate=200, path="/v2/models/m/infer", size=200):
        self.port, self.rate, self.path, self.size = port, rate, path, size
        self.outcomes = collections.Counter()
        self.replicas = collections.Counter()
        self.wrong, self.failures, self.idle, self.ending = [], [], collections.deque(), False

    async def __aenter__(self):
        self.task = asyncio.create_task(self.run())
        return self

    async def __aexit__(self, *_):
        self.ending = True
        await self.task

    async def run(self):
        running_now, began, n = set(), time.monotonic(), 0
        while not self.ending:
            await asyncio.sleep(max(0, began + n / self.rate - time.monotonic()))
            n += 1
            task = asyncio.create_task(self.one(n))
            running_now.add(task)
            task.add_done_callback(running_now.discard)
        if running_now:
            await asyncio.wait(running_now, timeout=SOON)
        for _, writer in self.idle:
            writer.close()

    async def one(self, n):
        body = (b"%d " % n) * (self.size // 8 + 1)
        try:
            reader, writer = self.idle.popleft() if self.idle else await asyncio.open_connection(
                "127.0.0.1", self.port)
            writer.write(b"POST %s HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n%s"
                         % (self.path.encode(), len(body), body))
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SOON)
            status, fields, _ = parse(head)
            data = await reader.readexactly(int(fields["content-length"]))
            self.outcomes[status] += 1
            if status == 200:
                answer = json.loads(data)
                self.replicas[answer["replica"]] += 1
                if answer["sha256"] != hashlib.sha256(body).hexdigest():
                    self.wrong.append((n, answer))
            else:
                self.failures.append((n, status, data))
            if fields.get("connection") == "close":
                writer.close()
            else:
                self.idle.append((reader, writer))
        except (OSError, EOFError, asyncio.TimeoutError) as e:
            self.outcomes[type(e).__name__] += 1
            self.failures.append((n, repr(e)))

    async def pass_requests(self, n):
        """Goes on when n more requests were answered."""
        goal = sum(self.outcomes.values()) + n
        end = time.monotonic() + SOON
        while sum(self.outcomes.values()) < goal:
            assert time.monotonic() < end, self.outcomes
            await asyncio.sleep(0.02)


async def away(fn, *args):
    """A function that waits, beside the load."""
    return await asyncio.get_running_loop().run_in_executor(None, fn, *args)


def haproxies(directory):
    """Process ids of the HAProxy processes that were started from a directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and any(w.startswith(str(directory).encode() + b"/g/") for w in words):
                if b"-db" in words:
                    found.append(int(entry.name))
    return found
