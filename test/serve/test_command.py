"""Command models, `ydl-native serve` in front of a program of its own: what goes through, what comes
back as it is sent, and a program that dies, hangs or is slow."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from serve_support import BIN, wait_for

HERE = Path(__file__).resolve().parent


@pytest.fixture
def command(serve, tmp_path):
    """command(ARGS…): a server of the program command_model.py."""
    def start(*args, health="/health", words=(), **options):
        model = tmp_path / "chat"
        model.mkdir(exist_ok=True)
        shutil.copy(HERE / "command_model.py", model)
        (model / "command.json").write_text(json.dumps({
            "command": ["/usr/bin/python3", "{dir}/command_model.py", "{port}", *words],
            **({"health": health} if health else {})}))
        return serve(model, *args, **options)
    return start


def pid_of(server):
    """The program's process."""
    return server.get("/echo").json["pid"]


def gone(pid):
    """Has it ended?"""
    return not Path(f"/proc/{pid}").exists()


def stream_of(server, path):
    """A connection whose answer has begun."""
    connection = server.connect()
    connection.request("POST", path, b"{}")
    return connection, connection.getresponse()


# ---- what goes through ----

def test_requests_go_through_as_they_are(command):
    server = command()
    assert server.ready["model"] == "chat" and server.ready["backend"] == "command"
    answer = server.ask("PUT", "/echo?a=%20b&c", b"\0text", {
        "Content-Type": "text/x", "Authorization": "Bearer key", "x-request-id": "mine",
        "Connection": "close, X-Hop", "X-Hop": "no", "Cookie": "a=1"})
    told = answer.json
    assert (told["method"], told["path"], told["body"]) == ("PUT", "/echo?a=%20b&c", "\0text")
    sent = {k.lower(): v for k, v in told["headers"].items()}
    assert sent["content-type"] == "text/x" and sent["authorization"] == "Bearer key"
    assert sent["x-request-id"] == "mine" and sent["x-forwarded-for"] == "127.0.0.1"
    assert sent["cookie"] == "a=1" and "x-hop" not in sent
    assert answer.headers["x-request-id"] == "mine"
    assert answer.headers["X-Mine"] == "1" and "X-Hop" not in answer.headers
    assert answer.headers.get_all("Set-Cookie") == ["a=1", "b=2"]


