"""What the client library says of a cluster is what the ResourceManager's own pages say."""

import json
import subprocess

import pytest

from master import ME, program, rest, wait_for


def _ask(cluster, *arguments: str, user: str | None = None, code: int = 0) -> dict:
    done = subprocess.run([program("ydl-test-client"), *arguments], env=cluster.env(user),
                          capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == code, f"{arguments}: {done.stdout}{done.stderr}"
    return json.loads(done.stdout)


@pytest.mark.parametrize("each_cluster", ["cluster", "krb_cluster", "ha_cluster", "old_cluster"],
                         indirect=True)
def test_the_cluster_is_seen_as_it_is(each_cluster):
    seen = _ask(each_cluster, "look")
    nodes = {node["nodeHostName"]: node for node in rest(each_cluster, "nodes")["nodes"]["node"]}
    assert sorted(row["host"] for row in seen["nodes"]) == sorted(nodes)
    for row in seen["nodes"]:
        page = nodes[row["host"]]
        assert row["http"] == page["nodeHTTPAddress"]
        assert (row["rack"], row["state"]) == (page["rack"], page["state"])
        assert row["memory"] == page["availMemoryMB"] + page["usedMemoryMB"]
    assert seen["active"] == rest(each_cluster, "metrics")["clusterMetrics"]["activeNodes"]
    info = rest(each_cluster, "scheduler")["scheduler"]["schedulerInfo"]
    assert seen["queue"]["name"] == "root"
    assert (sorted(queue["name"] for queue in seen["queue"]["children"])
            == sorted(queue["queueName"] for queue in info["queues"]["queue"]))
    assert seen["types"][:2] == ["memory-mb", "vcores"]
    apps = rest(each_cluster, "apps")["apps"] or {"app": []}
    assert {app["id"] for app in seen["apps"]} == {app["id"] for app in apps["app"]}


def test_an_application_is_moved_and_killed(cluster):
    app = _ask(cluster, "submit", "default", "exec sleep 600")["id"]
    seen = wait_for(lambda: (_ask(cluster, "app", app)["attempts"] == ["LAUNCHED"]
                             and _ask(cluster, "app", app)), "the attempt launched")
    assert seen["app"]["queue"].endswith("default")
    _ask(cluster, "move", app, "prod")
    assert _ask(cluster, "app", app)["app"]["queue"].endswith("prod")
    _ask(cluster, "kill", app)
    page = rest(cluster, f"apps/{app}")["app"]
    assert page["state"] in ("KILLED", "FAILED")


# What bash, or the NodeManager before it, might take for something else.
NASTY = ["plain", "", "two words", "it's", "'", "\"quoted\"", "$HOME ${HOME} $(id) $$ $1", "`id`",
         "back\\slash \\$ \\\\ \\\" \\n", "ends in \\", "a;b & c | d > /dev/null < x",
         "{{PWD}} {{{ }}} }} {", "<LOG_DIR> <CPS> <ADD_OPENS> <<LOG_DIR>> <",
         "!history! #comment ~ * ? [a] (b)", "line\nfeed\ttab", "\u00e9\u20ac", "-n",
         "'\\''$'\\x41'", "%s %d %%"]


@pytest.mark.parametrize("each_cluster", ["cluster", "old_cluster"], indirect=True)
def test_values_arrive_as_they_are(each_cluster, tmp_path):
    out = tmp_path / "values"
    app = _ask(each_cluster, "values", str(out), *NASTY)["id"]
    wait_for(out.exists, "the container's file")
    got = out.read_bytes().split(b"\0")[:-1]
    assert got == [value.encode() for value in NASTY]
    _ask(each_cluster, "kill", app)


@pytest.mark.parametrize("arguments, text", [
    (("submit", "nosuch", "true"), f"submitted by user {ME} to unknown queue: nosuch"),
    (("submit", "closed", "true"), f"User {ME} does not have permission to submit"),
    (("queue", "nosuch"), "there is no queue 'nosuch'"),
    (("app", "application_1_0001"), "ApplicationNotFoundException: Application with id "
     "'application_1_0001' doesn't exist in RM"),
    (("kill", "application_1_0001"), "ApplicationNotFoundException"),
    (("app", "job_1"), "'job_1' is not an application id"),
])
def test_what_cannot_be_is_said_in_a_sentence(cluster, arguments, text):
    assert text in _ask(cluster, *arguments, code=1)["error"]


def test_a_resourcemanager_that_is_away_is_waited_for(cluster):
    """A submission goes on where the new ResourceManager is."""
    cluster.kill("rm")
    process = subprocess.Popen([program("ydl-test-submit"), "--no-wait", program("ydl-test-am"),
                                "/nonexistent"], env=cluster.env(), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    cluster.start("rm")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    _ask(cluster, "kill", out.strip())


@pytest.mark.parametrize("each_cluster", ["cluster", "krb_cluster", "ha_cluster"], indirect=True)
def test_a_delegation_token_is_got_and_cancelled(each_cluster):
    said = _ask(each_cluster, "token", ME)
    assert len(said["service"].split(",")) == (2 if each_cluster.active("rm") != "rm" else 1)


def test_a_token_cannot_be_got_with_nothing(krb_cluster):
    env = krb_cluster.env() | {"KRB5CCNAME": "FILE:/nonexistent"}
    done = subprocess.run([program("ydl-test-client"), "token"], env=env, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 1 and "error" in json.loads(done.stdout)
