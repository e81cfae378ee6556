"""The Python environment with the real frameworks, which tools/setup puts into the cache."""

import hashlib
import os
from pathlib import Path

LOCK = Path(__file__).with_name("requirements.lock")


def directory() -> Path:
    """Where it is; a test that needs it fails with what to do when it is not."""
    cache = os.environ.get("YDL_CACHE_DIR") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ydl"
    name = "frameworks-" + hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    venv = Path(cache) / name
    assert (venv / "ready").exists(), f"{venv} is not there: run tools/setup frameworks"
    return venv
