"""How long a test waits: for what was promised within some time, and for what might hang."""

import os
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

    def over(self) -> bool:
        return time.monotonic() - self.begun > stretched(self.seconds)
