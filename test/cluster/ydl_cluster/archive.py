"""A class-data archive: the classes that the daemons load, parsed and verified beforehand.

Loading classes is most of what a JVM does while a daemon starts. With an archive the seven daemons
of the plain cluster together need 13 s of CPU instead of 26, and a tool like FsShell a third less.
The archive is made from the lists of classes that a cluster wrote down while it was *trained*; it
is good for one Hadoop and one Java, and a JVM that cannot use it starts without it.
"""

import hashlib
import os
import subprocess
from pathlib import Path

from . import places

# The dump and its users must agree on the collector.
COLLECTOR = "-XX:+UseSerialGC"


def path(version: str) -> Path:
    """Where the archive for this version and this Java is, or would be."""
    release = places.java_home() / "release"
    java = release.read_bytes() if release.exists() else str(places.java_home()).encode()
    return places.classes(version, hashlib.sha256(java).hexdigest()[:12])


def options(version: str) -> list[str]:
    """JVM options that use the archive, when there is one."""
    archive = path(version)
    return ["-Xshare:auto", f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def list_option(run: Path, label: str) -> str:
    """The JVM option that writes down the classes of one process of a cluster in training."""
    (run / "classes").mkdir(exist_ok=True)
    return f"-XX:DumpLoadedClassList={run}/classes/{label}.list"


def make(version: str, run: Path, jars: list[str], java: str) -> None:
    """Makes the archive from the lists that the cluster in `run` has written so far."""
    merged = run / "classes" / "all"
    merged.write_text("\n".join(_merge(sorted(merged.parent.glob("*.list")))) + "\n")
    done = path(version)
    scratch = done.with_suffix(f".{os.getpid()}")
    command = [java, "-Xshare:dump", COLLECTOR, f"-XX:SharedClassListFile={merged}",
               f"-XX:SharedArchiveFile={scratch}", "-cp", ":".join(jars)]
    made = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    if made.returncode != 0:
        raise places.ClusterError(f"cannot make a class archive:\n{made.stdout[-2000:]}")
    scratch.rename(done)


def _merge(lists: list[Path]) -> list[str]:
    """Every line once, in the order of first sight; a last line may still be half written."""
    seen: dict[str, None] = {}
    for each in lists:
        whole = each.read_text(errors="replace").rpartition("\n")[0]
        seen.update(dict.fromkeys(line for line in whole.splitlines() if not line.startswith("#")))
    return list(seen)
