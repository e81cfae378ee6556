"""Clusters with a setting of their own: labels and GPUs, and keys that are changed while a master
runs. Each is started for a test or two alone, so these belong to the long suite."""

import contextlib
import json
import os
import re
import shutil
from collections import Counter

import pytest

from master import CODES, Master, program, rest, wait_for
from ydl_cluster.cluster import Cluster

pytestmark = pytest.mark.full


@contextlib.contextmanager
def _own_cluster(name="yarn", **fields):
    cluster = Cluster.up(name=f"{name}-{os.getpid()}", **fields)
    try:
        yield cluster
    finally:
        cluster.down()


def _ask(cluster, *arguments: str) -> dict:
    return json.loads(cluster.run([program("ydl-test-client"), *arguments]).stdout)


def test_labels_and_gpus_are_seen_and_used():
    with _own_cluster(labels=True, gpus=True) as cluster:
        seen = _ask(cluster, "look")
        assert seen["labels"] == ["gpu"]
        (host,) = [node["host"] for node in seen["nodes"] if node["labels"] == ["gpu"]]
        assert "yarn.io/gpu" in seen["types"]
        app = _ask(cluster, "submit", "default", "exec sleep 100", "gpu", "1")["id"]
        wait_for(lambda: _ask(cluster, "app", app)["attempts"] == ["LAUNCHED"], "it is launched")
        attempt = rest(cluster, f"apps/{app}/appattempts")["appAttempts"]["appAttempt"][0]
        assert attempt["nodeId"].split(":")[0] == host
        nodes = rest(cluster, "nodes")["nodes"]["node"]
        used = next(node for node in nodes if node["nodeHostName"] == host)["usedResource"]
        gpus = [row["value"] for row in used["resourceInformations"]["resourceInformation"]
                if row["name"] == "yarn.io/gpu"]
        assert gpus == [1]
        _ask(cluster, "kill", app)


def test_a_master_outlives_the_keys_of_its_token(tmp_path):
    """After two changes of the key the first token is worth nothing; a master that had not taken
    the new ones could not sign in to the restarted ResourceManager."""
    rolling = "yarn:yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs=32"
    missed = "yarn:yarn.am.liveness-monitor.expiry-interval-ms=10000"  # at most a third of that
    with _own_cluster(settings=[rolling, missed]) as cluster, Master(cluster, tmp_path) as master:
        master.wait_for_tasks()
        wait_for(lambda: len(master.lines("token")) >= 2, f"two new tokens; {master.log}", 180)
        cluster.kill("rm")
        cluster.start("rm")
        master.wait_for_resync()
        master.touch("go")
        wait_for(lambda: "extra runs" in master.log, f"the extra one; {master.log}")
        master.touch("stop")
        assert master.end().endswith(CODES)


# Nodes with room for three containers each, queues that take back what is theirs, and NodeManagers
# that forget their containers when they end.
_MONITOR = "yarn.resourcemanager.monitor.capacity.preemption"
_SMALL = ["yarn:yarn.nodemanager.resource.memory-mb=192",
          "yarn:yarn.nodemanager.recovery.enabled=false",
          "yarn:yarn.resourcemanager.scheduler.monitor.enable=true",
          f"yarn:{_MONITOR}.monitoring_interval=500",
          f"yarn:{_MONITOR}.max_wait_before_kill=2000",
          f"yarn:{_MONITOR}.total_preemption_per_round=1.0",
          f"yarn:{_MONITOR}.natural_termination_factor=1.0",
          f"yarn:{_MONITOR}.max_ignored_over_capacity=0"]


@pytest.fixture(scope="module")
def small():
    with _own_cluster("small", settings=_SMALL) as cluster:
        yield cluster


def _go_on(master) -> None:
    """Lets the tasks end. All six codes are good in the end, whatever happened on the way."""
    master.touch("go")
    wait_for(lambda: "extra runs" in master.log, f"the extra one; {master.log}")
    master.touch("stop")
    said = master.end().splitlines()[-1]
    assert said.startswith("FINISHED SUCCEEDED") and said.endswith(CODES), said


def test_a_preempted_container_is_announced_and_told(small, tmp_path):
    """The queue `prod` wants its share while `default` has more than its own."""
    with Master(small, tmp_path) as master:
        master.wait_for_tasks()
        others = [_ask(small, "submit", "prod", "exec sleep 300")["id"] for _ in range(4)]
        wait_for(lambda: [row for row in master.fields("completed") if row["code"] == "-102"],
                 f"a container preempted; {master.log}")
        told = [line.split()[0] for line in master.log.splitlines()]
        assert told.index("preempt") < told.index("completed")
        lost = Counter(row["task"] for row in master.fields("completed"))
        assert set(lost) <= {row["task"] for row in master.fields("preempt")}
        assert {row["strict"] for row in master.fields("preempt")} == {"0"}
        for app in others:
            _ask(small, "kill", app)
        _go_on(master)


def test_the_doctor_sees_a_full_queue(small, tmp_path):
    def checked(*options: str) -> str:
        done = small.ydl("doctor", "--queue", "default", *options)
        return next(line for line in done.stdout.splitlines() if line.split()[1] == "queue")

    assert checked().startswith("ok ")
    shutil.copytree(small.conf_dir, tmp_path / "conf")  # where no container fits on any node
    site = tmp_path / "conf" / "yarn-site.xml"
    least = "<name>yarn.scheduler.minimum-allocation-mb</name><value>"
    assert least + "64<" in site.read_text()
    site.write_text(site.read_text().replace(least + "64<", least + "256<"))
    assert re.match("warning .* no node has room for a container of 256 MB",
                    checked("--conf", str(tmp_path / "conf")))
    apps = [_ask(small, "submit", "default", "exec sleep 300")["id"] for _ in range(9)]
    wait_for(lambda: "is full" in checked(), f"nine applications running; {checked()}")
    assert checked().startswith("warning ")
    for app in apps:
        _ask(small, "kill", app)


def _lose_a_node(master, how) -> str:
    """Does `how` to a NodeManager other than the one that the master is on; its host."""
    lay = master.cluster.lay
    home = master.attempt()["nodeId"].split(":")[0]
    name = next(nm for nm in lay.nodemanagers if lay.host_of(nm) != home)
    how(name)
    return lay.host_of(name)


@pytest.mark.parametrize("how", ["restarted", "killed"])
def test_the_containers_of_a_nodemanager_that_starts_anew_are_lost(small, tmp_path, how):
    """Orderly or not: the master hears the end of both, and of nothing else; and may use the node
    again, whose tokens and connection are new ones."""
    def kill_and_start(name):
        small.kill(name)
        small.start(name)

    with Master(small, tmp_path) as master:
        master.wait_for_tasks()
        granted = master.fields("granted")
        host = _lose_a_node(master, small.restart if how == "restarted" else kill_and_start)
        theirs = {row["task"] for row in granted if row["host"] == host}
        wait_for(lambda: len(master.lines("granted")) == 8, f"two granted anew; {master.log}")
        assert {row["task"]: row["code"] for row in master.fields("completed")} == {
            task: "-100" for task in theirs}
        assert {row["host"] for row in master.fields("granted")[6:]} == {host}
        _go_on(master)
