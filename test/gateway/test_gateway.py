"""The gateway in front of replicas: what it answers, whom it asks, and what changes at run time."""

import asyncio
import json
import re
import socket
import subprocess
from pathlib import Path

import pytest
from gateway_support import (BIN, Gateway, Load, Replica, away, free_port, haproxies, model, parse,
                             request, running, until)


def one_model(tmp_path, *replicas, **more):
    return Gateway(tmp_path, models=[model(list(replicas), **more)]).start()


def test_replicas_come_and_go_under_load_without_a_failed_request(tmp_path):
    a, b, c = (Replica(n, delay_ms=5) for n in "abc")
    g = one_model(tmp_path, a)

    async def story():
        async with Load(g.port) as load:
            await away(g.await_ready, "a")
            load.failures.clear()  # those of before there was a replica
            g.spec["models"] = [model([a, b, c])]
            await away(g.apply)
            await away(g.await_ready, "a", "b", "c")
            await load.pass_requests(200)
            assert (await away(lambda: g.do(do="drain", replica="b", wait="20s")))["idle"]
            b.kill()  # idle: nobody notices
            g.spec["models"] = [model([c])]
            await away(g.apply)
            await away(g.await_settled)
            a.kill()
            load.replicas.clear()
            await load.pass_requests(100)
        assert not load.failures and not load.wrong
        assert set(load.replicas) == {"c"}
        return load

    with running(g, a, b, c):
        g.await_ready("a")
        asyncio.run(story())
        assert [r["name"] for r in g.versions()[1]["replicas"]] == ["c"]


def test_a_replica_gets_its_first_request_when_it_is_ready(tmp_path):
    ready = tmp_path / "ready"
    a, b = Replica("a"), Replica("b", ready_file=ready)
    with running(g := one_model(tmp_path, a, b), a, b):
        g.await_ready("a")
        for _ in range(20):
            assert json.loads(request(g.port)[2])["replica"] == "a"
        ready.touch()
        g.await_ready("b")
        until(lambda: json.loads(request(g.port)[2])["replica"] == "b", "b is asked")


def test_connections_to_replicas_are_used_again(tmp_path):
    a = Replica("a")
    with running(g := one_model(tmp_path, a), a):
        g.await_ready("a")
        used = {json.loads(request(g.port)[2])["connection"] for _ in range(50)}
        assert len(used) <= 4  # one for each thread, and what a busy machine takes


def test_where_nothing_is_sent_again_each_request_has_its_connection(tmp_path):
    a = Replica("a")
    with running(g := one_model(tmp_path, a, retry=False), a):
        g.await_ready("a")
        used = [json.loads(request(g.port)[2])["connection"] for _ in range(10)]
        assert len(set(used)) == 10


def test_status_counts_what_went_through(tmp_path):
    a = Replica("a")
    with running(g := one_model(tmp_path, a), a):
        g.await_ready("a")
        for _ in range(30):
            assert request(g.port)[0] == 200
        assert request(g.port, headers=["X-Status: 500"])[0] == 500
        v = until(lambda: (v := g.versions()[1])["requests"] == 31 and v, "31 requests are counted")
        assert v["errors"] == 1 and v["requests_per_second"] > 0
        assert 0 < v["p50_ms"] <= v["p99_ms"]
        assert v["replicas"][0]["requests"] == 31


def test_requests_go_to_the_model_and_version_that_the_path_names(tmp_path):
    a, b, c = (Replica(n) for n in "abc")
    other = {**model([c]), "name": "other"}
    g = Gateway(tmp_path, models=[model([a], [b]), other]).start()
    with running(g, a, b, c):
        g.await_ready("a", "b", "c")
        for path, name in (("/v1/models/m:predict", "a"), ("/v2/models/m/infer", "a"),
                           ("/v1/models/m/versions/2:predict", "b"),
                           ("/v2/models/m/versions/2/infer", "b"),
                           ("/v2/models/other/infer", "c"), ("/anything", "a")):
            assert json.loads(request(g.port, path)[2])["replica"] == name, path
        for path, text in (("/v1/models/none:predict", "no model none"),
                           ("/v1/models/a%22b:predict", 'no model a"b'),
                           ("/v2/models/m/versions/9/infer", "Version 9 of model m")):
            status, _, body = request(g.port, path)
            assert status == 404 and text in json.loads(body)["error"]


