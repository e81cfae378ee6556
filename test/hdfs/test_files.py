"""Files and trees against a real HDFS, with Hadoop's own client as the judge."""

import contextlib
import os
import pwd
import subprocess
import time
from pathlib import Path

import pytest
from driver import Fed, Running, contents, drive, java, noise, refused, tree
from ydl_cluster.cluster import Cluster

OLD = pytest.param("old_cluster", marks=pytest.mark.full)
EVERYWHERE = pytest.mark.parametrize("each_cluster", ["cluster", "krb_cluster", OLD], indirect=True)
MIB = 1 << 20
PACKET = 252 * 512  # data in one of our packets; Java's have half of it
# FsShell waits 400 ms for each file's last block unless told otherwise.
QUICK_CLOSE = "-Ddfs.client.block.write.locateFollowingBlock.initial.delay.ms=10"
# Everything that a file may be called in HDFS and that something on the way might stumble over.
NAMES = ["with space", " leading", "trailing ", "percent%20", "%", "a+b&c=d", "#hash", "q?mark",
         "star*", "br[ack]et", "cur{ly}", "back\\slash", "quo'te", 'dou"ble', "dollar$HOME", "`tick`",
         "tab\there", "new\nline", "semi;colon", "pi|pe", "less<more>", "~tilde", "@at", "!bang",
         "com,ma", "(paren)", "^caret", ".hidden", "..two", "-dash", "Größe", "日本語", "😀",
         "e\u0301", "c1\u0085control", "x" * 200 + ".tar.gz"]
LONGEST = "n" * 255


@EVERYWHERE
def test_trees_are_the_same_for_both_clients(each_cluster, tmp_path):
    ours = tree(tmp_path / "ours", seed=7)
    drive(each_cluster, "--block", MIB, "puttree", ours, "/tmp/ours")
    java(each_cluster, "-get", "/tmp/ours", tmp_path / "by-java")
    assert contents(tmp_path / "by-java") == contents(ours)

    theirs = tree(tmp_path / "theirs", seed=8)
    java(each_cluster, f"-Ddfs.blocksize={MIB}", QUICK_CLOSE, "-put", theirs, "/tmp/theirs")
    drive(each_cluster, "gettree", "/tmp/theirs", tmp_path / "by-us")
    assert contents(tmp_path / "by-us") == contents(theirs)

    for path in ("/tmp/ours", "/tmp/theirs"):
        count = java(each_cluster, "-count", path).stdout.split()
        length, _, files, dirs, _, _ = drive(each_cluster, "du", path).stdout.split()
        assert [dirs, files, length] == count[:3]
        drive(each_cluster, "-r", "rm", path)


@pytest.mark.parametrize("each_cluster", ["cluster", "krb_cluster", "old_cluster"], indirect=True)
def test_every_edge_of_packets_and_blocks(each_cluster, tmp_path):
    """Sizes around a chunk, a packet, a block and two; the same from a pipe, which has no size."""
    sizes = [0, 1, 511, 512, 513, 64511, 64512, 64513, PACKET - 1, PACKET, PACKET + 1,
             MIB - 1, MIB, MIB + 1, 2 * MIB]
    data = noise(tmp_path / "data", 2 * MIB).read_bytes()
    (tmp_path / "in").mkdir()
    for size in sizes:
        (tmp_path / "in" / f"{size}").write_bytes(data[:size])
        drive(each_cluster, "-p", "--overwrite", "--block", MIB, "put", "-", f"/tmp/edge/p{size}",
              input=data[:size])
    drive(each_cluster, "--block", MIB, "puttree", tmp_path / "in", "/tmp/edge")
    drive(each_cluster, "gettree", "/tmp/edge", tmp_path / "out")
    for size in sizes:
        assert (tmp_path / "out" / f"{size}").read_bytes() == data[:size]
        assert (tmp_path / "out" / f"p{size}").read_bytes() == data[:size]
    drive(each_cluster, "-r", "rm", "/tmp/edge")


