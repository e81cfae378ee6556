"""What kind of cluster is wanted, as data that survives in the run directory."""

import dataclasses
import getpass
import json
from pathlib import Path

from . import places

RPC_PROTECTIONS = ("authentication", "integrity", "privacy")
DATA_PROTECTIONS = ("none", "authentication", "integrity", "privacy", "encrypt")
USERS = ("alice", "bob", "carol")
MOST_NODES = 29  # NodeManager i is 127.0.0.(10+i) and the DataNodes begin at 127.0.0.41

MOST_MANY = 250  # the I-th of many is 127.1.0.I


@dataclasses.dataclass
class Spec:
    """One cluster as asked for; every field has the value of the plain cluster by default."""

    name: str = "default"
    version: str = places.NEWEST
    nodes: int = 3
    datanodes: int = 2
    kerberos: bool = False
    protection: str = "authentication"
    data_protection: str = ""  # "" means: as `protection` says
    https: bool = False
    ha: bool = False
    labels: bool = False
    gpus: bool = False
    training: bool = False  # its JVMs write down which classes they load
    settings: list[str] = dataclasses.field(default_factory=list)  # "FILE:key=value"
    node_mb: int = 8192  # what each NodeManager says it has
    node_vcores: int = 16
    heartbeat_ms: int = 100  # of the NodeManagers; 1000 is Hadoop's default
    locality_delay: int = -1  # in missed chances; 40 is Hadoop's default
    preemption: bool = False  # queues take back what is theirs, within seconds
    memory_limits: bool = False  # a container over its memory is killed
    gpu_nodes: int = 0  # GPUs on the first N nodes only; 0: on all
    registry: bool = False  # ZooKeeper and RegistryDNS
    names: bool = False  # with `registry`: the nodes look names up at RegistryDNS (root only)
    many: int = 0  # so many more NodeManagers, all in one JVM
    amrmproxy: bool = False  # nm1 stands between its application masters and the ResourceManager
    spare: int = 0  # NodeManagers that are known but not started: `start nm4` adds one
    token_renew_s: int = 0  # delegation tokens have to be renewed this often ...
    token_life_s: int = 0  # ... and end after this time at the latest
    lce: bool = False  # LinuxContainerExecutor: containers run as their user
    docker: bool = False  # a docker daemon; with `lce` also YARN's docker runtime
    apart: bool = False  # nodes can be cut off and their clocks set; see apart.py
    disks: list[str] = dataclasses.field(default_factory=list)  # "nm2:64": on a disk of 64 MB
    on: list[str] = dataclasses.field(default_factory=list)  # "nm2:key=value", for one daemon
    only: list[str] = dataclasses.field(default_factory=list)  # kinds of daemons; [] means all

    def check(self) -> None:
        """Refuses what cannot be built, in words."""
        places.run_dir(self.name)
        for what, count in (("nodes", self.nodes), ("datanodes", self.datanodes)):
            if not 1 <= count <= MOST_NODES:
                raise places.ClusterError(f"--{what} must be between 1 and {MOST_NODES}")
        if self.nodes + self.spare > MOST_NODES:
            raise places.ClusterError(f"more than {MOST_NODES} NodeManagers with the spare ones")
        for what, rows in (("--disk", self.disks), ("--on", self.on)):
            if not all(row.partition(":")[2] for row in rows):
                raise places.ClusterError(f"{what} wants DAEMON:VALUE")
        if not 0 <= self.many <= MOST_MANY:
            raise places.ClusterError(f"--many must be between 0 and {MOST_MANY}")
        if bool(self.token_renew_s) != bool(self.token_life_s):
            raise places.ClusterError("--token-renew and --token-life belong together")
        if self.protection not in RPC_PROTECTIONS:
            raise places.ClusterError(f"--protection '{self.protection}' is unknown")
        if self.data_protection not in ("",) + DATA_PROTECTIONS:
            raise places.ClusterError(f"--data-protection '{self.data_protection}' is unknown")
        if self.protection != "authentication" and not self.kerberos:
            raise places.ClusterError("--protection needs --kerberos: only SASL can protect a call")

    def data(self) -> str:
        """How the bytes of blocks travel: a member of DATA_PROTECTIONS."""
        if self.data_protection:
            return self.data_protection
        # Authentication alone is what most secure clusters have on the data path: block tokens.
        return self.protection if self.protection != "authentication" else "none"


def me() -> str:
    """The OS user that runs the daemons; the superuser of HDFS and the administrator of YARN."""
    return getpass.getuser()


def users() -> tuple[str, ...]:
    """Everybody who has a home directory and, under Kerberos, a principal."""
    return USERS + (() if me() in USERS else (me(),))


def save(spec: Spec, base_port: int, path: Path) -> None:
    """Writes what `load` reads."""
    path.write_text(json.dumps({"base_port": base_port, **dataclasses.asdict(spec)}, indent=1))


def load(path: Path) -> tuple[Spec, int]:
    """The spec and the first port of a cluster that `save` described."""
    fields = json.loads(path.read_text())
    base_port = fields.pop("base_port")
    return Spec(**fields), base_port
