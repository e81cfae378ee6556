"""Advisory locks on files: they vanish with their holder, also when it is killed."""

import contextlib
import fcntl
import os
import time
from pathlib import Path

from .patience import Limit


@contextlib.contextmanager
def held(path: Path):
    """Waits for the lock on `path` and holds it for the block."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def held_within(path: Path, seconds: float):
    """Holds the lock for the block if it gets free in time; the block is told whether it did."""
    limit = Limit(seconds)
    while (fd := try_hold(path)) is None and not limit.over():
        time.sleep(0.02)
    try:
        yield fd is not None
    finally:
        if fd is not None:
            os.close(fd)


def try_hold(path: Path) -> int | None:
    """Takes the lock on `path` if it is free. The file descriptor holds it until closed; its
    holder may remove the file, and nobody is fooled by having opened it before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return None
        if _is(fd, path):
            return fd
        os.close(fd)


def _is(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False