@contextlib.contextmanager
def without_aes(cluster, daemon):
    """A DataNode as one is whose configuration says nothing of ciphers."""
    site = Path(cluster.conf_dir) / "hdfs-site.xml"
    before = site.read_text()
    try:
        site.write_text(before.replace("dfs.encrypt.data.transfer.cipher.suites", "of.nobody"))
        try:
            cluster.restart(daemon)
        finally:
            site.write_text(before)
        yield
    finally:
        cluster.restart(daemon)


def test_each_datanode_encrypts_as_it_can(krb_cluster, tmp_path):
    """With AES, or with a cipher of DIGEST-MD5 where it was not set up for AES."""
    data, ways = noise(tmp_path / "data", 300_000), set()
    with without_aes(krb_cluster, "dn1"):
        for _ in range(40):  # until both DataNodes have been chosen
            for words in (("--overwrite", "--rep", 1, "put", data, "/tmp/encrypted"),
                          ("get", "/tmp/encrypted", tmp_path / "copy")):
                ours = Running(krb_cluster, *words)
                assert ours.end() == 0, ours.lines
                ways |= {(line.rsplit("signed in, ")[1], words[-3]) for line in ours.lines
                         if "signed in, " in line}
            assert (tmp_path / "copy").read_bytes() == data.read_bytes()
            if len(ways) == 4:
                break
    assert ways == {(way, verb) for way in ("AES", "auth-conf") for verb in ("put", "get")}


def test_any_part_of_a_file_can_be_read(cluster, tmp_path):
    data = noise(tmp_path / "data", 3 * MIB + 17).read_bytes()
    drive(cluster, "--overwrite", "--block", MIB, "put", tmp_path / "data", "/tmp/part")
    for offset, length in [(0, 1), (511, 2), (MIB - 1, 2), (MIB, MIB), (100, 3 * MIB),
                           (3 * MIB + 16, 100), (3 * MIB + 17, 5), (9 * MIB, 1)]:
        part = drive(cluster, "--offset", offset, "--length", length, "pread", "/tmp/part",
                     text=False).stdout
        assert part == data[offset:offset + length]
        rest = drive(cluster, "--offset", offset, "get", "/tmp/part", "-", text=False).stdout
        assert rest == data[offset:]


def test_every_legal_name(cluster, tmp_path):
    (tmp_path / "in").mkdir()
    for i, name in enumerate([*NAMES, LONGEST]):
        (tmp_path / "in" / name).write_text(f"{i}")
    drive(cluster, "puttree", tmp_path / "in", "/tmp/names")
    drive(cluster, "gettree", "/tmp/names", tmp_path / "by-us")
    assert contents(tmp_path / "by-us") == contents(tmp_path / "in")
    (tmp_path / "in" / LONGEST).unlink()  # FsShell adds to a name while it copies
    drive(cluster, "rm", f"/tmp/names/{LONGEST}")
    java(cluster, "-get", "/tmp/names", tmp_path / "by-java")
    assert contents(tmp_path / "by-java") == contents(tmp_path / "in")
    assert "is longer than 255 bytes" in refused(cluster, "put", "/dev/null", "/tmp/" + "n" * 256)
    assert "allows no ':'" in refused(cluster, "stat", "/tmp/a:b")
    assert b"UTF-8" in drive(cluster, "stat", os.fsdecode(b"/tmp/\xff\xfe"), check=False,
                             text=False).stderr
    drive(cluster, "-r", "rm", "/tmp/names")


def test_a_directory_of_many_pages(cluster, tmp_path):
    """The NameNode gives a thousand names at a time."""
    (tmp_path / "in").mkdir()
    for i in range(2100):
        (tmp_path / "in" / f"f{i:04}").touch()
    drive(cluster, "--jobs", 32, "puttree", tmp_path / "in", "/tmp/many")
    names = [line.rsplit("/", 1)[1] for line in drive(cluster, "ls", "/tmp/many").stdout.splitlines()]
    assert names == [f"f{i:04}" for i in range(2100)]
    found = drive(cluster, "glob", "/tmp/ma{ny,yhem}/f20[0-4]?").stdout.splitlines()
    assert len(found) == 50
    assert drive(cluster, "glob", "/tmp/nothing*/x").stdout == ""
    drive(cluster, "-r", "rm", "/tmp/many")


