"""What a job needs gets to the cluster once, whole, and to a node as it was here."""

import itertools
import os
import signal
import time
import zipfile

import pytest

from sending import Sender, noise, settle
from ydl_cluster.patience import Limit

_NUMBERS = itertools.count()


@pytest.fixture
def sender(cluster, tmp_path):
    base = f"/tmp/ship-{os.getpid()}-{next(_NUMBERS)}/.ydl"
    yield Sender(cluster, tmp_path, base)
    cluster.fs("-rm", "-r", "-f", "-skipTrash", base.removesuffix("/.ydl"))


@pytest.mark.parametrize("mib", [64, pytest.param(500, marks=pytest.mark.full)])
def test_the_second_time_nothing_is_sent_or_read(sender, mib):
    noise(sender.work / "env.tar.gz", mib)
    sender.job("archives: [env.tar.gz: env]\n")
    settle()
    first, second = sender.put(), sender.put()
    assert [f["sent"] for f in (first["files"][0], second["files"][0])] == [True, False]
    assert second["files"][0] == first["files"][0] | {"sent": False}
    print(f"{mib} MB: {first['ms']} ms, again {second['ms']} ms, {first['rss_kb']} KB resident")
    assert first["read"] > mib << 20 and 0 <= second["read"] < 4 << 20
    assert first["rss_kb"] < 24 << 10


def test_it_stands_under_its_hash_and_only_for_its_owner(sender):
    (sender.work / "x y.txt").write_text("hello\n")
    sender.job("files: ['x y.txt']\n")
    file = sender.put()["files"][0]
    digest = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    assert file["key"] == f"{digest}/x_y.txt"
    assert file["url"].startswith("hdfs://")
    assert sender.cluster.fs("-cat", file["url"]).stdout == "hello\n"
    modes = sender.cluster.fs("-stat", "%a %Y", sender.base, f"{sender.base}/cache",
                              f"{sender.base}/cache/{digest}", file["url"]).stdout.split()
    assert modes[::2] == ["700", "700", "700", "600"]
    assert modes[7] == str(file["timestamp"])


