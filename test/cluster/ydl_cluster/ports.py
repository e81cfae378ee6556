"""A block of ports for each cluster, so that clusters can stand side by side.

A block is claimed by binding an abstract Unix socket named after it. Such a name has the same
scope as the ports themselves (the network namespace) and is free again when its holder is gone,
however it went; a lock file would be missed by everybody who has another cache directory.
All blocks lie below the ports that the kernel hands out by itself.
"""

import errno
import socket

from . import places

FIRST, LAST, SIZE = 20000, 32000, 200


def claim() -> tuple[int, socket.socket]:
    """The first port of a free block, and the socket that holds the claim while it is open."""
    for base in range(FIRST, LAST, SIZE):
        holder = _hold(base)
        if holder is None:
            continue
        if all(_bindable(base + i) for i in range(SIZE)):
            return base, holder
        holder.close()
    raise places.ClusterError(f"no free block of {SIZE} ports between {FIRST} and {LAST}")


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
