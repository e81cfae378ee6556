"""Where a job on this machine has its sockets and its scratch space, and what happens to it when
somebody removes that."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

OTHER = 12345  # a user that is not this one


def submit(local, *args, **kw) -> str:
    """A job that runs until it is stopped; its id."""
    job = local.run("submit", *args, "--", "sleep", "1000", check=0, **kw).stdout.decode().strip()
    local.wait_for(lambda: local.tasks("sleep 1000"), "its task runs")
    return job


def remove(path: Path) -> None:
    """At once: who puts things back there is not to find half of it."""
    gone = path.with_name(path.name + ".gone")
    path.rename(gone)
    shutil.rmtree(gone)


def run_of(local) -> Path:
    """The run directory of the job that was started last."""
    return Path((local.jobs()[-1] / "run").read_text())


def status(local, job: str) -> dict:
    return json.loads(local.run("status", "--json", job, check=0).stdout)


def test_a_job_outlives_the_session_of_whoever_submitted_it(local):
    """logind removes XDG_RUNTIME_DIR when somebody logs out."""
    session = local.tmp / "r"
    session.mkdir(mode=0o700)
    local.env["XDG_RUNTIME_DIR"] = str(session)
    job = submit(local)
    shutil.rmtree(session)
    assert status(local, job)["state"] == "RUNNING"
    assert Path("/proc", str(local.tasks("sleep 1000")[0]), "environ").read_bytes().count(
        str(session).encode()) == 1  # the variable itself: nothing of ours is there
    local.run("stop", job, check=0)
    assert status(local, job)["state"] == "KILLED"


def test_a_removed_run_directory_is_made_again(local):
    """The lock says that the job lives; its verbs reach it, and a task can be started anew."""
    job = submit(local)
    run, first = run_of(local), local.tasks("sleep 1000")
    remove(run)
    assert status(local, job)["state"] == "RUNNING"
    assert run.stat().st_mode & 0o777 == 0o700
    assert (run / "join.json").stat().st_mode & 0o777 == 0o600
    local.run("restart", job, "worker:0", check=0)
    local.wait_for(lambda: local.tasks("sleep 1000") not in ([], first), "it was restarted")
    remove(run)  # and once more
    local.run("stop", job, check=0)
    assert status(local, job)["state"] == "KILLED"
    local.wait_for(lambda: not run.exists(), "it is removed")
    assert "they were put back" in (local.jobs()[-1] / "master.log").read_text()


def test_agents_that_end_as_they_begin_are_not_started_without_a_pause(local):
    """Each needs a file of the run directory, and would end and be replaced a thousand times before
    that is put back."""
    job = submit(local, "--restart", "task")
    first = local.tasks("sleep 1000")
    agent = local.agents()
    remove(run_of(local))
    for pid in agent:
        os.kill(pid, signal.SIGKILL)
    local.wait_for(lambda: local.tasks("sleep 1000") not in ([], first), "it was started again")
    told = local.run("events", "--json", job, check=0).stdout.splitlines()
    lost = [line for line in told if b'"event":"agent"' in line and b'"state":"lost"' in line]
    assert 1 <= len(lost) <= 5
    local.run("stop", job, check=0)


def test_a_removed_run_directory_does_not_disturb_an_attached_client(local):
    script = "echo one; while [ ! -e go ]; do sleep 0.1; done; echo two"
    p = local.start("run", "--", "sh", "-c", script)
    assert p.stdout.readline().endswith(b" one\n")
    remove(run_of(local))
    assert status(local, "last")["state"] == "RUNNING"
    (local.work / "go").touch()
    out, err = p.communicate(timeout=60)
    assert p.returncode == 0 and out.endswith(b" two\n"), err.decode()


def test_a_single_old_file_that_a_cleaner_removed_comes_back(local):
    job = submit(local)
    run = run_of(local)
    began = (run / "join.json").stat().st_mtime_ns
    (run / "join.json").unlink()
    (run / "agents.sock").unlink()
    local.wait_for(lambda: (run / "join.json").exists() and (run / "agents.sock").is_symlink(),
                   "they are back")
    assert (run / "join.json").stat().st_mtime_ns == began
    local.run("stop", job, check=0)


def test_nothing_large_is_put_into_memory(local):
    """TMPDIR is where tasks write and archives are unpacked."""
    memory = Path("/dev/shm")
    if os.statvfs(memory).f_fsid == os.statvfs("/tmp").f_fsid:
        pytest.skip("/dev/shm is no file system of its own here")
    local.run("run", "--", "true", check=0, env={"TMPDIR": str(memory)})
    assert run_of(local).parent in (Path("/tmp"), Path("/var/tmp"))


def test_a_directory_that_everybody_can_write_to_is_not_used(local):
    local.run_dir.chmod(0o777)
    local.run("run", "--", "true", check=0)
    assert run_of(local).parent != local.run_dir
    local.run_dir.chmod(0o1777)
    local.run("run", "--", "true", check=0)
    assert run_of(local).parent == local.run_dir


def test_another_users_directory_is_not_used(local, needs_root):
    os.chown(local.run_dir, OTHER, OTHER)
    local.run("run", "--", "true", check=0)
    assert run_of(local).parent != local.run_dir


def test_jobs_are_not_kept_where_another_user_could_change_them(local, needs_root):
    jobs = local.state / "ydl" / "jobs"
    jobs.mkdir(parents=True)
    os.chown(jobs, OTHER, OTHER)
    done = local.run("run", "--", "true")
    assert done.returncode != 0
    assert f"'{jobs}' belongs to another user (uid {OTHER})" in done.stderr.decode()
    assert "XDG_STATE_HOME" in done.stderr.decode()
