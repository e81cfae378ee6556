"""Results of jobs on this machine: what is copied at the job's end, and what is said when it cannot
be. Targets on a cluster are in test/yarn_jobs/test_local_hdfs.py."""

import json
import os
from pathlib import Path

import pytest

LEAVE = 'mkdir -p {out}; echo $YDL_RANK > {out}/$YDL_RANK; echo all > {out}/all'


def tree(path: Path) -> dict[str, str]:
    """Every file below `path` with its text."""
    return {str(p.relative_to(path)): p.read_text() for p in path.rglob("*") if p.is_file()}


def job(local, text: str) -> str:
    (local.work / "job.yaml").write_text(text)
    return "job.yaml"


def status(local) -> dict:
    return json.loads(local.run("status", "--json", "last", check=0).stdout)


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_directory_of_all_tasks_is_copied_once(local, nodes):
    args = ("run", "-n", 3, "--nodes", nodes, "--output", "made=kept/here", "--", "sh", "-c",
            LEAVE.format(out="made"))
    expected = {"0": "0\n", "1": "1\n", "2": "2\n", "all": "all\n"}
    local.run(*args, check=0)
    assert tree(local.work / "kept" / "here") == expected
    assert sorted(os.listdir(local.work / "kept")) == ["here"]
    (local.work / "kept" / "here" / "all").write_text("old")
    (local.work / "kept" / "here" / "more").write_text("of an earlier job")
    local.run(*args, check=0)
    assert tree(local.work / "kept" / "here") == expected | {"more": "of an earlier job"}
    assert sorted(os.listdir(local.work / "kept")) == ["here"]
    assert status(local)["unsaved"] is None


def test_several_targets_of_one_job(local):
    file = job(local, f"""
        roles: {{worker: 2}}
        command: [sh, -c, 'mkdir -p a b/c; echo $YDL_RANK > a/$YDL_RANK; echo b > b/c/x;
                           echo out > $YDL_OUT/$YDL_RANK']
        output:
          a: first
          b: file://{local.work}/second
        """)
    local.run("run", "-f", file, "--output", "third", check=0)
    assert tree(local.work / "first") == {"0": "0\n", "1": "1\n"}
    assert tree(local.work / "second") == {"c/x": "b\n"}
    assert tree(local.work / "third") == {"0": "out\n", "1": "out\n"}
    assert not (local.work / "ydl-out").exists()


def test_tasks_with_directories_of_their_own_keep_both_files(local):
    (local.work / "data").write_text("d")
    args = ("run", "-n", 2, "--files", f"file://{local.work}/data", "--output", "out=kept", "--",
            "sh", "-c", f'test "$(cat data)" = d && {LEAVE.format(out="out")}')
    for _ in range(2):
        local.run(*args, check=0)
        found = tree(local.work / "kept")
        beside = [name for name in found if "/" in name]
        assert len(beside) == 1 and beside[0] in ("worker-0/all", "worker-1/all")
        assert set(found) - set(beside) == {"0", "1", "all"}
    assert not (local.work / "out").exists()


def test_what_a_failed_job_left_is_kept_too(local):
    local.run("run", "-n", 1, "--output", "made=kept", "--", "sh", "-c",
              "mkdir made; echo 1 > made/x; exit 4", check=4)
    assert tree(local.work / "kept") == {"x": "1\n"}


def test_nothing_left_behind_makes_no_target(local):
    local.run("run", "-n", 1, "--output", "made=kept", "--", "true", check=0)
    assert not (local.work / "kept").exists()


@pytest.mark.parametrize("target", ["a=s3://x/y", "s3://x/y", "a=file", "file/below", "a=file/below",
                                    "file://host/x"])
def test_wrong_targets_are_refused_before_anything_starts(local, target):
    (local.work / "file").write_text("")
    done = local.run("run", "-n", 1, "--output", target, "--", "touch", "started", check=2)
    assert b"output: " in done.stderr
    assert not (local.work / "started").exists() and not local.jobs()


def test_results_that_cannot_be_saved_give_73(local):
    args = ("-n", 1, "--output", "made=kept/here", "--", "sh", "-c",
            "mkdir -p made; echo 1 > made/x; echo no > kept")
    done = local.run("run", *args, check=73)
    assert b"not everything could be saved to" in done.stderr and b"kept" in done.stderr
    said = status(local)
    assert said["state"] == "SUCCEEDED" and said["exit"] == 73 and "kept" in said["unsaved"]
    assert b"but not everything" in local.run("wait", "last", check=73).stderr
    (local.work / "kept").unlink()
    assert b"but not everything" in local.run("run", "-q", *args, check=73).stderr
    (local.work / "kept").unlink()
    local.run("submit", "--wait", *args, check=73)


def test_a_failure_of_the_job_counts_more_than_one_to_save(local):
    local.run("run", "-n", 1, "--output", "made=kept/here", "--", "sh", "-c",
              "mkdir -p made; echo 1 > made/x; echo no > kept; exit 9", check=9)
    assert "kept" in status(local)["unsaved"]


def test_ctrl_c_saves_what_there_is(local):
    run = local.start("run", "-n", 2, "--output", "made=kept", "--", "sh", "-c",
                      "mkdir -p made; echo 1 > made/$YDL_RANK; echo here; sleep 600")
    assert all(b"here" in run.stdout.readline() for _ in range(2))
    run.send_signal(2)
    run.communicate(timeout=50)
    assert run.returncode == 130
    assert tree(local.work / "kept") == {"0": "1\n", "1": "1\n"}
