"""`ydl-native serve` with the real ONNX Runtime: answers, limits and deadlines. The shapes
of the protocols are tested where they are written."""

import base64
import json
import socket
import struct
import threading
import time

import pytest

from serve_support import SLOW, LONG, infer, rounds, start_asking, wait_for


def f32(values):
    """The same numbers as 32 bits have them."""
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


# ---- answers ----

@pytest.mark.parametrize("batch", [1, 16])
def test_answers_are_those_of_onnx_runtime_itself(serve, models, batch):
    told = json.loads((models / "answers.json").read_text())
    for case, data in told.items():
        name, rows = case.split("/")
        server = serve(name, "--batch", batch)
        row = server.post(f"/v1/models/{name}:predict", {"instances": data["x"]})
        assert row.status == 200, row.text
        assert [f32(r) for r in row.json["predictions"]] == data["y"]
        flat = [v for r in data["x"] for v in r]
        oip = server.post(f"/v2/models/{name}/infer",
                          infer("x", flat, [int(rows), len(data["x"][0])], id="42"))
        assert oip.status == 200, oip.text
        assert oip.json["id"] == "42"
        assert f32(oip.json["outputs"][0]["data"]) == [v for r in data["y"] for v in r]
        assert server.end() == 0


def test_binary_tensors_come_and_go_as_bytes(serve, models):
    data = json.loads((models / "answers.json").read_text())["mlp/5"]
    x = b"".join(struct.pack(f"<{len(r)}f", *r) for r in data["x"])
    head = json.dumps({"inputs": [{"name": "x", "shape": [5, 784], "datatype": "FP32",
                                   "parameters": {"binary_data_size": len(x)}}],
                       "parameters": {"binary_data_output": True}}).encode()
    server = serve("mlp")
    answer = server.post("/v2/models/mlp/infer", head + x,
                         {"Inference-Header-Content-Length": str(len(head)),
                          "Content-Type": "application/octet-stream"})
    assert answer.status == 200, answer.text
    n = int(answer.headers["Inference-Header-Content-Length"])
    output = json.loads(answer.body[:n])["outputs"][0]
    assert (output["name"], output["shape"]) == ("y", [5, 10])
    assert list(struct.unpack("<50f", answer.body[n:])) == [v for r in data["y"] for v in r]


@pytest.mark.parametrize("kind, values", [
    ("BOOL", [True, False]), ("UINT8", [0, 255]), ("UINT16", [0, 65535]),
    ("UINT32", [0, 2 ** 32 - 1]), ("UINT64", [0, 2 ** 64 - 1]), ("INT8", [-128, 127]),
    ("INT16", [-32768, 32767]), ("INT32", [-2 ** 31, 2 ** 31 - 1]),
    ("INT64", [-2 ** 63, 2 ** 63 - 1]), ("FP32", [0.1, -1e30]), ("FP64", [0.1, 1e300]),
    ("BYTES", ["", "zwölf"])])
def test_every_type_goes_through(serve, kind, values):
    name = f"same_{kind.lower()}"
    server = serve(name)
    answer = server.post(f"/v2/models/{name}/infer", infer("x", values, [1, 2], kind))
    assert answer.status == 200, answer.text
    output = answer.json["outputs"][0]
    assert (output["datatype"], output["shape"]) == (kind, [1, 2])
    assert output["data"] == (f32(values) if kind == "FP32" else values) or \
        f32(output["data"]) == f32(values)


def test_bytes_in_base64_are_texts_of_the_model(serve):
    server = serve("same_bytes")
    b64 = base64.b64encode("né".encode()).decode()
    answer = server.post("/v1/models/same_bytes:predict", {"instances": [[{"b64": b64}]]})
    assert answer.json == {"predictions": [["né"]]}, answer.text


