"""The agent in a container of YARN: what it is told, what its tasks get, and who was there before."""

import os
import shutil
import signal
import subprocess
import time

import pytest
from agent_support import BIN, NODE, NONE, PATIENCE, PERSON, alive, b64, command, resident, wait_until
from container_support import CONTAINER, JOB, credentials


def test_a_container_tells_everything(container):
    b = container()
    h = b.hello
    assert (h["container"], h["agent"], h["job"], h["again"]) == (CONTAINER, 0, JOB, False)
    assert h["host"] in ("127.0.0.1", "::1") and h["node"] == "localhost" and h["tasks"] == []
    assert not (b.run / "container_tokens").exists()  # it has the job's key in it
    b.leave()


def test_what_a_task_gets(container):
    b = container()
    b.launch(0, "env; pwd; stat -c %a $HADOOP_TOKEN_FILE_LOCATION $YDL_OUT $TMPDIR >&2; "
                "cat $HADOOP_TOKEN_FILE_LOCATION >&2", env=["YDL_OUT=/elsewhere"])
    b.exited(0)
    lines = b.output(0).decode().splitlines()
    got = dict(line.split("=", 1) for line in lines[:-1])
    assert lines[-1] == got["PWD"] == got["HOME"] == str(b.run)
    assert got["YDL_OUT"] == f"{b.run}/.ydl/out/worker-0"
    assert got["TMPDIR"] == f"{b.run}/.ydl/tasks/tmp-0"
    assert got["HADOOP_TOKEN_FILE_LOCATION"] == f"{b.run}/.ydl/tokens"
    assert got["YDL_CONTAINER"] == CONTAINER
    for name in ("LANG", "USER", "PATH", "HADOOP_CONF_DIR"):
        assert got[name] == b.environment()[name]
    for name in ("CONTAINER_ID", "NM_HOST", "NM_PORT", "LOG_DIRS", "LOCAL_DIRS", "JVM_PID",
                 "MALLOC_ARENA_MAX", "NM_AUX_SERVICE_mapreduce_shuffle", "NM_HTTP_PORT"):
        assert name not in got
    err = b.output(0, "err")
    assert err.startswith(b"600\n755\n700\n")
    assert b"pw-HDFS_DELEGATION_TOKEN" in err and b"theirs" in err
    for secret in (bytes(range(32)), b"ydl.key", b"ydl.boot", b"YARN_AM_RM_TOKEN"):
        assert secret not in err
    for name in ("worker-0.stdout", "worker-0.stderr"):
        assert oct((b.logs / name).stat().st_mode) == "0o100640"
    b.leave()


@pytest.mark.parametrize("depth", [1, 150])
def test_the_socket_works_however_long_the_path(container, depth):
    b = container(depth=depth)
    b.launch(0, "curl -sS --unix-socket $YDL_SOCKET -X PUT -d v http://x/v1/kv/k && cd / && "
                "curl -sS --unix-socket $YDL_SOCKET http://x/v1/kv/k; setsid sleep 600 &")
    assert b.exited(0)["fail"] == NONE and b.output(0) == b"v"
    assert not b.processes()
    b.leave()


def test_what_the_job_brought_lies_in_the_work_directory(container):
    def ship(b):
        cache = b.top / "cache"
        (cache / "data").mkdir(parents=True)
        (cache / "train.py").write_text("import model\nprint(model.x, open('data/d').read())\n")
        (cache / "model.py").write_text("x = 5\n")
        (cache / "data" / "d").write_text("text")
        (cache / "mine").write_text("shipped")
        (b.run / "ydl-ship").symlink_to(cache)
        (b.run / "mine").write_text("localised")
    b = container(prepare=ship)
    b.launch(0, "python3 train.py; cat mine; echo new > data/new")
    assert b.exited(0)["fail"] == NONE and b.output(0) == b"5 text\nlocalised"
    assert not (b.top / "cache" / "data" / "new").exists()
    b.leave()


def test_a_container_that_is_none_says_so(tmp_path):
    run = subprocess.run([BIN / "ydl-node", "agent", "--container"], cwd=tmp_path, check=False,
                         env={"PATH": os.environ["PATH"]}, capture_output=True, text=True)
    assert run.returncode != 0 and "CONTAINER_ID is not set" in run.stderr
    both = subprocess.run([BIN / "ydl-node", "agent", "--container", "--join", "x"], check=False,
                          capture_output=True, text=True)
    assert both.returncode == 2 and "one of --join, --container and --client" in both.stderr, both


