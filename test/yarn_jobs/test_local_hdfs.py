"""Jobs on this machine that have files and targets in HDFS: the same job file runs here and there."""

import io
import json
import shutil
import signal
import tarfile
import uuid

import pytest

_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"
JOB = """
roles: {{worker: 2}}
command:
  - sh
  - -c
  - |
    mkdir -p made/deep
    cat plain.txt named.txt tree/a tree/b/c unpacked/inside > made/$YDL_RANK
    ./tool.sh > made/deep/tool-$YDL_RANK
    echo $YDL_RANK > $YDL_OUT/out-$YDL_RANK
files:
  - {home}/plain.txt
  - {home}/other.txt: named.txt
  - {home}/tree
  - {home}/tool.sh
archives:
  - {home}/some.tar.gz: unpacked
output:
  made: {target}/made
  made/deep: {target}/deep
"""
TEXT = "plainothertreeadeepinside"


@pytest.fixture
def home(jobs):
    """A new directory in HDFS, as a URI."""
    uri = f"hdfs:///tmp/lh-{uuid.uuid4().hex[:8]}"
    jobs.run("fs", "mkdir", "-p", uri, check=0)
    return uri


def put(jobs, text: str, uri: str):
    (jobs.work / "to-put").write_text(text)
    jobs.run("fs", "put", "to-put", uri, check=0)
    (jobs.work / "to-put").unlink()


def get(jobs, uri: str) -> str:
    return jobs.run("fs", "cat", uri, check=0).stdout


def names(jobs, uri: str) -> list[str]:
    return sorted(jobs.cluster.hdfs_names(uri.removeprefix("hdfs://")))


def job_dirs(jobs):
    return sorted((jobs.home / "state/ydl/jobs").glob("local-*"))


def assert_clean(jobs):
    """What was fetched, and what waited to be copied, is gone with the job."""
    for job in job_dirs(jobs):
        assert not (job / "fetched").exists() and not (job / "out").exists()


def fill(jobs, home):
    put(jobs, "plain", f"{home}/plain.txt")
    put(jobs, "other", f"{home}/other.txt")
    put(jobs, "#!/bin/sh\necho tool\n", f"{home}/tool.sh")
    jobs.run("fs", "mkdir", "-p", f"{home}/tree/b", check=0)
    put(jobs, "treea", f"{home}/tree/a")
    put(jobs, "deep", f"{home}/tree/b/c")
    with tarfile.open(jobs.work / "some.tar.gz", "w:gz") as tar:
        entry = tarfile.TarInfo("inside")
        entry.size = 6
        tar.addfile(entry, io.BytesIO(b"inside"))
    jobs.run("fs", "put", "some.tar.gz", f"{home}/some.tar.gz", check=0)


@pytest.mark.parametrize("place", ["local", "yarn"])
def test_the_same_job_file_runs_here_and_there(jobs, home, place):
    fill(jobs, home)
    (jobs.work / "job.yaml").write_text(JOB.format(home=home, target=f"{home}/results"))
    jobs.run("run", "--on", place, "--mem", "128m", "-f", "job.yaml", check=0)
    for rank in range(2):
        assert get(jobs, f"{home}/results/made/{rank}") == TEXT
        assert get(jobs, f"{home}/results/deep/tool-{rank}") == "tool\n"
    assert_clean(jobs)


def test_all_results_go_to_hdfs_once(jobs, home):
    args = ("run", "-n", 3, "--nodes", 2, "--output", f"{home}/results", "--", "sh", "-c",
            "echo $YDL_RANK > $YDL_OUT/$YDL_RANK; echo same > $YDL_OUT/same")
    for _ in range(2):  # what an earlier job left is replaced, without a place beside it
        jobs.run(*args, check=0)
        assert names(jobs, f"{home}/results") == ["0", "1", "2", "same"]
        assert get(jobs, f"{home}/results/2") == "2\n"
    assert not (jobs.work / "ydl-out").exists()
    assert_clean(jobs)


def test_results_go_to_the_root_of_hdfs(jobs):
    target = f"hdfs:///lh-{uuid.uuid4().hex[:8]}"
    jobs.run("run", "-n", 1, "--output", target, "--", "sh", "-c", "echo 1 > $YDL_OUT/x", check=0)
    assert names(jobs, target) == ["x"]
    assert_clean(jobs)


def test_here_and_there_at_once(jobs, home):
    jobs.run("run", "-n", 1, "--output", "mine", "--output", f"sub={home}/sub", "--output",
             "sub/deep=kept", "--", "sh", "-c",
             "mkdir -p sub/deep; echo 1 > sub/x; echo 2 > $YDL_OUT/y; echo 3 > sub/deep/z", check=0)
    assert (jobs.work / "mine" / "y").read_text() == "2\n"
    assert (jobs.work / "kept" / "z").read_text() == "3\n"
    assert get(jobs, f"{home}/sub/x") == "1\n" and get(jobs, f"{home}/sub/deep/z") == "3\n"


def test_what_is_wrong_there_is_said_before_anything_starts(jobs, home):
    put(jobs, "x", f"{home}/file")
    done = jobs.run("run", "-n", 1, "--files", f"{home}/nothing", "--archives", home, "--output",
                    f"{home}/file/below", "--output", f"a={home}/file", "--", "touch", "started",
                    check=2)
    assert f"{home.removeprefix('hdfs://')}/nothing" in done.stderr
    assert "is a directory, not an archive" in done.stderr
    assert done.stderr.count("is not a directory") == 2
    assert not (jobs.work / "started").exists() and not job_dirs(jobs)


