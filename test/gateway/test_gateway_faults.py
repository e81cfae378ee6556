"""What dies behind the gateway, or of it, and what its clients notice."""

import asyncio
import json
import os
import signal
import socket
import time

import pytest
from gateway_support import Gateway, Load, Replica, away, haproxies, model, parse, request, running, until


def test_replicas_that_are_killed_every_second_give_no_wrong_answer(tmp_path):
    """Requests that fit the buffer and were not answered go to another replica."""
    replicas = [Replica(n, delay_ms=5) for n in "abc"]
    g = Gateway(tmp_path, models=[model(replicas)]).start()

    async def story():
        async with Load(g.port, rate=150) as load:
            for turn in range(6):
                await asyncio.sleep(1)
                await away(replicas[turn % 3].kill)
                await load.pass_requests(30)
                await away(replicas[turn % 3].start)
                await away(g.await_ready, replicas[turn % 3].name)
        return load

    with running(g, *replicas):
        g.await_ready("a", "b", "c")
        load = asyncio.run(story())
        total = sum(load.outcomes.values())
        assert not load.wrong
        assert load.outcomes[200] >= total - 3, load.failures[:10]
        assert set(load.outcomes) <= {200, 502}, load.failures[:10]


def test_a_request_whose_body_comes_after_its_head_goes_to_another_replica(tmp_path):
    """Many clients send both by a call each."""
    replicas = {n: Replica(n) for n in "ab"}
    g = Gateway(tmp_path, threads=1, models=[model(list(replicas.values()))]).start()

    def holder():
        return next((r["name"] for r in g.versions()[1]["replicas"] if r["in_flight"]), None)

    with running(g, *replicas.values()), socket.create_connection(("127.0.0.1", g.port), timeout=60) as s:
        g.await_ready("a", "b")
        s.sendall(b"POST /v2/models/m/infer HTTP/1.1\r\nHost: t\r\nX-Delay: 3000\r\nConnection: close\r\n"
                  b"Content-Length: 4\r\n\r\n")
        assert request(g.port)[0] == 200  # by then HAProxy has read the head
        s.sendall(b"body")
        name = until(holder, "a replica has the request")
        replicas[name].kill()
        status, _, answer = parse(s.makefile("rb").read())
        assert status == 200 and json.loads(answer)["length"] == 4
        assert json.loads(answer)["replica"] != name


def test_a_body_that_does_not_come_is_a_408(tmp_path):
    a = Replica("a")
    g = Gateway(tmp_path, timeout="1s", models=[model([a])]).start()
    with running(g, a), socket.create_connection(("127.0.0.1", g.port), timeout=60) as s:
        g.await_ready("a")
        s.sendall(b"POST /v2/models/m/infer HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\nbo")
        status, _, answer = parse(s.makefile("rb").read())
        assert status == 408 and "too slowly" in json.loads(answer)["error"]


def test_a_killed_haproxy_is_back_on_its_port(tmp_path):
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])]).start()
    with running(g, a):
        g.await_ready("a")
        for _ in range(3):
            old = haproxies(tmp_path)
            os.kill(old[0], signal.SIGKILL)
            began = time.monotonic()
            assert request(g.port, seconds=5)[0] == 200  # never refused: the port stays bound
            assert time.monotonic() - began < 5
            # One that is killed before the gateway knows it is a start that failed, and not counted.
            until(lambda: g.status()["haproxy"]["pid"] in haproxies(tmp_path), "a new HAProxy")
        g.await_ready("a")
        assert g.status()["haproxy"]["restarts"] == 3


def test_a_signal_to_both_is_no_death_of_haproxy(tmp_path):
    """Whoever stops a task may tell all of its processes."""
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])]).start()
    with running(g, a):
        g.await_ready("a")
        began = time.monotonic()
        os.kill(haproxies(tmp_path)[0], signal.SIGTERM)
        until(lambda: not haproxies(tmp_path), "HAProxy has ended")
        time.sleep(0.1)  # the gateway has seen it
        g.ask_to_end()
        together = time.monotonic() - began < 0.4  # a machine that busy may take longer than it waits
        assert "died" not in g.stop() or not together


def test_a_haproxy_that_was_told_to_end_alone_comes_back(tmp_path):
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])]).start()
    with running(g, a):
        g.await_ready("a")
        os.kill(haproxies(tmp_path)[0], signal.SIGTERM)
        assert request(g.port)[0] == 200
        g.await_ready("a")
        assert "died; starting it again" in g.stop()


@pytest.mark.full
def test_a_haproxy_that_hangs_is_replaced(tmp_path):
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])]).start()
    with running(g, a):
        g.await_ready("a")
        hangs = haproxies(tmp_path)[0]
        os.kill(hangs, signal.SIGSTOP)
        until(lambda: hangs not in haproxies(tmp_path), "it is ended")
        assert request(g.port)[0] == 200
        g.await_ready("a")
        assert f"HAProxy (process {hangs}) did not answer 4 times" in g.stop()


