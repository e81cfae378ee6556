"""Models that a script makes with the frameworks, and what these say to them.

Importing the frameworks takes longer than most tests, so what a script has written stays in the cache:
for this script, these frameworks and this kind of processor, on which the last bits may depend.
"""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import environment


def copy(to: Path, *scripts: Path) -> Path:
    """What `PYTHON SCRIPT DIRECTORY` writes, one script after the other, in a directory of the caller's."""
    shutil.copytree(_made(scripts), to, symlinks=True, dirs_exist_ok=True)
    return to


def _made(scripts) -> Path:
    home = environment.directory()
    told = hashlib.sha256(f"{home.name}\n{_processor()}".encode())
    for script in scripts:
        told.update(hashlib.sha256(script.read_bytes()).digest())
    place = home.parent / f"made-{scripts[-1].stem}-{told.hexdigest()[:12]}"
    with open(home.parent / f"made-{scripts[-1].stem}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _make(scripts, home, place)
    return place


def _make(scripts, home: Path, place: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"), "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="making-") as scratch:
        found = Path(scratch) / "found"
        found.mkdir()
        for script in scripts:
            subprocess.run([home / "bin" / "python", script, found], check=True, timeout=300, env=env)
        found.rename(place)


@functools.cache
def _processor() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return "\n".join(sorted(set(re.findall(r"^(?:model name|flags|Features)\s*:.*", text, re.MULTILINE))))
