"""Asking a cluster's keeper for something."""

import json
import os
import socket
from pathlib import Path

from . import keeper, places
from .patience import stretched


def ask(run: Path, do: str, timeout: float = 240, **arguments) -> dict:
    """Sends one request and returns the answer."""
    with _connect(run) as connection:
        connection.settimeout(stretched(timeout))
        connection.sendall((json.dumps({"do": do, **arguments}) + "\n").encode())
        line = connection.makefile("r").readline()
    if not line:
        raise places.ClusterError(f"the keeper of cluster '{run.name}' went away")
    answer = json.loads(line)
    if "error" in answer:
        raise places.ClusterError(answer["error"])
    return answer


def is_up(run: Path) -> bool:
    """Whether a keeper answers for this run directory."""
    try:
        _connect(run).close()
    except places.ClusterError:
        return False
    return True


def _connect(run: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        directory = os.open(run, os.O_PATH | os.O_CLOEXEC)
        try:  # by descriptor, because a socket's path must be short
            connection.connect(f"/proc/self/fd/{directory}/{keeper.SOCKET}")
        finally:
            os.close(directory)
    except OSError:
        connection.close()
        raise places.ClusterError(f"cluster '{run.name}' is not up") from None
    return connection
