"""Everything that is made once for a Hadoop version: the jars, the templates, the class archive."""

import os
import subprocess
from pathlib import Path

from . import archive, control, fetch, info, java, java8, lock, places, spec as specs, startup
from .layout import Layout

_TOOLS = (
    ["org.apache.hadoop.fs.FsShell", "-put", __file__, "/tmp/x"],
    ["org.apache.hadoop.fs.FsShell", "-get", "/tmp/x", os.devnull],
    ["org.apache.hadoop.yarn.client.cli.NodeCLI", "-list"],
    ["org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application", "-list"],
)


def ensure(version: str, say: startup.Say) -> Path:
    """Makes what is not there yet; no work at all when everything is."""
    home = fetch.ensure(version, say)
    if java.is_old(version):
        java8.ensure(say)
    elif not archive.path(version).exists():
        with lock.held(places.cache_dir() / f"classes-{version}.lock"):
            if not archive.path(version).exists():
                say(f"training the JVMs for Hadoop {version} (a minute, once)")
                _train(version)
    return home


def _train(version: str) -> None:
    """A small cluster with every kind of daemon, and the tools that tests use most."""
    spec = specs.Spec(name=f"training-{version}-{os.getpid()}", version=version, nodes=1,
                      datanodes=1, ha=True, training=True)
    lay = startup.up(spec, os.getpid(), False, lambda text: None)
    try:
        for tool in _TOOLS:
            _use(lay, tool)
        archive.make(version, lay.run, java.jars(lay.home), java.program(version))
    finally:
        control.ask(lay.run, "down", keep_logs=False)


def _use(lay: Layout, tool: list[str]) -> None:
    subprocess.run(java.tool(lay, *tool), env=os.environ | info.environment(lay),
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=60, check=False)
