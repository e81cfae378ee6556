"""Runs a command, and stops the first process that it or its descendants start with given words, before
that has run one instruction of its own: hold.py WORDS COMMAND... prints its process id and leaves.

It follows them as a debugger does. When it ends, those that it followed go on by themselves."""

import ctypes
import os
import signal
import sys
from pathlib import Path

TRACEME, CONT, DETACH, SETOPTIONS = 0, 7, 17, 0x4200
FORK, VFORK, CLONE, EXEC = 1, 2, 3, 4  # events; the options are 1 << event
WALL = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_LIBC.ptrace.restype = ctypes.c_long


def ptrace(request: int, pid: int, data: int = 0) -> None:
    if _LIBC.ptrace(request, pid, None, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request} of {pid}")


def start(command: list[str]) -> int:
    """The command, which stops at its own exec."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        ptrace(TRACEME, 0)
        os.execv(command[0], command)
    os.waitpid(pid, 0)
    ptrace(SETOPTIONS, pid, 1 << FORK | 1 << VFORK | 1 << CLONE | 1 << EXEC)
    ptrace(CONT, pid)
    return pid


def follow(words: str) -> int:
    """Until somebody starts with these words; who."""
    new = set()
    while True:
        pid, status = os.waitpid(-1, WALL)
        if not os.WIFSTOPPED(status):
            continue
        given, event = os.WSTOPSIG(status), status >> 16
        if event == EXEC:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            if line.startswith(words):
                os.kill(pid, signal.SIGSTOP)  # taken when it is let go, before anything else
                ptrace(DETACH, pid)
                return pid
        if event or given == signal.SIGTRAP:
            given = 0
        elif given == signal.SIGSTOP and pid not in new:  # a new one begins so
            new.add(pid)
            given = 0
        try:
            ptrace(CONT, pid, given)
        except ProcessLookupError:
            pass  # killed meanwhile


if __name__ == "__main__":
    start(sys.argv[2:])
    print(follow(sys.argv[1]), flush=True)
