"""An agent that has saved all stays until its master has written that down: nobody else knows it."""

import pytest
from agent_support import PATIENCE


def leaving(container, monkeypatch, tmp_path, target: str = "fine", acks: bool = True):
    """An agent that has said all it saved."""
    monkeypatch.setenv("DRIVER_PONGS", "1")
    (tmp_path / "file").touch()
    b = container(export_dir=f"file://{tmp_path}/{target}/logs", acks=acks)
    b.launch(0, "echo out")
    b.exited(0)
    b.tell(shutdown={"grace_ms": 1000})
    assert any(s["fail"] for s in b.saved()) == (target == "file")
    return b


def stays(b, first: int):
    """It answers, which one that leaves does not for long."""
    for seq in range(first, first + 10):
        b.tell(ping={"seq": seq})
        b.take(lambda e, seq=seq: e.get("from", {}).get("pong", {}).get("seq") == seq)
    assert b.agents[0].poll() is None


@pytest.mark.parametrize("target", ["fine", "file"])  # a file is no directory to save in
def test_an_agent_leaves_when_what_it_said_is_written_down(container, monkeypatch, tmp_path, target):
    b = leaving(container, monkeypatch, tmp_path, target)
    stays(b, 1000)
    b.tell(saved_ack={})
    assert b.agents[0].wait(PATIENCE) == 0  # somebody knows of it
    assert not b.processes() and not (b.run / ".ydl").exists()


@pytest.mark.parametrize("target", ["fine", "file"])
def test_an_agent_whose_master_dies_first_says_it_with_its_exit_code(container, monkeypatch, tmp_path,
                                                                     target):
    """The next master hears it from YARN."""
    b = leaving(container, monkeypatch, tmp_path, target)
    stays(b, 1000)
    b.driver.kill()
    assert b.agents[0].wait(PATIENCE) == (73 if target == "file" else 0)


def test_a_master_that_writes_nothing_down_is_not_waited_for_for_ever(container, monkeypatch, tmp_path):
    b = leaving(container, monkeypatch, tmp_path, "file")
    stays(b, 1000)
    assert b.agents[0].wait(PATIENCE) == 73


def test_an_older_master_is_not_waited_for(container, monkeypatch, tmp_path):
    b = leaving(container, monkeypatch, tmp_path, "file", acks=False)
    assert b.agents[0].wait(15) == 0  # less than it would wait
