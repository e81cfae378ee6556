"""RegistryDNS, Hadoop's own name server for what stands in YARN's registry, and questions to it."""

import contextlib
import random
import socket
import struct
import subprocess
import time

from . import java, patience
from .cluster import Cluster

DOMAIN = "ydl.test"
_CLASS = "org.apache.hadoop.registry.server.dns.RegistryDNSServer"
A, SRV = 1, 33


class RegistryDNS:
    """A running server."""

    def __init__(self, port: int, process: subprocess.Popen | None, log: str,
                 host: str = "127.0.0.1"):
        self.port, self.process, self.log, self.host = port, process, log, host

    def ask(self, name: str, kind: int = A) -> list[str]:
        """The answers: addresses, or "host:port" for SRV. What is lost or late is asked again."""
        limit = patience.Limit(60)
        while True:
            with contextlib.suppress(TimeoutError):
                return self._ask_once(name, kind)
            assert not limit.over(), f"no answer for {name}; see {self.log}"

    def _ask_once(self, name: str, kind: int) -> list[str]:
        number = random.randrange(1 << 16)
        labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
        question = struct.pack(">6H", number, 0x100, 1, 0, 0, 0) + labels + struct.pack(
            ">BHH", 0, kind, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(5)
            s.sendto(question, (self.host, self.port))
            answer = s.recv(4096)
        got, flags, _, count = struct.unpack(">4H", answer[:8])
        assert got == number
        assert flags & 15 in (0, 3), f"DNS error {flags & 15} for {name}"
        return list(_records(answer, len(question), count, kind))

    def wait_for(self, name: str, expected: list[str], kind: int = A, seconds: float = 60) -> None:
        limit = patience.Limit(seconds)
        while (got := self.ask(name, kind)) != expected:
            assert not limit.over(), f"{name} is {got}, not {expected}; see {self.log}"
            time.sleep(0.2)


def _name_end(message: bytes, at: int) -> int:
    while message[at]:
        if message[at] >= 0xc0:
            return at + 2
        at += message[at] + 1
    return at + 1


def _name(message: bytes, at: int) -> str:
    parts = []
    while message[at]:
        if message[at] >= 0xc0:
            at = struct.unpack(">H", message[at:at + 2])[0] & 0x3fff
            continue
        parts.append(message[at + 1:at + 1 + message[at]].decode())
        at += message[at] + 1
    return ".".join(parts)


def _records(message: bytes, at: int, count: int, wanted: int):
    for _ in range(count):
        at = _name_end(message, at)
        kind, _, _, length = struct.unpack(">HHIH", message[at:at + 10])
        at += 10
        if kind == wanted == A:
            yield socket.inet_ntoa(message[at:at + 4])
        elif kind == wanted == SRV:
            port = struct.unpack(">H", message[at + 4:at + 6])[0]
            yield f"{_name(message, at + 6)}:{port}"
        at += length


@contextlib.contextmanager
def running(cluster: Cluster, quorum: str):
    """A RegistryDNS for the registry in the ZooKeeper at `quorum`; it ends with the block."""
    port = cluster.lay.port("own-dns", "dns")
    values = {"hadoop.registry.zk.quorum": quorum, "hadoop.registry.dns.enabled": "true",
              "hadoop.registry.dns.domain-name": DOMAIN,
              "hadoop.registry.dns.bind-address": "127.0.0.1",
              "hadoop.registry.dns.bind-port": port,
              "hadoop.registry.dns.zone-subnet": "10.1.2.0",
              "hadoop.registry.dns.zone-mask": "255.255.255.0"}
    words = [word for key, value in values.items() for word in ("-D", f"{key}={value}")]
    log = cluster.lay.logs / "registry-dns.log"
    command = java.command(cluster.lay, 160, "registry-dns", _CLASS, *words)
    with open(log, "ab") as out:
        process = subprocess.Popen(command, env=cluster.env(), stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=out)
    try:
        _wait_open(process, port, log)
        yield RegistryDNS(port, process, str(log))
    finally:
        process.kill()
        process.wait()


def _wait_open(process: subprocess.Popen, port: int, log) -> None:
    limit = patience.Limit(120)
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert process.poll() is None and not limit.over(), log.read_text()
        time.sleep(0.2)
