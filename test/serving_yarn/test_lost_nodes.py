"""Deployments whose nodes are lost, with everything that ran there."""

import contextlib
import json
import os
import signal
import threading

import pytest


def lose(serving, node: str) -> None:
    """As if its power had failed."""
    serving.cluster.kill(node)
    for pid in serving.processes():
        with contextlib.suppress(OSError, StopIteration):
            if serving.node_of(pid) == node:
                os.kill(pid, signal.SIGKILL)


@pytest.mark.full
@pytest.mark.parametrize("port", [None, 18765])
def test_a_gateway_whose_node_is_lost_answers_elsewhere(serving, port):
    """The same port, as it is free there."""
    url = serving.deploy("mlp", "--replicas", 2, *(["--gateway-port", port] if port else []))
    assert not port or url.endswith(f":{port}")
    first = serving.predict()
    watch = serving.start("serve", "address", "mlp", "--watch")
    assert watch.stdout.readline().strip() == url
    lines = []
    reader = threading.Thread(target=lambda: lines.append(watch.stdout.readline().strip()))
    reader.start()
    node = serving.node_of(serving.pids("ydl-native deployment")[0])
    lose(serving, node)
    reader.join(600)
    assert lines[0] not in ("", url) and lines[0].rpartition(":")[2] == url.rpartition(":")[2]
    serving.wait_for(lambda: serving.predict(check=None) == first, "the same answer")
    assert json.loads(serving.run("serve", "list", "--json", check=0).stdout)["deployments"][0]["url"] == lines[0]
    serving.wait_ready(2)
    serving.cluster.heal()
    serving.run("serve", "stop", "mlp", check=0)
    assert watch.wait(60) == 0
