"""What a server does not do for clients that have gone, and what it takes at most."""

import gzip
import http.client
import json
import os
import re
import resource
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from serve_support import BIN, LONG, SLOW, ask, infer, rounds, start_asking, wait_for

sys.path.append(str(Path(__file__).resolve().parents[1] / "grpc"))

import h2  # noqa: E402

ROW = infer("x", [1, 2, 3, 4], [1, 4])


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(connection) -> bool:
    try:
        return ask(connection, "GET", "/v2/health/ready").status == 200
    except OSError:
        connection.close()
        return False


def test_who_hangs_up_leaves_the_queue(serve):
    server = serve("slow", "--queue", "2", "--deadline", "1h")
    running = start_asking(server, SLOW, rounds(LONG))
    wait_for(lambda: server.metric("ydl_serve_running_batches") == 1)
    waiting = [start_asking(server, SLOW, rounds(LONG)) for _ in range(2)]
    wait_for(lambda: server.metric("ydl_serve_waiting_requests") == 2)
    waiting[0].close()
    wait_for(lambda: server.metric("ydl_serve_waiting_requests") == 1)
    waiting[1].sock.shutdown(socket.SHUT_WR)
    wait_for(lambda: server.metric("ydl_serve_waiting_requests") == 0)
    assert server.metric("ydl_serve_running_batches") == 1
    running.close()


def test_a_second_request_behind_it_is_no_hanging_up(serve):
    server = serve("slow", "--deadline", "1h")
    running = start_asking(server, SLOW, rounds(20000))
    wait_for(lambda: server.metric("ydl_serve_running_batches") == 1)
    body = b'{"inputs": [{"name": "n", "shape": [1], "datatype": "INT64", "data": [1]}]}'
    request = (b"POST %s HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n%s"
               % (SLOW.encode(), len(body), body))
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(request)
        s.sendall(request)
        assert running.getresponse().status == 200
        answers = b""
        while answers.count(b"HTTP/1.1 200 OK") < 2:
            answers += (got := s.recv(65536))
            assert got, answers


def test_json_takes_no_more_memory_than_there_is(serve):
    """Digits and commas are the worst: two bytes of them become a value of sixteen."""
    server = serve("small", "--max-memory", "64m", "--max-body", "32m")
    path, head = "/v1/models/small:predict", b'{"instances": [['
    assert server.post(path, {"instances": [[1, 2, 3, 4]]}).status == 200
    before = server.memory()
    answer = server.post(path, head + b"0," * (8 << 20) + b"0]]}")
    assert answer.status == 413 and "binary tensors take less" in answer.json["error"]
    assert server.memory() < before + (64 << 20)
    answer = server.post(path, head + b"0.123456789012345," * (1 << 19) + b"0]]}")
    assert answer.status == 400, answer.text  # read, and not of the model's shape
    assert server.metric("ydl_serve_request_memory_bytes") == 0


def test_while_much_json_is_read_others_are_answered(serve):
    server = serve("small", "--max-memory", "1g")
    body = b'{"instances": [' + b"[0.1,0.2,0.3,0.4]," * (1 << 20) + b"[1,2,3,4]]}"
    large, small = server.connect(), server.connect()
    small.request("GET", "/v2/health/ready")
    assert small.getresponse().read() is not None
    large.request("POST", "/v1/models/small:predict", body)
    waits = []
    while not select.select([large.sock], [], [], 0)[0]:
        begun = time.monotonic()
        small.request("GET", "/v2/health/live")
        assert small.getresponse().read() is not None
        waits.append(time.monotonic() - begun)
    answer = large.getresponse()
    rows = json.loads(answer.read())["predictions"]
    assert answer.status == 200 and len(rows) == (1 << 20) + 1
    assert len(waits) > 20, waits  # reading alone takes longer than twenty answers


