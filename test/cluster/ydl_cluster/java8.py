"""Java 8, which Hadoop 2 needs and Debian's stable release no longer has.

Its packages come from Debian's unstable archive and are only unpacked: nothing is installed. They
are built for a newer glibc than this machine's, which therefore comes along, with its own loader.
The launcher finds the rest of Java from where its executable is (/proc/self/exe), and that is the
loader: so a copy of it lies beside the launcher.
"""

import hashlib
import lzma
import os
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from . import lock, places

_ARCHIVE = "https://deb.debian.org/debian"
_PACKAGES = ("openjdk-8-jre-headless", "libc6", "libstdc++6", "libgcc-s1", "zlib1g")
_HOME = "usr/lib/jvm/java-8-openjdk-amd64/jre"
_LIBRARIES = "usr/lib/x86_64-linux-gnu"


def home() -> Path:
    return places.cache_dir() / "java-8" / _HOME


def ensure(say=lambda text: None) -> None:
    """Downloads it if it is not there yet. It appears under its name only when it is complete."""
    done = places.cache_dir() / "java-8"
    if done.exists():
        return
    with lock.held(places.cache_dir() / "java-8.lock"):
        if done.exists():
            return
        say("unpacking Java 8 from Debian's unstable archive (a minute, once)")
        scratch = Path(tempfile.mkdtemp(prefix=".java-8-", dir=done.parent))
        try:
            _unpack(scratch)
            _relink(scratch)
            _make_launcher(scratch, done)
            os.chmod(scratch, 0o755)
            scratch.rename(done)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _fetch(path: str) -> bytes:
    try:
        with urllib.request.urlopen(f"{_ARCHIVE}/{path}", timeout=60) as answer:
            return answer.read()
    except OSError as error:
        raise places.ClusterError(f"cannot fetch {_ARCHIVE}/{path}: {error}") from error


def _rows() -> dict[str, dict[str, str]]:
    """What the archive's index says of the packages that are wanted."""
    index = lzma.decompress(_fetch("dists/sid/main/binary-amd64/Packages.xz")).decode()
    found = {}
    for text in index.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in text.splitlines()
                      if ": " in line and not line.startswith(" "))
        if fields.get("Package") in _PACKAGES:
            found[fields["Package"]] = fields
    return found


def _unpack(root: Path) -> None:
    rows = _rows()
    for name in _PACKAGES:
        if name not in rows:
            raise places.ClusterError(f"Debian's unstable archive has no {name} any more")
        package = root / "package.deb"
        package.write_bytes(_fetch(rows[name]["Filename"]))
        if hashlib.sha256(package.read_bytes()).hexdigest() != rows[name]["SHA256"]:
            raise places.ClusterError(f"{name} is not what the archive's index says")
        subprocess.run([places.tool("dpkg-deb"), "-x", package, root], check=True)
        package.unlink()


def _relink(root: Path) -> None:
    """Links into /etc lead into what was unpacked."""
    for path in (root / _HOME).rglob("*"):
        if path.is_symlink() and str(target := path.readlink()).startswith("/etc/"):
            path.unlink()
            path.symlink_to(os.path.relpath(root / str(target).lstrip("/"), path.parent))


def _make_launcher(root: Path, done: Path) -> None:
    programs = root / _HOME / "bin"
    shutil.copy(root / _LIBRARIES / "ld-linux-x86-64.so.2", programs / "loader")
    (programs / "java").rename(programs / "java.real")
    there, jre = done / _LIBRARIES, done / _HOME
    libraries = ":".join(map(str, (there, jre / "lib/amd64", jre / "lib/amd64/jli",
                                   jre / "lib/amd64/server")))
    (programs / "java").write_text(
        f'#!/bin/sh\nexec {jre}/bin/loader --library-path {libraries} {jre}/bin/java.real "$@"\n')
    (programs / "java").chmod(0o755)
