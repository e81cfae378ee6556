"""The test application master (test_am.c) on a cluster: started, watched, and judged by what the
ResourceManager's own pages say of it."""

import json
import os
import pwd
import subprocess
import time
from pathlib import Path

from ydl_cluster.patience import Limit

_BIN = Path(os.environ.get("YDL_TEST_BIN")
            or Path(__file__).resolve().parents[2] / "build" / "unit")
FINAL_URL = "http://127.0.0.1:9/test-am"
ME = pwd.getpwuid(os.geteuid()).pw_name
CODES = " 0 1 2 3 4 5, extra -105"


def program(name: str) -> str:
    path = _BIN / name
    assert path.exists(), f"no {path}: build first, or set YDL_TEST_BIN"
    return str(path)


def wait_for(what, describe: str, seconds: float = 90):
    """The first true value of what()."""
    limit = Limit(seconds)
    while not limit.over():
        value = what()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"waited in vain: {describe}")


def rest(cluster, path: str) -> dict:
    """One page of the active ResourceManager's REST interface."""
    command = ["curl", "--silent", "--show-error", "--fail", "--location", "--insecure",
               "--noproxy", "*", "--max-time", "120", "--negotiate", "--user", ":",
               f"{cluster.rm_http}/ws/v1/cluster/{path}"]
    done = subprocess.run(command, env=cluster.env(), capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{command[-1]}: {done.stderr}"
    return json.loads(done.stdout)


class Master:
    """One run of the test application master."""

    def __init__(self, cluster, directory: Path, *options: str, user: str | None = None):
        self.cluster, self.dir = cluster, directory
        command = [program("ydl-test-submit"), *options, program("ydl-test-am"), str(directory)]
        self.process = subprocess.Popen(command, env=cluster.env(user), text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.app = self.process.stdout.readline().strip()
        assert self.app.startswith("application_"), self.process.stderr.read()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
            subprocess.run([program("ydl-test-client"), "kill", self.app],
                           env=self.cluster.env(), capture_output=True, check=False, timeout=60)
        self.process.communicate()

    @property
    def log(self) -> str:
        path = self.dir / "am.log"
        return path.read_text() if path.exists() else ""

    def lines(self, start: str) -> list[str]:
        return [line for line in self.log.splitlines() if line.startswith(start)]

    def fields(self, start: str) -> list[dict[str, str]]:
        """`granted task=1 host=x` and the like, as dictionaries."""
        return [dict(word.split("=", 1) for word in line.split() if "=" in word)
                for line in self.lines(start)]

    def touch(self, name: str) -> None:
        (self.dir / name).touch()

    def wait_for_tasks(self) -> None:
        wait_for(lambda: len([path for path in self.dir.glob("task-[0-5]")
                              if path.read_text().endswith("\n")]) == 6,
                 f"six tasks running; {self.log}")

    def wait_for_resync(self) -> None:
        wait_for(lambda: {"again": "1"} in self.fields("registered"),
                 f"registered again; {self.log}")

    def page(self) -> dict:
        return rest(self.cluster, f"apps/{self.app}")["app"]

    def attempt(self) -> dict:
        """What the RM says of the one attempt, gathered from its two pages."""
        short = rest(self.cluster, f"apps/{self.app}/appattempts")["appAttempts"]["appAttempt"]
        assert len(short) == 1
        return rest(self.cluster,
                    f"apps/{self.app}/appattempts/{short[0]['appAttemptId']}") | short[0]

    def end(self) -> str:
        """Waits for it; what the submitter printed of its end."""
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, f"{out}\n{err}\n{self.log}"
        return out.strip()
