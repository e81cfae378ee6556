"""The beginning and the end of `ydl-native serve`, and what it has besides answers: ids, an access
log, pages, metrics."""

import json
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest

from serve_support import BIN, LONG, SLOW, ask, infer, rounds, start_asking, wait_for


# ---- the beginning ----

def test_it_is_ready_only_when_warm(serve, models, tmp_path):
    version = tmp_path / "version"
    (version / "model").mkdir(parents=True)
    (version / "warmup").mkdir()
    shutil.copy(models / "slow.onnx", version / "model" / "model.onnx")
    (version / "MANIFEST.json").write_text('{"format": 1, "name": "cat", "version": 7}')
    (version / "warmup" / "1.json").write_text('{"inputs": {"n": [3]}}')
    (version / "warmup" / "2.json").write_text(json.dumps(rounds(LONG)))
    server = serve(version, ready=False)
    wait_for(lambda: server.metric("ydl_serve_running_batches") == 1)
    assert server.get("/v2/health/live").status == 200
    assert server.get("/v2/health/ready").status in (400, 503)
    assert server.get("/v2/models/cat/ready").status in (400, 503)
    assert server.get("/v1/models/cat").json["model_version_status"][0]["state"] == "LOADING"
    assert server.post("/v2/models/cat/infer", rounds(1)).status == 503
    early = server.post("/v1/models/cat:predict", {"inputs": {"n": [1]}})
    assert early.status == 503 and early.headers["Retry-After"] == "1"
    assert server.metric("ydl_serve_ready") == 0


def test_warm_up_requests_of_each_form_are_answered(serve, models, tmp_path):
    shutil.copy(models / "small.onnx", tmp_path / "model.onnx")
    (tmp_path / "warmup").mkdir()
    x = struct.pack("<4f", 1, 2, 3, 4)
    head = json.dumps({"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32",
                                   "parameters": {"binary_data_size": 16}}]}).encode()
    (tmp_path / "warmup" / "a.json").write_text('{"instances": [[1, 2, 3, 4]]}')
    (tmp_path / "warmup" / "b.json").write_text(json.dumps(infer("x", [1, 2, 3, 4], [1, 4])))
    (tmp_path / "warmup" / "c.bin").write_bytes(
        b"Inference-Header-Content-Length: %d\n\n" % len(head) + head + x)
    server = serve(tmp_path, "--name", "m", "--model-version", "3", "--label", "champion")
    assert server.ready["warmup_requests"] == 3
    assert server.metric("ydl_serve_batch_rows_count") == 3
    assert server.get("/v2/models/m/versions/3/ready").status == 200
    row = server.post("/v1/models/m/labels/champion:predict", {"instances": [[1, 2, 3, 4]]})
    assert row.status == 200, row.text


def test_it_can_be_ended_while_the_library_loads(serve, tmp_path):
    os.mkfifo(tmp_path / "model.onnx")  # which the library opens, and nobody writes to
    server = serve(tmp_path, "--name", "m", ready=False)
    assert server.get("/v2/health/live").status == 200
    assert server.get("/v1/models/m").json["model_version_status"][0]["state"] == "LOADING"
    assert server.end() == 0


@pytest.mark.parametrize("name, text", [
    ("bad.json", '{"instances": [[1, 2, 3]]}'), ("none.json", "{"), ("short.bin", "{}"),
    ("lines.bin", "Inference-Header-Content-Length: 3\n{}")])
def test_a_version_that_fails_its_warm_up_does_not_serve(library, models, tmp_path, name, text):
    shutil.copy(models / "small.onnx", tmp_path / "model.onnx")
    (tmp_path / "warmup").mkdir()
    (tmp_path / "warmup" / name).write_text(text)
    done = run(library, tmp_path)
    assert done.returncode == 1
    assert f"the warm-up request '{name}' failed" in done.stderr
    assert "ready" not in done.stdout


def run(library, *args, **options):
    """`ydl-native serve ARGS` that ends by itself."""
    return subprocess.run([BIN / "ydl-native", "serve", "--port", "0", "--lib", library,
                           *map(str, args)], capture_output=True, text=True, timeout=120,
                          check=False, **options)


@pytest.mark.parametrize("model, args, text", [
    ("noise", (), "ONNX Runtime cannot load it"),
    ("cut", (), "ONNX Runtime cannot load it"),
    ("empty", (), "ONNX Runtime cannot load it"),
    ("opset99", (), "opset"),
    ("nothing", (), "No such file"),
    ("small", ("--device", "cuda"), "has no CUDA"),
    ("small", ("--device", "toaster"), "is not a device"),
    ("small", ("--lib", "/nowhere"), "there is no libonnxruntime.so in '/nowhere'"),
    ("small", ("--lib", __file__), "load ONNX Runtime"),
    ("small", ("--access-log", "/nowhere/log"), "open the access log"),
    ("small", ("--warmup", "/nowhere"), "open the warm-up requests"),
])
def test_what_cannot_be_served_is_a_sentence_and_code_1(library, models, model, args, text):
    done = run(library, models / f"{model}.onnx", *args)
    assert done.returncode == 1, done.stderr
    assert text in done.stderr


