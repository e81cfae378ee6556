"""Fixtures for jobs with real frameworks: `local` runs `ydl` on this machine, `jobs` on YARN, both as in
the directories of those names; PATH begins with the environment that has the frameworks."""

import importlib.util
import os
from pathlib import Path

import environment
import pytest

ROOT = Path(__file__).resolve().parents[2]


def _fixtures(name: str):
    spec = importlib.util.spec_from_file_location(f"{name}_fixtures",
                                                  ROOT / "test" / name / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


plain_local = _fixtures("local").local  # an import under its own name would hide it
_YARN = _fixtures("yarn_jobs")
jobs_on, jobs = _YARN.jobs_on, _YARN.jobs


@pytest.fixture(scope="session")
def venv() -> Path:
    """The environment with the frameworks."""
    return environment.directory()


@pytest.fixture
def local(plain_local, venv):  # pylint: disable=redefined-outer-name
    """`ydl` on this machine, with the frameworks."""
    plain_local.env["PATH"] = f"{plain_local.bin}:{venv}/bin:{os.environ['PATH']}"
    plain_local.env.update({"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"})
    return plain_local
