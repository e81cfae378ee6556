"""Models of other formats bring along what runs them, and find it on the node."""

import json
import subprocess
import textwrap
from pathlib import Path

import made
import pytest

HERE = Path(__file__).resolve().parent
HANDLER = """
    import os, sys
    import numpy as np

    def load(directory):
        return open(os.path.join(directory, "factor")).read()

    def predict(inputs, factor):
        return {"y": inputs["x"].astype("f4") * float(factor), "prefix": np.array([sys.prefix] * len(inputs["x"]))}
"""


def answer(serving, name, *words):
    return json.loads(serving.run("predict", name, *words, check=0).stdout)["predictions"]


@pytest.mark.full
@pytest.mark.parametrize("file", ["reg.json", "lreg.txt"])
def test_trees_are_served_with_the_libraries_of_their_packages(serving, file):
    made.copy(serving.home / "trees", HERE.parent / "serve" / "tree_models.py")
    told = json.loads((serving.home / "trees" / "answers.json").read_text())[file]
    rows = [row for row in told["x"] if all(value == value for value in row)]
    wanted = [y for x, y in zip(told["x"], told["y"]) if x in rows]
    serving.run("model", "push", serving.home / "trees" / file, "trees", check=0)
    serving.deploy("trees")
    got = answer(serving, "trees", "--json", json.dumps({"instances": rows}))
    flat = [y[0] if isinstance(y, list) else y for y in got]
    assert rows and flat == pytest.approx(wanted, rel=1e-5)
    for pid in serving.pids("ydl-native serve --host"):
        used = {line.split()[-1] for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "gomp-" in line}
        assert file != "reg.json" or (used and all("/filecache/" in path for path in used)), used


@pytest.mark.full
def test_a_handler_runs_in_its_environment(serving):
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--system-site-packages", "--without-pip",
                    serving.home / "env"], check=True, timeout=300)
    code = serving.work / "code"
    code.mkdir()
    (code / "model.py").write_text(textwrap.dedent(HANDLER))
    (code / "factor").write_text("3")
    serving.run("model", "push", code, "triple", check=0)
    serving.deploy("triple", "--python", serving.home / "env")
    row, = answer(serving, "triple", "--json", '{"instances": [{"x": [1, 2]}]}')
    assert row["y"] == [3.0, 6.0] and "/usercache/" in row["prefix"], row
    (code / "factor").write_text("4")
    serving.run("model", "push", code, "triple", check=0)
    serving.run("serve", "update", "triple", "--watch", "1s", check=0)
    assert answer(serving, "triple", "--json", '{"instances": [{"x": [1, 2]}]}')[0]["y"] == [4.0, 8.0]
    done = serving.run("serve", "update", "triple", "--to", 1, "--backend", "/usr")
    assert done.returncode != 0 and "needs a new deployment" in done.stderr, done
