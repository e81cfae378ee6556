"""How jobs on YARN end when something is away: what is missing is told, and nobody waits for ever."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from test_yarn_faults import Run, agent_of, parent
from ydl_cluster import spec as specs

LOGS = f"/user/{specs.me()}/.ydl/logs"


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


def test_output_of_a_task_that_moved_is_shown_in_its_order(jobs):
    """Its container ends, its agent has the time to save: the log has what it wrote here and there."""
    run = Run(jobs, 40, "--restart", "task")
    victim = run.steps("worker:0")[-1][1]
    os.kill(keepers(agent_of(victim))[-1], signal.SIGKILL)
    run.until(lambda line: line.startswith("worker:0│ step 3") and line.split()[-1] == "1")
    app = jobs.apps()[0]
    jobs.wait_for(lambda: "worker-0.out" in jobs.cluster.hdfs_names(f"{LOGS}/{app}"), "what it saved")
    now = jobs.run("logs", "--no-prefix", "--stdout", app, "worker:0", check=0).stdout.splitlines()
    few = [line.split()[-1] for line in now].count("1") + 2
    followers = [jobs.start("logs", "-f", "--no-prefix", "--stdout", *tail, app, "worker:0")
                 for tail in ((), ("--tail", few))]
    begun = [process.stdout.readline() for process in followers]
    run.end()
    run.succeeded()
    assert run.status()["missing"] is None
    lines = jobs.run("logs", "--no-prefix", "--stdout", app, "worker:0", check=0).stdout.splitlines()
    attempts = [line.split()[-1] for line in lines if line.startswith("step ")]
    assert attempts == sorted(attempts) and set(attempts) == {"0", "1"}, lines
    assert now == lines[:len(now)] and now[-1].endswith(" 1"), now
    whole, last = ([line.rstrip("\n") for line in (first, *process.stdout)]
                   for first, process in zip(begun, followers))
    assert [process.wait(timeout=120) for process in followers] == [0, 0]
    assert whole == lines
    assert last == lines[-len(last):] and few <= len(last) < len(lines), last
    few = attempts.count("1") + 2
    tail = jobs.run("logs", "--no-prefix", "--stdout", "--tail", few, app, "worker:0", check=0).stdout
    assert tail.splitlines() == lines[-few:]


def test_output_that_an_agent_saved_before_another_follows_it_is_shown_once(jobs):
    """Its guard dies, it saves and ends; the next agent in the container goes on in the same files, and
    sends them from the beginning."""
    run = Run(jobs, 40, "--restart", "task")
    victim = run.steps("worker:0")[-1][1]
    os.kill(keepers(agent_of(victim))[1], signal.SIGKILL)
    run.until(lambda line: line.startswith("worker:0│ step 3") and line.split()[-1] == "1")
    app = jobs.apps()[0]
    jobs.wait_for(lambda: "worker-0.out" in jobs.cluster.hdfs_names(f"{LOGS}/{app}"), "what it saved")
    now = jobs.run("logs", "--no-prefix", "--stdout", app, "worker:0", check=0).stdout.splitlines()
    follower = jobs.start("logs", "-f", "--no-prefix", "--stdout", app, "worker:0")
    begun = follower.stdout.readline()
    run.end()
    run.succeeded()
    lines = jobs.run("logs", "--no-prefix", "--stdout", app, "worker:0", check=0).stdout.splitlines()
    attempts = [line.split()[-1] for line in lines if line.startswith("step ")]
    assert attempts == sorted(attempts) and set(attempts) == {"0", "1"}, lines
    assert now == lines[:len(now)] and now[-1].endswith(" 1"), now
    assert [line.rstrip("\n") for line in (begun, *follower.stdout)] == lines
    assert follower.wait(timeout=120) == 0


@pytest.mark.full
def test_who_follows_before_the_next_agent_is_there_is_shown_once_what_was_saved(jobs):
    """What was saved is shown at once; the next agent in the container sends it again."""
    run = Run(jobs, 40, "--restart", "task")
    app = jobs.apps()[0]
    jobs.run("restart", app, check=0)
    run.until(lambda line: line.startswith("worker:0│ step 3") and line.split()[-1] == "1")
    nodes = [name for name in jobs.cluster.lay.daemons if name.startswith("nm")]
    for name in nodes:  # they start it
        jobs.cluster.pause(name)
    try:
        os.kill(keepers(agent_of(run.steps("worker:0")[-1][1]))[1], signal.SIGKILL)
        jobs.wait_for(lambda: "worker-0.out" in jobs.cluster.hdfs_names(f"{LOGS}/{app}"), "what it saved")
        follower = jobs.start("logs", "-f", "--no-prefix", "--stdout", app, "worker:0")
        begun = follower.stdout.readline()
    finally:
        for name in nodes:
            jobs.cluster.resume(name)
    run.until(lambda line: line.startswith("worker:0│ step 3") and line.split()[-1] == "2")
    run.end()
    shown = [line.rstrip("\n") for line in (begun, *follower.stdout)]
    assert shown == jobs.run("logs", "--no-prefix", "--stdout", app, "worker:0",
                             check=0).stdout.splitlines()
    assert follower.wait(timeout=120) == 0


def test_who_reads_too_slowly_for_an_agent_that_leaves_sees_all_in_the_end(jobs):
    """The agent saves what its task wrote, and the next one is in another container: nobody can send it
    to who was behind."""
    go = jobs.work / "go"
    script = ("[ $YDL_ATTEMPT = 0 ] && seq -f 'first %09.0f' 1000000 || echo second; touch up.$YDL_ATTEMPT; "
              f"until [ -e {go} ]; do sleep 0.1; done")
    job = jobs.start("run", "-q", "--on", "yarn", "-n", 1, "--mem", "128m", "--restart", "task", "--", "sh", "-c",
                     script, stdout=subprocess.DEVNULL)
    jobs.wait_for(jobs.apps, "the application")
    app = jobs.apps()[0]
    follower = jobs.start("logs", "-f", "--no-prefix", "--stdout", app)
    begun = follower.stdout.readline()

    def up(attempt):
        return [pid for pid in jobs.processes("ydl-node agent")
                if any(Path(f"/proc/{pid}/cwd").resolve().rglob(f"up.{attempt}"))]
    jobs.wait_for(lambda: up(0), "it has written all")
    for pid in up(0):
        os.kill(pid, signal.SIGTERM)
    jobs.wait_for(lambda: up(1), "the next one runs")
    go.touch()
    lines = [line.rstrip("\n") for line in (begun, *follower.stdout)]
    assert len(lines) == len(set(lines)) == 1000001 and lines.count("second") == 1
    assert follower.wait(timeout=120) == 0
    assert job.wait(timeout=120) == 0


@pytest.mark.full
def test_output_of_a_task_whose_next_container_has_not_come_is_shown(jobs):
    run = Run(jobs, 40, "--restart", "task")
    steps = run.steps("worker:0")
    app = jobs.apps()[0]
    nodes = [name for name in jobs.cluster.lay.daemons if name.startswith("nm")]
    for name in nodes:  # nothing is granted without them
        jobs.cluster.pause(name)
    try:
        os.kill(keepers(agent_of(steps[-1][1]))[-1], signal.SIGKILL)
        jobs.wait_for(lambda: "worker-0.out" in jobs.cluster.hdfs_names(f"{LOGS}/{app}"), "what it saved")
        jobs.wait_for(lambda: run.status()["tasks"][0]["state"] == "WAITING", "worker:0 waits")
        lines = jobs.run("logs", "--no-prefix", "--stdout", app, "worker:0", check=0).stdout.splitlines()
        assert len([line for line in lines if line.startswith("step ")]) >= len(steps), lines
    finally:
        for name in nodes:
            jobs.cluster.resume(name)
    run.end()
    run.succeeded()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_results_that_went_with_their_container_are_missed(jobs, how):
    """Its task had ended well, and the others went on for a while: what it left was not saved yet. An
    agent that is told to end, as those of an unhealthy node are, saves what its task wrote, and no
    more."""
    go = jobs.work / "go"
    script = f"[ $YDL_INDEX = 0 ] && echo x > $YDL_OUT/x || until [ -e {go} ]; do sleep 0.1; done"
    job = jobs.start("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--", "sh", "-c", script)
    jobs.wait_for(jobs.apps, "the application")
    app = jobs.apps()[0]

    def status():
        done = jobs.run("status", "--json", app)
        return json.loads(done.stdout) if done.returncode == 0 else {"tasks": []}
    jobs.wait_for(lambda: [t["state"] for t in status()["tasks"]] == ["DONE", "RUNNING"], "one has ended")
    number = status()["tasks"][0]["agent"]
    events = [json.loads(line) for line in jobs.run("events", "--json", app, check=0).stdout.splitlines()]
    container = next(e["container"] for e in events if e["event"] == "agent" and e["agent"] == number)
    agents = [pid for pid in jobs.processes("ydl-node agent") if container in os.readlink(f"/proc/{pid}/cwd")]
    if how == signal.SIGKILL:
        kill_for_good(agents)
    else:
        for pid in agents:
            os.kill(pid, how)
    jobs.wait_for(lambda: "container of worker:0 gone" in jobs.run("events", app, check=0).stdout,
                  "its container is lost")
    go.touch()
    out, err = job.communicate(timeout=120)
    assert job.returncode == 73, (out, err)
    assert "the results of worker:0 were lost with its container" in err
    assert status()["state"] == "SUCCEEDED"


def test_output_that_is_saved_while_the_master_dies_is_not_missed(jobs):
    """Its task was scaled away: the agent saves and goes, and no master that it knows is there to hear of
    it. The next one hears it from YARN, and lets the agent save."""
    go = jobs.work / "go"
    script = ("[ $YDL_INDEX = 0 ] || head -c 300000000 /dev/zero | tr '\\0' x | fold -w 999; touch $YDL_INDEX.up; "
              f"until [ -e {go} ]; do sleep 0.1; done")
    job = jobs.start("run", "-q", "--on", "yarn", "-n", 2, "--mem", "128m", "--", "sh", "-c", script,
                     stdout=subprocess.DEVNULL)
    jobs.wait_for(jobs.apps, "the application")
    app = jobs.apps()[0]

    def events():
        return [json.loads(line) for line in jobs.run("events", "--json", app).stdout.splitlines()]

    def up(index):
        return [pid for pid in jobs.processes("ydl-node agent") if Path(f"/proc/{pid}/cwd/{index}.up").exists()]
    jobs.wait_for(lambda: up(1) and up(0), "both have written")
    agents = up(1)
    jobs.run("scale", app, "worker=1", check=0)
    jobs.wait_for(lambda: any(e["event"] == "agent" and e["state"] == "leaving" for e in events()), "it saves")
    for pid in agents:
        os.kill(pid, signal.SIGSTOP)
    os.kill(next(iter(jobs.processes("ydl-node master"))), signal.SIGKILL)
    jobs.wait_for(lambda: [e.get("name") for e in events()].count("registered") == 2,
                  "the next master, and its first words with YARN")
    for pid in agents:
        os.kill(pid, signal.SIGCONT)
    jobs.wait_for(lambda: any(e["event"] == "agent" and e["state"] == "saved" for e in events()), "it has saved")
    told = [e["state"] if e["event"] == "agent" else e["event"] for e in events()
            if e["event"] == "master" or (e["event"] == "agent" and e["state"] != "up")]
    assert told == ["master", "leaving", "master", "saved"], told
    go.touch()
    assert job.wait(120) == 0
    status = json.loads(jobs.run("status", "--json", app, check=0).stdout)
    assert (status["state"], status["missing"]) == ("SUCCEEDED", None), status
    assert "worker-1.out" in jobs.cluster.hdfs_names(f"{LOGS}/{app}")


def staged(jobs):
    return [name for name in jobs.leftovers(0) if name.startswith("hdfs ")]


def test_a_job_that_is_stopped_before_it_has_a_master_leaves_nothing(jobs):
    nodes = [name for name in jobs.cluster.lay.daemons if name.startswith("nm")]
    for name in nodes:
        jobs.cluster.pause(name)
    try:
        app = jobs.run("submit", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "true",
                       check=0).stdout.strip()
        assert any(app in name for name in staged(jobs))
        jobs.run("stop", app, check=0)
        assert staged(jobs) == []
    finally:
        for name in nodes:
            jobs.cluster.resume(name)


@pytest.mark.full
def test_a_job_ends_although_hdfs_is_away(jobs):
    """One deadline holds for output, results and log; what they lack is told through YARN."""
    began, go = jobs.work / "began", jobs.work / "go"
    script = f"echo flushed; echo x > $YDL_OUT/x; touch {began}; until [ -e {go} ]; do sleep 0.1; done"
    app = jobs.run("submit", "--on", "yarn", "-n", 1, "--mem", "128m", "--save-time", "8s", "--",
                   "sh", "-c", script, check=0).stdout.strip()
    jobs.wait_for(began.exists, "its task", 120)
    jobs.cluster.kill("nn")
    try:
        go.touch()
        page = jobs.ended(app, 120)
    finally:
        jobs.cluster.start("nn")
    assert (page["state"], page["finalStatus"]) == ("FINISHED", "SUCCEEDED"), page
    said = page["diagnostics"].splitlines()
    assert "HDFS could not be reached: the end of the events log is not there" in said, said
    assert any(line.startswith("not everything could be saved to '") for line in said), said
    assert any(line.startswith("output of worker:0 (attempt 0 on '") for line in said), said
    status = json.loads(jobs.run("status", "--json", app, check=0).stdout)
    assert (status["state"], status["exit"]) == ("SUCCEEDED", 73), status
    assert status["unsaved"].startswith("not everything could be saved to '"), status
    jobs.run("wait", app, check=73)
    jobs.wait_for(lambda: jobs.run("list", "--on", "yarn", check=0) and staged(jobs) == [],
                  "list to remove what the master could not, once the NameNode takes it", 120)


def spoil_disks(cluster, node):
    """A file where its local directory was: the node is unhealthy. What runs there does not notice."""
    path = Path(cluster.lay.node_dirs(node)[0])
    kept = path.with_name("kept")
    path.rename(kept)
    path.touch()
    return path, kept


@pytest.mark.full
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
