"""A directory whose opening is held up: what a slow file system does, at a moment that a test can see."""

import ctypes
import os
import select
import struct
from pathlib import Path

from agent_support import PATIENCE

CLASS_CONTENT, CLOEXEC, ADD = 0x4, 0x1, 0x1
OPEN_PERM, ONDIR, ON_CHILD = 0x10000, 0x40000000, 0x08000000
ALLOW = 1
EVENT = struct.Struct("=IBBHQii")  # struct fanotify_event_metadata


def missing(where: Path) -> str:
    """Why this machine cannot hold anybody up, "" when it can: some kernels have no such events."""
    try:
        with HeldDir(where):
            return ""
    except OSError as error:
        return f"no permission events of fanotify here: {error}"


class HeldDir:
    """Whoever opens the directory (or, with `files`, a file in it) waits until the end of the block; needs
    root (fanotify)."""

    def __init__(self, path: Path, files: bool = False):
        self.mask = OPEN_PERM | (ON_CHILD if files else ONDIR)
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.path = path
        self.fd = -1

    def __enter__(self) -> "HeldDir":
        self.fd = self.libc.fanotify_init(CLASS_CONTENT | CLOEXEC, os.O_RDONLY)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "fanotify_init")
        if self.libc.fanotify_mark(self.fd, ADD, ctypes.c_uint64(self.mask), -1,
                                   os.fsencode(self.path)) < 0:
            raise OSError(ctypes.get_errno(), f"fanotify_mark '{self.path}'")
        return self

    def wait(self):
        """Until somebody wants to open it, who is held from then on."""
        assert select.select([self.fd], [], [], PATIENCE)[0], f"nobody opens '{self.path}'"

    def let_one_through(self):
        """The first who wants to open it; the next one is held."""
        self.wait()
        event = EVENT.unpack_from(os.read(self.fd, EVENT.size))
        os.write(self.fd, struct.pack("=iI", event[-2], ALLOW))
        os.close(event[-2])

    def __exit__(self, *_):
        os.close(self.fd)  # lets all of them through
