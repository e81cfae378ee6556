"""Pushes that are killed, race each other, or read files that change; and who may read what."""

import json
import os
import pty
import random
import re
import signal
import subprocess
import time

import pytest
from model_support import Registry, handler, ydl
from ydl_cluster.guide import blocks_of


def staged(registry) -> list[str]:
    return os.listdir(os.path.join(registry.place, ".staging"))


def test_a_killed_push_leaves_nothing_that_is_seen(registry, hello):
    """At many moments: each is where the push was after another while."""
    for name in ("a", "b", "c"):
        (hello / name).write_bytes(os.urandom(4 << 20))
    begun = time.monotonic()
    registry.ok("push", hello, "m")
    whole = time.monotonic() - begun
    dice = random.Random(1)
    killed = 0
    for _ in range(40):
        before = registry.versions("m")
        push = registry.start("push", hello, "m", stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        time.sleep(dice.uniform(0, whole))
        push.kill()
        code = push.wait()
        killed += code == -signal.SIGKILL
        after = registry.versions("m")
        assert len(after) - len(before) == (1 if code == 0 else len(after) - len(before))
        assert after[:len(before)] == before and len(after) <= len(before) + 1
    assert killed >= 10
    assert all(v["ok"] for v in registry.json("verify", "m")["versions"])
    last = registry.json("push", hello, "m")["version"]
    assert registry.versions("m") == list(range(1, last + 1))
    swept = registry.json("prune", "--keep", "1000")["staging"]
    assert staged(registry) == [] and all(s["removed"] for s in swept)


def test_what_a_living_push_writes_is_not_swept(registry, hello):
    os.makedirs(registry.place)
    (hello / "big").write_bytes(bytes(256 << 20))
    push = registry.start("push", hello, "m", stdout=subprocess.DEVNULL)
    while not os.path.isdir(f"{registry.place}/.staging") or not staged(registry):
        assert push.poll() is None
        time.sleep(0.001)
    push.send_signal(signal.SIGSTOP)
    try:
        assert registry.json("prune")["staging"] == []
        assert len(staged(registry)) == 1
    finally:
        push.send_signal(signal.SIGCONT)
    assert push.wait() == 0
    assert registry.versions("m") == [1]


def test_what_is_staged_is_nobody_elses_to_read(registry, hello):
    """Not even while its number is taken by another writer and it looks for the next one."""
    os.makedirs(f"{registry.place}/.staging")
    pushes = [registry.start("push", hello, "m", stdout=subprocess.DEVNULL) for _ in range(16)]
    modes = set()
    while any(p.poll() is None for p in pushes):
        for entry in os.scandir(f"{registry.place}/.staging"):
            try:
                if os.listdir(entry.path):  # before that there is nothing to see
                    modes.add(entry.stat(follow_symlinks=False).st_mode & 0o777)
            except FileNotFoundError:
                pass  # published since
    assert modes and not any(m & 0o077 for m in modes), [oct(m) for m in modes]
    assert all(p.returncode == 0 for p in pushes) and len(registry.versions("m")) == 16


def test_an_interrupted_push_cleans_up(registry, hello):
    (hello / "big").write_bytes(bytes(256 << 20))
    os.makedirs(registry.place)
    push = registry.start("push", hello, "m", stderr=subprocess.DEVNULL)
    while not os.path.isdir(f"{registry.place}/.staging") or not staged(registry):
        time.sleep(0.001)
    push.send_signal(signal.SIGINT)
    assert push.wait() == 130
    assert staged(registry) == []


@pytest.mark.parametrize("writers", [2, 20])
@pytest.mark.parametrize("kind", [
    "registry", pytest.param("hdfs_registry", marks=pytest.mark.clusters("cluster"))])
def test_writers_at_the_same_time_get_numbers_without_gaps(request, hello, kind, writers):
    registry = request.getfixturevalue(kind)
    pushes = [registry.start("push", hello, "m", "--json", stdout=subprocess.PIPE, text=True)
              for _ in range(writers)]
    got = [json.loads(p.communicate()[0])["version"] for p in pushes]
    assert sorted(got) == list(range(1, writers + 1)) == registry.versions("m")


def test_of_two_writers_of_one_version_one_is_refused(registry, tmp_path):
    for version in range(1, 6):
        pushes = [registry.start("push", handler(tmp_path / f"m{i}", str(i)), f"m:{version}",
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                  for i in range(2)]
        says = [p.communicate()[1] for p in pushes]
        assert sorted(p.returncode for p in pushes) == [0, 73], says
        assert any("versions never change" in s for s in says)
    assert registry.versions("m") == [1, 2, 3, 4, 5]
    assert staged(registry) == []


def test_of_many_who_move_an_alias_each_is_told_what_happened(registry, hello):
    for _ in range(8):
        registry.ok("push", hello, "m")
    moves = [registry.start("alias", "m@a", v, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True) for v in range(1, 9)]
    done = [(p.communicate()[1], p.returncode) for p in moves]
    assert all(code == 0 or (code == 73 and "at the same time" in says) for says, code in done)
    won = sum(code == 0 for _, code in done)
    history = sorted(int(n.removesuffix(".json"))
                     for n in os.listdir(f"{registry.place}/m/aliases/a"))
    assert won >= 1 and history == list(range(1, won + 1))


def test_a_file_that_changes_meanwhile_is_refused(registry, hello):
    big = hello / "big"
    big.write_bytes(bytes(300 << 20))
    os.makedirs(registry.place)
    push = registry.start("push", hello, "m", stderr=subprocess.PIPE, text=True)
    while not os.path.isdir(f"{registry.place}/.staging") or not staged(registry):
        time.sleep(0.001)
    with big.open("r+b") as f:
        f.write(b"x")
    says = push.communicate()[1]
    assert push.returncode == 1 and "changed" in says, says
    assert registry.json("list")["models"] == []


def test_a_long_upload_shows_how_far_it_is(registry, hello):
    (hello / "big").write_bytes(bytes(300 << 20))
    terminal, its_end = pty.openpty()
    registry.env["TERM"] = "xterm"
    push = registry.start("push", hello, "m", stderr=its_end, stdout=subprocess.DEVNULL)
    os.close(its_end)
    seen = b""
    try:
        while part := os.read(terminal, 4096):
            seen += part
    except OSError:
        pass  # its other end was closed
    assert push.wait() == 0
    assert re.search(rb"big.*\d+ %.*of 300 MB", seen), seen[:500]
    quiet = registry("push", hello, "m", "-q")
    assert quiet.returncode == 0 and quiet.stderr == ""


def test_who_may_not_read_a_model_neither_lists_nor_pulls_it(needs_root, registry, hello, tmp_path):
    for name in ("open", "closed"):
        registry.ok("push", hello, name)
    os.chmod(f"{registry.place}/closed", 0o750)
    nobody = Registry(registry.place, registry.env | {"HOME": "/nonexistent"}, "/")
    for path in [tmp_path, *tmp_path.parents]:
        if path.stat().st_uid == os.getuid() and not path.stat().st_mode & 1:
            path.chmod(path.stat().st_mode | 0o011)
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    seen = nobody("list", "--json", **as_nobody)
    assert seen.returncode == 0, seen.stderr
    assert [m["name"] for m in json.loads(seen.stdout)["models"]] == ["open"]
    assert json.loads(seen.stdout)["denied"] == ["closed"]
    for words in (["list", "closed"], ["show", "closed"], ["show", "closed:1"],
                  ["pull", "closed", "/tmp/never"], ["verify", "closed"],
                  ["export", "closed:1", "/tmp"]):
        nobody.fails(77, *words, says="Permission denied", **as_nobody)
    nobody.fails(77, "push", hello, "mine", says="Permission denied", **as_nobody)
    nobody.ok("verify", "open", **as_nobody)


def test_a_group_shares_one_model(needs_root, registry, hello, tmp_path):
    """Whoever may write to a model's directory publishes there; versions stay read-only."""
    os.makedirs(registry.place, mode=0o775)
    os.chmod(registry.place, 0o2775)
    os.chown(registry.place, 0, 65534)
    for path in [tmp_path, *tmp_path.parents]:
        if path.stat().st_uid == os.getuid() and not path.stat().st_mode & 1:
            path.chmod(path.stat().st_mode | 0o011)
    as_other = {"user": 1234, "group": 65534, "extra_groups": []}
    registry.ok("push", hello, "m")
    registry.ok("push", hello, "m", **as_other)
    registry.ok("alias", "m@a", "1", **as_other)
    assert registry.versions("m") == [1, 2]
    assert registry.json("show", "m:2")["created_by"] != registry.json("show", "m:1")["created_by"]
    assert os.stat(f"{registry.place}/m/versions/2").st_mode & 0o777 == 0o555
    assert staged(registry) == []


TEAM = """
mount --make-rprivate /
mount -t tmpfs tmpfs /srv
cp /etc/group "$0/group"
echo 'vision:x:4321:' >> "$0/group"
mount --bind "$0/group" /etc/group
as() {{ # UID GID WORDS
    setpriv --reuid "$1" --regid "$2" --clear-groups "$YDL" model "${{@:3}}" --registry /srv/models
}}
{share}
umask 002
as 1234 4321 push "$0/hello" resnet
as 1235 4321 push "$0/hello" resnet
as 1236 65534 show resnet:2
{close}
as 1235 4321 show resnet:2
! as 1236 65534 show resnet:2 2> "$0/said"
grep 'Permission denied' "$0/said"
! as 1236 65534 push "$0/hello" mine 2> "$0/said"
grep 'Permission denied' "$0/said"
"""


def test_what_the_guide_does_for_a_team_does_it(needs_root, registry, hello, tmp_path):
    """In a view of the file system with a /srv of its own and a group `vision`: its members publish; others read, until
    a model is closed."""
    share, close = blocks_of("doc/guide/models.md", __file__)
    for path in [tmp_path, *tmp_path.parents]:
        if path.stat().st_uid == os.getuid() and not path.stat().st_mode & 1:
            path.chmod(path.stat().st_mode | 0o011)
    done = subprocess.run(["unshare", "--mount", "bash", "-exc", TEAM.format(share=share, close=close), tmp_path],
                          env=registry.env | {"HOME": "/nonexistent", "YDL": ydl()}, cwd="/", text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
