"""Running one program and knowing what it took."""

import dataclasses
import os
import re
import statistics
import subprocess
import threading
import time
from pathlib import Path

SAMPLE_SECONDS = 0.02


@dataclasses.dataclass
class Taken:
    """What one run took."""

    seconds: float
    cpu: float  # seconds, of the program and its children
    rss_mb: float
    output: str


class Peak(threading.Thread):
    """The peak of a program's resident memory. What wait4 tells includes the Python that the
    program was forked from; the kernel's own mark begins anew with each exec, but goes away with
    the process, so it is read now and then."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.path, self.mb, self.over = Path(f"/proc/{pid}/status"), 0.0, threading.Event()

    def run(self):
        while not self.over.wait(SAMPLE_SECONDS):
            try:
                mark = re.search(r"^VmHWM:\s+(\d+) kB", self.path.read_text(), re.MULTILINE)
            except OSError:
                return
            self.mb = int(mark.group(1)) / 1024 if mark else self.mb


def run(command: list[str], env: dict[str, str]) -> Taken:
    """Runs it to its end; anything but exit code 0 is an error that shows what it said."""
    begin = time.perf_counter()
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as child:
        peak = Peak(child.pid)
        peak.start()
        # Little is printed: the pipes hold it until the program has ended.
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        peak.over.set()
        child.returncode = os.waitstatus_to_exitcode(status)
        output, errors = child.stdout.read(), child.stderr.read()
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {child.returncode}\n{errors}")
    return Taken(seconds, usage.ru_utime + usage.ru_stime, peak.mb, output)


def median(taken: list[Taken], field: str) -> float:
    return statistics.median(getattr(t, field) for t in taken)
