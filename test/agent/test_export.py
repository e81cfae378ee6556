"""Output and results go where the job says when the agent leaves; the targets here are local."""

import os
import shutil
import signal
import socket
import time
from pathlib import Path

import pytest
from agent_support import PATIENCE, alive, command, wait_until
from container_support import CONTAINER
from held_dir import HeldDir


def tree(path: Path) -> dict[str, str]:
    return {str(p.relative_to(path)): p.read_text() for p in sorted(path.rglob("*")) if p.is_file()}


def test_output_is_saved_under_the_tasks_names(container, tmp_path):
    b = container(export_dir=f"file://{tmp_path}/logs")
    b.launch(0, "echo out; echo err >&2")
    b.launch(1, "echo only out")
    b.launch(2, "true")
    for i in range(3):
        b.exited(i)
    saved = b.leave()
    assert tree(tmp_path / "logs") == {"worker-0.out": "out\n", "worker-0.err": "err\n",
                                       "worker-1.out": "only out\n"}
    assert (saved[0]["files"], saved[0]["bytes"], saved[0]["fail"]) == (3, 17, "")
    assert saved[0]["has_labels"] and saved[0]["labels"] == ["worker-0", "worker-1", "worker-2"]
    assert saved[0]["to"] == f"file://{tmp_path}/logs" and [s["last"] for s in saved] == [False, True]
    # The task comes back elsewhere: what it wrote here is kept.
    b.new_agent()
    b.launch(0, "echo elsewhere")
    b.exited(0)
    (b.logs / "worker-0.stderr").unlink()
    b.leave()
    got = tree(tmp_path / "logs")
    assert got["worker-0.1.out"] == "out\n" and got["worker-0.out"] == "out\nelsewhere\n"


def test_results_are_saved_each_in_its_place(container, tmp_path):
    b = container(results=[{"from": "", "to": f"file://{tmp_path}/deep/out"},
                           {"from": "model", "to": f"file://{tmp_path}/model"},
                           {"from": "none", "to": f"file://{tmp_path}/none"}])
    make = "mkdir -p $YDL_OUT/a/b $YDL_OUT/empty; echo {0} > $YDL_OUT/a/b/x; echo {0} > $YDL_OUT/y; "
    b.launch(0, make.format("zero") + "mkdir model; head -c 5000000 /dev/zero > model/w; "
             "ln -s w model/link; ln -s / model/dir; mkfifo model/pipe")
    b.exited(0)
    b.launch(1, make.format("one"))
    b.exited(1)
    b.launch(2, "true")
    b.exited(2)
    saved = {s["to"].rsplit("/", 1)[-1]: s for s in b.leave()}
    got = tree(tmp_path / "deep" / "out")
    assert got == {"a/b/x": "zero\n", "y": "zero\n", "worker-1/a/b/x": "one\n",
                   "worker-1/y": "one\n"}
    assert (tmp_path / "deep" / "out" / "empty").is_dir()
    assert sorted(os.listdir(tmp_path / "model")) == ["link", "w"]
    assert (tmp_path / "model" / "w").stat().st_size == 5_000_000
    assert (saved["out"]["files"], saved["model"]["bytes"]) == (4, 10_000_000)
    assert "none" not in saved and not (tmp_path / "none").exists()
    assert sorted(os.listdir(tmp_path)) == ["deep", "model"]  # nothing else is left


@pytest.mark.parametrize("always", [False, True])
def test_a_failed_jobs_results_are_saved_when_asked_for(container, tmp_path, always):
    b = container(export_dir=f"file://{tmp_path}/logs",
                  results=[{"from": "", "to": f"file://{tmp_path}/out", "always": always}])
    b.launch(0, "echo x | tee $YDL_OUT/x; exit 1")
    b.exited(0)
    b.leave(failed=True)
    assert (tmp_path / "out" / "x").exists() == always
    assert (tmp_path / "logs" / "worker-0.out").exists()