def test_newer_tokens_reach_the_tasks_file(container):
    b = container()
    b.launch(0, "sleep 600")
    path = b.run / ".ydl" / "tokens"
    before = path.stat().st_ino
    newer = credentials({"ydl.key": bytes(32)}, {"HDFS_DELEGATION_TOKEN": "ha-hdfs:newer",
                                                 "YARN_AM_RM_TOKEN": ""})
    b.tell(tokens={"credentials": b64(newer)})
    wait_until(lambda: path.stat().st_ino != before)  # another file: nobody saw half of it
    got = path.read_bytes()
    assert b"ha-hdfs:newer" in got and b"ydl.key" not in got and b"AM_RM" not in got
    assert path.stat().st_mode & 0o777 == 0o600
    b.tell(tokens={"credentials": b64(b"HDTS\0\7nonsense")})
    assert "token" in str(b.take(lambda e: "note" in e.get("from", {}))).lower()
    assert path.read_bytes() == got
    b.leave()


def test_sigterm_ends_everything_before_the_kill_that_follows(container):
    """A task has a tenth of a second, in which a busy machine may not let it run: asked until seen."""
    wait_until(lambda: _ended_by_sigterm(container()) == b"saved\n")


def _ended_by_sigterm(b) -> bytes:
    """What a task wrote that was asked to end."""
    b.launch(0, "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep 0.05; done' & "
                "while :; do sleep 0.05; done")
    b.launch(1, "trap 'echo saved; exit' TERM; echo up >&2; while :; do sleep 0.01; done")
    wait_until(lambda: b.output(0) == b"up\n" and b.output(1, "err") == b"up\n")
    b.signal(signal.SIGTERM)  # on a machine with nothing else to do 250 ms pass before the kill
    wait_until(lambda: not b.processes())
    assert b.agents[0].wait(60) == 128 + signal.SIGTERM
    return b.output(1)


def test_an_idle_agent_is_small(container):
    b = container(silence=9000)
    b.launch(0, "sleep 600")
    wait_until(lambda: resident(b.pid) <= 4096)
    b.hang_up()  # it looks into HDFS, or what stands for it, and dials again
    b.next_hello()
    wait_until(lambda: resident(b.pid) <= 4096)


# ---- who was there before ----

@pytest.mark.parametrize("victim", ["agent", "all"])
def test_a_dead_agents_remains_are_ended_and_its_ports_held_again(container, victim):
    b = container()
    ports = b.prepare({"task": 0, "name": "worker:0", "ports_wanted": 2})[0]["ports"]
    server = ("python3 -c 'import socket, sys, time\n"
              "s = socket.create_server((\"\", int(sys.argv[1])))\n"
              "c = socket.create_connection((\"127.0.0.1\", int(sys.argv[1])))\n"
              "p = s.accept()[0]\n"
              "p.close()\n"  # this side lingers after its owner's end
              "print(\"up\", flush=True)\n"
              "time.sleep(600)' ")
    b.start(command(0, f"setsid {server} {ports[0]} & sleep 600"))
    b.take_task("started", 0)
    wait_until(lambda: b"up" in b.output(0))
    others = {"YDL_CONTAINER": CONTAINER + "1", "YDL_TEST_MARK": b.mark}
    stranger = subprocess.Popen(["sleep", "600"], env=others)
    left = [pid for pid in b.processes() if pid != stranger.pid]
    if victim == "agent":
        os.kill(b.pid, signal.SIGKILL)
        assert b.agents[0].wait(60) == 98  # which the NodeManager is told to start again
    else:
        for pid in (b.agents[0].pid, b.guard, b.pid):  # so that none of them can help
            os.kill(pid, signal.SIGSTOP)
        for pid in (b.pid, b.guard, b.agents[0].pid):
            os.kill(pid, signal.SIGKILL)
        b.agents[0].wait()
        wait_until(lambda: not alive(b.pid))
        assert any(alive(pid) for pid in left)  # in a session of its own it goes on
    hello = b.new_agent()
    assert (hello["container"], hello["again"], hello["tasks"]) == (CONTAINER, False, [])
    assert not any(alive(pid) for pid in left) and stranger.poll() is None
    got = b.prepare({"task": 0, "name": "worker:0", "ports": ports})[0]
    assert (got["fail"], got["ports"]) == (NONE, ports), got
    b.start(command(0, "echo again", attempt=1))
    assert b.exited(0)["attempt"] == 1
    assert b.output(0) == b"up\nagain\n"  # appended
    stranger.kill()
    stranger.wait()
    b.leave()


