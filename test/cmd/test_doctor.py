"""`ydl doctor` on clusters that are well, and on some that are not."""

import json
import os
import re
import subprocess

import pytest
from cmd_support import program, ydl

CHECKS = ["configuration", "identity", "ResourceManager", "nodes", "queue", "NameNode",
          "HDFS space", "HDFS files", "clocks", "versions"]


def examine(env, *words) -> tuple[int, dict[str, list[dict]]]:
    """Exit code, and the findings of each check."""
    done = ydl(env, "doctor", "--json", *words, timeout=120)
    report = json.loads(done.stdout)
    assert report["exit"] == done.returncode and report["healthy"] == (done.returncode == 0)
    found: dict[str, list[dict]] = {}
    for row in report["checks"]:
        found.setdefault(row["check"], []).append(row)
        assert row["level"] in ("ok", "warning", "failed") and row["text"]
        assert row["advice"] or row["level"] == "ok", row
    return done.returncode, found


def levels(found) -> dict[str, set[str]]:
    return {check: {row["level"] for row in rows} for check, rows in found.items()}


def failure(found, check: str) -> dict:
    row, = (row for row in found[check] if row["level"] == "failed")
    return row


def test_a_healthy_cluster(cluster):
    code, found = examine(cluster.env())
    assert code == 0 and list(found) == CHECKS
    assert all(seen == {"ok"} for seen in levels(found).values()), found
    assert str(cluster.conf_dir) in found["configuration"][0]["text"]
    assert len(found["clocks"]) == 2 and len(found["versions"]) == 3
    left = json.loads(ydl(cluster.env(), "fs", "ls", "--json", ".").stdout)["entries"]
    assert not [e for e in left if "doctor" in e["path"]]


def test_its_text(cluster):
    done = ydl(cluster.env(), "doctor")
    assert done.returncode == 0 and "\033" not in done.stdout
    assert all(line.startswith("ok ") for line in done.stdout.splitlines())
    command = ["script", "-qec", f"{program()} doctor", "/dev/null"]
    on_terminal = cluster.env() | {"TERM": "xterm"}
    on_terminal.pop("NO_COLOR", None)

    def shown(env):
        return subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=True).stdout

    assert "\033[32mok" in shown(on_terminal)
    assert "\033" not in shown(on_terminal | {"NO_COLOR": "1"})


def test_no_configuration(tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HADOOP_", "YARN_"))}
    code, found = examine(env)
    assert code == 2 and list(found) == ["configuration"]
    code, found = examine(env, "--conf", str(tmp_path))
    assert code == 2 and str(tmp_path) in failure(found, "configuration")["text"]


def test_a_queue_that_is_not_there(cluster):
    code, found = examine(cluster.env(), "--queue", "prodd")
    row = failure(found, "queue")
    assert code == 1 and "'prodd'" in row["text"] and "did you mean 'prod'?" in row["advice"]


def test_a_queue_that_is_not_ours(cluster):
    code, found = examine(cluster.env("bob"), "--queue", "closed")
    assert code == 77 and "bob may not submit" in failure(found, "queue")["text"]
    assert examine(cluster.env("carol"), "--queue", "closed")[0] == 0


def test_no_home_directory(cluster):
    code, found = examine(cluster.env("dave"))
    row = failure(found, "HDFS files")
    assert code == 1 and "/user/dave" in row["text"] and "administrator" in row["advice"]


def test_no_resourcemanager(cluster):
    cluster.stop("rm")
    code, found = examine(cluster.env())
    assert code == 69 and failure(found, "ResourceManager")
    assert "nodes" not in found and "queue" not in found
    assert levels(found)["HDFS files"] == {"ok"}


def test_no_namenode(cluster):
    cluster.stop("nn")
    code, found = examine(cluster.env())
    assert code == 69 and failure(found, "NameNode") and "HDFS files" not in found
    assert levels(found)["queue"] == {"ok"}


def test_no_datanode(cluster):
    for node in cluster.lay.datanodes:
        cluster.kill(node)
    code, found = examine(cluster.env())
    assert code != 0 and "write a file" in failure(found, "HDFS files")["text"]


def test_safe_mode(cluster):
    admin = "org.apache.hadoop.hdfs.tools.DFSAdmin"
    cluster.java(admin, "-safemode", "enter")
    try:
        code, found = examine(cluster.env())
        assert code == 1 and "safe mode" in failure(found, "HDFS space")["text"]
        assert failure(found, "HDFS files")
    finally:
        cluster.java(admin, "-safemode", "leave")


def test_kerberos(krb_cluster, tmp_path):
    code, found = examine(krb_cluster.env("alice"))
    assert code == 0 and list(found) == CHECKS
    assert re.match(r"principal alice@\S+, ticket good for 2[34] h", found["identity"][0]["text"])
    assert all(seen == {"ok"} for seen in levels(found).values()), found
    code, found = examine(krb_cluster.env("alice") | {"KRB5CCNAME": f"FILE:{tmp_path}/none"})
    assert code == 77 and "kinit" in failure(found, "identity")["advice"]


def test_two_of_each(ha_cluster):
    code, found = examine(ha_cluster.env())
    assert code == 0
    for check, what in (("ResourceManager", "rm"), ("NameNode", "nn")):
        active = ha_cluster.active(what)
        texts = sorted(row["text"] for row in found[check])
        assert len(texts) == 2
        assert any(t.startswith(f"{active} at ") and "is active" in t for t in texts), texts
        assert any("is on standby" in t for t in texts), texts
    other = next(nn for nn in ha_cluster.lay.namenodes if nn != ha_cluster.active("nn"))
    ha_cluster.kill(other)
    code, found = examine(ha_cluster.env())
    assert code == 0 and levels(found)["NameNode"] == {"ok", "warning"}


@pytest.mark.parametrize("each_cluster", ["old_cluster"], indirect=True)
def test_an_older_release(each_cluster):
    code, found = examine(each_cluster.env())
    assert code == 0
    texts = [row["text"] for row in found["versions"]]
    assert "ResourceManager: Hadoop 3.3.6" in texts and "NameNode: Hadoop older than 3.4" in texts
