"""Which worker runs which tests, when pytest-xdist runs them side by side (`pytest -n auto`).

Nearly all of a test's time is waiting, so there are more workers than cores. A test belongs to a
*lane*: the kind of cluster it needs, or none. A worker that has started a cluster keeps to its lane
until nothing is left there, because starting one is the dearest thing a test can ask for; then it
takes a lane that nobody has, and in the end tests without a cluster. What is handed out is a *unit*:
the tests of one file, where they share a cluster or a fixture; otherwise a single test. A test that
finds its cluster only when it runs has to say so beforehand, by the mark `clusters`.

The controller collects nothing itself and knows only names, so the first worker writes down for it
which test belongs where.
"""

import json
import os
import tempfile
from pathlib import Path

from .pool import KINDS

MOST = 10  # workers; more find nothing to do
PER_CORE = 3
CLUSTERS_PER_CORE = 2  # workers that have one; it works also while it waits
WORKER_MB = 2500  # a cluster, and what runs on it
# How many workers may have a cluster of the same kind; 1 where nothing is said. Each takes 20 s of a
# core to start, and a tenth of a core while it waits.
SHARED = {"cluster": 3 if len(os.sched_getaffinity(0)) > 2 else 2}
# Shared by all tests of a session, but quickly made again.
_CHEAP = {"venv", "needs_root", "image", "each_cluster", *KINDS}


def workers() -> int:
    """How many processes run tests on this machine."""
    told = os.environ.get("YDL_TEST_WORKERS") or os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")
    if told:
        return int(told)
    cores = _cores()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    return max(1, min(MOST, max(4, PER_CORE * cores), memory // WORKER_MB))


def with_clusters(all_workers: int) -> int:
    """How many of them may have a cluster at a time."""
    return max(1, min(all_workers - 1, max(3, CLUSTERS_PER_CORE * _cores())))


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def write_down(path: str, items: list, kinds_of, left_out: list[str]) -> None:
    """In a worker: lane and unit of every test, for `Scheduler`; and tests that cannot run here."""
    rows = {item.nodeid: _place(item, kinds_of(item)) for item in items}
    Path(path).write_text(json.dumps({"places": rows, "left out": left_out}), encoding="utf-8")


def _place(item, kinds: set[str]) -> tuple[str, str]:
    lane = "+".join(kind for kind in KINDS if kind in kinds)
    return lane, _unit(item, lane)


def _unit(item, lane: str) -> str:
    file = item.nodeid.partition("::")[0]
    scopes = set()
    for name, found in item._fixtureinfo.name2fixturedefs.items():
        if name not in _CHEAP and found[-1].func.__module__.partition(".")[0] != "_pytest":
            scopes.add(found[-1].scope)
    if "session" in scopes:
        return file.rpartition("/")[0]
    return file if lane or scopes - {"function"} else item.nodeid


class Lanes:
    """Who is in which lane; decides which unit a worker gets next."""

    def __init__(self, most_with_clusters: int):
        self.most = most_with_clusters
        self.lane: dict[object, str] = {}

    def choose(self, worker, waiting: list[str]) -> str | None:
        """One of the lanes in `waiting`, or None when there is nothing for this worker."""
        mine = self.lane.get(worker, "")
        lane = mine if mine and mine in waiting else self._other(worker, waiting)
        self.lane[worker] = lane or ""
        return lane

    def _other(self, worker, waiting: list[str]) -> str | None:
        taken = [lane for who, lane in self.lane.items() if lane and who is not worker]
        clusters = [lane for lane in _in_order(waiting)
                    if lane and taken.count(lane) < SHARED.get(lane, 1)]
        if clusters and (len(taken) < self.most or "" not in waiting):
            return min(clusters, key=taken.count)
        return "" if "" in waiting else None


def _in_order(lanes: list[str]) -> list[str]:
    order = {kind: i for i, kind in enumerate(KINDS)}
    return sorted(set(lanes), key=lambda lane: order.get(lane.partition("+")[0], -1))


class Controller:
    """A plugin of the process that hands out the tests."""

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="ydl-tests-")
        self.places = Path(self.scratch.name) / "places.json"

    def left_out(self) -> list[str]:
        """Tests that cannot run on this machine, as the first worker found."""
        try:
            return json.loads(self.places.read_text(encoding="utf-8"))["left out"]
        except OSError:
            return []

    def pytest_configure_node(self, node):
        if node.workerinput["workerid"] == "gw0":
            node.workerinput["ydl_places"] = str(self.places)

    def pytest_xdist_make_scheduler(self, config, log):
        return _scheduler(config, log, self.places)

    def pytest_unconfigure(self):
        self.scratch.cleanup()


def _scheduler(config, log, places: Path):
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        """As its base, but by lanes, and large units first: at the end all have something to do."""

        def __init__(self):
            super().__init__(config, log)
            config.option.loadscopereorder = False
            self.lanes = Lanes(with_clusters(self.numnodes))
            self.places: dict[str, list[str]] = {}

        def schedule(self) -> None:
            self.places = json.loads(places.read_text(encoding="utf-8"))["places"]
            super().schedule()

        def remove_node(self, node):
            self.lanes.lane.pop(node, None)
            return super().remove_node(node)

        def _split_scope(self, nodeid: str) -> str:
            return " ".join(self.places[nodeid])

        def _assign_work_unit(self, node) -> None:
            lanes = [scope.partition(" ")[0] for scope in self.workqueue]
            lane = self.lanes.choose(node, lanes)
            if lane is None:
                node.shutdown()
                return
            mine = [scope for scope in self.workqueue if scope.partition(" ")[0] == lane]
            scope = max(mine, key=lambda scope: len(self.workqueue[scope]))
            self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return Scheduler()