def test_a_log_that_nobody_reads_stops_nobody(library, models):
    read_end, write_end = os.pipe()
    with subprocess.Popen([BIN / "ydl-native", "-q", "serve", "--port", (port := str(free_port())),
                           "--lib", library, "--access-log", "-", models / "small.onnx"],
                          stdout=write_end, env={"PATH": "/usr/bin:/bin"}) as process:
        os.close(write_end)
        try:
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
            wait_for(lambda: answers(connection))
            for _ in range(2000):  # a pipe holds 64 KiB
                assert ask(connection, "POST", "/v2/models/small/infer", ROW).status == 200
            text = ask(connection, "GET", "/metrics").text
            lost = re.search(r"^ydl_serve_access_log_lost_total (\S+)$", text, re.M)
            assert float(lost[1]) > 500
            lines = os.read(read_end, 1 << 20).decode().splitlines()
            assert all(line.endswith("rows=1") for line in lines if "infer" in line)
        finally:
            process.kill()
            os.close(read_end)


def test_grpc_and_http_share_their_memory(serve):
    server = serve("small", "--max-memory", "1m", "--max-body", "1m")
    peer = h2.Peer(server.port)
    with peer:
        peer.socket.sendall(h2.headers(1, b"/inference.GRPCInferenceService/ModelInfer")
                            + h2.frame(h2.DATA, 0, 1, b"\0" + struct.pack(">I", 1000000)))
        for _ in range(3):
            peer.socket.sendall(h2.frame(h2.DATA, 0, 1, b"x" * 16000))
        wait_for(lambda: server.metric("ydl_serve_request_memory_bytes") >= 48000)
    wait_for(lambda: server.metric("ydl_serve_request_memory_bytes") == 0)


def test_a_hundred_megabytes_are_refused_in_bounded_memory(serve):
    server = serve("small")
    assert server.post("/v2/models/small/infer", ROW).status == 200
    before = server.memory()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(b"POST /v2/models/small/infer HTTP/1.1\r\nHost: t\r\n"
                  b"Content-Length: %d\r\n\r\n" % (100 << 20))
        answer = s.recv(65536)
        assert answer.startswith(b"HTTP/1.1 413 ") and b"more than 67108864 bytes" in answer
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(b"POST /v2/models/small/infer HTTP/1.1\r\nHost: t\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n")
        answer, piece = b"", b"10000\r\n" + b"x" * 65536 + b"\r\n"
        try:
            for _ in range(1600):
                s.sendall(piece)
        except OSError:
            pass  # it does not read all of it
        try:
            answer = s.recv(65536)
        except OSError:
            pass
        assert answer == b"" or answer.startswith(b"HTTP/1.1 413 ")
        assert server.memory() < before + (150 << 20)
    wait_for(lambda: server.metric("ydl_serve_request_memory_bytes") == 0)
    assert server.post("/v2/models/small/infer", ROW).status == 200


