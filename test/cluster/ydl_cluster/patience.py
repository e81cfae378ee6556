"""How long a test waits: for what was promised within some time, and for what might hang."""

import functools
import os
import subprocess
import threading
import time

_MOST = 12


def stretched(seconds: float) -> float:
    """The time that was promised, which a machine takes that has nothing else to do; longer in
    proportion where more processes want to run than there are cores."""
    busy = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    return seconds * min(_MOST, max(1.0, 1 + busy))


class Limit:
    """When waiting has been long enough. The machine may get busy meanwhile: it is asked each time."""

    def __init__(self, seconds: float):
        self.seconds, self.begun = seconds, time.monotonic()

    def left(self) -> float:
        """Seconds from now, as things are now."""
        return max(0.0, self.begun + stretched(self.seconds) - time.monotonic())

    def over(self) -> bool:
        return self.left() == 0


def end_if_late(process: subprocess.Popen, seconds: float) -> None:
    """Kills a process that has not ended by then, so that nobody reads for ever what it does not write."""
    limit = Limit(seconds)

    def watch() -> None:
        while process.poll() is None:
            if limit.over():
                process.kill()
            time.sleep(0.5)
    threading.Thread(target=watch, daemon=True).start()


def with_processes() -> None:
    """From now on whoever waits for a process (`wait`, `communicate`, `subprocess.run`) waits as
    `Limit` does: the time that is given only ends what hangs. Less than a second is no such limit but
    a pause, and stays what it is. And `with Popen(…)` does not wait for a process whose test has
    failed, which may never end."""
    for name in ("wait", "communicate"):
        setattr(subprocess.Popen, name, _patient(getattr(subprocess.Popen, name)))
    subprocess.Popen.__exit__ = _ending(subprocess.Popen.__exit__)


def _ending(leave):
    @functools.wraps(leave)
    def leaves(process, kind, *rest):
        if kind is not None:
            process.kill()
        return leave(process, kind, *rest)
    return leaves


def _patient(wait):
    @functools.wraps(wait)
    def waits(process, *args, timeout: float | None = None, **options):
        if wait.__name__ == "wait" and args:
            timeout, args = args[0], ()
        if timeout is None or timeout < 1:
            return wait(process, *args, timeout=timeout, **options)
        limit = Limit(timeout)
        while True:
            try:
                return wait(process, *args, timeout=limit.left(), **options)
            except subprocess.TimeoutExpired:
                if limit.over():
                    raise
            args, options = (), {}  # what goes to the process was taken the first time
    return waits
