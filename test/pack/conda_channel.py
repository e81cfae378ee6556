"""A channel of real conda packages, made here, and environments that are installed from it.

    conda_channel.py channel DIR                  makes the channel
    conda_channel.py install DIR PREFIX CACHE     installs all of it into PREFIX, as conda would
    conda_channel.py pack PREFIX FILE             what conda-pack makes of it, to compare with

Runs in the environment that tools/setup makes of conda.lock: rattler solves, links and replaces
prefixes, conda-package-handling writes packages. No registry is asked: Python is the one that runs
this, the rest is written and compiled here.
"""

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

PLACEHOLDER = "/ydl/test/env" + "_placehold" * 24 + "_p"  # of 255 bytes, as conda-build's are
VERSION = "%d.%d" % sys.version_info[:2]
LEFT_OUT = ("__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter",
            "lib2to3", "ensurepip", "turtledemo", "pydoc_data", "config-*")
assert len(PLACEHOLDER) == 255

MAIN = "int Py_BytesMain(int, char **);\nint main(int n, char **v) { return Py_BytesMain(n, v); }\n"
LIBRARY = f"""
const char *where_prefix(void) {{ return "{PLACEHOLDER}"; }}
const char *where_paths(void) {{ return "first:{PLACEHOLDER}/one:{PLACEHOLDER}/two"; }}
"""
PROGRAM = f"""
#include <stdio.h>
extern const char *where_prefix(void), *where_paths(void);
int main(void)
{{
    char text[64] = "nothing";
    FILE *f = fopen("{PLACEHOLDER}/share/where/data", "r");
    if (f && !fgets(text, sizeof(text), f))
        return 2;
    printf("%s|%s|%s\\n", where_prefix(), where_paths(), text);
    return f ? 0 : 1;
}}
"""
SAY = f"#!{PLACEHOLDER}/bin/python\nimport sys\nprint('say of', sys.prefix, *sys.argv[1:])\n"
CONFIG = f"prefix={PLACEHOLDER}\nlibs=-L{PLACEHOLDER}/lib\n"
ACTIVATE = 'export WHERE_DATA="$CONDA_PREFIX/share/where/data"\nWHERE_HIDDEN=1\n'
DEACTIVATE = "unset WHERE_DATA\n"


def _write(path: Path, text: str, mode: int = 0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _compile(out: Path, source: str, *words):
    out.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-x", "c", "-", "-x", "none", "-o", out, *map(str, words)],
                   input=source, text=True, check=True)


# ---- what is in the packages ----