def test_what_cannot_be_saved_is_told(container, tmp_path):
    (tmp_path / "file").touch()
    b = container(export_dir=f"file://{tmp_path}/file/logs",
                  results=[{"from": "", "to": f"file://{tmp_path}/file"},
                           {"from": "", "to": "gopher://x/y"},
                           {"from": "", "to": f"file://{tmp_path}/fine"}])
    b.launch(0, "echo x | tee $YDL_OUT/x")
    b.exited(0)
    saved = {s["to"]: s for s in b.leave()[:-1]}
    assert len(saved) == 4
    for to, s in saved.items():
        assert (s["fail"] == "") == (to == f"file://{tmp_path}/fine"), s
    assert tree(tmp_path / "fine") == {"x": "x\n"} and (tmp_path / "file").is_file()


def test_a_file_that_cannot_be_saved_is_one_tasks_alone(container, tmp_path):
    part = tmp_path / "logs" / f".worker-0.out.{CONTAINER}.part"
    (part / "full").mkdir(parents=True)
    b = container(export_dir=f"file://{tmp_path}/logs")
    for i in range(2):
        b.launch(i, "echo out; echo err >&2")
        b.exited(i)
    saved = b.leave()[0]
    assert saved["fail"] and saved["labels"] == ["worker-1"] and saved["files"] == 3
    assert tree(tmp_path / "logs") == {"worker-0.err": "err\n", "worker-1.out": "out\n",
                                       "worker-1.err": "err\n"}


def test_another_agent_of_the_task_that_saves_too_is_not_disturbed(container, tmp_path):
    """One that was cut off, at its lease's end."""
    theirs = [".worker-0.out.part", ".worker-0.out.container_other.part"]
    (tmp_path / "logs").mkdir()
    for name in theirs:
        (tmp_path / "logs" / name).write_text("theirs")
    b = container(export_dir=f"file://{tmp_path}/logs")
    b.launch(0, "echo ours")
    b.exited(0)
    assert not any(s["fail"] for s in b.leave())
    assert tree(tmp_path / "logs") == {"worker-0.out": "ours\n"} | dict.fromkeys(theirs, "theirs")


@pytest.mark.parametrize("removed", [False, True])
def test_the_next_agent_in_a_container_replaces_what_the_first_one_saved(container, tmp_path, removed):
    """One whose guard was killed has saved, and the NodeManager starts another beside its files, also
    where the container's directory was removed."""
    logs = tmp_path / "logs"
    b = container(export_dir=f"file://{logs}")
    b.launch(0, "echo first; sleep 600")
    wait_until(lambda: b.output(0) == b"first\n")
    b.agents[0].kill()
    assert b.gone()
    wait_until(lambda: not alive(b.pid))
    assert tree(logs) == {"worker-0.out": "first\n"}
    if removed:
        shutil.rmtree(b.run / ".ydl")
    b.new_agent()
    b.prepare({"task": 0, "name": "worker:0"})
    b.start(command(0, "echo second", attempt=1))
    b.exited(0)
    b.leave()
    assert tree(logs) == {"worker-0.out": "first\nsecond\n"}
    assert not list(b.logs.glob(".*"))


@pytest.mark.parametrize("code", [0, 3])
def test_results_that_were_removed_with_the_container_are_missed(container, tmp_path, code):
    """A NodeManager that starts anew removes what it does not know. Nobody waits for the results of a
    task that failed: it runs again elsewhere."""
    b = container(results=[{"from": "", "to": f"file://{tmp_path}/out"}])
    b.launch(0, f"echo yes > $YDL_OUT/mine; exit {code}")
    b.exited(0)
    shutil.rmtree(b.run)
    fails = [s["fail"] for s in b.leave() if s["fail"]]
    assert fails == ([] if code else ["the directory of its container has been removed"])
    assert not (tmp_path / "out").exists() and not b.run.exists()


def test_a_master_that_leaves_meanwhile_changes_nothing(container, tmp_path):
    b = container(results=[{"from": "", "to": f"file://{tmp_path}/out"}])
    b.launch(0, "for i in $(seq 200); do echo $i > $YDL_OUT/$i; done")
    b.exited(0)
    b.tell(shutdown={"grace_ms": 0})
    b.driver.stdin.close()
    assert b.agents[0].wait(20) == 0
    assert len(tree(tmp_path / "out")) == 200


