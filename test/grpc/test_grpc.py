"""gRPC over HTTP/2: what real clients get, and what clients that mean no good cannot do."""

import http.client
import json
import subprocess

import h2
import pytest
from served_grpc import PATIENCE, Server


@pytest.fixture(name="server")
def _server():
    with Server() as server:
        yield server


# ---- grpcio ----

def test_messages_of_all_sizes_come_back(server):
    assert server.client("unary") == [0, 1, 16379, 16384, 65536, 5000000]


def test_an_answer_is_larger_than_any_window(server):
    assert server.client("large_answer") == 20000000


def test_a_failure_has_its_status_and_its_text_and_the_connection_goes_on(server):
    assert server.client("failures") == {
        "unknown": ["UNIMPLEMENTED", "this server has no such method"],
        "fail": ["NOT_FOUND", "there is no model 'café'\n(100% sure)"],
        "gzip": ["UNIMPLEMENTED", "messages are accepted without compression only"],
        "after": "still here"}


def test_a_message_that_is_too_large_is_refused():
    with Server("message_max=1000") as server:
        seen = server.client("too_large")
    assert seen["at"] == 1000
    assert seen["over"][0] == seen["by far"][0] == "RESOURCE_EXHAUSTED"
    assert "1001 bytes, at most 1000" in seen["over"][1]


def test_a_request_id_comes_back(server):
    assert server.client("request_id") == "r-17"


def test_cancelled_calls_end_at_the_server(server):
    assert server.client("cancelled") == "still here"


def test_a_deadline_ends_the_call_at_the_server(server):
    assert server.client("deadline") == "DEADLINE_EXCEEDED"


def test_threads_that_share_a_connection_get_their_own_answers(server):
    assert server.client("many") == 0


def test_a_drained_server_answers_what_runs_and_takes_no_more(server):
    client = server.start_client("drain")
    assert client.stdout.readline() == "running\n"
    assert server.drain() == "drained"
    out, _ = client.communicate(timeout=PATIENCE)
    assert json.loads(out) == "slept"
    assert server.process.wait(PATIENCE) == 0


def test_a_drain_does_not_wait_for_idle_clients(server):
    with h2.Peer(server.port) as idle:
        assert idle.first(h2.SETTINGS)
        assert server.drain() == "drained"


# ---- other clients, the same port ----

def test_http_1_is_answered_on_the_same_port(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    for _ in range(2):
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"HTTP/1.1\n"


def test_curl_asks_by_http_2(server, tmp_path):
    (tmp_path / "message").write_bytes(h2.message(b"hello"))
    command = ["curl", "-q", "-s", "--noproxy", "*", "--http2-prior-knowledge",
               "-H", "Content-Type: application/grpc", "-H", "TE: trailers", "-D", tmp_path / "heads",
               "--data-binary", f"@{tmp_path / 'message'}",
               f"http://127.0.0.1:{server.port}/test.Test/Echo"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, timeout=PATIENCE, check=True)
    heads = (tmp_path / "heads").read_text().lower()
    assert ran.stdout == h2.message(b"hello")
    assert heads.startswith("http/2 200") and "grpc-status: 0" in heads


def test_what_is_not_grpc_is_told_so(server):
    command = ["curl", "-q", "-s", "--noproxy", "*", "--http2-prior-knowledge", "-o", "/dev/null",
               "-w", "%{http_code}", f"http://127.0.0.1:{server.port}/metrics"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, timeout=PATIENCE, check=True)
    assert ran.stdout == b"415"


# ---- TLS ----

@pytest.fixture(name="certificate", scope="module")
def _certificate(tmp_path_factory):
    """One that is its own issuer, and its key."""
    here = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-keyout", here / "key.pem", "-out", here / "cert.pem", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                   check=True, capture_output=True)
    return here / "cert.pem", here / "key.pem"


def test_tls_gives_grpc_to_those_who_ask_for_h2(certificate):
    with Server(certificate=certificate) as server:
        assert server.client("unary") == [0, 1, 16379, 16384, 65536, 5000000]
        assert server.client("many") == 0
        assert server.client("cancelled") == "still here"


def test_tls_gives_http_1_to_those_who_know_both(certificate):
    with Server(certificate=certificate) as server:
        ran = subprocess.run(["curl", "-q", "-s", "--noproxy", "*", "--cacert", certificate[0],
                              "--resolve", f"localhost:{server.port}:127.0.0.1", "-w",
                              "%{http_version}", f"https://localhost:{server.port}/"],
                             stdout=subprocess.PIPE, timeout=PATIENCE, check=True)
    assert ran.stdout == b"HTTP/1.1\n1.1"


def test_a_key_that_does_not_fit_is_told_with_its_file(certificate, tmp_path):
    other = tmp_path / "other.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", other], check=True,
                   capture_output=True)
    server = Server(certificate=(certificate[0], other))
    ran = subprocess.run(server.command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=PATIENCE, check=False)
    assert ran.returncode == 1
    assert f"private key '{other}': " in ran.stderr


