"""Fixtures for tests on real Hadoop clusters.

`cluster` (Hadoop 3.4), `krb_cluster` (Kerberos, everything encrypted), `ha_cluster` (two of each
master) and `old_cluster` (Hadoop 3.3.6) are `ydl_cluster.cluster.Cluster` objects. A cluster starts
when a test first needs it, goes down when a test needs another kind (`ydl_cluster.pool` says why)
and never outlives this process. A test may kill and pause daemons as it likes; what it broke is
repaired before the next one.

A test that is to run on several kinds:

    @pytest.mark.parametrize("each_cluster", ["cluster", "krb_cluster"], indirect=True)
    def test_put(each_cluster): ...

Tests marked `full` belong to the long suite and run with --full only.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "cluster"))

from ydl_cluster import patience, private, schedule, story  # noqa: E402
from ydl_cluster.pool import KINDS, POOL as _POOL, Handle, missing  # noqa: E402

# What the tests see of the environment: where things are on this machine, and how they are asked to
# run. Anything else could change a result (`tools/check` has the same list for ctest).
_KEPT = re.compile(r"PATH|HOME|USER|LOGNAME|TERM|JAVA_HOME|XDG_CACHE_HOME|(no|https?)_proxy|"
                   r"YDL_(BIN|TEST_BIN|CACHE_DIR|CLUSTER_DIR|KEEP_LOGS|PYTHON|TEST_[A-Z]+)|PYTEST_.*",
                   re.IGNORECASE)
for _name in list(os.environ):
    if not _KEPT.fullmatch(_name):
        del os.environ[_name]
os.environ["LANG"] = "C.UTF-8"
tempfile.tempdir = None  # somebody may have asked before TMPDIR was gone
# A shell's job in the background has it ignored, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
patience.with_processes()


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="also run the tests marked full")


def pytest_configure(config):
    config.addinivalue_line("markers", "full: belongs to the long suite (--full)")
    config.addinivalue_line("markers", "clusters(kind…): asks for clusters only when it runs")
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(schedule.Controller(), "ydl-controller")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    return schedule.workers()


def pytest_collection_modifyitems(config, items):
    """The long tests only when asked for; and each kind of cluster in one stretch."""
    if not config.getoption("--full"):
        long = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    _leave_out(config, items)
    order = {kind: i for i, kind in enumerate(KINDS, start=1)}
    items.sort(key=lambda item: max((order[kind] for kind in _kinds_of(item)), default=0))
    if "ydl_places" in getattr(config, "workerinput", {}):
        schedule.write_down(config.workerinput["ydl_places"], items, _kinds_of, config.ydl_left_out)


def _leave_out(config, items) -> None:
    """Tests that need root are named and left out where there is none, which is no failure."""
    alone = [item for item in items if private.missing() and
             ("needs_root" in item.fixturenames or any(missing(kind) for kind in _kinds_of(item)))]
    config.ydl_left_out = [item.nodeid for item in alone]
    config.hook.pytest_deselected(items=alone)
    items[:] = [item for item in items if item not in alone]


def pytest_terminal_summary(terminalreporter, config):
    controller = config.pluginmanager.get_plugin("ydl-controller")
    names = controller.left_out() if controller else getattr(config, "ydl_left_out", [])
    if names:
        terminalreporter.section(f"{len(names)} not run: {private.missing()}")
        terminalreporter.write_line("\n".join(names))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that fails shows what its jobs say."""
    report = (yield).get_result()
    if report.failed and (told := story.of(getattr(item, "funcargs", {}).get("tmp_path"))):
        report.sections.append((f"its jobs after {report.when}", told))


def _kinds_of(item) -> set[str]:
    names = set(getattr(item, "fixturenames", ()))
    kinds = set(KINDS) & names | ({"docker_host"} if "host" in names else set())
    kinds.update(*(mark.args for mark in item.iter_markers("clusters")))
    callspec = getattr(item, "callspec", None)
    if callspec and "each_cluster" in callspec.params:
        kinds.add(callspec.params["each_cluster"])
    return kinds


def _fixture(kind: str):
    @pytest.fixture(scope="session", name=kind)
    def give():
        return Handle(_POOL, kind)
    return give


cluster = _fixture("cluster")
krb_cluster = _fixture("krb_cluster")
ha_cluster = _fixture("ha_cluster")
old_cluster = _fixture("old_cluster")


@pytest.fixture(scope="session")
def each_cluster(request):
    """The kind that the test names as a parameter; `indirect=True` is needed."""
    return Handle(_POOL, request.param)


@pytest.fixture(scope="session")
def needs_root():
    """For tests that need another user or mount something; those without root are told which."""
    if private.missing():
        pytest.skip(private.missing())


@pytest.fixture
def gpus_alone():
    """For tests that pretend to have GPUs ($YDL_GPUS): a device's number is locked for the whole
    machine, so one test at a time has them."""
    limit = patience.Limit(1200)  # several may be waiting
    with socket.socket(socket.AF_UNIX) as turn:
        while True:
            try:
                turn.bind("\0ydl-test-gpus")
                break
            except OSError:
                assert not limit.over(), "another test keeps the GPUs"
                time.sleep(0.05)
        yield


@pytest.fixture(scope="module")
def host():
    """Just docker, for jobs on this machine."""
    if missing("docker_host"):
        pytest.skip(missing("docker_host"))
    return Handle(_POOL, "docker_host")


@pytest.fixture
def cuts(tmp_path):
    """Skips where the file system cannot take the beginning of a file away."""
    path = tmp_path / "probe"
    path.write_bytes(bytes(1 << 20))
    if subprocess.run(["fallocate", "-c", "-o", "0", "-l", "65536", path], capture_output=True,
                      check=False).returncode:
        pytest.skip("this file system cannot cut files")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    _POOL.needed = _kinds_of(item)


@pytest.fixture(autouse=True)
def _repaired(request):
    """Clusters that a test needs stay while it runs, and are whole when it is over."""
    story.begin()
    if not _POOL.needed and hasattr(request.config, "workerinput"):
        _POOL.close()  # another worker may need the room, and no more of its kind is coming
    yield
    if _POOL.needed:
        _POOL.heal()


def pytest_unconfigure(config):
    _POOL.close()
