"""Strangers at the ports of a job: many silent connections, half requests, wrong keys.

Each kind speaks, or half speaks, every protocol of ours in turn, so that any port can be flooded
without knowing whose it is.
"""

import os
import re
import resource
import socket
import ssl
import struct
import threading
import time
from pathlib import Path

from ydl_cluster.patience import stretched

CONNECTIONS = 5000
RABIT_MAGIC = 0xFF99
NOBODY = 65534
KINDS = ("silent", "half", "wrong")


def listening(pid: int) -> list[int]:
    """TCP ports that a process listens on."""
    inodes = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", str(fd.readlink())))
        except OSError:
            continue
    rows = [line.split() for name in ("tcp", "tcp6")
            for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]]
    return sorted({int(row[1].rsplit(":", 1)[1], 16) for row in rows
                   if row[3] == "0A" and row[9] in inodes})


def memory_mb(pid: int, name: str = "VmHWM") -> float:
    """What a process has resident, at most so far (VmHWM) or now (VmRSS)."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) / 1024


def client_hello() -> bytes:
    """A TLS greeting without our key."""
    context = ssl.create_default_context()
    context.check_hostname = False
    outgoing = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def words(kind: str) -> list[bytes]:
    """What connections of a kind say, in turn."""
    hello, magic = client_hello(), struct.pack("=I", RABIT_MAGIC)
    if kind == "mixed":
        return [word for one in KINDS for word in words(one)]
    if kind == "half":
        return [hello[:-1], b"GET / HTTP/1.1\r\nHost: a\r\nX: ", magic[:2], hello[:3]]
    if kind == "wrong":
        return [hello, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", magic + bytes(40), b"\0" * 64]
    return [b""]


class Flood:
    """Opens connections to `ports` for so many seconds, CONNECTIONS of them in five, and keeps
    those that it opened last."""

    def __init__(self, host: str, ports: list[int], kind: str, seconds: float, more=()):
        self._host, self._ports, self._seconds = host, ports, seconds
        self._words = [*words(kind), *more]
        self._stopped = threading.Event()
        self.opened = 0
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self._keep = min(CONNECTIONS, hard - 500)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopped.set()
        self._thread.join(stretched(60))

    def wait(self):
        """Until all of it has been done."""
        self._thread.join(stretched(self._seconds + 120))
        assert not self._thread.is_alive()

    def _dial(self, i: int) -> socket.socket:
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((self._host, self._ports[i % len(self._ports)]))
        return s

    def _run(self):
        kept, start = [], time.monotonic()
        total = int(CONNECTIONS * self._seconds / 5)
        while self.opened < total and not self._stopped.is_set():
            # A hundred at a time, in step with the clock.
            while self.opened > total * (time.monotonic() - start) / self._seconds:
                time.sleep(0.005)
            fresh = [self._dial(self.opened + i) for i in range(100)]
            self.opened += len(fresh)
            time.sleep(0.01)
            for i, s in enumerate(fresh):
                try:
                    s.send(self._words[(self.opened + i) // len(self._ports) % len(self._words)])
                except OSError:
                    pass  # not connected yet, or refused already
            kept += fresh
            for s in kept[:max(0, len(kept) - self._keep)]:
                s.close()
            kept = kept[-self._keep:]
        while time.monotonic() - start < self._seconds and not self._stopped.is_set():
            time.sleep(0.05)
        for s in kept:
            s.close()


def as_user(user: int, host: str, port: int, talk) -> int:
    """A process of that user that connects and calls `talk` with its socket; its number."""
    address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    child = os.fork()
    if child == 0:
        code = 1  # another user cannot import anything any more
        try:
            os.setuid(user)
            s = socket.socket(address[0])
            s.settimeout(120)
            s.connect(address[4])
            code = 0
            talk(s)
        finally:
            os._exit(code)
    return child


def print_as(user: int, host: str, port: int):
    """Says "print" to a rabit tracker, as a process of that user."""
    def text(t):
        return struct.pack("=i", len(t)) + t

    def talk(s):
        s.sendall(struct.pack("=Iii", RABIT_MAGIC, -1, -1) + text(b"NULL") + text(b"print")
                  + text(b"I was here\n"))
        while s.recv(100):
            pass
    child = as_user(user, host, port, talk)
    assert os.waitpid(child, 0) == (child, 0)
