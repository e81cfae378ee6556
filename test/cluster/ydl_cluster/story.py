"""What the jobs of a test say about themselves, for the report of a test that failed: ydl's status and
events, the tasks' output and the master's log; of jobs on YARN also what YARN says."""

import os
import subprocess
from pathlib import Path

LINES = 60  # of each text, its last ones
MOST_JOBS = 4  # the latest
_BIN = Path(os.environ.get("YDL_BIN") or Path(__file__).resolve().parents[3] / "build" / "bin")

ON_YARN: list = []  # objects with `cluster`, `apps()` and `env()` that the running test has made


def begin() -> None:
    """A test begins: what another one started is not its own."""
    ON_YARN.clear()


def of(tmp: Path | None) -> str:
    """All that can be found; `tmp` is the directory of the test. Never fails."""
    texts = []
    for directory in _local_jobs(tmp)[-MOST_JOBS:]:
        texts += _guarded(_local, directory)
    for jobs in ON_YARN:
        texts += _guarded(_on_yarn, jobs)
    return "\n".join(text for text in texts if text)


def _guarded(tell, what) -> list[str]:
    try:
        return tell(what)
    except Exception as error:  # pylint: disable=broad-except  # the report is not to hide the failure
        return [f"(no more: {type(error).__name__}: {error})"]


def _local_jobs(tmp: Path | None) -> list[Path]:
    found = [] if tmp is None else [job for depth in ("", "*/", "*/*/")
                                    for job in tmp.glob(f"{depth}ydl/jobs/local-*")]
    return sorted(set(found), key=lambda job: job.name)


def _local(job: Path) -> list[str]:
    env = os.environ | {"XDG_STATE_HOME": str(job.parents[2])}
    files = [job / "master.log", *sorted((job / "logs").glob("*"))]
    return _verbs(job.name, env) + [_tail(path) for path in files]


def _on_yarn(jobs) -> list[str]:
    texts = []
    for app in jobs.apps()[-MOST_JOBS:]:
        page = jobs.cluster.app(app)
        texts.append(f"--- {app}: {page.get('state')} {page.get('finalStatus')} "
                     f"{page.get('diagnostics')}")
        attempts = jobs.cluster.rm_page(f"apps/{app}/appattempts").get("appAttempts") or {}
        texts += [f"--- attempt {row.get('id')} {row.get('appAttemptId')}: {row.get('diagnosticsInfo')}"
                  for row in attempts.get("appAttempt") or []]
        texts += _verbs(app, jobs.env()) + [_verb(jobs.env(), "logs", app)]
        texts += [_tail(path) for path in sorted(jobs.cluster.run_dir.glob(
            f"nm*/**/logs/{app}/container_*/*"))]
        texts += [_containers(jobs.cluster, daemon, app) for daemon in jobs.cluster.lay.nodemanagers]
    return texts


def _containers(cluster, daemon: str, app: str) -> str:
    """What a NodeManager noted of how its containers ended."""
    mark = app.removeprefix("application_")
    lines = [line for line in cluster.log(daemon).splitlines()
             if mark in line and ("WARN" in line or "ERROR" in line or "exit" in line.lower())]
    return "\n".join([f"--- {daemon}'s log", *lines[-LINES:]]) if lines else ""


def _verbs(job: str, env: dict) -> list[str]:
    return [_verb(env, "status", "--tasks", job), _verb(env, "events", job)]


def _verb(env: dict, *words: str) -> str:
    try:
        done = subprocess.run([_BIN / "ydl", *words], env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=30,
                              check=False)
        said = done.stdout + done.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    return "\n".join([f"--- ydl {' '.join(words)}", *said.splitlines()[-LINES:]])


def _tail(path: Path) -> str:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as error:
        lines = [f"({error.strerror})"]
    return "\n".join([f"--- {path}", *lines[-LINES:]]) if lines else ""