def test_a_target_of_somebody_else_is_refused(jobs, home):
    jobs.run("fs", "chmod", "0700", home, check=0)
    done = jobs.run("run", "-n", 1, "--output", f"{home}/mine", "--", "touch", "started",
                    user="alice", check=2)
    assert "results cannot go to" in done.stderr and not (jobs.work / "started").exists()


@pytest.mark.parametrize("words", ["run --on local", "run --on yarn", "submit --on yarn",
                                   "plan --on yarn"])
def test_a_target_that_cannot_be_reached_is_no_mistake_in_the_job(jobs, words):
    done = jobs.run(*words.split(), "-n", 1, "--mem", "128m", "--output",
                    "hdfs://127.0.0.1:1/r", "--", "touch", "started", check=69)
    assert "127.0.0.1:1" in done.stderr, done.stderr
    assert not (jobs.work / "started").exists() and not job_dirs(jobs) and not jobs.apps()


@pytest.mark.full  # a minute passes before the client gives up
@pytest.mark.parametrize("place", ["local", "yarn"])
def test_safe_mode_is_no_mistake_in_the_job(jobs, home, place):
    jobs.cluster.java(_ADMIN, "-safemode", "enter")
    try:
        done = jobs.run("run", "--on", place, "-n", 1, "--mem", "128m",
                        "--output", f"{home}/r", "--", "touch", "started", check=73)
    finally:
        jobs.cluster.java(_ADMIN, "-safemode", "leave")
    assert "results cannot go to" in done.stderr and "safe mode" in done.stderr, done.stderr
    assert not (jobs.work / "started").exists() and not job_dirs(jobs) and not jobs.apps()


def test_without_a_cluster_the_job_is_refused(jobs, home):
    done = jobs.run("run", "-n", 1, "--output", f"{home}/x", "--", "touch", "started",
                    env={"HADOOP_CONF_DIR": str(jobs.home), "HADOOP_HOME": str(jobs.home)})
    assert done.returncode == 2 and "core-site.xml" in done.stderr
    assert not (jobs.work / "started").exists() and not job_dirs(jobs)


@pytest.mark.parametrize("place", ["local", "yarn"])
def test_results_that_cannot_be_saved_give_73_and_stay(jobs, home, place):
    """While the job runs, a file comes to stand where its results are to go."""
    go = jobs.work / "go"
    run = jobs.start("run", "--on", place, "-n", 1, "--mem", "128m", "--output", f"{home}/r/deep",
                     "--", "sh", "-c",
                     f"echo 1 > $YDL_OUT/x; echo here; until [ -e {go} ]; do sleep 0.1; done")
    assert "here" in run.stdout.readline()
    put(jobs, "in the way", f"{home}/r")
    go.touch()
    out, err = run.communicate(timeout=90)
    assert run.returncode == 73, f"{out}\n{err}"
    assert "not everything could be saved" in err
    status = json.loads(jobs.run("status", "--json", "last", check=0).stdout)
    assert status["state"] == "SUCCEEDED" and status["exit"] == 73
    assert "not everything could be saved" in status["unsaved"]
    jobs.run("wait", "last", check=73)
    if place == "local":
        assert (job_dirs(jobs)[0] / "out" / "x").read_text() == "1\n"
        assert str(job_dirs(jobs)[0]) in err


def stopped_while_fetching(jobs, uri, size):
    """A job that is stopped (SIGSTOP) in the middle of fetching a file; None: it was quicker than we."""
    def copies():
        return list((jobs.home / "state").glob("ydl/jobs/*/fetched/0/*"))
    run = jobs.start("run", "-n", 1, "--files", uri, "--", "touch", "started")
    jobs.wait_for(lambda: copies() or run.poll() is not None, "the copy")
    run.send_signal(signal.SIGSTOP)
    if run.poll() is None and any(copy.stat().st_size < size for copy in copies()):
        return run
    run.send_signal(signal.SIGCONT)
    run.communicate()
    (jobs.work / "started").unlink()
    shutil.rmtree(jobs.home / "state")
    return None


def test_ctrl_c_while_files_come_leaves_nothing(jobs, home):
    with open(jobs.work / "big", "wb") as big:
        big.truncate(512 << 20)
    jobs.run("fs", "put", "big", f"{home}/big", check=0)
    run = next(run for _ in range(6) if (run := stopped_while_fetching(jobs, f"{home}/big", 512 << 20)))
    run.send_signal(signal.SIGINT)
    run.send_signal(signal.SIGCONT)
    _, err = run.communicate(timeout=50)
    assert run.returncode == 130, err
    assert not job_dirs(jobs)
    assert not (jobs.work / "started").exists()


def test_agents_save_with_a_token(jobs_on, krb_cluster):
    """They have no ticket, and need none: the client got the token."""
    jobs = jobs_on(krb_cluster)
    target = f"hdfs:///user/alice/lh-{uuid.uuid4().hex[:8]}"
    job = jobs.run("submit", "-q", "-n", 1, "--output", target, "--", "sh", "-c",
                   "echo 1 > $YDL_OUT/x", user="alice", check=0).stdout.strip()
    jobs.run("wait", job, user="alice", check=0)
    assert jobs.run("fs", "cat", f"{target}/x", user="alice", check=0).stdout == "1\n"