def test_attributes_are_what_was_asked_for(cluster):
    drive(cluster, "-p", "--mode", 0o640, "--rep", 1, "--block", 2 * MIB, "put", "/dev/null",
          "/tmp/attr/file")
    assert java(cluster, "-stat", "%a %r %o", "/tmp/attr/file").stdout.split() == [
        "640", "1", str(2 * MIB)]
    assert java(cluster, "-stat", "%a", "/tmp/attr").stdout.strip() == "755"
    drive(cluster, "--mode", 0o1777, "chmod", "/tmp/attr")
    java(cluster, "-chown", "bob", "/tmp/attr/file")
    assert drive(cluster, "stat", "/tmp/attr/file").stdout.split()[1:4] == ["0640", "1", "bob"]
    assert drive(cluster, "stat", "/tmp/attr").stdout.split()[1] == "1777"
    drive(cluster, "-r", "rm", "/tmp/attr")


def test_names_move(cluster):
    drive(cluster, "-p", "put", "-", "/tmp/mv/a", input="one")
    drive(cluster, "-p", "put", "-", "/tmp/mv/b", input="two")
    assert "it exists already" in refused(cluster, "mv", "/tmp/mv/a", "/tmp/mv/b")
    drive(cluster, "--overwrite", "mv", "/tmp/mv/a", "/tmp/mv/b")
    assert drive(cluster, "get", "/tmp/mv/b", "-").stdout == "one"
    assert "no such file" in refused(cluster, "stat", "/tmp/mv/a")
    assert "the directory is not empty" in refused(cluster, "rm", "/tmp/mv")
    drive(cluster, "-r", "rm", "/tmp/mv")
    assert "no such file" in refused(cluster, "rm", "/tmp/mv")


def test_what_cannot_be_done_is_said_in_a_sentence(cluster):
    drive(cluster, "-p", "mkdir", "/tmp/dir")
    drive(cluster, "--overwrite", "put", "-", "/tmp/file", input="x")
    said = {
        "read '/tmp/none': no such file or directory": ["get", "/tmp/none", "-"],
        "read '/tmp/dir': it is a directory": ["get", "/tmp/dir", "-"],
        "create '/tmp/file': it exists already": ["put", "/dev/null", "/tmp/file"],
        "create '/tmp/dir': it is a directory": ["--overwrite", "put", "/dev/null", "/tmp/dir"],
        "create '/tmp/file/x': a part of the path is not a directory":
            ["put", "/dev/null", "/tmp/file/x"],
        "create '/tmp/no/x': there is no directory '/tmp/no'": ["put", "/dev/null", "/tmp/no/x"],
        "list '/tmp/none': no such file or directory": ["ls", "/tmp/none"],
        "delete '/': the root is never deleted": ["-r", "rm", "/"],
    }
    for sentence, arguments in said.items():
        assert refused(cluster, *arguments).startswith(sentence)
    denied = refused(cluster, "put", "/dev/null", "/user/x", user="bob")
    assert denied.startswith("create '/user/x': permission denied for user 'bob', who needs WRITE "
                             f"on '/user' (drwxr-xr-x {pwd.getpwuid(os.geteuid()).pw_name}:")


def test_a_full_quota_is_said(cluster):
    drive(cluster, "-p", "mkdir", "/tmp/quota")
    cluster.java("org.apache.hadoop.hdfs.tools.DFSAdmin", "-setSpaceQuota", "1m", "/tmp/quota")
    assert "quota" in refused(cluster, "put", "-", "/tmp/quota/x", input="x")
    assert "no such file" in refused(cluster, "stat", "/tmp/quota/x")
    drive(cluster, "-r", "rm", "/tmp/quota")


