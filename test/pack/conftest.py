"""`ydl pack`, and environments of jobs on this machine."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from pack_support import Ydl, make_conda, make_venv, make_wheel  # noqa: E402


@pytest.fixture
def ydl(tmp_path):
    return Ydl(tmp_path)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    return make_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def made_venv(tmp_path_factory, wheel) -> Path:
    """One for all tests, which leave it as it is."""
    return make_venv(tmp_path_factory.mktemp("venv") / "env", wheel)


@pytest.fixture(scope="session")
def made_conda(tmp_path_factory) -> Path:
    """The same of conda's."""
    return make_conda(tmp_path_factory.mktemp("conda"))