@pytest.mark.parametrize("args", [
    (), ("a", "b"), ("--no-model", "a"), ("a", "--port", "70000"), ("a", "--batch", "0"),
    ("a", "--max-memory", "0"),
    ("a", "--instances", "9", "--cpus", "2"), ("a", "--wonder")])
def test_wrong_usage_is_code_2(library, args):
    assert run(library, *args).returncode == 2


def test_without_a_model_it_is_small(serve):
    server = serve(None, "--no-model", ready=False)
    assert server.get("/v2/health/live").status == 200
    assert server.memory() <= 8 << 20
    assert server.end() == 0


def test_threads_follow_the_processors_that_it_was_given(serve):
    def threads(cpus):
        server = serve("mlp", "--cpus", cpus)
        server.post("/v1/models/mlp:predict", {"instances": [[0] * 784]})
        tasks = subprocess.run(["ls", f"/proc/{server.process.pid}/task"], capture_output=True,
                               text=True, check=True).stdout.split()
        return len(tasks)
    assert threads(3) - threads(1) == 2


# ---- the end ----

def test_draining_answers_what_is_in_flight_and_lets_nobody_in(serve):
    server = serve("slow", "--grace", "60s", "--deadline", "1h")
    n = 2000
    while True:
        begun = time.monotonic()
        server.post(SLOW, rounds(n))
        if time.monotonic() - begun > 1:
            break
        n *= 2
    idle = server.connect()
    assert ask(idle, "GET", "/v2/health/ready").status == 200
    busy = start_asking(server, SLOW, rounds(n))
    wait_for(lambda: server.metric("ydl_serve_running_batches") == 1)
    server.process.terminate()
    wait_for(lambda: refuses(server))
    answer = busy.getresponse()
    assert answer.status == 200
    assert answer.headers["Connection"] == "close"
    assert json.loads(answer.read())["outputs"][0]["data"] == [64]
    assert server.process.wait(60) == 0


def refuses(server) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port), timeout=60).close()
    except ConnectionRefusedError:
        return True
    return False


def test_an_open_connection_is_told_that_it_is_not_ready_any_more(serve):
    server = serve("slow", "--grace", "60s", "--deadline", "1h")
    busy, asking = start_asking(server, SLOW, rounds(LONG)), server.connect()
    wait_for(lambda: server.metric("ydl_serve_running_batches") == 1)
    assert ask(asking, "GET", "/v2/health/ready").status == 200
    # A request that has begun before the end and is finished after it.
    asking.sock.sendall(b"GET /v2/health/ready HTTP/1.1\r\nHost: h\r\n")
    server.process.terminate()
    wait_for(lambda: refuses(server))
    asking.sock.sendall(b"\r\n")
    answer = asking.sock.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert b"\r\nConnection: close\r\n" in answer
    busy.close()


@pytest.mark.parametrize("grace", ["0s", "100ms"])
def test_a_connection_without_a_request_is_not_cut_off(serve, grace):
    server = serve("small", "--grace", grace)
    idle = server.connect()
    assert ask(idle, "GET", "/v2/health/ready").status == 200
    assert server.end() == 0, server.complaints()


def test_the_end_comes_when_grace_is_over(serve):
    server = serve("slow", "--grace", "300ms", "--deadline", "1h")
    busy = start_asking(server, SLOW, rounds(LONG))
    wait_for(lambda: server.metric("ydl_serve_running_batches") == 1)
    server.process.terminate()
    assert server.process.wait(60) == 1
    assert "cut off when --grace was over" in server.complaints()
    with pytest.raises(OSError):
        busy.getresponse()


def test_a_request_that_never_comes_whole_is_cut_off_with_code_1(serve):
    server = serve("small", "--grace", "300ms")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(b"POST /v2/models/small/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n"
                  b"Expect: 100-continue\r\n\r\n")
        assert s.recv(4096).startswith(b"HTTP/1.1 100 ")  # it waits for the body
        assert server.end() == 1
    assert "cut off when --grace was over" in server.complaints()


# ---- beside the model ----

def test_request_ids_go_through(serve):
    server = serve("small")
    assert server.ask("GET", "/v2", headers={"x-request-id": "abc-1"}).headers["x-request-id"] == \
        "abc-1"
    made = [server.get("/v2").headers["x-request-id"] for _ in range(2)]
    assert made[0] != made[1]
    wild = server.ask("GET", "/v2", headers={"x-request-id": "a b" * 100})
    assert re.fullmatch(r"[0-9a-f]+-\d+", wild.headers["x-request-id"])


