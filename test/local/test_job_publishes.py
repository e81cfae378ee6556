"""`publish:` in a job's output: when the job has succeeded its results are a version of a model."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

HANDLER = r"def load(dir):\n    return 1\n\ndef predict(inputs):\n    return inputs\n"
TRAIN = f"printf '{HANDLER}' > $YDL_OUT/model.py"
BIG = 1 << 30


def registry(local) -> Path:
    return local.tmp / ".local" / "share" / "ydl" / "models"


def manifest(local, name: str, version: int = 1) -> dict:
    return json.loads((registry(local) / name / "versions" / str(version) / "MANIFEST.json").read_text())


def versions(local, name: str) -> list[int]:
    made = registry(local) / name / "versions"
    return sorted(int(p.name) for p in made.iterdir()) if made.is_dir() else []


def status(local) -> dict:
    return json.loads(local.run("status", "--json", "last", check=0).stdout)


def job(local, text: str) -> str:
    (local.work / "job.yaml").write_text(text)
    return "job.yaml"


def test_one_file_trains_and_publishes(local):
    """The version names its job, its source and what the file says; everybody is told of it."""
    git = ["git", "-C", local.work, "-c", "user.name=a", "-c", "user.email=a@b"]
    (local.work / "train.py").write_text("pass\n")
    for words in (["init", "-q"], ["add", "train.py"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    file = job(local, f"""
        roles: {{worker: 1}}
        command: [sh, -c, "mkdir $YDL_OUT/model $YDL_OUT/logs; echo x > $YDL_OUT/logs/x;
                           printf '{HANDLER}' > $YDL_OUT/model/model.py"]
        output:
          publish: {{name: adder, path: model/, alias: champion, tags: {{data: '2026-11'}}}}
        """.replace("\\n", "\\\\n"))
    done = local.run("run", "-f", file, check=0)
    assert b"succeeded" in done.stderr and b"and published adder:1" in done.stderr
    made = manifest(local, "adder")
    assert made["job"] == local.jobs()[-1].name and made["git"] == head.stdout.strip()
    assert made["format"] == "python" and made["tags"] == {"data": "2026-11"}
    assert [f["path"] for f in made["files"]] == ["model/model.py"]
    assert status(local)["published"] == {
        "model": "adder:1", "name": "adder", "version": 1, "format": "python",
        "bytes": made["bytes"], "alias": "champion", "registry": str(registry(local))}
    assert b"published   adder:1 as champion" in local.run("status", "last", check=0).stdout
    assert b"published adder:1" in local.run("events", "last", check=0).stdout
    shown = json.loads(local.run("model", "show", "adder@champion", "--json", check=0).stdout)
    assert shown["version"] == 1
    assert not list((registry(local) / ".staging").iterdir())
    local.run("run", "-f", file, check=0)
    assert versions(local, "adder") == [1, 2]


def test_options_say_it_too(local):
    local.run("run", "--publish", "m", "--publish-path", "model.py/..model.py", "--", "true", check=73)
    for registry_name in ("models", f"file://{local.work}/models"):
        local.run("run", "--publish", "m", "--registry", registry_name, "--output", "out", "--", "sh",
                  "-c", TRAIN, check=0)
    assert (local.work / "models/m/versions/2/MANIFEST.json").exists()
    assert (local.work / "models/m/versions/1/MANIFEST.json").exists()
    assert (local.work / "out/model.py").exists() and not registry(local).exists()
    plan = local.run("plan", "--publish", "m", "--registry", "models", "--", "true", check=0).stdout
    assert f"publishes its output as the next version of 'm', in '{local.work}/models'".encode() in plan
    plan = json.loads(local.run("plan", "--json", "--publish", "m", "--", "true", check=0).stdout)
    assert plan["publish"]["name"] == "m" and plan["publish"]["registry"] == str(registry(local))


def test_a_directory_beside_the_task_is_published(local):
    """The first directory of `output` is what is meant when $YDL_OUT is not in it; and a directory
    that is called publish goes by publish/."""
    file = job(local, f"""
        roles: {{worker: 2}}
        command: [sh, -c, "mkdir -p made publish; echo $YDL_RANK > publish/$YDL_RANK;
                           printf '{HANDLER}' > made/model.py"]
        output: {{made: kept, publish/: beside, publish: m}}
        """.replace("\\n", "\\\\n"))
    local.run("run", "-f", file, check=0)
    assert [f["path"] for f in manifest(local, "m")["files"]] == ["model/model.py"]
    assert sorted(os.listdir(local.work / "beside")) == ["0", "1"]


@pytest.mark.parametrize("command, code", [("exit 4", 4), ("kill -9 $$", 137)])
def test_a_job_that_fails_publishes_nothing(local, command, code):
    local.run("run", "--publish", "m", "--", "sh", "-c", f"{TRAIN}; {command}", check=code)
    assert not registry(local).exists() and status(local)["published"] is None


def test_a_job_that_is_stopped_publishes_nothing(local):
    run = local.start("run", "--publish", "m", "--", "sh", "-c", f"{TRAIN}; echo here; sleep 600")
    assert b"here" in run.stdout.readline()
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130 and not registry(local).exists()


def test_several_starts_of_a_task_make_one_version(local):
    local.run("run", "-n", 2, "--restart", "task", "--max-restarts", 3, "--publish", "m", "--", "sh",
              "-c", f"{TRAIN}; test $YDL_ATTEMPT = 2", check=0)
    assert versions(local, "m") == [1]


@pytest.mark.parametrize("args, says", [
    (("--publish", "a/b"), "output.publish.name: 'a/b' cannot be used"),
    (("--publish", "-x"), "output.publish.name: '-x' cannot be the name of a model"),
    (("--publish", "a:3"), "output.publish.name: 'a:3' cannot be the name of a model"),
    (("--publish", "m", "--publish-path", "../x"), "output.publish.path: it must be below the results"),
    (("--publish", "m", "--publish-path", "/x"), "output.publish.path: it must be below the results"),
    (("--publish", "m", "--registry", "file/x"), "cannot publish to"),
    (("--publish", "m", "--registry", "taken"), "cannot publish to"),
    (("--publish", "m", "--registry", "s3://a/b"), "output.publish.registry: a registry is a directory"),
    (("--publish", "m", "--registry", "file://host/b"), "output.publish.registry: a registry is"),
    (("--registry", "x"), "output.publish: which model?"),
    (("--publish", "m", "--on", "yarn"), "a job on YARN publishes to a registry on HDFS"),
])
def test_what_cannot_be_published_is_said_before_anything_starts(local, args, says):
    (local.work / "file").write_text("")
    (local.work / "taken/m").mkdir(parents=True)
    (local.work / "taken/m/versions").write_text("")
    done = local.run("run", *args, "--", "touch", "started", check=2)
    assert says.encode() in done.stderr, done.stderr
    assert not (local.work / "started").exists() and not local.jobs()


def test_mistakes_in_a_file_have_their_lines(local):
    file = job(local, """
command: "true"
roles: {worker: 1}
output:
  publish:
    name: m
    pth: model
    alias: a b
    tags: {x: [1]}
""")
    said = local.run("run", "-f", file, check=2).stderr.decode()
    assert "job.yaml:7: output.publish.pth: unknown key (did you mean 'path'?)" in said
    assert "job.yaml:9: output.publish.tags.x: expected text, found a list" in said
    assert "job.yaml:8: output.publish.alias: 'a b' cannot be the name of a" in said


@pytest.mark.parametrize("command, says", [
    ("true", "has no files"),
    ("echo x > $YDL_OUT/x", "format"),
    ("mkfifo $YDL_OUT/model.py", "model.py"),
])
def test_output_that_is_no_model_gives_73_and_stays(local, command, says):
    done = local.run("run", "--publish", "m", "--output", "out", "--", "sh", "-c", command, check=73)
    said = status(local)
    assert said["state"] == "SUCCEEDED" and said["exit"] == 73 and said["published"] is None
    assert "was not published as 'm'" in said["unsaved"] and says in said["unsaved"]
    assert b"but its output was not published as 'm'" in done.stderr
    assert versions(local, "m") == []
    assert (local.work / "out").is_dir() == (command != "true")  # an empty one is removed


def test_results_that_are_not_all_saved_are_not_published(local):
    done = local.run("run", "--publish", "m", "--output", "made=kept/here", "--", "sh", "-c",
                     f"mkdir -p made; printf '{HANDLER}' > made/model.py; echo no > kept", check=73)
    assert b"not everything could be saved" in done.stderr
    assert b"was not published as 'm': not all of it could be saved" in done.stderr
    assert not registry(local).exists()


def big(local) -> tuple:
    """A job whose model takes long enough to copy for things to happen meanwhile."""
    return ("run", "--publish", "m", "--", "sh", "-c", f"{TRAIN}; truncate -s {BIG} $YDL_OUT/weights")


def staged(local) -> bool:
    staging = registry(local) / ".staging"
    return staging.is_dir() and any(staging.iterdir())


def test_a_master_that_is_killed_leaves_no_half_version(local):
    run = local.start(*big(local))
    local.wait_for(lambda: staged(local), "the copy to begin")
    for pid in local.find("ydl-node master"):
        os.kill(pid, signal.SIGKILL)
    run.communicate(timeout=60)
    assert run.returncode not in (0, 73) and versions(local, "m") == []
    local.run("model", "prune", "--keep", 1, check=0)
    assert not staged(local)
    local.run(*big(local), check=0)
    assert versions(local, "m") == [1] and manifest(local, "m")["bytes"] > BIG


def test_an_end_while_it_publishes_is_told(local):
    """By a signal to the master, which has a second or two for its end."""
    run = local.start(*big(local))
    local.wait_for(lambda: staged(local), "the copy to begin")
    for pid in local.find("ydl-node master"):
        os.kill(pid, signal.SIGTERM)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 73 and b"was not published as 'm'" in said, said
    assert versions(local, "m") == [] and not staged(local)
    assert len(list((local.work / "ydl-out").glob("*/weights"))) == 1


def test_the_time_to_save_counts_for_it(local):
    done = local.run(*big(local)[:3], "--save-time", "1s", "--", "sh", "-c",
                     f"{TRAIN}; truncate -s {8 * BIG} $YDL_OUT/weights", check=73)
    assert b"was not published as 'm': save-time expired" in done.stderr
    assert versions(local, "m") == [] and not staged(local)
