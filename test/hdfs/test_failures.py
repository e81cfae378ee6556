"""DataNodes and NameNodes die, freeze and come back in the middle of a transfer."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from driver import Fed, Running, daemon_at, drive, java, noise
from ydl_cluster.cluster import Cluster
from ydl_cluster.patience import Limit

MIB = 1 << 20
LARGE = 256 * MIB  # two blocks
BROKEN = r"DataNode \d of \d: (?![\d.]+:\d)"  # a reason stands where else an address does


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Made once."""
    path = noise(tmp_path_factory.mktemp("large") / "data", LARGE)
    yield path
    path.unlink()


def same(cluster, path: str, local) -> bool:
    """Whether our reader gives the bytes of the local file."""
    reader = Running(cluster, "get", path, "-", stdout=subprocess.PIPE)
    compared = subprocess.run(["cmp", "-", str(local)], stdin=reader.process.stdout, check=False)
    reader.process.stdout.close()
    return reader.end() == 0 and compared.returncode == 0


def node_of(writer: Running, which: int) -> str:
    """ip:port of the first (1) or second (2) DataNode of the first pipeline."""
    return writer.wait_for(rf"DataNode {which} of 2: ([\d.]+:\d+)")[1]


@pytest.mark.parametrize("which", [1, pytest.param(2, marks=pytest.mark.full)])
def test_a_datanode_dies_during_a_large_put(cluster, large, which):
    for _ in range(6):  # until it was in the middle indeed
        writer = Running(cluster, "--overwrite", "put", large, "/tmp/large")
        victim = daemon_at(cluster, node_of(writer, which))
        writer.freeze()  # or it could be done before the DataNode is dead
        cluster.kill(victim)
        writer.thaw()
        assert writer.end() == 0, writer.lines
        assert same(cluster, "/tmp/large", large)
        if any(re.search(BROKEN, line) for line in writer.lines):
            return
        cluster.heal()
    raise AssertionError(f"it was always done before: {writer.lines}")


@pytest.mark.parametrize("which", [pytest.param(1, marks=pytest.mark.full), 2])
def test_a_datanode_dies_during_a_put_from_a_pipe(cluster, large, which):
    """A pipe cannot be read again: what was not acked must still be in memory."""
    writer = Running(cluster, "--overwrite", "put", "-", "/tmp/piped", stdin=subprocess.PIPE)
    with large.open("rb") as source:
        writer.process.stdin.write(source.read(100 * MIB + 12345))
        cluster.kill(daemon_at(cluster, node_of(writer, which)))
        while part := source.read(MIB):
            writer.process.stdin.write(part)
    writer.process.stdin.close()
    assert writer.end() == 0, writer.lines
    writer.wait_for(BROKEN)
    assert same(cluster, "/tmp/piped", large)


def test_a_datanode_dies_during_a_get(cluster, large, tmp_path):
    drive(cluster, "--overwrite", "put", large, "/tmp/read")
    reader = Running(cluster, "get", "/tmp/read", "-", stdout=subprocess.PIPE)
    with (tmp_path / "copy").open("wb") as copy:
        copy.write(reader.process.stdout.read(50 * MIB + 1))
        cluster.kill(daemon_at(cluster, reader.wait_for(r"from ([\d.]+:\d+)")[1]))
        while part := reader.process.stdout.read(MIB):
            copy.write(part)
    assert reader.end() == 0, reader.lines
    assert len({line.rsplit(" ", 1)[1] for line in reader.lines if " from " in line}) == 2
    subprocess.run(["cmp", tmp_path / "copy", large], check=True)
    (tmp_path / "copy").unlink()


def test_a_flushed_file_survives_the_loss_of_a_datanode(cluster, tmp_path):
    """Chunks that are not full are sent again after each flush, also over a new pipeline."""
    data = noise(tmp_path / "data", 4 * MIB)
    content = data.read_bytes()
    writer = Fed(cluster, "/tmp/flushed", "--block", 2 * MIB)
    writer.feed(content[:MIB + 4711])
    cluster.kill(daemon_at(cluster, node_of(writer, 1)))
    assert writer.finish(content[MIB + 4711:]) == 0, writer.lines
    writer.wait_for(BROKEN)
    assert same(cluster, "/tmp/flushed", data)
    assert java(cluster, "-cat", "/tmp/flushed", text=False).stdout == data.read_bytes()


def test_a_dead_datanode_is_left_out_of_new_blocks(cluster, tmp_path):
    """The NameNode does not know yet that it is dead and goes on naming it."""
    data = noise(tmp_path / "data", 8 * MIB)
    cluster.kill("dn2")
    drive(cluster, "--overwrite", "--block", MIB, "put", data, "/tmp/without")
    assert same(cluster, "/tmp/without", data)


