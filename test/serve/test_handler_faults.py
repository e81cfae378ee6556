"""Python handlers whose predict() fails, and workers that die, hang or lie."""

import collections
import json
import os
import signal
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import environment
from handler_support import ECHO, PREDICT, WHO, children, gone
from serve_support import wait_for


def fails_at_one(body):
    """A handler that does `body` with a 1, and gives back all else."""
    return textwrap.dedent("""
        import os
        def load(dir):
            pass
        def predict(inputs):
            if inputs["x"] == 1:
                BODY
            return inputs["x"]
    """).replace("BODY", body)


# A worker that has ended is started again, later each time, so each of these has a server of its own.
@pytest.mark.parametrize("body, status, says", [
    ("import sys; print('last', file=sys.stderr); os._exit(3)", 500,
     "ended with exit status 3 while it ran this request: last"),
    ("os.kill(os.getpid(), 9)", 500, "was killed by signal 9 while it ran this request"),
    pytest.param("import sys; sys.exit('I give up')", 500,
                 "ended with exit status 1 while it ran this request: I give up", marks=pytest.mark.full),
    pytest.param("os.close(3)", 500, "the handler's worker", marks=pytest.mark.full),
])
def test_a_worker_that_ends_is_told_and_the_next_request_answered(handle, body, status, says):
    failed_and_answered(handle(fails_at_one(body), "--workers", "1"), 1, status, says)


def failed_and_answered(server, x, status, says):
    answer = server.post(PREDICT, {"inputs": {"x": x}})
    assert answer.status == status
    assert says in answer.json["error"]
    assert "Traceback" not in answer.json["error"] and ".py" not in answer.json["error"]
    assert server.post(PREDICT, {"inputs": {"x": 0}}).json == {"outputs": 0}


FAILURES = [
    ("raise ValueError('x must be positive')", 400, "ValueError: x must be positive"),
    ("inputs['z']", 400, "input 'z' is missing: the request has 'x'"),
    ("1 / 0", 500, "the handler failed: ZeroDivisionError: division by zero"),
    ("return None", 500, "predict() gave the output 'output': it is None"),
    ("return {'y': {}}", 500, "predict() gave the output 'y'"),
    ("return {'y': [[1], [1, 2]]}", 500, "predict() gave the output 'y'"),
    ("return {3: 1}", 500, "predict() gave the output 3: its name is not a text"),
    ("return 1j", 500, "complex128, which a tensor cannot have"),
]


@pytest.fixture(scope="module")
def failing(shared, tmp_path_factory):
    """A server whose handler fails in the way that has the number of its input, and answers 0."""
    where = tmp_path_factory.mktemp("failing") / "m"
    where.mkdir()
    ways = "".join(f"    if inputs['x'] == {i}:\n        {body}\n" for i, (body, *_) in enumerate(FAILURES, 1))
    (where / "model.py").write_text("def load(dir):\n    pass\ndef predict(inputs):\n" + ways +
                                    "    return inputs['x']\n")
    return shared(where, "--python", environment.directory(), "--workers", "1")


@pytest.mark.parametrize("body, status, says", FAILURES)
def test_a_failure_is_told_and_the_next_request_answered(failing, body, status, says):
    failed_and_answered(failing, FAILURES.index((body, status, says)) + 1, status, says)
    if "1 / 0" in body:
        wait_for(lambda: any("Traceback" in line for line in failing.errors))


def test_a_handler_that_hangs_is_replaced(handle):
    server = handle("""
        import os, time
        def load(dir):
            pass
        def predict(inputs):
            while inputs["x"] == 1:
                time.sleep(1)
            return os.getpid()
    """, "--handler-timeout", "300ms", "--workers", "1")
    first = server.post(PREDICT, {"inputs": {"x": 2}}).json["outputs"]
    hung = server.post(PREDICT, {"inputs": {"x": 1}})
    assert hung.status == 504 and "did not answer within 300 ms" in hung.json["error"]
    second = server.post(PREDICT, {"inputs": {"x": 2}}).json["outputs"]
    assert first != second
    wait_for(lambda: gone(first))


def test_what_a_worker_leaves_behind_does_not_hold_its_request(handle):
    server = handle("""
        import os, time
        def load(dir):
            pass
        def predict(inputs):
            if os.fork() == 0:  # has copies of all descriptors
                os.setsid()
                time.sleep(20)
                os._exit(0)
            os._exit(3)
    """, "--workers", "1", "--handler-timeout", "15s")
    answer = server.post(PREDICT, {"inputs": {"x": 1}})
    assert answer.status == 500 and "ended with exit status 3" in answer.json["error"]


def test_without_workers_the_server_is_not_ready(handle, tmp_path):
    server = handle("""
        import os, sys
        if os.path.exists(os.path.join(os.path.dirname(__file__), "broken")):
            sys.exit("the weights are gone")
        def load(dir):
            pass
        def predict(inputs):
            return os.getpid()
    """, "--workers", "1")
    (tmp_path / "m" / "broken").touch()
    os.kill(children(server)[0], signal.SIGKILL)
    wait_for(lambda: server.get("/v2/health/ready").status == 400)
    assert server.get("/v2/models/m/ready").status == 400
    refused = server.post(PREDICT, {"inputs": {"x": 1}})
    assert refused.status == 503 or "no worker of the handler is ready" in refused.text
    wait_for(lambda: any("the weights are gone" in line for line in server.errors))
    (tmp_path / "m" / "broken").unlink()
    wait_for(lambda: server.get("/v2/health/ready").status == 200)
    assert server.post(PREDICT, {"inputs": {"x": 1}}).status == 200


