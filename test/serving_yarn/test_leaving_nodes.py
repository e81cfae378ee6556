"""Deployments whose nodes are taken out of service, and whose containers are taken back."""

import json
import os
import re
import signal
import time

import pytest
from serving_load import Load
from ydl_cluster.cluster import Cluster
from ydl_cluster.guide import blocks_of
from ydl_cluster.patience import Limit

pytestmark = pytest.mark.full  # needs a cluster of its own

MONITOR = "yarn.resourcemanager.monitor.capacity.preemption"
ADMIN = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"


class Leaving:
    """A cluster of small nodes that can be taken out of service, and whose queues take back what is
    theirs. (YARN does that by the dominant resource: cores must not be plenty.)"""

    def __init__(self, exclude):
        self.exclude = exclude
        exclude.write_text("")
        self.cluster = Cluster.up(
            name=f"leaving-{os.getpid()}", nodes=4, node_mb=1024, node_vcores=4, preemption=True, heartbeat_ms=200,
            settings=[f"yarn:yarn.resourcemanager.nodes.exclude-path={exclude}",
                      f"yarn:{MONITOR}.max_wait_before_kill=9000"])

    def decommission(self, node, seconds):
        self.exclude.write_text(self.cluster.nodes()[node]["nodeHostName"] + "\n")
        block, = blocks_of("doc/guide/operating.md", __file__)
        yarn, rmadmin, *words = block.split()
        assert (yarn, rmadmin, words.count("3600")) == ("yarn", "rmadmin", 1)
        self.cluster.java(ADMIN, *(word.replace("3600", str(seconds)) for word in words))

    def recommission(self):
        """A NodeManager that was taken out of service ends, and is started again."""
        if not self.exclude.read_text():
            return
        self.exclude.write_text("")
        self.cluster.java(ADMIN, "-refreshNodes")
        limit = Limit(60)
        while not limit.over() and all(one["state"] != "dead" for one in self.cluster.status()["daemons"].values()):
            time.sleep(0.1)
        self.cluster.heal()


@pytest.fixture(scope="module")
def leaving(tmp_path_factory):
    one = Leaving(tmp_path_factory.mktemp("leaving") / "exclude")
    yield one
    one.cluster.down()


@pytest.fixture
def shop(leaving, on):  # pylint: disable=redefined-outer-name
    yield on(leaving.cluster)
    leaving.recommission()


def events(serving, app):
    return [json.loads(line) for line in serving.run("events", "--json", app, check=0).stdout.splitlines()]


def nodes_of(serving, app):
    """{"a:0": "nm2", …} of the tasks that run."""
    tasks = json.loads(serving.run("status", "--json", "--tasks", app, check=0).stdout)["tasks"]
    return {f"{task['role']}:{task['rank']}": serving.cluster.node_at(task["node"])
            for task in tasks if task["state"] == "RUNNING"}


def first(rows, **wanted):
    """The place of the first event that has all of these."""
    return next(i for i, row in enumerate(rows) if all(row.get(key) == value for key, value in wanted.items()))


def notes(rows):
    return [row["text"] for row in rows if row["event"] == "task-note"]


def is_settled(serving, n):
    return serving.model()["moving"] is None and list(serving.replicas().values()) == ["ready"] * n


