"""Python handlers, `ydl-native serve` with workers: what predict() gets and gives, and how it begins and ends."""

import base64
import json
import os
import signal
import struct
import subprocess
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

import environment
from handler_support import ECHO, INFER, PREDICT, WHO, children, gone
from serve_support import BIN, infer, wait_for


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


# ---- the beginning and the end ----

@pytest.mark.parametrize("code, says", [
    ("import nothing_of_this_name\ndef load(dir): pass\ndef predict(inputs): pass\n",
     "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
    ("def load(dir): raise OSError('no weights')\ndef predict(inputs): pass\n",
     "OSError: no weights"),
    ("import os\nos._exit(7)\n", "ended with exit status 7"),
    ("import sys\ndef load(dir): sys.exit('no weights')\ndef predict(inputs): pass\n",
     "ended with exit status 1: no weights"),
    ("import os, time\ndef load(dir): os.close(3); time.sleep(600)\ndef predict(inputs): pass\n",
     "was killed by signal 9"),
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
