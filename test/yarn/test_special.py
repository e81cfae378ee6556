"""Clusters with a setting of their own: labels and GPUs, and keys that are changed while a master
runs. Each is started for its test alone, so these belong to the long suite."""

import contextlib
import json
import os

import pytest

from master import CODES, Master, program, rest, wait_for
from ydl_cluster.cluster import Cluster

pytestmark = pytest.mark.full


@contextlib.contextmanager
def _own_cluster(**fields):
    cluster = Cluster.up(name=f"yarn-{os.getpid()}", **fields)
    try:
        yield cluster
    finally:
        cluster.down()


def _ask(cluster, *arguments: str) -> dict:
    return json.loads(cluster.run([program("ydl-test-client"), *arguments]).stdout)


def test_labels_and_gpus_are_seen_and_used():
    with _own_cluster(labels=True, gpus=True) as cluster:
        seen = _ask(cluster, "look")
        assert seen["labels"] == ["gpu"]
        assert seen["label_nodes"] == {"gpu": 1}
        (host,) = seen["node_labels"]
        assert [node["labels"] for node in seen["nodes"] if node["host"] == host] == [["gpu"]]
        assert "yarn.io/gpu" in seen["types"]
        app = _ask(cluster, "submit", "default", "exec sleep 100", "gpu", "1")["id"]
        wait_for(lambda: _ask(cluster, "app", app)["attempts"] == ["LAUNCHED"], "it is launched")
        attempt = rest(cluster, f"apps/{app}/appattempts")["appAttempts"]["appAttempt"][0]
        assert attempt["nodeId"].split(":")[0] == host
        nodes = rest(cluster, "nodes")["nodes"]["node"]
        used = next(node for node in nodes if node["nodeHostName"] == host)["usedResource"]
        gpus = [row["value"] for row in used["resourceInformations"]["resourceInformation"]
                if row["name"] == "yarn.io/gpu"]
        assert gpus == [1]
        _ask(cluster, "kill", app)


def test_a_master_outlives_the_keys_of_its_token(tmp_path):
    """After two changes of the key the first token is worth nothing; a master that had not taken
    the new ones could not sign in to the restarted ResourceManager."""
    rolling = "yarn:yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs=32"
    with _own_cluster(settings=[rolling]) as cluster, Master(cluster, tmp_path) as master:
        master.wait_for_tasks()
        wait_for(lambda: len(master.lines("token")) >= 2, f"two new tokens; {master.log}", 180)
        cluster.kill("rm")
        cluster.start("rm")
        master.wait_for_resync()
        master.touch("go")
        wait_for(lambda: "status state=RUNNING" in master.log, f"the extra one; {master.log}")
        master.touch("stop")
        assert master.end().endswith(CODES)
