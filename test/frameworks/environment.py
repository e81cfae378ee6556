"""The Python environments with the real frameworks, which tools/setup puts into the cache."""

import hashlib
import os
from pathlib import Path

LOCK = Path(__file__).with_name("requirements.lock")
MORE = Path(__file__).with_name("more.lock")


def _place(name: str, *locks: Path) -> Path:
    cache = os.environ.get("YDL_CACHE_DIR") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ydl"
    text = b"".join(lock.read_bytes() for lock in locks)
    found = Path(cache) / f"{name}-{hashlib.sha256(text).hexdigest()[:12]}"
    assert (found / "ready").exists(), f"{found} is not there: run tools/setup frameworks"
    return found


def directory() -> Path:
    """Where it is; a test that needs it fails with what to do when it is not."""
    return _place("frameworks", LOCK)


def more() -> Path:
    """Packages for PYTHONPATH that do not live in one environment with those of directory()."""
    return _place("frameworks-more", LOCK, MORE)
