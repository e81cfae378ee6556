"""A server with a key answers those who show it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from serve_support import BIN, infer

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "grpc"))

import grpc_clients  # noqa: E402

SMALL = "/v2/models/small/infer"
ROW = infer("x", [1, 2, 3, 4], [1, 4])
KEY = "the-key-of-this-test"


@pytest.fixture(name="keys")
def keys_file(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"# of the test\nanother-key-for-it\n{KEY}\n")
    path.chmod(0o600)
    return path


def test_a_key_is_asked_of_everybody_and_for_all_but_health_and_metrics(serve, keys, tmp_path):
    server = serve("small", "--key-file", keys, "--access-log", tmp_path / "log")
    good = {"Authorization": f"Bearer {KEY}"}
    for headers in ({}, {"Authorization": "Bearer no-key-of-this-test"},
                    {"Authorization": f"Basic {KEY}"}, {"Authorization": f"Bearer {KEY}x"}):
        answer = server.post(SMALL, ROW, headers)
        assert answer.status == 401 and "Authorization: Bearer KEY" in answer.json["error"]
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    for path in ("/metrics", "/", "/v2", "/v1/models/small", "/v2/models/small"):
        assert server.get(path).status == 401
        assert server.ask("GET", path, headers=good).status == 200
    for path in ("/v2/health/ready", "/v2/health/live", "/monitoring/prometheus/metrics"):
        assert server.get(path).status == 200
    assert server.post("/monitoring/prometheus/metrics", b"").status == 401
    assert server.post(SMALL, ROW, good).status == 200
    assert server.post(SMALL, ROW, {"Authorization": "bearer another-key-for-it"}).status == 200
    assert server.end() == 0
    log = (tmp_path / "log").read_text()
    assert "status=401" in log and KEY not in log and KEY not in server.complaints()


def test_calls_of_grpc_need_it_too(serve, keys, library):
    server = serve("small", "--key-file", keys)
    env = {**os.environ,
           "PYTHONPATH": str(grpc_clients.site_packages(grpc_clients.directory()))}
    done = subprocess.run([library / "bin" / "python", HERE / "grpc_key_ask.py", str(server.port),
                           KEY], env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"live": True, "ready": True, "with": [1, 3],
                                       "without": "StatusCode.UNAUTHENTICATED"}


def test_a_file_that_others_can_read_is_refused(library, models, keys):
    keys.chmod(0o644)
    done = subprocess.run([BIN / "ydl-native", "serve", "--port", "0", "--lib", library,
                           "--key-file", keys, models / "small.onnx"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 77
    assert "others can read" in done.stderr and f"chmod 600 {keys}" in done.stderr
