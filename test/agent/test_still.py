"""The agent answers its master whatever its file system does: one that is silent for 9 s is lost."""

import json

import pytest
from agent_support import PATIENCE, command
from container_support import JOB
from held_dir import HeldDir

pytestmark = pytest.mark.usefixtures("needs_root", "fanotify", "pongs")


@pytest.fixture
def pongs(monkeypatch):
    monkeypatch.setenv("DRIVER_PONGS", "1")


def answers(b, seq: int = 4711):
    b.tell(ping={"seq": seq})
    b.take(lambda e: e.get("from", {}).get("pong", {}).get("seq") == seq)


def test_while_the_directory_of_a_dropped_task_is_removed(bench):
    b = bench()
    work = b.run / "tasks" / "worker-0.work"
    b.launch(0, "mkdir deep; touch deep/old")
    b.exited(0)
    with HeldDir(work / "deep") as held:
        b.tell(drop={"tasks": [0]})
        held.wait()
        answers(b)
        b.tell(prepare={"tasks": [{"task": 0, "name": "worker:0"}, {"task": 1, "name": "worker:1"}]})
        for seq in range(3):  # turns in which it might be prepared
            answers(b, seq)
        assert not any("prepared" in e.get("from", {}) for e in b.seen), "in what is being removed"
    assert b.take_task("prepared", 0).get("fail", 0) == 0
    assert b.take_task("prepared", 1).get("fail", 0) == 0
    b.start(command(0, "ls"))
    assert b.exited(0)["code"] == 0 and b.output(0) == b""
    b.shutdown()


@pytest.mark.parametrize("where", ["tasks/worker-0.work", "tasks/tmp-0"])
def test_while_it_leaves_and_removes_what_is_its_own(bench, where):
    b = bench()
    b.launch(0, "mkdir deep $TMPDIR/deep")
    b.exited(0)
    with HeldDir(b.run / where / "deep") as held:
        b.tell(shutdown={"grace_ms": 1000})
        held.wait()
        answers(b)
    assert b.agents[0].wait(PATIENCE) == 0
    assert not list((b.run / "tasks").iterdir())


def test_while_it_leaves_and_removes_what_was_unpacked(bench, tmp_path):
    (tmp_path / "a.tar").write_bytes(bytes(10240))  # an empty one
    b = bench()
    b.launch(0, "true", prepare={"files": [{"from": str(tmp_path / "a.tar"), "to": "a", "archive": True}]})
    b.exited(0)
    with HeldDir(b.run / "unpacked-0" / "0") as held:
        b.tell(shutdown={"grace_ms": 1000})
        held.wait()
        answers(b)
    assert b.agents[0].wait(PATIENCE) == 0
    assert not (b.run / "unpacked-0").exists()


def test_while_results_are_listed(container, tmp_path):
    b = container(results=[{"from": "", "to": f"file://{tmp_path}/out"}])
    b.launch(0, "mkdir $YDL_OUT/deep; echo x > $YDL_OUT/deep/x")
    b.exited(0)
    with HeldDir(b.run / ".ydl" / "out" / "worker-0" / "deep") as held:
        b.tell(shutdown={"grace_ms": 1000})
        held.wait()
        answers(b)
    assert [(s["files"], s["fail"]) for s in b.saved()] == [(1, ""), (0, "")]
    assert b.agents[-1].wait(PATIENCE) == 0
    assert (tmp_path / "out" / "deep" / "x").read_text() == "x\n"


def test_while_a_copy_of_results_that_was_given_up_is_removed(container, tmp_path):
    old = tmp_path / f".out.{JOB}.worker-0" / "deep"
    old.mkdir(parents=True)
    b = container(results=[{"from": "", "to": f"file://{tmp_path}/out"}])
    b.launch(0, "echo x > $YDL_OUT/x")
    b.exited(0)
    with HeldDir(old) as held:
        b.tell(shutdown={"grace_ms": 1000})
        held.wait()
        answers(b)
    assert [s["fail"] for s in b.saved()] == ["", ""]
    assert [p.name for p in tmp_path.rglob("*")] == ["out", "x"]


def test_while_the_jobs_files_are_put_in_place(container):
    def ship(b):
        (b.run / "ydl-ship" / "deep").mkdir(parents=True)
        (b.run / "ydl-ship" / "deep" / "file").write_text("content\n")
    b = container(prepare=ship)
    with HeldDir(b.run / "ydl-ship" / "deep") as held:
        b.tell(prepare={"tasks": [{"task": 0, "name": "worker:0"}]})
        held.wait()
        answers(b)
        b.tell(prepare={"tasks": [{"task": 1, "name": "worker:1"}]})
        answers(b)
        assert not any("prepared" in e.get("from", {}) for e in b.seen), json.dumps(b.seen)
    for i in range(2):
        assert b.take_task("prepared", i).get("fail", 0) == 0
        b.start(command(i, "cat deep/file"))
        b.exited(i)
        assert b.output(i) == b"content\n"
    b.leave()
