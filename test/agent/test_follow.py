"""Output to the master: how much there is, and what is left of long output."""

import shutil
import time

import pytest
from agent_support import LOG_LIMIT, PERSON, READY_LOG, command, unb64, wait_until

LINE = "%031d\\n"
PIECE = 65536


def collect(bench, enough):
    """Pieces of task 0 as they come, until there are enough."""
    found = []
    while not enough(found):
        event = bench.take(lambda e: "output" in e.get("from", {}))
        found += event["from"]["output"]["pieces"]
    return found


def text_until(bench, size):
    """What comes until standard output has so many bytes, and the offset where it begins."""
    text, at, begin = b"", 0, 0
    for piece in collect(bench, lambda all: any(p["offset"] + len(unb64(p["data"])) >= size
                                                for p in all if not p["err"])):
        if piece["err"]:
            continue
        if piece["gap"]:
            assert piece["offset"] > at and not text
            begin = at = piece["offset"]
        assert piece["offset"] == at
        text += unb64(piece["data"])
        at = begin + len(text)
    return text, begin


def test_a_mark_comes_back_with_the_length(bench):
    b = bench()
    b.launch(0, "echo 0123456789; echo no >&2; sleep 600")
    wait_until(lambda: (b.logs / "worker-0.err").read_text() == "no\n")
    b.tell(follow={"tasks": [{"task": 0, "mark": 7, "out_offset": 4}], "credit": 3})
    said = collect(b, lambda all: len(all) >= 3)
    out, err = ([p for p in said if p["err"] == stream] for stream in (False, True))
    assert (out[0]["mark"], out[0]["size"], out[0]["offset"], out[0]["data"]) == (7, 11, 4, "")
    assert unb64(out[1]["data"]) == b"456"  # no more credit
    assert (err[0]["mark"], err[0]["size"]) == (7, 3)
    b.tell(follow={"tasks": [{"task": 0, "out_offset": 7}], "credit": 100})
    more = collect(b, lambda all: len(all) >= 2)
    assert not any(p["mark"] for p in more)  # said once


def test_who_asks_beyond_the_end_hears_where_that_is(bench):
    b = bench()
    b.launch(0, "echo 0123456789; echo no >&2; sleep 600")
    wait_until(lambda: (b.logs / "worker-0.err").read_text() == "no\n")
    far = {"out_offset": 1 << 62, "err_offset": 1 << 62}
    b.tell(follow={"tasks": [{"task": 0, "mark": 7, **far}], "credit": 100})
    out, err = sorted(collect(b, lambda all: len(all) >= 2), key=lambda p: p["err"])
    assert (out["mark"], out["size"], out["offset"], out["data"]) == (7, 11, 11, "")
    assert (err["mark"], err["size"], err["offset"], err["data"]) == (7, 3, 3, "")


