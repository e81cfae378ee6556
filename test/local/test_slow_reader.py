"""Whoever reads an answer slowly gets the answer to what was asked, whatever happens meanwhile."""

import json
import socket

TASKS, ASKED = 40, 100


def answers(reader):
    """The bodies of all answers on a connection that is closed after the last one."""
    while reader.readline():
        length = 0
        while (line := reader.readline().strip()):
            name, value = line.split(b":", 1)
            if name.lower() == b"content-length":
                length = int(value)
        yield reader.read(length)


def test_a_specification_read_slowly_stays_what_it_was(local):
    """Answers wait in the master while the gang is formed anew. What the master frees is
    overwritten at once (MALLOC_PERTURB_), so that bytes of a freed text would be seen."""
    job = local.start("run", "--role", f"worker={TASKS},ports=1", "--restart", "gang", "--", "sleep",
                      "3600", env={"MALLOC_PERTURB_": "165"})
    local.wait_for(lambda: len(local.tasks("sleep 3600")) == TASKS, "all tasks", timeout=60)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(300)
        sock.connect(str(next(local.run_dir.rglob("api.sock"))))
        # More than fits between the two processes, so the master is in the middle of one of them.
        ask = "GET /v1/spec HTTP/1.1\r\nHost: a\r\n{}\r\n"
        sock.sendall((ask.format("") * (ASKED - 1) + ask.format("Connection: close\r\n")).encode())
        old = set(local.tasks("sleep 3600"))
        local.run("restart", "last", check=0)
        local.wait_for(lambda: len(now := set(local.tasks("sleep 3600"))) == TASKS
                       and not old & now, "the next generation", timeout=60)
        with sock.makefile("rb") as reader:
            generations = [json.loads(body)["generation"] for body in answers(reader)]
    assert len(generations) == ASKED
    assert {0, 1} == {g - generations[0] for g in generations}, "some before, some after"
    local.run("stop", "last", check=0)
    job.communicate(timeout=60)


def test_a_body_for_a_tensorboard_that_is_not_there_is_not_waited_for(local):
    """What a request carries is taken as TensorBoard takes it, and not kept meanwhile."""
    job = local.start("run", "-n", "1", "--", "sleep", "3600")
    local.wait_for(lambda: local.tasks("sleep 3600"), "the task")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(120)
        sock.connect(str(next(local.run_dir.rglob("api.sock"))))
        sock.sendall(b"POST /tensorboard/data HTTP/1.1\r\nHost: a\r\nContent-Length: 16000000\r\n\r\n")
        assert sock.recv(4096).startswith(b"HTTP/1.1 404 ")
    local.run("stop", "last", check=0)
    job.communicate(timeout=60)
