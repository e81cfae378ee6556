"""Small C programs of the test bed, compiled once and kept in the cache under their digest."""

import hashlib
import os
import subprocess
from pathlib import Path

from . import places


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
