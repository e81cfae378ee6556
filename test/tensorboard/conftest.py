"""Jobs with a TensorBoard. Fixtures are those of the jobs with real frameworks: their PATH begins with
the environment that has them.
"""
import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "frameworks"))

import environment  # noqa: E402


def _fixtures(name: str):
    spec = importlib.util.spec_from_file_location(f"{name}_fixtures",
                                                  ROOT / "test" / name / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


plain_local = _fixtures("local").local  # an import under its own name would hide it
jobs_on = _fixtures("yarn_jobs").jobs_on
jobs = _fixtures("yarn_jobs").jobs


@pytest.fixture(scope="session")
def venv() -> Path:
    """The environment with the frameworks."""
    return environment.directory()


@pytest.fixture(name="local")
def _local(plain_local, venv):  # pylint: disable=redefined-outer-name
    plain_local.env["PATH"] = f"{plain_local.bin}:{venv}/bin:{os.environ['PATH']}"
    plain_local.env.update({"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"})
    return plain_local
