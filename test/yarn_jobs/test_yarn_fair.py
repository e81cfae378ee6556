"""The fair scheduler: what it says of its queues is less, and elsewhere."""

import json

import pytest

pytestmark = pytest.mark.full
_FAIR = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
_QUEUES = """<?xml version="1.0"?>
<allocations>
  <queue name="default"><maxResources>1024 mb,4 vcores</maxResources></queue>
  <queue name="wide"/>
</allocations>
"""


def test_its_queues_are_seen_as_they_are(jobs_on, own_cluster, tmp_path):
    (tmp_path / "queues.xml").write_text(_QUEUES)
    cluster = own_cluster(nodes=2, datanodes=1, settings=[
        f"yarn:yarn.resourcemanager.scheduler.class={_FAIR}",
        f"yarn:yarn.scheduler.fair.allocation.file={tmp_path / 'queues.xml'}"])
    jobs = jobs_on(cluster)
    report = json.loads(jobs.run("doctor", "--json", check=0).stdout)
    assert {row["level"] for row in report["checks"]} == {"ok"}, report
    children = json.loads(jobs.run("cluster", "queues", "--json", check=0).stdout)["queue"]["children"]
    assert [row["path"] for row in children] == ["root.default", "root.wide"]
    gang = ("--on", "yarn", "-n", 4, "--mem", "512m")
    refused = jobs.run("plan", *gang, "--", "true", check=2)
    assert "the queue 'default'" in refused.stderr, refused.stderr
    assert "there is room now" in jobs.run("plan", *gang, "--queue", "wide", "--", "true",
                                           check=0).stdout
    done = jobs.run("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--", "echo", "here", check=0)
    assert sorted(done.stdout.splitlines()) == ["worker:0│ here", "worker:1│ here"]
