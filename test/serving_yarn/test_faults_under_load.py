"""Requests come all the time while the cluster below a deployment is disturbed: a node is lost with all that
runs there."""

import pytest
from serving_load import Load
from test_lost_nodes import lose

CLIENTS = 4


def answered_on(load):
    """A condition: every client has had some answers since now."""
    before = [one.n for one in load]
    return lambda: all(one.n > n + 10 for one, n in zip(load, before))


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
