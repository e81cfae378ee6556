"""The other model servers that `run --peers` measures: how each is installed and started, and what it is
asked. Each runs the same model by ONNX Runtime with one thread, as its own documentation has it, listens on
loopback, and is asked by JSON: in the Open Inference Protocol where it speaks that, otherwise by rows."""

import dataclasses
import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent


def free_port() -> int:
    """A port that nobody had a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment(name: str, python: str = "python3.11", *words: str) -> Path:
    """The environment of a lock file, made when it is not there."""
    lock = HERE / f"{name}.lock"
    cache = os.environ.get("YDL_CACHE_DIR") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ydl"
    venv = Path(cache) / f"bench-serve-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    if not (venv / "ready").exists():
        print(f"installing {name} into {venv} …", file=sys.stderr)
        subprocess.run([python, "-m", "venv", *words, venv], check=True)
        subprocess.run([venv / "bin" / "pip", "-q", "--disable-pip-version-check",
                        "--no-cache-dir", "install", "--no-deps", "-r", lock], check=True)
        (venv / "ready").touch()
    return venv


@dataclasses.dataclass
class Peer:
    """One of them."""

    title: str
    start: Callable[[Path, int, Path, Path], list]  # environment, port, directory, model: the command
    ready: str  # a path that is answered 200 when it is ready
    path: str  # where it is asked
    oip: bool  # by the Open Inference Protocol
    python: tuple[str, ...] = ("python3.11",)


def mlserver(venv: Path, port: int, home: Path, model: Path) -> list:
    """Requests run in its own process, which is fastest on one core."""
    (home / "settings.json").write_text(json.dumps(
        {"http_port": port, "grpc_port": free_port(), "metrics_port": free_port(),
         "host": "127.0.0.1", "parallel_workers": 0, "debug": False}))
    (home / "model-settings.json").write_text(json.dumps(
        {"name": "mlp", "implementation": "mlserver_app.Onnx", "parameters": {"uri": str(model)}}))
    return [venv / "bin" / "mlserver", "start", home]


def app(name: str) -> Callable[[Path, int, Path, Path], list]:
    """A program here that is told its port."""
    return lambda venv, port, home, model: [venv / "bin" / "python", HERE / name, port]


PEERS = {
    "mlserver": Peer("MLServer", mlserver, "/v2/models/mlp/ready", "/v2/models/mlp/infer", True),
    "litserve": Peer("LitServe", app("litserve_app.py"), "/health", "/predict", False),
}
