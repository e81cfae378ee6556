"""A block of ports for each cluster, so that clusters can stand side by side.

A block is claimed by binding an abstract Unix socket named after it. Such a name has the same
scope as the ports themselves (the network namespace) and is free again when its holder is gone,
however it went; a lock file would be missed by everybody who has another cache directory.

A daemon binds its ports long after the block was claimed, and again whenever it is restarted. So no
block lies among the ports that jobs take by themselves (10000 to 32767; src/agent/tasks/ports.h), nor, if
there is any other, among those that the kernel hands out.
"""

import errno
import socket
from pathlib import Path

from . import places

SIZE = 100
# Above what the kernel hands out on most machines; and below what jobs take.
_RANGES = (range(61000, 65500, SIZE), range(6000, 10000, SIZE))


def claim() -> tuple[int, socket.socket]:
    """The first port of a free block, and the socket that holds the claim while it is open."""
    for base in _blocks():
        holder = _hold(base)
        if holder is None:
            continue
        if all(_bindable(base + i) for i in range(SIZE)):
            return base, holder
        holder.close()
    raise places.ClusterError(f"no free block of {SIZE} ports, neither from 6000 nor from 61000 on")


def _blocks() -> list[int]:
    """All of them; those that the kernel may hand out come last."""
    text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    first, last = map(int, text.split())
    return sorted((base for blocks in _RANGES for base in blocks),
                  key=lambda base: first < base + SIZE and base <= last)


def _hold(base: int) -> socket.socket | None:
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        holder.bind(f"\0ydl-test-cluster-ports-{base}")
    except OSError as e:
        holder.close()
        if e.errno == errno.EADDRINUSE:
            return None
        raise
    return holder


def _bindable(port: int) -> bool:
    """Binding the wildcard address fails when any address of the machine listens there."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True
