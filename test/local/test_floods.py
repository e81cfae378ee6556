"""Whoever floods the ports of a job costs it little, and keeps nobody out."""

import json
import os
import socket
import urllib.request

import pytest

from flooding import KINDS, NOBODY, Flood, listening, memory_mb, print_as

MEMORY_MB = 16   # what a small job's master may have at any moment; its container has 64
LINES = 120      # of its log, whatever strangers do
OTHERS = ("xgboost", "horovod", "slider")  # whose servers speak something else than rabit's
WAIT = "while [ ! -e go ]; do sleep 0.1; done"


def recorded_hello(local, join: dict) -> bytes:
    """The greeting of a real agent that has another key than the job."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(120)
        path = local.tmp / "wrong.json"
        path.write_text(json.dumps({**join, "key": "A" * 43 + "=",
                                    "address": f"tcp:127.0.0.1:{server.getsockname()[1]}"}))
        path.chmod(0o600)
        agent = local.start_command(local.bin / "ydl-node", "agent", "--join", path, "--number", "1")
        with server.accept()[0] as s:
            s.settimeout(120)
            hello = s.recv(4096)
        agent.kill()  # it would try again for a while
        agent.wait(20)
    return hello


def ask(url: str) -> dict:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=60) as answer:
        return json.load(answer)


def flood(local, kind, framework, seconds):
    job = local.start("run", "--nodes", "2", "-n", "2", "--framework", framework, "--restart",
                      "gang", "--", "sh", "-c", WAIT)
    local.wait_for(lambda: len(local.tasks(f"sh -c {WAIT}")) == 2, "the tasks run")
    [master] = local.find("ydl-node master")
    ports = listening(master)
    assert len(ports) == 2, "the agents' and the server's"
    before = memory_mb(master, "VmRSS")
    join = json.loads(next(local.run_dir.glob("ydl-*/join.json")).read_text())
    more = [recorded_hello(local, join)] if kind == "wrong" else []
    with Flood("127.0.0.1", ports, kind, seconds, more) as strangers:
        local.wait_for(lambda: strangers.opened > 1000, "the flood")
        local.run("scale", "last", "worker=4", check=0)  # two more agents, in the middle of it
        local.wait_for(lambda: len(local.tasks(f"sh -c {WAIT}")) == 4, "four tasks", timeout=60)
        if framework == "slider":  # who asks something is answered
            [port] = [p for p in ports if f":{p}" not in join["address"]]
            assert "components" in ask(f"http://127.0.0.1:{port}/ws/v1/slider/application/live/resources")
        strangers.wait()
        peak = memory_mb(master)
    (local.work / "go").touch()
    out, err = job.communicate(timeout=60)
    log = (local.jobs()[-1] / "master.log").read_text()
    assert job.returncode == 0, err.decode() + log
    assert len(log.splitlines()) <= LINES, log
    print(f"peak {peak:.1f} MB, before {before:.1f}; {len(log.splitlines())} lines")
    assert peak < MEMORY_MB, f"{before:.1f} MB before, {peak:.1f} MB at most"
    assert b"lost" not in err, err.decode()


@pytest.mark.parametrize("kind", KINDS)
def test_a_flood_neither_ends_a_job_nor_keeps_its_agents_out(local, kind):
    flood(local, kind, "rabit", 5)


@pytest.mark.parametrize("framework", OTHERS)
def test_neither_does_one_at_another_server(local, framework):
    flood(local, "mixed", framework, 5)


@pytest.mark.full
@pytest.mark.parametrize("framework", ["rabit", *OTHERS])
@pytest.mark.parametrize("kind", KINDS)
def test_a_long_flood_does_not_either(local, kind, framework):
    flood(local, kind, framework, 60)


# ---- trackers, whose protocols have no keys ----

@pytest.mark.parametrize("user, heard", [(0, True), (NOBODY, False)], ids=["owner", "another"])
def test_a_tracker_listens_to_the_jobs_own_user_alone(local, needs_root, user, heard):
    job = local.start("run", "-n", "2", "--framework", "rabit", "--", "sh", "-c", WAIT)
    local.wait_for(lambda: len(local.tasks(f"sh -c {WAIT}")) == 2, "the tasks run")
    [master] = local.find("ydl-node master")
    [port] = listening(master)
    print_as(user, "127.0.0.1", port)
    events = local.jobs()[-1] / "events.jsonl"
    if heard:
        local.wait_for(lambda: "I was here" in events.read_text(), "it is printed")
    (local.work / "go").touch()
    out, err = job.communicate(timeout=60)
    assert job.returncode == 0, err.decode()
    assert ("I was here" in events.read_text()) == heard