def test_what_no_master_hears_of_is_told_by_the_exit_code(container, tmp_path):
    """The ResourceManager hands it to the next master."""
    (tmp_path / "file").touch()
    b = container(results=[{"from": "", "to": f"file://{tmp_path}/out"},
                           {"from": "", "to": f"file://{tmp_path}/file"}])
    b.launch(0, "cd $YDL_OUT; for i in $(seq 3000); do echo $i > $i; done")
    b.exited(0)
    b.tell(shutdown={"grace_ms": 0})
    b.driver.stdin.close()
    assert b.agents[0].wait(60) == 73
    assert len(tree(tmp_path / "out")) == 3000


@pytest.mark.usefixtures("needs_root", "fanotify")
def test_what_a_master_heard_that_is_gone_is_told_by_the_exit_code_too(container, tmp_path):
    """It may have died before the failure was in its log."""
    (tmp_path / "file").touch()
    b = container(results=[{"from": "", "to": f"file://{tmp_path}/file"},
                           {"from": "", "to": f"file://{tmp_path}/out"}])
    b.launch(0, "echo 1 > $YDL_OUT/1")
    b.exited(0)
    with HeldDir(b.run / ".ydl" / "out" / "worker-0", files=True) as held:
        b.tell(shutdown={"grace_ms": 0})
        held.let_one_through()
        assert b.take(lambda e: "saved" in e.get("from", {}))["from"]["saved"]["fail"]
        held.wait()
        b.driver.stdin.close()
        b.driver.wait(PATIENCE)
    assert b.agents[0].wait(60) == 73
    assert len(tree(tmp_path / "out")) == 1


def test_on_one_machine_results_can_be_taken_too(bench, tmp_path):
    b = bench(results=[{"from": "", "to": f"file://{tmp_path}/out"}])
    b.launch(0, "echo x > $YDL_OUT/x")
    b.exited(0)
    b.shutdown()
    assert tree(tmp_path / "out") == {"x": "x\n"}
    assert not (b.run / "out").exists()


@pytest.mark.full
def test_a_server_that_says_nothing_does_not_hold_up_the_end(container):
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        uri = f"hdfs://127.0.0.1:{dumb.getsockname()[1]}/x"
        b = container(export_dir=uri, results=[{"from": "", "to": uri + "/out"}])
        b.launch(0, "echo x | tee $YDL_OUT/x")
        b.exited(0)
        began = time.monotonic()
        b.tell(shutdown={"grace_ms": 0})
        saved = b.saved(200)
        assert b.agents[0].wait(10) == 0 and time.monotonic() - began > 115
        assert [s["fail"] for s in saved] == ["no progress for 120 s"] * 2 + [""], saved


def test_what_an_earlier_agent_of_the_container_left_is_saved_too(container, tmp_path):
    b = container(export_dir=f"file://{tmp_path}/logs",
                  results=[{"from": "", "to": f"file://{tmp_path}/out"},
                           {"from": "model", "to": f"file://{tmp_path}/model"}])
    b.launch(0, "echo out; echo err >&2; echo zero > $YDL_OUT/x; mkdir model; echo m > model/w")
    b.launch(1, "echo more; echo one > $YDL_OUT/x")
    for i in range(2):
        b.exited(i)
    os.kill(b.pid, signal.SIGKILL)
    assert b.agents[0].wait(60) == 98
    for name in ("prelaunch.out", "stdout", "x-y.stdout", "..stdout"):
        (b.logs / name).write_text("of somebody else")
    b.new_agent()
    b.launch(1, "echo again", attempt=1)
    b.exited(1)
    saved = b.leave()
    assert not any(s["fail"] for s in saved), saved
    assert tree(tmp_path / "logs") == {"worker-0.out": "out\n", "worker-0.err": "err\n",
                                       "worker-1.out": "more\nagain\n"}
    assert sorted(tree(tmp_path / "out").values()) == ["one\n", "zero\n"]
    assert tree(tmp_path / "model") == {"w": "m\n"}


def test_output_that_was_cut_to_its_end_is_saved(container, tmp_path):
    """All of it is in pieces then, and nothing in the file itself."""
    b = container(export_dir=f"file://{tmp_path}/logs")
    b.launch(0, "true")
    b.exited(0)
    b.launch(1, "echo x")
    b.exited(1)
    os.kill(b.pid, signal.SIGKILL)
    assert b.agents[0].wait(60) == 98
    (b.logs / "worker-0.stdout.1").write_bytes(b"p" * 65536)
    b.new_agent()
    b.leave()
    assert (tmp_path / "logs" / "worker-0.out").read_bytes() == b"p" * 65536


