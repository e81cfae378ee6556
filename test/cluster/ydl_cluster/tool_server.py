"""Hadoop's command-line tools without a JVM for each call (`../tools/ToolServer.java`).

A process that asks for a tool starts one server for a cluster; it ends with this process, or with the
cluster. A call that the server cannot do as a program of its own would, because of its environment, its
directory or a second call at the same time, gets a JVM of its own: `run` says None.
"""

import os
import select
import struct
import subprocess
import threading
import time
from pathlib import Path
from typing import Callable

from . import compiled, java, places
from .layout import Layout
from .patience import stretched

_SOURCE = Path(__file__).resolve().parents[1] / "tools" / "ToolServer.java"
_CLASSES = {"org.apache.hadoop.fs.FsShell", "org.apache.hadoop.hdfs.tools.DFSAdmin",
            "org.apache.hadoop.hdfs.tools.DFSHAAdmin",
            "org.apache.hadoop.yarn.client.cli.RMAdminCLI"}
_UTF8 = {"LC_ALL": "C.UTF-8"}
_OPTIONS = {"check", "timeout", "input", "env"}
_RUNNING: dict[Path, "_Server"] = {}  # by the run directory of the cluster


class _Server:
    """One JVM. Its calls are one after the other."""

    def __init__(self, lay: Layout, env: dict[str, str]):
        classes = compiled.classes(lay, _SOURCE)
        path = ":".join([*java.jars(lay.home), str(lay.conf), str(lay.home / "web"), str(classes)])
        own = {key: value for key, value in env.items() if key != "HADOOP_USER_NAME"}
        with open(lay.logs / "tools.log", "ab") as log:
            self.process = subprocess.Popen(java.tool(lay, "-cp", path, "ToolServer"),
                                            env=own | _UTF8, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=log, bufsize=0)
        self.busy = threading.Lock()
        self.owner = os.getpid()

    def call(self, request: bytes, seconds: float) -> tuple[int, bytes, bytes]:
        """Exit code, standard output, standard error."""
        end = time.monotonic() + stretched(seconds)
        self.process.stdin.write(request)
        code = struct.unpack(">i", self._read(4, end))[0]
        out, err = (self._read(struct.unpack(">i", self._read(4, end))[0], end) for _ in range(2))
        return code, out, err

    def _read(self, size: int, end: float) -> bytes:
        data = b""
        while len(data) < size:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError
            piece = self.process.stdout.read(size - len(data))
            if not piece:
                raise places.ClusterError("the server of Hadoop's tools has died; see tools.log")
            data += piece
        return data

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def run(lay: Layout, arguments: tuple[str, ...], env_of: Callable[[], dict[str, str]],
        options: dict) -> subprocess.CompletedProcess | None:
    """The tool that `arguments` name, with `options` as subprocess.run has them; `env_of` makes the
    client's environment. None: not here."""
    if (arguments[0] not in _CLASSES or set(options) - _OPTIONS or java.is_old(lay.spec.version) or
            lay.spec.training or options.get("env", _UTF8) != _UTF8):
        return None
    env = env_of()
    server = _of(lay, env)
    if not server.busy.acquire(blocking=False):
        return None
    try:
        return _answer(lay, server, arguments, env, options)
    finally:
        server.busy.release()


def _of(lay: Layout, env: dict[str, str]) -> _Server:
    server = _RUNNING.get(lay.run)
    if server is None or server.process.poll() is not None or server.owner != os.getpid():
        server = _RUNNING[lay.run] = _Server(lay, env)
    return server


def _answer(lay: Layout, server: _Server, arguments: tuple[str, ...], env: dict[str, str],
            options: dict) -> subprocess.CompletedProcess:
    given, seconds = options.get("input") or b"", options.get("timeout", 180)
    as_text = not isinstance(options.get("input"), bytes)
    tickets = env["KRB5CCNAME"].removeprefix("FILE:") if lay.spec.kerberos else ""
    words = [arguments[0], env.get("HADOOP_USER_NAME", ""), tickets, given]
    request = b"".join(map(_sized, words)) + struct.pack(">i", len(arguments) - 1)
    try:
        code, out, err = server.call(request + b"".join(map(_sized, arguments[1:])), seconds)
    except TimeoutError:
        server.end()
        raise subprocess.TimeoutExpired(list(arguments), seconds) from None
    done = subprocess.CompletedProcess(list(arguments), code, *(
        said.decode() if as_text else said for said in (out, err)))
    if options.get("check", True):
        done.check_returncode()
    return done


def _sized(word: str | bytes) -> bytes:
    data = word if isinstance(word, bytes) else word.encode()
    return struct.pack(">i", len(data)) + data


def end(run_dir: Path) -> None:
    """For a cluster that goes down."""
    server = _RUNNING.pop(run_dir, None)
    if server and server.owner == os.getpid():
        server.end()
