"""Many NodeManagers in one JVM (`../many/ManyNodes.java`), for jobs of hundreds of containers."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import java, lock, places
from .layout import Layout

_SOURCE = Path(__file__).resolve().parents[1] / "many" / "ManyNodes.java"
_HEAP_MB = 512
_EACH_MB = 12  # of the heap, for each NodeManager


def classes(lay: Layout) -> Path:
    """The directory of the compiled classes, made once for each version of Hadoop."""
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:12]
    done = places.cache_dir() / f"many-{lay.spec.version}-{digest}"
    with lock.held(places.cache_dir() / f"many-{lay.spec.version}.lock"):
        if not done.exists():
            scratch = Path(tempfile.mkdtemp(prefix=".many-", dir=done.parent))
            made = subprocess.run(
                [str(places.java_home() / "bin" / "javac"), "-nowarn", "-d", str(scratch), "-cp",
                 ":".join(java.jars(lay.home)), str(_SOURCE)],
                capture_output=True, text=True, check=False)
            if made.returncode != 0:
                shutil.rmtree(scratch)
                raise places.ClusterError(f"cannot compile {_SOURCE.name}:\n{made.stderr}")
            scratch.chmod(0o755)
            scratch.rename(done)
    return done


def command(lay: Layout, arguments: list[str]) -> list[str]:
    """A later class path replaces the common one, of which it is the beginning."""
    path = ":".join([*java.jars(lay.home), str(lay.conf), str(lay.home / "web"),
                     str(classes(lay))])
    return java.command(lay, _HEAP_MB + _EACH_MB * lay.spec.many, "many",
                        f"-Dydl.cluster={lay.run}", "-Dydl.daemon=many", "-Xss256k", "-cp", path,
                        "ManyNodes", str(lay.spec.many), str(lay.port("many", "rpc")),
                        str(lay.run / "many"), *arguments)


def lose(lay: Layout, number: int) -> None:
    """The machine of a node disappears with all that runs on it."""
    (lay.run / "many" / "lose" / str(number)).touch()
