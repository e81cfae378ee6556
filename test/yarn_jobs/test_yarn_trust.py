"""Directories of HDFS that other users could put something into."""

import hashlib

import pytest

QUICK = ("-n", 1, "--mem", "64m", "--", "true")


@pytest.fixture
def place(jobs):
    """A directory in HDFS that is there for one test."""
    path = "/tmp/trust"
    yield path
    jobs.cluster.fs("-rm", "-r", "-f", path)


def submit(jobs, place):
    return jobs.run("run", "--on", "yarn", "--staging", place, *QUICK)


def test_a_staging_directory_of_another_user_is_refused(jobs, place):
    """What he put there would run as us, with our tokens."""
    jobs.run("fs", "mkdir", place, user="bob", check=0)
    jobs.run("fs", "chmod", "777", place, user="bob", check=0)
    done = submit(jobs, place)
    assert done.returncode != 0 and f"'{place}' belongs to 'bob'" in done.stderr, done.stderr
    assert "--staging" in done.stderr and jobs.apps() == []
    assert jobs.cluster.hdfs_names(place) == []


@pytest.mark.parametrize("name", ["", "/jobs", "/logs", "/cache"])
def test_a_directory_that_others_can_write_to_is_refused(jobs, place, name):
    jobs.run("fs", "mkdir", "-p", place + name, check=0)
    jobs.run("fs", "chmod", "777", place + name, check=0)
    done = submit(jobs, place)
    assert done.returncode != 0 and f"others can write to '{place}{name}'" in done.stderr, done.stderr
    assert f"ydl fs chmod go-w {place}{name}" in done.stderr and jobs.apps() == []


def test_a_program_that_another_user_put_into_the_cache_is_never_run(jobs, place):
    """Of the right length and under the right hash, from a time when the cache was open to all."""
    node = jobs.bin / "ydl-node"
    hashed = hashlib.sha256(node.read_bytes()).hexdigest()
    planted = jobs.work / "planted"
    planted.write_bytes(b"#!/bin/sh\nexit 3\n".ljust(node.stat().st_size, b"#"))
    planted.chmod(0o644)
    jobs.run("fs", "mkdir", "-p", f"{place}/cache", check=0)
    for path in (place, f"{place}/cache"):
        jobs.run("fs", "chmod", "777", path, check=0)
    jobs.run("fs", "mkdir", f"{place}/cache/{hashed}", user="bob", check=0)
    jobs.run("fs", "chmod", "777", f"{place}/cache/{hashed}", user="bob", check=0)
    jobs.run("fs", "put", planted, f"{place}/cache/{hashed}/ydl-node", user="bob", check=0)
    for path in (place, f"{place}/cache"):
        jobs.run("fs", "chmod", "700", path, check=0)
    done = submit(jobs, place)
    assert done.returncode == 0, f"{done.stderr}\n{jobs.tell()}"
    assert "bob" not in jobs.run("fs", "ls", f"{place}/cache/{hashed}", check=0).stdout


def test_results_are_the_tasks_files_and_nothing_of_ours(jobs, place):
    """Not the tokens, the programs or YARN's scripts: not by their names and not by links."""
    script = ("mkdir -p deep; echo good > deep/model; echo good > result; ln .ydl/tokens a; "
              "ln -s $PWD/.ydl/tokens b; ln -s launch_container.sh c; ln -s ydl-node deep/d; "
              "ln -s .ydl e; ls -A >&2")
    done = jobs.run("run", "--on", "yarn", "--output", f".={place}/out", "-n", 1, "--mem", "64m",
                    "--", "sh", "-c", script)
    assert done.returncode == 0 and "launch_container.sh" in done.stderr, done.stderr
    listed = jobs.run("fs", "ls", "-R", f"{place}/out", check=0).stdout
    found = {line.split()[-1].removeprefix(f"{place}/out/") for line in listed.splitlines()}
    assert found == {"deep", "deep/model", "result"}, listed


def test_a_directory_of_ours_is_never_saved(jobs, place):
    done = jobs.run("run", "--on", "yarn", "--output", f".ydl={place}/out", "-n", 1, "--mem", "64m",
                    "--", "true")
    assert ".ydl' belongs to ydl and is not saved" in done.stderr, done.stderr
    assert jobs.cluster.hdfs_names(place) == []
