"""Bad input: refused before anything starts, with exit code 2 and nothing written."""

import errno
import json
import os

import pytest


@pytest.fixture(autouse=True)
def nothing_written(local):
    """Whatever is refused leaves no trace: of the state and run directories not even the first one."""
    yield
    assert not local.state.exists() or not list(local.state.rglob("*"))
    assert not list(local.run_dir.rglob("*"))
    assert not list(local.work.glob("ydl-out*"))


GOOD = "command: 'true'\nroles: {worker: 1}\n"

FILES = [
    ("unknown-key", GOOD + "framewrok: none\n", ["framewrok", "did you mean 'framework'?"]),
    ("unknown-role-key", "command: 'true'\nroles: {worker: {count: 1, gpu: 1}}\n", ["gpu", "gpus"]),
    ("wrong-type", "command: 'true'\nroles: {worker: [1]}\n", ["roles.worker"]),
    ("negative", "command: 'true'\nroles: {worker: -1}\n", ["-1"]),
    ("cycle", "command: 'true'\nroles:\n  a: {count: 1, after: [b]}\n  b: {count: 1, after: [a]}\n",
     ["a", "b", "→"]),
    ("name", GOOD + "name: ../x\n", ["name"]),
    ("no-yaml", "roles: {worker: 1\n", [":"]),
    ("framework", GOOD + "framework: tensorflwo\n", ["tensorflow"]),
    ("too-many", "command: 'true'\nroles: {worker: 1000000}\n", ["1000000"]),
    ("memory", "command: 'true'\nroles: {worker: {count: 1, memory: 900t}}\n", ["memory"]),
    ("env", GOOD + "env: {'A=B': c}\n", ["env"]),
    ("env-size", GOOD + f"env: {{BIG: {'x' * 200_000}}}\n", ["BIG"]),
]


@pytest.mark.parametrize("name, text, words", FILES, ids=[f[0] for f in FILES])
def test_a_bad_file_is_refused(local, name, text, words):
    (local.work / "job.yaml").write_text(text)
    done = local.run("run", "-f", "job.yaml", check=2)
    for word in words:
        assert word in done.stderr.decode()


@pytest.mark.parametrize("text, word", [
    ("files: [missing.txt]\n", "missing.txt"), ("archives: ['hdfs:///e.tar: e']\n", "hdfs:///e.tar"),
    ("image: 'Tf:1'\n", "Tf:1"), ("output: hdfs:///out\n", "hdfs:///out"),
    ("output: {a: 's3://b/x'}\n", "s3://b/x")])
def test_what_this_machine_cannot_do_is_refused(local, text, word):
    (local.work / "job.yaml").write_text(GOOD + text)
    assert word in local.run("run", "-f", "job.yaml", check=2).stderr.decode()


def test_all_mistakes_are_told_at_once(local):
    (local.work / "job.yaml").write_text("command: 'true'\nnmae: x\nroles: {worker: -1}\nqueu: q\n")
    text = local.run("run", "-f", "job.yaml", check=2).stderr.decode()
    assert "job.yaml:2" in text and "job.yaml:3" in text and "job.yaml:4" in text


def test_a_bomb_is_refused_quickly(local):
    (local.work / "bomb.yaml").write_text(
        "a: &a [x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(500_000)))
    local.run("run", "-f", "bomb.yaml", check=2, timeout=50)


@pytest.mark.parametrize("args, word", [
    (["run", "-n", "2", "--", "no-such-command-anywhere"], "no-such-command-anywhere"),
    (["run", "-n", "2", "--", "./plain.txt"], "plain.txt"),
    (["run", "-n", "2", "--", "python3", "missing.py"], "missing.py"),
    (["run", "-n", "-2", "--", "true"], "-2"),
    (["run", "-n", "2"], "Nothing to run. Try: ydl run "),
    (["run", "-f", "missing.yaml"], "missing.yaml"),
    (["run", "--gpus", "60", "--", "true"], "GPU"),
    (["run", "--mem", "900t", "--", "true"], "memory"),
    (["run", "--on", "mars", "--", "true"], "mars"),
])
def test_bad_words_are_refused(local, args, word):
    (local.work / "plain.txt").write_text("no program\n")
    done = local.run(*args, check=2)
    assert word in done.stderr.decode()


# Root may write everywhere and finds out by trying; others know before.
NOT_MADE = 73 if os.geteuid() == 0 else 2


@pytest.mark.parametrize("target, code", [("/proc/nope/x", NOT_MADE), ("plain.txt/x", 2), ("/dev/null", 2)])
def test_results_that_have_no_place_are_told_before_anything_starts(local, target, code):
    (local.work / "plain.txt").write_text("no directory\n")
    done = local.run("run", "--output", target, "--", "touch", "started", check=code)
    assert f"results cannot go to '{target}'" in done.stderr.decode()
    assert not (local.work / "started").exists()


def test_the_same_for_programs(local):
    done = local.run("run", "--json", "--output", "/proc/nope/x", "--", "true", check=NOT_MADE)
    error = json.loads(done.stdout)["error"]
    assert error["exit"] == NOT_MADE
    assert NOT_MADE == 2 or error["code"] == "NOT_MADE" and error["errno"] == errno.ENOENT
