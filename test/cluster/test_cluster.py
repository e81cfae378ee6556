"""Claims about the test bed itself."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ydl_cluster import dockerd, places, rest, spec as specs, startup, web
from ydl_cluster.cluster import Cluster
from ydl_cluster.guide import blocks_of
from ydl_cluster.layout import Layout
from ydl_cluster.patience import Limit
from ydl_cluster.places import ClusterError

HERE = Path(__file__).resolve().parent
HADOOP = str(HERE / "hadoop")


def within(seconds, come_true, what):
    """Waits until `come_true()`, or fails saying what did not."""
    limit = Limit(seconds)
    while not come_true():
        assert not limit.over(), f"not within {seconds} s: {what}"
        time.sleep(0.1)


def processes_with(text):
    """The processes that have `text` in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if text.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@contextlib.contextmanager
def small_cluster(name, **fields):
    """A cluster of one test's own: one node of each kind unless it says otherwise."""
    made = Cluster.up(name=f"{name}-{os.getpid()}", **{"nodes": 1, "datanodes": 1} | fields)
    try:
        yield made
    finally:
        made.down()


def assert_files_travel(made, user, tmp_path, size=3_000_000):
    """What FsShell puts is what FsShell gets."""
    there, back = tmp_path / "there", tmp_path / "back"
    there.write_bytes(os.urandom(size))
    made.fs("-put", str(there), f"/user/{user}/f", user=user)
    made.fs("-get", f"/user/{user}/f", str(back), user=user)
    made.fs("-rm", "-skipTrash", f"/user/{user}/f", user=user)
    assert there.read_bytes() == back.read_bytes()


def test_every_daemon_runs(cluster):
    report = cluster.status()
    assert report["state"] == "up"
    assert set(report["daemons"]) == {"nn", "rm", "dn1", "dn2", "nm1", "nm2", "nm3"}
    assert {row["state"] for row in report["daemons"].values()} == {"running"}


@pytest.mark.full
def test_files_travel(cluster, tmp_path):
    assert_files_travel(cluster, "alice", tmp_path)


def test_every_node_has_an_address_of_its_own(cluster):
    assert set(rest.nodes(cluster.rm_http, specs.me())) == {f"127.0.0.{i}" for i in (11, 12, 13)}
    def hosts():
        live = web.bean(cluster.lay, "nn", "Hadoop:service=NameNode,name=NameNodeInfo").get("LiveNodes", "{}")
        return {row["xferaddr"].split(":")[0] for row in json.loads(live).values()}
    within(60, lambda: hosts() == {"127.0.0.41", "127.0.0.42"}, "the DataNodes")


def test_a_home_directory_is_closed_to_others(cluster):
    done = cluster.fs("-touchz", "/user/bob/x", user="alice", check=False)
    assert done.returncode != 0 and "Permission denied: user=alice" in done.stderr


def test_a_closed_queue_is_closed_to_others(cluster):
    with pytest.raises(rest.Refused, match="alice.*closed"):
        rest.submit(cluster.rm_http, "alice", "true", queue="closed")
    assert rest.submit(cluster.rm_http, "carol", "true", queue="closed")


@pytest.mark.full
@pytest.mark.parametrize("words", [("-ls", "/nosuch"), ("-put", "-", "/user/alice/said")], ids=" ".join)
def test_a_tool_that_shares_a_jvm_does_what_it_does_alone(cluster, words):
    ends = []
    for env in ({}, {"env": {"LANG": "C.UTF-8"}}):  # what a call alone has; shared, it has the server's
        done = cluster.fs(*words, user="alice", check=False, input="hello\n", **env)
        there = cluster.fs("-cat", words[-1], check=False).stdout
        cluster.fs("-rm", "-f", "-skipTrash", words[-1], user="alice")
        ends.append((done.returncode, done.stdout, done.stderr, there))
    assert ends[0] == ends[1]
    assert ends[0][0] == int(words[1] == "/nosuch")


@pytest.mark.full
@pytest.mark.parametrize("user, allowed", [(specs.me(), True), ("bob", False)])
def test_only_the_superuser_acts_for_others(cluster, user, allowed):
    done = cluster.java("org.apache.hadoop.fs.FsShell", "-ls", "/", user=user,
                        env={"HADOOP_PROXY_USER": "alice"}, check=False)
    assert (done.returncode == 0) == allowed
    assert allowed or "bob is not allowed to impersonate alice" in done.stderr


