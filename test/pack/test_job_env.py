"""`--venv`, `--pip` and `--hadoop` of jobs on this machine."""

import json
import os
import shutil
import signal
import time

import pytest

SHOW = ("import json, os, sys; print('JSON' + json.dumps({'prefix': sys.prefix, "
        "'env': dict(os.environ), 'argv0': sys.executable}))")


def seen(done) -> dict:
    """What the one task printed."""
    return json.loads(next(line for line in done.stdout.splitlines() if "JSON" in line)
                      .partition("JSON")[2])


def test_an_environment_is_used_where_it_is(ydl, made_venv):
    (ydl.work / "env").symlink_to(made_venv)
    told = seen(ydl.run("run", "--venv", "env", "--", "python", "-c", SHOW))
    assert told["prefix"] == told["env"]["VIRTUAL_ENV"] == str(ydl.work / "env")
    assert told["env"]["PATH"].startswith(f"{ydl.work}/env/bin:")


def test_its_python_comes_first_whatever_path_the_job_says(ydl, made_venv):
    (ydl.work / "job.yaml").write_text(
        f"venv: {made_venv}\nenv: {{PATH: /usr/bin:/bin, PYTHONHOME: /nowhere}}\n"
        "files: [x]\nroles: {worker: {command: [tiny, hello]}}\n")
    (ydl.work / "x").write_text("")
    assert f"tiny of {made_venv} hello" in ydl.run("run", "-f", "job.yaml").stdout


def test_packages_are_installed_once(ydl, wheel):
    """Also for two that want the same at the same time."""
    words = ("run", "--pip", wheel, "--", "tiny")
    both = [ydl.start(*words) for _ in range(2)]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sorted("installing packages" in err for _, err in said) == [False, True]
    assert sum("installed in" in err for _, err in said) == 1
    place = said[0][0].partition("tiny of ")[2].strip()
    assert place.startswith(str(ydl.work.parent / "cache" / "ydl" / "pip"))
    again = ydl.run(*words)
    assert "install" not in again.stderr and said[0][0] == said[1][0] == again.stdout


def test_a_file_of_requirements_is_known_by_what_is_in_it(ydl, wheel):
    (ydl.work / "reqs.txt").write_text(f"{wheel}\n")
    ydl.run("run", "--pip", "reqs.txt", "--", "tiny")
    (ydl.work / "reqs.txt").rename(ydl.work / "renamed.txt")
    assert "install" not in ydl.run("run", "--pip", "renamed.txt", "--", "tiny").stderr
    (ydl.work / "renamed.txt").write_text("no-such-package-of-anybody==1\n")
    failed = ydl.run("run", "--pip", "renamed.txt", "--env", "PIP_NO_INDEX=1", "--", "tiny",
                     check=1, env={"PIP_NO_INDEX": "1"})
    assert "pip: ERROR: No matching distribution found for no-such-package-of-anybody==1" \
        in failed.stderr
    assert "pip install failed (exit code 1)" in failed.stderr
    log = failed.stderr.partition("full log: ")[2].splitlines()[0]
    assert "no-such-package-of-anybody" in open(log).read()


def test_an_interrupted_pip_is_gone_and_the_next_one_begins_anew(ydl, wheel):
    cache = ydl.work.parent / "cache" / "ydl" / "pip"
    for _ in range(6):  # until it was in the middle indeed
        process = ydl.start("run", "--pip", wheel, "--", "tiny", start_new_session=True)
        while not list(cache.glob("*/env/bin/python")) and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGSTOP)
        if process.poll() is None and not list(cache.glob("*/done")):
            break
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=50)
        shutil.rmtree(cache)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=50)
    assert process.returncode == 130 and "interrupted" in err
    assert not list(cache.glob("*/done"))
    assert "tiny of" in ydl.run("run", "--pip", wheel, "--", "tiny").stdout


@pytest.mark.parametrize("words, says", [
    (["--venv", "nowhere"], "venv: there is no environment"),
    (["--venv", "file"], "venv: 'file' is not a directory"),
    (["--venv", "."], "venv: '.' is not a Python environment"),
    (["--venv", "broken"], "venv: 'broken' is not a Python environment"),
    (["--venv", ".", "--pip", "six"], "give either venv or pip"),
    (["--hadoop", "maybe"], "hadoop"),
])
def test_what_cannot_work_is_told_before_it_starts(ydl, words, says):
    (ydl.work / "file").write_text("")
    (ydl.work / "broken" / "bin").mkdir(parents=True)
    (ydl.work / "broken" / "bin" / "python").symlink_to("/no/such/python")
    assert says in ydl.run("run", *words, "--", "true", check=2).stderr


