"""gRPC on the same port: the public clients, unmodified, and the end with a connection open."""

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "grpc"))

import grpc_clients  # noqa: E402

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
                    "unknown": "StatusCode.NOT_FOUND", "state": 30}
    assert server.end() == 0


def test_an_open_connection_without_a_call_does_not_keep_it(serve):
    server = serve("small", "--grace", "1h")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(HELLO)
        assert s.recv(9)[3:4] == b"\4"  # SETTINGS: it speaks HTTP/2
        assert server.end() == 0
        while s.recv(4096):
            pass