@pytest.mark.full
def test_a_killed_nodemanager_is_lost_and_comes_back(cluster):
    def state():
        return rest.nodes(cluster.rm_http, specs.me())["127.0.0.12"]["state"]

    cluster.kill("nm2")
    within(180, lambda: state() == "LOST", "nm2 is lost")
    cluster.restart("nm2")
    within(60, lambda: state() == "RUNNING", "nm2 is back")


@pytest.mark.full
def test_a_killed_datanode_is_noticed(cluster):
    def live():
        return web.bean(cluster.lay, "nn", "Hadoop:service=NameNode,name=FSNamesystemState").get(
            "NumLiveDataNodes")

    cluster.kill("dn2")
    within(120, lambda: live() == 1, "dn2 is dead")


@pytest.mark.full
def test_nodes_find_a_restarted_resourcemanager(cluster):
    cluster.kill("rm")
    cluster.start("rm")
    within(60, lambda: len(rest.nodes(cluster.rm_http, specs.me())) == 3, "three nodes are back")


@pytest.mark.full
def test_a_paused_daemon_is_still_there(cluster):
    cluster.pause("nm1")
    assert cluster.status()["daemons"]["nm1"]["state"] == "paused"
    cluster.resume("nm1")
    assert cluster.status()["daemons"]["nm1"]["state"] == "running"


@pytest.mark.parametrize("nodes, is_ready", [
    ([(9, 0), (9, 0)], True), ([(9, 0)], False), ([(9, 0), (0, 0)], False), ([(9, 0), (9, 25)], False)])
def test_hdfs_is_ready_when_every_datanode_can_take_a_block(monkeypatch, nodes, is_ready):
    """A NameNode that was just started counts DataNodes of whose disks it knows nothing."""
    told = {f"dn{i}": {"capacity": size, "lastContact": ago} for i, (size, ago) in enumerate(nodes)}
    monkeypatch.setattr(web, "bean", lambda *_: {"State": "active", "Safemode": "",
                                                 "NumLiveDataNodes": len(nodes),
                                                 "LiveNodes": json.dumps(told)})
    spec = specs.Spec(name="imagined", datanodes=2)
    assert startup.hdfs_ready(Layout(spec, 61000, Path("/"))) == is_ready


def test_an_unknown_daemon_is_refused(cluster):
    with pytest.raises(ClusterError, match="no daemon 'nm9'"):
        cluster.restart("nm9")


@pytest.mark.full
def test_the_command_line_tells_where_the_cluster_is(cluster):
    done = subprocess.run([HADOOP, "env", "--name", cluster.name, "--user", "alice"], check=True,
                          capture_output=True, text=True)
    assert f"export HADOOP_CONF_DIR={cluster.conf_dir}\n" in done.stdout
    assert "export HADOOP_USER_NAME=alice\n" in done.stdout


@pytest.mark.full
def test_files_travel_under_kerberos_privacy(krb_cluster, tmp_path):
    assert_files_travel(krb_cluster, "alice", tmp_path)


@pytest.mark.full
def test_no_ticket_no_entry(krb_cluster):
    done = krb_cluster.fs("-ls", "/", env={"KRB5CCNAME": "FILE:/nonexistent"}, check=False)
    assert done.returncode != 0 and "authenticate via:[TOKEN, KERBEROS]" in done.stderr


@pytest.mark.full
def test_the_other_resourcemanager_takes_over(ha_cluster):
    before = ha_cluster.active("rm")
    ha_cluster.kill(before)
    within(120, lambda: ha_cluster.active("rm") not in (None, before), "the other one is active")


@pytest.mark.full
def test_the_other_namenode_takes_over(ha_cluster, tmp_path):
    before = ha_cluster.active("nn")
    ha_cluster.kill(before)
    after = ha_cluster.failover("nn")
    assert after != before and ha_cluster.active("nn") == after
    assert_files_travel(ha_cluster, "bob", tmp_path)


