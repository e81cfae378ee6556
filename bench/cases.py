"""What is measured: each case runs ydl and its peer in turn, and says what came of it."""

import dataclasses
import json
import os
import subprocess
from pathlib import Path

import measure
from ydl_cluster import java, places
from ydl_cluster.cluster import Cluster

ROOT = Path(__file__).resolve().parent.parent
RPC_CALLS, RPC_AT_ONCE = 10_000, 100


@dataclasses.dataclass
class Row:
    """A line of the table."""

    what: str
    bar: str
    ours: str
    theirs: str
    result: str
    met: bool


class Bench:
    """A cluster, files to copy, and the two clients."""

    def __init__(self, cluster: Cluster, scratch: Path, build: Path, runs: int):
        self.cluster, self.scratch, self.runs = cluster, scratch, runs
        self.env = cluster.env()
        self.ydl_program = str(build / "bin" / "ydl")
        self.rpc_program = str(build / "bench" / "rpc_bench")

    def ydl(self, *words: str) -> measure.Taken:
        return measure.run([self.ydl_program, *words], self.env)

    def java(self, main: str, *words: str, more: str = "") -> measure.Taken:
        """Hadoop's client as its own scripts start it: no options that favour a short life."""
        classpath = ":".join(filter(None, [more, str(self.cluster.conf_dir),
                                           *java.jars(self.cluster.lay.home)]))
        program = java.program(self.cluster.lay.spec.version)
        return measure.run([program, "-Dhadoop.root.logger=ERROR,console", "-cp", classpath, main,
                            *words], self.env)

    def fs_shell(self, *words: str) -> measure.Taken:
        return self.java("org.apache.hadoop.fs.FsShell", *words)

    def compile_java(self) -> str:
        """The Java side of the RPC benchmark; the directory of its classes."""
        classes = self.scratch / "classes"
        jars = ":".join(java.jars(self.cluster.lay.home))
        subprocess.run([str(places.java_home() / "bin" / "javac"), "-nowarn", "-cp", jars, "-d",
                        str(classes), str(ROOT / "bench" / "java" / "RpcBench.java")], check=True)
        return str(classes)

    def in_turn(self, ours, theirs, between=lambda: None) -> tuple[list, list]:
        """Runs both as often as asked, one after the other, so that they meet the same weather."""
        taken = ([], [])
        for _ in range(self.runs):
            for side, act in zip(taken, (ours, theirs)):
                side.append(act())
                between()
        return taken


def _times(taken) -> str:
    return (f"{measure.median(taken, 'seconds'):.2f} s, {measure.median(taken, 'cpu'):.2f} s CPU, "
            f"{measure.median(taken, 'rss_mb'):.0f} MB")


def _compare(what: str, bar: str, taken, rate: float, cpu: float) -> Row:
    """A row: at least `rate` times the peer's rate, at most `cpu` of its CPU time, at most 32 MB."""
    ours, theirs = taken
    faster = measure.median(theirs, "seconds") / measure.median(ours, "seconds")
    share = measure.median(ours, "cpu") / measure.median(theirs, "cpu")
    rss = max(t.rss_mb for t in ours)
    return Row(what, bar, _times(ours), _times(theirs),
               f"{faster:.1f} × the rate, {share:.2f} × the CPU, {rss:.0f} MB",
               faster >= rate and share <= cpu and rss <= 32)


def put_large(b: Bench) -> Row:
    def clean():
        b.ydl("fs", "rm", "-f", "/tmp/bench-large")

    taken = b.in_turn(lambda: b.ydl("fs", "put", str(b.scratch / "large"), "/tmp/bench-large"),
                      lambda: b.fs_shell("-put", str(b.scratch / "large"), "/tmp/bench-large"),
                      clean)
    return _compare("`ydl fs put` of 1 GB", "rate ≥ Java's, CPU ≤ 0.5 ×, ≤ 32 MB", taken, 1, 0.5)


