"""The other ways to run a command in four containers: Hadoop's DistributedShell and skein.

Both come from their registries, once, into the cache: Maven Central has DistributedShell's jar for
some versions of Hadoop only, PyPI has skein, which needs a protobuf of its time and so lives in a
virtual environment of its own.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ydl_cluster import fetch, java, lock, places

SHELL = "org.apache.hadoop.yarn.applications.distributedshell"
# The nearest one that was published, for each Hadoop that there is a test cluster of.
SHELL_VERSIONS = {"3.4.3": "3.4.2", "3.3.6": "3.3.1"}
SKEIN = "0.8.2"
SKEIN_NEEDS = "protobuf<3.21"  # its generated code is older than what later ones take
HERE = Path(__file__).resolve().parent


def shell_jar(version: str) -> Path:
    """DistributedShell's jar for a version of Hadoop; it may not be there yet."""
    published = SHELL_VERSIONS[version]
    return (places.cache_dir() / "distributedshell"
            / f"hadoop-yarn-applications-distributedshell-{published}.jar")


def skein_home() -> Path:
    return places.cache_dir() / f"skein-{SKEIN}"


def fetch_all(version: str) -> None:
    """Everything that is not in the cache yet."""
    places.cache_dir().mkdir(parents=True, exist_ok=True)
    with lock.held(places.cache_dir() / "peers.lock"):
        if not shell_jar(version).exists():
            _fetch_shell(shell_jar(version), SHELL_VERSIONS[version])
        if not (skein_home() / "ready").exists():
            _fetch_skein(skein_home())


def _run(command: list, what: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise places.ClusterError(f"{what} could not be fetched:\n{done.stdout[-3000:]}")


def _fetch_shell(jar: Path, published: str) -> None:
    print(f"bench: fetching DistributedShell {published}", file=sys.stderr)
    name = f"org.apache.hadoop:hadoop-yarn-applications-distributedshell:{published}"
    _run([places.tool("mvn"), "-q", "-B", f"{fetch.PLUGIN}:copy", f"-Dartifact={name}",
          f"-DoutputDirectory={jar.parent}"], "DistributedShell")


def _fetch_skein(home: Path) -> None:
    print(f"bench: installing skein {SKEIN} into {home}", file=sys.stderr)
    shutil.rmtree(home, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(home)], "skein")
    _run([str(home / "bin" / "pip"), "-q", "--disable-pip-version-check", "install",
          f"skein=={SKEIN}", SKEIN_NEEDS], "skein")
    (home / "ready").touch()


# How each is started. The JVMs of the clients get no options that favour a short life, as with
# Hadoop's own scripts.


def shell_command(cluster, script: str, count: int) -> list[str]:
    jar = shell_jar(cluster.lay.spec.version)
    classpath = ":".join([str(cluster.conf_dir), *java.jars(cluster.lay.home), str(jar)])
    return [java.program(cluster.lay.spec.version), "-Dhadoop.root.logger=WARN,console", "-cp",
            classpath, f"{SHELL}.Client", "-jar", str(jar), "-shell_command", script,
            "-num_containers", str(count), "-container_memory", "64", "-container_vcores", "1",
            "-appname", "bench"]


def skein_command(script: str, count: int) -> list[str]:
    """Its command line cannot wait for an end, so a few lines of Python with its library do."""
    return [str(skein_home() / "bin" / "python"), "-I", str(HERE / "yarn_skein.py"), script,
            str(count)]


def skein_path(cluster, scratch: Path) -> str:
    """A PATH with a `yarn` that can say its class path, which skein asks it for."""
    tools = scratch / "yarn-tool"
    tools.mkdir(exist_ok=True)
    jars = ":".join([str(cluster.conf_dir), *java.jars(cluster.lay.home)])
    (tools / "yarn").write_text('#!/bin/sh\n[ "$1" = classpath ] && shift\n'
                                f'exec {java.program(cluster.lay.spec.version)} -cp "{jars}" '
                                'org.apache.hadoop.util.Classpath "$@"\n')
    (tools / "yarn").chmod(0o755)
    return f"{tools}:{os.environ['PATH']}"
