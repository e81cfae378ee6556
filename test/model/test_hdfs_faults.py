"""A registry on a real HDFS: DataNodes that die, pushes that are killed, users who may not read."""

import importlib.util
import json
import os
import random
import signal
import subprocess
import time

import pytest
from model_support import ROOT, Registry
from ydl_cluster.patience import Limit

_SPEC = importlib.util.spec_from_file_location("hdfs_driver_support", ROOT / "test/hdfs/driver.py")
driver = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(driver)


@pytest.fixture
def large(hello):
    """A model of 512 MB."""
    driver.noise(hello / "weights", 512 << 20)
    yield hello
    (hello / "weights").unlink()


def staged(cluster, registry: Registry) -> str:
    return cluster.fs("-ls", f"{registry.place}/.staging", check=False).stdout.strip()


@pytest.mark.full
def test_a_datanode_dies_during_a_push(cluster, hdfs_registry, large, tmp_path):
    """The version is complete all the same, and read back byte by byte."""
    trace = tmp_path / "trace"
    registry = Registry(hdfs_registry.place, hdfs_registry.env | {"YDL_TRACE": "hdfs"}, tmp_path)
    for _ in range(6):  # until it was in the middle indeed
        with trace.open("w") as log:
            push = registry.start("push", large, "m", stdout=subprocess.DEVNULL, stderr=log)
        limit = Limit(120)
        while len(found := [line for line in trace.read_text().splitlines()
                            if "DataNode 1 of 2: " in line]) < 2:  # model.py, then weights
            assert not limit.over() and push.poll() is None, trace.read_text()[-2000:]
            time.sleep(0.005)
        push.send_signal(signal.SIGSTOP)
        victim = driver.daemon_at(cluster, found[-1].rsplit(" ", 1)[1])
        cluster.kill(victim)
        push.send_signal(signal.SIGCONT)
        assert push.wait() == 0, trace.read_text()[-2000:]
        if driver.re.search(r"DataNode \d of \d: (?![\d.]+:\d)", trace.read_text()):
            break
        cluster.heal()
    else:
        raise AssertionError("it was always done before")
    assert registry.json("verify", "m")["versions"][-1]["ok"]


@pytest.mark.full
def test_a_push_without_datanodes_fails_and_leaves_nothing(cluster, hdfs_registry, hello):
    assert hdfs_registry.json("push", hello, "m")["version"] == 1
    for node in ("dn1", "dn2"):
        cluster.kill(node)
    done = hdfs_registry("push", hello, "m")
    assert done.returncode not in (0, 70), (done.returncode, done.stderr)
    there = cluster.fs("-ls", "-C", f"{hdfs_registry.place}/m/versions").stdout.split()
    assert [path.rsplit("/", 1)[1] for path in there] == ["1"]
    cluster.heal()
    limit = Limit(120)
    while (done := hdfs_registry("push", hello, "m", "--json")).returncode != 0:
        assert not limit.over(), done.stderr  # the NameNode waits for its DataNodes
        time.sleep(0.5)
    assert json.loads(done.stdout)["version"] == 2 and hdfs_registry.versions("m") == [1, 2]


@pytest.mark.parametrize("rounds, least", [(5, 1), pytest.param(12, 3, marks=pytest.mark.full)])
def test_a_push_that_is_killed_leaves_nothing_that_is_seen(cluster, hdfs_registry, hello, rounds, least):
    (hello / "weights").write_bytes(os.urandom(32 << 20))
    hdfs_registry.ok("push", hello, "m")
    begun = time.monotonic()
    hdfs_registry.ok("push", hello, "m")
    whole = time.monotonic() - begun
    dice = random.Random(2)
    killed, seen = 0, [1, 2]
    for _ in range(rounds):
        push = hdfs_registry.start("push", hello, "m", stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(dice.uniform(0, whole))
        push.kill()
        killed += push.wait() == -signal.SIGKILL
        now = hdfs_registry.versions("m")
        assert now[:len(seen)] == seen and len(now) <= len(seen) + 1
        seen = now
    assert killed >= least
    assert all(v["ok"] for v in hdfs_registry.json("verify", "m")["versions"])
    assert hdfs_registry.json("push", hello, "m")["version"] == len(seen) + 1
    hdfs_registry.ok("prune", "--keep", "1000")
    assert staged(cluster, hdfs_registry) == ""


def test_hdfs_permissions_decide_who_reads(cluster, hdfs_registry, hello, tmp_path):
    for name in ("open", "closed"):
        hdfs_registry.ok("push", hello, name)
    cluster.fs("-chmod", "750", f"{hdfs_registry.place}/closed")
    mallory = Registry(hdfs_registry.place, cluster.env("mallory"), tmp_path)
    listed = mallory.json("list")
    assert [m["name"] for m in listed["models"]] == ["open"] and listed["denied"] == ["closed"]
    for words in (["list", "closed"], ["show", "closed"], ["pull", "closed", tmp_path / "x"],
                  ["verify", "closed"], ["export", "closed:1", tmp_path / "y"]):
        mallory.fails(77, *words, says="ermission denied")
    mallory.fails(77, "push", hello, "mine", says="ermission denied")
    mallory.fails(77, "rm", "open:1", says="ermission denied")
    assert mallory.json("verify", "open")["versions"][0]["ok"]


def test_it_works_with_kerberos_and_encryption(krb_cluster, hello, tmp_path):
    place = f"hdfs:///tmp/models-{os.getpid()}"
    registry = Registry(place, krb_cluster.env(None), tmp_path)
    registry.ok("push", hello, "m")
    registry.ok("alias", "m@a", "1")
    registry.ok("pull", "m@a", tmp_path / "back")
    subprocess.run(["diff", "-r", hello, tmp_path / "back"], check=True)
    assert registry.json("verify")["versions"][0]["ok"]