# ---- clients that mean no good ----

def test_a_flood_of_resets_ends_the_connection_and_nobody_else(server):
    cancel = (8).to_bytes(4, "big")
    with h2.Peer(server.port) as peer:
        for i in range(1, 20001, 2):
            if not peer.send(h2.headers(i, b"/test.Test/Sleep"),
                             h2.frame(h2.DATA, 1, i, h2.message(b"100000")),
                             h2.frame(h2.RST_STREAM, 0, i, cancel)):
                break
        kind = peer.first(h2.GOAWAY)
        assert kind is None or kind[3][4:8] == h2.ENHANCE_YOUR_CALM.to_bytes(4, "big")
        peer.await_close()
    assert server.client("request_id") == "r-17"


def test_a_flood_of_pings_is_told_to_calm_down(server):
    with h2.Peer(server.port) as peer:
        for _ in range(100):
            if not peer.send(*[h2.frame(h2.PING, 0, 0, bytes(8))] * 100):
                break
        goaway = peer.first(h2.GOAWAY)
        assert goaway is None or goaway[3][4:8] == h2.ENHANCE_YOUR_CALM.to_bytes(4, "big")
        peer.await_close()


def test_half_a_message_is_not_waited_for():
    with Server("body_ms=200") as server, h2.Peer(server.port) as peer:
        peer.send(h2.headers(1, b"/test.Test/Echo"),
                  h2.frame(h2.DATA, 0, 1, h2.message(b"hello")[:7]))
        kind, flags, stream, _ = peer.first(h2.HEADERS)
        assert (kind, flags & 1, stream) == (h2.HEADERS, 1, 1)
        assert peer.first(h2.RST_STREAM)[2] == 1
        assert server.client("request_id") == "r-17"


@pytest.mark.parametrize("start", [b"P", h2.PREFACE[:20], h2.PREFACE,
                                   h2.PREFACE + h2.frame(h2.SETTINGS, 0, 0) + b"\0\0\1\1\0\0\0\0\1"])
def test_half_a_head_is_not_waited_for(start):
    with Server("header_ms=200") as server:
        peer = h2.socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        peer.sendall(start)
        while peer.recv(65536):
            pass
        peer.close()


def test_an_idle_connection_is_closed_in_order():
    with Server("idle_ms=200") as server, h2.Peer(server.port) as peer:
        *_, payload = peer.first(h2.GOAWAY)
        assert payload[4:8] == bytes(4)
        assert peer.first(h2.GOAWAY) is None


def test_a_client_that_does_not_read_is_cut_off():
    window = (2).to_bytes(2, "big") + bytes(4) + (4).to_bytes(2, "big") + (2**31 - 1).to_bytes(4, "big")
    with Server("write_ms=300") as server, h2.Peer(server.port, window) as peer:
        peer.send(h2.frame(8, 0, 0, (2**31 - 70000).to_bytes(4, "big")),
                  h2.headers(1, b"/test.Test/Big"),
                  h2.frame(h2.DATA, 1, 1, h2.message(b"100000000")))
        peer.await_close()
        assert server.client("request_id") == "r-17"
