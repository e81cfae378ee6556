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

    def check(self) -> None:
        """Refuses what cannot be built, in words."""
        places.run_dir(self.name)
        for what, count in (("nodes", self.nodes), ("datanodes", self.datanodes)):
            if not 1 <= count <= MOST_NODES:
                raise places.ClusterError(f"--{what} must be between 1 and {MOST_NODES}")
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