@pytest.mark.parametrize("head, rest", [
    (b"Content-Length: 4|Transfer-Encoding: chunked", b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked|Content-Length: 4", b"0\r\n\r\n"),
    (b"Transfer-Encoding: xchunked", b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked, identity", b"0\r\n\r\n"),
    (b"Transfer-Encoding : chunked", b"0\r\n\r\n"),
    (b"Transfer-Encoding:|\tchunked", b"0\r\n\r\n"),
    (b"Content-Length: 4|Content-Length: 5", b"{}{}"), (b"Content-Length: +4", b"{}{}"),
    (b"Content-Length: 4, 4", b"{}{}"), (b"Content-Length: 0x4", b"{}{}"),
    (b"Content-Length: 18446744073709551617", b"{}{}"),
    (b"Transfer-Encoding: chunked", b"-1\r\n{}\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: chunked", b"10000000000000000\r\n{}\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: chunked", b"4\r\n{}{}0\r\n\r\n"),
    (b"Transfer-Encoding: chunked", b"4 \n{}{}\n0\n\n"),
])
def test_a_request_of_two_meanings_is_refused_and_nothing_behind_it_is_read(shared, head, rest):
    server = shared("small")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(b"POST /v2/models/small/infer HTTP/1.1\r\nHost: t\r\n"
                  + head.replace(b"|", b"\r\n") + b"\r\n\r\n" + rest
                  + b"GET /smuggled HTTP/1.1\r\nHost: t\r\n\r\n")
        answer = s.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1, answer
    assert b"Connection: close" in answer


def test_there_are_files_for_as_many_connections_as_it_may_have(serve):
    server = serve("small", files=(64, 4096))
    held = []
    for _ in range(300):
        held.append(socket.create_connection(("127.0.0.1", server.port), timeout=60))
        held[-1].sendall(b"GET /v2/health/ready HTTP/1.1\r\nHost: t\r\n\r\n")
        assert held[-1].recv(65536).startswith(b"HTTP/1.1 200 ")
    assert server.metric("ydl_serve_connections") >= 300


def test_more_connections_than_files_are_told_and_turned_away(serve):
    server = serve("small", "--connections", "5000", files=(64, 300))
    assert any("--connections 5000 needs" in line and "300 are allowed here" in line
               for line in server.errors), server.errors
    inside, refused = [], 0
    for _ in range(400):
        s = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        s.sendall(b"GET /v2/health/ready HTTP/1.1\r\nHost: t\r\n\r\n")
        answer = s.recv(65536)
        refused += answer.startswith(b"HTTP/1.1 503 ")
        inside += [s] if answer.startswith(b"HTTP/1.1 200 ") else []
    assert len(inside) > 100 and len(inside) + refused == 400
    cpu = busy(server)
    for s in inside:  # who is inside is answered as before
        s.sendall(b"GET /v2/health/ready HTTP/1.1\r\nHost: t\r\n\r\n")
        assert s.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert busy(server) - cpu < 2


def test_without_any_file_left_it_waits_without_spinning(serve):
    server = serve("small")
    inside = server.connect()
    assert ask(inside, "GET", "/v2/health/ready").status == 200
    limits = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    used = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used, limits[1]))
    outside = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(20)]
    for s in outside:
        s.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: t\r\n\r\n")
    cpu, begun = busy(server), time.monotonic()
    time.sleep(0.5)
    assert busy(server) - cpu < 0.5 * (time.monotonic() - begun)
    assert ask(inside, "GET", "/v2/health/ready").status == 200
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limits)
    for s in outside:  # who was not let in has waited, or was sent away
        assert s.recv(65536)[:13] in (b"HTTP/1.1 200 ", b"HTTP/1.1 503 ", b"")


def busy(server) -> float:
    """Seconds of the processor that it has had."""
    words = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def said(server, request):
    """The status of the answer to bytes, and the sentence in its body."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(request)
        s.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(s)
        answer.begin()
        return answer.status, json.loads(answer.read())["error"]


@pytest.mark.parametrize("request_line, status", [
    (b"GET /v1/models/%zz HTTP/1.1", 400), (b"GET /v1/models/../x HTTP/1.1", 400), (b"NONSENSE", 400),
    (b"GET /%s HTTP/1.1" % (b"a" * 20000), 414), (b"GET / HTTP/3.7", 505)])
def test_what_never_was_a_request_is_answered_in_the_same_form(shared, request_line, status):
    got, text = said(shared("small"), request_line + b"\r\nHost: t\r\n\r\n")
    assert got == status and isinstance(text, str) and text


def test_a_packed_body_is_told_as_that(shared):
    server = shared("small")
    body = gzip.compress(b'{"instances": [[1, 2, 3, 4]]}')
    for path in ("/v1/models/small:predict", "/v2/models/small/infer"):
        answer = server.post(path, body, {"Content-Encoding": "gzip"})
        assert answer.status == 415 and "Content-Encoding" in answer.json["error"]
    answer = server.post("/v1/models/small:predict", gzip.decompress(body), {"Content-Encoding": "identity"})
    assert answer.status == 200