@pytest.mark.full
def test_masters_change_places_in_peace(ha_cluster):
    for what in ("nn", "rm"):
        before = ha_cluster.active(what)
        assert ha_cluster.failover(what) not in (None, before)
        assert ha_cluster.status()["daemons"][before]["state"] == "running"


@pytest.mark.full
def test_files_travel_on_the_old_release(old_cluster, tmp_path):
    assert_files_travel(old_cluster, "alice", tmp_path)


@pytest.mark.full
def test_nothing_outlives_its_owner(tmp_path):
    """The owner is killed while a container runs that has a session of its own."""
    name, marker = f"owned-{os.getpid()}", f"sleep 7{os.getpid()}"
    owner = subprocess.Popen(["sleep", "600"])
    try:
        subprocess.run([HADOOP, "up", "--name", name, "--nodes", "1", "--datanodes", "1",
                        "--owner", str(owner.pid)], check=True, stdout=subprocess.DEVNULL)
        report = json.loads(subprocess.run([HADOOP, "status", "--name", name, "--json"],
                                           check=True, capture_output=True).stdout)
        rest.submit(report["rm_http"], "alice", marker)
        within(60, lambda: processes_with(marker.replace(" ", "\0")), "the container runs")
    finally:
        owner.kill()
        owner.wait()
    within(10, lambda: not processes_with(report["run_dir"]), "all daemons are gone")
    within(20, lambda: not processes_with(marker.replace(" ", "\0")), "the container is gone")
    assert not os.path.exists(report["run_dir"])


@pytest.mark.full
def test_a_killed_keeper_leaves_nothing_running():
    with small_cluster("keeper") as made:
        marker = f"sleep 8{os.getpid()}"
        rest.submit(made.rm_http, "alice", marker)
        within(60, lambda: processes_with(marker.replace(" ", "\0")), "the container runs")
        os.kill(made.status()["keeper"], signal.SIGKILL)
        within(60, lambda: not processes_with(str(made.run_dir)), "all daemons are gone")
        within(20, lambda: not processes_with(marker.replace(" ", "\0")), "the container is gone")


@pytest.mark.full
def test_a_container_outlives_its_nodemanager():
    patience = "yarn:yarn.am.liveness-monitor.expiry-interval-ms=600000"
    with small_cluster("recovery", settings=[patience]) as made:
        marker = f"sleep 9{os.getpid()}".replace(" ", "\0")
        rest.submit(made.rm_http, "alice", marker.replace("\0", " "))
        within(60, lambda: processes_with(marker), "the container runs")
        before = processes_with(marker)
        made.kill("nm1")
        made.start("nm1")
        time.sleep(3)
        assert processes_with(marker) == before


@pytest.mark.full
def test_two_clusters_stand_side_by_side(tmp_path):
    with small_cluster("one") as one, small_cluster("two") as two:
        assert one.rm_http != two.rm_http
        one.fs("-touchz", "/tmp/only-in-one")
        assert two.fs("-test", "-e", "/tmp/only-in-one", check=False).returncode != 0
        assert_files_travel(two, "alice", tmp_path)


@pytest.mark.full
def test_a_name_is_taken_once_at_a_time():
    with small_cluster("taken") as made:
        with pytest.raises(ClusterError, match="is up already"):
            Cluster.up(name=made.name)
        made.down()
        again = Cluster.up(name=made.name, nodes=1, datanodes=1)
        assert again.status()["state"] == "up"


@pytest.mark.full
@pytest.mark.parametrize("fields", [
    {"protection": "authentication"},
    {"protection": "integrity"},
    {"protection": "privacy", "data_protection": "none"},
    {"protection": "privacy", "data_protection": "encrypt"},
    {"protection": "privacy", "https": True},
    {"protection": "authentication", "data_protection": "authentication", "https": True},
    {"protection": "privacy", "ha": True},
    {"protection": "privacy", "version": "3.3.6"},
], ids=lambda fields: "-".join(f"{value}" for value in fields.values()))
def test_files_travel_under_kerberos(fields, tmp_path):
    with small_cluster("krb", kerberos=True, **fields) as made:
        assert_files_travel(made, "alice", tmp_path)


@pytest.mark.full
def test_files_travel_encrypted_without_kerberos(tmp_path):
    with small_cluster("encrypt", data_protection="encrypt") as made:
        assert_files_travel(made, "alice", tmp_path)


