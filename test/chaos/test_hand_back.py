"""A run on YARN hands its cluster back as it was, or says that it cannot; and asks nobody who is away."""

import dataclasses
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib import parse

import pytest
from ydl_chaos import rules, scenario, yarn_world
from ydl_cluster.places import ClusterError


class NameNode(BaseHTTPRequestHandler):
    """What WebHDFS says of one directory's quota."""

    def log_message(self, *_):
        pass

    def _answer(self, told, code=200):
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())

    def do_GET(self):
        if not self.server.has_home:
            return self._answer({"RemoteException": {}}, 404)
        return self._answer({"ContentSummary": {"spaceQuota": self.server.quota}})

    def do_PUT(self):
        wanted = int(parse.parse_qs(parse.urlsplit(self.path).query)["storagespacequota"][0])
        if self.server.obeys:
            self.server.quota = wanted
        if self.server.refuses:
            return self._answer({}, 503)
        return self._answer({})

    def do_DELETE(self):
        self.server.removed.append(parse.urlsplit(self.path).path.removeprefix("/webhdfs/v1"))
        return self._answer({"boolean": True})


@pytest.fixture
def namenode():
    server = ThreadingHTTPServer(("127.0.0.1", 0), NameNode)
    server.quota, server.obeys, server.refuses, server.has_home, server.removed = -1, True, False, True, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


class Imagined:
    """A cluster that has applications, and a NameNode's page."""

    def __init__(self, namenode):
        self.nn_http = f"http://127.0.0.1:{namenode.server_address[1]}"
        self.apps, self.killed, self.memory, self.nodes = {}, [], 0, 1
        self.asked = 0
        # Before this run, of an earlier one.
        self.said = "INFO rmnode.RMNodeImpl: nm1:61140 Node Transitioned from RUNNING to LOST\n"
        self.left, self.attempt, self.looks = [], "FINISHING", 0  # after so many looks nothing is left
        self.lay = SimpleNamespace(namenodes=["nn"], resourcemanagers=["rm"], nodemanagers=["nm1"])

    def app(self, app):
        self.asked += 1
        return {"state": self.apps[app]}

    def log(self, _daemon):
        return self.said

    def rm_page(self, path):
        self.asked += 1
        if path == "metrics":
            self._look()
            return {"clusterMetrics": {"allocatedMB": self.memory, "activeNodes": self.nodes}}
        if path.endswith("/appattempts"):
            self._look()
            return {"appAttempts": {"appAttempt": [{"appAttemptState": self.attempt}]}}
        if self.apps is None:
            return {}  # the ResourceManager does not answer
        return {"apps": {"app": [{"id": app, "state": state} for app, state in self.apps.items()]}}

    def _look(self):
        self.looks -= 1
        if self.looks == 0:
            self.left = []

    def leftovers(self, _app, _seconds):
        return self.left

    def hdfs_names(self, _path):
        return []

    def java(self, *words, **_):
        self.killed.append(words[-1])
        self.apps[words[-1]] = "KILLED"


@pytest.fixture
def world(namenode, tmp_path, monkeypatch):
    monkeypatch.setattr(yarn_world, "_EMPTY_S", 0.2)
    job = scenario.Job(workers=1, nodes=0, policy="task", budget=1, attached=True, steps=2,
                       pace_ms=1, grace_s=0, stubborn=False, strays=False, failure=None)
    return yarn_world.YarnWorld(scenario.Scenario("yarn", 1, job, ()), tmp_path, Imagined(namenode))


@pytest.mark.parametrize("then, dropped", [
    ("from RUNNING to REBOOTED", True), ("from RUNNING to LOST", True), ("from NEW to RUNNING", False)])
def test_a_node_that_yarn_drops_by_itself_is_no_fault_of_the_job(world, then, dropped):
    world.job, world.outcome.happened = "application_1_1", ["task.kill"]
    world.outcome.status = {"missing": {"tasks": 1}}
    world.cluster.said += f"INFO rmnode.RMNodeImpl: nm1:61140 Node Transitioned {then}\n"
    assert (list(rules.nothing_is_said_to_be_missing(world)) == []) == dropped


def test_a_quota_is_lifted(world, namenode):
    namenode.quota = 1
    world.hand_back()
    assert namenode.quota == -1


def test_a_quota_that_stays_is_told(world, namenode):
    namenode.quota, namenode.obeys = 1, False
    with pytest.raises(ClusterError, match="quota"):
        world.hand_back()


def test_who_has_no_home_has_no_quota(world, namenode):
    namenode.has_home = False
    world.hand_back()


def test_a_quota_whose_answer_was_lost_is_undone(world, namenode):
    namenode.refuses = True
    assert world.quota(60)
    assert namenode.quota == 1 and len(world.undo) == 1
    namenode.refuses = False
    world.undo_due(everything=True)
    assert namenode.quota == -1 and world.undo == []


def test_a_paused_namenode_is_given_no_quota(world, namenode):
    world.broken.add("nn")
    assert not world.quota(60)
    assert namenode.quota == -1 and world.undo == []


def test_what_still_runs_is_ended(world):
    world.cluster.apps = {"application_1_1": "FINISHED", "application_1_2": "ACCEPTED"}
    world.hand_back()
    assert world.cluster.killed == ["application_1_2"]


def test_memory_that_is_still_taken_is_told(world):
    world.cluster.memory = 256
    with pytest.raises(ClusterError, match="memory"):
        world.hand_back()