def test_a_request_id_is_passed_on_or_made(tmp_path):
    a = Replica("a")
    with running(g := one_model(tmp_path, a), a):
        g.await_ready("a")
        _, fields, body = request(g.port, headers=["X-Request-Id: one-2.3"])
        assert fields["x-request-id"] == "one-2.3"
        assert json.loads(body)["headers"]["x-request-id"] == "one-2.3"
        _, fields, body = request(g.port, headers=["X-Request-Id: bad id\"", "X-Forwarded-For: x"])
        assert re.fullmatch("[0-9a-f-]{36}", fields["x-request-id"])
        assert json.loads(body)["headers"]["x-forwarded-for"] == "127.0.0.1"


def test_overload_is_429_with_retry_after(tmp_path):
    a = Replica("a", delay_ms=300)
    g = Gateway(tmp_path, queue_time="100ms", models=[model([a], in_flight=1, queue=2)]).start()

    async def story():
        async with Load(g.port, rate=100) as load:
            await load.pass_requests(200)
        return load

    with running(g, a):
        g.await_ready("a")
        load = asyncio.run(story())
        assert set(load.outcomes) == {200, 429} and not load.wrong
        assert "error" in json.loads(load.failures[0][2])

        async def busy():
            async with Load(g.port, rate=50):
                return await away(lambda: until(
                    lambda: (r := request(g.port))[0] == 429 and r, "a request is refused"))
        _, fields, _ = asyncio.run(busy())
        assert fields["retry-after"] == "1"
        assert fields["content-type"] == "application/json"


def test_no_replica_is_503_with_a_sentence(tmp_path):
    with running(g := one_model(tmp_path)):
        status, fields, body = request(g.port)
        assert status == 503 and fields["retry-after"] == "1"
        assert json.loads(body)["error"] == "No replica of m, version 1, is ready."


def test_replicas_are_shown_a_key_that_clients_never_see(tmp_path):
    clients, replicas = tmp_path / "clients", tmp_path / "replicas"
    clients.write_text("long-enough-secret-1\n")
    replicas.write_text("for-replicas-only_1.~+/=\nan-old-one-they-still-take\n")
    for path in (clients, replicas):
        path.chmod(0o600)
    a = Replica("a")
    g = Gateway(tmp_path, key_file=str(clients), replica_key_file=str(replicas),
                models=[model([a])]).start()

    def shown(*headers):
        status, fields, body = request(g.port, headers=[
            "Authorization: Bearer long-enough-secret-1", *headers])
        assert status == 200 and "for-replicas" not in str(fields)
        return json.loads(body)["headers"]["authorization"]

    with running(g, a):
        g.await_ready("a")
        assert shown() == "Bearer for-replicas-only_1.~+/="
        assert request(g.port, headers=["Authorization: Bearer for-replicas-only_1.~+/="])[0] == 401
        for pid in (g.process.pid, *haproxies(tmp_path)):
            for name in ("cmdline", "environ"):
                assert b"for-replicas" not in Path(f"/proc/{pid}/{name}").read_bytes()
        for path in (tmp_path / "g").rglob("*"):
            assert path.is_socket() or not path.stat().st_mode & 0o077, path
        replicas.write_text("another-one-for-replicas\n")
        g.apply()
        assert shown("X-Other: 1") == "Bearer another-one-for-replicas"
        replicas.write_text("a-key-with-a-\"quote\n")
        g.write()
        assert "letters, digits" in g.ask(do="apply")["error"]
        assert shown() == "Bearer another-one-for-replicas"
        del g.spec["key_file"]
        replicas.write_text("another-one-for-replicas\n")
        g.apply()
        status, _, body = request(g.port, headers=["Authorization: Basic bWU6bWU="])
        assert status == 200
        assert json.loads(body)["headers"]["authorization"] == "Bearer another-one-for-replicas"


