"""Deployments on this machine whose models are in a registry on a real HDFS."""

import json
import os
import re
import signal

import pytest
from test_deploy_handlers import HANDLER, push


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
    hdfs.cluster.kill("nn")
    os.kill(hdfs.find("ydl-native serve --host")[0], signal.SIGKILL)
    hdfs.wait_for(lambda: hdfs.ready(1) == 2, "the replica is back")
    hdfs.cluster.heal()
    hdfs.run("serve", "stop", "mlp", check=0)
    assert uses(hdfs) == []


def test_a_fetch_that_is_killed_begins_anew_and_damage_is_noticed(hdfs):
    (hdfs.work / "noise").write_bytes(os.urandom(1 << 20) * 192)
    push(hdfs, "large", {"model.py": HANDLER, "weights.json": "[[1]]", "noise": hdfs.work / "noise"})
    deploy = hdfs.start("serve", "deploy", "large", "--cpus", 1)
    replica = hdfs.wait_for(lambda: hdfs.find("ydl-native replica"), "a replica")[0]
    hdfs.wait_for(lambda: any((p / "model" / "noise").exists() for p in hdfs.kept().values()), "its fetch")
    os.kill(replica, signal.SIGSTOP)
    assert [p.suffix for p in hdfs.kept().values()] == [".part"]  # in the middle
    for node in ("dn1", "dn2"):
        hdfs.cluster.pause(node)
    os.kill(replica, signal.SIGCONT)
    hdfs.wait_for(lambda: re.search(r"a-0 +fetching .* of 192", hdfs.run("serve", "status", "large").stdout.decode()),
                  "how far it is")
    os.kill(replica, signal.SIGKILL)
    hdfs.cluster.kill("dn1")
    hdfs.cluster.resume("dn2")
    out, err = deploy.communicate(timeout=300)
    assert deploy.returncode == 0 and b"replica a-0 is fetching " in err, (out, err)
    assert [p.suffix for p in hdfs.kept().values()] == [""] and len(hdfs.said("fetched large:1, 192.")) == 1
    hdfs.run("serve", "stop", "large", check=0)
    hdfs.cluster.heal()
    noise = next(iter(hdfs.kept().values())) / "model" / "noise"
    noise.chmod(0o600)
    with noise.open("r+b") as file:
        file.seek(100 << 20)
        file.write(bytes(16))
    hdfs.deploy("large", "--cpus", 1)
    assert len(hdfs.said("fetched large:1, 192.")) == 2
    listed = json.loads(hdfs.run("cache", "list", "--models", "--json", check=0).stdout)["models"]
    assert [(one["model"], one["version"], one["in_use"]) for one in listed] == [("large", 1, True)]
    hdfs.run("cache", "prune", "--models", "--all", check=0)
    assert len(hdfs.kept()) == 1
    hdfs.run("serve", "stop", "large", check=0)
    hdfs.run("cache", "prune", "--models", "--all", check=0)
    assert not hdfs.kept()


def test_who_may_not_read_a_model_cannot_deploy_it(hdfs):
    hdfs.cluster.fs("-chmod", "750", f"{hdfs.place}/mlp")
    done = hdfs.run("serve", "deploy", "mlp", env={"HADOOP_USER_NAME": "mallory"})
    assert done.returncode == 77 and "ermission denied" in done.stderr.decode(), done
    assert not hdfs.processes()


@pytest.mark.full
@pytest.mark.parametrize("each_cluster", ["krb_cluster", "ha_cluster"], indirect=True)
def test_it_works_with_kerberos_and_when_another_namenode_takes_over(hdfs_of_each, each_cluster):
    hdfs = hdfs_of_each
    hdfs.deploy("mlp", "--cpus", 1)
    first = hdfs.predict()
    hdfs.push("mlp2")
    if each_cluster.lay.spec.ha:
        each_cluster.failover("nn")
    hdfs.run("serve", "update", "mlp", "--watch", "1s", check=0)
    assert hdfs.predict() != first and len(hdfs.said("fetched mlp:[12], ")) == 2
    assert [use["versions"] for use in uses(hdfs)] == [[2]]
