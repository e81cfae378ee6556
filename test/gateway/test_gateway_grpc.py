"""gRPC through the gateway, with the public clients and real model servers behind it."""

import json

import h2
import pytest
from gateway_support import Gateway, Replica, request, running, until
from grpc_asking import Asking

ROW = [1, 2, 3, 4]


@pytest.fixture(scope="module")
def ask():
    with Asking() as asking:
        yield asking


def version(number, *servers, grpc=True):
    return {"version": number, "grpc": grpc, "replicas": [
        {"name": f"{number}-{i}", "address": f"127.0.0.1:{s.port}"} for i, s in enumerate(servers)]}


@pytest.fixture(scope="module")
def shop(tmp_path_factory, server):
    """Two models, one of them with two versions."""
    g = Gateway(tmp_path_factory.mktemp("shop"), models=[
        {"name": "small", "serve": 1, "versions": [version(1, server("small", "small", 1)),
                                                   version(2, server("small", "small", 2))]},
        {"name": "other", "serve": 5, "versions": [version(5, server("small", "other", 5))]}]).start()
    with running(g):
        g.await_ready("1-0", "2-0", "5-0")
        yield g


@pytest.mark.parametrize("api", ["oip", "tfs"])
def test_a_call_goes_to_the_model_and_version_that_its_message_names(shop, ask, api):
    def call(**what):
        return ask(**{"to": f"127.0.0.1:{shop.port}", "api": api, "model": "small", "row": ROW, **what})
    wanted = json.loads(request(shop.port, "/v1/models/small:predict",
                                json.dumps({"instances": [ROW]}).encode())[2])["predictions"][0]
    for more, number in (({}, 1), ({"version": 2}, 2), ({"model": "other"}, 5), ({"model": "other", "version": 5}, 5)):
        said = call(**more)
        assert said.get("version") == number, (more, said)
        assert said["row"] == pytest.approx(wanted)
    assert call(model="nobody")["error"] == "StatusCode.NOT_FOUND"
    assert call(version=9) == {"error": "StatusCode.NOT_FOUND", "text": "This version is not served here."}
    assert call(input="z")["error"] == "StatusCode.INVALID_ARGUMENT"


def test_a_large_message_is_routed_by_its_beginning(tmp_path, ask, server):
    """HAProxy's buffer has 64 KB, and the message 4 MB."""
    first, second = server("small", "first", 1), server("mlp", "mlp", 3)
    g = Gateway(tmp_path, models=[{"name": "first", "serve": 1, "versions": [version(1, first)]},
                                  {"name": "mlp", "serve": 3, "versions": [version(3, second)]}])
    with running(g.start()):
        g.await_ready("1-0", "3-0")
        for api in ("oip", "tfs"):
            said = ask(to=f"127.0.0.1:{g.port}", api=api, model="mlp", row=[0.5] * (1 << 20))
            assert said["error"] == "StatusCode.INVALID_ARGUMENT" and "mlp" not in said["text"], said
            assert ask(to=f"127.0.0.1:{g.port}", api=api, model="mlp", row=[0.5] * 784)["version"] == 3


def test_calls_count_as_requests_and_failed_ones_as_failed(tmp_path, ask, server):
    """What is watched in a new version is the same for both protocols."""
    g = Gateway(tmp_path, models=[{"name": "small", "serve": 1, "versions": [
        version(1, server("small", "small", 1))]}])
    with running(g.start()):
        g.await_ready("1-0")
        for _ in range(5):
            assert ask(to=f"127.0.0.1:{g.port}", api="oip", model="small", row=ROW)["version"] == 1
        for question in ("live", "ready"):  # no requests to a model
            assert request(g.port, f"/v2/health/{question}", method="GET")[0] == 200
        assert request(g.port, "/v2/models/small", method="GET")[0] == 200
        v = until(lambda: (v := g.versions()[1])["requests"] == 6 and v, "6 requests are counted")
        assert v["errors"] == 0 and v["replicas"][0]["requests"] == 6


def test_without_a_replica_and_for_programs_without_grpc_clients_read_a_sentence(tmp_path, ask):
    a = Replica("a")
    g = Gateway(tmp_path, models=[
        {"name": "none", "serve": 1, "versions": [version(1)]},
        {"name": "m", "serve": 1, "versions": [{"version": 1, "replicas": [a.spec()]}]}]).start()
    with running(g, a):
        g.await_ready("a")
        for api in ("oip", "tfs"):
            for name, status, text in (("none", "UNAVAILABLE", "No replica of none, version 1, is ready."),
                                       ("m", "UNIMPLEMENTED", "This model does not answer gRPC.")):
                assert ask(to=f"127.0.0.1:{g.port}", api=api, model=name, row=ROW) == {
                    "error": f"StatusCode.{status}", "text": text}
        v = until(lambda: (v := g.versions()[1])["requests"] == 2 and v, "2 calls are counted")
        assert v["errors"] == 2


def test_messages_that_are_none_are_answered_by_a_status(shop):
    """Whatever stands where the name should be."""
    path = b"/inference.GRPCInferenceService/ModelInfer"
    broken = (b"", b"\xff" * 40, b"\x0a\xff\xff\xff\xff\x0f" + b"x" * 300, b"\x0a\x05sma", b"\x0a\x80", b"\x0b\x0b",
              b"\x0a\x05other\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f")
    for message in broken:
        with h2.Peer(shop.port) as peer:
            peer.send(h2.headers(1, path), h2.frame(h2.DATA, 1, 1, h2.message(message)))
            assert peer.first(h2.HEADERS)[1] & 1, message  # an answer that is a status alone
    for frame in (b"", b"\0\0", b"\0\xff\xff\xff\xff" + b"\x0a\x05small" * 60):
        with h2.Peer(shop.port) as peer:
            peer.send(h2.headers(1, path), h2.frame(h2.DATA, 1, 1, frame))
            assert peer.first(h2.HEADERS, h2.RST_STREAM) is not None, frame
    assert request(shop.port, "/v2/health/ready", method="GET")[0] == 200


def test_requests_that_are_no_calls_are_answered_by_http_2_as_well(shop):
    """What HAProxy gets by HTTP/2 and is not gRPC goes to replicas by HTTP/1.1."""
    with h2.Peer(shop.port) as peer:
        block = b"\x82\x86\x04\x10/v2/health/ready\x01\x04here"
        peer.send(h2.frame(h2.HEADERS, 5, 1, block))
        assert peer.first(h2.HEADERS)[3][0] == 0x88  # 200, by its number in HPACK's table