def test_a_key_is_needed_where_there_is_one(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("# ours\nlong-enough-secret-1\nlong-enough-secret-2\n")
    keys.chmod(0o600)
    a = Replica("a")
    g = Gateway(tmp_path, key_file=str(keys), models=[model([a])]).start()
    with running(g, a):
        g.await_ready("a")
        for header in ([], ["Authorization: Bearer no-such-secret-0"],
                       ["Authorization: Basic bG9uZw=="], ["Authorization: long-enough-secret-1"]):
            status, fields, body = request(g.port, headers=header)
            assert status == 401 and fields["www-authenticate"] == "Bearer"
            assert "Authorization: Bearer KEY" in json.loads(body)["error"]
        for key in (1, 2):
            status, _, body = request(
                g.port, headers=[f"Authorization: Bearer long-enough-secret-{key}"])
            assert status == 200 and "authorization" not in json.loads(body)["headers"]
        assert request(g.port, "/v2/health/ready", method="GET")[0] == 200
        for pid in haproxies(tmp_path):
            assert b"secret" not in Path(f"/proc/{pid}/cmdline").read_bytes()
        for path in (tmp_path / "g").rglob("*"):
            if path.is_file():
                assert b"long-enough" not in path.read_bytes() and path.stat().st_mode & 0o77 == 0
        keys.write_text("another-secret-that-is-long\n")
        g.apply()
        assert request(g.port, headers=["Authorization: Bearer long-enough-secret-1"])[0] == 401
        assert request(g.port, headers=["Authorization: Bearer another-secret-that-is-long"])[0] == 200
        keys.chmod(0o644)
        answer = g.ask(do="apply")
        assert not answer["ok"] and "others can read" in answer["error"]
        assert answer["hint"] == f"run: chmod 600 {keys}"


def test_tls_with_a_given_certificate(tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"],
                   check=True, capture_output=True)
    (tmp_path / "key.pem").chmod(0o600)
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])], tls={"certificate": str(tmp_path / "cert.pem"),
                                                    "key": str(tmp_path / "key.pem")}).start()
    with running(g, a):
        g.await_ready("a")
        done = subprocess.run(["curl", "-sS", "--cacert", tmp_path / "cert.pem",
                               f"https://localhost:{g.port}/x", "--resolve",
                               f"localhost:{g.port}:127.0.0.1"],
                              capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["replica"] == "a"
    (tmp_path / "key.pem").write_text("junk")
    with pytest.raises(AssertionError, match="HAProxy did not start: .*No Private Key found"):
        g.start()


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize("attack", [
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    % (5 + len(SMUGGLED)) + SMUGGLED,
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
    + SMUGGLED,
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 40\r\n\r\n" + SMUGGLED,
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 40\r\n\r\n" + SMUGGLED,
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nabcde" + SMUGGLED,
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    b"GET / HTTP/1.1\r\nHost: a\r\nX: a\rContent-Length: 40\r\n\r\n" + SMUGGLED,
    b"GET / HTTP/1.1\r\nHost: a\r\n Folded: b\r\nX\0: y\r\n\r\n" + SMUGGLED,
])
def test_two_requests_are_never_seen_in_one(tmp_path, attack):
    """Refused, or read in one way and the connection closed: what follows is no request."""
    a = Replica("a")
    with running(g := one_model(tmp_path, a), a):
        g.await_ready("a")
        with socket.create_connection(("127.0.0.1", g.port), timeout=60) as s:
            s.sendall(attack)
            answer = s.makefile("rb").read()
        assert b"/smuggled" not in answer
        status, _, body = parse(answer)
        assert status in (200, 400)
        if status == 200:  # one whole request, framed anew
            assert not {"content-length", "transfer-encoding"} <= set(json.loads(body)["headers"])


def test_a_bare_line_feed_reaches_no_replica(tmp_path):
    a = Replica("a")
    with running(g := one_model(tmp_path, a), a):
        g.await_ready("a")
        with socket.create_connection(("127.0.0.1", g.port), timeout=60) as s:
            s.sendall(b"GET / HTTP/1.1\nHost: a\nX: y\nConnection: close\n\n")
            status, _, body = parse(s.makefile("rb").read())
        # The replica reads lines that end with CR LF only: it would not have understood the other.
        assert status == 400 or json.loads(body)["headers"]["x"] == "y"


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def test_large_bodies_pass_or_are_refused_in_bounded_memory(tmp_path):
    a = Replica("a")
    g = Gateway(tmp_path, body_max="100m", models=[model([a])]).start()
    with running(g, a):
        g.await_ready("a")
        before = resident(haproxies(tmp_path)[0])
        body = b"x" * (100 << 20)
        status, _, answer = request(g.port, body=body)
        assert status == 200 and json.loads(answer)["length"] == len(body)
        assert resident(haproxies(tmp_path)[0]) - before < 16
        with socket.create_connection(("127.0.0.1", g.port), timeout=60) as s:
            s.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (len(body) + 1))
            status, _, answer = parse(s.makefile("rb").read())
        assert status == 413 and "body_max" in json.loads(answer)["error"]


