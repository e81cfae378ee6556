"""One run of one scenario: the job, its processes, what a person can do to it, and how it ended."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from ydl_cluster.patience import Limit

from . import task
from .scenario import Scenario

ROOT = Path(__file__).resolve().parents[3]
_UNREACHABLE = 69  # an exit code of ours
BIN = Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin")
_POLL_S = 0.005
UNDO_S = 90
VERB_S = 90  # longer than any verb waits for a cluster


@dataclasses.dataclass
class Outcome:
    """What could be learned of a run once it was over."""

    ended: bool = False
    client: int | None = None  # exit code of `ydl run`; None: detached, or killed
    waited: int | None = None  # exit code of `ydl wait`
    status: dict = dataclasses.field(default_factory=dict)
    events: list[dict] = dataclasses.field(default_factory=list)
    lines: list[str] = dataclasses.field(default_factory=list)  # of `ydl logs`
    said: list[str] = dataclasses.field(default_factory=list)  # what it warned of
    followed: list[str] | None = None  # of `ydl logs -f`; None: nobody followed
    left: list[str] = dataclasses.field(default_factory=list)
    results: list[str] = dataclasses.field(default_factory=list)  # files where they were to be saved
    yarn: dict = dataclasses.field(default_factory=dict)
    happened: list[str] = dataclasses.field(default_factory=list)  # kinds of faults that met something
    notes: list[str] = dataclasses.field(default_factory=list)


class World:
    """What both places share. A world is made for one run and thrown away."""

    ended_in_s = 60.0
    gone_in_s = 20.0

    def __init__(self, scenario: Scenario, directory: Path):
        self.scenario, self.dir = scenario, directory
        self.work, self.ledger = directory / "work", directory / "ledger"
        for path in (self.work, self.ledger):
            path.mkdir(parents=True)
        self.ledger.chmod(0o777)
        self.job = ""
        self.client: subprocess.Popen | None = None
        self.follower: subprocess.Popen | None = None
        self.interrupted = False
        self.outcome = Outcome()
        self.undo: list[tuple[float, object]] = []  # (when, what is called then)
        self.trouble: list[str] = []  # what went wrong with the campaign itself
        self.spoiled = False  # its cluster is not for the next run, through no fault of this one

    # What a place says of itself.

    def env(self) -> dict[str, str]:
        raise NotImplementedError

    def words(self) -> list[str]:
        """Options of `ydl run` that only this place needs."""
        return []

    def target(self) -> str:
        """Where results go."""
        raise NotImplementedError

    def results(self) -> list[str]:
        """The names of what is there."""
        raise NotImplementedError

    def processes(self) -> dict[int, str]:
        """All living processes of the job, the client left out."""
        raise NotImplementedError

    def without_clients(self, found: dict[int, str]) -> dict[int, str]:
        """Verbs that we started are nobody's leftovers."""
        for client in (self.client, self.follower):
            if client:
                found.pop(client.pid, None)
        return found

    def away(self) -> set[str]:
        """Kinds of servers (nn, rm) of which one cannot answer now."""
        return set()

    def nodes_dropped(self) -> bool:
        """Were containers lost for a reason that no fault of this run gave?"""
        return False

    def leftovers(self) -> list[str]:
        raise NotImplementedError

    def find_job(self) -> str:
        """The job's id, "" while there is none."""
        raise NotImplementedError

    # The job.

    def command(self) -> list[str]:
        job = self.scenario.job
        plan = {"ledger": str(self.ledger), "steps": job.steps, "pace_ms": job.pace_ms,
                "stubborn": job.stubborn, "strays": job.strays,
                "failure": dataclasses.asdict(job.failure) if job.failure else None,
                "results": job.results}
        output = ["--output", self.target()] if job.results else []
        budget = [] if job.policy == "never" else ["--max-restarts", str(job.budget)]
        return ["-n", str(job.workers), "--restart", job.policy, *budget, "--restart-delay", "0",
                "--grace", f"{job.grace_s}s", *output, *self.words(), "--", sys.executable, "-S", "-E", task.__file__, json.dumps(plan)]

    def start(self) -> None:
        verb = "run" if self.scenario.job.attached else "submit"
        with open(self.dir / "client.out", "wb") as out, open(self.dir / "client.err", "wb") as err:
            self.client = subprocess.Popen([str(BIN / "ydl"), verb, *self.command()], stdout=out,
                                           stderr=err, stdin=subprocess.DEVNULL, env=self.env(),
                                           cwd=self.work, start_new_session=True)

    def verb(self, *words: str, timeout: float = VERB_S) -> subprocess.CompletedProcess:
        """`ydl WORDS` to its end, while what is due is undone: who asks a frozen master waits until it
        is not frozen any more. A verb that does not end is a fault of its own."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([str(BIN / "ydl"), *words], env=self.env(), cwd=self.work,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            limit = Limit(timeout)
            while process.poll() is None and not limit.over():
                self.undo_due()
                time.sleep(_POLL_S)
            if process.poll() is None:
                self.outcome.notes.append(f"hangs: ydl {' '.join(words)}")
                process.kill()
                process.wait()
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(words, process.returncode, out.read(), err.read())

    def follow(self) -> None:
        """`ydl logs -f` in the background."""
        with open(self.dir / "follow.out", "wb") as out, open(self.dir / "follow.err", "wb") as err:
            self.follower = subprocess.Popen(
                [str(BIN / "ydl"), "logs", "-f", "--stdout", "--no-prefix", self.job],
                env=self.env(), cwd=self.work, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True)

    def followed(self) -> list[str] | None:
        """What the follower showed; None when there is none that ended by itself."""
        if not self.follower:
            return None
        try:
            self.follower.wait(VERB_S)
        except subprocess.TimeoutExpired:
            self.outcome.notes.append("hangs: ydl logs -f")
            self.follower.kill()
            return None
        if self.follower.returncode == _UNREACHABLE and self._rm_was_away():
            return None  # and said so before it had found the job
        return (self.dir / "follow.out").read_text(errors="replace").splitlines()

    def _rm_was_away(self) -> bool:
        """A command that finds the only ResourceManager away says so and ends."""
        said = (self.dir / "follow.err").read_text(errors="replace")
        return any(kind.startswith("rm.") for kind in self.outcome.happened) and \
            said.startswith("ydl: ResourceManager: ") and not (self.dir / "follow.out").stat().st_size

    def written(self) -> int:
        """Lines that all tasks together have written so far."""
        total = 0
        for path in self.ledger.glob("lines-*"):
            total += path.stat().st_size // task.LINE
        return total

    def expected(self) -> int:
        return self.scenario.job.workers * self.scenario.job.steps

    def over(self) -> bool:
        """Has the job ended, as far as its client or its events tell?"""
        if self.scenario.job.attached:
            return self.client.poll() is not None
        if self.client.poll() not in (None, 0):
            return True
        return bool(self.job) and not self.processes()

    # Processes by what they are.

    def _with(self, text: str) -> list[int]:
        return sorted(pid for pid, line in self.processes().items() if text in line)

    def tasks(self) -> list[int]:
        return self._with(task.__file__)

    def masters(self) -> list[int]:
        return self._with("ydl-node master")

    def agents(self) -> list[int]:
        return self._with("ydl-node agent")

    # Faults that end by themselves.

    def later(self, seconds: float, action) -> None:
        self.undo.append((time.monotonic() + seconds, action))

    def undo_due(self, everything: bool = False) -> None:
        """What cannot be undone before something else is puts itself into the list again."""
        end = time.monotonic() + UNDO_S
        while True:
            now = time.monotonic()
            due = [row for row in self.undo if everything or row[0] <= now]
            self.undo = [row for row in self.undo if row not in due]
            for _, action in due:
                self.attempt("undo", action)
            if not everything or not self.undo:
                return
            if now > end:
                self.trouble.append(f"undo: {len(self.undo)} faults are not undone after {UNDO_S} s")
                self.undo = []
                return
            time.sleep(0.1)

    def attempt(self, what: str, action) -> None:
        """Something of the campaign's own: when it fails, the run is no proof of anything, and the
        next one must not be done with what this one leaves."""
        try:
            action()
        except Exception as error:
            first = (str(error).splitlines() or [""])[0]
            self.trouble.append(f"{what}: {type(error).__name__}: {first}")
            with open(self.dir / "campaign.txt", "a", encoding="utf-8") as file:
                file.write(traceback.format_exc())

    # The end.

    def look(self) -> None:
        """Asks everybody how it ended."""
        o = self.outcome
        code = self.client.poll()
        o.client = code if self.scenario.job.attached and code is not None and code >= 0 else None
        if not self.job:
            return
        waited = self.verb("wait", self.job, "--timeout", "60s")
        o.waited = waited.returncode
        status = self.verb("status", "--json", self.job)
        o.status = _json(status.stdout) if status.returncode == 0 else {}
        events = self.verb("events", "--json", self.job)
        o.events = [_json(line) for line in events.stdout.splitlines() if line.strip()]
        logs = self.verb("logs", "--stdout", "--no-prefix", self.job)
        o.lines = logs.stdout.decode(errors="replace").splitlines()
        o.said = logs.stderr.decode(errors="replace").splitlines()
        o.followed = self.followed()
        o.results = self.results() if self.scenario.job.results else []
        (self.dir / "outcome.txt").write_text(
            f"wait: {waited.returncode}\n{waited.stderr.decode(errors='replace')}\n"
            f"status: {status.stdout.decode(errors='replace')}\n"
            f"{status.stderr.decode(errors='replace')}\n"
            f"logs: {logs.returncode} {logs.stderr.decode(errors='replace')}\n"
            f"events:\n{events.stdout.decode(errors='replace')}\n")

    def wait_gone(self) -> list[str]:
        limit = Limit(self.gone_in_s + self.scenario.job.grace_s)
        while (left := self.leftovers()) and not limit.over():
            time.sleep(0.1)
        return left

    def clear(self) -> None:
        """Ends everything, whatever state it is in."""
        if self.client and self.client.poll() is None:
            self.client.kill()
            self.client.wait()
        if self.follower and self.follower.poll() is None:
            self.follower.kill()
            self.follower.wait()
        for pid in self.processes():
            _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _json(text: bytes) -> dict:
    try:
        return json.loads(text)
    except ValueError:
        return {"unreadable": text.decode(errors="replace")}


def marked(mark: bytes) -> dict[int, str]:
    """Living processes with this row in their environment, and their command lines."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            told = Path("/proc", entry, "environ").read_bytes()
            line = Path("/proc", entry, "cmdline").read_bytes()
        except OSError:
            continue
        if line and mark in told.split(b"\0"):
            found[int(entry)] = line.replace(b"\0", b" ").decode(errors="replace").strip()
    return found
