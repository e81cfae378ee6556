"""A deployment on YARN that follows its load."""

import subprocess

import pytest
from test_autoscaling import Held


@pytest.mark.full
def test_replicas_follow_the_load(serving):
    """As on one machine, with a container for each."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--system-site-packages", "--without-pip",
                    serving.home / "env"], check=True, timeout=300)
    serving.tmp = serving.home
    held = Held(serving)
    held.push("held")
    try:
        held.url = serving.deploy("held", "--python", serving.home / "env", "--autoscale", "1-3,target=2,cool-down=3s")
        held.send(8)
        serving.wait_ready(3, "held")
        assert serving.model("held", "held")["replicas"] == 3
    finally:
        held.open()
    assert held.answers == [200] * 8
    serving.wait_ready(1, "held")
    assert held.model()["replicas"] == 1
