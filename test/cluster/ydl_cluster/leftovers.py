"""What an application has left on the nodes: processes, docker containers, directories.

What a NodeManager keeps on purpose is not counted: its caches of files, and the logs of an ended
application while they are being aggregated or where they are not aggregated at all.
"""

import os
import re
from pathlib import Path

from . import control, dockerd, private
from .layout import Layout


def numbers(app: str) -> str:
    """The part of an application's id that its containers' ids have too."""
    found = re.fullmatch(r"application_(\d+_\d+)", app)
    if not found:
        raise ValueError(f"'{app}' is no application id")
    return found[1]


def processes(app: str) -> dict[int, str]:
    """Living processes of an application: process id and command line. They are known by the
    container id in their environment or by the application's name in their command line."""
    mark = re.compile(rb"container_(e\d+_)?" + numbers(app).encode() + rb"_\d\d_\d{6}")
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes()
            told = b"\0" + (entry / "environ").read_bytes()
        except OSError:
            continue
        if line and (re.search(rb"\0(CONTAINER_ID|YDL_CONTAINER)=" + mark.pattern, told) or
                     re.search(rb"/" + mark.pattern, line)):
            shown = line.replace(b"\0", b" ").decode(errors="replace").strip()
            found[int(entry.name)] = shown[:200]
    return found


def directories(lay: Layout, app: str, logs: bool = False) -> list[Path]:
    """Directories of an application in those of the NodeManagers; with `logs` its logs too. The file
    nmPrivate/CONTAINER….tokens is none: a NodeManager writes it while it fetches a container's files,
    and forgets it when the application is killed just then (its LocalizerRunner throws)."""
    found: list[Path] = []
    nodes = [lay.node_dirs(node) for node in lay.nodemanagers + lay.spares]
    for dirs in nodes + lay.many_dirs():
        local, log = (seen(lay, path) for path in dirs)
        found += local.glob(f"usercache/*/appcache/{app}")
        found += local.glob(f"nmPrivate/{app}")
        found += log.glob(app) if logs else []
    return found


def seen(lay: Layout, path: Path) -> Path:
    """A path of the run directory, also where only the daemons see what is mounted there."""
    if not lay.disks():
        return path
    return private.seen_by(control.ask(lay.run, "status")["pid"], path)


def containers(lay: Layout, app: str) -> list[str]:
    """Docker containers of an application, ended ones too."""
    if not lay.spec.docker:
        return []
    return [name for name in dockerd.containers(lay) if f"{numbers(app)}_" in name]


def every(lay: Layout, app: str, logs: bool = False) -> list[str]:
    """All of it, as lines for a person; [] when nothing is left."""
    return ([f"process {pid}: {line}" for pid, line in processes(app).items()] +
            [f"docker container {name}" for name in containers(lay, app)] +
            [f"directory {path}" for path in directories(lay, app, logs)])
