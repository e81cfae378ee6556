"""`ydl cluster` on a real ResourceManager, with its own REST pages as the judge."""

import getpass
import json
import time
import urllib.request

import pytest
from cmd_support import Shell

from ydl_cluster.patience import Limit

ME = getpass.getuser()


@pytest.fixture
def rm(cluster):
    """ydl without a directory on HDFS, which these verbs do not need."""
    return Shell(cluster, None, "")


def rest(rm, path: str, body: dict | None = None, user: str = ME) -> dict:
    """A page of the ResourceManager as JSON."""
    url = f"{rm.cluster.rm_http}/ws/v1/cluster/{path}?user.name={user}"
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json",
                                                 "Accept": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        text = answer.read()
    return json.loads(text) if text else {}


def submit(rm, command: str = "sleep 600", **more) -> str:
    """An application whose only container runs a command; its id."""
    app = rest(rm, "apps/new-application", {})["application-id"]
    rest(rm, "apps", {"application-id": app, "application-name": "a name", "queue": "default",
                      "am-container-spec": {"commands": {"command": command}},
                      "resource": {"memory": 64, "vCores": 1}, "max-app-attempts": 1,
                      "application-type": "YDL-TEST"} | more)
    return app


def wait_for(rm, app: str, *states: str) -> dict:
    limit = Limit(120)
    while True:
        known = rm.json("cluster", "app", app)["application"]
        if known["state"] in states:
            return known
        assert not limit.over(), known
        time.sleep(0.05)


@pytest.fixture
def app(rm):
    """An application that runs, and is gone afterwards."""
    made = submit(rm)
    yield made
    rm("cluster", "kill", made)


# ---- looking ----

def test_info_agrees_with_the_pages(rm):
    info = rm.json("cluster", "info")
    page = rest(rm, "metrics")["clusterMetrics"]
    assert info["nodes"]["running"] == page["activeNodes"] == len(rm.cluster.lay.nodemanagers)
    assert info["total"]["memory_mb"] == page["totalMB"]
    assert info["total"]["vcores"] == page["totalVirtualCores"]
    assert info["queues"] == 4
    assert info["resourcemanager"]["port"] == int(rm.cluster.lay.address("rm", "client").split(":")[1])
    assert info["resourcemanager"]["version_at_least"] == "3.4"
    text = rm.ok("cluster", "info")
    assert f"{page['activeNodes']} running" in text and "ResourceManager" in text


def test_info_of_an_older_release(old_cluster):
    info = Shell(old_cluster, None, "").json("cluster", "info")
    assert info["resourcemanager"]["version_at_least"] == "3.3" and info["queues"] == 4


def test_nodes(rm):
    nodes = rm.json("cluster", "nodes")["nodes"]
    pages = {n["id"]: n for n in rest(rm, "nodes")["nodes"]["node"]}
    assert {n["id"] for n in nodes} == set(pages)
    for n in nodes:
        page = pages[n["id"]]
        assert n["state"] == page["state"] == "RUNNING" and n["rack"] == page["rack"]
        assert n["total"]["memory_mb"] == page["usedMemoryMB"] + page["availMemoryMB"]
    lines = rm.ok("cluster", "nodes").splitlines()
    assert lines[0].split()[:2] == ["STATE", "HOST"] and len(lines) == 1 + len(nodes)
    assert rm.json("cluster", "nodes", "--state", "LOST") == {"nodes": []}
    rm.fails(2, "cluster", "nodes", "--state", "runing", says="RUNNING")


@pytest.mark.full
def test_a_lost_node_is_shown(rm):
    rm.cluster.kill("nm1")
    limit = Limit(180)
    while rm.json("cluster", "info")["nodes"]["lost"] == 0:
        assert not limit.over()
        time.sleep(0.2)
    lost = rm.json("cluster", "nodes", "-s", "lost")["nodes"]
    assert [n["host"] for n in lost] == [rm.cluster.lay.host_of("nm1")]
    assert "1 lost" in rm.ok("cluster", "info")


def test_queues(rm):
    root = rm.json("cluster", "queues")["queue"]
    assert root["path"] == "root" and root["capacity"] == 100
    by_name = {q["name"]: q for q in root["children"]}
    assert set(by_name) == {"default", "prod", "small", "closed"}
    small = by_name["small"]
    assert small["path"] == "root.small" and small["state"] == "RUNNING"
    assert round(small["capacity"], 3) == 5 and round(small["max_capacity"], 3) == 10
    assert "  small" in rm.ok("cluster", "queues")
    for name in ("prod", "root.prod"):
        assert rm.json("cluster", "queues", name)["queue"]["name"] == "prod"