def test_no_datanode_for_a_block_is_said(cluster):
    """Every DataNode excluded or down: here because each file wants more room than there is."""
    big = 1 << 47
    text = refused(cluster, "--overwrite", "--block", big, "put", "-", "/tmp/big", input="x")
    assert text.startswith("write '/tmp/big': add a block to '/tmp/big': no DataNode can take a block")


@pytest.mark.parametrize("each_cluster", [
    "cluster", pytest.param("krb_cluster", marks=pytest.mark.full), OLD], indirect=True)
def test_flushed_bytes_are_seen_by_readers(each_cluster, tmp_path):
    data = noise(tmp_path / "data", 3 * MIB).read_bytes()
    writer = Running(each_cluster, "--overwrite", "--block", MIB, "--hflush", 70001, "--delay", 20,
                     "put", tmp_path / "data", "/tmp/growing")
    writer.wait_for("DataNode 1 of")
    time.sleep(0.3)
    follower = Running(each_cluster, "follow", "/tmp/growing",
                       stdout=(tmp_path / "followed").open("wb"))
    by_java = java(each_cluster, "-cat", "/tmp/growing", text=False).stdout
    assert data.startswith(by_java)
    assert writer.end() == 0
    assert follower.end() == 0
    assert (tmp_path / "followed").read_bytes() == data
    assert java(each_cluster, "-cat", "/tmp/growing", text=False).stdout == data


@EVERYWHERE
def test_what_was_flushed_is_there_for_everybody(each_cluster, tmp_path):
    """While the file is open: its bytes for readers, and its length on the NameNode, which is told
    with the first flush of a block."""
    data = noise(tmp_path / "data", 3 * MIB + 17).read_bytes()
    writer = Fed(each_cluster, "/tmp/open", "--block", 2 * MIB, hflush=4096)
    writer.feed(data[:1000])
    assert drive(each_cluster, "stat", "/tmp/open").stdout.split()[5] == "1000"
    for end in (1000, MIB + 1, 3 * MIB):
        writer.feed(data[writer.fed:end])
        assert drive(each_cluster, "get", "/tmp/open", "-", text=False).stdout == data[:end]
    assert java(each_cluster, "-cat", "/tmp/open", text=False).stdout == data[:3 * MIB]
    assert writer.finish(data[3 * MIB:]) == 0, writer.lines
    assert drive(each_cluster, "get", "/tmp/open", "-", text=False).stdout == data


def test_an_interrupted_put_leaves_nothing(cluster, tmp_path):
    noise(tmp_path / "data", 3 * MIB)
    writer = Running(cluster, "put", "-", "/tmp/cut", stdin=subprocess.PIPE)  # it cannot be done before
    writer.process.stdin.write((tmp_path / "data").read_bytes())
    writer.process.stdin.flush()
    writer.wait_for("DataNode 1 of")
    writer.interrupt()
    assert writer.end(60) == 1
    assert "no such file" in refused(cluster, "stat", "/tmp/cut")
    assert "given up" in refused(cluster, "--abort-at", MIB, "put", tmp_path / "data", "/tmp/cut")
    assert "no such file" in refused(cluster, "stat", "/tmp/cut")


@pytest.mark.parametrize("wanted", [1, pytest.param(3, marks=pytest.mark.full)])
def test_an_interrupted_tree_has_whole_files_only(cluster, tmp_path, wanted):
    (tmp_path / "in").mkdir()
    for i in range(1000):
        (tmp_path / "in" / f"f{i}").write_bytes(b"x" * 5000)
    cut = 0
    for pause in (0.05, 0.2, 0.4) * 4:
        writer = Running(cluster, "--jobs", 32, "puttree", tmp_path / "in", "/tmp/cuts")
        writer.wait_for("DataNode 1 of")
        time.sleep(pause)
        writer.interrupt()
        code = writer.end(60)
        cut += code == 1
        assert code == 1 or len(drive(cluster, "ls", "/tmp/cuts").stdout.splitlines()) == 1000
        listed = drive(cluster, "ls", "/tmp/cuts").stdout.splitlines()
        assert {line.split()[5] for line in listed} <= {"5000"}
        assert "OPENFORWRITE" not in cluster.java("org.apache.hadoop.hdfs.tools.DFSck", "/tmp/cuts",
                                                  "-openforwrite", "-files").stdout
        drive(cluster, "-r", "rm", "/tmp/cuts")
        if cut == wanted:
            return
    raise AssertionError("it was always done before it was interrupted")


