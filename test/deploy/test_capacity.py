"""What a cluster is found to hold is what it does hold."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "yarn"))

from asking import ask  # noqa: E402
from master import program, rest, wait_for  # noqa: E402
from ydl_cluster.cluster import Cluster  # noqa: E402

NODE_MB = 8192


def _room(cluster, tmp_path, job: str, **options) -> dict:
    path = tmp_path / "job.yaml"
    path.write_text(job)
    return ask(cluster, "room", path, **options)


@pytest.mark.parametrize("each_cluster", ["cluster", "krb_cluster", "ha_cluster", "old_cluster"],
                         indirect=True)
def test_facts_are_those_of_the_pages(each_cluster):
    seen = ask(each_cluster, "facts")
    pages = {node["nodeHostName"]: node for node in rest(each_cluster, "nodes")["nodes"]["node"]}
    assert sorted(node["host"] for node in seen["nodes"]) == sorted(pages)
    for node in seen["nodes"]:
        page = pages[node["host"]]
        assert node["running"] == (page["state"] == "RUNNING")
        assert node["rack"] == page["rack"]
        assert node["total"]["memory-mb"] == page["availMemoryMB"] + page["usedMemoryMB"]
    assert seen["types"][:2] == ["memory-mb", "vcores"]
    assert seen["largest"]["memory-mb"] == NODE_MB
    assert seen["least"]["memory-mb"] == 64
    assert seen["counts_cores"]  # its capacity-scheduler.xml says so
    queue = seen["queue"]
    assert (queue["name"], queue["leaf"], queue["running"], queue["may_submit"]) == (
        "default", True, True, 1)
    # Hadoop 3.3 knows of a node some time before its queues do.
    wait_for(lambda: ask(each_cluster, "facts")["queue"]["shares"][""]["memory-mb"]
             == NODE_MB * sum(not page.get("nodeLabels") for page in pages.values()),
             "the queue's share of all nodes without a label")


def test_a_queue_has_its_share(cluster):
    queue = ask(cluster, "facts", "small")["queue"]
    total = NODE_MB * len(rest(cluster, "nodes")["nodes"]["node"])
    assert abs(queue["shares"][""]["memory-mb"] - total // 10) <= 1
    assert ask(cluster, "facts", "root.small")["queue"]["found"]
    assert ask(cluster, "facts", "closed", user="alice")["queue"]["may_submit"] == 0
    assert ask(cluster, "facts", "closed", user="carol")["queue"]["may_submit"] == 1
    assert not ask(cluster, "facts", "root")["queue"]["leaf"]
    missing = ask(cluster, "facts", "nosuch")["queue"]
    assert not missing["found"] and sorted(missing["others"]) == [
        "closed", "default", "prod", "small"]


@pytest.mark.parametrize("queue, user, text", [
    ("defualt", None, "job:1: queue: there is no queue 'defualt' (did you mean 'default'?)"),
    ("root", None, "job:1: queue: 'root' is a parent queue and takes no jobs (its queues: "
     "default, prod, small, closed)"),
    ("closed", "alice", "job:1: queue: alice may not submit to 'closed'"),
])
def test_a_queue_that_cannot_be_used_is_named(cluster, tmp_path, queue, user, text):
    said = _room(cluster, tmp_path, f"queue: {queue}\nroles: {{w: 1}}\n", user=user)
    assert [sorted(line) for line in said["faults"]] == [sorted(text)]  # queues in any order


def test_everything_that_is_wrong_is_said_at_once(cluster, tmp_path):
    said = _room(cluster, tmp_path, "queue: nosuch\nlabel: gpu\nimage: 'a b'\nroles: {w: 1}\n")
    assert [line.split(": ")[1] for line in said["faults"]] == ["queue", "label", "image"]
    said = _room(cluster, tmp_path,
                 "roles:\n  a: {memory: 9g}\n  b: {gpus: 1}\n  c: {cpus: 100}\n")
    assert said["faults"] == [
        "job:2: roles.a.memory: 9 GB: a container can have at most 8 GB on this cluster",
        "job:3: roles.b.gpus: the cluster does not schedule GPUs: it has no resource type 'yarn.io/gpu'",
        "job:4: roles.c.cpus: 100 cores: a container can have at most 16 cores on this cluster"]


def test_one_container_too_many_is_told_in_these_words(cluster, tmp_path):
    nodes = len(rest(cluster, "nodes")["nodes"]["node"])
    job = "roles: {{worker: {{count: {}, memory: 4g}}}}\n"
    said = _room(cluster, tmp_path, job.format(2 * nodes))
    assert said["faults"] == [f"job:1: roles: needs {2 * nodes + 1} containers ({2 * nodes} + the "
                              f"master); the cluster can hold {2 * nodes}"]
    said = _room(cluster, tmp_path, job.format(2 * nodes - 1))
    assert said["faults"] == [] and said["room"]["fits_now"]
    said = _room(cluster, tmp_path,
                 "queue: small\nroles: {worker: {count: 2, memory: 1200m}}\n")
    assert said["faults"] == ["job:2: roles: needs 3 containers (2 + the master); the queue "
                              "'small' can hold 2"]


def test_what_is_not_free_now_is_told(cluster, tmp_path):
    """An application takes room; what it leaves is seen."""
    nodes = cluster.lay.spec.nodes
    wait_for(lambda: len(rest(cluster, "nodes")["nodes"]["node"]) == nodes, "all nodes are back")
    # All of the cluster with the master's 64 MB: whatever anybody else has, wherever, is too much.
    job = (f"roles: {{worker: {{count: {2 * nodes - 1}, memory: 4g}}, "
           "rest: {count: 1, memory: 4032m}}\n")
    client = program("ydl-test-client")
    done = subprocess.run([client, "submit", "default", "exec sleep 600"], env=cluster.env(),
                          capture_output=True, text=True, timeout=60, check=True)
    app = done.stdout.split('"')[3]
    try:
        wait_for(lambda: not _room(cluster, tmp_path, job)["room"]["fits_now"], "it is seen")
        said = _room(cluster, tmp_path, job)
        assert said["faults"] == []
        assert said["room"]["now"] < said["room"]["needed"] == 2 * nodes + 1
        assert "more of '" in said["room"]["text"] and "1 core)" in said["room"]["text"]
    finally:
        subprocess.run([client, "kill", app], env=cluster.env(), timeout=60, check=True,
                       capture_output=True)
    wait_for(lambda: _room(cluster, tmp_path, job)["room"]["fits_now"], "the room is back")


@pytest.mark.full
def test_labels_and_gpus_count(tmp_path):
    cluster = Cluster.up(name=f"room-{os.getpid()}", labels=True, gpus=True)
    try:
        seen = ask(cluster, "facts")
        assert seen["labels"] == {"gpu": True}
        assert seen["queue"]["labels"] == ["gpu"]
        assert seen["queue"]["shares"]["gpu"]["memory-mb"] == NODE_MB
        assert "yarn.io/gpu" in seen["types"]
        job = "roles: {{worker: {{count: {}, memory: 64m, gpus: 1, label: gpu}}}}\n"
        assert _room(cluster, tmp_path, job.format(2))["faults"] == []
        said = _room(cluster, tmp_path, job.format(3))
        assert said["faults"] == [
            "job:1: roles.worker.count: needs 4 containers (3 + the master), 3 of them with 64 MB, "
            "1 core, 1 GPU; the nodes with the label 'gpu' can hold 2 such"]
        said = _room(cluster, tmp_path, "queue: prod\n" + job.format(1))
        assert said["faults"][0].startswith(
            "job:2: roles.worker.label: the queue 'prod' may not use the label 'gpu'")
        said = _room(cluster, tmp_path, "label: gup\nroles: {w: 1}\n")
        assert said["faults"] == [
            "job:1: label: there is no node label 'gup' (did you mean 'gpu'?)"]
    finally:
        cluster.down()
