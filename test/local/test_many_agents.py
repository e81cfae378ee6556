"""A job with many agents over TLS: what its master costs, and that all of them start again."""

import json

import pytest

from flooding import memory_mb

# Agents, and what the master may have at rest (MB).
SIZES = [(60, 16), pytest.param(400, 24, marks=pytest.mark.full)]


@pytest.mark.parametrize("agents, most_mb", SIZES)
def test_many_agents_start_and_start_again_within_the_masters_memory(local, agents, most_mb):
    job = local.start("run", "--nodes", agents, "-n", agents, "--restart", "gang", "--", "sleep",
                      "3601")
    local.wait_for(lambda: len(local.tasks("sleep 3601")) == agents, "all tasks", timeout=120)
    first = set(local.tasks("sleep 3601"))
    [master] = local.find("ydl-node master")
    local.run("restart", "last", check=0)
    local.wait_for(lambda: len(now := set(local.tasks("sleep 3601"))) == agents
                   and not first & now, "the next generation", timeout=120)
    spec = json.loads(local.run("spec", "last", check=0).stdout)
    assert spec["generation"] == 1
    assert local.wait_for(lambda: memory_mb(master, "VmRSS") < most_mb, "a small master")
    local.run("stop", "last", check=0)
    job.communicate(timeout=120)