def test_a_file_that_is_to_be_kept_is_closed_at_what_it_has(cluster, tmp_path):
    data = noise(tmp_path / "data", MIB).read_bytes()
    refused(cluster, "--keep", "--hflush", 100000, "--abort-at", 500000, "put", tmp_path / "data",
            "/tmp/kept")
    drive(cluster, "recover", "/tmp/kept")
    assert drive(cluster, "get", "/tmp/kept", "-", text=False).stdout == data[:500000]


def test_a_dead_writers_file_can_be_recovered(cluster, tmp_path):
    data = noise(tmp_path / "data", MIB).read_bytes()
    writer = Fed(cluster, "/tmp/orphan")
    writer.feed(data)
    writer.process.kill()
    writer.end()
    assert "another program is writing" in refused(cluster, "put", "/dev/null", "/tmp/orphan")
    drive(cluster, "recover", "/tmp/orphan")
    left = drive(cluster, "get", "/tmp/orphan", "-", text=False).stdout
    assert left == data


def test_erasure_coded_files_are_refused_and_never_made(cluster, tmp_path):
    def admin(*arguments):
        cluster.java("org.apache.hadoop.hdfs.tools.ECAdmin", *arguments)

    drive(cluster, "-p", "mkdir", "/tmp/striped")
    admin("-enablePolicy", "-policy", "XOR-2-1-1024k")
    admin("-setPolicy", "-path", "/tmp/striped", "-policy", "XOR-2-1-1024k")
    data = noise(tmp_path / "data", 100000)
    java(cluster, "-put", data, "/tmp/striped/by-java")
    assert "erasure-coded" in drive(cluster, "stat", "/tmp/striped/by-java").stdout
    assert refused(cluster, "get", "/tmp/striped/by-java", "-").startswith(
        "read '/tmp/striped/by-java': it is erasure coded, which is not supported")
    drive(cluster, "put", data, "/tmp/striped/by-us")
    assert "erasure-coded" not in drive(cluster, "stat", "/tmp/striped/by-us").stdout
    assert java(cluster, "-cat", "/tmp/striped/by-us", text=False).stdout == data.read_bytes()
    drive(cluster, "-r", "rm", "/tmp/striped")


@pytest.mark.full
def test_encryption_zones_are_refused(tmp_path):
    """On a cluster of its own, whose NameNode keeps keys in a file."""
    keys = f"jceks://file{tmp_path}/keys.jceks"
    zone = Cluster.up(name=f"zone-{os.getpid()}", nodes=1,
                      settings=[f"core:hadoop.security.key.provider.path={keys}"])
    try:
        zone.java("org.apache.hadoop.crypto.key.KeyShell", "create", "k", "-provider", keys)
        zone.restart("nn")  # it read the keys when it started
        zone.heal()
        drive(zone, "mkdir", "/tmp/zone")
        zone.java("org.apache.hadoop.hdfs.tools.CryptoAdmin", "-createZone", "-keyName", "k",
                  "-path", "/tmp/zone")
        assert "it is in an encryption zone" in refused(zone, "put", "/dev/null", "/tmp/zone/x")
        java(zone, "-put", "/etc/hostname", "/tmp/zone/by-java")
        assert "encrypted" in drive(zone, "stat", "/tmp/zone/by-java").stdout
        assert "in an encryption zone" in refused(zone, "get", "/tmp/zone/by-java", "-")
    finally:
        zone.down()
