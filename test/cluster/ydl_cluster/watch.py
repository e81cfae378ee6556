"""Waiting until daemons do what they are for, without starting a JVM to ask them.

Hadoop daemons publish their metrics as JSON under /jmx; that is enough to know who is active, who
has registered, and whether HDFS has left safe mode.
"""

import json
import socket
import time
from typing import Callable

from . import control, patience, places, web
from .layout import MAIN, RM_ALWAYS, Layout, split

_NN = "Hadoop:service=NameNode,name="
_RM = "Hadoop:service=ResourceManager,name="
_SILENT_S = 5  # a DataNode that was not heard for longer may be dead; they report every second


class Watch:
    """Waits for things to come true, and fails early when a daemon that is needed has died."""

    def __init__(self, lay: Layout, timeout: float):
        self.lay, self.limit = lay, patience.Limit(timeout)

    def until(self, what: str, come_true: Callable[[], bool], needed: list[str]) -> None:
        """Polls `come_true`; `needed` are the daemons without which it never will."""
        while not come_true():
            states = control.ask(self.lay.run, "status")["daemons"]
            for daemon in needed:
                if states.get(daemon, {}).get("state") == "dead":
                    raise places.ClusterError(f"{daemon} died while waiting for {what}\n" +
                                              log_tail(self.lay, daemon))
            if self.limit.over():
                raise places.ClusterError(f"timeout while waiting for {what}\n" + "\n".join(
                    log_tail(self.lay, daemon, 8) for daemon in needed))
            time.sleep(0.05)

    def port(self, daemon: str) -> None:
        self.until(f"{daemon} to listen", lambda: listens(self.lay, daemon), [daemon])


def listens(lay: Layout, daemon: str) -> bool:
    """Whether a daemon accepts connections (an HA ResourceManager also when it is standby)."""
    kind, _ = split(daemon)
    if kind == "docker":
        return _docker_answers(lay)
    what = RM_ALWAYS if kind == "rm" and lay.spec.ha else MAIN[kind]
    try:
        socket.create_connection((lay.host_of(daemon), lay.port(daemon, what)), 1).close()
    except OSError:
        return False
    return True


def _docker_answers(lay: Layout) -> bool:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(2)
            connection.connect(str(lay.docker_socket))
            connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b" 200 " in connection.recv(100)
    except OSError:
        return False


def usable_datanodes(lay: Layout, namenode: str) -> int:
    """Those that can take a block. A NameNode that was just started counts a DataNode as living when
    it has registered, but knows of its disks from the heartbeat after that."""
    nodes = json.loads(web.bean(lay, namenode, _NN + "NameNodeInfo").get("LiveNodes") or "{}")
    return sum(node["capacity"] > 0 and node["lastContact"] <= _SILENT_S for node in nodes.values())


def safe_mode(lay: Layout, namenode: str) -> bool:
    return web.bean(lay, namenode, _NN + "NameNodeInfo").get("Safemode", "unknown") != ""


def active_nodemanagers(lay: Layout, rm: str) -> int:
    """Not from ClusterMetrics, which is up to ten seconds old."""
    nodes = json.loads(web.bean(lay, rm, _RM + "RMNMInfo").get("LiveNodeManagers") or "[]")
    return sum(node["State"] == "RUNNING" for node in nodes)


def namenode_states(lay: Layout, namenodes: list[str]) -> dict[str, str]:
    """active or standby; "" of one that does not answer."""
    return {namenode: web.bean(lay, namenode, _NN + "NameNodeStatus").get("State", "")
            for namenode in namenodes}


def active_namenode(lay: Layout) -> str | None:
    for namenode in lay.namenodes:
        if namenode_states(lay, [namenode])[namenode] == "active":
            return namenode
    return None


def active_resourcemanager(lay: Layout) -> str | None:
    """A standby ResourceManager has closed the port where clients come in."""
    for rm in lay.resourcemanagers:
        try:
            socket.create_connection((lay.host, lay.port(rm, "client")), 1).close()
            return rm
        except OSError:
            pass
    return None


def log_tail(lay: Layout, daemon: str, lines: int = 25) -> str:
    """The end of a daemon's log with its path above it."""
    path = lay.logs / f"{daemon}.log"
    try:
        text = path.read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        text = ["(no log)"]
    return "\n".join([f"--- {path}", *text])
