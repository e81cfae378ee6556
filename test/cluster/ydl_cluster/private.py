"""A cluster's own view of the file system: a mount namespace, for clusters that need root.

Accounts for alice, bob and carol, small disks for NodeManagers and the mounts of docker are seen by
the daemons of one cluster only. The kernel takes them back when the last of them ends, however it
ends: the machine keeps its own /etc/passwd and has nothing to clean up.

What lies on a small disk is not in the run directory for others; `seen_by` leads them to it.
"""

import contextlib
import ctypes
import os
import shutil
import stat
from pathlib import Path

from . import java, places, spec as specs
from .layout import Layout

_CLONE_NEWNS, _MS_REC, _MS_BIND, _MS_PRIVATE, _MNT_DETACH = 0x20000, 0x4000, 0x1000, 1 << 18, 2
_CAP_SYS_ADMIN = 21
FIRST_UID = 21001  # of the users that the machine does not know
# Docker's daemons make these below them, whatever they are told about their directories.
_PARENTS, _OF_DOCKER = (Path("/run"), Path("/opt")), {"containerd", "docker", "docker.sock"}
_libc = ctypes.CDLL(None, use_errno=True)


def missing() -> str:
    """Why this machine cannot give a cluster such a view; "" when it can."""
    if os.geteuid() != 0:
        return "root is needed: other users, disks and docker are not for everybody"
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:") and not int(line.split()[1], 16) >> _CAP_SYS_ADMIN & 1:
            return "root may not mount anything here (no CAP_SYS_ADMIN)"
    return ""


def wanted(spec: specs.Spec) -> bool:
    return spec.lce or spec.docker or spec.names or bool(spec.disks)


def prepare(lay: Layout) -> None:
    """Writes what `enter` mounts."""
    if lay.spec.names:
        (lay.run / "resolv.conf").write_text(f"nameserver {lay.host_of('dns')}\n")
        (lay.run / "nameserver").write_text(_nameserver())
        # Java asks for the names of all addresses that it sees; that RegistryDNS is no match for.
        numbers = [f"127.0.0.{i}" for i in range(2, 2 * specs.MOST_NODES + 20)]
        (lay.run / "hosts").write_text(Path("/etc/hosts").read_text() + "".join(
            f"{number} {number}\n" for number in numbers))
    if lay.spec.lce:
        etc = lay.run / "etc"
        etc.mkdir()
        passwd, group = _accounts(Path("/etc/passwd").read_text(), Path("/etc/group").read_text())
        (etc / "passwd").write_text(passwd)
        (etc / "group").write_text(group)
    for node in lay.disks():
        lay.disk(node).mkdir(parents=True)


def _nameserver() -> str:
    """The one that the machine itself asks."""
    rows = [line.split() for line in Path("/etc/resolv.conf").read_text().splitlines()]
    return next((row[1] for row in rows if row[:1] == ["nameserver"] and row[1:]), "127.0.0.1")


def _accounts(passwd: str, group: str) -> tuple[str, str]:
    known = {line.split(":")[0] for line in passwd.splitlines()}
    taken = {line.split(":")[2] for line in (passwd + group).splitlines() if ":" in line}
    number = FIRST_UID
    for user in specs.USERS:
        if user in known:
            continue
        while str(number) in taken:
            number += 1
        taken.add(str(number))
        passwd += f"{user}:x:{number}:{number}:{user}:/nonexistent:/bin/bash\n"
        group += f"{user}:x:{number}:\n"
    return passwd, group


def enter(lay: Layout) -> None:
    """Makes the view and goes into it, with all children from now on. The caller has one thread."""
    if _libc.unshare(_CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    _mount("none", "/", flags=_MS_REC | _MS_PRIVATE)
    if lay.spec.lce:
        for path in _needed(lay):
            _open_way(lay, path)
        for name in ("passwd", "group"):
            _mount(lay.run / "etc" / name, f"/etc/{name}", flags=_MS_BIND)
    if lay.spec.names:
        for name in ("resolv.conf", "hosts"):
            _mount(lay.run / name, os.path.realpath(f"/etc/{name}"), flags=_MS_BIND)
    if lay.spec.docker:
        for directory in _PARENTS:
            _cover(directory, set(os.listdir(directory)) - _OF_DOCKER, 0o755)
    for node, size in lay.disks().items():
        _mount("none", lay.disk(node), "tmpfs", data=f"size={size}m,mode=755")


def leave(lay: Layout) -> None:
    """Unmounts what would keep the run directory from being removed: our disks, docker's own."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in reversed(points):  # what was mounted last goes first
        if point.startswith(f"{lay.run}/"):
            _libc.umount2(point.encode(), _MNT_DETACH)
    remove_cgroups(lay.run)


def remove_cgroups(run: Path) -> None:
    """The one thing that a cluster with docker leaves outside of its view."""
    base = Path("/sys/fs/cgroup")
    for top in [*base.glob(cgroup(run)), *base.glob("*/" + cgroup(run))]:
        for directory, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)


def cgroup(run: Path) -> str:
    """The name of the control groups below which this cluster's docker has its own."""
    return f"ydl-{run.name}"


def seen_by(pid: int, path: Path) -> Path:
    """A path as a process sees it."""
    return Path(f"/proc/{pid}/root{path}")


def _needed(lay: Layout) -> list[Path]:
    """What a container's user has to read: its own directories, Hadoop's jars, Java."""
    return [path.resolve() for path in (lay.run, places.cache_dir(),
                                        java.home(lay.spec.version))]


def _open_way(lay: Layout, path: Path) -> None:
    """Everybody can pass through to `path`. A directory on the way that is closed to others, as
    homes are, is covered by an open one in which only what is needed is found."""
    for directory in reversed(path.parents):
        if not directory.stat().st_mode & stat.S_IXOTH:
            _cover(directory, {way.relative_to(directory).parts[0] for way in _needed(lay)
                               if directory in way.parents}, 0o711)


def _cover(directory: Path, names: set[str], mode: int) -> None:
    """Lays a directory over `directory` that has only the entries `names` of it."""
    behind = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _mount("none", directory, "tmpfs", data=f"mode={mode:o}")
        for name in names:
            source, target = Path(f"/proc/self/fd/{behind}/{name}"), directory / name
            if source.is_symlink():
                target.symlink_to(os.readlink(source))
                continue
            if source.is_dir():
                target.mkdir()
            else:
                target.touch()
            _mount(source, target, flags=_MS_BIND | _MS_REC)
    finally:
        os.close(behind)


def _mount(source, target, kind: str = "none", flags: int = 0, data: str = "") -> None:
    if _libc.mount(str(source).encode(), str(target).encode(), kind.encode(),
                   ctypes.c_ulong(flags), data.encode() or None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}: {os.strerror(ctypes.get_errno())}")


def install_executor(lay: Layout, program: Path, docker: str) -> None:
    """Puts the stand-in for container-executor, and what it has to know, where the daemons' user
    may run it."""
    target = lay.executor
    target.parent.mkdir()
    shutil.copy2(program, target)
    target.with_name(target.name + ".conf").write_text(
        f"docker={docker}\nhost=unix://{lay.docker_socket}\n")
