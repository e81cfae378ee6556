"""Fixtures for the tests of the job verbs."""

import pytest
from verbs_support import Jobs


@pytest.fixture
def jobs(tmp_path):
    """ydl without any job; afterwards none may be left."""
    made = Jobs(tmp_path)
    yield made
    made.close()
