"""Nodes on machines of their own (`Spec.apart`), which can be cut off and whose clocks can be set.

Each NodeManager, with its containers, is in a network namespace of its own. A bridge connects these
with the namespace of all other daemons and of the clients, which must be one that the caller has made
(`own_network`): the machine's own network is left alone, and the kernel takes everything back when the
last process in it has ended. A node that is cut off is taken off the bridge: what it sends goes
nowhere, and nobody is told.

Wall clocks are a library that is preloaded (own_clock.c). A program that is linked statically does not
see it: `cmake --preset shared` builds ydl-node so that it does.
"""

import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
from pathlib import Path

from . import places, preload
from .layout import Layout, split

_CLONE_NEWNET, _CAP_SYS_ADMIN = 0x40000000, 21
_BRIDGE = "ydl"
PASSED_ON = ("LD_PRELOAD", "NODE_CLOCK")  # from NodeManagers to containers
_libc = ctypes.CDLL(None, use_errno=True)


def missing() -> str:
    """Why nodes cannot be kept apart on this machine; "" when they can."""
    if not shutil.which("ip"):
        return "ip (package iproute2) is not installed"
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:") and not int(line.split()[1], 16) >> _CAP_SYS_ADMIN & 1:
            return "root is needed to make a network namespace"
    tried = subprocess.run(["unshare", "-n", "ip", "link", "add", "one", "type", "veth", "peer",
                            "name", "other"], check=False, capture_output=True, text=True)
    if tried.returncode == 0:
        tried = subprocess.run(["unshare", "-n", "ip", "link", "add", "one", "type", "bridge"],
                               check=False, capture_output=True, text=True)
    return tried.stderr.strip()


def own_network() -> None:
    """This process, and what it starts from now on, have a network of their own: a loopback device
    and nothing else. The caller has one thread."""
    if _libc.unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    _ip("link", "set", "lo", "up")


def has_own_network() -> bool:
    """Are there no devices but those that come from here? A machine's own network has others."""
    return all(name in ("lo", _BRIDGE) or split(name)[0] == "nm"
               for _, name in socket.if_nameindex())


def prepare(lay: Layout) -> None:
    """All clocks are right at first."""
    for node in _nodes(lay):
        _clock(lay, node).write_bytes(struct.pack("q", 0))


def environment(lay: Layout, daemon: str) -> dict[str, str]:
    """What a NodeManager and its containers have to see."""
    if daemon not in _nodes(lay):
        return {}
    return {"LD_PRELOAD": str(preload.own_clock()), "NODE_CLOCK": str(_clock(lay, daemon))}


class Networks:
    """Those of the nodes; they live as long as this, or as one of their processes."""

    def __init__(self, lay: Layout):
        self.descriptors: dict[str, int] = {}
        if not lay.spec.apart:
            return
        if not has_own_network():
            raise places.ClusterError("a cluster with nodes apart needs a network of its own")
        subprocess.run(["ip", "link", "del", _BRIDGE], check=False, capture_output=True)
        _ip("link", "add", _BRIDGE, "type", "bridge")
        for daemon in ("rm", *lay.datanodes):
            _ip("addr", "add", f"{lay.host_of(daemon)}/24", "dev", _BRIDGE)
        _ip("link", "set", _BRIDGE, "up")
        for node in _nodes(lay):
            self.descriptors[node] = _make(node, lay.host_of(node))

    def enter(self, daemon: str) -> None:
        """In the process that becomes the daemon."""
        fd = self.descriptors.get(daemon)
        if fd is not None and _libc.setns(fd, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def _make(node: str, host: str) -> int:
    """A namespace, reached by a device of its node's name. A process makes it and is gone."""
    ready, told = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            own_network()
            os.write(told[1], b".")
            os.read(ready[0], 1)
            _ip("addr", "add", f"{host}/24", "dev", "eth0")
            _ip("link", "set", "eth0", "up")
            os._exit(0)
        finally:
            os._exit(1)
    try:
        os.read(told[0], 1)
        fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        _link(node, pid)
        _ip("link", "set", node, "master", _BRIDGE, "up")
        os.write(ready[1], b".")
        if os.waitpid(pid, 0)[1] != 0:
            raise places.ClusterError(f"no network for {node}")
        return fd
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        for end in (*ready, *told):
            os.close(end)


def set_clock(lay: Layout, node: str, ahead_s: int) -> None:
    """At once, for all that runs on the node."""
    with open(_clock(lay, node), "r+b", buffering=0) as file:
        file.write(struct.pack("q", ahead_s))


def cut(node: str) -> None:
    """Nothing reaches the node any more, and nothing that it sends arrives."""
    _ip("link", "set", node, "nomaster")


def join(node: str) -> None:
    """Undoes `cut`; nothing happens when it was not cut."""
    _ip("link", "set", node, "master", _BRIDGE)


def heal(lay: Layout) -> None:
    for node in _nodes(lay):
        set_clock(lay, node, 0)
        join(node)


def _nodes(lay: Layout) -> list[str]:
    return lay.nodemanagers if lay.spec.apart else []


def _clock(lay: Layout, node: str) -> Path:
    return lay.run / f"{node}.clock"


def _link(node: str, pid: int) -> None:
    """A cable from the bridge to a process's network. That of an ended cluster may still be there:
    it goes with its network, which the kernel takes back in its own time."""
    subprocess.run(["ip", "link", "delete", node], check=False, capture_output=True)
    _ip("link", "add", node, "type", "veth", "peer", "name", "eth0", "netns", str(pid))


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise places.ClusterError(f"ip {' '.join(words)}: {done.stderr.strip()}")
