"""The compiled form of source_address.c, kept in the cache under the digest of its source."""

import hashlib
import os
import subprocess
from pathlib import Path

from . import places

_SOURCE = Path(__file__).with_name("source_address.c")


def library() -> Path:
    """The shared object to preload; compiled when it is not in the cache."""
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:12]
    done = places.cache_dir() / f"source-address-{digest}.so"
    if not done.exists():
        scratch = done.with_suffix(f".{os.getpid()}")
        command = [places.tool(os.environ.get("CC", "cc")), "-shared", "-fPIC", "-O2", "-o",
                   str(scratch), str(_SOURCE)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise places.ClusterError(f"cannot compile {_SOURCE.name}:\n{made.stderr}")
        scratch.rename(done)
    return done
