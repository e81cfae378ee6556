"""Fixtures for the tests of the agent."""

import pytest
from agent_support import Bench
from container_support import ContainerBench
from held_dir import missing


@pytest.fixture
def bench():
    """Makes benches; all of them are gone afterwards, whatever the test did."""
    made = []

    def make(*args, **options) -> Bench:
        made.append(Bench(*args, **options))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.fixture
def container():
    """The same for agents in containers of YARN."""
    made = []

    def make(*args, **options) -> ContainerBench:
        made.append(ContainerBench(*args, **options))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.fixture
def fanotify(tmp_path):
    """A kernel that can hold up who opens a directory, see held_dir.py."""
    if missing(tmp_path):
        pytest.skip(missing(tmp_path))
