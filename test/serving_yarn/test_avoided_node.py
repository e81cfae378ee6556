"""A node on which tasks of a deployment keep failing: it is left without a failed request."""

import re

import pytest
from serving_load import Load, ask
from test_leaving_nodes import events, first, nodes_of, notes

pytestmark = pytest.mark.full  # needs a cluster of its own

NODES = ("nm1", "nm2", "nm3")
DISK_MB, LEFT_KB = 256, 12 << 10  # containers can be started with so much, but no model is fetched
N = 3


@pytest.fixture
def narrow(needs_root, own_cluster):
    """Three nodes with a small disk each, and nobody looks whether it is full."""
    return own_cluster(nodes=3, datanodes=1, heartbeat_ms=200, disks=[f"{node}:{DISK_MB}" for node in NODES],
                       settings=["yarn:yarn.nodemanager.disk-health-checker.enable=false"])


def deployed(shop):
    """The address of two models with a replica on each node. Where nodes report late, on a machine that is
    busy, YARN may give several to one of them; then they are deployed again."""
    for _ in range(6):
        url = shop.deploy("mlp", "other", "--name", "shop", "--replicas", N)
        shop.wait_ready(2 * N, "shop")
        at = nodes_of(shop, shop.apps()[-1])
        if all({at[f"{role}:{i}"] for i in range(N)} == set(NODES) for role in "ac"):
            return url
        shop.run("serve", "stop", "shop", check=0)
    raise AssertionError("they are never spread over the nodes")


def test_a_node_on_which_tasks_fail_again_is_left_without_a_failed_request(narrow, on):
    """Its disk has no room for another version of one model; so the replica of the other one moves, too."""
    shop = on(narrow)
    shop.push("mlp", "other")
    url = deployed(shop)
    app, answer = shop.apps()[-1], ask(url)[1]
    load = [Load(url, answer) for _ in range(2)]
    before = nodes_of(shop, app)
    used = {before["gateway:0"], *(shop.node_of(pid) for pid in shop.pids("ydl-node master"))}
    task, node = next((f"a:{i}", before[f"a:{i}"]) for i in range(N) if before[f"a:{i}"] not in used)
    host, name = narrow.nodes()[node]["nodeHostName"], task.replace(":", "-")
    narrow.fill_disk(node, LEFT_KB)
    shop.push("mlp2", "other")
    shop.run("serve", "update", "shop", "--model", "other", "--watch", "1s", check=0)
    shop.wait_for(lambda: nodes_of(shop, app).get(task, node) != node and shop.model("shop")["moving"] is None,
                  "its replica elsewhere")
    shop.wait_ready(2 * N, "shop")
    assert node not in nodes_of(shop, app).values()

    rows, told = events(shop, app), notes(events(shop, app))
    failed = [row for row in rows if row["event"] == "failure"]
    assert [(row["task"][0], row["class"], row["then"]) for row in failed] == [("d", "disk", "move")] * 2, failed
    order = [first(rows, event="note", avoid=host),
             next(i for i, row in enumerate(rows) if row["event"] == "task-note" and re.search(
                 f"mlp: {name} is to move: its node {host} is avoided; another replica is started first", row["text"])),
             first(rows, event="task", task=f"a:{N}", state="RUNNING"),
             first(rows, event="task-note",
                   text=f"mlp: {name} gets no more requests: as many others as there should be are ready"),
             first(rows, event="request", what="move", task=task),
             first(rows, event="task", task=task, state="DONE"),
             first(rows, event="task-note", text=f"mlp: {name} has moved")]
    assert order == sorted(order), (order, told)
    count = [one.n for one in load]
    shop.wait_for(lambda: all(one.n > n for one, n in zip(load, count)), "requests go on")
    assert [(bad, wrong) for _, bad, wrong in (one.end() for one in load)] == [([], [])] * 2
    assert ask(url) == (200, answer) and ask(url, "/v1/models/other:predict")[0] == 200
    narrow.empty_disk(node)
