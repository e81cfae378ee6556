"""Requests come all the time while the cluster below a deployment is disturbed: a node is lost with all that
runs there, and daemons of Hadoop are started again."""

import os
import signal
import urllib.request
from pathlib import Path

import pytest
from serving_load import Load
from test_lost_nodes import lose

CLIENTS = 4


def answered_on(load):
    """A condition: every client has had some answers since now."""
    before = [one.n for one in load]
    return lambda: all(one.n > n + 10 for one, n in zip(load, before))


def is_ready(pid):
    """Does this replica say so itself?"""
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    at = f"{words[words.index('--host') + 1]}:{words[words.index('--port') + 1]}"
    try:
        with urllib.request.urlopen(f"http://{at}/v2/health/ready", timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


def end(load):
    """What failed; nothing was wrong."""
    ends = [one.end() for one in load]
    assert not [answer for _, _, wrong in ends for answer in wrong]
    return [one for _, bad, _ in ends for one in bad]


def spread(serving):
    """The address of three replicas, a third of them on each node. Where nodes report late, on a machine that is
    busy, YARN may give several to one of them; then they are deployed again."""
    for _ in range(6):
        url = serving.deploy("mlp", "--replicas", 3)
        serving.wait_ready(3)
        if len({serving.node_of(pid) for pid in serving.pids("ydl-native serve --host")}) == 3:
            return url
        serving.run("serve", "stop", "mlp", check=0)
    raise AssertionError("they are never spread over the nodes")


def node_of_one_replica(serving):
    """A node with a replica, and neither a gateway nor the master."""
    used = {serving.node_of(pid) for text in ("ydl-native deployment", "ydl-node master")
            for pid in serving.pids(text)}
    return next(node for node in ("nm1", "nm2", "nm3") if node not in used)


@pytest.mark.full
def test_a_node_that_is_lost_takes_no_more_than_what_it_was_answering(serving):
    """A third of the replicas. Each client has one request at a time, and each is counted."""
    url = spread(serving)
    load = [Load(url, serving.predict()) for _ in range(CLIENTS)]
    serving.wait_for(answered_on(load), "requests")
    node = node_of_one_replica(serving)
    lose(serving, node)
    serving.wait_for(answered_on(load), "requests go on")
    # YARN misses the node after a while; then there is a container elsewhere.
    serving.wait_for(lambda: len([one for one in serving.pids("ydl-native serve --host")
                                  if serving.node_of(one) != node]) == 3, "three replicas on two nodes", 300)
    serving.wait_ready(3)
    serving.wait_for(answered_on(load), "requests go on")
    bad = end(load)
    assert len(bad) <= CLIENTS and {status for status, _ in bad} <= {502}, bad
    serving.cluster.heal()


@pytest.mark.full
def test_daemons_of_hadoop_are_started_again_and_nobody_notices(served):
    """NodeManagers keep their containers (work-preserving recovery); the NameNode is asked by nobody who
    answers a request, and a replica that is started again meanwhile has its model on its node."""
    wanted = served.predict()
    load = [Load(served.url, wanted) for _ in range(2)]
    before = served.pids("ydl-native serve --host")
    for node in {served.node_of(pid) for pid in served.pids("ydl-n")}:
        served.cluster.restart(node)
    served.wait_for(answered_on(load), "requests go on")
    served.wait_ready(2)
    assert served.pids("ydl-native serve --host") == before

    served.cluster.restart("nn")
    served.wait_for(answered_on(load), "requests go on")
    assert end(load) == []
    served.cluster.kill("nn")
    load = [Load(served.url, wanted) for _ in range(2)]
    os.kill(before[0], signal.SIGKILL)
    served.wait_for(lambda: any(is_ready(pid) for pid in served.pids("ydl-native serve --host") if pid not in before),
                    "another one")  # the gateway looks at it by itself; commands need HDFS
    served.wait_for(answered_on(load), "requests go on")
    bad = end(load)
    assert len(bad) <= 2 and {status for status, _ in bad} <= {502}, bad
    served.cluster.heal()
    served.wait_ready(2)
    served.run("serve", "scale", "mlp", 3, check=0)  # what asks HDFS works again
    served.wait_ready(3)
    served.run("serve", "scale", "mlp", 2, check=0)
    served.wait_ready(2)


@pytest.mark.full
def test_nodemanagers_without_recovery_take_their_containers_along(own_cluster, on):
    """What a NodeManager that comes back does not know of is started again, without YARN's long wait."""
    cluster = own_cluster(nodes=3, datanodes=1, heartbeat_ms=200, settings=[
        "yarn:yarn.nodemanager.recovery.enabled=false", "yarn:yarn.nodemanager.recovery.supervised=false"])
    serving = on(cluster)
    url = spread(serving)
    load = [Load(url, serving.predict()) for _ in range(CLIENTS)]
    serving.wait_for(answered_on(load), "requests")
    node = node_of_one_replica(serving)
    old = [pid for pid in serving.pids("ydl-native serve --host") if serving.node_of(pid) == node]
    cluster.restart(node)
    serving.wait_for(lambda: not set(old) & set(serving.pids("ydl-native serve --host")), "its replica has ended")
    serving.wait_for(lambda: len(serving.pids("ydl-native serve --host")) == 3, "another one")
    serving.wait_ready(3)
    serving.wait_for(answered_on(load), "requests go on")
    bad = end(load)
    assert len(bad) <= CLIENTS and {status for status, _ in bad} <= {502}, bad
    serving.run("serve", "stop", "mlp", check=0)
