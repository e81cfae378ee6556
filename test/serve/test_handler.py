"""Python handlers, `ydl-native serve` with workers: what predict() gets and gives, and workers that
die, hang or lie."""

import base64
import collections
import json
import os
import signal
import struct
import subprocess
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import environment
from serve_support import BIN, infer, wait_for

PREDICT = "/v1/models/m:predict"
INFER = "/v2/models/m/infer"
WHO = """
    import os
    def load(dir):
        return None
    def predict(inputs):
        x = inputs["x"]
        return {"y": x * 2, "pid": x * 0 + os.getpid()}
"""


@pytest.fixture
def handle(serve, tmp_path):
    """handle(CODE, ARGS…): a server of a model.py with that code, named m, with numpy."""
    def start(code, *args, python=None, **options):
        (tmp_path / "m").mkdir(exist_ok=True)
        (tmp_path / "m" / "model.py").write_text(textwrap.dedent(code))
        return serve(tmp_path / "m", "--python", python or environment.directory(), *args,
                     **options)
    return start


def children(server):
    """Its workers' process ids."""
    text = Path(f"/proc/{server.process.pid}/task")
    found = []
    for task in text.iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def gone(pid):
    """Has it ended? Whoever is left unreaped has, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture(scope="module")
def echo(shared, tmp_path_factory):
    """echo(NUMPY): a server of ECHO with or without numpy, for all tests that leave it as it was."""
    where = tmp_path_factory.mktemp("echo") / "m"
    where.mkdir()
    (where / "model.py").write_text(textwrap.dedent(ECHO))
    return lambda numpy: shared(where, "--python", environment.directory() if numpy else "/usr/bin/python3")


# ---- what predict() gets and gives ----

def test_predict_gets_arrays_and_gives_arrays(handle):
    server = handle("""
        import numpy as np
        def load(dir):
            return 10
        def predict(inputs, model):
            assert type(inputs["x"]) is np.ndarray, type(inputs["x"])
            inputs["x"] += 1      # it is the handler's own
            return inputs["x"] * model
    """)
    assert server.ready["backend"] == "python"
    assert server.ready["library_version"].count(".") == 2
    rows = server.post(PREDICT, {"instances": [{"x": [1, 2]}, {"x": [3, 4]}]})
    assert rows.json == {"predictions": [[20, 30], [40, 50]]}
    assert server.post(PREDICT, {"inputs": {"x": 1.5}}).json == {"outputs": 25.0}
    out, = server.post(INFER, infer("x", [1, 2], [2, 1], "INT16")).json["outputs"]
    assert out == {"name": "output", "shape": [2, 1], "datatype": "INT16", "data": [20, 30]}


TYPES = [("BOOL", [True, False], "?"), ("UINT8", [0, 255], "B"), ("UINT64", [0, 2**64 - 1], "Q"),
         ("INT8", [-128, 127], "b"), ("INT64", [-2**63, 2**63 - 1], "q"),
         ("FP32", [0.1, -1e30], "f"), ("FP64", [0.1, -1e300], "d"), ("FP16", [0.5, -2], "e")]
ECHO = """
    def load(dir):
        pass
    def predict(inputs):
        return dict(inputs)