def test_apps_and_their_filters(rm, app):
    wait_for(rm, app, "ACCEPTED", "RUNNING")

    def ids(*words):
        return [a["id"] for a in rm.json("cluster", "apps", *words)["applications"]]

    assert app in ids()
    assert app in ids("--queue", "default", "--user", ME, "--type", "YDL-TEST", "--limit", "1")
    assert app not in ids("--queue", "prod") and app not in ids("--user", "bob")
    assert app not in ids("--type", "SPARK") and app not in ids("--state", "finished")
    assert app in ids("--state", "accepted", "--state", "running") and app in ids("--all")
    assert len(ids("--all", "--limit", "1")) == 1 and ids("--all", "-n", "1") == [app]
    line = next(x for x in rm.ok("cluster", "apps").splitlines() if x.startswith(app))
    assert line.endswith("a name") and " YDL-TEST " in line
    rm.fails(2, "cluster", "apps", "--state", "runing", says="RUNNING")


def test_apps_by_tag(rm):
    made = submit(rm, **{"application-tags": {"tag": ["night", "gpu"]}})
    try:
        found = rm.json("cluster", "apps", "--tag", "Night")["applications"]
        assert [a["id"] for a in found] == [made] and sorted(found[0]["tags"]) == ["gpu", "night"]
        assert rm.json("cluster", "apps", "--tag", "none")["applications"] == []
    finally:
        rm("cluster", "kill", made)


def test_an_app_that_failed_says_why(rm):
    made = submit(rm, "exit 3")
    known = wait_for(rm, made, "FAILED")
    assert known["final_status"] == "FAILED" and "exitCode: 3" in known["diagnostics"]
    assert known["started_ms"] and known["finished_ms"] >= known["started_ms"]
    attempt, = known["attempts"]
    assert attempt["state"] == "FAILED" and attempt["id"].startswith("appattempt_")
    text = rm.ok("cluster", "app", made)
    assert "exitCode: 3" in text and attempt["id"] in text and "FAILED" in text
    assert "\tat " not in text.split("diagnostics")[0]


# ---- acting ----

def test_kill_waits_until_it_is_killed(rm):
    made = submit(rm)
    said = rm.json("cluster", "kill", made)["application"]
    assert said == {"id": made, "state": "KILLED", "final_status": "KILLED", "killed": True}
    page = rest(rm, f"apps/{made}")["app"]
    assert page["state"] == "KILLED" and f"killed by {ME} with ydl" in page["diagnostics"]
    again = rm.ok("cluster", "kill", made)
    assert again == f"{made} has already ended: KILLED\n"


def test_move(rm, app):
    wait_for(rm, app, "ACCEPTED", "RUNNING")
    assert rm.ok("cluster", "move", app, "prod") == f"moved {app} to queue 'prod'\n"
    assert rest(rm, f"apps/{app}")["app"]["queue"] in ("prod", "root.prod")
    rm.fails(1, "cluster", "move", app, "root", says="has queues below it")


def test_an_app_of_somebody_else_is_not_ours_to_kill(rm, app):
    bob = Shell(rm.cluster, "bob", "")
    bob.fails(77, "cluster", "kill", app, says="bob")
    assert rm.json("cluster", "app", app)["application"]["state"] != "KILLED"


# ---- what is not there ----

def test_an_app_that_is_not_there(rm):
    for verb in ("app", "kill"):
        done = rm.fails(1, "cluster", verb, "application_1_0001", says="application_1_0001")
        assert "ydl cluster apps" in done.stderr
    rm.fails(2, "cluster", "app", "job_1", says="'job_1'")


def test_a_queue_that_is_not_there(rm):
    for words in (("queues", "prodd"), ("apps", "--queue", "prodd"),
                  ("move", "application_1_0001", "root.prodd")):
        done = rm.fails(1, "cluster", *words, says="no queue")
        assert "did you mean 'prod'?" in done.stderr, done.stderr


def test_which_rm_is_active(ha_cluster):
    shell = Shell(ha_cluster, None, "")
    for turn in range(2):
        if turn:
            ha_cluster.failover("rm")
        active = ha_cluster.active("rm")
        info = shell.json("cluster", "info")["resourcemanager"]
        port = int(ha_cluster.lay.address(active, "client").split(":")[1])
        assert info["port"] == port and info["id"] == active
        assert f"{active} at " in shell.ok("cluster", "info")
