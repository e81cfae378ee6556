"""How jobs on YARN end when something is away: what is missing is told, and nobody waits for ever."""

import os
import signal
from pathlib import Path

from test_yarn_faults import Run, agent_of, parent


def keepers(agent):
    """The agent of a container and the processes above it that are ours."""
    found = [agent]
    while b"ydl-node\0agent" in Path(f"/proc/{parent(found[-1])}/cmdline").read_bytes():
        found.append(parent(found[-1]))
    return found


def kill_for_good(pids):
    """All at once: none of them has the time to put the others right."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def test_output_that_went_with_its_container_is_named(jobs):
    run = Run(jobs, 40, "--restart", "task")
    victim = run.steps("worker:0")[-1][1]
    kill_for_good(keepers(agent_of(victim)))
    run.until(lambda line: line.startswith("worker:0│ step 3") and line.split()[-1] == "1")
    run.end()
    run.succeeded()
    missing = run.status()["missing"]
    assert missing["tasks"] == 1 and len(missing["texts"]) == 1, missing
    assert missing["texts"][0].startswith("output of worker:0 (attempt 0 on '"), missing
    assert "is not known to be saved: " in missing["texts"][0]
    app = jobs.apps()[0]
    assert missing["texts"][0] in jobs.run("status", app, check=0).stdout
    assert missing["texts"][0] in jobs.run("logs", app, check=0).stderr
    assert missing["texts"][0] in jobs.run("logs", app, "worker:0", check=0).stderr
    assert missing["texts"][0] not in jobs.run("logs", app, "worker:1", check=0).stderr
    told = [e for e in run.events() if e["event"] == "note" and e.get("missing")]
    assert [e["text"] for e in told] == missing["texts"]
    assert run.events()[-1]["event"] == "end"


def spoil_disks(cluster, node):
    """A file where its local directory was: the node is unhealthy. What runs there does not notice."""
    path = Path(cluster.lay.node_dirs(node)[0])
    kept = path.with_name("kept")
    path.rename(kept)
    path.touch()
    return path, kept


def test_a_master_whose_node_turns_unhealthy_is_replaced(own_cluster, jobs_on):
    """Its NodeManager ends it by SIGTERM, as when a person kills the application: that is none."""
    cluster = own_cluster(nodes=2, settings=[
        "yarn:yarn.nodemanager.disk-health-checker.interval-ms=1000"])
    run = Run(jobs_on(cluster), 100, "--restart", "task")
    jobs, first = run.jobs, run.pid("ydl-node master")
    home = jobs.node_of(first)
    path, kept = spoil_disks(cluster, home)
    try:
        jobs.wait_for(lambda: set(jobs.processes("ydl-node master")) - {first}, "another master", 120)
    finally:
        path.unlink()
        kept.rename(path)
    run.end()
    run.succeeded()
    events = run.events()
    assert [e["attempt"] for e in events if e["event"] == "master"] == [1, 2]
    assert not any(e.get("state") == "KILLED" for e in events)
