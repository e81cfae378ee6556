"""`publish:` in the output of a job on YARN, and of one here with its registry on HDFS."""

import json
import os
import signal
import uuid

import pytest

_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"
HANDLER = r"def load(dir):\n    return 1\n\ndef predict(inputs):\n    return inputs\n"
TRAIN = f"mkdir $YDL_OUT/model; printf '{HANDLER}' > $YDL_OUT/model/model.py"
BIG = f"{TRAIN}; truncate -s 300M $YDL_OUT/model/weights"


@pytest.fixture
def top(jobs):
    """A new directory in HDFS, without its scheme."""
    path = f"/tmp/publish-{uuid.uuid4().hex[:8]}"
    jobs.run("fs", "mkdir", "-p", f"hdfs://{path}", check=0)
    yield path
    jobs.run("fs", "rm", "-r", f"hdfs://{path}")


def args(top: str, command: str = TRAIN, on: str = "yarn") -> list[str]:
    where = ["--mem", "256m", "--on", "yarn"] if on == "yarn" else []
    return [*where, "--output", f"hdfs://{top}/out", "--publish", "m", "--publish-path", "model",
            "--registry", f"hdfs://{top}/registry", "--", "sh", "-c", command]


def model(jobs, top: str, *words):
    done = jobs.run("model", *words, "--registry", f"hdfs://{top}/registry", "--json", check=0)
    return json.loads(done.stdout)


def versions(jobs, top: str) -> list[int]:
    return sorted(map(int, jobs.cluster.hdfs_names(f"{top}/registry/m/versions")))


def status(jobs, app: str) -> dict:
    return json.loads(jobs.run("status", "--json", app, check=0).stdout)


@pytest.mark.parametrize("on", ["yarn", "local"])
def test_the_results_become_a_version(jobs, top, on):
    (jobs.work / "job.yaml").write_text(json.dumps({
        "roles": {"worker": {"count": 2, "memory": "256m"}},
        "command": ["sh", "-c", f"if [ $YDL_RANK = 0 ]; then {TRAIN}; else echo x > $YDL_OUT/x; fi"],
        "output": {"": f"hdfs://{top}/out",
                   "publish": {"name": "m", "path": "model", "alias": "champion",
                               "registry": f"hdfs://{top}/registry"}}}))
    done = jobs.run("run", "--on", on, "-f", "job.yaml", check=0)
    assert "published m:1 as champion (python, " in done.stderr
    assert "and published m:1" in done.stderr
    job = jobs.apps()[0] if on == "yarn" else next((jobs.home / "state/ydl/jobs").glob("local-*")).name
    shown = model(jobs, top, "show", "m@champion")
    assert shown["version"] == 1 and shown["job"] == job
    assert model(jobs, top, "verify", "m")["versions"][0]["ok"]
    assert sorted(jobs.cluster.hdfs_names(f"{top}/out")) == ["model", "x"]
    if on == "yarn":
        assert jobs.ended(job)["finalStatus"] == "SUCCEEDED"
    assert status(jobs, job)["published"]["model"] == "m:1"
    assert "published m:1" in jobs.run("events", job, check=0).stdout


def kill_master(jobs):
    os.kill(sorted(jobs.processes("ydl-node master"))[-1], signal.SIGKILL)


@pytest.mark.full
def test_a_master_that_dies_in_the_middle_is_followed_by_one_version(jobs, top):
    """The next one starts again. One that dies behind the rename: src/model/models_output_test.c."""
    run = jobs.start("run", *args(top, BIG))
    jobs.wait_for(lambda: jobs.cluster.hdfs_names(f"{top}/registry/.staging"), "the publication")
    kill_master(jobs)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert versions(jobs, top) == [1]
    assert status(jobs, jobs.apps()[0])["published"]["model"] == "m:1"
    assert model(jobs, top, "verify", "m")["versions"][0]["ok"]


def test_a_registry_that_cannot_be_written_is_told_before_the_job(jobs, top):
    closed = f"hdfs://{top}/registry"
    jobs.run("fs", "mkdir", closed, check=0)
    words = args(top, "true")
    done = jobs.run("run", *words, user="alice", check=2)
    assert f"output.publish: cannot publish to '{closed}'" in done.stderr
    done = jobs.run("plan", *words, user="alice", check=2)
    assert f"output.publish: cannot publish to '{closed}'" in done.stderr
    jobs.cluster.java(_ADMIN, "-setQuota", "1", f"{top}/registry")
    done = jobs.run("run", *words, check=73)
    assert f"cannot publish to '{closed}'" in done.stderr and "quota" in done.stderr
    assert not jobs.apps()


def test_a_quota_that_is_reached_gives_73_and_the_output_stays(jobs, top):
    jobs.run("fs", "mkdir", f"hdfs://{top}/registry", check=0)
    jobs.cluster.java(_ADMIN, "-setSpaceQuota", "1m", f"{top}/registry")
    done = jobs.run("run", *args(top, BIG), check=73)
    assert "its output was not published as 'm': " in done.stderr and "quota" in done.stderr
    app = jobs.apps()[0]
    said = status(jobs, app)
    assert said["state"] == "SUCCEEDED" and said["exit"] == 73 and said["published"] is None
    assert sorted(jobs.cluster.hdfs_names(f"{top}/out/model")) == ["model.py", "weights"]
    assert versions(jobs, top) == []
