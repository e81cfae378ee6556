"""Starting the keeper of a cluster."""

import os
import subprocess
import sys
import time
from pathlib import Path

from . import control, places
from .layout import Layout
from .patience import Limit


def keeper(lay: Layout, owner: int | None, held: list[int], keep_logs: bool = False) -> None:
    """Starts the keeper for a run directory that is prepared. `owner` is a pidfd; the descriptors
    in `held` stay open as long as the keeper lives. This process is watched until `complete`."""
    starter = os.pidfd_open(os.getpid())
    passed = [starter, *held] + ([] if owner is None else [owner])
    command = [sys.executable, "-m", "ydl_cluster.keeper", str(lay.run), str(starter),
               "-" if owner is None else str(owner), "keep" if keep_logs else "clean"]
    package_parent = str(Path(__file__).resolve().parent.parent)
    try:
        with open(lay.logs / "keeper.log", "ab") as log:
            subprocess.run(command, cwd=package_parent, stdin=subprocess.DEVNULL, stdout=log,
                           stderr=log, pass_fds=passed, start_new_session=True, check=True)
    finally:
        os.close(starter)
    _wait_for_socket(lay)


def _wait_for_socket(lay: Layout) -> None:
    limit = Limit(60)
    while not control.is_up(lay.run):
        if limit.over():
            log = (lay.logs / "keeper.log").read_text(errors="replace")
            raise places.ClusterError("the keeper did not start:\n" + log)
        time.sleep(0.01)
