"""The agent and a real HDFS: a new master's file, output and results, quotas, a NameNode away."""

import json
import xml.etree.ElementTree as ET

from agent_support import alive, resident, wait_until
from container_support import JOB

USER = "alice"


def settings(cluster) -> str:
    """The cluster's configuration in one document, as the submitter would ship it."""
    root = ET.Element("configuration")
    for name in ("core-site.xml", "hdfs-site.xml"):
        root.extend(ET.parse(cluster.conf_dir / name).getroot())
    return ET.tostring(root, encoding="unicode")


def home(cluster, name: str) -> str:
    """An empty directory of the user's, as a URI."""
    base = f"/user/{USER}/agent-{name}"
    cluster.fs("-rm", "-r", "-f", "-skipTrash", base, user=USER)
    cluster.fs("-mkdir", "-p", f"{base}/jobs/{JOB}", user=USER)
    default = ET.parse(cluster.conf_dir / "core-site.xml").getroot()
    authority = next(p.findtext("value") for p in default if p.findtext("name") == "fs.defaultFS")
    return authority.rstrip("/") + base


def bench_on(container, cluster, name: str, **options):
    base = home(cluster, name)
    return container(conf=settings(cluster), base=base, user=USER, tokens={}, **options), base


def put(cluster, uri: str, text: str):
    cluster.fs("-put", "-f", "-", uri, user=USER, input=text)


def listing(cluster, uri: str) -> dict[str, int]:
    """Sizes by path below it."""
    lines = cluster.fs("-ls", "-R", uri, user=USER, check=False).stdout.splitlines()
    path = uri.split("/", 3)[3]
    return {line.split()[7].split(path, 1)[1].lstrip("/"): int(line.split()[4])
            for line in lines if line.startswith("-")}


def test_a_master_is_found_in_hdfs(container, cluster):
    b, base = bench_on(container, cluster, "redial", lease=300000)
    pid = b.launch(0, "sleep 600")
    b.driver.kill()
    b.driver.wait()
    b.new_master()
    put(cluster, f"{base}/jobs/{JOB}/master.json", json.dumps({"attempt": 2, "address": b.address}))
    hello = b.next_hello()
    assert hello["again"] and hello["tasks"][0]["pid"] == pid and alive(pid)
    wait_until(lambda: resident(b.pid) <= 4096)  # what it needed to find it is given back
    b.leave()


def test_output_and_results_go_to_hdfs(container, cluster):
    b, base = bench_on(container, cluster, "export")
    b.facts |= {"export_dir": f"{base}/logs", "results": [{"from": "", "to": f"{base}/out"}]}
    b.agents[0].kill()
    b.agents[0].wait()
    b.new_master()
    b.new_agent()
    for i in range(3):
        b.launch(i, "echo out; echo err >&2; mkdir $YDL_OUT/d; "
                    "head -c 3000000 /dev/zero > $YDL_OUT/d/big; echo x > $YDL_OUT/x")
        b.exited(i)
    saved = b.leave()
    assert not any(s["fail"] for s in saved), saved
    got = listing(cluster, f"{base}/out")
    parts = {name.split("/")[0] for name in got if name.startswith("worker-")}
    assert len(got) == 6 and len(parts) == 2 and got["d/big"] == 3_000_000 and got["x"] == 2
    logs = listing(cluster, f"{base}/logs")
    assert logs == {f"worker-{i}.{s}": 4 for i in range(3) for s in ("out", "err")}


def test_a_quota_is_told_and_nothing_half_done_is_left(container, cluster):
    b, base = bench_on(container, cluster, "quota")
    path = "/" + base.split("/", 3)[3]
    cluster.fs("-mkdir", f"{path}/small", user=USER)
    cluster.java("org.apache.hadoop.hdfs.tools.DFSAdmin", "-setQuota", "4", f"{path}/small")
    b.facts |= {"results": [{"from": "", "to": f"{base}/small/out"}]}
    b.agents[0].kill()
    b.agents[0].wait()
    b.new_master()
    b.new_agent()
    b.launch(0, "for i in $(seq 20); do echo $i > $YDL_OUT/$i; done")
    b.exited(0)
    saved = b.leave()
    assert "quota" in saved[0]["fail"].lower(), saved
    assert listing(cluster, f"{base}/small") == {}


def export_bench(container, cluster, name: str):
    """An agent whose output goes to HDFS, with output of three tasks."""
    b, base = bench_on(container, cluster, name)
    b.facts |= {"export_dir": f"{base}/logs"}
    b.agents[0].kill()
    b.agents[0].wait()
    b.new_master()
    b.new_agent()
    for i in range(3):
        b.launch(i, "echo out; echo err >&2")
        b.exited(i)
    return b, base


def ends_well(b, cluster, base: str):
    saved = b.saved(120)
    assert not any(s["fail"] for s in saved), saved
    assert b.agents[-1].wait(20) == 0
    assert listing(cluster, f"{base}/logs") == {f"worker-{i}.{s}": 4 for i in range(3)
                                                for s in ("out", "err")}


def test_output_waits_for_datanodes_that_are_away(container, cluster):
    b, base = export_bench(container, cluster, "away")
    for name in ("dn1", "dn2"):
        cluster.kill(name)
    b.tell(shutdown={"grace_ms": 0})
    wait_until(lambda: "trying again" in (b.logs / "agent.log").read_text(), 60)
    for name in ("dn1", "dn2"):
        cluster.start(name)
    ends_well(b, cluster, base)


def test_output_waits_for_a_namenode_in_safe_mode(container, cluster):
    admin = "org.apache.hadoop.hdfs.tools.DFSAdmin"
    b, base = export_bench(container, cluster, "safe")
    cluster.java(admin, "-safemode", "enter")
    try:
        b.tell(shutdown={"grace_ms": 0})
        wait_until(lambda: "trying again" in (b.logs / "agent.log").read_text(), 60)
    finally:
        cluster.java(admin, "-safemode", "leave")
    ends_well(b, cluster, base)