@pytest.mark.full
def test_a_lost_datanode_is_replaced(tmp_path):
    """With three replicas and a flush: another DataNode gets a copy and joins the pipeline."""
    four = Cluster.up(name=f"four-{os.getpid()}", nodes=1, datanodes=4)
    try:
        data = noise(tmp_path / "data", 4 * MIB)
        content = data.read_bytes()
        writer = Fed(four, "/tmp/replaced", "--rep", 3)
        writer.feed(content[:MIB])
        four.kill(daemon_at(four, writer.wait_for(r"DataNode 2 of 3: ([\d.]+:\d+)")[1]))
        assert writer.finish(content[MIB:]) == 0, writer.lines
        members = [line for line in writer.lines if re.search(r" of 3: [\d.]+:\d+$", line)]
        assert len(members) == 6, writer.lines  # three at first, three again afterwards
        assert same(four, "/tmp/replaced", data)
    finally:
        four.down()


def test_nobody_left_is_said(cluster, tmp_path):
    writer = Fed(cluster, "/tmp/alone", "--rep", 1)
    writer.feed(noise(tmp_path / "data", MIB).read_bytes())
    cluster.kill(daemon_at(cluster, writer.wait_for(r"DataNode 1 of 1: ([\d.]+:\d+)")[1]))
    assert writer.finish() == 1
    assert "the last DataNode of the pipeline failed" in writer.lines[-1]
    assert "more replicas" in writer.lines[-1]


def replicas(cluster, size: int) -> dict[str, "Path"]:
    """The files with the two replicas of the one block that has this many bytes, by DataNode. A file is
    complete when one DataNode is done with it; the other is waited for."""
    limit = Limit(60)
    while len(found := _finalized(cluster, size)) < 2:
        assert not limit.over(), found
        time.sleep(0.1)
    return found


def _finalized(cluster, size: int) -> dict[str, "Path"]:
    return {name: Path(directory) / file for name in ("dn1", "dn2")
            for directory, _, files in os.walk(cluster.run_dir / name) if "/finalized" in directory
            for file in files if file.startswith("blk_") and not file.endswith(".meta")
            and os.path.getsize(os.path.join(directory, file)) == size}


def damage(path) -> None:
    with path.open("r+b") as file:
        file.seek(70000)
        file.write(b"these bytes are wrong")


def test_a_damaged_replica_is_never_read(cluster, tmp_path):
    size = 3 * MIB + 4711
    data = noise(tmp_path / "data", size)
    drive(cluster, "--overwrite", "put", data, "/tmp/damaged")
    damage(replicas(cluster, size)["dn1"])
    seen = False
    for _ in range(20):  # until the NameNode has named the bad one first
        reader = Running(cluster, "get", "/tmp/damaged", tmp_path / "copy")
        assert reader.end() == 0, reader.lines
        assert (tmp_path / "copy").read_bytes() == data.read_bytes()
        seen = any("its replica is damaged at byte 69632" in line for line in reader.lines)
        if seen:
            break
    assert seen
    limit = Limit(60)
    while "reportBadBlocks for block" not in cluster.log("nn"):  # which makes a good one now
        assert not limit.over()
        time.sleep(0.1)


def test_only_damaged_replicas_are_said(cluster, tmp_path):
    size = 2 * MIB + 815
    drive(cluster, "--overwrite", "put", noise(tmp_path / "data", size), "/tmp/spoilt")
    for path in replicas(cluster, size).values():
        damage(path)
    run = drive(cluster, "get", "/tmp/spoilt", tmp_path / "copy", check=False)
    assert run.returncode == 1
    assert "read '/tmp/spoilt' at byte " in run.stderr
    assert "is damaged at byte" in run.stderr
    drive(cluster, "rm", "/tmp/spoilt")  # a missing block is seen by whoever looks at the cluster


def test_a_lost_block_is_said(cluster, tmp_path):
    drive(cluster, "--overwrite", "--rep", 1, "put", "-", "/tmp/lost", input="x" * 1000)
    reader = Running(cluster, "get", "/tmp/lost", "-", stdout=subprocess.DEVNULL)
    where = daemon_at(cluster, reader.wait_for(r"from ([\d.]+:\d+)")[1])
    assert reader.end() == 0
    cluster.kill(where)
    run = drive(cluster, "get", "/tmp/lost", "-", check=False)
    assert run.returncode == 1
    assert "read '/tmp/lost' at byte 0: every replica failed, the last: DataNode: connect to" in run.stderr


@pytest.mark.full
def test_a_frozen_datanode_is_left_behind(cluster, tmp_path):
    """It accepts and says nothing, so that only the deadline tells."""
    conf = tmp_path / "conf"
    subprocess.run(["cp", "-r", cluster.conf_dir, conf], check=True)
    site = conf / "hdfs-site.xml"
    site.write_text(site.read_text().replace(
        "</configuration>", "<property><name>dfs.client.socket-timeout</name>"
        "<value>2000</value></property></configuration>"))
    data = noise(tmp_path / "data", 8 * MIB)
    content = data.read_bytes()
    writer = Fed(cluster, "/tmp/frozen", "--block", 4 * MIB, conf=conf)
    writer.feed(content[:MIB])
    victim = daemon_at(cluster, node_of(writer, 1))
    cluster.pause(victim)
    assert writer.finish(content[MIB:]) == 0, writer.lines
    writer.wait_for(BROKEN)
    cluster.resume(victim)
    assert same(cluster, "/tmp/frozen", data)


