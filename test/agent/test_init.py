"""Process 1 of a task's container: it ends when its agent does, with everything in the container.

Without docker: a namespace of processes is what a container is to it.
"""

import json
import os
import socket
import subprocess
import uuid

import pytest
from agent_support import BIN, wait_until

TASK = "trap '' TERM HUP INT; setsid sleep 600 & echo up; wait; sleep 600"


@pytest.fixture
def first(tmp_path):
    """`ydl-node init` as process 1: itself, the agent's end of its connection, and its mark."""
    mark = uuid.uuid4().hex
    (tmp_path / "env").write_bytes(b"\0")  # nothing besides what it has
    for name in ("out", "err"):
        (tmp_path / name).touch()
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "socket"))
        agent.listen()
        agent.settimeout(120)
        options = [f"--{name}={tmp_path / name}" for name in ("socket", "env", "out", "err", "end")]
        command = ["unshare", "--map-root-user", "--pid", "--fork", "--kill-child", BIN / "ydl-node",
                   "init", *options, f"--cwd={tmp_path}", "sh", "-c", TASK]
        with subprocess.Popen(command, env=os.environ | {"YDL_TEST_MARK": mark},
                              stderr=subprocess.PIPE) as init:
            try:
                connection, _ = agent.accept()
                wait_until(lambda: (tmp_path / "out").read_text() == "up\n")
                yield init, connection, mark
            finally:
                init.kill()


def _living(mark: str) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


def test_all_end_when_the_agent_does(first, tmp_path):
    init, connection, mark = first
    assert len(_living(mark)) >= 4  # unshare, process 1, the shell and what it started
    connection.close()
    assert init.wait(timeout=50) == 137
    assert _living(mark) == []
    assert json.loads((tmp_path / "end").read_text())["signal"] == 9


def test_it_is_for_process_1_only(tmp_path):
    options = [f"--{name}={tmp_path / name}" for name in ("socket", "env", "out", "err", "end", "cwd")]
    done = subprocess.run([BIN / "ydl-node", "init", *options, "true"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 77 and "this is for process 1 of a container" in done.stderr