@pytest.mark.full
def test_labels_and_gpus_are_there():
    with small_cluster("rich", nodes=2, labels=True, gpus=True) as made:
        nodes = rest.nodes(made.rm_http, specs.me())
        assert nodes["127.0.0.11"]["nodeLabels"] == ["gpu"]
        assert nodes["127.0.0.12"].get("nodeLabels", []) in ([], [""])
        gpus = [row["value"] for row in nodes["127.0.0.12"]["totalResource"][
            "resourceInformations"]["resourceInformation"] if row["name"] == "yarn.io/gpu"]
        assert gpus == [2]


@pytest.mark.full
@pytest.mark.skipif(dockerd.missing() != "", reason=dockerd.missing())
@pytest.mark.parametrize("env", [{}, {
    "YARN_CONTAINER_RUNTIME_TYPE": "docker",
    "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": dockerd.IMAGE}], ids=["plain", "image"])
def test_a_container_runs_as_its_user_and_leaves_nothing(env):
    def sleepers():
        return [pid for pid, line in made.processes(app).items() if line.startswith("sleep")]

    with small_cluster("users", lce=True, docker=True) as made:
        app = rest.submit(made.rm_http, "alice", "exec sleep 300", env=env)
        within(30, sleepers, "the container runs")
        assert os.stat(f"/proc/{sleepers()[0]}").st_uid not in (0, os.getuid())
        assert ("YARN_CONTAINER_RUNTIME_TYPE" in env) == bool(made.docker("ps", "-q").stdout)
        made.java("org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application", "-kill", app)
        assert made.leftovers(app, logs=True) == []
    within(10, lambda: not processes_with(str(made.run_dir)), "all daemons are gone")
    assert not made.run_dir.exists()


@pytest.mark.full
def test_nodes_come_and_disks_fill(needs_root):
    with small_cluster("nodes", spare=1, disks=["nm1:64"], node_mb=512,
                       on=["nm2:yarn.nodemanager.resource.memory-mb=256"]) as made:
        assert made.add_node() == "nm2"
        assert {name: row["availMemoryMB"] for name, row in made.nodes().items()} == {
            "nm1": 512, "nm2": 256}
        made.fill_disk("nm1")
        made.wait_for_node("nm1", "UNHEALTHY")
        made.heal()
        made.wait_for_node("nm1", "RUNNING")
        made.wait_for_node("nm2", "SHUTDOWN")


@pytest.mark.full
def test_a_cluster_that_cannot_start_says_why():
    name = f"bad-{os.getpid()}"
    with pytest.raises(ClusterError, match="died while waiting") as failure:
        Cluster.up(name=name, settings=["hdfs:dfs.namenode.name.dir=file:///proc/none"])
    log = places.run_dir(name) / "logs" / "nn.log"
    assert str(log) in str(failure.value) and log.exists()
    startup.down(places.run_dir(name), keep_logs=False)


def test_what_is_there_is_not_fetched_again(cluster, tmp_path):
    for program in ("mvn", "java"):
        (tmp_path / program).write_text(f"#!/bin/sh\ntouch {tmp_path}/used\nexit 1\n")
        (tmp_path / program).chmod(0o755)
    subprocess.run([sys.executable, HADOOP, "fetch", "--version", cluster.lay.spec.version],
                   check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}",
                                     "JAVA_HOME": str(places.java_home())})
    assert not (tmp_path / "used").exists()


@pytest.mark.full
def test_the_commands_of_the_pages_start_a_cluster_and_stop_it(tmp_path):
    """What README.md types does it all; the guide leaves out what other lines of its page say."""
    whole, = blocks_of("README.md", __file__)
    begin, = blocks_of("doc/guide/on-yarn.md", __file__)
    lines = whole.splitlines()
    assert set(begin.splitlines()) < set(lines)
    env = os.environ | {"YDL_CLUSTER_DIR": str(tmp_path / "clusters"), "XDG_STATE_HOME": str(tmp_path / "state")}
    try:
        subprocess.run(["bash", "-exc", whole], cwd=HERE.parents[1], env=env, check=True, timeout=600)
    finally:
        subprocess.run([HADOOP, "down"], env=env, check=False, capture_output=True)
    assert not processes_with(str(tmp_path / "clusters"))
