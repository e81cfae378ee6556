"""The process that owns a cluster.

    up ──spawns──► guard ──forks──► keeper ──forks──► nn, rm, dn1, nm1, ... ──► containers

The keeper starts daemons, answers requests on a socket in the run directory, and takes everything
down when it is told to, when the owner (a pidfd) ends, or when `up` ends before it said that the
cluster is complete. Should the keeper itself be killed, the kernel kills the daemons with it, and
the guard, to whom the orphaned containers fall, kills those. The keeper has one thread: the kernel
ties a child's fate to the thread that forked it.
"""

import json
import os
import selectors
import shutil
import signal
import socket
import sys
from pathlib import Path

from . import apart, daemons, layout, places, private, process

SOCKET = "keeper.sock"
_SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "pause": signal.SIGSTOP,
            "resume": signal.SIGCONT}
_KEPT = {"logs", "conf", "spec.json"}  # what --keep-logs leaves


class Daemon:
    """A daemon that was started at least once."""

    def __init__(self, pid: int):
        self.pid, self.paused, self.exit_code = pid, False, None

    def state(self) -> str:
        if self.exit_code is not None:
            return "dead"
        return "paused" if self.paused else "running"


class Keeper:
    """The loop. `watched` are pidfds: of `up` until it is done, and of the owner."""

    def __init__(self, lay: layout.Layout, starter: int, owner: int | None, keep_logs: bool):
        self.lay, self.starter, self.keep_logs = lay, starter, keep_logs
        self.networks = apart.Networks(lay)
        self.daemons: dict[str, Daemon] = {}
        self.selector = selectors.DefaultSelector()
        self.ending = False
        self.goodbye: socket.socket | None = None
        for fd in (starter, owner):
            if fd is not None:
                self.selector.register(fd, selectors.EVENT_READ, self.on_owner_gone)
        self._listen()
        self._watch_signals()

    def _listen(self) -> None:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(SOCKET)  # relative: a socket's path has room for about 100 characters only
        server.listen(16)
        self.server = server
        self.selector.register(server, selectors.EVENT_READ, self.on_request)

    def _watch_signals(self) -> None:
        ours, wakeup = socket.socketpair()
        ours.setblocking(False)
        wakeup.setblocking(False)
        self.wakeup = (ours, wakeup)
        for sig in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, lambda *_: None)
        signal.set_wakeup_fd(wakeup.fileno())
        self.selector.register(ours, selectors.EVENT_READ, self.on_signal)

    def run(self) -> None:
        while not self.ending:
            for key, _ in self.selector.select():
                key.data()
        self.finish()

    def on_owner_gone(self) -> None:
        self.ending = True

    def on_signal(self) -> None:
        if set(self.wakeup[0].recv(4096)) & {signal.SIGTERM, signal.SIGINT}:
            self.ending = True
        for pid, code in process.reap():
            for daemon in self.daemons.values():
                if daemon.pid == pid:
                    daemon.exit_code = code

    def on_request(self) -> None:
        connection, _ = self.server.accept()
        connection.settimeout(60)
        try:
            request = json.loads(connection.makefile("r").readline())
            answer = getattr(self, "do_" + request.pop("do"))(**request)
        except (OSError, ValueError, KeyError, TypeError, AttributeError,
                places.ClusterError) as e:
            answer = {"error": str(e)}
        if self.ending:
            self.goodbye = connection  # is answered when nothing runs any more
        else:
            _answer(connection, answer)

    def do_start(self, daemon: str) -> dict:
        if daemon not in self.lay.daemons + self.lay.spares:
            raise places.ClusterError(f"this cluster has no daemon '{daemon}'")
        before = self.daemons.get(daemon)
        if before and before.exit_code is None:
            raise places.ClusterError(f"{daemon} is {before.state()} already")
        pid = process.spawn(daemons.command(self.lay, daemon),
                            daemons.environment(self.lay, daemon), self.lay.run,
                            self.lay.logs / f"{daemon}.log",
                            lambda: self.networks.enter(daemon))
        self.daemons[daemon] = Daemon(pid)
        return {"pid": pid}

    def do_signal(self, daemon: str, name: str) -> dict:
        known = self.daemons.get(daemon)
        if known is None or known.exit_code is not None:
            raise places.ClusterError(f"{daemon} is not running")
        os.kill(known.pid, _SIGNALS[name])
        if name in ("pause", "resume"):
            known.paused = name == "pause"
        return {"pid": known.pid}

    def do_status(self) -> dict:
        return {"pid": os.getpid(), "complete": self.starter is None, "daemons": {
            name: {"pid": d.pid, "state": d.state(), "exit_code": d.exit_code}
            for name, d in self.daemons.items()}}

    def do_complete(self) -> dict:
        """From now on the cluster does not depend on the process that started it."""
        if self.starter is not None:
            self.selector.unregister(self.starter)
            os.close(self.starter)
            self.starter = None
        return {}

    def do_down(self, keep_logs: bool) -> dict:
        self.keep_logs = self.keep_logs or keep_logs
        self.ending = True
        return {}

    def finish(self) -> None:
        """Nothing is left running, and of the run directory only what was asked for."""
        process.kill_descendants()
        if private.wanted(self.lay.spec):
            private.leave(self.lay)
        _clean(self.lay.run, self.keep_logs)
        if self.goodbye:
            _answer(self.goodbye, {})


def _answer(connection: socket.socket, answer: dict) -> None:
    with connection:
        try:
            connection.sendall((json.dumps(answer) + "\n").encode())
        except OSError:
            pass  # who asked did not wait for the answer


def _clean(run: Path, keep_logs: bool) -> None:
    if not keep_logs:
        shutil.rmtree(run, ignore_errors=True)
        return
    for entry in run.iterdir():
        if entry.name in _KEPT:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _guard(keeper: int, run: Path) -> None:
    """Waits for the keeper, kills what it could not, and gives the cluster's name back."""
    while True:
        ended = os.waitpid(-1, 0)[0]
        if ended == keeper:
            break
    process.kill_descendants()
    private.remove_cgroups(run)
    places.run_lock(run).unlink(missing_ok=True)


def main(arguments: list[str]) -> None:
    """keeper RUN_DIR STARTER_PIDFD OWNER_PIDFD|- keep|clean; other inherited descriptors (the lock
    and the ports) are held by being open."""
    run, starter, owner, keep = arguments
    if os.fork():
        return  # who started us has no child to wait for
    os.chdir(run)
    process.keep_descriptors_private()
    process.become_subreaper()
    guard = os.getpid()
    keeper = os.fork()
    if keeper:
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(sig, signal.SIG_IGN)
        _guard(keeper, Path(run))
        return
    process.die_with_parent(guard, signal.SIGTERM)
    process.become_subreaper()
    lay = layout.load(Path(run))
    if private.wanted(lay.spec):
        private.enter(lay)
        os.chdir(run)  # the same directory, as it is seen from now on
    Keeper(lay, int(starter), None if owner == "-" else int(owner),
           keep == "keep").run()


if __name__ == "__main__":
    main(sys.argv[1:])
