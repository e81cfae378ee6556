"""What a deployment on YARN survives."""

import os
import signal
import time
from pathlib import Path

import pytest
from serving_load import Load, ask
from ydl_cluster.patience import stretched


def answers(url: str) -> bool:
    try:
        return ask(url, timeout=5)[0] == 200
    except OSError:
        return False


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize("killed", ["haproxy -db", "ydl-native deployment", "ydl-node agent"])
def test_the_gateway_comes_back_at_its_address_within_five_seconds(served, killed):
    gateway = served.pids("ydl-native deployment")[0]
    pid = parent(gateway) if "agent" in killed else served.pids(killed)[0]
    os.kill(pid, signal.SIGKILL)
    began = time.monotonic()
    served.wait_for(lambda: not Path(f"/proc/{pid}/exe").exists(), "its death")
    served.wait_for(lambda: answers(served.url), "an answer at the same address")
    assert time.monotonic() - began < stretched(5)
    served.wait_ready(2)


def test_who_asks_does_not_notice_that_others_are_replaced(served):
    wanted = served.predict()
    load = [Load(served.url, wanted) for _ in range(2)]
    served.wait_for(lambda: served.answered() > 20, "a history")
    answered = served.answered()
    master = max(served.pids("ydl-node master"))
    os.kill(master, signal.SIGKILL)
    served.wait_for(lambda: served.pids("ydl-node master") and master not in served.pids("ydl-node master"),
                    "another master")
    served.wait_ready(2)
    assert served.answered() >= answered  # the next master knows what the one before was told
    served.cluster.restart("rm")
    served.wait_ready(2)
    served.run("serve", "scale", "mlp", 3, check=0)
    served.wait_ready(3)
    served.run("serve", "scale", "mlp", 2, check=0)
    served.wait_ready(2)
    before = [one.n for one in load]
    served.wait_for(lambda: all(one.n > n for one, n in zip(load, before)), "requests go on")
    assert [(bad, wrong) for _, bad, wrong in (one.end() for one in load)] == [([], [])] * 2


def test_a_replica_that_is_killed_is_replaced(served):
    load = Load(served.url, served.predict())
    victim = served.pids("ydl-native serve --host")[0]
    os.kill(victim, signal.SIGKILL)
    served.wait_for(lambda: len({*served.pids("ydl-native serve --host")} - {victim}) == 2, "another one")
    served.wait_ready(2)
    _, bad, wrong = load.end()
    assert not wrong and len(bad) <= 1 and {status for status, _ in bad} <= {502}, bad


def test_a_deployment_goes_on_without_who_began_it(served):
    before = set(served.apps())
    client = served.start("serve", "deploy", "mlp:1", "--name", "left", "--on", "yarn", "--cpus", "1", "--memory", "256m")
    app, = served.wait_for(lambda: set(served.apps()) - before, "its application")
    served.wait_for(lambda: "ydl-node agent" in str(served.cluster.processes(app)), "its agents")
    client.kill()
    client.wait()
    served.wait_for(lambda: served.predict("left", check=None) == served.predict(), "its answer")
    served.run("serve", "stop", "left", check=0)
