"""Small programs of the test bed, compiled once and kept in the cache under their digest."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import java, lock, places
from .layout import Layout


def result(name: str, sources: list[Path], *flags: str) -> Path:
    """What `cc FLAGS SOURCES` makes; `name` has `{}` where the digest belongs."""
    text = b"".join(source.read_bytes() for source in sources)
    done = places.cache_dir() / name.format(hashlib.sha256(text).hexdigest()[:12])
    if not done.exists():
        done.parent.mkdir(parents=True, exist_ok=True)
        scratch = done.with_suffix(f".{os.getpid()}")
        command = [places.tool(os.environ.get("CC", "cc")), *flags, "-O2", "-o", str(scratch),
                   *(str(source) for source in sources if source.suffix == ".c")]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise places.ClusterError(f"cannot compile {sources[0].name}:\n{made.stderr}")
        scratch.rename(done)
    return done


def classes(lay: Layout, source: Path) -> Path:
    """The directory of what `javac SOURCE` makes, once for each version of Hadoop."""
    name, version = source.stem.lower(), lay.spec.version
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    done = places.cache_dir() / f"{name}-{version}-{digest}"
    if done.exists():
        return done
    with lock.held(places.cache_dir() / f"{name}-{version}.lock"):
        if not done.exists():
            scratch = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=done.parent))
            made = subprocess.run(
                [str(places.java_home() / "bin" / "javac"), "-nowarn", "-d", str(scratch), "-cp",
                 ":".join(java.jars(lay.home)), str(source)],
                capture_output=True, text=True, check=False)
            if made.returncode != 0:
                shutil.rmtree(scratch)
                raise places.ClusterError(f"cannot compile {source.name}:\n{made.stderr}")
            scratch.chmod(0o755)
            scratch.rename(done)
    return done
