"""Where the containers of a deployment are, and whose."""

import json

import pytest


@pytest.mark.full
def test_replicas_are_spread_over_nodes_of_a_label_and_a_queue(on, rich_cluster):
    serving = on(rich_cluster)
    serving.deploy("mlp", "--replicas", 3, "--queue", "prod")
    tasks = json.loads(serving.run("status", "--json", "--tasks", serving.apps()[-1], check=0).stdout)["tasks"]
    nodes = [task["node"] for task in tasks if task["role"] == "a"]
    assert len(set(nodes)) == 3, tasks
    assert serving.cluster.app(serving.apps()[-1])["queue"].endswith("prod")
    serving.run("serve", "stop", "mlp", check=0)
    serving.deploy("mlp", "--label", "gpu")
    tasks = json.loads(serving.run("status", "--json", "--tasks", serving.apps()[-1], check=0).stdout)["tasks"]
    assert {serving.cluster.node_at(task["node"]) for task in tasks} == {"nm1"}
    serving.run("serve", "stop", "mlp", check=0)


@pytest.mark.full
def test_replicas_with_gpus_are_where_gpus_are(on, rich_cluster):
    """Two devices on nm2; nm1 has two more, but a label."""
    serving = on(rich_cluster)
    serving.deploy("mlp", "--replicas", 2, "--gpus", 1, "--device", "cpu")
    tasks = json.loads(serving.run("status", "--json", "--tasks", serving.apps()[-1], check=0).stdout)["tasks"]
    assert [serving.cluster.node_at(task["node"]) for task in tasks if task["role"] == "a"] == ["nm2"] * 2
    assert serving.predict()["predictions"]


@pytest.mark.full
def test_it_runs_under_kerberos_as_its_user_with_a_keytab(on, secure_cluster):
    serving = on(secure_cluster, "alice")
    keytab = ("--principal", "alice", "--keytab", secure_cluster.keytab("alice"))
    serving.deploy("mlp", "--replicas", 2, *keytab)
    first = serving.predict()
    assert first["predictions"]
    serving.push("mlp2")
    serving.run("serve", "update", "mlp", "--watch", "1s", check=0)
    assert serving.predict() != first
    serving.run("serve", "stop", "mlp", check=0)
