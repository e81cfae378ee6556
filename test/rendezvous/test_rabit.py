"""The tracker for XGBoost up to 2.0 and dmlc-core, met by workers that link up and pass data."""

import struct

import pytest
from rabit_worker import MAGIC, Worker, hello
from served import PATIENCE, Server, together



def joined(server, jobs):
    return together(Worker(server, job).join for job in jobs)


def check_links(workers):
    """Data gets everywhere: by the tree and around the ring."""
    n = len(workers)
    total = sum(range(n))
    assert together(lambda w=w: w.sum_by_tree(w.rank) for w in workers) == [total] * n
    rings = together(w.around_the_ring for w in workers) if n > 1 else []
    for w, ring in zip(workers, rings):
        assert ring == [(w.rank - i) % n for i in range(n)]


@pytest.mark.parametrize("world", [1, 2, 3, 4, 7, 12, 33])
def test_workers_link_up_and_their_ranks_are_their_task_ids(world):
    with Server("rabit", world) as server:
        workers = joined(server, [str(i) for i in reversed(range(world))])
        assert [w.rank for w in workers] == list(reversed(range(world)))
        assert {w.world for w in workers} == {world}
        check_links(workers)
        together(w.shutdown for w in workers)
        assert server.notes() == []


def test_workers_without_ids_get_all_ranks():
    with Server("rabit", 5) as server:
        workers = joined(server, ["NULL"] * 5)
        assert sorted(w.rank for w in workers) == list(range(5))
        check_links(workers)


def test_nobody_starts_before_all_are_here():
    with Server("rabit", 2) as server:
        with hello(server, -1, -1, "0", "start") as early:
            early.sock.settimeout(0.2)
            with pytest.raises(TimeoutError):
                early.number()


def test_a_restarted_worker_gets_its_rank_and_links_again():
    with Server("rabit", 4) as server:
        workers = joined(server, ["0", "1", "2", "3"])
        dead = workers[1]
        for link in dead.links.values():
            link.close()
        neighbours = [workers[r] for r in dead.links]
        for w in neighbours:
            w.lose(dead.rank)
        fresh = Worker(server, "1")
        together([fresh.join] + [lambda w=w: w.join("recover") for w in neighbours])
        assert fresh.rank == 1
        workers[1] = fresh
        check_links(workers)


def test_one_that_dies_while_it_listens_can_come_back():
    """A neighbour is sent to a port where nobody is; it asks again until the new one is there."""
    with Server("rabit", 2) as server:
        first = hello(server, -1, -1, "0", "start")
        second = Worker(server, "1")
        # The first gets as far as saying where it listens, and is gone.
        done = together([lambda: half_join(first), lambda: half_join(hello(server, -1, -1, "1",
                                                                          "start"))])
        assert sorted(done) == [0, 1]
        workers = together([Worker(server, "0").join, second.join])
        check_links(workers)


def half_join(wire):
    """Says that it listens on a port that is closed, with no links made."""
    with wire:
        rank, _, _, n = wire.numbers(4)
        wire.numbers(n + 2)
        wire.send(0)
        connect, _ = wire.numbers(2)
        for _ in range(connect):
            wire.text(), wire.numbers(2)
        wire.send(0, 1)
        assert wire.is_closed()
        return rank


@pytest.mark.parametrize("jobs", [["NULL"] * 3, ["0", "1", "2"]])
def test_a_job_may_meet_again_as_each_leaves(jobs):
    def leave_and_join(worker):
        worker.shutdown()
        return Worker(server, worker.job).join()

    with Server("rabit", 3) as server:
        workers = joined(server, jobs)
        for _ in range(3):
            workers = together(lambda w=w: leave_and_join(w) for w in workers)
            check_links(workers)
        assert server.notes() == []


def test_a_shutdown_that_is_late_is_waited_for():
    """Said on the earlier connection, read after the start on the later one."""
    with Server("rabit", 1) as server:
        worker = Worker(server).join()
        late = server.dial()
        late.send(MAGIC)
        assert late.number() == MAGIC
        again = hello(server, -1, -1, "NULL", "start")
        again.sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            again.number()
        late.send(worker.rank, 1, "NULL", "shutdown")
        again.sock.settimeout(PATIENCE)
        assert again.numbers(6) == [0, -1, 1, 0, -1, -1]
        assert server.notes() == []


def test_what_workers_print_comes_through_line_by_line():
    with Server("rabit", 2) as server:
        hello(server, -1, -1, "0", "print", "[0]\ttrain-rmse:0.5\nä\x1b[31m\n").sock.close()
        assert [server.note(), server.note()] == ["[0] train-rmse:0.5", "ä\\x1b[31m"]


