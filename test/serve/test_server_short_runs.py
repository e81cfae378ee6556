"""Short runs of a model are done where the request is; whatever else is not."""

from serve_support import SLOW, ask, infer, rounds, wait_for

SMALL = "/v2/models/small/infer"
ROW = infer("x", [1, 2, 3, 4], [1, 4])
COUNT = "ydl_serve_short_runs_total"


def test_a_short_model_runs_on_the_thread_that_answers(serve):
    server = serve("small")
    connection = server.connect()
    first = ask(connection, "POST", SMALL, ROW)

    def more():
        for _ in range(50):
            answer = ask(connection, "POST", SMALL, ROW)
            assert answer.status == 200 and answer.json == first.json
        return server.metric(COUNT) > 0
    wait_for(more)
    assert server.end() == 0


def test_what_is_long_leaves_the_thread_free(serve):
    server = serve("slow")
    assert ask(connection := server.connect(), "POST", SLOW, rounds(1)).status == 200
    for _ in range(100):
        assert ask(connection, "POST", SLOW, rounds(2000)).status == 200  # milliseconds
    assert server.metric(COUNT) == 0


def test_it_can_be_told_to_use_threads_only(serve):
    server = serve("small", "--threads-only")
    connection = server.connect()
    for _ in range(200):
        assert ask(connection, "POST", SMALL, ROW).status == 200
    assert server.metric(COUNT) == 0


def test_one_long_run_sends_the_next_ones_to_threads(serve):
    server = serve("slow")
    connection = server.connect()

    def short():
        for _ in range(50):
            assert ask(connection, "POST", SLOW, rounds(1)).status == 200
        return server.metric(COUNT) > 0
    wait_for(short)
    while True:  # the same bytes, and long: at the most one of them stops the others
        before = server.metric(COUNT)
        assert ask(connection, "POST", SLOW, rounds(20000)).status == 200
        if server.metric(COUNT) == before:
            break
    for _ in range(20):
        assert ask(connection, "POST", SLOW, rounds(1)).status == 200
    assert server.metric(COUNT) == before
