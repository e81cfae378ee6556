"""The agent beside the client: what its tasks get, and how its life hangs on the client's."""

import os
import signal
import socket
import subprocess

import pytest
from agent_support import BIN, NONE, alive, wait_until
from container_support import JOB, ContainerBench


class ClientBench(ContainerBench):
    """`self.run` is where the user is, `self.own` what `ydl run` made for the agent, `self.line`
    its end of the agent's standard input."""

    def __init__(self, *args, **options):
        self.own = None
        super().__init__(*args, **options)

    def environment(self) -> dict:
        return {"PATH": os.environ["PATH"], "HOME": "/home/me", "PORT": "8042", "YDL_TRACE": "no",
                "LANG": "C.UTF-8"}

    def new_agent(self, address=None, hello=True):
        self.own = self.top / "ydl-own"
        self.own.mkdir(0o700, exist_ok=True)
        self.write_credentials(address)
        (self.run / "container_tokens").rename(self.own / "credentials")
        self.line, theirs = socket.socketpair()
        self.agents.append(subprocess.Popen([BIN / "ydl-node", "agent", "--client", self.own],
                                            cwd=self.run, env=self.environment(), stdin=theirs,
                                            start_new_session=True,
                                            stdout=open(self.logs / "agent.log", "ab"),
                                            stderr=subprocess.STDOUT))
        theirs.close()
        if not hello:
            return None
        got = self.next_hello()
        self.pid = got["pid"]
        return got

    def output(self, task, stream="out"):
        return (self.own / "logs" / f"worker-{task}.std{stream}").read_bytes()


@pytest.fixture
def client():
    made = []

    def make(*args, **options) -> ClientBench:
        made.append(ClientBench(*args, **options))
        return made[-1]
    yield make
    for one in made:
        one.close()


def test_the_client_tells_everything(client):
    b = client()
    h = b.hello
    assert (h["container"], h["agent"], h["job"]) == (f"client_{JOB}", 0, JOB)
    assert h["host"] == "127.0.0.1" and h["node"] == socket.gethostname()
    assert not (b.own / "credentials").exists()  # it has the job's key in it
    b.leave()
    assert not b.own.exists() and b.run.exists()


def test_a_task_runs_where_the_user_is_with_the_users_environment(client):
    def ship(b):
        (b.run / "ydl-ship").mkdir()
        (b.run / "ydl-ship" / "mine").write_text("not yours to spread")
        (b.run / "dir").mkdir()
        (b.run / "link").symlink_to("dir")
    b = client(prepare=ship)
    b.launch(0, "env; pwd; cat $HADOOP_TOKEN_FILE_LOCATION >&2")
    b.exited(0)
    lines = b.output(0).decode().splitlines()
    got = dict(line.split("=", 1) for line in lines[:-1])
    assert lines[-1] == got["PWD"] == str(b.run)
    assert (got["HOME"], got["PORT"]) == ("/home/me", "8042") and "YDL_TRACE" not in got
    assert got["YDL_OUT"].startswith(f"{b.own}/") and got["TMPDIR"].startswith(f"{b.own}/")
    err = b.output(0, "err")
    assert b"pw-HDFS_DELEGATION_TOKEN" in err and bytes(range(32)) not in err
    b.leave()
    assert sorted(p.name for p in b.run.iterdir()) == ["dir", "link", "ydl-ship"]
    assert not (b.run / "mine").exists()


def test_the_client_goes_and_everything_with_it(client):
    b = client()
    b.launch(0, "setsid sleep 600 & trap 'echo told' TERM; echo on; while :; do sleep 0.1; done")
    wait_until(lambda: (b.own / "logs" / "worker-0.stdout").exists() and b.output(0))
    b.line.close()
    assert b.agents[-1].wait(20) == 128 + signal.SIGHUP
    assert not b.processes() and not b.own.exists()


def test_a_client_that_goes_before_the_master_is_there(client):
    b = client()
    b.leave()
    b.new_agent("tcp:127.0.0.1:9", hello=False)
    b.line.close()
    assert b.agents[-1].wait(20) == 128 + signal.SIGHUP
    assert not b.own.exists()


def test_a_killed_agents_remains_are_ended_and_links_stay(client):
    def links(b):
        (b.run / "dir").mkdir()
        (b.run / "link").symlink_to("dir")
    b = client(prepare=links)
    b.launch(0, "setsid sleep 600 & echo on; sleep 600")
    wait_until(lambda: (b.own / "logs" / "worker-0.stdout").exists() and b.output(0))
    os.kill(b.pid, signal.SIGKILL)
    assert b.agents[-1].wait(20) == 98
    assert not b.processes() and (b.run / "link").is_symlink() and b.own.exists()
    again = b.new_agent()
    assert not again["again"] and alive(b.pid)
    b.launch(0, "echo once more")
    assert b.exited(0)["fail"] == NONE and b.output(0) == b"on\nonce more\n"
    b.leave()
