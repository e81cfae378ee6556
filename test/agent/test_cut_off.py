"""A node that is cut off: its tasks stand still before the master starts them elsewhere."""

import os
import signal
import socket
import time
from pathlib import Path

import pytest
from agent_support import PATIENCE, alive, wait_until
from link_support import Link

# A task that writes down each step, and a process in a session of its own that does, too. Neither
# ends when it is asked to.
STEPS = """trap 'echo asked >> steps' TERM
setsid sh -c 'trap "" TERM; while :; do echo stray >> strays; sleep 0.02; done' &
while :; do echo step >> steps; sleep 0.02; done"""
SHORT = {"silence": 3000, "heartbeat": 500}
# For what must not happen: an agent on a busy machine that comes late has no time left to look.
LONG = {"silence": 9000, "heartbeat": 500}


@pytest.fixture
def link():
    made = Link()
    yield made
    made.close()


@pytest.fixture
def silence():
    """An HDFS behind a cut: nobody is there."""
    made = Link()
    made.cut()
    yield f"hdfs://127.0.0.1:{made.port}/user/nobody"
    made.close()


class Steps:
    def __init__(self, b):
        self.b = b
        self.pid = b.launch(0, STEPS)
        wait_until(lambda: self.size("steps") and self.size("strays"))

    def size(self, name: str) -> int:
        path = self.b.run / name
        return path.stat().st_size if path.exists() else 0

    def sizes(self) -> tuple[int, int]:
        return self.size("steps"), self.size("strays")

    def stand_still(self) -> bool:
        if not alive(self.pid):
            return False
        return Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def test_tasks_stand_still_and_go_on_when_the_master_has_kept_the_node(container, link, silence):
    """With the times of a real master: it gives the agent up 9 s after the last word."""
    b = container(lease=600000, base=silence, link=link, silence=9000)
    steps = Steps(b)
    time.sleep(5)  # a few pings
    link.cut()
    began = time.monotonic()
    wait_until(steps.stand_still)
    assert 3 < time.monotonic() - began < 6.5
    before = steps.sizes()
    time.sleep(0.5)
    assert steps.sizes() == before
    link.mend()
    assert b.next_hello()["tasks"][0]["pid"] == steps.pid
    wait_until(lambda: all(now > then for now, then in zip(steps.sizes(), before, strict=True)))
    assert "tasks go on" in (b.logs / "agent.log").read_text()
    b.signal(signal.SIGTERM)


def test_tasks_that_the_master_has_given_up_end_without_another_step(container, link, silence):
    b = container(lease=600000, base=silence, link=link, **SHORT)
    steps = Steps(b)
    link.cut()
    wait_until(steps.stand_still)
    before = steps.sizes()
    b.driver.kill()
    b.driver.wait()
    b.new_master(refuses="nobody expects it")
    link.mend()
    b.next_hello()
    assert b.gone() and not alive(steps.pid)
    assert steps.sizes() == before


def test_tasks_that_stand_still_when_their_container_is_stopped_take_no_step(container, link,
                                                                            silence):
    b = container(lease=600000, base=silence, link=link, **SHORT)
    steps = Steps(b)
    link.cut()
    wait_until(steps.stand_still)
    before = steps.sizes()
    b.signal(signal.SIGTERM)
    assert b.gone() and not alive(steps.pid)
    assert steps.sizes() == before


def test_tasks_that_stand_still_end_so_when_yarn_gives_the_node_up(container, link, silence):
    b = container(lease=600000, base=silence, link=link, cut=8000, **SHORT)
    steps = Steps(b)
    link.cut()
    wait_until(steps.stand_still)
    before = steps.sizes()
    assert b.gone() and not alive(steps.pid)
    assert steps.sizes() == before
    assert "this node is cut off: no master, HDFS or ResourceManager" in \
        (b.logs / "agent.log").read_text()


def test_a_ping_that_is_as_old_as_the_cut_lets_no_task_go_on(container, link, silence):
    """Only a master that has welcomed the agent since is known to have kept it."""
    b = container(lease=600000, base=silence, link=link, **SHORT)
    steps = Steps(b)
    link.cut()
    wait_until(steps.stand_still)
    before = steps.sizes()
    b.new_master(refuses="nobody expects it")  # the old one is there, and goes on pinging
    link.mend()
    b.next_hello()
    assert b.gone() and steps.sizes() == before


def test_a_master_that_hangs_stops_no_task(container, link, silence):
    """Its machine answers: this node is not cut off."""
    b = container(lease=600000, base=silence, link=link, **LONG)
    steps = Steps(b)
    os.kill(b.driver.pid, signal.SIGSTOP)
    time.sleep(1.2 * LONG["silence"] / 1000)
    os.kill(b.driver.pid, signal.SIGCONT)
    assert b.next_hello(PATIENCE)["tasks"][0]["pid"] == steps.pid
    assert "stand still" not in (b.logs / "agent.log").read_text()
    b.signal(signal.SIGTERM)


def test_a_node_that_reaches_hdfs_stops_no_task(container, link):
    """Only the master is away, with its machine."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # nobody listens: the machine refuses
        b = container(lease=600000, base=f"hdfs://127.0.0.1:{held.getsockname()[1]}/user/nobody",
                      link=link, **LONG)
        steps = Steps(b)
        link.cut()
        time.sleep(1.2 * LONG["silence"] / 1000)
        assert "stand still" not in (b.logs / "agent.log").read_text()
        link.mend()
        assert b.next_hello()["tasks"][0]["pid"] == steps.pid
        b.signal(signal.SIGTERM)
