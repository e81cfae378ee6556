"""The clusters of one pytest process.

A process holds one at a time: when a test asks for another kind, the one that was not used for
longest goes down first. The tests are sorted so that each kind is used in one stretch (see
`conftest.py`), and with several processes each has kinds of its own (see `schedule`); a test that
asks for two kinds at once gets two. YDL_TEST_CLUSTERS=N lets a process hold N.
"""

import os

from . import dockerd, places, private
from .cluster import Cluster

KINDS = {  # fixture: fields of its Spec
    "cluster": {},
    # Without AES each megabyte costs a DataNode a tenth of a second: Hadoop's default is 3DES in Java.
    # test/hdfs/test_files.py makes one DataNode that is without it.
    "krb_cluster": {"kerberos": True, "protection": "privacy",
                    "settings": ["hdfs:dfs.encrypt.data.transfer.cipher.suites=AES/CTR/NoPadding"]},
    # ZooKeeper is there anyway, so it has YARN's registry too.
    "ha_cluster": {"ha": True, "registry": True},
    # Its ResourceManager hands out opportunistic containers too, as some clusters' do. One node more
    # than elsewhere is special: nm1 has the label gpu and an AMRMProxy.
    "old_cluster": {"version": places.OLDEST, "nodes": 4, "labels": True, "amrmproxy": True,
                    "settings": ["yarn:yarn.resourcemanager.opportunistic-container-allocation."
                                 "enabled=true"]},
    # Other releases; for the long suite.
    "latest_cluster": {"version": places.LATEST},
    "hadoop2_cluster": {"version": places.HADOOP2},
    "hadoop27_cluster": {"version": places.HADOOP27},
    # For jobs. Three nodes with 1 GB each, and nm1 with the label gpu; GPUs on nm1 and nm2.
    "rich_cluster": {"nodes": 4, "node_mb": 1024, "spare": 1, "labels": True, "gpus": True,
                     "gpu_nodes": 2, "registry": True, "preemption": True, "memory_limits": True,
                     "disks": [] if private.missing() else ["nm4:96"]},
    "lce_cluster": {"lce": True, "docker": not dockerd.missing()},
    "secure_cluster": {"kerberos": True, "protection": "privacy", "lce": True},
    # Containers as the daemons' user, which saves a JVM for each: tokens live shortly here.
    "brief_cluster": {"kerberos": True, "protection": "privacy", "token_renew_s": 30,
                      "token_life_s": 120},
    "names_cluster": {"registry": True, "names": True},
    "big_cluster": {"nodes": 4, "node_mb": 65536, "node_vcores": 128},
    "slow_cluster": {"nodes": 4, "node_mb": 65536, "node_vcores": 128, "heartbeat_ms": 1000,
                     "locality_delay": 40},
    "docker_host": {"docker": True, "only": ["docker"]},  # no Hadoop at all
}

# Half as many calls as a measurement wants, and all of them together take a third less of the machine
# while they have nothing to do.
_COMMON = {"heartbeat_ms": 200}


def missing(kind: str) -> str:
    """Why this machine cannot have a kind of cluster; "" when it can."""
    fields = KINDS[kind]
    if fields.get("docker") or kind == "docker_host":
        return dockerd.missing()
    return private.missing() if fields.get("lce") or fields.get("names") else ""


class Pool:
    """Starts clusters when they are asked for, and stops them when they are in the way."""

    def __init__(self) -> None:
        self.running: dict[str, Cluster] = {}  # least recently used first
        self.needed: set[str] = set()  # by the test that is running; these stay
        self.room = int(os.environ.get("YDL_TEST_CLUSTERS") or 1)

    def get(self, kind: str) -> Cluster:
        """The cluster of a kind, which is now the most recently used one."""
        if kind not in self.needed:  # it would be started for this test alone
            raise LookupError(f"no fixture or mark of this test says that it needs {kind!r}")
        if kind not in self.running:
            self._make_room()
            name = f"pytest-{os.getpid()}-{kind.replace('_', '-')}"
            self.running[kind] = Cluster.up(name=name, **_COMMON | KINDS[kind])
        cluster = self.running.pop(kind)
        self.running[kind] = cluster
        return cluster

    def _make_room(self) -> None:
        for kind in list(self.running):
            if len(self.running) >= self.room and kind not in self.needed:
                self.running.pop(kind).down()

    def heal(self) -> None:
        """After a test: whatever it broke works again for the next one."""
        for cluster in self.running.values():
            cluster.heal()

    def close(self) -> None:
        while self.running:
            self.running.popitem()[1].down()


POOL = Pool()  # of this process


class Handle:
    """What a fixture returns: the cluster of a kind, started when it is first looked at, and again
    should it have been stopped in between."""

    def __init__(self, pool: Pool, kind: str):
        self._pool, self._kind = pool, kind

    def __getattr__(self, name: str):
        return getattr(self._pool.get(self._kind), name)
