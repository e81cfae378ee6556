"""Which worker runs which tests."""

import pytest

from ydl_cluster import schedule


def hand_out(units: list[tuple[str, int]], workers: int) -> tuple[list[str], dict[int, list[str]]]:
    """Every unit is a lane and the time it takes. The lanes of the units in the order they were begun,
    and those that each worker had."""
    lanes = schedule.Lanes(max(1, workers - 1))
    busy, waiting = {worker: 0 for worker in range(workers)}, list(units)
    begun, had = [], {worker: [] for worker in range(workers)}
    while busy:
        worker = min(busy, key=busy.get)
        lane = lanes.choose(worker, [lane for lane, _ in waiting])
        if lane is None:
            del busy[worker]
            continue
        unit = next(unit for unit in waiting if unit[0] == lane)
        waiting.remove(unit)
        busy[worker] += unit[1]
        begun.append(lane)
        had[worker].append(lane)
    assert not waiting, waiting
    return begun, had


UNITS = ([("", 1)] * 60 + [("cluster", 5)] * 9 + [("krb_cluster", 4)] * 3 + [("ha_cluster", 3)] * 2 +
         [("old_cluster", 7), ("cluster+krb_cluster", 2)])


@pytest.mark.parametrize("workers", [1, 2, 3, 6, 12])
def test_every_unit_is_run_and_nobody_starts_a_cluster_twice(workers):
    begun, had = hand_out(UNITS, workers)
    assert sorted(begun) == sorted(lane for lane, _ in UNITS)
    for lanes in had.values():
        changes = [lane for i, lane in enumerate(lanes) if lane and (i == 0 or lanes[i - 1] != lane)]
        assert len(changes) == len(set(changes)), lanes


def test_clusters_come_first_and_one_worker_does_what_needs_none():
    begun, had = hand_out(UNITS, 6)
    assert sorted(begun[:6], key=bool)[0] == "" and all(sorted(begun[:6], key=bool)[1:])
    assert all(lanes for lanes in had.values())


def test_only_a_kind_that_says_so_is_started_more_than_once():
    _, had = hand_out(UNITS, 12)
    for lane in {lane for lane, _ in UNITS} - {""}:
        assert sum(lane in lanes for lanes in had.values()) <= schedule.SHARED.get(lane, 1), lane


def test_a_person_decides_how_many(monkeypatch):
    monkeypatch.setenv("YDL_TEST_WORKERS", "5")
    assert schedule.workers() == 5
    monkeypatch.delenv("YDL_TEST_WORKERS")
    assert 1 <= schedule.workers() <= schedule.MOST
