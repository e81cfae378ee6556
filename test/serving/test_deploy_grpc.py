"""A deployment's address answers gRPC too, with its key, and loses no call in an update."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "grpc"))

from grpc_asking import Asking  # noqa: E402
from serving_load import ask as ask_http  # noqa: E402

KEY = "the-key-of-this-deployment"
ROW = [0.5] * 784


@pytest.fixture(scope="module")
def ask():
    with Asking() as asking:
        yield asking


@pytest.fixture
def guarded(serving):
    """`host:port` of two replicas of version 1 that want a key."""
    keys = serving.work / "keys"
    keys.write_text(KEY + "\n")
    keys.chmod(0o600)
    serving.push("mlp2")
    url = serving.deploy("mlp:1", "--replicas", 2, "--cpus", 1, "--key-file", "keys")
    serving.wait_for(lambda: serving.ready(1) == 2, "both replicas")
    return url.removeprefix("http://")


def test_an_update_under_load_of_both_clients_loses_no_call(serving, guarded, ask):
    calls = [{"to": guarded, "model": "mlp", "row": ROW, "key": KEY, "api": api} for api in ("oip", "tfs")]
    for one in calls:
        said = ask(**{**one, "key": "another-key-than-that"})
        assert said["error"] == "StatusCode.UNAUTHENTICATED" and "Authorization: Bearer" in said["text"]
        assert ask(**one)["version"] == 1
    ask.load(*calls, *calls)
    serving.run("serve", "update", "mlp", "--to", 2, "--canary", "50%", "--requests", 100, "--slower", 1000, check=0)
    for one in ask.end():
        assert one["calls"] > 20 and not one["errors"], one
        assert sorted(said["version"] for said in one["answers"]) == [1, 2], one

    # One that is killed takes the calls in its hands with it, at most.
    serving.wait_for(lambda: len(serving.find("ydl-native serve --host")) == 2, "the old ones have ended")
    ask.load(*calls, *calls)
    killed = serving.find("ydl-native serve --host")[0]
    os.kill(killed, signal.SIGKILL)
    serving.wait_for(lambda: killed not in (left := serving.find("ydl-native serve --host")) and len(left) == 2,
                     "another replica")
    serving.wait_for(lambda: serving.ready(2) == 2, "both replicas")
    for one in ask.end():
        assert [said["version"] for said in one["answers"]] == [2], one
        assert len(one["errors"]) <= 1 and all(e["error"] == "StatusCode.UNAVAILABLE" for e in one["errors"]), one


def test_by_tls_and_to_each_of_two_models(serving, ask):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", serving.work / "key.pem",
                    "-out", serving.work / "cert.pem"], check=True, capture_output=True)
    (serving.work / "key.pem").chmod(0o600)
    serving.push("mlp2", "other")
    url = serving.deploy("mlp", "other", "--name", "shop", "--cpus", 1, "--certificate", "cert.pem",
                         "--private-key", "key.pem")
    common = {"to": url.removeprefix("https://"), "row": ROW, "ca": str(serving.work / "cert.pem")}
    said = {(api, name): ask(**common, api=api, model=name) for api in ("oip", "tfs") for name in ("mlp", "other")}
    assert all("row" in one for one in said.values()), said
    for name in ("mlp", "other"):
        assert said["oip", name]["row"] == pytest.approx(said["tfs", name]["row"])
    assert said["oip", "mlp"] != said["oip", "other"]


def test_a_body_in_chunks_is_held_to_the_limit_too(serving):
    """HAProxy passes it on, and the replica refuses it."""
    url = serving.deploy("mlp", "--cpus", 1)
    wanted = ask_http(url)
    host, port = url.removeprefix("http://").split(":")
    piece = b"%x\r\n%s\r\n" % (1 << 20, b" " * (1 << 20))
    with socket.create_connection((host, int(port)), timeout=60) as s:
        s.sendall(b"POST /v1/models/mlp:predict HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(64):
            s.sendall(piece)
        s.sendall(b"1\r\n \r\n")  # one byte more than 64 MiB; the rest would only be in the answer's way
        answer = s.recv(65536)
    assert answer.startswith(b"HTTP/1.1 413 ") and b'"error"' in answer, answer
    assert ask_http(url) == wanted