"""


@pytest.mark.parametrize("numpy", [True, False])
def test_every_type_comes_back_bit_for_bit(echo, numpy):
    server = echo(numpy)
    parts = [struct.pack(f"<2{letter}", *values) for _, values, letter in TYPES]
    kinds = TYPES
    if not numpy:  # lists have no such types: whole numbers come back as INT64, others as FP64
        keep = [i for i, (name, *_) in enumerate(TYPES) if name in ("BOOL", "INT64", "FP64")]
        kinds, parts = [TYPES[i] for i in keep], [parts[i] for i in keep]
    head = json.dumps({"inputs": [
        {"name": name, "shape": [2], "datatype": name, "parameters": {"binary_data_size": len(p)}}
        for (name, *_), p in zip(kinds, parts)], "parameters": {"binary_data_output": True}})
    answer = server.post(INFER, head.encode() + b"".join(parts),
                         {"Inference-Header-Content-Length": str(len(head))})
    assert answer.status == 200, answer.text
    n = int(answer.headers["Inference-Header-Content-Length"])
    told = {o["name"]: o for o in json.loads(answer.body[:n])["outputs"]}
    assert [told[name]["datatype"] for name, *_ in kinds] == [name for name, *_ in kinds]
    assert answer.body[n:] == b"".join(parts)


@pytest.mark.parametrize("numpy", [True, False])
def test_texts_and_bytes_go_both_ways(handle, numpy):
    server = handle("""
        def load(dir):
            pass
        def predict(inputs):
            x = inputs["x"]
            return {"same": x, "text": [t.decode("latin-1") for t in x]}
    """, python=None if numpy else "/usr/bin/python3")
    raw = base64.b64encode(b"\xff\0").decode()
    answer = server.post(PREDICT, {"instances": [{"x": "\u00e4"}, {"x": {"b64": raw}}]})
    assert answer.json == {"predictions": [{"same": "\u00e4", "text": "\u00c3\u00a4"},
                                           {"same": {"b64": raw}, "text": "\u00ff\0"}]}


@pytest.mark.parametrize("numpy", [True, False])
@pytest.mark.parametrize("shape", [[], [0], [2, 0], [0, 2], [2, 3, 1]])
def test_shapes_come_back(echo, numpy, shape):
    server = echo(numpy)
    n = 1
    for size in shape:
        n *= size
    answer = server.post(INFER, infer("x", list(range(n)), shape, "INT64"))
    assert answer.status == 200, answer.text
    out, = answer.json["outputs"]
    # A list that is empty does not say what it is empty of, nor what its inner ones are.
    if numpy or n:
        assert (out["shape"], out["data"]) == (shape, list(range(n)))


def test_a_large_tensor_goes_both_ways(handle):
    server = handle(ECHO, "--max-body", "100m")
    data = os.urandom(30 << 20)
    head = json.dumps({"inputs": [{"name": "x", "shape": [len(data)], "datatype": "UINT8",
                                   "parameters": {"binary_data_size": len(data)}}],
                       "parameters": {"binary_data_output": True}})
    answer = server.post(INFER, head.encode() + data,
                         {"Inference-Header-Content-Length": str(len(head))})
    assert answer.body.endswith(data)


def test_an_answer_past_the_memory_is_an_error_of_the_handler(handle):
    server = handle("""
        import numpy as np
        def load(dir):
            pass
        def predict(inputs):
            return np.zeros(int(inputs["n"]), "u1")
    """, "--max-memory", "1m")
    answer = server.post(PREDICT, {"inputs": {"n": 2 << 20}})
    assert answer.status == 500 and "at most 1048576 are possible" in answer.json["error"]
    assert server.post(PREDICT, {"inputs": {"n": 3}}).json == {"outputs": [0, 0, 0]}


def test_a_signature_is_checked_and_told(handle):
    server = handle("""
        def load(dir):
            pass
        def signature():
            return {"inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}],
                    "outputs": [{"name": "y", "datatype": "FP64", "shape": [-1]}]}
        def predict(inputs):
            assert inputs["x"].dtype == "float32"
            return inputs["x"].sum(1)
    """)
    told = server.get("/v2/models/m").json
    assert told["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}]
    assert told["outputs"] == [{"name": "y", "datatype": "FP64", "shape": [-1]}]
    assert server.post(PREDICT, {"instances": [[1, 2], [3, 4]]}).json == {"predictions": [3.0, 7.0]}
    bad = server.post(PREDICT, {"instances": [[1, 2, 3]]})
    assert bad.status == 400 and "[1, 3], but the model takes [-1, 2]" in bad.json["error"]
    out, = server.post(INFER, infer("x", [1, 2], [1, 2])).json["outputs"]
    assert out == {"name": "y", "shape": [1], "datatype": "FP64", "data": [3.0]}


def test_requests_are_joined_when_the_handler_says_so(handle):
    server = handle("""
        batch = True
        def load(dir):
            pass
        def predict(inputs):
            return {"x": inputs["x"], "rows": 0 * inputs["x"] + len(inputs["x"])}
    """, "--batch", "64", "--batch-delay", "1s", "--workers", "1")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(
            lambda i: server.post(PREDICT, {"instances": [{"x": i}]}).json["predictions"][0],
            range(8)))
    assert [a["x"] for a in answers] == list(range(8))
    assert max(a["rows"] for a in answers) > 1


def test_predict_may_be_a_coroutine(handle):
    server = handle("""
        import asyncio
        def load(dir):
            pass
        async def predict(inputs):
            await asyncio.sleep(0)
            return inputs["x"]
    """)
    assert server.post(PREDICT, {"inputs": {"x": 3}}).json == {"outputs": 3}


# ---- what goes wrong ----

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


# ---- the beginning and the end ----

@pytest.mark.parametrize("code, says", [
    ("import nothing_of_this_name\ndef load(dir): pass\ndef predict(inputs): pass\n",
     "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
    ("def load(dir): raise OSError('no weights')\ndef predict(inputs): pass\n",
     "OSError: no weights"),
    ("import os\nos._exit(7)\n", "ended with exit status 7"),
    ("def load(dir): pass\ndef predict(inputs): pass\ndef signature(): return {}\n",
     "the handler's signature(): 'inputs' and 'outputs' are lists of 1 to 256"),
])
def test_a_handler_that_cannot_be_loaded_ends_the_server(tmp_path, code, says):
    (tmp_path / "model.py").write_text(code)
    done = subprocess.run([BIN / "ydl-native", "serve", "--port", "0", tmp_path], text=True,
                          capture_output=True, timeout=120, check=False)
    assert done.returncode == 1
    assert says in done.stderr


def test_a_python_that_is_not_there_is_told(tmp_path):
    (tmp_path / "model.py").write_text("")
    done = subprocess.run([BIN / "ydl-native", "serve", "--port", "0", "--python", "/nowhere",
                           tmp_path], text=True, capture_output=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "--python '/nowhere' is neither a Python nor an environment" in done.stderr


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_the_server(handle, signum):
    server = handle(WHO, "--workers", "3")
    pids = children(server)
    assert len(pids) == 3
    server.process.send_signal(signum)
    server.process.wait(60)
    for pid in pids:
        wait_for(lambda p=pid: gone(p))


def test_output_that_nobody_reads_holds_no_worker_up(handle):
    server = handle("""
        import os
        def load(dir):
            pass
        def predict(inputs):
            for i in range(3000):
                print("x" * 100)
            return {"y": inputs["x"], "pid": inputs["x"] * 0 + os.getpid()}
    """, heard=False)
    for i in range(5):  # 300 KB each: a pipe holds 64
        answer = server.post(PREDICT, {"inputs": {"x": i}})
        assert answer.status == 200, answer.text
    os.kill(answer.json["outputs"]["pid"], signal.SIGKILL)
    wait_for(lambda: server.post(PREDICT, {"inputs": {"x": 1}}).status == 200)  # it is replaced
    server.hear()
    wait_for(lambda: any("lines of output were dropped" in line for line in server.errors))
    assert server.errors[0] == "handler 0: " + "x" * 100 + "\n"
