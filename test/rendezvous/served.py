"""One rendezvous server in a process of its own, and threads that are its workers."""

import os
import queue
import socket
import struct
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ydl_cluster.patience import Limit

_BIN = Path(os.environ.get("YDL_TEST_BIN")
            or Path(__file__).resolve().parents[2] / "build" / "unit")
HOST = "127.0.0.1"
PATIENCE = 300  # seconds that anything may take


class Server:
    """ydl-test-rendezvous while the `with` lasts; it must end by itself, cleanly."""

    def __init__(self, name: str, world: int):
        program = _BIN / "ydl-test-rendezvous"
        assert program.exists(), f"no {program}: build first, or set YDL_TEST_BIN"
        self._command = [str(program), name, str(world)]
        self._notes: queue.Queue[str] = queue.Queue()

    def __enter__(self):
        self.process = subprocess.Popen(self._command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1])
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, kind, *_):
        self.process.stdin.close()
        try:
            code = self.process.wait(PATIENCE)
        finally:
            self.process.kill()
        self._reader.join(PATIENCE)
        if kind is None:
            assert code == 0, self.process.stderr.read()

    def _read(self):
        for line in self.process.stdout:
            self._notes.put(line.rstrip("\n").removeprefix("note "))

    def note(self, timeout=PATIENCE) -> str:
        """The next note; fails when none comes."""
        return self._notes.get(timeout=timeout)

    def notes(self) -> list[str]:
        """All that came so far."""
        got = []
        while not self._notes.empty():
            got.append(self._notes.get())
        return got

    def dial(self) -> "Wire":
        return Wire(socket.create_connection((HOST, self.port), PATIENCE))


class Wire:
    """A socket that speaks in native 4-byte numbers and counted texts."""

    def __init__(self, sock: socket.socket):
        self.sock = sock
        sock.settimeout(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, *values):
        """Numbers and texts, in one write."""
        out = b""
        for v in values:
            v = v.encode() if isinstance(v, str) else v
            out += struct.pack("=i", v) if isinstance(v, int) else struct.pack("=i", len(v)) + v
        self.sock.sendall(out)

    def bytes(self, n: int) -> bytes:
        got = b""
        while len(got) < n:
            more = self.sock.recv(n - len(got))
            if not more:
                raise EOFError(f"{len(got)} of {n} bytes")
            got += more
        return got

    def number(self) -> int:
        return struct.unpack("=i", self.bytes(4))[0]

    def numbers(self, n: int) -> list[int]:
        return [self.number() for _ in range(n)]

    def text(self) -> str:
        return self.bytes(self.number()).decode()

    def is_closed(self) -> bool:
        """Has the other end hung up? Waits for it."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionError:
            return True


def together(calls) -> list:
    """All calls at once, each in a thread; their results in order."""
    calls = list(calls)
    with ThreadPoolExecutor(len(calls)) as pool:
        return [f.result(PATIENCE) for f in [pool.submit(c) for c in calls]]


def eventually(condition, timeout=PATIENCE):
    """Waits until it is true."""
    limit = Limit(timeout)
    while not condition():
        assert not limit.over(), "it did not come to pass"
        time.sleep(0.01)