def test_a_directory_of_source_is_no_package(ydl):
    (ydl.work / "src").mkdir()
    failed = ydl.run("run", "--pip", "./src", "--", "true", check=1)
    assert "'./src' is a directory" in failed.stderr and "pip wheel ./src" in failed.stderr


def test_an_mxnet_that_cannot_train_on_several_machines_is_refused(ydl, made_venv):
    env = ydl.work / "env"
    shutil.copytree(made_venv, env, symlinks=True)
    home = next(env.glob("lib/python3*/site-packages")) / "mxnet"
    home.mkdir()
    source = ydl.work / "x.c"
    source.write_text('const char says[] = "compile with USE_DIST_KVSTORE=1 to use ";')
    assert os.system(f"cc -shared -o {home}/libmxnet.so {source}") == 0
    mxnet = ("run", "--framework", "mxnet", "-n", "1", "-s", "1")
    failed = ydl.run(*mxnet, "--venv", "env", "--", "true", check=2)
    assert "venv: the MXNet in 'env': it was built without USE_DIST_KVSTORE=1" in failed.stderr
    # One that was there before, which only the task's machine knows.
    failed = ydl.run(*mxnet, "--native", "no", "--", env / "bin" / "python", "-c", "print('ran')",
                     check=78)
    assert "cannot train on several machines" in failed.stderr and "ran" not in failed.stdout
    ydl.run("run", "--framework", "mxnet", "--venv", "env", "-n", "1", "-s", "0", "--", "true")


@pytest.fixture
def hadoop(tmp_path):
    """What a machine with Hadoop has, as far as names go."""
    home, java = tmp_path / "hadoop", tmp_path / "jdk"
    for name in ("share/hadoop/common/c.jar", "share/hadoop/common/lib/l.jar",
                 "share/hadoop/hdfs/h.jar", "etc/hadoop/core-site.xml", "lib/native/libhdfs.so"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("")
    (java / "lib" / "server").mkdir(parents=True)
    (java / "lib" / "server" / "libjvm.so").write_text("")
    return {"HADOOP_HOME": str(home), "JAVA_HOME": str(java), "LD_LIBRARY_PATH": "/mine"}


@pytest.mark.parametrize("word", ["hdfs:///data", "--data=viewfs://all/data"])
def test_a_task_that_names_hdfs_finds_libhdfs(ydl, hadoop, word):
    told = seen(ydl.run("run", "--", "python3", "-c", SHOW, word, env=hadoop))["env"]
    home, java = hadoop["HADOOP_HOME"], hadoop["JAVA_HOME"]
    assert told["HADOOP_HDFS_HOME"] == home and told["HADOOP_CONF_DIR"] == f"{home}/etc/hadoop"
    assert told["CLASSPATH"].split(":") == [
        f"{home}/etc/hadoop", f"{home}/share/hadoop/common/lib/l.jar",
        f"{home}/share/hadoop/common/c.jar", f"{home}/share/hadoop/hdfs/h.jar"]
    assert told["LD_LIBRARY_PATH"] == f"/mine:{home}/lib/native:{java}/lib/server"
    assert told["LIBHDFS_OPTS"] == "-Xmx128m"


@pytest.mark.parametrize("words, there", [
    ((), False), (("--hadoop", "yes"), True), (("--hadoop", "no"), False),
])
def test_other_tasks_are_told_when_the_job_says_so(ydl, hadoop, words, there):
    told = seen(ydl.run("run", *words, "--", "python3", "-c", SHOW, env=hadoop))["env"]
    assert ("CLASSPATH" in told) == there


def test_what_libhdfs_lacks_is_named_before_anything_starts(ydl, hadoop):
    words = ("run", "--hadoop", "yes", "--", "touch", "started")
    os.unlink(f"{hadoop['HADOOP_HOME']}/lib/native/libhdfs.so")
    assert "hadoop: libhdfs.so was not found" in ydl.run(*words, check=2, env=hadoop).stderr
    hadoop["HADOOP_HOME"] = "/nowhere"
    assert "hadoop: Hadoop was not found" in ydl.run(*words, check=2, env=hadoop).stderr
    assert not (ydl.work / "started").exists()
