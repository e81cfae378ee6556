"""`--venv`, `--pip` and `--hadoop` of jobs on YARN: a Python environment that is sent there once."""

import json
import shutil
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pack"))

from pack_support import make_venv, make_wheel  # noqa: E402

SHOW = ("import json, os, sys; print('JSON' + json.dumps({'prefix': sys.prefix, "
        "'env': dict(os.environ)}))")
YARN = ("run", "--on", "yarn", "-n", 1, "--mem", "128m")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    return make_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def made_venv(tmp_path_factory, wheel) -> Path:
    return make_venv(tmp_path_factory.mktemp("venv") / "env", wheel)


def seen(done) -> dict:
    return json.loads(next(line for line in done.stdout.splitlines() if "JSON" in line)
                      .partition("JSON")[2])


def kept(jobs) -> dict:
    """What is in the cache, by its name: hash and size."""
    listed = json.loads(jobs.run("cache", "list", "--json", check=0).stdout)["entries"]
    return {(row["name"], row["hash"]): row["size"] for row in listed}


def until_old(tree: Path):
    """What changed less than two seconds ago may change again unseen: its hash is not kept."""
    while time.time() - max(path.lstat().st_ctime for path in tree.rglob("*")) < 2.1:
        time.sleep(0.1)


def test_an_environment_is_sent_once_and_comes_first(jobs, made_venv):
    before = kept(jobs)
    first = jobs.run(*YARN, "--venv", made_venv, "--", "python", "-c", SHOW, check=0)
    told = seen(first)
    assert told["env"]["VIRTUAL_ENV"].endswith("/ydl-env")
    assert told["prefix"] == told["env"]["VIRTUAL_ENV"]
    assert told["env"]["PATH"].startswith(f"{told['prefix']}/bin:")
    assert str(made_venv) not in first.stdout
    sent = kept(jobs)
    assert len([row for row in sent if row[0] == "ydl-env.tar" and row not in before]) == 1
    until_old(made_venv)
    done = jobs.run(*YARN, "--venv", made_venv, "--", "tiny", "again", check=0)
    assert "tiny of /" in done.stdout and "/ydl-env" in done.stdout
    assert kept(jobs) == sent
    hashes = jobs.home / ".cache" / "ydl" / "hashes"
    known = hashes.read_text()
    jobs.run(*YARN, "--venv", made_venv, "--", "tiny", check=0)
    assert hashes.read_text() == known  # by times and sizes: it was not read again


def test_the_same_environment_at_another_place_is_not_sent_again(jobs, made_venv):
    jobs.run(*YARN, "--venv", made_venv, "--", "tiny", check=0)
    before = kept(jobs)
    shutil.copytree(made_venv, jobs.work / "copy", symlinks=True)
    jobs.run(*YARN, "--venv", "copy", "--", "tiny", check=0)
    assert kept(jobs) == before
    (jobs.work / "copy" / "lib" / "new").write_text("1")
    jobs.run(*YARN, "--venv", "copy", "--", "tiny", check=0)
    assert len(kept(jobs)) == len(before) + 1


@pytest.mark.full
def test_an_archive_of_one_does_as_well(jobs, made_venv):
    name = jobs.run("pack", "-q", made_venv, check=0).stdout.strip()
    assert "tiny of" in jobs.run(*YARN, "--venv", name, "--", "tiny", check=0).stdout
    jobs.run("fs", "put", name, "/env.tar.gz", check=0)
    done = jobs.run(*YARN, "--venv", "hdfs:///env.tar.gz", "--", "tiny", "from hdfs", check=0)
    assert "from hdfs" in done.stdout


@pytest.mark.full
def test_packages_are_installed_here_and_sent(jobs):
    (jobs.work / "requirements.txt").write_text("six==1.16.0\n")
    code = "import six, sys; print('six', six.__version__, sys.prefix.split('/')[-1])"
    words = (*YARN, "--pip", "requirements.txt", "--", "python", "-c", code)
    first = jobs.run(*words, check=0, timeout=300)
    assert "six 1.16.0 ydl-env" in first.stdout and "installing packages" in first.stderr
    before = kept(jobs)
    again = jobs.run(*words, check=0)
    assert "six 1.16.0 ydl-env" in again.stdout and "installing" not in again.stderr
    assert kept(jobs) == before


def test_a_python_that_nodes_do_not_have_is_noted_and_told(jobs, made_venv):
    shutil.copytree(made_venv, jobs.work / "env", symlinks=True)
    python = jobs.work / "env" / "bin" / "python"
    python.unlink()
    python.symlink_to("/people/me/.pyenv/bin/python3")
    done = jobs.run(*YARN, "--venv", "env", "--", "python", "-c", "print('ran')", check=78)
    assert "ran" not in done.stdout
    assert "note: env uses /people/me/.pyenv/bin/python3, which every node must have" in done.stderr
    assert ("the Python environment needs '/people/me/.pyenv/bin/python3', which this machine "
            "does not have") in done.stderr


def test_what_is_no_environment_is_refused(jobs):
    (jobs.work / "d").mkdir()
    (jobs.work / "x.rar").write_text("")
    for name, says in (("d", "/d' is not a Python environment"), ("none", "cannot be read"),
                       ("x.rar", "neither a Python environment nor an archive"),
                       ("hdfs:///d", "must be an archive")):
        assert says in jobs.run(*YARN, "--venv", name, "--", "true", check=2).stderr


def test_libhdfs_is_found_on_the_node_or_the_task_does_not_start(jobs, tmp_path):
    failed = jobs.run(*YARN, "--hadoop", "yes", "--", "echo", "ran", check=78)
    assert "ran" not in failed.stdout
    assert "hadoop: Hadoop was not found" in failed.stderr
    home = tmp_path / "hadoop"
    for name in ("share/hadoop/common/c.jar", "share/hadoop/hdfs/h.jar", "lib/native/libhdfs.so"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("")
    told = seen(jobs.run(*YARN, "--env", f"HADOOP_HOME={home}", "--", "python3", "-c", SHOW,
                         "--data=hdfs:///data", check=0))["env"]
    assert told["JAVA_HOME"] and told["HADOOP_CONF_DIR"]  # the NodeManager's own
    assert f"{home}/share/hadoop/hdfs/h.jar" in told["CLASSPATH"].split(":")
    assert f"{home}/lib/native" in told["LD_LIBRARY_PATH"].split(":")
    assert told["LIBHDFS_OPTS"] == "-Xmx128m"
