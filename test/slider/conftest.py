"""Fixtures for applications of Slider: `task` is a task's directory without a job around it, `local`
and `jobs_on` are those of the jobs here and on YARN."""

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "frameworks")]

from slider_support import Task  # noqa: E402


def _fixtures(name: str):
    spec = importlib.util.spec_from_file_location(f"slider_{name}_fixtures",
                                                  HERE.parent / name / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


local = _fixtures("local").local
_YARN = _fixtures("yarn_jobs")
jobs_on, names_cluster = _YARN.jobs_on, _YARN.names_cluster


@pytest.fixture
def task(tmp_path):
    """See slider_support.Task; nothing that it started may be left."""
    made = Task(tmp_path)
    yield made
    made.close()
