"""What can be done to the daemons of a running cluster."""

import contextlib
import errno
import subprocess
import time

from . import control, daemons, info, java, leftovers, places, tool_server, watch, web
from .layout import Layout, split
from .patience import Limit

PATIENCE = 120
_FILLER = "filler"  # the file that makes a small disk full
_REGISTERED = {"nm": b"Registered with ResourceManager as",
               "dn": b"successfully registered with NN"}
_RM_ADMIN = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"
_HA_ADMIN = "org.apache.hadoop.hdfs.tools.DFSHAAdmin"


def start(lay: Layout, daemon: str) -> None:
    """Starts a daemon and waits until it listens and, a worker, until its master has it again."""
    log = lay.logs / f"{daemon}.log"
    begin = log.stat().st_size if log.exists() else 0
    control.ask(lay.run, "start", daemon=daemon)
    watcher = watch.Watch(lay, PATIENCE)
    watcher.port(daemon)
    mark = _REGISTERED.get(split(daemon)[0])
    if mark and _has_master(lay, daemon):
        watcher.until(f"{daemon} to register", lambda: mark in log.read_bytes()[begin:], [daemon])


def _has_master(lay: Layout, daemon: str) -> bool:
    if split(daemon)[0] == "nm":
        return watch.active_resourcemanager(lay) is not None
    return watch.active_namenode(lay) is not None


def kill(lay: Layout, daemon: str) -> None:
    """SIGKILL: what a crash looks like."""
    control.ask(lay.run, "signal", daemon=daemon, name="kill")
    _gone(lay, daemon, 60)


def stop(lay: Layout, daemon: str) -> None:
    """SIGTERM, and SIGKILL for what does not listen to it."""
    control.ask(lay.run, "signal", daemon=daemon, name="term")
    if not _gone(lay, daemon, 30):
        kill(lay, daemon)


def restart(lay: Layout, daemon: str) -> None:
    """Stops a daemon if it runs, and starts it."""
    if state(lay, daemon) != "dead":
        if state(lay, daemon) == "paused":
            resume(lay, daemon)
        stop(lay, daemon)
    start(lay, daemon)


def pause(lay: Layout, daemon: str) -> None:
    """SIGSTOP: what a hung machine looks like, connections stay open and nothing answers."""
    control.ask(lay.run, "signal", daemon=daemon, name="pause")


def resume(lay: Layout, daemon: str) -> None:
    control.ask(lay.run, "signal", daemon=daemon, name="resume")


def state(lay: Layout, daemon: str) -> str:
    """running, paused or dead."""
    if daemon not in lay.daemons + lay.spares:
        raise places.ClusterError(f"this cluster has no daemon '{daemon}'")
    known = control.ask(lay.run, "status")["daemons"]
    return known.get(daemon, {}).get("state", "dead")


def _gone(lay: Layout, daemon: str, seconds: float) -> bool:
    limit = Limit(seconds)
    while not limit.over():
        if state(lay, daemon) == "dead":
            return True
        time.sleep(0.02)
    return False


def pid(lay: Layout, daemon: str) -> int:
    """The process id of a daemon that runs."""
    if state(lay, daemon) == "dead":
        raise places.ClusterError(f"{daemon} is not running")
    return control.ask(lay.run, "status")["daemons"][daemon]["pid"]


def nodes(lay: Layout) -> dict[str, dict]:
    """The NodeManagers by name, as the ResourceManager describes them; lost ones too."""
    rm = watch.active_resourcemanager(lay)
    path = "/ws/v1/cluster/nodes?states=" + ",".join(
        ("new", "running", "unhealthy", "lost", "rebooted", "decommissioned", "decommissioning",
         "shutdown"))
    found = web.get_json(lay, lay.url(rm, path)) if rm else {}
    names = {lay.host_of(node): node for node in lay.nodemanagers + lay.spares}
    return {names.get(row["nodeHostName"], row["nodeHostName"]): row
            for row in ((found.get("nodes") or {}).get("node") or [])}


