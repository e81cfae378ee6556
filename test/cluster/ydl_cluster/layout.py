"""Who is where: the daemons of a cluster, their addresses and their directories.

Every NodeManager and every DataNode has a loopback address of its own, so that locality, exclusion
and loss of a node mean something. They can therefore all have the same port numbers.
"""

import dataclasses
from pathlib import Path

from . import places, spec as specs

NAMESERVICE = "ydlha"
REALM = "YDL.TEST"
# The host in the DataNodes' common principal. When it is an address of this machine, Hadoop binds
# its connections to it, and 127.0.0.1 for all is just what we do not want; this one is nobody's.
DATANODE_INSTANCE = "127.0.0.40"

# Offsets in the port block. The second of a pair (nn2, rm2) is PAIR further on.
PAIR = 10
OFFSETS = {
    "nn": {"rpc": 0, "http": 1, "https": 2},
    "rm": {"client": 20, "scheduler": 21, "tracker": 22, "admin": 23, "http": 24, "https": 25},
    "nm": {"rpc": 40, "localizer": 41, "http": 42, "https": 43, "collector": 44, "proxy": 45},
    "dn": {"data": 50, "ipc": 51, "http": 52, "https": 53},
    "jn": {"rpc": 60, "http": 61, "https": 62},
    "zk": {"client": 65},
    "kdc": {"kdc": 68},
    "dns": {"dns": 70},
    "own-dns": {"dns": 71},  # of a test
    "many": {"rpc": 80, "localizer": 81, "http": 82, "collector": 84},
}
# The port whose being open means that a daemon answers.
MAIN = {"nn": "rpc", "rm": "client", "nm": "rpc", "dn": "ipc", "jn": "rpc", "zk": "client",
        "kdc": "kdc", "dns": "dns", "many": "rpc"}
# A standby ResourceManager has closed all but this one.
RM_ALWAYS = "admin"


@dataclasses.dataclass(frozen=True)
class Layout:
    """A spec that has found its place: run directory and ports."""

    spec: specs.Spec
    base_port: int
    run: Path

    @property
    def conf(self) -> Path:
        return self.run / "conf"

    @property
    def krb(self) -> Path:
        return self.run / "krb"

    @property
    def logs(self) -> Path:
        return self.run / "logs"

    @property
    def home(self) -> Path:
        return places.hadoop_dir(self.spec.version)

    @property
    def network(self) -> str:
        """What all addresses begin with: the loopback device, or a network that tests made."""
        return "10.77.0" if self.spec.apart else "127.0.0"

    @property
    def host(self) -> str:
        """The name of the machine. Kerberos wants a name; otherwise nothing needs resolving."""
        return "localhost" if self.spec.kerberos else f"{self.network}.1"

    @property
    def namenodes(self) -> list[str]:
        return ["nn1", "nn2"] if self.spec.ha else ["nn"]

    @property
    def resourcemanagers(self) -> list[str]:
        return ["rm1", "rm2"] if self.spec.ha else ["rm"]

    @property
    def nodemanagers(self) -> list[str]:
        return [f"nm{i}" for i in range(1, self.spec.nodes + 1)]

    @property
    def spares(self) -> list[str]:
        """NodeManagers that join when somebody starts them."""
        first = self.spec.nodes + 1
        return [f"nm{i}" for i in range(first, first + self.spec.spare)]

    @property
    def datanodes(self) -> list[str]:
        return [f"dn{i}" for i in range(1, self.spec.datanodes + 1)]

    @property
    def daemons(self) -> list[str]:
        """Every daemon that belongs to the whole cluster, those that others need first."""
        spec = self.spec
        first = ((["docker"] if spec.docker else []) + (["kdc"] if spec.kerberos else []) +
                 (["zk"] if spec.ha or spec.registry else []) + (["jn"] if spec.ha else []))
        every = (first + self.namenodes + self.resourcemanagers + self.datanodes +
                 self.nodemanagers + (["many"] if spec.many else []) +
                 (["dns"] if spec.registry else []))
        return [name for name in every if not spec.only or split(name)[0] in spec.only]

    def disks(self) -> dict[str, int]:
        """NodeManagers that have a small disk, and how many MB it has."""
        return {node: int(size) for node, _, size in (row.partition(":")
                                                      for row in self.spec.disks)}

    def disk(self, node: str) -> Path:
        """Where the small disk of a NodeManager is mounted, for those who can see it."""
        return self.run / node / "disk"

    def many_dirs(self) -> list[tuple[Path, Path]]:
        """The same as `node_dirs`, of each of the NodeManagers in one JVM."""
        base = self.run / "many"
        return [(base / str(i) / "local", base / str(i) / "logs")
                for i in range(1, self.spec.many + 1)]

    def node_dirs(self, node: str) -> tuple[Path, Path]:
        """A NodeManager's directories for files and for logs."""
        base = self.disk(node) if node in self.disks() else self.run / node
        return base / "local", base / "logs"

    @property
    def executor(self) -> Path:
        """What stands in for container-executor."""
        return self.run / "bin" / "container-executor"

    @property
    def docker_socket(self) -> Path:
        return self.run / "docker.sock"

    def conf_of(self, daemon: str) -> Path:
        """The configuration that containers of a node are shown."""
        own = self.spec.amrmproxy and daemon == "nm1"
        return self.run / "conf-nm1" if own else self.conf

    def host_of(self, daemon: str) -> str:
        kind, number = split(daemon)
        if kind == "nm":
            return f"{self.network}.{10 + number}"
        if kind == "dn":
            return f"{self.network}.{40 + number}"
        if kind == "many":  # the last of them: they are started in turn
            return f"127.1.0.{self.spec.many}"
        if kind == "dns" and self.spec.names:  # port 53 is one for every address
            return f"127.53.{self.base_port >> 8}.{self.base_port & 255}"
        return self.host

    def port(self, daemon: str, what: str) -> int:
        kind, number = split(daemon)
        if kind == "dns" and self.spec.names:
            return 53
        pair = PAIR if kind in ("nn", "rm") and number == 2 else 0
        return self.base_port + OFFSETS[kind][what] + pair

    def address(self, daemon: str, what: str = "") -> str:
        """host:port, of the main port when `what` is not given."""
        if daemon == "docker":
            return f"unix://{self.docker_socket}"
        return f"{self.host_of(daemon)}:{self.port(daemon, what or MAIN[split(daemon)[0]])}"

    def url(self, daemon: str, path: str = "") -> str:
        """The address of a daemon's web pages."""
        scheme = "https" if self.spec.https else "http"
        return f"{scheme}://{self.address(daemon, scheme)}{path}"


def principal(service: str) -> str:
    """The Kerberos name of a kind of daemon: nn, dn, rm, nm, jn; HTTP for the web pages."""
    return f"{service}/{DATANODE_INSTANCE if service == 'dn' else 'localhost'}@{REALM}"


def split(daemon: str) -> tuple[str, int]:
    """'nm2' is ('nm', 2); a name without a number is the first of its kind."""
    kind = daemon.rstrip("0123456789")
    return kind, int(daemon[len(kind):] or 1)


def load(run: Path) -> Layout:
    """The layout of a cluster that is there already."""
    try:
        return Layout(*specs.load(run / "spec.json"), run)
    except FileNotFoundError:
        raise places.ClusterError(f"no cluster '{run.name}' (hadoop up makes one)") from None
