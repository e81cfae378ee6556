"""ydl in a directory of its own; a small Python package as a wheel, environments with it, and one
that looks like conda's."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin")
WHEEL = "tiny-1.0-py3-none-any.whl"
_FILES = {
    "tiny/__init__.py": "import sys\n\n\ndef main():\n"
                        "    print('tiny of', sys.prefix, *sys.argv[1:])\n",
    "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
    "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\n"
                                "Tag: py3-none-any\n",
    "tiny-1.0.dist-info/entry_points.txt": "[console_scripts]\ntiny = tiny:main\n",
}


class Ydl:
    """ydl in a directory of its own."""

    def __init__(self, tmp: Path):
        self.work = tmp / "work"
        self.work.mkdir()
        keep = {key: value for key, value in os.environ.items()
                if not key.startswith(("YDL_", "XDG_", "HADOOP_", "VIRTUAL_ENV", "CONDA_"))}
        self.env = keep | {"HOME": str(tmp), "XDG_STATE_HOME": str(tmp / "state"),
                           "XDG_CACHE_HOME": str(tmp / "cache"), "PATH": f"{BIN}:{keep['PATH']}"}

    def start(self, *args, **options) -> subprocess.Popen:
        return subprocess.Popen([str(BIN / "ydl"), *map(str, args)], cwd=self.work, text=True,
                                env=self.env | options.pop("env", {}), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run(self, *args, check: int = 0, timeout: float = 120, **options):
        process = self.start(*args, **options)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.returncode == check, f"ydl {args}: {process.returncode}\n{out}\n{err}"
        return subprocess.CompletedProcess(args, process.returncode, out, err)


def make_wheel(directory: Path) -> Path:
    """tiny 1.0, which has the module tiny and the program tiny."""
    rows = []
    path = directory / WHEEL
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in _FILES.items():
            wheel.writestr(name, text)
            digest = hashlib.sha256(text.encode()).digest()
            coded = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            rows.append(f"{name},sha256={coded},{len(text)}")
        wheel.writestr("tiny-1.0.dist-info/RECORD",
                       "\n".join([*rows, "tiny-1.0.dist-info/RECORD,,\n"]))
    return path


def make_venv(path: Path, wheel: Path, python: str = sys.executable) -> Path:
    """A venv with tiny in it."""
    subprocess.run([python, "-m", "venv", path], check=True, capture_output=True)
    subprocess.run([path / "bin" / "python", "-m", "pip", "install", "-q", "--no-index",
                    "--disable-pip-version-check", wheel], check=True, capture_output=True)
    return path


def make_conda(prefix: Path, python: str = sys.executable) -> Path:
    """What conda leaves of one package: a text and a library that know where they are, a script,
    and its own list of them."""
    for name in ("bin", "conda-meta", "lib", "pkgs/cached", "etc/conda/activate.d"):
        (prefix / name).mkdir(parents=True)
    (prefix / "bin" / "python").write_text(f'#!/bin/sh\nexec {python} "$@"\n')
    (prefix / "bin" / "tool").write_text(f"#!{prefix}/bin/python\nprint('tool runs')\n")
    for name in ("python", "tool"):
        (prefix / "bin" / name).chmod(0o755)
    (prefix / "lib" / "config.txt").write_text(f"prefix={prefix}\nlibdir={prefix}/lib\n")
    (prefix / "lib" / "libx.so").write_bytes(
        b"\177ELF\0" + f"{prefix}/share/data".encode() + b"\0next\0" +
        f"a:{prefix}/b:{prefix}/c".encode() + b"\0end")
    (prefix / "etc" / "conda" / "activate.d" / "x.sh").write_text("FROM_CONDA=yes\n")
    (prefix / "pkgs" / "cached" / "large").write_text("not for the archive")
    rows = [{"_path": "lib/config.txt", "file_mode": "text", "prefix_placeholder": "/opt/x"},
            {"_path": "lib/libx.so", "file_mode": "binary", "prefix_placeholder": "/opt/x"},
            {"_path": "bin/tool", "file_mode": "text", "prefix_placeholder": "/opt/x"},
            {"_path": "lib/other", "file_mode": None}]
    (prefix / "conda-meta" / "x-1.json").write_text(json.dumps({"paths_data": {"paths": rows}}))
    return prefix


def unpack(archive: Path, to: Path) -> Path:
    """The archive, in a directory that is made for it."""
    to.mkdir(parents=True)
    subprocess.run(["tar", "-xf", archive, "-C", to], check=True)
    return to
