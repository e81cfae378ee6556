"""A person's machine, for tests of jobs on this one: a state and a run directory of its own, and every
process that came from it known by a mark in the environment."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from ydl_cluster.patience import Limit

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("YDL_BIN", ROOT / "build" / "bin"))
GONE_S = 5  # what the project promises


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:  # it has just left
        return 0


class Local:
    """One person's machine: a home for the state, and what was started from it."""

    def __init__(self, tmp: Path):
        self.tmp, self.bin = tmp, BIN
        self.mark = f"YDL_TEST={uuid.uuid4().hex}"
        self.run_dir = Path(tempfile.mkdtemp(prefix="yt-"))
        self.state = tmp / "state"
        self.work = tmp / "work"
        self.work.mkdir()
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("YDL_", "XDG_", "HADOOP_"))}
        self.env.update({"XDG_STATE_HOME": str(self.state), "TMPDIR": str(self.run_dir),
                         "HOME": str(tmp), "PATH": f"{BIN}:{self.env['PATH']}",
                         "YDL_TEST": self.mark.split("=")[1]})

    def start(self, *args, **kw):
        """`ydl ARGS` as a process with pipes; in a session of its own, like a shell's job."""
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.PIPE)
        env = {**self.env, **kw.pop("env", {})}
        return subprocess.Popen([str(BIN / "ydl"), *map(str, args)], env=env, cwd=self.work,
                                start_new_session=True, **kw)

    def start_command(self, *args):
        """Any command as a process, in the same surroundings."""
        return subprocess.Popen([str(a) for a in args], env=self.env, cwd=self.work,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, *args, timeout=180, check=None, **kw):
        """`ydl ARGS` to its end; with `check` the exit code has to be that."""
        p = self.start(*args, **kw)
        try:
            out, err = p.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            raise AssertionError(f"ydl {args} did not end in {timeout} s\n{err.decode()}") from None
        done = subprocess.CompletedProcess(args, p.returncode, out or b"", err or b"")
        if check is not None:
            assert p.returncode == check, f"{args}: {p.returncode}\n{self.tell(done)}"
        return done

    def command(self, *args, env=None, timeout=180):
        """Any command, in the same surroundings."""
        return subprocess.run([str(a) for a in args], env={**self.env, **(env or {})},
                              cwd=self.work, capture_output=True, timeout=timeout, check=False)

    def tell(self, done) -> str:
        """What a failed command said, and what the masters noted."""
        notes = "\n".join(f"{p}:\n{p.read_text()}" for p in self.state.glob("ydl/jobs/*/master.log"))
        return f"{done.stdout.decode()}\n{done.stderr.decode()}\n{notes}"

    def jobs(self) -> list[Path]:
        """Directories of all jobs, oldest first."""
        return sorted(self.state.glob("ydl/jobs/local-*"))

    def processes(self) -> dict[int, str]:
        """Every living process that came from here: pid and command line."""
        found = {}
        for p in Path("/proc").iterdir():
            if not p.name.isdigit():
                continue
            try:
                if self.mark.encode() in (p / "environ").read_bytes().split(b"\0"):
                    found[int(p.name)] = (p / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def find(self, text: str) -> list[int]:
        """Processes from here with `text` in their command line."""
        return [pid for pid, line in self.processes().items() if text in line]

    def agents(self) -> list[int]:
        """Without their guards, which have the same command line."""
        found = self.find("ydl-node agent")
        return [pid for pid in found if _parent(pid) in found]

    def tasks(self, text: str) -> list[int]:
        """Processes from here whose whole command line is `text`."""
        return [pid for pid, line in self.processes().items() if line.strip() == text]

    def wait_for(self, condition, what: str, timeout=90):
        """The first true value of `condition()`."""
        limit = Limit(timeout)
        while not limit.over():
            value = condition()
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"waited in vain: {what}")

    def assert_nothing_left(self, timeout=GONE_S):
        """No process, and nothing in the run directory."""
        limit = Limit(timeout)
        while not limit.over() and (self.processes() or list(self.run_dir.iterdir())):
            time.sleep(0.05)
        assert not self.processes()
        assert not list(self.run_dir.iterdir())

    def close(self):
        """Ends what a test that failed left."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        shutil.rmtree(self.run_dir, ignore_errors=True)
