"""Runs on one machine: a state and a run directory of their own."""

import os
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path

from .scenario import Scenario
from .world import World, marked


class LocalWorld(World):
    """`small` gives the state directory a disk of its own, which can be filled (root only)."""

    def __init__(self, scenario: Scenario, directory: Path):
        super().__init__(scenario, directory)
        self.mark = uuid.uuid4().hex
        self.run_dir = Path(tempfile.mkdtemp(prefix="yc-"))
        self.state = directory / "state"
        self.state.mkdir()
        self.disk = any(event.kind == "disk.full" for event in scenario.events) and \
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", self.state],
                           check=False, capture_output=True).returncode == 0

    def env(self) -> dict[str, str]:
        keep = {key: value for key, value in os.environ.items()
                if not key.startswith(("YDL_", "XDG_", "HADOOP_", "PYTHON", "TMPDIR"))}
        return keep | {"XDG_STATE_HOME": str(self.state), "TMPDIR": str(self.run_dir),
                       "HOME": str(self.dir), "LC_ALL": "C.UTF-8", "YDL_TEST": self.mark}

    def words(self) -> list[str]:
        return ["--nodes", str(self.scenario.job.nodes)] if self.scenario.job.nodes else []

    def target(self) -> str:
        return str(self.dir / "results")

    def results(self) -> list[str]:
        found = self.dir / "results"
        return sorted(os.listdir(found)) if found.exists() else []

    def processes(self) -> dict[int, str]:
        found = marked(f"YDL_TEST={self.mark}".encode())
        return self.without_clients(found)

    def find_job(self) -> str:
        return next((path.name for path in self.state.glob("ydl/jobs/local-*")
                     if (path / "events.jsonl").exists()), "")

    def leftovers(self) -> list[str]:
        left = [f"process {pid}: {line}" for pid, line in self.processes().items()]
        return left + [f"file {path}" for path in sorted(self.run_dir.rglob("*"))
                       if not path.is_dir()]

    def fill_disk(self) -> None:
        """Until it is emptied again."""
        filler = self.state / "filler"
        try:
            with open(filler, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        except OSError:
            pass
        self.later(1.0, lambda: filler.unlink(missing_ok=True))

    def remove_run_directory(self) -> bool:
        """Of a job that has begun: one whose directory goes before its master listens does not begin, is
        taken back, and nobody knows it any more."""
        found = [path.parent for path in self.run_dir.glob("*/join.json")]
        for path in found:
            shutil.rmtree(path, ignore_errors=True)
        return bool(found)

    def clear(self) -> None:
        super().clear()
        shutil.rmtree(self.run_dir, ignore_errors=True)
        if self.disk:
            kept = self.dir / "state-kept"
            shutil.copytree(self.state, kept, ignore_dangling_symlinks=True, dirs_exist_ok=True)
            subprocess.run(["umount", "-l", self.state], check=False)
