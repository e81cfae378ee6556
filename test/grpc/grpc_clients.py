"""The Python environment with gRPC's own client, which tools/setup puts into the cache."""

import hashlib
import os
from pathlib import Path

LOCK = Path(__file__).with_name("clients.lock")


def directory() -> Path:
    """Where it is; a test that needs it fails with what to do when it is not."""
    cache = os.environ.get("YDL_CACHE_DIR") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ydl"
    found = Path(cache) / f"grpc-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    assert (found / "ready").exists(), f"{found} is not there: run tools/setup test"
    return found


def site_packages(environment: Path) -> Path:
    return next((environment / "lib").glob("python3*/site-packages"))
