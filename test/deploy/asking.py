"""Runs ydl-test-deploy (deploy_driver.c) as a client of a cluster."""

import json
import os
import subprocess
from pathlib import Path

_BIN = Path(os.environ.get("YDL_TEST_BIN")
            or Path(__file__).resolve().parents[2] / "build" / "unit")


def ask(cluster, *arguments: str, user: str | None = None, env: dict | None = None,
        code: int = 0) -> dict:
    """What it printed."""
    program = _BIN / "ydl-test-deploy"
    assert program.exists(), f"no {program}: build first, or set YDL_TEST_BIN"
    done = subprocess.run([str(program), *map(str, arguments)],
                          env=cluster.env(user) | (env or {}), capture_output=True, text=True,
                          timeout=90, check=False)
    assert done.returncode == code, f"{arguments}: {done.stdout}{done.stderr}"
    return json.loads(done.stdout)
