"""The tracker for XGBoost from 2.1 on, met by workers that speak its JSON."""

import json
import socket
import time

import pytest
from served import HOST, PATIENCE, Server, Wire, together

MAGIC = 0xFF99


def hello(server, task, rank=-1, world=-1):
    wire = server.dial()
    wire.send(MAGIC)
    assert wire.number() == MAGIC
    wire.send(json.dumps({"world_size": world, "rank": rank, "task_id": task}))
    return wire


class Worker:
    """One process: listens for its neighbour and for bad news."""

    def __init__(self, server, task):
        self.server, self.task = server, task
        self.listener, self.bad_news = (socket.create_server((HOST, 0)) for _ in range(2))
        self.bad_news.settimeout(PATIENCE)
        self.port, self.error_port = (s.getsockname()[1] for s in (self.listener, self.bad_news))

    def start(self):
        self.wire = hello(self.server, self.task)
        self.wire.send(json.dumps({"cmd": 1, "port": self.port, "error_port": self.error_port}))
        self.world = json.loads(self.wire.text())["world_size"]
        return self

    def place(self):
        """Waits for its neighbour's address; its own rank is one less."""
        with self.wire as wire:
            self.next = json.loads(wire.text())
        self.rank = (self.next["rank"] - 1) % self.world
        return self

    def join(self):
        return self.start().place()

    def say(self, **command):
        hello(self.server, self.task, self.rank, self.world).send(json.dumps(command))

    def hears_bad_news(self):
        sock, _ = self.bad_news.accept()
        return Wire(sock).number()


def joined(server, tasks):
    return together(Worker(server, t).join for t in tasks)


def check_ring(workers):
    by_rank = sorted(workers, key=lambda w: w.rank)
    assert [w.rank for w in by_rank] == list(range(len(workers)))
    for w, after in zip(by_rank, by_rank[1:] + by_rank[:1]):
        assert w.next == {"rank": after.rank, "host": HOST, "port": after.port}


@pytest.mark.parametrize("world", [1, 2, 3, 12])
def test_workers_form_a_ring_in_the_order_of_their_ids(world):
    with Server("xgboost", world) as server:
        workers = joined(server, [str(i) for i in reversed(range(world))])
        assert [w.rank for w in workers] == list(reversed(range(world)))
        check_ring(workers)
        assert server.notes() == []


def test_workers_without_ids_form_a_ring():
    with Server("xgboost", 4) as server:
        check_ring(joined(server, [""] * 4))


def test_a_job_may_meet_again_after_shutdown():
    with Server("xgboost", 3) as server:
        for _ in range(3):
            workers = joined(server, "012")
            check_ring(workers)
            for w in workers:
                w.say(cmd=2)
        assert server.notes() == []


def test_a_shutdown_that_is_late_is_waited_for():
    """Said on the earlier connection, read after the start on the later one: no harm is done."""
    with Server("xgboost", 2) as server:
        first, second = sorted(joined(server, "01"), key=lambda w: w.rank)
        late = hello(server, "0", first.rank, 2)
        again = Worker(server, "0").start()
        time.sleep(0.1)
        late.send('{"cmd":2}')
        second.say(cmd=2)
        check_ring(together([again.place, Worker(server, "1").join]))
        second.bad_news.settimeout(0.2)
        with pytest.raises(TimeoutError):
            second.hears_bad_news()
        assert server.notes() == []


def test_an_error_reaches_everybody_else_once():
    with Server("xgboost", 3) as server:
        workers = sorted(joined(server, "012"), key=lambda w: w.rank)
        workers[1].say(cmd=3, msg="it\nbroke", code=7)
        assert together([workers[0].hears_bad_news, workers[2].hears_bad_news]) == [1, 1]
        assert [server.note() for _ in range(3)] == [
            "xgboost: task '1' reports an error (code 7):", "it", "broke"]
        workers[0].say(cmd=3, msg="me too", code=7)
        workers[2].say(cmd=2)
        check_ring(joined(server, "012"))
        assert server.notes() == []


def test_a_worker_that_starts_again_makes_all_start_again():
    with Server("xgboost", 3) as server:
        workers = joined(server, "012")
        fresh = Worker(server, "1").start()
        others = [w for w in workers if w.task != "1"]
        assert together(w.hears_bad_news for w in others) == [1, 1]
        assert server.note() == "xgboost: task '1' starts again, so all others must"
        again = [Worker(server, t) for t in "02"]
        together([fresh.place] + [w.join for w in again])
        check_ring([fresh, *again])


def test_a_start_that_is_said_twice_counts_once():
    with Server("xgboost", 2) as server:
        old = Worker(server, "0").start()
        fresh = Worker(server, "0").start()
        assert old.wire.is_closed()
        check_ring(together([fresh.place, Worker(server, "1").join]))


def test_what_workers_print_comes_through():
    with Server("xgboost", 1) as server:
        worker, = joined(server, "0")
        worker.say(cmd=4, msg="[0]\ttrain-rmse:0.5\n")
        assert server.note() == "[0] train-rmse:0.5"


# ---- guests that misbehave ----

def after_hello(*words):
    def act(wire):
        wire.send(MAGIC, json.dumps({"world_size": -1, "rank": -1, "task_id": "9"}), *words)
    return act


BAD = {
    "wrong magic": (lambda w: w.send(5), "this is not a worker (its first word is 0x5)"),
    "half a word": (lambda w: w.sock.sendall(b"\x99"), None),
    "huge": (lambda w: w.send(MAGIC, 0x7FFFFFFF),
             "a message of 2147483647 bytes, where 4096 are allowed"),
    "negative": (lambda w: w.send(MAGIC, -1), "a message of -1 bytes, where 4096 are allowed"),
    "no JSON": (lambda w: w.send(MAGIC, "what?"), "a worker's words: "),
    "deep": (lambda w: w.send(MAGIC, "[" * 4000), "a worker's words: message: JSON nested"),
    "no task": (lambda w: w.send(MAGIC, '{"world_size":-1,"rank":-1}'),
                "a message without a valid 'task_id'"),
    "wrong world": (lambda w: w.send(MAGIC, '{"world_size":4,"rank":-1,"task_id":""}'),
                    "rank -1 of 4, where there are 3 workers"),
    "no such command": (after_hello('{"cmd":9}'), "a message without a valid 'cmd'"),
    "no port": (after_hello('{"cmd":1,"port":0,"error_port":0}'),
                "a message without a valid 'port'"),
    "huge command": (after_hello(10 ** 8), "a message of 100000000 bytes, where 262144"),
    "shutdown of nobody": (after_hello('{"cmd":2}'), "shutdown without a rank"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_guest_is_sent_away_and_the_job_goes_on(name):
    act, complaint = BAD[name]
    with Server("xgboost", 3) as server, server.dial() as bad:
        act(bad)
        if complaint:
            assert server.note().startswith(f"xgboost: 127.0.0.1: {complaint}")
        check_ring(joined(server, "012"))


def test_a_worker_that_leaves_early_is_replaced():
    with Server("xgboost", 2) as server:
        Worker(server, "0").start().wire.sock.close()
        assert server.note() == "xgboost: 127.0.0.1: task '0' left before all were here"
        check_ring(joined(server, "01"))


def test_many_silent_guests_do_not_keep_workers_out():
    with Server("xgboost", 2) as server:
        silent = [server.dial() for _ in range(200)]
        check_ring(joined(server, "01"))
        assert all("too many connections" in n or "further notes" in n for n in server.notes())
        for wire in silent:
            wire.sock.close()