def test_a_change_inside_a_directory_is_seen(sender):
    (sender.work / "data" / "deep").mkdir(parents=True)
    inner = sender.work / "data" / "deep" / "x"
    inner.write_text("one")
    sender.job("files: [data]\n")
    settle()
    keys = [sender.put()["files"][0]["key"]]
    times = inner.stat()
    for text, wait in (("two", lambda: None), ("six", settle)):  # also when it is not new any more
        inner.write_text(text)
        os.utime(inner, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a tool might that hides it
        wait()
        keys.append(sender.put()["files"][0]["key"])
    inner.chmod(0o755)
    keys.append(sender.put()["files"][0]["key"])
    assert len(set(keys)) == 4
    inner.chmod(0o700)  # still executable: the archive is the same
    assert not sender.put()["files"][0]["sent"]


def test_two_at_once_both_succeed(sender):
    noise(sender.work / "big", 32)
    sender.job("files: [big]\n")
    runs = [sender.start() for _ in range(3)]
    assert all(run.wait(120) == 0 for run in runs)
    names = sender.names()
    assert len(names) == 1 and not names[0].startswith(".")


def stopped_while_sending(sender):
    """One that is stopped (SIGSTOP) in the middle of a large file, however late we saw it."""
    sender.job("files: [big]\n")
    for _ in range(6):
        noise(sender.work / "big", 256)
        before, run = set(sender.names()), sender.start()
        while run.poll() is None and not set(sender.names()) - before:
            time.sleep(0.01)
        run.send_signal(signal.SIGSTOP)
        now = set(sender.names()) - before
        if run.poll() is None and now and all(name.startswith(".put-") for name in now):
            return run
        run.send_signal(signal.SIGCONT)
        assert run.wait(120) == 0
        sender.cache("prune", "--all")
    raise AssertionError("it was always done before")


def test_what_a_killed_client_left_is_never_used_and_goes(sender):
    run = stopped_while_sending(sender)
    run.kill()
    run.wait()
    assert all(name.startswith(".put-") for name in sender.names())
    assert sender.put()["files"][0]["sent"]
    assert len(sender.names()) == 1 and not sender.names()[0].startswith(".")


def test_interrupted_leaves_nothing(sender):
    run = stopped_while_sending(sender)
    run.terminate()
    run.send_signal(signal.SIGCONT)
    assert run.wait(60) == 1
    assert sender.names() == []


def test_a_node_gets_what_was_here(sender, tmp_path):
    """Real YARN brings and unpacks it: the bundle, a directory, a zip, a file on HDFS."""
    odd = "odd $name `x`.txt"
    long = "n" * 150 + ".py"
    for name in ("train.py", "model.py", long, odd, "data/deep/a.csv", "pkg/__init__.py",
                 "pkg/run.sh", "conf/site.ini"):
        (sender.work / name).parent.mkdir(parents=True, exist_ok=True)
        (sender.work / name).write_text(name)
    (sender.work / "pkg/run.sh").chmod(0o755)
    with zipfile.ZipFile(sender.work / "env.zip", "w") as archive:
        archive.writestr("bin/tool", "x")
    sender.cluster.fs("-mkdir", "-p", sender.base)
    sender.cluster.fs("-put", str(sender.work / "train.py"), f"{sender.base}/there")
    sender.job(f"files: [conf, 'hdfs://{sender.base}/there': there-too]\n"
               "archives: [env.zip: env]\n"
               f"roles: {{w: {{command: [python, train.py, --d=data, '{odd}']}}}}\n")
    out = tmp_path / "arrived"
    sender.put("look", out)
    limit = Limit(120)
    while not out.exists():
        assert not limit.over(), "the container did not run"
        time.sleep(0.05)
    rows = [line.split("\t") for line in out.read_text().splitlines()]
    arrived = {name: (kind, int(mode, 8), int(size)) for name, kind, mode, size in rows}
    for name in ("train.py", "model.py", long, odd, "data/deep/a.csv", "pkg/__init__.py",
                 "pkg/run.sh"):
        assert arrived[f"ydl-ship/{name}"][::2] == ("f", len(name))
    assert arrived["ydl-ship/pkg/run.sh"][1] & 0o100
    assert arrived["conf/site.ini"][2] == len("conf/site.ini")
    assert arrived["env/bin/tool"][2] == 1
    assert arrived["there-too"][2] == len("train.py")
    assert not [name for name in arrived if name.startswith("ydl-ship/conf")]


def test_prune_keeps_what_lives_and_sweeps_what_has_ended(sender):
    began = time.time()
    app = f"application_{int(time.time() * 1000)}_0001"  # the ResourceManager does not know it
    for name in ("used", "unused"):
        (sender.work / name).write_text(name)
    sender.job("files: [unused]\n")
    sender.put()
    sender.job("files: [used]\n")
    sender.put("use", app)
    listed = {e["name"]: e for e in sender.cache("list")["entries"]}
    assert listed["used"]["users"] == [app] and listed["unused"]["users"] == []
    assert began - 1 < listed["used"]["used_ms"] / 1000 < time.time() + 1
    assert sender.cache("prune")["removed"] == []
    assert [e["name"] for e in sender.cache("prune", "--all", "--dry-run")["removed"]] == ["unused"]
    gone = sender.cache("prune", "--all")
    assert [e["name"] for e in gone["removed"]] == ["unused"] and gone["jobs"] == 0
    assert [e["name"] for e in sender.cache("list")["entries"]] == ["used"]
    # Nobody submitted it for hours: it will never be.
    old = time.strftime("%Y%m%d:%H%M%S", time.gmtime(time.time() - 7200))
    sender.cluster.fs("-touch", "-m", "-t", old, f"{sender.base}/jobs/{app}")
    gone = sender.cache("prune", "--all")
    assert gone["jobs"] == 1 and [e["name"] for e in gone["removed"]] == ["used"]
    assert sender.cache("list")["entries"] == []