def share_of_b(load, n=400):
    async def take():
        load.replicas.clear()
        await load.pass_requests(n)
        return load.replicas["b"] / sum(load.replicas.values())
    return take()


def test_a_canary_gets_its_share_and_follows_at_once(tmp_path):
    a, b = Replica("a"), Replica("b")
    watch = {"automatic": False}
    g = Gateway(tmp_path, models=[model([a], [b], canary={"version": 2, "percent": 20},
                                        watch=watch)]).start()

    async def story():
        async with Load(g.port, rate=300) as load:
            await away(lambda: until(
                lambda: g.status()["models"][0]["canary"]["percent"] == 20, "the canary begins"))
            assert 0.1 < await share_of_b(load) < 0.3
            for percent, low, high in ((80, 0.7, 0.9), (0, 0, 0), (100, 1, 1)):
                await away(lambda p=percent: g.do(do="canary", model="m", percent=p))
                await load.pass_requests(20)  # those that were on their way
                assert low <= await share_of_b(load, 300) <= high
        assert not load.failures and not load.wrong

    with running(g, a, b):
        g.await_ready("a", "b")
        asyncio.run(story())
        assert g.status()["haproxy"]["reloads"] == 0
        answer = g.ask(do="canary", model="m", percent=101)
        assert not answer["ok"] and "between 0 and 100" in answer["error"]


def test_a_good_version_takes_over_without_a_failed_request(tmp_path):
    a, b = Replica("a", delay_ms=3), Replica("b", delay_ms=3)
    g = Gateway(tmp_path, models=[model([a])]).start()

    async def story():
        async with Load(g.port) as load:
            g.spec["models"] = [model([a], [b], canary={"version": 2, "percent": 50},
                                      watch={"requests": 100, "slower": 20})]
            await away(g.apply)
            await away(lambda: until(lambda: g.status()["models"][0]["serves"] == 2,
                                     "version 2 is served"))
            g.spec["models"] = [model(None, [b], serve=2)]
            await away(g.apply)
            await away(g.await_settled)
            a.kill()
            load.replicas.clear()
            await load.pass_requests(100)
        assert not load.failures and not load.wrong
        assert set(load.replicas) == {"b"}

    with running(g, a, b):
        g.await_ready("a")
        asyncio.run(story())


# The slow one is slower than the other one can be, with all its p99, on a machine that is busy.
@pytest.mark.parametrize("name, delay, requests, why", [("slow", 1000, 20, "p99 is"), ("bad", 3, 40, "failed"),
                                                        ("killed", 3, 100_000, "no replica")])
def test_a_bad_version_goes_back(tmp_path, name, delay, requests, why):
    a = Replica("a", delay_ms=3)
    b = Replica(name, delay_ms=delay)
    g = Gateway(tmp_path, models=[model([a], [b], canary={"version": 2, "percent": 20},
                                        watch={"requests": requests})])

    async def story():
        async with Load(g.port) as load:
            if name == "killed":
                await load.pass_requests(50)
                b.kill()
            canary = await away(lambda: until(
                lambda: (c := g.status()["models"][0]["canary"])["state"] == "returned" and c,
                "the canary is taken back"))
            await away(g.await_settled)
            await load.pass_requests(20)  # those that it had already
            load.failures.clear()
            await load.pass_requests(50)
        assert not load.failures and not load.wrong
        return canary

    with running(g.start(), a, b):
        g.await_ready("a", name)
        canary = asyncio.run(story())
        assert canary["percent"] == 0 and why in canary["why"]
        assert json.loads(request(g.port)[2])["replica"] == "a"


