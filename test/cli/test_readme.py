"""What the README tells people to type works, as it stands there, from the repository's root."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("YDL_BIN", ROOT / "build" / "bin"))


def block(heading: str) -> str:
    """The first commands below a heading."""
    text = (ROOT / "README.md").read_text().split(f"## {heading}\n", 1)[1]
    return re.search(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL).group(1)


@pytest.fixture(name="shell")
def fixture_shell(tmp_path):
    """Runs lines as a person would, in a state directory of their own."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("YDL_", "XDG_", "HADOOP_", "OMP_"))}
    env |= {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}

    def run(text: str, **more):
        text = text.replace("$PWD/build/bin", str(BIN)).replace("build/bin/", f"{BIN}/")
        return subprocess.run(["bash", "-euc", text], cwd=ROOT, env=env | more, capture_output=True, text=True,
                              timeout=120, check=False)
    return run


def test_the_first_jobs_run(shell):
    done = shell(block("A first job"))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    for rank in range(4):
        assert f"rank {rank} of 4" in done.stdout
    assert "MASTER_PORT=" in done.stdout  # the plan
    for rank in range(2):  # the run, and the job from its file
        assert done.stdout.count(f"rank {rank} of 2: y = 2.00 x + 1.00") == 2, done.stdout


def test_a_first_look_at_a_cluster(shell, cluster):
    lines = [line for line in block("A first look at a cluster").splitlines() if not line.startswith("export ")]
    env = {"HADOOP_CONF_DIR": str(cluster.conf_dir)}
    try:
        done = shell("\n".join(lines), **env)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        assert (ROOT / "README.md").read_text() in done.stdout
    finally:
        shell("build/bin/ydl fs rm README.md", **env)