def test_a_killed_worker_fails_its_own_requests_only(handle):
    server = handle(WHO, "--workers", "2")
    pids = children(server)
    assert len(pids) == 2
    statuses, wrong, stop = collections.Counter(), [], threading.Event()

    def ask(i):
        connection = server.connect()
        while not stop.is_set():
            connection.request("POST", PREDICT, json.dumps({"inputs": {"x": i}}))
            response = connection.getresponse()
            text = response.read()
            statuses[response.status] += 1
            if response.status == 200 and json.loads(text)["outputs"]["y"] != 2 * i:
                wrong.append(text)
        connection.close()
    threads = [threading.Thread(target=ask, args=[i]) for i in range(8)]
    for thread in threads:
        thread.start()
    kills = 0
    while kills < 6:
        pids = children(server)
        wait_for(lambda: statuses[200] > 100 * kills)
        os.kill(pids[kills % len(pids)], signal.SIGKILL)
        kills += 1
        wait_for(lambda old=pids: sorted(children(server)) != sorted(old)
                 and len(children(server)) == 2)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert set(statuses) <= {200, 500}
    assert statuses[500] <= kills  # each worker has one request


def test_a_hundred_clients_get_their_own_answers(handle):
    server = handle(WHO, "--workers", "2", "--queue", "1000")

    def ask(i):
        return [server.post(PREDICT, {"inputs": {"x": [i, k]}}).json["outputs"]["y"] ==
                [2 * i, 2 * k] for k in range(10)]
    with ThreadPoolExecutor(100) as pool:
        assert all(all(found) for found in pool.map(ask, range(100)))


@pytest.mark.parametrize("requests", [3000, pytest.param(20000, marks=pytest.mark.full)])
def test_memory_does_not_grow(handle, requests):
    server = handle(ECHO, "--workers", "1")
    connection = server.connect()
    body = json.dumps({"inputs": {"x": list(range(100)), "s": ["text"] * 10}})

    def ask(n):
        for _ in range(n):
            connection.request("POST", PREDICT, body)
            assert connection.getresponse().read()
        worker, = children(server)
        text = Path(f"/proc/{worker}/status").read_text()
        return server.memory(), int(text.split("VmRSS:")[1].split()[0]) << 10
    before = ask(requests // 3)
    after = ask(requests)
    assert after[0] < before[0] + (2 << 20) and after[1] < before[1] + (2 << 20)


def test_what_a_handler_prints_goes_to_the_log(handle):
    server = handle("""
        import os, sys
        print("at load")
        def load(dir):
            pass
        def predict(inputs):
            print("x" * 300000)
            os.write(1, b"\\0\\xff\\x1b[2J raw")
            sys.stderr.write("to stderr\\n")
            return inputs["x"]
    """, "--workers", "1")
    for i in range(5):
        assert server.post(PREDICT, {"inputs": {"x": i}}).json == {"outputs": i}
    assert server.end() == 0
    log = server.complaints()
    assert "handler 0: at load\n" in log and "to stderr\n" in log
    assert log.count("x") >= 1500000
    assert "\x1b" not in log


def ask_a_worker(server, body):
    """The answer of a worker: 503 says that none is there, as its successor may need long to start."""
    answers = []

    def answered():
        answers.append(server.post(PREDICT, body))
        return answers[-1].status != 503
    wait_for(answered)
    return answers[-1]


@pytest.mark.parametrize("kinds", [(1, 4), pytest.param((2, 3, 5), marks=pytest.mark.full)])
def test_a_worker_that_lies_is_replaced(handle, kinds):
    server = handle("""
        import os, struct, time
        def load(dir):
            pass
        def predict(inputs):
            kind = int(inputs["x"])
            def send(*parts):
                os.write(3, struct.pack("=IIQQ", *parts))
            if kind == 1:
                os.write(3, b"nonsense")
            if kind == 2:
                send(0x574c4459, 3, 10 ** 9, 0)
            if kind == 3:
                send(0x574c4459, 3, SEQUENCE, 1 << 62)
            if kind == 4:   # past the end of its region
                send(0x574c4459, 3, SEQUENCE, 1 << 28)
            if kind == 5:   # a record that points out of it
                os.pwrite(5, struct.pack("=IIIIII8qQQQ", 0x574c4459, 1, 12, 1, 1, 0, 4, *[0] * 7,
                                         0, 1 << 40, 16), 0)
                send(0x574c4459, 3, SEQUENCE, 4096)
            if kind < 6:
                time.sleep(60)  # it is killed first
            if kind == 6:
                os.ftruncate(5, 0)  # it is sealed
            return inputs["x"]
    """.replace("SEQUENCE", "1"), "--workers", "1")  # each process is asked once
    for kind in kinds:
        answer = ask_a_worker(server, {"inputs": {"x": kind}})
        assert answer.status == 500 and "worker" in answer.json["error"], answer.text
    assert ask_a_worker(server, {"inputs": {"x": 6}}).status == 500
    assert ask_a_worker(server, {"inputs": {"x": 9}}).json == {"outputs": 9}
