"""What the tests of the job verbs share: ydl in a state directory of its own, and on a terminal."""

import codecs
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

from ydl_cluster.patience import Limit, stretched

ROOT = Path(__file__).resolve().parents[2]
YDL = str(Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin") / "ydl")
DEADLINE = 90  # seconds for what takes moments: it ends a test that hangs


class Jobs:
    """ydl with jobs of its own, in a directory of its own."""

    def __init__(self, directory: Path):
        self.dir = directory
        self.work = directory / "work"
        self.work.mkdir()
        keep = {k: v for k, v in os.environ.items()
                if not k.startswith(("YDL_", "XDG_", "NO_COLOR", "LC_", "LANG"))}
        self.env = keep | {"XDG_STATE_HOME": str(directory / "state"), "LC_ALL": "C.UTF-8",
                           "TERM": "xterm"}

    def __call__(self, *words: str, **options) -> subprocess.CompletedProcess:
        """ydl with these words; its output as text."""
        env = self.env | options.pop("env", {})
        options.setdefault("text", True)
        return subprocess.run([YDL, *words], env=env, cwd=self.work, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=DEADLINE, check=False, **options)

    def ok(self, *words: str, **options) -> str:
        """The same where nothing may go wrong; what it printed."""
        done = self(*words, **options)
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def json(self, *words: str):
        return json.loads(self.ok(words[0], "--json", *words[1:]))

    def start(self, *words: str, **options) -> subprocess.Popen:
        """ydl in the background, with pipes."""
        return subprocess.Popen([YDL, *words], env=self.env, cwd=self.work, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)

    def submit(self, *words: str) -> str:
        """Starts a job that runs on its own; its id."""
        return self.ok("submit", "-q", *words).strip()

    def script(self, name: str, text: str) -> str:
        """A shell script beside the job."""
        path = self.work / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return "./" + name

    def until(self, what, why: str = "it did not happen"):
        """Waits until what() is true, and returns that."""
        limit = Limit(DEADLINE)
        while not limit.over():
            found = what()
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError(why)

    def running(self, job: str, count: int = 1) -> dict:
        """Waits until so many tasks run; the status then."""
        def enough():
            status = self.json("status", job)
            states = [t["state"] for t in status["tasks"]]
            return status if states.count("RUNNING") >= count else None
        return self.until(enough, f"{job} does not run")

    def processes(self) -> list[str]:
        """Command lines of everything that belongs to jobs of ours."""
        mark = f"XDG_STATE_HOME={self.dir}/state".encode()
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if mark in Path("/proc", pid, "environ").read_bytes().split(b"\0"):
                    found.append(pid + " " + Path("/proc", pid, "cmdline").read_text())
            except OSError:
                continue
        return found

    def close(self) -> None:
        """Nothing may be left of any job."""
        for job in self.json("list", "--running")["jobs"]:
            self("kill", job["job"])
        self.until(lambda: not self.processes(), "something was left behind")


class Terminal:
    """ydl on a terminal of its own, which it also gets signals from."""

    def __init__(self, jobs: Jobs, *words: str, columns: int = 80, rows: int = 24, env=None):
        self.text, self.decoder = "", codecs.getincrementaldecoder("utf-8")(errors="replace")
        pid, self.fd = pty.fork()
        if pid == 0:
            self.fd = 0
            self.resize(columns, rows)  # before anybody asks
            os.chdir(jobs.work)
            os.execve(YDL, [YDL, *words], jobs.env | (env or {}))
        self.pid = pid

    def resize(self, columns: int, rows: int = 24) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def more(self) -> bool:
        """Waits for the next bytes; false when it has ended."""
        assert select.select([self.fd], [], [], stretched(DEADLINE))[0], self.text
        try:
            got = os.read(self.fd, 65536)
        except OSError:  # the other end is closed
            got = b""
        self.text += self.decoder.decode(got)
        return bool(got)

    def read(self, until: str | None = None, times: int = 1) -> str:
        """What it shows, until this text has come so often or it has ended."""
        limit = Limit(DEADLINE)
        while until is None or self.text.count(until) < times:
            assert not limit.over(), (until, self.text)
            if not self.more():
                assert until is None, (until, self.text)
                break
        return self.text

    def end(self) -> int:
        """Reads all; its exit code."""
        self.read()
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.fd)


def screen_of(text: str, columns: int = 80) -> list[str]:
    """The lines that a terminal shows in the end: newlines, returns, and the three sequences that
    the live block uses. A line that is too wide fails."""
    lines, row, column, i = [""], 0, 0, 0
    while i < len(text):
        if text.startswith("\033[", i):
            end = next(k for k in range(i + 2, len(text)) if text[k].isalpha())
            number, kind = text[i + 2:end], text[end]
            i = end + 1
            if kind == "A":
                row -= int(number or 1)
                assert row >= 0, "the block was wiped beyond the top"
            elif kind == "J":
                lines[row:] = [lines[row][:column]]
            else:
                assert kind == "m", (number, kind)
            continue
        char = text[i]
        i += 1
        if char == "\r":
            column = 0
        elif char == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        else:
            lines[row] = lines[row][:column].ljust(column) + char + lines[row][column + 1:]
            column += 1
            assert column <= columns, lines[row]
    return lines
