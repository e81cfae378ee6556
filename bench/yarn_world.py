"""A cluster, the programs that run something on it, and what each run took."""

import dataclasses
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import yarn_peers

LONG_S = 300  # for one run of anything
POLL_S = 0.02
# One that all launchers take as it is: DistributedShell puts it between double quotes and redirects
# the output of what is last. The process ids make the names different, and say nothing else.
SCRIPT = ("date +%s%N,$YDL_HOST$NM_HOST > {dir}/start-$$; sleep {sleep}; "
          "date +%s%N > {dir}/end-$$; true")


@dataclasses.dataclass
class Run:
    """One job from its command on; all in seconds."""

    running: float  # the last task's first instruction
    tail: float  # from the last task's end to the command's
    whole: float
    nodes: dict[str, int]  # tasks on each


class Failed(Exception):
    """A run that did not come to its end; printed and left out."""


class World:
    """A cluster with a scratch directory, and a home that belongs to nobody else."""

    def __init__(self, cluster, scratch: Path, build: Path, runs: int):
        self.cluster, self.scratch, self.runs, self.build = cluster, scratch, runs, build
        self.ydl = Path(os.environ.get("YDL_BIN") or build / "bin").resolve() / "ydl"
        self.marks, self.number = scratch / "marks", 0
        keep = {key: value for key, value in cluster.env().items()
                if not key.startswith(("YDL_", "XDG_"))}
        self.env = keep | {"HOME": str(scratch), "TMPDIR": str(scratch),
                           "PATH": yarn_peers.skein_path(cluster, scratch)}

    # Command lines.

    def name(self) -> str:
        """Of the last job of ours."""
        return f"bench-{os.getpid()}-{self.number}"

    def job(self, count: int, *command: str, verb: str = "run", more: tuple = ()) -> list[str]:
        self.number += 1
        return [str(self.ydl), verb, "--on", "yarn", "--quiet", "-n", str(count), "--mem", "64m",
                "--name", self.name(), *more, "--", *command]

    def ours(self, count: int, sleep: float) -> list[str]:
        return self.job(count, "sh", "-c", self.script(sleep))

    def shell(self, count: int, sleep: float) -> list[str]:
        return yarn_peers.shell_command(self.cluster, self.script(sleep), count)

    def skein(self, count: int, sleep: float) -> list[str]:
        return yarn_peers.skein_command(self.script(sleep), count)

    def bare(self, how: str, count: int, sleep: float) -> list[str]:
        """The barest application master, which asks for `star` or for `hosts`."""
        plan = self.scratch / "plan"
        plan.write_text(f"{count} {how}\n{self.script(sleep)}")
        return [str(self.build / "unit" / "ydl-test-submit"), str(self.build / "bench" / "yarn_am"),
                str(self.scratch)]

    def script(self, sleep: float) -> str:
        return SCRIPT.format(dir=self.marks, sleep=sleep)

    # Running them.

    def start(self, command: list[str]) -> subprocess.Popen:
        """In a session of its own; what it says is in the file `said`."""
        with open(self.scratch / "said", "wb") as said:
            return subprocess.Popen(command, env=self.env, cwd=self.scratch, stdout=said,
                                    stderr=said, stdin=subprocess.DEVNULL, start_new_session=True)

    def time(self, command: list[str]) -> float:
        """Seconds of a whole command, which has to succeed."""
        begin = time.monotonic()
        process = self.start(command)
        self._wait(process)
        return time.monotonic() - begin

    def said(self) -> str:
        return (self.scratch / "said").read_text(errors="replace")

    def _wait(self, process: subprocess.Popen) -> None:
        try:
            process.wait(LONG_S)
        except subprocess.TimeoutExpired:
            self.end(process)
            raise Failed(f"{process.args[0]}: not over in {LONG_S} s") from None
        if process.returncode != 0:
            raise Failed(f"{process.args[0]}: exit code {process.returncode}\n"
                         f"{self.said()[-2000:]}")

    def end(self, process: subprocess.Popen) -> None:
        """Ends a command of ours as Ctrl-C does, and one that does not care by force."""
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def measure(self, command: list[str], count: int) -> Run:
        """Runs a command line whose tasks are `script`."""
        shutil.rmtree(self.marks, ignore_errors=True)
        self.marks.mkdir()
        begin = time.time_ns()
        self._wait(self.start(command))
        over = time.time_ns()
        starts = [path.read_text().strip().split(",") for path in self.marks.glob("start-*")]
        ends = [int(path.read_text() or 0) for path in self.marks.glob("end-*")]
        if len(starts) != count or len(ends) != count:
            raise Failed(f"{command[0]}: {len(starts)} tasks of {count} began, {len(ends)} ended")
        if min(ends) < max(int(at) for at, _ in starts):
            print("bench: the first task ended before the last began: they never all ran at once",
                  file=sys.stderr)
        nodes = [node for _, node in starts]
        return Run((max(int(at) for at, _ in starts) - begin) / 1e9, (over - max(ends)) / 1e9,
                   (over - begin) / 1e9, {node: nodes.count(node) for node in set(nodes)})

    def settle(self, seconds: float = 30) -> None:
        """Until no application and no container of the last run is left: the next is to meet the
        same cluster."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            page = self.cluster.rm_page("metrics")["clusterMetrics"]
            if page["appsRunning"] + page["appsPending"] + page["containersAllocated"] == 0:
                break
            time.sleep(POLL_S)
        time.sleep(0.3)  # the NodeManagers remove what they left

    # Looking.

    def timeline(self) -> list[dict]:
        """Of the last job of ours."""
        done = subprocess.run([str(self.ydl), "events", "--on", "yarn", "--timeline", "--json",
                               self.name()], env=self.env, cwd=self.scratch, capture_output=True,
                              text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise Failed(f"ydl events: {done.stderr}")
        return json.loads(done.stdout)["timeline"]

    def wait_for(self, condition, what: str, seconds: float = LONG_S):
        """The first true value of `condition()`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(POLL_S)
        raise Failed(f"not within {seconds} s: {what}\n{self.said()[-2000:]}")

    def app(self) -> str | None:
        """The application that runs, when there is one."""
        rows = (self.cluster.rm_page("apps?states=ACCEPTED,RUNNING").get("apps") or {})
        return next((row["id"] for row in rows.get("app") or []), None)

    def wait_for_tasks(self, count: int) -> str:
        """Until so many tasks have made their mark; the application they belong to."""
        self.wait_for(lambda: len(list(self.marks.glob("start-*"))) >= count, f"{count} tasks")
        return self.wait_for(self.app, "an application")

    def begin(self, command: list[str], count: int) -> tuple[subprocess.Popen, str]:
        """Starts tasks that stay; returns when all run. The process and the application."""
        shutil.rmtree(self.marks, ignore_errors=True)
        self.marks.mkdir()
        process = self.start(command)
        try:
            return process, self.wait_for_tasks(count)
        except BaseException:
            self.end(process)
            raise


def resident(pid: int) -> tuple[float, float]:
    """The most that a process ever had in memory, and what it has now, in MB; 0 when it is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0, 0.0
    marks = dict(re.findall(r"^(VmHWM|VmRSS):\s+(\d+)", text, re.MULTILINE))
    return int(marks.get("VmHWM", 0)) / 1024, int(marks.get("VmRSS", 0)) / 1024


def command_line(pid: int) -> str:
    """All of it; "" when the process is gone."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        return words.replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def cpu_seconds(pid: int) -> float:
    """What all threads of a process have had of a processor."""
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in Path(f"/proc/{pid}/task").iterdir()) / 1e9


def median(values) -> float:
    return statistics.median(values)
