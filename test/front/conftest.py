"""Fixtures for the tests of the front ends: `fronts` runs them on this machine; `jobs` and `jobs_on`
are those of the jobs on YARN."""

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from front_support import Fronts  # noqa: E402


def _yarn_jobs():
    path = Path(__file__).resolve().parents[1] / "yarn_jobs" / "conftest.py"
    spec = importlib.util.spec_from_file_location("ydl_yarn_jobs_fixtures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_YARN = _yarn_jobs()
jobs_on, jobs = _YARN.jobs_on, _YARN.jobs


@pytest.fixture
def fronts(tmp_path):
    """A machine without a cluster; afterwards nothing may be left of what was started there."""
    made = Fronts(tmp_path)
    yield made
    made.close()
