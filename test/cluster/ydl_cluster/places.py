"""Where things are kept, and which versions there are. Nothing here creates anything."""

import os
import shutil
from pathlib import Path

NEWEST = "3.4.3"  # the newest 3.4 on Maven Central, and the default everywhere
OLDEST = "3.3.6"  # the oldest release that all of the tests run on
LATEST = "3.5.0"  # the newest release there is
HADOOP2 = "2.10.2"  # the last of Hadoop 2
HADOOP27 = "2.7.7"  # what many clusters that nobody dares to touch run
_PREPARED = "2"  # how fetch.py prepares jars; an archive of classes is good for these alone
VERSIONS = (NEWEST, OLDEST)  # of `make check`; the others are for the long suite


class ClusterError(Exception):
    """Something the person at the keyboard has to read; printed without a traceback."""


def cache_dir() -> Path:
    """Downloads and other things that are expensive to make and cheap to keep."""
    if os.environ.get("YDL_CACHE_DIR"):
        return Path(os.environ["YDL_CACHE_DIR"])
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ydl"


def clusters_dir() -> Path:
    """The parent of all run directories."""
    return Path(os.environ.get("YDL_CLUSTER_DIR") or cache_dir() / "clusters")


def run_dir(name: str) -> Path:
    """The run directory of one cluster; `name` is a single path component."""
    if not name or "/" in name or name.startswith("."):
        raise ClusterError(f"'{name}' cannot be a cluster name")
    return clusters_dir() / name


def run_lock(run: Path) -> Path:
    """Who holds this has the name. It is beside the run directory, which comes and goes."""
    return run.parent / f".{run.name}.lock"


def hadoop_dir(version: str) -> Path:
    """Where the jars of one Hadoop version lie. The name changes with the way they are prepared."""
    return cache_dir() / f"hadoop-{version}-{_PREPARED}"


def classes(version: str, java: str) -> Path:
    """Where the class archive of these jars is for one Java."""
    return cache_dir() / f"classes-{version}-{_PREPARED}-{java}.jsa"


def java_home() -> Path:
    """JAVA_HOME, or the home of the `java` that is on PATH."""
    if os.environ.get("JAVA_HOME"):
        return Path(os.environ["JAVA_HOME"])
    java = shutil.which("java")
    if not java:
        raise ClusterError("no java: set JAVA_HOME or install a JDK (openjdk-17-jdk-headless)")
    return Path(java).resolve().parent.parent


def tool(name: str) -> str:
    """A program by name, also from the directories that hold administrators' programs."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    found = shutil.which(name, path=path)
    if not found:
        raise ClusterError(f"no {name} on this machine")
    return found