def test_what_workers_print_has_a_budget():
    """A line more or less is not missed; megabytes of them do not become the job's events."""
    with Server("rabit", 1) as server:
        text = ("x" * 900 + "\n") * 60
        for _ in range(60):
            hello(server, -1, -1, "0", "print", text).is_closed()
        joined(server, "0")
    assert 500_000 < sum(len(note) for note in server.notes()) < 2_000_000


# ---- guests that misbehave: each is sent away with a note, and the job goes on ----

BAD = {
    "wrong magic": (lambda w: w.send(123), "this is not a worker (its first word is 0x7b)"),
    "half a word": (lambda w: w.sock.sendall(b"\x99\xff"), None),
    "huge id": (lambda w: w.send(MAGIC, -1, -1, 0x7FFFFFFF),
                "a text of 2147483647 bytes, where 256 are allowed"),
    "negative id": (lambda w: w.send(MAGIC, -1, -1, -5), "a text of -5 bytes, where 256 are allowed"),
    "huge print": (lambda w: w.send(MAGIC, -1, -1, "0", "print", 10 ** 9),
                   "a text of 1000000000 bytes, where 65536 are allowed"),
    "no command": (lambda w: w.send(MAGIC, -1, -1, "0", "destroy"), "an unknown command"),
    "wrong rank": (lambda w: w.send(MAGIC, 9, -1, "0", "start"),
                   "rank 9 of -1, where there are 3 workers"),
    "wrong world": (lambda w: w.send(MAGIC, -1, 4, "0", "start"),
                    "rank -1 of 4, where there are 3 workers"),
    "rank of nobody": (lambda w: w.send(MAGIC, 1, 3, "0", "recover"),
                       "rank 1, which nobody was given"),
    "recover without a rank": (lambda w: w.send(MAGIC, -1, 3, "0", "recover"),
                               "recover without a rank"),
    "shutdown without a rank": (lambda w: w.send(MAGIC, -1, 3, "0", "shutdown"),
                                "shutdown without a rank"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_guest_is_sent_away_and_the_job_goes_on(name):
    act, complaint = BAD[name]
    with Server("rabit", 3) as server, server.dial() as bad:
        act(bad)
        if complaint:
            assert server.note() == f"rabit: 127.0.0.1: {complaint}"
        check_links(joined(server, "012"))


def test_a_worker_too_many_is_sent_away():
    with Server("rabit", 2) as server:
        workers = joined(server, ["a", "b"])
        with hello(server, -1, -1, "c", "start") as extra:
            assert extra.is_closed()
        assert server.note() == "rabit: 127.0.0.1: too many workers: all 2 are connected"
        check_links(workers)


def test_a_worker_that_leaves_early_is_replaced():
    with Server("rabit", 2) as server:
        with hello(server, -1, -1, "0", "start"):
            pass
        assert server.note() == "rabit: 127.0.0.1: a worker left before it had its links"
        old = hello(server, -1, -1, "0", "start")  # hangs, and its task is started again
        check_links(together([Worker(server, "0").join, lambda: join_after(server, old)]))


def join_after(server, old):
    """The other worker comes when the hanging one has been dropped, and so cannot meet it."""
    assert old.is_closed()
    return Worker(server, "1").join()


def test_wrong_links_end_a_visit_not_the_job():
    with Server("rabit", 3) as server:
        workers = joined(server, "012")
        with hello(server, 0, 3, "0", "recover") as liar:
            _, _, _, n = liar.numbers(4)
            liar.numbers(n + 2)
            liar.send(1, 7)
            assert liar.is_closed()
        assert server.note() == "rabit: 127.0.0.1: a link to rank 7, which rank 0 has not"
        check_links(workers)


def test_many_silent_guests_do_not_keep_workers_out():
    with Server("rabit", 2) as server:
        silent = [server.dial() for _ in range(200)]
        check_links(joined(server, "01"))
        notes = [server.note(), *server.notes()]
        assert all("too many connections" in n or "further notes" in n for n in notes)
        assert len(notes) <= 65
        for wire in silent:
            wire.sock.close()


def test_a_long_word_in_small_pieces_is_understood():
    with Server("rabit", 1) as server, server.dial() as wire:
        text = "x" * 3000
        message = struct.pack("=iii", MAGIC, -1, -1) + b"".join(
            struct.pack("=i", len(t)) + t.encode() for t in ("0", "print", text))
        for i in range(0, len(message), 7):
            wire.sock.sendall(message[i:i + 7])
        assert server.note() == text[:1000]