def test_files_that_were_removed_under_us_are_saved_or_missed(container, tmp_path):
    """A NodeManager that starts anew may clean up where we still are."""
    b = container(export_dir=f"file://{tmp_path}/logs")
    b.launch(0, "echo before")
    b.exited(0)
    os.kill(b.pid, signal.SIGKILL)  # the next agent knows this task by the names of its files alone
    assert b.agents[0].wait(PATIENCE)
    b.new_master()
    b.new_agent()
    b.launch(1, "echo open; echo err >&2")
    b.exited(1)
    for path in b.logs.glob("worker-*"):
        path.unlink()
    saved = b.leave()
    assert tree(tmp_path / "logs") == {"worker-1.out": "open\n", "worker-1.err": "err\n"}
    assert saved[0]["labels"] == ["worker-1"] and saved[0]["fail"] == ""


def test_pieces_that_were_removed_under_us_are_missed(container, tmp_path):
    """What is open is only the end then."""
    def leave_pieces(b):
        (b.logs / "worker-0.stdout.1").write_bytes(b"p" * 65536)
        (b.logs / "worker-0.stdout").touch()
    b = container(export_dir=f"file://{tmp_path}/logs", prepare=leave_pieces)
    for i in range(2):
        b.launch(i, f"echo end; until [ -e {tmp_path}/go ]; do sleep 0.05; done")
    for path in b.logs.glob("worker-*"):
        path.unlink()
    (tmp_path / "go").touch()
    for i in range(2):
        b.exited(i)
    saved = b.leave()[0]
    assert "worker-0.stdout.1" in saved["fail"] and saved["labels"] == ["worker-1"], saved
    assert tree(tmp_path / "logs") == {"worker-1.out": "end\n"}


def test_a_piece_without_a_name_is_saved(container, tmp_path):
    """It was cut off, and the disk was too full for another name."""
    b = container(export_dir=f"file://{tmp_path}/logs")
    b.launch(0, f"until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo end")
    (b.logs / "worker-0.stdout.cut").write_bytes(b"p" * 65536)
    (tmp_path / "go").touch()
    b.exited(0)
    saved = b.leave()[0]
    assert saved["labels"] == ["worker-0"] and saved["fail"] == ""
    assert tree(tmp_path / "logs") == {"worker-0.out": "p" * 65536 + "end\n"}


def test_output_of_an_earlier_attempt_that_was_removed_is_missed(container, tmp_path):
    b = container(export_dir=f"file://{tmp_path}/logs")
    for i in range(3):
        b.launch(i, "true" if i == 2 else "echo first")
        b.exited(i)
    for i in (1, 2):
        (b.logs / f"worker-{i}.stdout").unlink()
    for i in range(3):
        b.start(command(i, "echo second", attempt=1))
        b.exited(i)
    saved = b.leave()[0]
    assert saved["labels"] == ["worker-0", "worker-2"] and saved["fail"] == "", saved
    assert tree(tmp_path / "logs") == {"worker-0.out": "first\nsecond\n",
                                       "worker-1.out": "second\n", "worker-2.out": "second\n"}


@pytest.mark.parametrize("how", ["keeper", "container", "lease"])
def test_output_is_saved_also_when_nobody_told_us_to_leave(container, tmp_path, how):
    b = container(export_dir=f"file://{tmp_path}/logs", lease=6000 if how == "lease" else 20000,
                  results=[{"from": "", "to": f"file://{tmp_path}/out"}])
    b.launch(0, "echo out; echo err >&2; echo x > $YDL_OUT/x; trap '' TERM; "
                "while :; do sleep 0.05; done")
    wait_until(lambda: b.output(0, "err") == b"err\n")
    if how == "keeper":
        b.agents[0].kill()
    elif how == "container":
        b.signal(signal.SIGTERM)
        time.sleep(0.25)
        if b.agents[0].poll() is None:
            b.signal(signal.SIGKILL)
    else:
        b.driver.kill()
    assert b.gone()
    wait_until(lambda: not alive(b.pid))
    assert tree(tmp_path / "logs") == {"worker-0.out": "out\n", "worker-0.err": "err\n"}
    assert not (tmp_path / "out").exists()  # half a result is none

