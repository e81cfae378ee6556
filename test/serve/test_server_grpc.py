"""The public clients, unmodified, by gRPC and HTTP on the same port, and the end with a connection open."""

import json
import os
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "grpc"))

import grpc_clients  # noqa: E402
import h2  # noqa: E402
from serve_support import LONG, wait_for  # noqa: E402

HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")


def f32(rows):
    return [[struct.unpack("<f", struct.pack("<f", v))[0] for v in row] for row in rows]


def test_the_public_clients_get_the_same_answers(serve, library):
    server = serve("small")
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3",
           "PYTHONPATH": str(grpc_clients.site_packages(grpc_clients.directory()))}
    done = subprocess.run([library / "bin" / "python", HERE / "grpc_clients_ask.py",
                           str(server.port)], env=env, capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    rest = server.post("/v1/models/small:predict", {"instances": [[1, 2, 3, 4]]}).json
    assert told.pop("triton") == told.pop("tensorflow") == f32(rest["predictions"])
    assert told == {"live": True, "ready": True, "model": True, "inputs": "x", "id": "mine",
                    "unknown": "StatusCode.NOT_FOUND", "state": 30,
                    "signature": {"x": [1, [-1, 4]]}}
    assert server.end() == 0


def test_the_public_client_of_http_gets_the_same_answers(serve, library):
    server = serve("small")
    env = {**os.environ, "PYTHONPATH": str(grpc_clients.site_packages(grpc_clients.directory()))}
    done = subprocess.run([library / "bin" / "python", HERE / "http_client_asks.py", str(server.port)], env=env,
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    rest = f32(server.post("/v1/models/small:predict", {"instances": [[1, 2, 3, 4]]}).json["predictions"])
    assert told.pop("answers") == [rest] * 8
    assert told == {"live": True, "ready": True, "model": True, "other": False, "server": "ydl",
                    "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}],
                    "index": [{"name": "small", "version": "1", "state": "READY", "reason": ""}],
                    "id": "42", "unknown": ["404", "Request for unknown model: 'other' is not found"],
                    "wrong": "400"}
    assert server.end() == 0


def test_an_open_connection_without_a_call_does_not_keep_it(serve):
    server = serve("small", "--grace", "4s")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(HELLO)
        assert s.recv(9)[3:4] == b"\4"  # SETTINGS: it speaks HTTP/2
        assert server.end() == 0
        while s.recv(4096):
            pass


def field(number, data):
    """One of a message, of at most 127 bytes."""
    return bytes([number << 3 | 2, len(data)]) + data


def test_calls_have_a_line_in_the_access_log_and_a_cancelled_one_is_no_failure(serve, tmp_path):
    log = tmp_path / "access.log"
    server = serve("slow", "--access-log", log, "--deadline", "1h", "--grace", "0s")
    oip = b"/inference.GRPCInferenceService/"
    tensor = field(1, b"n") + field(2, b"INT64") + field(3, b"\1")
    endless = field(1, b"slow") + field(5, tensor) + field(7, struct.pack("<q", LONG))
    with h2.Peer(server.port) as peer:
        peer.send(h2.headers(1, oip + b"ServerLive"), h2.frame(h2.DATA, 1, 1, h2.message(b"")))
        assert peer.first(h2.DATA)[3] == h2.message(b"\x08\x01")
        peer.send(h2.headers(3, oip + b"ModelInfer"), h2.frame(h2.DATA, 1, 3, h2.message(endless)))
        wait_for(lambda: server.metric("ydl_serve_running_batches") == 1)
        peer.send(h2.frame(h2.RST_STREAM, 0, 3, (8).to_bytes(4, "big")))
        name = 'ydl_serve_requests_total{operation="predict",code="499"}'
        wait_for(lambda: server.metric(name) == 1)
    lines = [line for line in log.read_text().splitlines() if "/inference." in line]
    assert [re.sub(r"total_us=\d+", "total_us=", line.split(" ", 2)[2]) for line in lines] == [
        'from=127.0.0.1 "POST /inference.GRPCInferenceService/ServerLive" status=200 in=0 out=2 '
        'total_us= queue_us=0 run_us=0 rows=0',
        'from=127.0.0.1 "POST /inference.GRPCInferenceService/ModelInfer" status=499 '
        f'in={len(endless)} out=0 total_us= queue_us=0 run_us=0 rows=0']