def wait_for_node(lay: Layout, node: str, wanted: str, seconds: float) -> None:
    """Waits until the ResourceManager says RUNNING, LOST, UNHEALTHY, SHUTDOWN … of a node."""
    watch.Watch(lay, seconds).until(
        f"{node} to be {wanted}", lambda: nodes(lay).get(node, {}).get("state") == wanted, [])


def fill_disk(lay: Layout, node: str, leave_kb: int) -> None:
    """Makes the small disk of a NodeManager full but for `leave_kb`."""
    disk = leftovers.seen(lay, lay.disk(node))
    with open(disk / _FILLER, "ab", buffering=0) as file:
        block = bytes(64 * 1024)
        try:
            while True:
                file.write(block)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        file.truncate(max(0, file.tell() - leave_kb * 1024))


def empty_disk(lay: Layout, node: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        (leftovers.seen(lay, lay.disk(node)) / _FILLER).unlink()


def failover(lay: Layout, what: str) -> str:
    """Makes the other NameNode ("nn") or ResourceManager ("rm") the active one; says which."""
    if not lay.spec.ha:
        raise places.ClusterError("this cluster has no standby (hadoop up --ha makes one)")
    if what not in ("nn", "rm"):
        raise places.ClusterError(f"failover of '{what}': nn or rm")
    return _failover_nn(lay) if what == "nn" else _failover_rm(lay)


def _failover_nn(lay: Layout) -> str:
    """An orderly transition when the active one answers, a forced one when it does not."""
    before = _active_namenode(lay)
    if before:
        after = _other(lay.namenodes, before)
        ha_admin(lay, "-transitionToStandby", before)
    else:
        after = next((nn for nn in lay.namenodes if state(lay, nn) == "running"), "")
    if not after:
        raise places.ClusterError("no NameNode is running")
    # Forced, because the tool would first ask the other one, which may be dead or hung. Two active
    # ones are impossible: the journal knows one writer.
    ha_admin(lay, "-transitionToActive", "--forceactive", after)
    return after


def _active_namenode(lay: Layout) -> str | None:
    """Those that run are asked until all of them have answered."""
    running, limit = [nn for nn in lay.namenodes if state(lay, nn) == "running"], Limit(30)
    while (states := watch.namenode_states(lay, running)) and not all(states.values()):
        if limit.over():
            break
        time.sleep(0.1)
    return next((nn for nn, said in states.items() if said == "active"), None)


def _failover_rm(lay: Layout) -> str:
    """The elections are the ResourceManagers' own: one leaves, the other is elected."""
    before = watch.active_resourcemanager(lay)
    if before:
        stop(lay, before)
    watch.Watch(lay, PATIENCE).until(
        "the other ResourceManager",
        lambda: watch.active_resourcemanager(lay) not in (None, before), [])
    if before:
        start(lay, before)
    return watch.active_resourcemanager(lay) or ""


def _other(pair: list[str], one: str) -> str:
    return pair[1] if one == pair[0] else pair[0]


def ha_admin(lay: Layout, *arguments: str) -> None:
    """Changes the role of a NameNode, which may listen before it is ready to be told."""
    limit = Limit(PATIENCE)
    while True:
        try:
            return _admin(lay, _HA_ADMIN, *arguments)
        except places.ClusterError as error:
            if "still not started" not in str(error) or limit.over():
                raise
            time.sleep(0.2)


def label_first_node(lay: Layout) -> None:
    """Declares the label gpu and gives it to nm1."""
    _admin(lay, _RM_ADMIN, "-addToClusterNodeLabels", "gpu(exclusive=true)")
    _admin(lay, _RM_ADMIN, "-replaceLabelsOnNode", f"{lay.address('nm1')}=gpu")


def _admin(lay: Layout, tool: str, *arguments: str) -> None:
    env = daemons.environment(lay) | info.environment(lay)
    done = tool_server.run(lay, (tool, *arguments), lambda: env, {"check": False}) or subprocess.run(
        java.tool(lay, tool, *arguments), env=env, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=180, check=False)
    if done.returncode != 0:
        raise places.ClusterError(f"{' '.join(arguments)}: {done.stderr[-2000:]}")