@pytest.mark.parametrize("keep", [0, 3])
def test_long_output_is_sent_from_its_pieces(bench, cuts, keep):
    b = bench(log_piece=PIECE, log_keep=keep)
    b.launch(0, f"i=0; while [ $i -lt 40000 ]; do printf '{LINE}' $i; i=$((i+1)); done; sleep 600")

    def written() -> int:
        """Bytes of all pieces, those that are gone by now among them."""
        numbers = [int(p.suffix[1:]) for p in b.logs.glob("worker-0.out.*")
                   if p.suffix[1:].isdigit()]
        try:
            rest = (b.logs / "worker-0.out").stat().st_size
        except FileNotFoundError:
            return 0
        return max(numbers, default=0) * PIECE + rest if max(numbers, default=0) >= 15 else 0
    wait_until(lambda: written() >= 40000 * 32, 60)
    assert len(list(b.logs.glob("worker-0.out.*"))) >= (keep or 15)
    b.tell(follow={"tasks": [{"task": 0}], "credit": 1 << 30})
    text, begin = text_until(b, 40000 * 32)
    assert [int(line) for line in text.splitlines()] == list(range(begin // 32, 40000))
    assert begin > 20000 * 32 if keep else begin == 0


def test_pieces_count_in_what_a_new_master_is_told(container, cuts):
    b = container(log_piece=PIECE)
    b.launch(0, f"i=0; while [ $i -lt 9000 ]; do printf '{LINE}' $i; i=$((i+1)); done; touch all; "
             "sleep 600")
    wait_until(lambda: (b.logs / "worker-0.stdout.3").exists() and (b.run / "all").exists(), 60)
    b.hang_up()
    assert b.next_hello()["tasks"][0]["out_size"] == 9000 * 32
    b.leave()


def test_what_is_written_after_its_directory_was_removed_comes_too(container, tmp_path):
    """A NodeManager that starts anew cleans up where tasks still write."""
    b = container()
    b.launch(0, f"echo one; until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo two; exit 3")
    b.tell(follow={"tasks": [{"task": 0}], "credit": 1 << 20})
    assert text_until(b, 4) == (b"one\n", 0)
    shutil.rmtree(b.logs)
    (tmp_path / "go").touch()
    end = b.exited(0)
    assert end["out_bytes"] == 8 and end["lines"] == "one\ntwo\n"
    rest = collect(b, lambda all: any(p["end"] for p in all if not p["err"]))
    assert [(p["offset"], unb64(p["data"])) for p in rest if p["data"]] == [(4, b"two\n")]


def test_who_comes_after_the_directory_was_removed_is_sent_what_comes(container, tmp_path):
    b = container()
    b.launch(0, f"echo one; until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo two; sleep 600")
    wait_until(lambda: b.output(0) == b"one\n")
    shutil.rmtree(b.logs)
    b.tell(follow={"tasks": [{"task": 0}], "credit": 1 << 20})
    assert text_until(b, 4) == (b"one\n", 0)
    (tmp_path / "go").touch()
    more = collect(b, lambda all: any(not p["err"] and p["data"] for p in all))
    assert [(p["offset"], unb64(p["data"])) for p in more if p["data"]] == [(4, b"two\n")]


def test_limit_and_readiness_see_output_whose_directory_was_removed(container, tmp_path):
    b = container(log_limit=100_000)
    b.launch(0, f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo is up; "
                f"until [ -e {tmp_path}/more ]; do sleep 0.02; done; "
                "while :; do printf '%01000d' 0; done",
             ready={"kind": READY_LOG, "what": "is up", "timeout_ms": 600_000})
    shutil.rmtree(b.logs)
    (tmp_path / "go").touch()
    b.ready(0)
    (tmp_path / "more").touch()
    assert b.exited(0)["fail"] == LOG_LIMIT


def test_pieces_that_were_removed_are_a_gap(container):
    """Nobody waits for what is not there any more."""
    def leave_pieces(b):
        for i in (1, 2):
            (b.logs / f"worker-0.stdout.{i}").write_bytes(b"p" * PIECE)
        (b.logs / "worker-0.stdout").touch()
    b = container(prepare=leave_pieces)
    b.launch(0, "echo end")
    assert b.exited(0)["out_bytes"] == 2 * PIECE + 4
    shutil.rmtree(b.logs)
    b.tell(follow={"tasks": [{"task": 0}], "credit": 1 << 20})
    pieces = collect(b, lambda all: any(p["end"] for p in all if not p["err"]))
    assert [(p["offset"], p["gap"], unb64(p["data"])) for p in pieces
            if not p["err"] and not p["end"]] == [(PIECE, True, b""), (2 * PIECE, True, b""),
                                                  (2 * PIECE, False, b"end\n")]


def test_what_ends_because_it_was_told_to_says_so(bench):
    b = bench()
    b.launch(0, "sleep 600")
    b.launch(1, "exit 3")
    assert not b.exited(1)["asked"]
    b.stop(0)
    end = b.exited(0)
    assert end["asked"] and end["fail"] == PERSON
    b.prepare({"task": 2, "name": "worker:2"})
    b.tell(start={"tasks": [command(2, "sleep 600")], "spec": ""})
    b.stop(2)
    assert b.exited(2)["asked"]


def test_what_tasks_use_is_told_while_somebody_asks(bench):
    b = bench()

    def usage() -> dict:
        event = b.take(lambda e: "usage" in e.get("from", {}))
        return {t["task"]: t for t in event["from"]["usage"]["tasks"]}

    def seen_busy() -> bool:
        """A machine may be so busy that one that never rests gets little: asked for until seen."""
        b.tell(measure={"ms": 1500})
        look = usage()
        return look[0]["cpu"] > 5 + max(look[1]["cpu"], 0)

    full = b.run / "full"
    b.launch(0, ["python3", "-c",
                 f"x = bytearray(50 << 20)\nopen({str(full)!r}, 'w')\nwhile True: pass"])
    b.launch(1, "sleep 600 & sleep 600")
    wait_until(full.exists)
    b.tell(measure={"ms": 1500})
    first = usage()
    assert [t["cpu"] for t in first.values()] == [-1, -1]
    assert first[0]["memory"] > 40 << 20 > first[1]["memory"] > 0
    wait_until(seen_busy)

    def quiet() -> bool:
        """Nothing came for a while after the last one asked."""
        time.sleep(1.5)
        came = not b.events.empty()
        while not b.events.empty():
            b.events.get()
        return not came
    wait_until(quiet)  # nobody has asked any more
