"""Aggregated logs are read as Hadoop's own `yarn logs` reads them, and are what was written."""

import contextlib
import hashlib
import json
import os
import random
import re

import pytest

from master import program, rest, wait_for
from ydl_cluster import rest as apps
from ydl_cluster.cluster import Cluster

_CLI = "org.apache.hadoop.yarn.client.cli.LogsCLI"
_IFILE = ("org.apache.hadoop.yarn.logaggregation.filecontroller.ifile."
          "LogAggregationIndexedFileController")


def _bytes(size: int) -> bytes:
    """Lines that compress neither well nor badly."""
    source = random.Random(size)
    line = "%06d " + " ".join(["word"] * 5) + "\n"
    return "".join(line % source.randrange(10 ** 6) for _ in range(size // 30 + 1)).encode()[:size]


WRITTEN = {"stdout": b"one\ntwo\n", "worker-0.stderr": _bytes(3000), "empty": b"",
           "big.log": _bytes(700_000)}


def _submit(cluster, tmp_path, user: str = "alice") -> str:
    """An application of one container that leaves the files of WRITTEN in its log directory."""
    here = tmp_path / "written"
    here.mkdir(exist_ok=True)
    for name, content in WRITTEN.items():
        (here / name).write_bytes(content)
    here.chmod(0o755)
    return apps.submit(cluster.rm_http, user, f"cp {here}/* <LOG_DIR>/")


def _wait_complete(cluster, app: str) -> None:
    """Until its node has put all its logs in place."""
    def done() -> bool:
        page = rest(cluster, f"apps/{app}")["app"]
        return page["logAggregationStatus"] in ("SUCCEEDED", "FAILED", "TIME_OUT")
    wait_for(done, f"{app} has its logs aggregated", 120)


def _ours(cluster, *words: str, user: str | None = None) -> bytes:
    return cluster.run([program("ydl-test-aggregated"), *words], user=user, text=False).stdout


def _list(cluster, app: str) -> list[dict]:
    return [json.loads(line) for line in _ours(cluster, "alice", app, user="alice").splitlines()]


def _theirs(cluster, app: str) -> dict[tuple[str, str], bytes]:
    """What `yarn logs` prints, taken apart: (container, file): bytes."""
    out = cluster.java(_CLI, "-applicationId", app, "-appOwner", "alice", user="alice",
                       text=False).stdout
    found = {}
    for part in re.finditer(rb"Container: (\S+) on \S+\n(?:LogAggregationType: \w+\n)?=+\n"
                            rb"LogType:(.*)\n(?:LogLastModifiedTime:.*\n)?LogLength:(\d+)\n"
                            rb"LogContents:\n", out):
        content = out[part.end():part.end() + int(part[3])]
        found[part[1].decode(), part[2].decode()] = content
    return found


def _check(cluster, app: str) -> None:
    ours = _list(cluster, app)
    written = {row["name"]: (row["length"], row["sum"]) for row in ours}
    for name, content in WRITTEN.items():
        assert written[name] == (len(content), hashlib.sha256(content).hexdigest()), name
    theirs = _theirs(cluster, app)
    assert ({(row["container"], row["name"]): row["sum"] for row in ours}
            == {key: hashlib.sha256(content).hexdigest() for key, content in theirs.items()})
    assert _ours(cluster, "alice", app, "stdout", user="alice") == WRITTEN["stdout"]
    container = ours[0]["container"]
    assert _ours(cluster, "alice", app, "big.log", container) == WRITTEN["big.log"]
    assert _ours(cluster, "alice", app, "big.log", container + "9") == b""


@pytest.mark.parametrize("each_cluster", [
    "cluster", pytest.param("old_cluster", marks=pytest.mark.full)], indirect=True)
def test_logs_are_what_was_written(each_cluster, tmp_path):
    app = _submit(each_cluster, tmp_path)
    _wait_complete(each_cluster, app)
    _check(each_cluster, app)


@pytest.mark.parametrize("user, app, text", [
    ("alice", "application_1_0001", "no aggregated logs of 'application_1_0001'"),
    ("alice", "job_1", "'job_1' is not an application id"),
])
def test_what_is_not_there_is_said_in_a_sentence(cluster, user, app, text):
    done = cluster.run([program("ydl-test-aggregated"), user, app], check=False)
    assert done.returncode == 1 and text in done.stderr


@contextlib.contextmanager
def _own_cluster():
    cluster = Cluster.up(name=f"logs-{os.getpid()}", nodes=1, datanodes=1)
    try:
        yield cluster
    finally:
        cluster.down()


def _configure(cluster, settings: dict[str, str]) -> None:
    """Other settings for the NodeManager, and for clients; those of before are gone."""
    site = cluster.conf_dir / "yarn-site.xml"
    plain = cluster.conf_dir / "yarn-site.plain"
    if not plain.exists():
        plain.write_text(site.read_text())
    rows = "".join(f"<property><name>yarn.{key}</name><value>{value}</value></property>"
                   for key, value in settings.items())
    site.write_text(plain.read_text().replace("</configuration>", rows + "</configuration>"))
    cluster.restart("nm1")


INDEXED = {"log-aggregation.file-formats": "IFile",
           "log-aggregation.file-controller.IFile.class": _IFILE}
GZ = {"nodemanager.log-aggregation.compression-type": "gz"}


@pytest.mark.full
def test_every_format_is_read(tmp_path):
    made = []
    with _own_cluster() as cluster:
        for settings in (GZ, INDEXED, INDEXED | GZ,
                         {"log-aggregation.TFile.remote-app-log-dir-suffix": "other"}):
            _configure(cluster, settings)
            made.append(_submit(cluster, tmp_path))
            _wait_complete(cluster, made[-1])
            _check(cluster, made[-1])
        # The place by an own suffix is known from the configuration only; the usual ones are found
        # whatever it says today.
        _configure(cluster, {})
        for app in made[:-1]:
            assert {row["name"] for row in _list(cluster, app)} >= set(WRITTEN)