@pytest.mark.parametrize(("happened", "left"), [(["nm.kill"], []), (["rm.restart"], ["a process"])])
def test_memory_of_what_is_left_is_told(world, happened, left):
    world.cluster.apps = {"application_1_1": "KILLED"}
    world.cluster.memory, world.cluster.left, world.outcome.happened = 256, left, happened
    with pytest.raises(ClusterError, match="memory"):
        world.hand_back()
    assert not world.spoiled


def test_memory_that_a_new_resourcemanager_counts_by_mistake_spoils_the_cluster_alone(world):
    world.cluster.apps = {"application_1_1": "KILLED"}
    world.cluster.memory, world.outcome.happened = 256, ["rm.restart", "person.kill"]
    world.hand_back()
    assert world.spoiled


def test_files_of_jobs_are_removed(world, namenode):
    world.hand_back()
    assert [path.rpartition("/")[2] for path in namenode.removed[:2]] == ["jobs", "logs"]


def test_an_answer_that_does_not_come_is_not_taken_for_no_applications(world, tmp_path):
    world.cluster.apps = None
    assert world.find_job() == ""
    with pytest.raises(ClusterError):
        yarn_world.YarnWorld(world.scenario, tmp_path / "next", world.cluster)


_LOSES, _KEEPS = yarn_world.SEEDS_PER_CLUSTER, 0  # seeds


def test_directories_stay_while_the_resourcemanager_misses_a_master(world, monkeypatch):
    assert _wait_gone(world, monkeypatch, _LOSES, ["nm.kill", "rm.restart"], "directory a") == []


@pytest.mark.parametrize("seed, happened, left, attempt", [
    (_LOSES, ["nm.kill", "rm.restart"], "directory a", "FINISHED"),
    (_LOSES, ["nm.kill", "rm.restart"], "process 7", "FINISHING"),
    (_LOSES, ["nm.kill", "rm.restart"], "hdfs .ydl/jobs/a", "FINISHING"),
    (_LOSES, ["nm.kill", "nm.restart"], "directory a", "FINISHING"),
    (_LOSES, ["rm.kill", "nm.pause"], "directory a", "FINISHING"),
    (_KEEPS, ["nm.kill", "rm.restart"], "directory a", "FINISHING")])
def test_nothing_else_stays(world, monkeypatch, seed, happened, left, attempt):
    world.cluster.attempt = attempt
    assert _wait_gone(world, monkeypatch, seed, happened, left) == [left]


def test_directories_stay_while_a_node_that_was_cut_off_is_away(world, monkeypatch):
    world.cluster.nodes = 0
    assert _wait_gone(world, monkeypatch, _KEEPS, ["network.cut"], "directory a") == []


@pytest.mark.parametrize("happened, left, nodes", [
    (["network.cut"], "directory a", 1),
    (["network.cut"], "process 7", 0),
    (["nm.pause"], "directory a", 0)])
def test_nothing_else_stays_on_nodes(world, monkeypatch, happened, left, nodes):
    world.cluster.nodes = nodes
    assert _wait_gone(world, monkeypatch, _KEEPS, happened, left) == [left]


def _wait_gone(world, monkeypatch, seed, happened, left):
    monkeypatch.setattr(world, "gone_in_s", 0.1)
    monkeypatch.setattr(yarn_world, "_MASTER_MISSED_S", 60)
    world.job, world.outcome.happened = "application_1_1", happened
    world.scenario = dataclasses.replace(world.scenario, seed=seed)
    world.cluster.left, world.cluster.looks = [left], 25  # which take longer than 0.1 s
    return world.wait_gone()


def test_a_master_is_missed_only_for_so_long(world, monkeypatch):
    monkeypatch.setattr(world, "gone_in_s", 0.1)
    monkeypatch.setattr(yarn_world, "_MASTER_MISSED_S", 0.1)
    world.job, world.outcome.happened = "application_1_1", ["nm.kill", "rm.kill"]
    world.scenario = dataclasses.replace(world.scenario, seed=_LOSES)
    world.cluster.left = ["directory a"]
    assert world.wait_gone() == ["directory a"]


def test_yarn_is_asked_to_kill_only_while_it_is_there(world):
    world.job, world.cluster.apps = "application_1_1", {"application_1_1": "RUNNING"}
    world.broken.add("rm")
    assert not world.yarn_kill() and world.cluster.killed == []
    world.broken.clear()
    assert world.yarn_kill() and world.cluster.killed == ["application_1_1"]


def test_servers_that_are_away(world):
    assert world.away() == set()
    world.broken |= {"rm", "nm1"}
    assert world.away() == {"rm"}


@pytest.mark.parametrize("away", [False, True])
def test_a_resourcemanager_that_is_away_is_not_asked(world, away):
    """Who asks a paused one waits for half a minute, and what is due meanwhile is not undone."""
    job = dataclasses.replace(world.scenario.job, attached=False)
    world.scenario = dataclasses.replace(world.scenario, job=job)
    world.client = SimpleNamespace(poll=lambda: 0)
    world.cluster.apps = {"application_1_1": "FINISHED"}
    if away:
        world.broken.add("rm")
    asked = world.cluster.asked
    assert world.find_job() == ("" if away else "application_1_1")
    world.job = "application_1_1"
    assert world.over() == (not away)
    assert (world.cluster.asked == asked) == away
