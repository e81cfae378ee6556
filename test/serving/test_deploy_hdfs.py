"""Deployments on this machine whose models are in a registry on a real HDFS."""

import json
import os
import re
import signal


def uses(hdfs, model="mlp") -> list[dict]:
    """What deployments say in the registry."""
    found = hdfs.cluster.fs("-cat", f"{hdfs.place}/{model}/deployments/*.json", check=False).stdout
    return [json.loads(line) for line in re.findall(r"\{.*?\}", found)]


def test_deploy_predict_update_and_rollback_from_hdfs(hdfs):
    hdfs.deploy("mlp", "--replicas", 2, "--cpus", 1)
    first = hdfs.predict()
    assert len(hdfs.said("fetched mlp:1, ")) == 1 and len(hdfs.kept()) == 1
    assert [use["versions"] for use in uses(hdfs)] == [[1]]
    hdfs.push("mlp2")
    hdfs.run("serve", "update", "mlp", "--watch", "1s", check=0)
    assert hdfs.model()["version"] == 2 and hdfs.predict() != first
    assert len(hdfs.said("fetched mlp:2, ")) == 1 and len(hdfs.kept()) == 2
    hdfs.run("serve", "rollback", "mlp", check=0)
    assert hdfs.predict() == first
    assert len(hdfs.said("fetched mlp:1, ")) == 1  # it was still here
    # A replica that is killed does not need HDFS to come back.
    for daemon in ("nn",):
        hdfs.cluster.kill(daemon)
    os.kill(hdfs.find("ydl-native serve --host")[0], signal.SIGKILL)
    hdfs.wait_for(lambda: hdfs.ready(1) == 2, "the replica is back")
    hdfs.cluster.heal()
    hdfs.run("serve", "stop", "mlp", check=0)
    assert uses(hdfs) == []
