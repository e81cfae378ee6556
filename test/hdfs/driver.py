"""Runs hdfs_driver, our library from the command line, as a client of a cluster."""

import os
import random
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

from ydl_cluster.patience import Limit, stretched

_BIN = Path(os.environ.get("YDL_TEST_BIN")
            or Path(__file__).resolve().parents[2] / "build" / "unit")
_UTF8 = {"LC_ALL": "C.UTF-8"}


def _program() -> str:
    path = _BIN / "hdfs_driver"
    assert path.exists(), f"no {path}: build first, or set YDL_TEST_BIN"
    return str(path)


def drive(cluster, *arguments, **options) -> subprocess.CompletedProcess:
    """hdfs_driver to its end. `options` are those of Cluster.run()."""
    options["env"] = _UTF8 | options.get("env", {})
    return cluster.run([_program(), *map(str, arguments)], **{"timeout": 120} | options)


def refused(cluster, *arguments, **options) -> str:
    """What it says when it must fail."""
    run = drive(cluster, *arguments, check=False, **options)
    assert run.returncode == 1, run
    return run.stderr.strip().removeprefix("hdfs_driver: ")


def java(cluster, *arguments, **options) -> subprocess.CompletedProcess:
    """Hadoop's own shell; names are UTF-8."""
    return cluster.fs(*map(str, arguments), env=_UTF8, **{"timeout": 180} | options)


class Running:
    """hdfs_driver under way, with its trace of what happens to DataNodes."""

    def __init__(self, cluster, *arguments, conf=None, user=None, **options):
        env = cluster.env(user) | _UTF8 | {"YDL_TRACE": "hdfs"}
        if conf:
            env["HADOOP_CONF_DIR"] = str(conf)
        self.process = subprocess.Popen([_program(), *map(str, arguments)], env=env,
                                        stderr=subprocess.PIPE, text=False, **options)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.decode(errors="replace").rstrip())

    def wait_for(self, pattern: str, seconds: float = 120) -> re.Match:
        """The first line of the trace that fits."""
        limit = Limit(seconds)
        while not limit.over():
            if ended := self.process.poll() is not None:
                self._reader.join(stretched(60))  # what it wrote last may not be read yet
            for line in list(self.lines):
                if found := re.search(pattern, line):
                    return found
            assert not ended, f"ended without '{pattern}': {self.lines[-5:]}"
            time.sleep(0.01)
        raise AssertionError(f"no '{pattern}' in {self.lines[-5:]}")

    def freeze(self):
        """Stops the process itself, so that it cannot be done before something has happened."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self, seconds: float = 180) -> int:
        """The exit code; a process that hangs is killed."""
        try:
            self.process.wait(seconds)
        finally:
            self.process.kill()
            self._reader.join(stretched(60))
        return self.process.returncode


class Fed(Running):
    """hdfs_driver writing what the test gives it, flushed piece by piece: it is in the middle of the
    file for as long as the test likes, however slow the machine is."""

    def __init__(self, cluster, path: str, *options, hflush: int = 50001, conf=None):
        super().__init__(cluster, "--overwrite", "--hflush", hflush, *options, "put", "-", path,
                         conf=conf, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.fed = self.flushed = 0
        self._flushes = threading.Thread(target=self._watch, daemon=True)
        self._flushes.start()

    def _watch(self):
        for line in self.process.stdout:
            self.flushed = int(line.split()[1])

    def feed(self, content: bytes):
        """Returns when all of it is with the DataNodes."""
        self.process.stdin.write(content)
        self.process.stdin.flush()
        self.fed += len(content)
        limit = Limit(120)
        while self.flushed < self.fed:
            assert self.process.poll() is None, f"ended at byte {self.flushed}: {self.lines[-5:]}"
            assert not limit.over(), f"hangs at byte {self.flushed}: {self.lines[-5:]}"
            time.sleep(0.01)

    def finish(self, content: bytes = b"") -> int:
        """The rest, the end of the file, and the exit code."""
        try:
            self.process.stdin.write(content)
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it gave up: its exit code and its last line say why
        code = self.end()
        self._flushes.join(stretched(60))
        return code


def daemon_at(cluster, address: str) -> str:
    """The name (dn1, dn2) of the DataNode at ip:port; each has an address of its own."""
    host = address.split(":")[0]
    for name, daemon in cluster.status()["daemons"].items():
        if name.startswith("dn") and daemon["address"].split(":")[0] == host:
            return name
    raise AssertionError(f"no DataNode at {address}")


def noise(path: Path, size: int, seed: int = 1) -> Path:
    """A file of `size` bytes that do not repeat."""
    make = random.Random(seed)
    with path.open("wb") as file:
        while size > 0:
            part = min(size, 1 << 20)
            file.write(make.randbytes(part))
            size -= part
    return path


def tree(root: Path, seed: int, files: int = 40) -> Path:
    """A random tree: nested directories, empty ones, files of awkward sizes."""
    make = random.Random(seed)
    dirs = [root]
    root.mkdir()
    for i in range(8):
        path = make.choice(dirs) / f"d{i}"
        path.mkdir()
        dirs.append(path)
    edges = [0, 1, 511, 512, 513, 64511, 64512, 64513]
    for i in range(files):
        size = make.choice([*edges, make.randrange(3000), make.randrange(3 << 20)])
        (make.choice(dirs) / f"f{i}").write_bytes(make.randbytes(size))
    return root


def contents(root: Path) -> dict[str, bytes | None]:
    """Everything below `root` by its relative name; None for a directory."""
    return {str(path.relative_to(root)): None if path.is_dir() else path.read_bytes()
            for path in sorted(root.rglob("*"))}