def test_the_access_log_has_a_line_for_each_request(serve, tmp_path):
    log = tmp_path / "access.log"
    server = serve("small", "--access-log", log)
    server.post("/v1/models/small:predict", {"instances": [[1, 2, 3, 4]]},
                {"x-request-id": "mine"})
    server.get('/"%0a%7f"')
    assert server.end() == 0
    lines = log.read_text().splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r'20\d\d-\S+Z id=mine from=127\.0\.0\.1 "POST /v1/models/small:predict" '
                        r'status=200 in=29 out=\d+ total_us=\d+ queue_us=\d+ run_us=\d+ rows=1',
                        lines[0]), lines[0]
    assert " status=4" in lines[1]
    assert lines[1].count('"') == 2


def test_pages_of_other_origins_may_ask_when_they_were_named(serve):
    origin = {"Origin": "http://a.example"}
    closed, named, wide = (serve("small", *args) for args in
                           ((), ("--cors", "http://a.example"), ("--cors", "*")))
    for server, allowed in ((closed, None), (named, "http://a.example"), (wide, "*")):
        for method in ("OPTIONS", "GET"):
            answer = server.ask(method, "/v2", headers=origin)
            assert answer.status == 200
            assert answer.headers["Access-Control-Allow-Origin"] == allowed
    other = named.ask("GET", "/v2", headers={"Origin": "http://b.example"})
    assert other.headers["Access-Control-Allow-Origin"] is None
    asked = named.ask("OPTIONS", "/v2/models/small/infer", headers=origin)
    assert "POST" in asked.headers["Access-Control-Allow-Methods"]


def test_the_page_to_try_brings_all_that_it_needs(serve):
    answer = serve("small").get("/")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert not re.search(r"https?://", answer.text)


def test_metrics_are_what_prometheus_reads(serve):
    server = serve("small")
    server.post("/v1/models/small:predict", {"instances": [[1, 2, 3, 4]]})
    server.post("/v1/models/small:predict", {})
    answer = server.get("/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    check_metrics(answer.text)
    assert 'ydl_serve_requests_total{operation="predict",code="200"} 1' in answer.text
    assert 'ydl_serve_requests_total{operation="predict",code="400"} 1' in answer.text


SAMPLE = re.compile(r'([a-z_]+)(\{([a-z_]+="(\\.|[^"\\\n])*")(,[a-z_]+="(\\.|[^"\\\n])*")*\})? '
                    r'(-?[0-9.]+(e[+-]?\d+)?|\+Inf|NaN)')


def check_metrics(text: str) -> None:
    """What `promtool check metrics` asks for (test/serving/test_prometheus.py has the real one): each name has its help and type first, once; counters
    end in _total; histograms have rising classes and the sums that belong to them."""
    assert text.endswith("\n")
    kinds, helps, seen, classes = {}, set(), set(), {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helps, line
            helps.add(name)
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in helps and name not in kinds, line
            assert kind in ("counter", "gauge", "histogram"), line
            assert (kind == "counter") == name.endswith("_total"), line
            kinds[name] = kind
            continue
        found = SAMPLE.fullmatch(line)
        assert found, line
        assert line.rsplit(" ", 1)[0] not in seen, line
        seen.add(line.rsplit(" ", 1)[0])
        base = re.sub(r"_(bucket|sum|count)$", "", found[1])
        name = base if kinds.get(base) == "histogram" else found[1]
        assert name in kinds, line
        if found[1].endswith("_bucket"):
            classes.setdefault(name, []).append(float(found[7] if found[7] != "+Inf" else "inf"))
    for name, kind in kinds.items():
        if kind != "histogram":
            continue
        assert classes[name] == sorted(classes[name])
        assert f'{name}_bucket{{le="+Inf"}} {classes[name][-1]:.0f}\n' in text
        assert f"{name}_count {classes[name][-1]:.0f}\n" in text
        assert f"{name}_sum " in text


def test_load_beyond_what_it_can_do_is_answered_200_or_429(serve):
    server = serve("slow", "--queue", "4")
    n = 200
    while True:  # until a run takes far longer than a client needs for its next request
        begun = time.monotonic()
        server.post(SLOW, rounds(n))
        if time.monotonic() - begun > 0.02:
            break
        n *= 2
    seen, wrong = set(), []

    def hammer():
        connection = server.connect()
        for _ in range(50):
            answer = ask(connection, "POST", SLOW, rounds(n))
            seen.add(answer.status)
            if answer.status == 200 and answer.json["outputs"][0]["data"] != [64]:
                wrong.append(answer.text)
    threads = [threading.Thread(target=hammer) for _ in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == {200, 429} and not wrong
    assert server.metric("ydl_serve_request_memory_bytes") == 0
    assert server.end() == 0


def test_a_port_that_is_taken_is_a_sentence(serve, library, models):
    server = serve("small")
    done = run(library, models / "small.onnx", "--port", server.port)
    assert done.returncode == 1
    assert str(server.port) in done.stderr
