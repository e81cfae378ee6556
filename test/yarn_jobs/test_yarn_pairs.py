"""A client of one version and a job of another, with programs built from an earlier commit.

`test/local/test_versions.py` lets a peer say other numbers; here both sides are real. The earlier
commit is the last one without version numbers. It is built from this clone's history; where that is
not there (a shallow clone, an unpacked archive) the tests are left out."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from ydl_cluster import places
from ydl_cluster.patience import stretched

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[2]
NEW = Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin")
EARLIER = "5c3a05b"


def build(to: Path) -> None:
    """The programs of the earlier commit; they stay in the cache, as nothing about them changes."""
    with tempfile.TemporaryDirectory(prefix="ydl-earlier-") as top:
        tree = subprocess.Popen(["git", "-C", ROOT, "archive", EARLIER], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", top], stdin=tree.stdout, check=True)
        assert tree.wait() == 0
        for command in (["cmake", "--preset", "release", "--log-level=WARNING"],
                        ["cmake", "--build", "build", "--target", "ydl", "ydl-node"]):
            subprocess.run(command, cwd=top, check=True, stdout=subprocess.DEVNULL)
        part = to.with_name(f"{to.name}.{os.getpid()}")
        part.mkdir(parents=True)
        for name in ("ydl", "ydl-node"):
            shutil.copy(Path(top) / "build" / "bin" / name, part / name)
    if not to.exists():
        part.rename(to)


@pytest.fixture(scope="module")
def old():
    """The directory with the programs of the earlier commit."""
    programs = places.cache_dir() / "earlier" / EARLIER
    if programs.exists():
        return programs
    known = subprocess.run(["git", "-C", ROOT, "cat-file", "-e", f"{EARLIER}^{{commit}}"],
                           capture_output=True, check=False)
    if known.returncode:
        pytest.skip(f"commit {EARLIER} is not in this clone")
    build(programs)
    return programs


class Pair:
    """`job` runs the job, `client` looks at it and changes it."""

    def __init__(self, job: Path, client: Path, env: dict, work: Path, where: str):
        self.job, self.client, self.env, self.work, self.where = job, client, env, work, where

    def ydl(self, programs, *args, code: int | None = 0):
        done = subprocess.run([programs / "ydl", *map(str, args)], cwd=self.work, text=True,
                              env=self.env | {"PATH": f"{programs}:{self.env['PATH']}"},
                              capture_output=True, timeout=300, check=False)
        assert code is None or done.returncode == code, f"{args}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def submit(self, *command):
        size = ("--mem", "128m") if self.where == "yarn" else ()
        return self.ydl(self.job, "submit", "-q", "--on", self.where, "-n", 2, *size, "--restart",
                        "never", "--", *command).strip()

    def look(self, *args, code: int | None = 0):
        return self.ydl(self.client, *args, code=code)

    def until(self, job: str, what: str, condition):
        end = time.monotonic() + stretched(120)
        while time.monotonic() < end:
            status = json.loads(self.look("status", job, "--json"))
            if condition(status):
                return status
            time.sleep(0.1)
        raise AssertionError(f"not in time: {what}\n{json.dumps(status, indent=1)}")


def all_run(starts: int, count: int = 2):
    return lambda status: len(status["tasks"]) == count and all(
        task["state"] == "RUNNING" and task["attempt"] >= starts - 1 for task in status["tasks"])


def look_at_a_job(pair: Pair):
    """Everything that a person does with a job that runs."""
    job = pair.submit("sh", "-c", "echo started; exec sleep 600")
    pair.until(job, "its tasks run", all_run(1))
    rows = json.loads(pair.look("list", "--json"))["jobs"]
    assert [row["state"] for row in rows if row["job"] == job] == ["RUNNING"]
    assert pair.look("logs", job, "worker:0").splitlines() == ["worker:0│ started"]
    assert '"event":"end"' not in pair.look("events", job, "--json")
    pair.look("restart", job)
    pair.until(job, "all tasks were started again", all_run(2))
    pair.look("scale", job, "worker=3")
    pair.until(job, "a third task", lambda status: all_run(1, 3)(status))
    pair.look("top", job)
    pair.look("stop", job)
    assert json.loads(pair.look("status", job, "--json"))["state"] == "KILLED"
    assert pair.look("events", job, "--json").splitlines()[-1].count('"event":"end"') == 1
    pair.look("wait", job, code=143)


def look_at_the_end_of_a_job(pair: Pair):
    """One that ends while it is waited for, and what is known of it then."""
    job = pair.submit("sh", "-c", "echo last words; sleep 2; exit 9")
    pair.look("wait", job, code=9)
    status = json.loads(pair.look("status", job, "--json"))
    assert (status["state"], status["exit"]) == ("FAILED", 9)
    assert "last words" in pair.look("logs", job)
    assert [row["exit"] for row in json.loads(pair.look("list", "--all", "--json"))["jobs"]
            if row["job"] == job] == [9]


PAIRS = pytest.mark.parametrize("newer", ["client", "job"])
LOOKS = pytest.mark.parametrize("look", [look_at_a_job, look_at_the_end_of_a_job])


def programs_of(old: Path, newer: str) -> tuple[Path, Path]:
    return (old, NEW) if newer == "client" else (NEW, old)


@PAIRS
@LOOKS
def test_on_this_machine(old, tmp_path, newer, look):
    run = Path(tempfile.mkdtemp(prefix="yp-"))
    env = {key: value for key, value in os.environ.items() if not key.startswith(("YDL_", "XDG_"))}
    env |= {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "TMPDIR": str(run)}
    look(Pair(*programs_of(old, newer), env, tmp_path, "local"))
    shutil.rmtree(run)


@PAIRS
@LOOKS
def test_on_a_cluster(old, jobs_on, cluster, newer, look):
    jobs = jobs_on(cluster)
    look(Pair(*programs_of(old, newer), jobs.env(), jobs.work, "yarn"))