def test_a_node_that_is_decommissioned_is_left_without_a_failed_request(leaving, shop):
    url = shop.deploy("mlp", "--replicas", 2)
    load = [Load(url, shop.predict()) for _ in range(2)]
    app = shop.apps()[0]
    before = nodes_of(shop, app)
    master = next(shop.node_of(pid) for pid in shop.pids("ydl-node master"))
    task, node = next((task, node) for task, node in sorted(before.items())
                      if task.startswith("a:") and node not in (before["gateway:0"], master))
    leaving.decommission(node, 90)
    shop.wait_for(lambda: nodes_of(shop, app).get(task, node) != node and is_settled(shop, 2), "its replica elsewhere")
    assert leaving.cluster.nodes()[node]["state"] == "DECOMMISSIONING"
    rows = events(shop, app)
    moved = first(rows, event="request", what="move", task=task)
    ready = first(rows, event="task-note", text=f"mlp: {task.replace(':', '-')} gets no more requests: as many "
                  "others as there should be are ready")
    assert first(rows, event="task", task="a:2", state="RUNNING") < ready < moved < first(
        rows, event="task", task=task, state="DONE")
    assert not [row for row in rows if row["event"] == "failure"]
    told = notes(rows)
    assert re.search("is to move: its node .* leaves the cluster; another replica is started first", told[0]), told
    assert told[-1] == f"mlp: {task.replace(':', '-')} has moved", told
    assert not [pid for pid in shop.processes() if shop.node_of(pid) == node]
    leaving.cluster.wait_for_node(node, "DECOMMISSIONED", 150)
    count = [one.n for one in load]
    shop.wait_for(lambda: all(one.n > n for one, n in zip(load, count)), "requests go on")
    assert [(bad, wrong) for _, bad, wrong in (one.end() for one in load)] == [([], [])] * 2
    assert is_settled(shop, 2)


def test_a_replica_whose_container_is_taken_back_answers_what_it_has_first(shop):
    """The queue `prod` wants its share, of which the deployment had a part."""
    url = shop.deploy("mlp", "--replicas", 5, "--memory", "512m")
    load = [Load(url, shop.predict()) for _ in range(2)]
    app = shop.apps()[0]
    taker = shop.start("run", "--on", "yarn", "--queue", "prod", "-n", 3, "--mem", "512m", "--", "sleep", "611")
    shop.wait_for(lambda: len(shop.processes("sleep 611")) == 3, "those who take them")
    rows = events(shop, app)
    taken = [row for row in rows if row["event"] == "container" and row["state"] == "LEAVING"]
    moved = [row["task"] for row in rows if row["event"] == "request" and row["what"] == "move"]
    assert moved and not taken, rows
    assert not [row for row in rows if row["event"] == "failure"]
    assert [text for text in notes(rows) if "is to move: the cluster takes its container back" in text], rows
    assert "goes on, as no other one is ready" not in shop.run("serve", "status", "mlp", check=0).stdout
    taker.send_signal(signal.SIGINT)
    taker.communicate(timeout=60)
    shop.wait_for(lambda: is_settled(shop, 5), "all replicas")
    assert [(bad, wrong) for _, bad, wrong in (one.end() for one in load)] == [([], [])] * 2


def test_a_gang_waits_beside_deployments_and_says_why(shop):
    urls = [shop.deploy("mlp", "--replicas", 2, "--memory", "512m"),
            shop.deploy("mlp", "--name", "other", "--replicas", 1, "--memory", "512m")]
    load = [Load(url, shop.predict()) for url in urls]
    first_two = set(shop.apps())
    gang = shop.start("run", "--on", "yarn", "-n", 4, "--mem", "512m", "--", "echo", "the gang")
    app, = shop.wait_for(lambda: set(shop.apps()) - first_two, "its application")

    def waits():
        done = shop.run("status", app)
        return re.search(r"have \d of 4 containers; waiting for \d × worker|"
                         "not enough room for all containers at once", done.stdout)
    shop.wait_for(waits, "its reason")
    count = [one.n for one in load]
    shop.wait_for(lambda: all(one.n > n + 20 for one, n in zip(load, count)), "requests go on")
    assert gang.poll() is None
    assert [(bad, wrong) for _, bad, wrong in (one.end() for one in load)] == [([], [])] * 2
    shop.run("serve", "stop", "other", check=0)
    out, err = gang.communicate(timeout=180)
    assert gang.returncode == 0 and out.count("the gang") == 4, err
    assert shop.predict()["predictions"]