# What a task leaves behind that no signal to a group or session reaches.
DAEMONS = ("setsid sh -c 'trap \"\" TERM HUP; (setsid sleep 600 &) ; echo up; while :; do sleep 0.05; "
           "done' & trap '' TERM; while :; do sleep 0.05; done")


@pytest.mark.parametrize("victims", [["keeper"], ["guard"], ["agent"], ["keeper", "agent"],
                                     ["guard", "agent"], ["keeper", "guard"]], ids="+".join)
def test_nothing_outlives_whoever_is_killed(container, victims):
    b = container()
    b.launch(0, DAEMONS)
    wait_until(lambda: b"up" in b.output(0))
    pids = {"keeper": b.agents[0].pid, "guard": b.guard, "agent": b.pid}
    for name in victims:
        os.kill(pids[name], signal.SIGKILL)
    assert b.gone()
    wait_until(lambda: not any(alive(pid) for pid in pids.values()))
    assert b.agents[0].returncode == (-signal.SIGKILL if "keeper" in victims else 98)


def test_a_keeper_hears_of_its_agents_end_whatever_its_parent_ignored(tmp_path):
    done = subprocess.run([BIN / "ydl-node", "agent", "--client", tmp_path / "none"],
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE)
    assert done.returncode == 1 and b"none" in done.stderr, done


@pytest.mark.parametrize("frozen", [["agent"], ["agent", "guard"], ["agent", "guard", "keeper"]],
                         ids="+".join)
def test_nothing_outlives_a_container_with_a_frozen_agent(container, frozen):
    b = container()
    b.launch(0, DAEMONS)
    wait_until(lambda: b"up" in b.output(0))
    pids = {"keeper": b.agents[0].pid, "guard": b.guard, "agent": b.pid}
    for name in frozen:
        os.kill(pids[name], signal.SIGSTOP)
    b.signal(signal.SIGTERM)  # as a NodeManager does it …
    time.sleep(0.25)
    if b.agents[0].poll() is None:
        b.signal(signal.SIGKILL)
    assert b.gone()
    wait_until(lambda: not any(alive(pid) for pid in pids.values()))


def test_a_stopped_task_is_told_as_before(container):
    b = container()
    b.launch(0, "exec sleep 600")
    b.stop(0)
    end = b.exited(0)
    assert (end["fail"], end["signal"]) == (PERSON, signal.SIGTERM)
    b.leave()


# A NodeManager that does not know a container any more moves its directory away and removes it; that
# the container is lost is heard later. What the agent makes anew there meanwhile is not what it was.
@pytest.mark.parametrize("how", ["moved", "removed", "made again", "below a file"])
@pytest.mark.parametrize("when", ["before it is prepared", "before it is started", "while it runs"])
def test_a_task_whose_container_lost_its_directory_is_not_to_blame(container, when, how):
    b = container(prepare=lambda b: shutil.copy("/bin/true", b.run / "program"))
    b.launch(1, "exit 0")  # by then it has made what is its own
    assert b.exited(1)["fail"] == NONE
    gone, aside, go = b.run, b.top / "usercache_DEL_1", b.top / "go"
    if when == "while it runs":
        b.launch(0, f"until [ -e {go} ]; do sleep 0.05; done; exit 3")
    elif when == "before it is started":
        assert b.prepare({"task": 0, "name": "worker:0"})[0].get("fail", 0) == NONE
    if how == "below a file":
        gone = b.run.parent
    gone.rename(aside)
    if how == "removed":
        shutil.rmtree(aside)
    elif how == "made again":
        gone.mkdir()
    elif how == "below a file":
        gone.touch()
    go.touch()
    end = None
    if when == "before it is prepared":
        end = b.prepare({"task": 0, "name": "worker:0"})[0]
    if when != "while it runs" and (not end or end.get("fail", 0) == NONE):
        b.start(command(0, ["./program"]))
        end = None
    end = end or b.exited(0)
    assert (end["fail"], end["text"]) == (NODE, "the directory of its container has been removed")
    assert not b.run.exists() or how == "made again" and not list(b.run.iterdir())