def test_a_version_that_never_becomes_ready_is_not_waited_for_without_end(tmp_path):
    a, b = Replica("a"), Replica("b", ready_file=tmp_path / "never")
    g = Gateway(tmp_path, models=[model([a], [b], canary={"version": 2, "percent": 20},
                                        watch={"ready_time": "300ms"})]).start()
    with running(g, a, b):
        g.await_ready("a")
        canary = until(lambda: (c := g.status()["models"][0]["canary"])["state"] == "returned" and c,
                       "the canary is taken back")
        assert "ready_time" in canary["why"]
        assert json.loads(request(g.port)[2])["replica"] == "a"


def test_a_new_replica_at_the_address_of_a_drained_one_gets_requests(tmp_path):
    a, b = Replica("a"), Replica("b")
    with running(g := one_model(tmp_path, a, b), a, b):
        g.await_ready("a", "b")
        assert g.do(do="drain", replica="b", wait="20s")["idle"]
        for replicas in ([a], [a, b]):
            g.spec["models"] = [model(replicas)]
            g.apply()
            g.await_settled()
        g.await_ready("b")
        until(lambda: json.loads(request(g.port)[2])["replica"] == "b", "b is asked")


def test_a_version_in_use_is_not_given_up_for_one_that_is_not_ready(tmp_path):
    a = Replica("a")
    with running(g := one_model(tmp_path, a), a):
        g.await_ready("a")
        g.spec["models"] = [model(None, [], serve=2)]
        g.write()
        answer = g.ask(do="apply")
        assert not answer["ok"] and "keep both versions" in answer["hint"]
        assert request(g.port)[0] == 200


@pytest.mark.parametrize("line, says", [
    (b"{", "the command"), (b'{"do": "fly"}', "'fly' is not a command"), (b"[]", "needs 'do'"),
    (b'{"do": "drain", "replica": "x"}', "no replica 'x'"),
    (b'{"do": "drain", "replica": "x", "wait": 30}', "'wait' must be a time"),
    (b'{"do": "canary", "model": "x", "percent": 1}', "no model 'x'"),
    (b'{"do": "apply", "spec": "/nowhere"}', "/nowhere"),
])
def test_a_wrong_command_gets_a_sentence(tmp_path, line, says):
    with running(g := one_model(tmp_path)):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(tmp_path / "c"))
            s.sendall(line + b"\n" + b'{"do": "status"}\n')
            lines = s.makefile()
            answer = json.loads(lines.readline())
            assert not answer["ok"] and says in answer["error"]
            assert json.loads(lines.readline())["ok"]
        assert (tmp_path / "c").stat().st_mode & 0o777 == 0o600


def test_a_machine_without_haproxy_is_told_what_to_install(tmp_path):
    (tmp_path / "spec").write_text("{}")
    done = subprocess.run([BIN / "ydl-native", "gateway", "--haproxy", "/nowhere",
                           tmp_path / "spec"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "/nowhere" in done.stderr


@pytest.mark.parametrize("option", [socket.SO_REUSEADDR, socket.SO_REUSEPORT])
def test_a_port_can_be_held_for_the_gateway(tmp_path, option):
    """Who started it keeps the port bound; a second gateway gets no share of its connections."""
    a = Replica("a")
    (tmp_path / "other").mkdir()
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, option, 1)
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        g = Gateway(tmp_path, models=[model([a])], listen=f"127.0.0.1:{port}").start()
        with running(g, a):
            g.await_ready("a")
            assert request(port)[0] == 200
            other = Gateway(tmp_path / "other", models=[model([a])], listen=f"127.0.0.1:{port}")
            with pytest.raises(AssertionError, match=f"listen on 127.0.0.1:{port}"):
                other.start()


@pytest.mark.parametrize("option", [socket.SO_REUSEADDR, socket.SO_REUSEPORT])
def test_a_port_in_use_is_a_sentence(tmp_path, option):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, option, 1)
        s.bind(("127.0.0.1", port := free_port()))
        s.listen()
        g = Gateway(tmp_path, models=[model([])], listen=f"127.0.0.1:{port}")
        with pytest.raises(AssertionError, match=f"listen on 127.0.0.1:{port}"):
            g.start()