def test_a_key_is_asked_for_and_not_passed_on(command, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("the-key-of-this-test\n")
    keys.chmod(0o600)
    server = command("--key-file", keys, "--name", "chat")
    for path in ("/echo", "/v2/models/chat/ready", "/metrics"):
        answer = server.get(path)
        assert answer.status == 401 and "Authorization: Bearer KEY" in answer.json["error"]
    for path in ("/v2/health/ready", "/v2/health/live", "/monitoring/prometheus/metrics"):
        assert server.get(path).status == 200
    answer = server.ask("POST", "/echo", b"text", {"Authorization": "Bearer the-key-of-this-test"})
    assert (answer.status, answer.json["body"]) == (200, "text")
    assert "authorization" not in {k.lower() for k in answer.json["headers"]}


@pytest.mark.parametrize("path, status, size", [
    ("/teapot", 418, 15), ("/nothing", 204, 0), ("/large", 200, 8 << 20), ("/none", 404, 25)])
def test_answers_come_back_as_they_are(command, path, status, size):
    server = command()
    for _ in range(2):
        answer = server.get(path)
        assert (answer.status, len(answer.body)) == (status, size)
    head = server.ask("HEAD", "/teapot")
    assert (head.status, head.headers["Content-Length"], head.body) == (418, "15", b"")


def test_bodies_are_streamed_up_to_their_ceiling(command):
    server = command("--max-body", "20m", "--max-memory", "20m")
    told = server.post("/echo", b"x" * (10 << 20)).json
    assert told["size"] == 10 << 20
    connection = server.connect()
    connection.putrequest("POST", "/echo")
    connection.putheader("Content-Length", str(21 << 20))
    connection.endheaders()
    assert connection.getresponse().status == 413  # before any of it was sent
    connection = server.connect()
    connection.request("POST", "/echo", iter([b"ab", b"cd"]), encode_chunked=True,
                       headers={"Transfer-Encoding": "chunked"})
    assert json.loads(connection.getresponse().read())["body"] == "abcd"
    assert server.memory() < 60 << 20


def test_many_clients_get_their_own_answers(command):
    server = command()
    with ThreadPoolExecutor(50) as pool:
        def ask(i):
            return all(server.post("/echo", f"{i}.{k}".encode()).json["body"] == f"{i}.{k}"
                       for k in range(10))
        assert all(pool.map(ask, range(50)))


# ---- streams ----

def test_tokens_arrive_one_by_one(command):
    server = command()
    connection, response = stream_of(server, "/stream")
    assert response.headers["Content-Type"] == "text/event-stream"
    for i in range(3):
        # The program sends nothing more before it is told to: what is here came through at once.
        assert response.readline() == b"data: %d\n" % i
        assert response.readline() == b"\n"
        assert server.get("/release").status == 200
    assert response.read() == b""
    connection.close()
    assert server.get("/tokens").body == b"".join(b"data: %d\n\n" % i for i in range(1000))


def test_a_client_that_hangs_up_ends_the_request_in_the_program(command):
    server = command("--access-log", "-")
    connection = server.connect()
    connection.request("POST", "/hold", b"{}")
    wait_for(lambda: server.get("/seen").json["held"] == 1)
    assert server.get("/seen").json["gone"] == 0
    connection.close()
    wait_for(lambda: server.get("/seen").json["gone"] == 1)
    assert server.end() == 0
    assert any("/hold" in line and "status=499" in line for line in server.process.stdout)


def test_a_client_that_hangs_up_in_a_stream_ends_it(command):
    server = command()
    connection, response = stream_of(server, "/stream")
    assert response.readline() == b"data: 0\n"
    response.close()
    connection.close()
    wait_for(lambda: 'ydl_serve_running_batches 0' in
             server.get("/monitoring/prometheus/metrics").text)


def test_a_client_that_does_not_read_is_cut_off(command):
    server = command()
    slow = socket.create_connection(("127.0.0.1", server.port))
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
    assert server.get("/teapot").status == 418  # nobody else waits for it
    slow.close()
    assert server.end() == 0


def test_an_answer_that_is_cut_off_does_not_look_whole(command):
    server = command()
    with pytest.raises(Exception):
        server.get("/cut")
    assert server.get("/teapot").status == 418


# ---- what goes wrong ----

def test_a_killed_program_is_restarted(command, tmp_path):
    server = command()
    pid = pid_of(server)
    connection = server.connect()
    connection.request("POST", "/hold", b"{}")
    wait_for(lambda: server.get("/seen").json["held"] == 1)
    (tmp_path / "chat" / "not-ready").touch()
    os.kill(pid, signal.SIGKILL)
    lost = connection.getresponse()
    assert lost.status == 502 and "the model's program does not answer" in lost.read().decode()
    wait_for(lambda: server.get("/v2/health/ready").status == 503)
    down = server.get("/echo")
    assert down.status == 503 and down.headers["Retry-After"] == "1"
    assert "it was killed by signal 9" in down.json["error"] or "is starting" in down.json["error"]
    assert server.get("/v2/health/live").status == 200
    (tmp_path / "chat" / "not-ready").unlink()
    wait_for(lambda: server.get("/v2/health/ready").status == 200)
    assert pid_of(server) != pid
    assert any("it was killed by signal 9" in line for line in server.errors)


def test_a_program_that_ends_in_a_request_is_told(command):
    server = command()
    assert server.get("/die").status == 502
    wait_for(lambda: server.get("/echo").status == 200)


def test_a_program_that_does_not_answer_is_given_up(command):
    server = command("--deadline", "300ms")
    answer = server.get("/hold")
    assert answer.status == 504 and "did not answer in time" in answer.json["error"]
    wait_for(lambda: server.get("/seen").json["gone"] == 1)


def test_more_requests_than_may_be_in_flight_are_told_to_come_again(command):
    server = command("--queue", "2")
    held = [server.connect() for _ in range(2)]
    for connection in held:
        connection.request("POST", "/hold", b"{}")
    wait_for(lambda: "ydl_serve_running_batches 2" in
             server.get("/monitoring/prometheus/metrics").text)
    refused = server.get("/echo")
    assert refused.status == 429 and refused.headers["Retry-After"] == "1"
    held[0].close()
    wait_for(lambda: server.get("/echo").status == 200)
    held[1].close()


def run(model, *args):
    """`ydl-native serve` that ends by itself."""
    return subprocess.run([BIN / "ydl-native", "serve", "--port", "0", *args, model], text=True,
                          capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize("words, says", [
    (["/usr/bin/python3", "-c", "import sys; sys.stderr.write('no weights\\n'); sys.exit(7)", "{port}"],
     "'/usr/bin/python3' is not running: it ended with exit status 7: no weights"),
    (["./nothing", "{port}"], "start './nothing'"),
    (["/bin/true"], "no word of 'command' contains {port}"),
])
def test_a_program_that_cannot_start_ends_the_server(tmp_path, words, says):
    (tmp_path / "command.json").write_text(json.dumps({"command": words}))
    done = run(tmp_path)
    assert done.returncode == 1
    assert says in done.stderr


LONGER = (1, 2, 4, 8, 16, 32)  # seconds, until a program has the time that it needs here
ELSEWHERE = """
import http.server, sys
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
print("mine is", server.server_port, flush=True)
server.serve_forever()
"""


def test_a_program_on_another_port_is_told_so(tmp_path):
    (tmp_path / "command.json").write_text(json.dumps(
        {"command": ["/usr/bin/python3", "-c", ELSEWHERE, "{port}"]}))
    for seconds in LONGER:
        done = run(tmp_path, "--load-timeout", f"{seconds}s")
        assert done.returncode == 1
        if mine := re.search(r"^mine is (\d+)$", done.stderr, re.M):
            break  # it had the time to listen
    assert re.search(rf"was not ready within {seconds} s \(--load-timeout\): nothing listens on "
                     rf"127.0.0.1:\d+, which is {{port}}; it listens on {mine[1]}\n", done.stderr)


def test_a_health_path_that_says_no_is_told(command, tmp_path):
    (tmp_path / "chat").mkdir()
    (tmp_path / "chat" / "not-ready").touch()
    server = command("--load-timeout", "60s", ready=False)
    assert server.get("/v2/health/live").status == 200
    assert server.get("/v2/health/ready").status == 503
    early = server.post("/echo", b"")
    assert early.status == 503 and "it is starting" in early.json["error"]
    for seconds in LONGER:
        server = command("--load-timeout", f"{seconds}s", ready=False)
        assert server.process.wait(60) == 1
        if "nothing listens" not in server.complaints():
            break  # it had the time to listen
    assert "GET /health was answered with 503" in server.complaints()


@pytest.mark.parametrize("path", [
    "/raw/HTTP/1.1 200 OK|Content-Length: 2|Transfer-Encoding: chunked||2|ok|0||",
    "/raw/HTTP/1.1 200 OK|Content-Length: 2|Content-Length: 3||ok",
    "/raw/HTTP/1.1 200 OK|X-Mine: 1|no colon||",
    "/raw/HTTP/1.1 200 OK|X-Mine: 1|Content-Length: 5||ok",
    "/raw/HTTP/1.1 99 No||", "/raw/HTTP/1.1 101 Upgrade|Upgrade: x||", "/raw/hello|", "/headers/13000"])
def test_a_broken_answer_is_502_and_a_sentence(command, path):
    server = command()
    for method in ("GET", "POST"):
        answer = server.ask(method, path.replace(" ", "%20"))
        assert answer.status == 502, answer.text
        assert "the model's program gave a broken answer: " in answer.json["error"]
        assert answer.headers["X-Mine"] is None  # nothing of the answer that failed
    assert server.get("/teapot").status == 418
    assert server.get("/headers/8000").headers["X-Mine-8"]


def test_an_answer_that_nobody_asked_for_is_nobody_s(command):
    server = command()
    connection = server.connect()
    for _ in range(3):  # which the program sends right behind the answer to the one before
        connection.request("GET", "/raw/HTTP/1.1%20204%20No||HTTP/1.1%20200%20OK|Content-Length:%202||no")
        first = connection.getresponse()
        assert (first.status, first.read()) == (204, b"")
        connection.request("GET", "/teapot")
        second = connection.getresponse()
        assert (second.status, second.read()) == (418, b"short and stout")


def test_a_request_that_computes_is_never_sent_twice(command):
    server = command()
    assert server.get("/teapot").status == 418  # a connection that stays
    before = server.get("/seen").json["once"]
    for _ in range(3):
        assert server.ask("POST", "/once").status == 502
        assert server.get("/teapot").status == 418
    assert server.get("/seen").json["once"] == before + 3


def test_a_slow_client_does_not_use_up_the_program_s_time(command):
    server = command("--deadline", "500ms")
    connection = server.connect()
    connection.putrequest("POST", "/echo")
    connection.putheader("Content-Length", "4")
    connection.endheaders()
    for piece in (b"a", b"b", b"c", b"d"):  # longer than the deadline in all
        time.sleep(0.2)
        connection.send(piece)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    assert json.loads(answer.read())["body"] == "abcd"


def test_output_that_nobody_reads_holds_the_program_up_never(command):
    server = command(heard=False)
    for _ in range(3):
        assert server.get("/print").status == 200  # 1 MB
    server.hear()
    wait_for(lambda: any("lines of output were dropped" in line for line in server.errors))


def test_its_version_is_ready_and_no_other(command):
    server = command("--name", "chat", "--model-version", 3)
    for path, status in (("/ready", 200), ("/versions/3/ready", 200), ("/versions/4/ready", 404)):
        answer = server.get("/v2/models/chat" + path)
        assert (answer.status, "pid" in answer.json) == (status, False)


def test_without_a_health_path_it_is_ready_when_it_listens(command):
    server = command(health=None)
    assert server.get("/teapot").status == 418


# ---- the end, and what is counted ----

def test_requests_in_flight_are_answered_before_the_end(command):
    server = command()
    connection, response = stream_of(server, "/stream")
    assert response.readline() == b"data: 0\n"
    release = server.connect()
    release.request("GET", "/release")
    release.getresponse().read()
    pid = pid_of(server)
    assert response.readline() == b"\n"
    assert response.readline() == b"data: 1\n"
    other = server.connect()
    other.request("GET", "/teapot")
    other.getresponse().read()
    server.process.send_signal(signal.SIGTERM)
    other.request("GET", "/release")
    assert other.getresponse().read() == b""
    assert response.read() == b"\ndata: 2\n\n"
    connection.close()
    assert server.process.wait(60) == 0
    assert gone(pid)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_the_program_ends_with_the_server(command, signum):
    server = command()
    pid = pid_of(server)
    server.process.send_signal(signum)
    server.process.wait(60)
    wait_for(lambda: gone(pid))


def test_requests_are_counted_and_written(command, tmp_path):
    server = command("--access-log", tmp_path / "log", "--name", "gpt")
    server.post("/echo", b"12345", {"x-request-id": "one"})
    text = server.get("/monitoring/prometheus/metrics").text
    assert 'ydl_serve_requests_total{operation="predict",code="200"} 1\n' in text
    assert 'model="gpt"' in text
    line = next(line for line in (tmp_path / "log").read_text().splitlines() if "id=one" in line)
    assert '"POST /echo" status=200 in=5' in line
    assert any("program: starting" in line for line in server.errors)


@pytest.mark.parametrize("requests", [2000, pytest.param(8000, marks=pytest.mark.full)])
def test_memory_does_not_grow(command, requests):
    server = command()
    connections = [server.connect() for _ in range(4)]

    def ask(n):
        def one(connection):
            for _ in range(n // 4):
                connection.request("POST", "/echo", b"x" * 100)
                connection.getresponse().read()
        threads = [threading.Thread(target=one, args=[c]) for c in connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return server.memory()
    before = ask(1000)
    assert ask(requests) < before + (2 << 20)
