"""`ydl pack`: archives that are the same however they are made, and what is said about them."""

import json
import os
import shutil
import signal
import tarfile
import time
from pathlib import Path

import pytest


def test_the_same_content_is_the_same_file(ydl, made_venv):
    first = json.loads(ydl.run("pack", "--json", made_venv).stdout)
    copy = ydl.work / "another" / "env"
    shutil.copytree(made_venv, copy, symlinks=True, copy_function=shutil.copy)  # with new times
    (ydl.work / "out").mkdir()
    second = json.loads(ydl.run("pack", "--json", copy, "-o", "out/").stdout)
    assert (ydl.work / first["path"]).read_bytes() == (ydl.work / second["path"]).read_bytes()
    assert Path(first["path"]).name == Path(second["path"]).name == f"env-{first['hash'][:12]}.tar.gz"
    (copy / "lib" / "new").write_text("1")
    third = json.loads(ydl.run("pack", "--json", copy).stdout)
    assert third["hash"] != first["hash"]
    assert first["kind"] == "venv" and first["size"] == (ydl.work / first["path"]).stat().st_size


def test_entries_have_no_owner_no_time_and_an_order(ydl, made_venv):
    name = ydl.run("pack", "-q", made_venv).stdout.strip()
    with tarfile.open(ydl.work / name) as archive:
        members = archive.getmembers()
    assert {(m.uid, m.gid, m.uname, m.mtime) for m in members} == {(0, 0, "", 315619200)}
    assert [m.name for m in members] == sorted(m.name for m in members)
    assert not [m.name for m in members if "__pycache__" in m.name]
    assert next(m for m in members if m.name == "bin/tiny").mode == 0o755


def test_an_interpreter_of_ones_own_and_an_editable_package_are_noted(ydl, made_venv):
    env = ydl.work / "env"
    shutil.copytree(made_venv, env, symlinks=True)
    (env / "bin" / "python").unlink()
    (env / "bin" / "python").symlink_to("/people/me/.pyenv/bin/python3")
    info = next(env.glob("lib/python3*/site-packages/tiny-1.0.dist-info"))
    (info / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    done = ydl.run("pack", "--json", env)
    notes = json.loads(done.stdout)["notes"]
    assert json.loads(done.stdout)["python"] == "/people/me/.pyenv/bin/python3"
    assert "/people/me/.pyenv/bin/python3" in notes[0] and "tiny" in notes[1]
    assert all(f"ydl: note: {note}" in done.stderr for note in notes)
    assert "note" not in ydl.run("pack", "-q", env).stderr


def test_any_directory_can_be_packed_and_put_anywhere(ydl):
    data = ydl.work / "data"
    (data / "deep" / "__pycache__").mkdir(parents=True)
    (data / "deep" / "x").write_text("text")
    (data / "deep" / "__pycache__" / "x").write_text("")
    told = json.loads(ydl.run("pack", "data", "-o", "d.tar", "--format", "tar", "--json").stdout)
    assert told | {"hash": "", "size": 0} == {
        "path": "d.tar", "kind": "directory", "hash": "", "size": 0, "files": 1, "bytes": 4,
        "python": None, "notes": []}
    with tarfile.open(ydl.work / "d.tar", "r:") as archive:
        assert archive.getnames() == ["deep", "deep/x"]
    name = ydl.run("pack", "data/", "--name", "other").stdout.strip()
    assert name == f"other-{told['hash'][:12]}.tar.gz"
    ydl.run("pack", ".", "-o", "..")
    assert list(ydl.work.parent.glob("work-*.tar.gz"))


@pytest.mark.parametrize("words, code, says", [
    (["nowhere"], 1, "'nowhere' cannot be read: No such file or directory"),
    (["file"], 1, "'file' is not a directory"),
    (["--level", "10", "."], 2, "option '--level': 10 is not from 1 to 9"),
    ([], 2, "Which directory? Try: ydl pack env"),
    ([".", "-o", "missing/x.tar.gz"], 1, "create a file in 'missing': No such file"),
])
def test_wrong_use_is_told(ydl, words, code, says):
    (ydl.work / "file").write_text("")
    assert says in ydl.run("pack", *words, check=code).stderr
    assert [path.name for path in ydl.work.iterdir()] == ["file"]


def test_an_interrupted_one_leaves_nothing(ydl):
    data = ydl.work / "data"
    data.mkdir()
    (data / "noise").write_bytes(os.urandom(1 << 20) * 200)
    for _ in range(6):  # until it was in the middle indeed
        process = ydl.start("pack", "data", "--level", "9")
        while len(list(ydl.work.iterdir())) < 2 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        if process.poll() is None and not list(ydl.work.glob("data-*.tar.gz")):
            break
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate(timeout=50)
        (ydl.work / out.strip()).unlink()
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=50)
    assert process.returncode == 130 and "interrupted" in err
    assert [path.name for path in ydl.work.iterdir()] == ["data"]