def test_haproxy_comes_back_with_its_keys_also_when_their_file_is_gone(tmp_path):
    (keys := tmp_path / "keys").write_text("long-enough-secret\n")
    keys.chmod(0o600)
    a = Replica("a")
    g = Gateway(tmp_path, key_file=str(keys), models=[model([a])]).start()
    with running(g, a):
        g.await_ready("a")
        keys.unlink()
        os.kill(haproxies(tmp_path)[0], signal.SIGKILL)
        assert request(g.port)[0] == 401
        until(lambda: request(g.port, headers=["Authorization: Bearer long-enough-secret"])[0]
              == 200, "the key is accepted")


def test_a_killed_gateway_leaves_no_haproxy_and_can_be_started_again(tmp_path):
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])]).start()
    with running(g, a):
        g.await_ready("a")
        g.process.kill()
        g.process.communicate()
        until(lambda: not haproxies(tmp_path), "HAProxy has ended")
        g.start()
        g.await_ready("a")
        assert request(g.port)[0] == 200
        g.stop()
        assert not haproxies(tmp_path)
        assert not list((tmp_path / "g").iterdir())


def test_a_gateway_that_is_stopped_answers_what_it_has(tmp_path):
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])]).start()

    async def story():
        slow = asyncio.create_task(away(lambda: request(g.port, headers=["X-Delay: 1500"])))
        await away(lambda: until(lambda: g.versions()[1]["replicas"][0]["in_flight"] == 1,
                                 "the request is on its way"))
        await away(g.stop)
        return await slow

    with running(g, a):
        g.await_ready("a")
        assert asyncio.run(story())[0] == 200


def test_a_gateway_that_ends_refuses_new_clients(tmp_path):
    """It still answers what it has; who comes now is not left to wait for nothing."""
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])]).start()

    def refused():
        try:
            socket.create_connection(("127.0.0.1", g.port), timeout=60).close()
        except ConnectionRefusedError:
            return True
        return False

    async def story():
        slow = asyncio.create_task(away(lambda: request(g.port, headers=["X-Delay: 5000"])))
        await away(lambda: until(lambda: g.versions()[1]["replicas"][0]["in_flight"] == 1,
                                 "the request is on its way"))
        g.ask_to_end()
        await away(lambda: until(refused, "a new client is refused"))
        assert not slow.done()
        return await slow

    with running(g, a):
        g.await_ready("a")
        assert asyncio.run(story())[0] == 200


def test_what_a_reload_left_behind_is_answered_before_the_end(tmp_path):
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])]).start()

    async def story():
        slow = asyncio.create_task(away(lambda: request(g.port, headers=["X-Delay: 4000"])))
        await away(lambda: until(lambda: g.versions()[1]["replicas"][0]["in_flight"] == 1,
                                 "the request is on its way"))
        g.spec["body_max"] = "1m"
        await away(g.apply)
        await away(g.stop)
        return await slow

    with running(g, a):
        g.await_ready("a")
        assert asyncio.run(story())[0] == 200


def test_a_directory_is_one_gateways(tmp_path):
    """A second one would change the servers of the first one's HAProxy."""
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])]).start()
    with running(g, a):
        g.await_ready("a")
        (tmp_path / "more").mkdir()
        other = Gateway(tmp_path / "more", models=[model([a])])
        with pytest.raises(AssertionError, match="another gateway is using the directory"):
            other.start("--dir", str(tmp_path / "g"))
        g.apply()
        assert g.await_settled()["models"][0]["versions"][0]["ready"] == 1


def test_what_a_killed_gateway_wrote_is_removed_by_the_next(tmp_path):
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])]).start()
    with running(g, a):
        for limit in ("1m", "2m"):
            g.spec["body_max"] = limit
            g.apply()
        g.process.kill()
        g.process.communicate()
        assert "g3" in os.listdir(tmp_path / "g")
        g.start()
        assert [name for name in os.listdir(tmp_path / "g") if name[0] == "g"] == ["g1"]
        g.stop()
        assert not os.listdir(tmp_path / "g")


def test_a_changed_limit_reloads_without_a_failed_request(tmp_path):
    a = Replica("a", delay_ms=5)
    g = Gateway(tmp_path, models=[model([a])]).start()

    async def story():
        async with Load(g.port) as load:
            for limit in ("1m", "2m", "3m"):
                g.spec["body_max"] = limit
                await away(g.apply)
                await load.pass_requests(150)
        assert not load.failures and not load.wrong

    with running(g, a):
        g.await_ready("a")
        asyncio.run(story())
        assert g.status()["haproxy"]["reloads"] == 3


def test_a_spec_that_is_refused_changes_nothing(tmp_path):
    a = Replica("a")
    g = Gateway(tmp_path, models=[model([a])]).start()
    with running(g, a):
        g.await_ready("a")
        good = g.spec_path.read_text()
        for bad in ("", "{}", good.replace('"serve": 1', '"serve": 2'), good[:-1] + ', "x": 1}'):
            g.spec_path.write_text(bad)
            answer = g.ask(do="apply")
            assert not answer["ok"] and answer["error"]
        assert request(g.port)[0] == 200
