"""Our client on every kind of secure cluster, with Hadoop's own as the judge of the bytes.

The trace says how a connection to a DataNode was protected, so that a test cannot pass in clear.
Each cluster is started for one test, so these belong to the long suite."""

import os

import pytest
from driver import Running, drive, java, noise
from ydl_cluster.cluster import Cluster

MIB = 1 << 20
KERBEROS = {"kerberos": True}

pytestmark = pytest.mark.full


def travels(cluster, tmp_path) -> set[str]:
    """Moves files both ways; how the connections of ours were protected."""
    data = noise(tmp_path / "data", 5 * MIB + 4711)
    ways = set()
    for name in ("there", "back"):
        if name == "there":
            words = ("--overwrite", "--block", 2 * MIB, "put", data, "/user/alice/by-us")
        else:
            java(cluster, "-put", data, "/user/alice/by-java", user="alice")
            words = ("get", "/user/alice/by-java", tmp_path / "copy")
        ours = Running(cluster, *words, user="alice")
        assert ours.end() == 0, ours.lines
        ways |= {line.rsplit("signed in, ")[1] for line in ours.lines if "signed in, " in line}
    assert (tmp_path / "copy").read_bytes() == data.read_bytes()
    assert (java(cluster, "-cat", "/user/alice/by-us", user="alice", text=False).stdout
            == data.read_bytes())
    return ways


@pytest.mark.parametrize("fields, ways", [
    (KERBEROS, set()),
    (KERBEROS | {"data_protection": "authentication", "https": True}, {"auth"}),
    (KERBEROS | {"protection": "integrity"}, {"auth-int"}),
    (KERBEROS | {"protection": "privacy", "ha": True}, {"auth-conf"}),
    (KERBEROS | {"protection": "privacy", "version": "3.3.6"}, {"auth-conf"}),
    (KERBEROS | {"protection": "privacy", "data_protection": "encrypt"}, {"AES"}),
    ({"data_protection": "encrypt"}, {"AES"}),
], ids=lambda value: "-".join(f"{v}" for v in value.values()) if isinstance(value, dict) else "")
def test_files_travel_as_protected_as_the_cluster_wants(fields, ways, tmp_path):
    cluster = Cluster.up(name=f"prot-{os.getpid()}", nodes=1, **fields)
    try:
        assert travels(cluster, tmp_path) == ways
        assert "by-java" in drive(cluster, "ls", "/user/alice", user="alice").stdout
        assert cluster.ydl("cluster", "info", user="alice").returncode == 0
    finally:
        cluster.down()