def get_large(b: Bench) -> Row:
    target = b.scratch / "fetched"
    b.ydl("fs", "put", "-f", str(b.scratch / "large"), "/tmp/bench-large")

    def clean():
        target.unlink(missing_ok=True)

    taken = b.in_turn(lambda: b.ydl("fs", "get", "/tmp/bench-large", str(target)),
                      lambda: b.fs_shell("-get", "/tmp/bench-large", str(target)), clean)
    b.ydl("fs", "rm", "/tmp/bench-large")
    return _compare("`ydl fs get` of 1 GB", "rate ≥ Java's, CPU ≤ 0.5 ×, ≤ 32 MB", taken, 1, 0.5)


def put_small(b: Bench) -> Row:
    def clean():
        b.ydl("fs", "rm", "-r", "-f", "/tmp/bench-small")

    taken = b.in_turn(lambda: b.ydl("fs", "put", "-r", str(b.scratch / "small"), "/tmp/bench-small"),
                      lambda: b.fs_shell("-put", str(b.scratch / "small"), "/tmp/bench-small"),
                      clean)
    return _compare("`ydl fs put -r` of 2,000 files of 10 KB",
                    "rate ≥ 5 × Java's, CPU ≤ 0.5 ×, ≤ 32 MB", taken, 5, 0.5)


def cluster_info(b: Bench) -> Row:
    """The server's own time is what the same three questions take on a connection that is open."""
    runs = max(20, b.runs)
    whole = [b.ydl("cluster", "info") for _ in range(runs)]
    asked = [json.loads(measure.run([b.rpc_program, "--page"], b.env).output)["ms"]
             for _ in range(runs)]
    ours = measure.median(whole, "seconds") * 1000
    server = sorted(asked)[runs // 2]
    return Row("`ydl cluster info`, whole command", "≤ 20 ms beyond the server's own time",
               f"{ours:.1f} ms", f"server {server:.1f} ms", f"{ours - server:.1f} ms more",
               ours - server <= 20)


def version(b: Bench) -> Row:
    taken = [b.ydl("version") for _ in range(max(20, b.runs))]
    ms = measure.median(taken, "seconds") * 1000
    return Row("`ydl version`, whole command", "≤ 5 ms", f"{ms:.1f} ms", "–", f"{ms:.1f} ms", ms <= 5)


def rpcs(b: Bench) -> Row:
    classes = b.compile_java()
    words = (str(RPC_CALLS), str(RPC_AT_ONCE))
    taken = b.in_turn(lambda: measure.run([b.rpc_program, *words], b.env),
                      lambda: b.java("RpcBench", *words, more=classes))
    ours, theirs = ([json.loads(t.output) for t in side] for side in taken)

    def middle(side, key):
        return sorted(x[key] for x in side)[len(side) // 2]

    faster = middle(theirs, "ms") / middle(ours, "ms")
    share = middle(ours, "cpu_ms") / middle(theirs, "cpu_ms")

    def text(side):
        return (f"{RPC_CALLS / middle(side, 'ms') * 1000:,.0f}/s, "
                f"{middle(side, 'cpu_ms') * 1000 / RPC_CALLS:.1f} µs CPU each")

    return Row(f"{RPC_CALLS:,} RPCs on one connection, {RPC_AT_ONCE} in flight",
               "rate ≥ Java's, CPU per call ≤ 1/3", text(ours), text(theirs),
               f"{faster:.1f} × the rate, {share:.2f} × the CPU", faster >= 1 and share <= 1 / 3)


CASES = {"put": put_large, "get": get_large, "small": put_small, "info": cluster_info,
         "version": version, "rpc": rpcs}


def make_files(scratch: Path, names: set[str]) -> None:
    """The files that the chosen cases copy; random, so that nothing can be guessed or squeezed."""
    if names & {"put", "get"}:
        with open(scratch / "large", "wb") as f:
            for _ in range(1024):
                f.write(os.urandom(1 << 20))
    if "small" in names:
        for i in range(2000):
            place = scratch / "small" / f"d{i % 20}"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"f{i}").write_bytes(os.urandom(10 << 10))
