"""Processes and their descendants: starting them, and leaving none behind.

A cluster is a tree of processes whose root never lets go of it. The root is a *subreaper*: what
loses its parent below it becomes its child and not init's. So a container that was started by a
NodeManager which is dead by now is still in the tree, and "all processes of this cluster" is exact;
no search by command line or working directory is needed.
"""

import ctypes
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from .patience import Limit

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def become_subreaper() -> None:
    """Orphans below this process become its children."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int, sig: int) -> None:
    """This process gets `sig` when `parent` ends, which may already have happened."""
    _prctl(_PR_SET_PDEATHSIG, sig)
    if os.getppid() != parent:
        os.kill(os.getpid(), sig)


def keep_descriptors_private() -> None:
    """Whatever this process was given, its children are not."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2:
            try:
                os.set_inheritable(fd, False)
            except OSError:
                pass  # the one that listed the directory


def spawn(command: list[str], env: dict[str, str], cwd: Path, log: Path,
          enter: Callable[[], None]) -> int:
    """Starts a daemon that is killed when the caller ends. The caller must have one thread only.
    `enter` is called in the new process."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        die_with_parent(parent, signal.SIGKILL)
        for sig in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(sig, signal.SIG_DFL)  # Python ignores these, and that would be inherited
        os.setpgid(0, 0)
        enter()
        os.chdir(cwd)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 1)
        os.dup2(1, 2)
        os.execve(command[0], command, env)
    except BaseException as e:  # pylint: disable=broad-except
        os.write(2, f"cannot start {command[0]}: {e}\n".encode())
    os._exit(127)


def descendants(root: int) -> list[int]:
    """All processes below `root`, zombies left out."""
    children: dict[int, list[tuple[int, str]]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (found := _parent_and_state(int(entry))):
            children.setdefault(found[0], []).append((int(entry), found[1]))
    below, todo = [], [root]
    while todo:
        for pid, state in children.get(todo.pop(), []):
            todo.append(pid)
            if state != "Z":
                below.append(pid)
    return below


def _parent_and_state(pid: int) -> tuple[int, str] | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, parent = stat[stat.rindex(")") + 2:].split()[:2]  # the name before it may hold anything
    return int(parent), state


def reap() -> list[tuple[int, int]]:
    """Collects children that ended: (pid, exit code, negative for a signal)."""
    ended = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append((pid, os.waitstatus_to_exitcode(status)))


def kill_descendants(timeout: float = 60.0) -> bool:
    """Kills everything below this process. It looks again until nothing is left, since what is
    being killed may be forking."""
    limit = Limit(timeout)
    while not limit.over():
        below = descendants(os.getpid())
        reap()
        if not below:
            return True
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
    return False
