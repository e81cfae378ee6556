"""A master written with the library alone does on a real cluster what a master does.

It asks for six containers at two priorities on three NodeManagers, starts a shell command in each,
sees all six exit codes, updates the blacklist, lives through the loss of the ResourceManager, and
finishes; the ResourceManager's own pages say so.
"""

import os
import signal

import pytest

from master import CODES, FINAL_URL, ME, Master, program, rest, wait_for


def _hosts(cluster) -> list[str]:
    """Those that whoever asks for no label can have."""
    return sorted(node["nodeHostName"] for node in rest(cluster, "nodes")["nodes"]["node"]
                  if not node.get("nodeLabels"))


def _check_grants(master: Master, hosts: list[str]) -> None:
    """Two on each node, at the priorities that were asked for."""
    grants = {int(row["task"]): row for row in master.fields("granted")}
    assert sorted(grants) == list(range(6))
    assert [grants[i]["priority"] for i in range(6)] == ["1", "1", "1", "2", "2", "2"]
    assert sorted(grants[i]["host"] for i in range(3)) == hosts
    assert sorted(grants[i]["host"] for i in range(3, 6)) == hosts
    for i in range(6):  # and the container itself says that it ran there
        container, node = (master.dir / f"task-{i}").read_text().split()
        assert (container, node) == (grants[i]["container"], grants[i]["host"])


def _check_blacklist(master: Master, hosts: list[str]) -> None:
    """The RM's page names the node, and the next container is elsewhere."""
    wait_for(lambda: "extra runs" in master.log, f"the extra container; {master.log}")
    avoided = master.attempt()["blacklistedNodes"]
    assert avoided in hosts
    extra = next(row for row in master.fields("granted") if row["task"] == "6")
    assert extra["host"] != avoided


def _check_end(master: Master, user: str = ME, restarted: bool = False) -> None:
    said = master.end().splitlines()[-1]
    diagnostics = ("Attempt recovered after RM restart" if restarted else "") + CODES
    assert said == f"FINISHED SUCCEEDED user={user} url={FINAL_URL} diagnostics={diagnostics}"
    wait_for(lambda: master.page()["state"] == "FINISHED", "the RM's own FINISHED")
    page = master.page()
    assert (page["finalStatus"], page["diagnostics"]) == ("SUCCEEDED", diagnostics)
    assert (page["user"], page["applicationType"]) == (user, "ydl-test")
    assert page["applicationTags"] == "ydl-test"
    assert page["trackingUrl"].endswith(f"/proxy/{master.app}/")
    attempt = master.attempt()
    assert attempt["originalTrackingUrl"] == FINAL_URL
    assert (attempt["host"], attempt["diagnosticsInfo"]) == ("test-am", diagnostics)
    codes = {row["task"]: row["code"] for row in master.fields("completed")}
    assert codes == {"0": "0", "1": "1", "2": "2", "3": "3", "4": "4", "5": "5", "6": "-105"}
    assert len(master.lines("completed")) == 7  # each told once


@pytest.mark.full
@pytest.mark.parametrize("each_cluster", ["cluster", "krb_cluster"], indirect=True)
def test_survives_a_restart_of_the_resourcemanager(each_cluster, tmp_path):
    hosts = _hosts(each_cluster)
    with Master(each_cluster, tmp_path) as master:
        master.wait_for_tasks()
        _check_grants(master, hosts)
        each_cluster.kill("rm")
        each_cluster.start("rm")
        master.wait_for_resync()
        master.touch("go")
        _check_blacklist(master, hosts)
        master.touch("stop")
        _check_end(master, restarted=True)


@pytest.mark.parametrize("each_cluster", [
    "krb_cluster", pytest.param("old_cluster", marks=pytest.mark.full)], indirect=True)
def test_runs_for_another_user(each_cluster, tmp_path):
    hosts = _hosts(each_cluster)
    with Master(each_cluster, tmp_path, "--as", "alice") as master:
        master.wait_for_tasks()
        _check_grants(master, hosts)
        master.touch("go")
        _check_blacklist(master, hosts)
        master.touch("stop")
        _check_end(master, user="alice")


@pytest.mark.full
def test_survives_the_death_of_the_active_resourcemanager(ha_cluster, tmp_path):
    hosts = _hosts(ha_cluster)
    with Master(ha_cluster, tmp_path) as master:
        master.wait_for_tasks()
        _check_grants(master, hosts)
        ha_cluster.kill(ha_cluster.active("rm"))
        master.wait_for_resync()
        master.touch("go")
        _check_blacklist(master, hosts)
        master.touch("stop")
        _check_end(master, restarted=True)


def test_a_second_attempt_goes_on_with_the_containers_of_the_first(cluster, tmp_path):
    hosts = _hosts(cluster)
    with Master(cluster, tmp_path, "--keep") as master:
        master.wait_for_tasks()
        _check_grants(master, hosts)
        os.kill(int(master.fields("master")[0]["pid"]), signal.SIGKILL)
        wait_for(lambda: len(master.lines("previous")) == 6, f"the second attempt; {master.log}")
        master.touch("go")
        wait_for(lambda: "extra runs" in master.log, f"the extra one; {master.log}")
        master.touch("stop")
        assert master.end().splitlines()[-1].startswith("FINISHED SUCCEEDED")
        codes = {row["task"]: row["code"] for row in master.fields("completed")}
        assert [codes[str(i)] for i in range(6)] == [str(i) for i in range(6)]
        assert len(master.lines("granted")) == 7


def test_a_killed_application_ends_its_master(cluster, tmp_path):
    with Master(cluster, tmp_path, "--no-wait") as master:
        master.wait_for_tasks()
        cluster.run([program("ydl-test-client"), "kill", master.app])
        wait_for(lambda: master.page()["state"] == "KILLED", "the RM's own KILLED")
        assert master.page()["finalStatus"] == "KILLED"