def _python(root: Path):
    """The Python that runs this: its program, its library when it has one, its modules."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(stdlib, root / "lib" / f"python{VERSION}", ignore=shutil.ignore_patterns(*LEFT_OUT),
                    symlinks=False, ignore_dangling_symlinks=True)
    program = root / "bin" / f"python{VERSION}"
    program.parent.mkdir()
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        name = sysconfig.get_config_var("INSTSONAME")
        shutil.copy(Path(sysconfig.get_config_var("LIBDIR")) / name, root / "lib" / name)
        subprocess.run(["strip", "--strip-debug", root / "lib" / name], check=True)
        _compile(program, MAIN, root / "lib" / name, "-Wl,-rpath,$ORIGIN/../lib")
    else:
        shutil.copy(Path(sys._base_executable).resolve(), program)
    for name in ("python3", "python"):
        (root / "bin" / name).symlink_to(program.name)
    (root / "lib" / f"python{VERSION}" / "sitecustomize.py").unlink(missing_ok=True)
    _write(root / "lib" / f"python{VERSION}" / "sitecustomize.py",  # Debian's looks elsewhere
           "import site, sys\n"
           f"site.addsitedir(sys.prefix + '/lib/python{VERSION}/site-packages')\n")
    for path in (root / "lib" / f"python{VERSION}").glob("_sysconfigdata*.py"):
        path.write_text(path.read_text().replace(sys.base_prefix + "/", PLACEHOLDER + "/"))


def _hello(root: Path):
    _write(root / "site-packages" / "hello.py",
           "import sys\n\n\ndef main():\n    print('hello of', sys.prefix, *sys.argv[1:])\n")
    _write(root / "site-packages" / "hello-1.0.dist-info" / "METADATA",
           "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n")
    _write(root / "info" / "link.json", json.dumps({
        "noarch": {"type": "python", "entry_points": ["hello = hello:main"]},
        "package_metadata_version": 1}))


def _say(root: Path):
    _write(root / "bin" / "say", SAY, 0o755)
    _write(root / "share" / "say" / "config.txt", CONFIG)
    _write(root / "share" / "say" / "plain.txt", "nothing of its place\n")
    (root / "share" / "say" / "linked.txt").symlink_to("config.txt")
    _write(root / "etc" / "conda" / "activate.d" / "where.sh", ACTIVATE)
    _write(root / "etc" / "conda" / "deactivate.d" / "where.sh", DEACTIVATE)


def _where(root: Path):
    _write(root / "share" / "where" / "data", "found")
    _compile(root / "lib" / "libwhere.so", LIBRARY, "-shared", "-fPIC", "-Wl,-soname,libwhere.so")
    _compile(root / "bin" / "where", PROGRAM, root / "lib" / "libwhere.so",
             "-Wl,-rpath,$ORIGIN/../lib")


PACKAGES = {  # name: what makes it, version, what it needs, whether it is for all systems
    "python": (_python, "%d.%d.%d" % sys.version_info[:3], [], False),
    "hello": (_hello, "1.0", ["python"], True),
    "say": (_say, "2.1", ["python"], False),
    "where": (_where, "0.3", [], False),
}


# ---- packages ----

def _row(root: Path, path: Path) -> dict:
    """What conda-build says about a file."""
    name = str(path.relative_to(root))
    if path.is_symlink():
        return {"_path": name, "path_type": "softlink", "size_in_bytes": path.stat().st_size,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    data = path.read_bytes()
    row = {"_path": name, "path_type": "hardlink", "size_in_bytes": len(data),
           "sha256": hashlib.sha256(data).hexdigest()}
    if PLACEHOLDER.encode() in data:
        row |= {"prefix_placeholder": PLACEHOLDER, "file_mode": "binary" if b"\0" in data else "text"}
    return row


def _package(channel: Path, name: str):
    from conda_package_handling import api
    make, version, depends, noarch = PACKAGES[name]
    subdir = "noarch" if noarch else "linux-64"
    root = channel / "build" / name
    root.mkdir(parents=True)
    make(root)
    files = sorted(path for path in root.rglob("*")
                   if (path.is_symlink() or path.is_file()) and path.parent.name != "info")
    index = {"name": name, "version": version, "build": "0", "build_number": 0, "depends": depends,
             "subdir": subdir, "arch": None if noarch else "x86_64",
             "platform": None if noarch else "linux"} | ({"noarch": "python"} if noarch else {})
    _write(root / "info" / "index.json", json.dumps(index))
    _write(root / "info" / "paths.json",
           json.dumps({"paths": [_row(root, path) for path in files], "paths_version": 1}))
    _write(root / "info" / "files", "".join(f"{path.relative_to(root)}\n" for path in files))
    every = [str(path.relative_to(root)) for path in root.rglob("*")
             if path.is_symlink() or path.is_file()]
    (channel / subdir).mkdir(exist_ok=True)
    kind = "tar.bz2" if name == "say" else "conda"  # both formats that there are
    api.create(str(root), every, f"{name}-{version}-0.{kind}", str(channel / subdir),
               **({} if kind == "tar.bz2" else {"compression_tuple": (".tar.zst", "zstd", "zstd:compression-level=1")}))


async def _install(channel: Path, prefix: Path, cache: Path):
    from rattler import Channel, Gateway, MatchSpec, install, solve
    specs = [MatchSpec(name) for name in PACKAGES]
    records = await solve(sources=[Channel(channel.as_uri())], specs=specs, gateway=Gateway(cache_dir=str(cache)),
                          platforms=["linux-64", "noarch"])
    assert len(records) == len(PACKAGES)
    await install(records, target_prefix=prefix, cache_dir=cache, show_progress=False)


async def _index(channel: Path):
    from rattler.index import index_fs
    await index_fs(channel)


def main(verb: str, *words: str):
    paths = [Path(word).absolute() for word in words]
    if verb == "channel":
        paths[0].mkdir(parents=True)
        for name in PACKAGES:
            _package(paths[0], name)
        shutil.rmtree(paths[0] / "build")
        asyncio.run(_index(paths[0]))
    elif verb == "install":
        asyncio.run(_install(*paths))
    elif verb == "pack":
        import conda_pack
        conda_pack.pack(prefix=str(paths[0]), output=str(paths[1]), compress_level=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # threads of rattler may still run, and abort a Python that takes itself down
