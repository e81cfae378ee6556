"""Fifty replicas of a small model on fifty NodeManagers: deployed, updated under load, and stopped."""

import http.client
import json
import threading
from urllib.parse import urlsplit

import pytest

NODES = REPLICAS = 50
LATE_S = 900
PREDICT, BODY = "/v1/models/small:predict", json.dumps({"instances": [[1, 2, 3, 4]]})


def asked(url):
    """Status and text of an answer on a connection of its own."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request("POST", PREDICT, BODY)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


class Kept(threading.Thread):
    """One request after the other on one connection, and on another one only when an answer said that the
    first is closed."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.at, self.over, self.n, self.closed = urlsplit(url).netloc, False, 0, 0
        self.answers, self.bad = {}, []
        self.start()

    def run(self):
        connection = http.client.HTTPConnection(self.at, timeout=60)
        while not self.over:
            try:
                connection.request("POST", PREDICT, BODY)
                answer = connection.getresponse()
                text = answer.read().decode()
            except (OSError, http.client.HTTPException) as error:  # dropped
                self.bad.append(repr(error))
                connection.close()
                continue
            self.n += 1
            self.closed += answer.will_close
            if answer.status == 200:
                self.answers[text] = self.answers.get(text, 0) + 1
            else:
                self.bad.append((answer.status, text))
        connection.close()

    def end(self):
        self.over = True
        self.join(60)
        return self


@pytest.mark.full
def test_fifty_replicas_are_deployed_updated_and_stopped(own_cluster, on):
    cluster = own_cluster(nodes=1, datanodes=1, many=NODES, node_mb=2048, node_vcores=64, heartbeat_ms=500)
    serving = on(cluster)
    for shift in ("small", "small2"):
        serving.push(shift, "small")
    url = serving.deploy("small:1", "--replicas", REPLICAS, "--memory", "128m", "--timeout", "10m", timeout=LATE_S)

    def ready(n):
        return list(serving.replicas("small").values()) == ["ready"] * n
    serving.wait_for(lambda: ready(REPLICAS), "all replicas", LATE_S)
    tasks = json.loads(serving.run("status", "--json", "--tasks", serving.apps()[-1], check=0).stdout)["tasks"]
    nodes = [task["node"] for task in tasks if task["role"] == "a"]
    assert len(nodes) == REPLICAS and len(set(nodes)) > NODES / 2, nodes

    _, one = asked(url)
    load = [Kept(url) for _ in range(4)]
    serving.wait_for(lambda: all(each.n > 20 for each in load), "requests")
    serving.run("serve", "scale", "small", REPLICAS - 5, check=0)
    serving.wait_for(lambda: ready(REPLICAS - 5), "five fewer", LATE_S)
    serving.run("serve", "scale", "small", REPLICAS, check=0)
    serving.wait_for(lambda: ready(REPLICAS), "five more", LATE_S)
    # Servers are added and removed at run time: no connection is even asked to end.
    assert [each.closed for each in load] == [0] * len(load)
    serving.run("serve", "update", "small", "--to", 2, "--watch", "1s", "--timeout", "10m", check=0, timeout=LATE_S)
    serving.wait_for(lambda: ready(REPLICAS), "the new version alone", LATE_S)
    counts = [each.n for each in load]
    serving.wait_for(lambda: all(each.n > n + 20 for each, n in zip(load, counts)), "requests go on")
    _, two = asked(url)
    ends = [each.end() for each in load]
    assert not [bad for each in ends for bad in each.bad]
    assert {text for each in ends for text in each.answers} == {one, two} and one != two
    serving.run("serve", "stop", "small", check=0)
    serving.wait_for(lambda: not serving.processes(), "no process is left", LATE_S)
