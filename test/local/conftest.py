"""Jobs on this machine, each test with a state and a run directory of its own.

`local` runs `ydl` there, knows every process that came from it (by a mark in the environment), and
fails the test when one of them, or a file of the run directory, is left at the end.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from local_support import Local  # noqa: E402


@pytest.fixture
def local(tmp_path):
    """See the module's text."""
    machine = Local(tmp_path)
    try:
        yield machine
        machine.assert_nothing_left()
    finally:
        machine.close()
