"""The examples of the dmlc family with the real MXNet, as their texts write the commands."""

import importlib.util
import re
import shutil
from pathlib import Path

import pytest
from front_support import ROOT, call

_PATH = Path(__file__).resolve().parents[1] / "frameworks" / "environment.py"


@pytest.fixture(scope="module")
def venv() -> Path:
    """The environment that has MXNet."""
    spec = importlib.util.spec_from_file_location("ydl_frameworks_environment", _PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.directory()


def accuracies(done) -> list[float]:
    """What the workers say at the end."""
    return [float(found) for found in re.findall(r"accuracy ([0-9.]+)", done.stdout)]


MX = ["-n", "2", "-s", "1", "job.py", "--kv-store", "dist_sync", "--data-dir", "data"]


def test_the_example_of_mxnetonyarn_trains_here(fronts, venv):
    shutil.copytree(ROOT / "examples" / "mx", fronts.work, dirs_exist_ok=True)
    done = fronts.run("ydl-mx", "local", *MX, check=0, timeout=120,
                      env={"PATH": f"{venv}/bin:{fronts.env['PATH']}"})
    assert len(accuracies(done)) == 2 and min(accuracies(done)) > 0.9, done.stdout
    assert "worker 1 of 2" in done.stdout
    assert list(fronts.work.glob("ydl-out/*/model/points-symbol.json"))


@pytest.mark.full
def test_the_example_of_dmlc_trains_here(fronts, venv):
    shutil.copytree(ROOT / "examples" / "dmlc", fronts.work, dirs_exist_ok=True)
    done = fronts.run("dmlc-submit", "--cluster", "local", "--num-workers", 2, "--num-servers", 1, "python",
                      "imagenet.py", check=0, timeout=120, env={"PATH": f"{venv}/bin:{fronts.env['PATH']}"})
    assert len(accuracies(done)) == 2 and min(accuracies(done)) > 0.9, done.stdout


@pytest.mark.full
def test_both_train_on_yarn_with_the_scheduler_here(jobs, venv):
    shutil.copytree(ROOT / "examples" / "mx", jobs.work, dirs_exist_ok=True)
    shutil.copytree(ROOT / "examples" / "dmlc", jobs.work, dirs_exist_ok=True)
    env = jobs.env() | {"PATH": f"{venv}/bin:{jobs.env()['PATH']}"}
    path = f"PATH={venv}/bin:/usr/bin:/bin"
    for words in (["ydl-mx", "yarn", "--mem", "700m", "--env", path, *MX],
                  ["dmlc-yarn.py", "-hip", "127.0.0.1", "-n", 1, "-s", 1, "-mem", 700, "--env", path,
                   "--yarn-scripts", "xxx/mxnet/dmlc-core/yarn/", "python", "imagenet.py"]):
        done = call(words[0], words[1:], env, jobs.work, 180)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        assert accuracies(done) and min(accuracies(done)) > 0.9, done.stdout
