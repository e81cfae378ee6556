"""A cluster as tests see it."""

import os
import subprocess
import time
from pathlib import Path

from . import actions, apart, dockerd, info, install, java, kdc, leftovers, many, places
from . import spec as specs, startup, tool_server, watch, web
from .layout import Layout
from .patience import Limit

_REPOSITORY = Path(__file__).resolve().parents[3]
_FS_SHELL = "org.apache.hadoop.fs.FsShell"
# What a client of some other cluster may have in its environment.
_FOREIGN = ("HADOOP_", "YARN_", "KRB5")


def clean_environment() -> dict[str, str]:
    """This process's environment without anything that leads to a cluster."""
    return {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}


class Cluster:
    """A running cluster. `up` starts one that goes down when this process ends."""

    def __init__(self, lay: Layout):
        self.lay = lay

    @classmethod
    def up(cls, say: startup.Say = lambda text: None, **fields) -> "Cluster":
        """`fields` are those of Spec; only `name` has to be given."""
        spec = specs.Spec(**fields)
        if not spec.only:
            install.ensure(spec.version, say)
        return cls(startup.up(spec, os.getpid(), False, say))

    def down(self) -> None:
        tool_server.end(self.lay.run)
        startup.down(self.lay.run, keep_logs=bool(os.environ.get("YDL_KEEP_LOGS")))

    @property
    def name(self) -> str:
        return self.lay.spec.name

    @property
    def run_dir(self) -> Path:
        return self.lay.run

    @property
    def conf_dir(self) -> Path:
        return self.lay.conf

    @property
    def rm_http(self) -> str:
        """The pages of the ResourceManager; of the active one when there are two."""
        return self.lay.url(watch.active_resourcemanager(self.lay) or self.lay.resourcemanagers[0])

    @property
    def nn_http(self) -> str:
        """The pages of the NameNode; of the active one when there are two."""
        active = watch.active_namenode(self.lay) if self.lay.spec.ha else None
        return self.lay.url(active or self.lay.namenodes[0])

    def env(self, user: str | None = None) -> dict[str, str]:
        """A complete environment for a client that acts as `user`."""
        return clean_environment() | info.environment(self.lay, user)

    def status(self) -> dict:
        """What `hadoop status --json` prints."""
        return info.status(self.lay)

    def active(self, what: str) -> str | None:
        """The name of the active NameNode ("nn") or ResourceManager ("rm")."""
        return (watch.active_namenode if what == "nn" else watch.active_resourcemanager)(self.lay)

    def log(self, daemon: str) -> str:
        return (self.lay.logs / f"{daemon}.log").read_text(errors="replace")

    # Faults. Each returns when the daemon is in its new state.

    def kill(self, daemon: str) -> None:
        actions.kill(self.lay, daemon)

    def stop(self, daemon: str) -> None:
        actions.stop(self.lay, daemon)

    def start(self, daemon: str) -> None:
        actions.start(self.lay, daemon)

    def restart(self, daemon: str) -> None:
        actions.restart(self.lay, daemon)

    def pause(self, daemon: str) -> None:
        actions.pause(self.lay, daemon)

    def resume(self, daemon: str) -> None:
        actions.resume(self.lay, daemon)

    def pid(self, daemon: str) -> int:
        """The process id of a daemon that runs: nn, rm, nm2, dn1, zk, dns, docker …"""
        return actions.pid(self.lay, daemon)

    def add_node(self) -> str:
        """Starts a NodeManager that was not there before (`spare` says how many there are), and
        waits until the ResourceManager has it. It goes when the cluster is healed."""
        node = next((spare for spare in self.lay.spares
                     if actions.state(self.lay, spare) == "dead"), None)
        if node is None:
            raise places.ClusterError("no spare NodeManager is left")
        actions.start(self.lay, node)
        return node

    def lose_one_of_many(self, number: int) -> None:
        """The machine of the NodeManager 127.1.0.`number` (`many`) disappears for good."""
        many.lose(self.lay, number)

    def fill_disk(self, node: str, leave_kb: int = 0) -> None:
        """Makes the small disk of a NodeManager (`disks`) full."""
        actions.fill_disk(self.lay, node, leave_kb)

    def empty_disk(self, node: str) -> None:
        actions.empty_disk(self.lay, node)

    def cut(self, node: str) -> None:
        """The network between a NodeManager's machine (`apart`) and all others is gone."""
        apart.cut(node)

    def join(self, node: str) -> None:
        apart.join(node)

    def set_clock(self, node: str, ahead_s: int) -> None:
        """The wall clock of a NodeManager's machine (`apart`) is so far ahead of the others'."""
        apart.set_clock(self.lay, node, ahead_s)

    def failover(self, what: str) -> str:
        return actions.failover(self.lay, what)

    def heal(self) -> None:
        """Undoes all faults; quick when there are none."""
        startup.heal(self.lay)

    # What YARN says, and what is left.

    def nodes(self) -> dict[str, dict]:
        """The NodeManagers by name (nm1, nm2 …), each as the ResourceManager's page has it."""
        return actions.nodes(self.lay)

    def wait_for_node(self, node: str, state: str, timeout: float = 120) -> None:
        """RUNNING, LOST, UNHEALTHY, SHUTDOWN …"""
        actions.wait_for_node(self.lay, node, state, timeout)

    def node_at(self, host: str) -> str:
        """nm2 for 127.0.0.12; a port behind the address is left alone."""
        return f"nm{int(host.split(':')[0].rsplit('.', 1)[1]) - 10}"

    def rm_page(self, path: str) -> dict:
        """A page below /ws/v1/cluster/, as the administrator, also under Kerberos."""
        return web.get_json(self.lay, f"{self.rm_http}/ws/v1/cluster/{path}")

    def hdfs_names(self, path: str) -> list[str]:
        """What is in a directory of HDFS, without a JVM; [] also when it is not there."""
        return web.names(self.lay, f"{self.nn_http}/webhdfs/v1{path}?op=LISTSTATUS")

    def app(self, app: str) -> dict:
        """An application as the ResourceManager's page has it; {} when it does not know it."""
        return self.rm_page(f"apps/{app}").get("app", {})

    def processes(self, app: str) -> dict[int, str]:
        """Living processes of an application, with their command lines."""
        return leftovers.processes(app)

    def leftovers(self, app: str, timeout: float = 60, logs: bool = False) -> list[str]:
        """What an application has left on the nodes after `timeout` seconds; [] as soon as that
        is nothing. With `logs` its log directories count too (they go when they are aggregated)."""
        limit = Limit(timeout)
        while (left := leftovers.every(self.lay, app, logs)) and not limit.over():
            time.sleep(0.1)
        return left

    def keytab(self, user: str) -> Path:
        """On a Kerberos cluster: what `--keytab` is given."""
        return kdc.keytab(self.lay, user)

    # Programs.

    def docker(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        """`docker ARGUMENTS` with the cluster's own daemon; its image is `dockerd.IMAGE`."""
        return dockerd.run(self.lay, *arguments, **options)

    def run(self, command: list[str], user: str | None = None, **options
            ) -> subprocess.CompletedProcess:
        """Runs a program as a client of this cluster. `options` are those of subprocess.run, with
        these defaults; `env` is added to the client's environment."""
        env = self.env(user) | options.pop("env", {})
        if options.get("input") is None:
            options["stdin"] = subprocess.DEVNULL
        settled = {"check": True, "timeout": 180, "capture_output": True,
                   "text": not isinstance(options.get("input"), bytes)} | options
        return subprocess.run(command, env=env, **settled)

    def java(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        """A Java program with Hadoop's classes: class name and arguments. Tools of Hadoop share a JVM
        where that makes no difference."""
        tool = {key: value for key, value in options.items() if key != "user"}
        done = tool_server.run(self.lay, arguments, lambda: self.env(options.get("user")), tool)
        return done or self.run(java.tool(self.lay, *arguments), **options)

    def fs(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        """Hadoop's own file system shell, the judge of what is in HDFS."""
        return self.java(_FS_SHELL, *arguments, **options)

    def ydl(self, *arguments: str, user: str | None = None, check: bool = False,
            input: bytes | str | None = None, timeout: float = 180) -> subprocess.CompletedProcess:
        """The program under test, in the directory $YDL_BIN or in build/bin."""
        place = os.environ.get("YDL_BIN") or _REPOSITORY / "build" / "bin"
        program = os.path.join(place, "ydl")
        if not os.path.exists(program):
            raise places.ClusterError(f"no {program}: build first, or set YDL_BIN")
        return self.run([program, *arguments], user=user, check=check, input=input,
                        timeout=timeout)
