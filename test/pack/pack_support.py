"""ydl in a directory of its own; a small Python package as a wheel, environments with it, and one of
conda's."""

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin")
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


def make_wheel(directory: Path, package: str = "tiny") -> Path:
    """tiny 1.0, which has the module tiny and the program tiny; or the same by another name."""
    rows = []
    path = directory / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in ((name.replace("tiny", package), text.replace("tiny", package))
                           for name, text in _FILES.items()):
            wheel.writestr(name, text)
            digest = hashlib.sha256(text.encode()).digest()
            coded = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            rows.append(f"{name},sha256={coded},{len(text)}")
        wheel.writestr(f"{package}-1.0.dist-info/RECORD",
                       "\n".join([*rows, f"{package}-1.0.dist-info/RECORD,,\n"]))
    return path


def make_venv(path: Path, wheel: Path, python: str = sys.executable) -> Path:
    """A venv with tiny in it."""
    subprocess.run([python, "-m", "venv", path], check=True, capture_output=True)
    subprocess.run([path / "bin" / "python", "-m", "pip", "install", "-q", "--no-index",
                    "--disable-pip-version-check", wheel], check=True, capture_output=True)
    return path


def conda(*words) -> str:
    """conda_channel.py, by the Python that has what it needs."""
    cache = os.environ.get("YDL_CACHE_DIR") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ydl"
    lock = HERE / "conda.lock"
    venv = Path(cache) / f"conda-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    assert (venv / "ready").exists(), f"{venv} is not there: run tools/setup test"
    return subprocess.run([venv / "bin" / "python", HERE / "conda_channel.py", *map(str, words)],
                          check=True, stdout=subprocess.PIPE, text=True).stdout


def make_conda(directory: Path) -> Path:
    """A conda environment with Python, hello, say and where, in a directory that is not there yet;
    beside it the channel and the cache that it came from."""
    conda("channel", directory / "channel")
    conda("install", directory / "channel", directory / "env", directory / "cache")
    return directory / "env"


def unpack(archive: Path, to: Path) -> Path:
    """The archive, in a directory that is made for it."""
    to.mkdir(parents=True)
    subprocess.run(["tar", "-xf", archive, "-C", to], check=True)
    return to