def gone(cluster, daemon: str) -> None:
    """Waits until a daemon that was asked to leave has left: only then can it be started."""
    limit = Limit(60)
    while cluster.status()["daemons"][daemon]["state"] != "dead":
        assert not limit.over(), f"{daemon} does not end"
        time.sleep(0.05)


@pytest.mark.full
def test_a_datanode_that_restarts_is_waited_for(cluster, tmp_path):
    """The only replica's DataNode announces its restart and comes back."""
    data = noise(tmp_path / "data", 4 * MIB)
    content = data.read_bytes()
    writer = Fed(cluster, "/tmp/restarted", "--rep", 1)
    writer.feed(content[:MIB])
    victim = daemon_at(cluster, writer.wait_for(r"DataNode 1 of 1: ([\d.]+:\d+)")[1])
    port = cluster.status()["daemons"][victim]["address"]
    cluster.java("org.apache.hadoop.hdfs.tools.DFSAdmin", "-shutdownDatanode", port, "upgrade")
    writer.wait_for("it restarts")
    gone(cluster, victim)
    cluster.start(victim)
    assert writer.finish(content[MIB:]) == 0, writer.lines
    assert same(cluster, "/tmp/restarted", data)


@pytest.mark.full
def test_an_expired_block_token_is_renewed(tmp_path):
    """The reader stops for longer than its tokens live; the next block needs a new one."""
    short = Cluster.up(name=f"tokens-{os.getpid()}", nodes=1, kerberos=True, protection="integrity",
                       settings=["hdfs:dfs.block.access.token.lifetime=1",
                                 "hdfs:dfs.block.access.key.update.interval=1"])
    try:
        data = noise(tmp_path / "data", 8 * MIB)
        drive(short, "--block", MIB, "put", data, "/tmp/tokens")
        reader = Running(short, "get", "/tmp/tokens", "-", stdout=subprocess.PIPE)
        content = reader.process.stdout.read(MIB)
        time.sleep(150)
        content += reader.process.stdout.read()
        assert reader.end() == 0, reader.lines
        assert content == data.read_bytes()
        reader.wait_for("(?i)token|refuses to let us sign in")  # one had expired indeed
    finally:
        short.down()


@pytest.mark.full
def test_an_idle_writer_keeps_its_file(cluster, tmp_path):
    """For longer than DataNodes wait for data and than a lease is held without being renewed."""
    data = noise(tmp_path / "data", 4 * MIB)
    content = data.read_bytes()
    writer = Running(cluster, "--overwrite", "put", "-", "/tmp/idle", stdin=subprocess.PIPE)
    writer.process.stdin.write(content[:MIB])
    writer.process.stdin.flush()
    node_of(writer, 1)
    time.sleep(100)
    taken = drive(cluster, "put", "/dev/null", "/tmp/idle", check=False)
    assert "another program is writing that file" in taken.stderr
    writer.process.stdin.write(content[MIB:])
    writer.process.stdin.close()
    assert writer.end() == 0, writer.lines
    assert not any(re.search(BROKEN, line) for line in writer.lines), writer.lines
    assert same(cluster, "/tmp/idle", data)


def put_across_failover(cluster, tmp_path, change) -> None:
    data = noise(tmp_path / "data", 24 * MIB)
    writer = Running(cluster, "--overwrite", "-p", "--block", 4 * MIB, "put", "-", "/tmp/ha/file",
                     stdin=subprocess.PIPE)
    content = data.read_bytes()
    writer.process.stdin.write(content[:9 * MIB])
    writer.process.stdin.flush()
    node_of(writer, 1)
    change()
    writer.process.stdin.write(content[9 * MIB:])
    writer.process.stdin.close()
    assert writer.end() == 0, writer.lines
    assert same(cluster, "/tmp/ha/file", data)


def test_the_other_namenode_takes_over(ha_cluster, tmp_path):
    put_across_failover(ha_cluster, tmp_path, lambda: ha_cluster.failover("nn"))


@pytest.mark.full
def test_the_active_namenode_dies(ha_cluster, tmp_path):
    def kill_active():
        ha_cluster.kill(ha_cluster.active("nn"))
        time.sleep(1)
        ha_cluster.failover("nn")

    put_across_failover(ha_cluster, tmp_path, kill_active)


def test_encrypted_transfer_survives_a_datanode(krb_cluster, tmp_path):
    data = noise(tmp_path / "data", 32 * MIB)
    writer = Running(krb_cluster, "--overwrite", "--block", 16 * MIB, "put", "-", "/tmp/secret",
                     stdin=subprocess.PIPE)
    content = data.read_bytes()
    writer.process.stdin.write(content[:5 * MIB])
    writer.process.stdin.flush()
    krb_cluster.kill(daemon_at(krb_cluster, node_of(writer, 1)))
    writer.process.stdin.write(content[5 * MIB:])
    writer.process.stdin.close()
    assert writer.end() == 0, writer.lines
    assert same(krb_cluster, "/tmp/secret", data)
