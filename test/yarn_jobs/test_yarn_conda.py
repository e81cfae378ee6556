"""A conda environment of real packages on YARN: sent once, and told its place on each node."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pack"))

from pack_support import make_conda  # noqa: E402

SHOW = """
import json, os, re, shutil, subprocess, sys
import hello
print("JSON" + json.dumps({
    "prefix": sys.prefix, "env": dict(os.environ), "python": shutil.which("python"),
    "hello": hello.__file__, "where": subprocess.run(["where"], capture_output=True, text=True).stdout,
    "mark": open(sys.prefix + "/conda-meta/ydl-prefix").read().strip(),
    "left": [name for _, _, names in os.walk(sys.prefix) for name in names
             if re.fullmatch(r"[.].+[.][A-Za-z0-9]{6}", name)],
}), flush=True)
"""
YARN = ("run", "--on", "yarn", "--mem", "128m")


@pytest.fixture(scope="session")
def made_conda(tmp_path_factory) -> Path:
    return make_conda(tmp_path_factory.mktemp("conda"))


def seen(done) -> list[dict]:
    return [json.loads(line.partition("JSON")[2]) for line in done.stdout.splitlines() if "JSON" in line]


def check(told: dict, made_conda: Path):
    """What a task finds: everything in its own container, and programs that know where they are."""
    here = told["env"]["PWD"]
    assert told["prefix"] == told["env"]["CONDA_PREFIX"] and told["prefix"].endswith("/ydl-env")
    assert "/container_" in told["prefix"] and "VIRTUAL_ENV" not in told["env"]
    assert told["prefix"].startswith(here)
    assert told["python"] == f"{told['prefix']}/bin/python"
    assert told["env"]["PATH"].startswith(f"{told['prefix']}/bin:")
    assert told["hello"].startswith(f"{told['prefix']}/lib/")
    assert told["env"]["WHERE_DATA"] == f"{told['prefix']}/share/where/data"
    place = told["mark"]
    assert "/filecache/" in place and told["where"] == f"{place}|first:{place}/one:{place}/two|found\n"
    assert not told["left"] and str(made_conda) not in json.dumps(told)


def test_three_tasks_find_all_of_it_in_their_containers(jobs, made_conda):
    (jobs.work / "show.py").write_text(SHOW)
    words = (*YARN, "-n", 3, "--venv", made_conda, "--files", "show.py", "--", "python", "show.py")
    for _ in range(2):  # the second finds what was unpacked and told before
        done = jobs.run(*words, check=0)
        told = seen(done)
        assert len(told) == 3 and len({one["prefix"] for one in told}) == 3
        for one in told:
            check(one, made_conda)


def test_programs_scripts_and_entry_points_are_commands(jobs, made_conda):
    done = jobs.run(*YARN, "-n", 1, "--venv", made_conda, "--", "where", check=0)
    assert "|found" in done.stdout and "_placehold" not in done.stdout
    for name in ("say", "hello"):
        done = jobs.run(*YARN, "-n", 1, "--venv", made_conda, "--", name, "a b", check=0)
        assert f"{name} of /" in done.stdout and "/ydl-env.tar a b" in done.stdout


@pytest.mark.full
def test_an_archive_of_it_does_as_well(jobs, made_conda):
    name = jobs.run("pack", "-q", made_conda, check=0).stdout.strip()
    jobs.run("fs", "put", "-f", name, "/conda.tar.gz", check=0)
    for place in (name, "hdfs:///conda.tar.gz"):
        done = jobs.run(*YARN, "-n", 1, "--venv", place, "--", "where", check=0)
        assert "|found" in done.stdout
