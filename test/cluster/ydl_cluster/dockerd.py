"""A docker daemon of a cluster's own: private socket and directories, no network of its own making,
and one image that has what a container script and a Python task need."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from . import lock, places, private, spec as specs
from .layout import Layout

IMAGE = "ydl-test:1"
_SYSTEM = "/usr/bin:/bin:/usr/sbin:/sbin"
# Besides coreutils. The launch script of a container calls several of them.
_PROGRAMS = ("bash", "find", "grep", "sed", "ps", "hostname", "kill", "python3")
_COREUTILS = ("cat", "chmod", "cp", "cut", "date", "dirname", "basename", "echo", "env", "false",
              "head", "id", "ln", "ls", "mkdir", "mv", "nproc", "pwd", "readlink", "rm", "seq",
              "sleep", "sort", "stat", "tail", "test", "touch", "tr", "true", "uname", "wc",
              "whoami")
_UNUSED = ("test", "idlelib", "tkinter", "ensurepip", "lib2to3", "dist-packages", "site-packages",
           "turtledemo", "pydoc_data", "distutils")


def missing() -> str:
    """Why there can be no docker daemon here; "" when there can."""
    reason = private.missing()
    if not reason and not (_which("dockerd") and _which("docker")):
        return "no dockerd on this machine (tools/setup docker)"
    return reason


def _which(name: str) -> str | None:
    return shutil.which(name, path=os.environ.get("PATH", "") + ":" + _SYSTEM)


def client() -> str:
    """The docker program. The daemon's own package comes first: both are of one age."""
    return shutil.which("docker", path=_SYSTEM) or places.tool("docker")


def command(lay: Layout) -> list[str]:
    """`--iptables=false --bridge=none`: containers have the machine's network or none at all."""
    base = lay.run / "docker"
    return [places.tool("dockerd"), "--iptables=false", "--ip6tables=false", "--bridge=none",
            "--data-root", str(base / "data"), "--exec-root", str(base / "exec"),
            "--host", f"unix://{lay.docker_socket}", "--pidfile", str(base / "pid"),
            "--config-file", str(base / "daemon.json"),
            "--cgroup-parent", f"/{private.cgroup(lay.run)}", "--shutdown-timeout", "2"]


def prepare(lay: Layout) -> None:
    if len(str(lay.docker_socket)) > 100:
        raise places.ClusterError(f"'{lay.docker_socket}' is too long for a socket: "
                                  "choose a shorter YDL_CLUSTER_DIR")
    base = lay.run / "docker"
    base.mkdir()
    # Its key has no option; without this it would be made in /etc.
    (base / "daemon.json").write_text(json.dumps({"deprecated-key-path": str(base / "key.json")}))
    image()


def run(lay: Layout, *arguments: str, **options) -> subprocess.CompletedProcess:
    """`docker ARGUMENTS` with this cluster's daemon; `options` are those of subprocess.run."""
    settled = {"check": True, "timeout": 60, "capture_output": True, "text": True,
               "stdin": subprocess.DEVNULL} | options
    return subprocess.run([client(), "--host", f"unix://{lay.docker_socket}", *arguments],
                          **settled)


def load_image(lay: Layout) -> None:
    """Gives a daemon that has just started its image."""
    done = run(lay, "import", str(image()), IMAGE, check=False)
    if done.returncode != 0:
        raise places.ClusterError(f"docker import: {done.stderr}")


def containers(lay: Layout) -> list[str]:
    """The names of all containers, ended ones too."""
    return run(lay, "ps", "--all", "--format", "{{.Names}}").stdout.split()


def remove_containers(lay: Layout) -> None:
    names = containers(lay)
    if names:
        run(lay, "rm", "--force", *names, check=False)


def image() -> Path:
    """The root file system as a tar file in the cache, made of programs of this machine."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    digest.update(os.readlink("/usr/bin/python3").encode()
                  if os.path.islink("/usr/bin/python3") else b"")
    done = places.cache_dir() / f"image-{digest.hexdigest()[:12]}.tar"
    with lock.held(places.cache_dir() / "image.lock"):
        if not done.exists():
            scratch = done.with_suffix(".new")
            with tarfile.open(scratch, "w") as tar:
                _fill(tar)
            scratch.rename(done)
    return done


def _fill(tar: tarfile.TarFile) -> None:
    for name in ("bin", "sbin", "lib", "lib64", "lib32"):
        if os.path.islink(f"/{name}"):  # the programs below find each other as they do here
            _add_link(tar, name, os.readlink(f"/{name}"))
    files = {_real_place(path) for path in map(_system_program, _PROGRAMS + _COREUTILS) if path}
    library = _standard_library()
    files |= {path for path in library if "." in path.name}
    files |= _shared_objects([path for path in files if path.suffix in ("", ".so")])
    for path in sorted(files):
        tar.add(os.path.realpath(path), arcname=str(path).lstrip("/"), recursive=False)
    _add_link(tar, "usr/bin/sh", "bash")
    _add_directory(tar, "tmp", 0o1777)
    for name in ("proc", "sys", "dev", "etc", "run"):
        _add_directory(tar, name, 0o755)
    users = ("root",) + specs.USERS
    numbers = [0, *(private.FIRST_UID + i for i in range(len(specs.USERS)))]
    _add_text(tar, "etc/passwd", "".join(
        f"{user}:x:{n}:{n}:{user}:/:/bin/bash\n" for user, n in zip(users, numbers)))
    _add_text(tar, "etc/group", "".join(f"{user}:x:{n}:\n" for user, n in zip(users, numbers)))


def _system_program(name: str) -> Path | None:
    found = shutil.which(name, path=_SYSTEM)
    return Path(found) if found else None


def _real_place(path: Path) -> Path:
    """The same name in the directory that it is really in."""
    return path.parent.resolve() / path.name


def _standard_library() -> set[Path]:
    python = _system_program("python3")
    if not python:
        return set()
    where = "import sysconfig; print(sysconfig.get_path('stdlib'))"
    found = subprocess.run([python, "-I", "-c", where],
                           capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    base = Path(found).resolve()
    return {path for path in base.rglob("*") if path.is_file() and
            not set(path.relative_to(base).parts) & set(_UNUSED) and
            not path.relative_to(base).parts[0].startswith("config-")}


def _shared_objects(files: list[Path]) -> set[Path]:
    """What the dynamic linker says these need."""
    said = subprocess.run([places.tool("ldd"), *map(str, files)], capture_output=True, text=True,
                          check=False, timeout=60).stdout
    words = (word for line in said.splitlines() if line.startswith("\t") for word in line.split())
    return {_real_place(Path(word)) for word in words if word.startswith("/")}


def _add_link(tar: tarfile.TarFile, name: str, target: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    tar.addfile(entry)


def _add_directory(tar: tarfile.TarFile, name: str, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    tar.addfile(entry)


def _add_text(tar: tarfile.TarFile, name: str, text: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(text.encode()), 0o644
    tar.addfile(entry, io.BytesIO(text.encode()))
