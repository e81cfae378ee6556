"""Runs ydl-test-cache (cache_driver.c) and `ydl cache` as a client of a cluster."""

import json
import os
import subprocess
import time
from pathlib import Path

_UNIT = Path(os.environ.get("YDL_TEST_BIN")
             or Path(__file__).resolve().parents[2] / "build" / "unit")


class Sender:
    """One user's machine: a working directory, and what it remembers of files."""

    def __init__(self, cluster, home: Path, base: str):
        self.cluster, self.base = cluster, base
        self.work, self._remembers = home / "work", home / "remembers"
        self.work.mkdir(parents=True, exist_ok=True)

    def env(self) -> dict[str, str]:
        return self.cluster.env() | {"XDG_CACHE_HOME": str(self._remembers)}

    def job(self, text: str) -> None:
        (self.work.parent / "job.yaml").write_text(text)

    def start(self, verb: str = "put", *more: object) -> subprocess.Popen:
        program = _UNIT / "ydl-test-cache"
        assert program.exists(), f"no {program}: build first, or set YDL_TEST_BIN"
        job = self.work.parent / "job.yaml"
        return subprocess.Popen([program, verb, self.base, job, *map(str, more)], cwd=self.work,
                                env=self.env(), stdout=subprocess.PIPE, text=True)

    def put(self, verb: str = "put", *more: object, code: int = 0) -> dict:
        """What it printed."""
        run = self.start(verb, *more)
        out, _ = run.communicate(timeout=300)
        assert run.returncode == code, out
        return json.loads(out)

    def cache(self, *arguments: str) -> dict:
        """`ydl cache … --json`."""
        done = self._ydl("cache", *arguments, "--staging", self.base, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def names(self) -> list[str]:
        """What is in the cache's directory, what is on its way too."""
        done = self._ydl("fs", "ls", "--json", f"{self.base}/cache")
        return [entry["path"].rsplit("/", 1)[1]
                for entry in json.loads(done.stdout).get("entries", [])]

    def _ydl(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([_UNIT.parent / "bin" / "ydl", *arguments], env=self.env(),
                              capture_output=True, text=True, timeout=60, check=False)


def noise(path: Path, mib: int) -> Path:
    with path.open("wb") as file:
        for _ in range(mib):
            file.write(os.urandom(1 << 20))
    return path


def settle() -> None:
    """Until what was just written is old enough to be remembered."""
    time.sleep(2.1)