def test_requests_that_meet_are_run_together_and_keep_their_own_answers(serve):
    server = serve("small", "--batch", "8", "--batch-delay", "60s")
    answers = {}

    def one(i):
        answers[i] = server.post("/v1/models/small:predict", {"instances": [[i, 0, 0, 0]]})
    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    alone = serve("small")
    for i in range(8):
        expected = alone.post("/v1/models/small:predict", {"instances": [[i, 0, 0, 0]]}).json
        assert answers[i].status == 200
        assert answers[i].json == expected
    assert server.metric("ydl_serve_batch_rows_count") == 1
    assert server.metric("ydl_serve_batch_rows_sum") == 8


def test_a_row_that_the_model_refuses_fails_alone(serve):
    server = serve("lookup", "--batch", "4", "--batch-delay", "60s")
    answers = {}

    def one(i):
        answers[i] = server.post("/v1/models/lookup:predict", {"instances": [i]})
    threads = [threading.Thread(target=one, args=(i,)) for i in (1, 2, 99, 4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [answers[i].json for i in (1, 2, 4)] == [{"predictions": [v]} for v in (10, 20, 40)]
    assert answers[99].status == 400, answers[99].text
    assert "indices element out of data bounds" in answers[99].json["error"]


# ---- what is wrong ----

@pytest.mark.parametrize("path, body, status, text", [
    ("/v2/models/small/infer", b"{", 400, ""),
    ("/v2/models/small/infer", infer("x", [1, 2, 3], [1, 3]), 400, "x"),
    ("/v2/models/small/infer", infer("z", [1, 2, 3, 4], [1, 4]), 400, "z"),
    ("/v2/models/small/infer", infer("x", [1, 2, 3, 4], [1, 4], "INT64"), 400, "INT64"),
    ("/v2/models/small/infer", infer("x", [1, 2, 3], [1, 4]), 400, ""),
    ("/v2/models/other/infer", infer("x", [1, 2, 3, 4], [1, 4]), 404, "other"),
    ("/v2/models/small/versions/9/infer", infer("x", [1, 2, 3, 4], [1, 4]), 404, ""),
    ("/v1/models/small:predict", {"instances": [[1, 2, 3]]}, 400, ""),
    ("/v1/models/small:predict", {}, 400, ""),
    ("/v1/models/other:predict", {"instances": [[1, 2, 3, 4]]}, 404, "other"),
    ("/nothing", {}, 404, ""),
])
def test_what_is_wrong_has_its_status_and_a_sentence(serve, path, body, status, text):
    server = serve("small")
    answer = server.post(path, body)
    assert answer.status == status, answer.text
    assert text in answer.json["error"]
    assert server.get("/v2/health/ready").status == 200


def test_a_body_over_the_limit_is_refused_before_it_is_read(serve):
    server = serve("small", "--max-body", "100k")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(b"POST /v2/models/small/infer HTTP/1.1\r\nHost: h\r\n"
                  b"Content-Length: 100000000\r\n\r\n")
        got = s.makefile("rb").read()  # nothing of the body was sent
    assert got.startswith(b"HTTP/1.1 413 "), got
    assert b'"error"' in got
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(b"POST /v2/models/small/infer HTTP/1.1\r\nHost: h\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n")
        piece = b"8000\r\n" + b" " * 0x8000 + b"\r\n"
        for _ in range(4):
            s.sendall(piece)
        assert s.makefile("rb").readline().startswith(b"HTTP/1.1 413 ")


def test_slow_clients_are_cut_off(serve):
    server = serve("small", "--header-timeout", "300ms", "--body-timeout", "300ms")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as head, \
            socket.create_connection(("127.0.0.1", server.port), timeout=60) as body:
        head.sendall(b"POST /v2/models/small/infer HTTP/1.1\r\nHost:")
        body.sendall(b"POST /v2/models/small/infer HTTP/1.1\r\nHost: h\r\n"
                     b"Content-Length: 1000\r\n\r\n{")
        assert head.makefile("rb").read().startswith(b"HTTP/1.1 408 ")
        assert body.makefile("rb").read().startswith(b"HTTP/1.1 408 ")
    assert server.metric("ydl_serve_request_memory_bytes") == 0


def test_smuggled_requests_are_refused(serve):
    server = serve("small")
    for head in (b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"Content-Length: 5\r\n"
                 b"Content-Length: 6", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
            s.sendall(b"POST /v2/models/small/infer HTTP/1.1\r\nHost: h\r\n" + head +
                      b"\r\n\r\n0\r\n\r\nGET /v2 HTTP/1.1\r\nHost: h\r\n\r\n")
            got = s.makefile("rb").read()
        assert got.startswith(b"HTTP/1.1 400 "), got
        assert got.count(b"HTTP/1.1 ") == 1, got


# ---- too much, too late ----

def test_a_full_queue_is_429_and_says_when_to_come_again(serve):
    server = serve("slow", "--queue", "2", "--deadline", "1h")
    waiting = [start_asking(server, SLOW, rounds(LONG))]
    wait_for(lambda: server.metric("ydl_serve_running_batches") == 1)
    waiting += [start_asking(server, SLOW, rounds(LONG)) for _ in range(2)]
    wait_for(lambda: server.metric("ydl_serve_waiting_requests") == 2)
    answer = server.post(SLOW, rounds(1))
    assert (answer.status, answer.headers["Retry-After"]) == (429, "1"), answer.text
    assert "queue is full" in answer.json["error"]
    answer = server.post("/v1/models/slow:predict", {"inputs": {"n": [1]}})
    assert answer.status == 429, answer.text
    assert server.get("/v2/health/ready").status == 200
    for connection in waiting:
        connection.close()


def test_a_running_request_is_answered_at_its_deadline(serve):
    server = serve("slow", "--deadline", "400ms")
    begun = time.monotonic()
    running, queued = (start_asking(server, SLOW, rounds(LONG)) for _ in range(2))
    assert running.getresponse().status == 504
    assert time.monotonic() - begun >= 0.39
    assert queued.getresponse().status == 504
    assert server.metric("ydl_serve_running_batches") == 1  # the model still computes
    assert server.metric("ydl_serve_abandoned_total") == 1
    answer = server.post("/v1/models/slow:predict", {"inputs": {"n": [1]}})
    assert answer.status == 504
    assert server.get("/v2/health/live").status == 200


def test_a_result_that_came_too_late_is_thrown_away(serve):
    server = serve("slow", "--deadline", "300ms")
    n = 20000
    while server.post(SLOW, rounds(n)).status == 200:  # until it is too long for this machine
        n *= 2
    wait_for(lambda: server.metric("ydl_serve_running_batches") == 0)
    answer = server.post(SLOW, rounds(1))
    assert answer.status == 200, answer.text
    assert answer.json["outputs"][0]["data"] == [64]
    assert server.metric("ydl_serve_request_memory_bytes") == 0


def test_a_body_that_memory_never_has_room_for_is_not_told_to_come_again(serve):
    server = serve("small", "--max-memory", "100k", "--max-body", "200k")
    padded = infer("x", [1, 2, 3, 4], [1, 4]) | {"parameters": {"pad": "x" * 150_000}}
    assert server.post("/v2/models/small/infer", padded).status == 413


def test_memory_of_requests_is_counted_until_they_are_gone(serve):
    """What runs after its client was answered still has its body."""
    server = serve("slow", "--deadline", "300ms", "--max-memory", "250k", "--max-body", "200k")
    padded = rounds(LONG) | {"parameters": {"pad": "x" * 150_000}}
    assert server.post(SLOW, padded).status == 504
    assert server.metric("ydl_serve_running_batches") == 1
    assert server.metric("ydl_serve_request_memory_bytes") >= 150_000
    answer = server.post(SLOW, padded)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "1"), answer.text
    assert "memory" in answer.json["error"]
