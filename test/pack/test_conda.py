"""Environments that were installed from real conda packages: packed, unpacked elsewhere, and used by
jobs on this machine."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pack_support import Ydl, conda, unpack

SHOW = ("import json, os, shutil, sys, hello; print('JSON' + json.dumps({'prefix': sys.prefix, "
        "'env': dict(os.environ), 'python': shutil.which('python'), 'hello': hello.__file__}))")
PACK = ("pack", "--format", "tar")  # to compress it takes most of the time
# What conda-pack adds, and ydl.
ADDED = {"bin/activate", "bin/activate.fish", "bin/deactivate", "bin/conda-unpack",
         "bin/conda_unpack_progress.py", "conda-meta/ydl-places", "conda-meta/ydl-prefix"}


def told(prefix) -> str:
    """What `where`, a program with a library, says when both know where they are."""
    return f"{prefix}|first:{prefix}/one:{prefix}/two|found\n"


def run(*words, **options) -> subprocess.CompletedProcess:
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, **options)


def files(tree: Path) -> dict[str, bytes]:
    """All that is in it; of a link what it says."""
    return {str(path.relative_to(tree)): os.readlink(path).encode() if path.is_symlink()
            else path.read_bytes()
            for path in tree.rglob("*") if path.is_symlink() or path.is_file()}


@pytest.fixture(scope="module")
def archive(made_conda, tmp_path_factory) -> Path:
    ydl = Ydl(tmp_path_factory.mktemp("pack"))
    return ydl.work / ydl.run(*PACK, made_conda).stdout.strip()


@pytest.fixture
def hidden(made_conda):
    """While the original is not where it was, nor what it was installed from."""
    away = made_conda.parent.with_name(f"{made_conda.parent.name}-away")
    made_conda.parent.rename(away)
    yield made_conda
    away.rename(made_conda.parent)


def test_it_works_elsewhere_without_the_original(archive, hidden, tmp_path):
    new = unpack(archive, tmp_path / "a place" / "e")
    assert run(new / "bin" / "hello", "a b", cwd="/").stdout == f"hello of {new} a b\n"
    assert run(new / "bin" / "say").stdout == f"say of {new}\n"
    assert run(new / "bin" / "where").returncode == 1  # it does not know yet
    assert run(new / "bin" / "conda-unpack").stdout == "conda-unpack: 4 files\n"
    assert run(new / "bin" / "where").stdout == told(new)
    assert (new / "share" / "say" / "linked.txt").read_text() == f"prefix={new}\nlibs=-L{new}/lib\n"
    assert run(new / "bin" / "conda-unpack").stdout == ""  # it knows that it is done
    code = "import hello, sysconfig; print(sysconfig.get_config_var('LIBDIR'))"
    assert run(new / "bin" / "python", "-c", code).stdout.startswith(f"{new}/lib")
    assert not hidden.exists()
    for name in ("f", "longer" * 10):  # it can be told as often as it is moved
        new = new.rename(new.with_name(name))
        assert run(new / "bin" / "conda-unpack").stdout == "conda-unpack: 4 files\n"
        assert run(new / "bin" / "where").stdout == told(new)


def test_a_place_that_is_too_long_is_told_to_texts_only(archive, tmp_path):
    new = unpack(archive, tmp_path / ("long" * 30) / ("longer" * 30) / "e")
    done = run(new / "bin" / "conda-unpack")
    assert done.returncode == 1 and done.stdout == "conda-unpack: 2 files\n"
    assert "too long a place for these: bin/where lib/libwhere.so" in done.stderr
    assert run(new / "bin" / "hello").stdout == f"hello of {new}\n"
    new = new.rename(tmp_path / "e")
    assert run(new / "bin" / "conda-unpack").stdout == "conda-unpack: 4 files\n"
    assert run(new / "bin" / "where").stdout == told(new)


def test_files_are_again_what_they_were_in_their_packages(archive, made_conda, tmp_path):
    new = unpack(archive, tmp_path / "e")
    seen = 0
    for record in (made_conda / "conda-meta").glob("*.json"):
        for row in json.loads(record.read_text())["paths_data"]["paths"]:
            path = new / row["_path"]
            if row["path_type"] != "hardlink" or row["_path"] == "bin/say":  # a script is changed
                continue
            assert hashlib.sha256(path.read_bytes()).hexdigest() == row["sha256"], path
            seen += "prefix_placeholder" in row
    assert seen == 4
    place = str(made_conda).encode()
    assert not [name for name, data in files(new).items() if place in data]


def test_the_same_packages_at_another_place_are_the_same_archive(ydl, archive, made_conda, tmp_path):
    other = tmp_path / "some" / "other-place"
    conda("install", made_conda.parent / "channel", other, tmp_path / "another-cache")
    (other / "conda-meta" / "history").write_text("# cmd: conda create -p somewhere\n")
    run(other / "bin" / "hello")  # leaves compiled modules
    name = ydl.run(*PACK, other, "--name", "env").stdout.strip()
    assert name == archive.name and (ydl.work / name).read_bytes() == archive.read_bytes()
    # So is one that was unpacked, whether it was told its place or not.
    for words in ((), ("conda-unpack",)):
        again = unpack(archive, tmp_path / f"again{len(words)}")
        for word in words:
            assert run(again / "bin" / word).returncode == 0
        assert ydl.run(*PACK, again, "--name", "env").stdout.strip() == archive.name


def test_a_name_that_is_a_link_counts_as_its_place(ydl, archive, made_conda, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    env = tmp_path / "link" / "env"
    conda("install", made_conda.parent / "channel", env, tmp_path / "cache")
    assert run(env / "bin" / "where").stdout == told(env)
    assert ydl.run(*PACK, env).stdout.strip() == archive.name


def test_it_has_what_conda_pack_has(archive, made_conda, tmp_path):
    conda("pack", made_conda, tmp_path / "theirs.tar.gz")
    found = []
    for one in (archive, tmp_path / "theirs.tar.gz"):  # one after the other, at the same place
        new = unpack(one, tmp_path / "e")
        path = f"{new}/bin:{os.environ['PATH']}"
        assert run(new / "bin" / "conda-unpack", env=os.environ | {"PATH": path}).returncode == 0
        assert run(new / "bin" / "where").stdout == told(new)
        found.append({name: data for name, data in files(new).items()
                      if name not in ADDED and "__pycache__" not in name})
        shutil.rmtree(new)
    ours, theirs = found
    assert ours.keys() == theirs.keys()
    differ = {name for name in ours if ours[name] != theirs[name]}
    records = {name for name in ours if name.startswith("conda-meta/") and name.endswith(".json")}
    assert differ - records <= {"bin/hello", "bin/say"}, "scripts that find Python beside them"
    for name in records:
        a, b = (json.loads(one[name]) for one in found)
        for mine, row in zip(a["paths_data"]["paths"], b["paths_data"]["paths"]):
            for key in row.keys() - mine.keys():  # what it was at the place where it was
                assert key in ("sha256_in_prefix", "size_in_bytes", "sha256")
                row.pop(key)
        assert a == b


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_runs_what_packages_want_to_be_run(archive, tmp_path, shell):
    new = unpack(archive, tmp_path / "e")
    text = (f'. "{new}/bin/activate" && echo "$CONDA_PREFIX|$WHERE_DATA|$(command -v hello)" && '
            'deactivate && echo "${CONDA_PREFIX:-left}|${WHERE_DATA:-gone}"')
    env = {key: value for key, value in os.environ.items() if not key.startswith("CONDA_")}
    done = run(shell, "-c", text, env=env)
    assert done.stdout.splitlines() == [f"{new}|{new}/share/where/data|{new}/bin/hello", "left|gone"]


def test_a_job_on_this_machine_uses_it_where_it_is(ydl, made_conda):
    done = ydl.run("run", "--venv", made_conda, "--", "python", "-c", SHOW)
    seen = json.loads(done.stdout.partition("JSON")[2])
    assert seen["prefix"] == seen["env"]["CONDA_PREFIX"] == str(made_conda)
    assert seen["python"] == str(made_conda / "bin" / "python")
    assert seen["hello"].startswith(str(made_conda)) and "VIRTUAL_ENV" not in seen["env"]
    assert seen["env"]["WHERE_DATA"] == str(made_conda / "share" / "where" / "data")
    assert not [name for name in seen["env"] if name.startswith(("WHERE_HIDDEN", "ydl_"))]
    assert told(made_conda) in ydl.run("run", "--venv", made_conda, "--", "where").stdout


def test_variables_that_conda_keeps_for_it_are_set_where_the_job_says_nothing(ydl, made_conda):
    state = made_conda / "conda-meta" / "state"
    state.write_text(json.dumps({"env_vars": {"KEPT": "1", "OWN": "theirs", "NOT": "***unset***"}}))
    try:
        done = ydl.run("run", "--venv", made_conda, "--env", "OWN=mine", "--", "python", "-c", SHOW)
    finally:
        state.unlink()
    env = json.loads(done.stdout.partition("JSON")[2])["env"]
    assert (env["KEPT"], env["OWN"]) == ("1", "mine") and "NOT" not in env


def test_words_of_a_command_and_its_signals_go_through_activation(ydl, made_conda):
    code = "import sys; print(sys.argv[1:])"
    done = ydl.run("run", "--venv", made_conda, "--", "python", "-c", code, "a b", "", "$HOME", "*")
    assert "['a b', '', '$HOME', '*']" in done.stdout
    code = "import os; os.kill(os.getpid(), 15)"
    assert ydl.run("run", "--venv", made_conda, "--", "python", "-c", code, check=143)
