"""Deployments on this machine: real models, model servers and HAProxy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ("local", "frameworks")]

import environment  # noqa: E402
from local_support import Local  # noqa: E402


@pytest.fixture(scope="session")
def models(tmp_path_factory) -> Path:
    """A directory with what test/serve/serve_models.py and rollout_models.py make."""
    found = tmp_path_factory.mktemp("models")
    for script in (HERE.parent / "serve" / "serve_models.py", HERE / "rollout_models.py"):
        subprocess.run([environment.directory() / "bin" / "python", script, found], check=True, timeout=300)
    return found


class Serving(Local):
    """A person's machine with a registry that has the model `mlp`, and ONNX Runtime in PATH's Python."""

    def __init__(self, tmp: Path, models: Path):  # pylint: disable=redefined-outer-name
        super().__init__(tmp)
        self.env["PATH"] = f"{environment.directory() / 'bin'}:{self.env['PATH']}"
        self.env["XDG_DATA_HOME"] = str(tmp / "data")
        self.models = models
        self.push("mlp")
        (self.work / "one.json").write_text(json.dumps({"instances": [[0.5] * 784]}))

    def push(self, name, model="mlp"):
        """Another version of `model`."""
        self.run("model", "push", self.models / f"{name}.onnx", model, check=0)

    def deploy(self, *words, check=0):
        """`ydl serve deploy`; the address that it prints."""
        return self.run("serve", "deploy", *words, check=check).stdout.decode().strip()

    def predict(self, name="mlp", *words, check=0):
        """The answer to the request in one.json."""
        done = self.run("predict", name, "--file", "one.json", *words, check=check)
        return json.loads(done.stdout) if done.stdout else done.stderr.decode()

    def status(self, name="mlp"):
        return json.loads(self.run("serve", "status", name, "--json", check=0).stdout)

    def model(self, name="mlp", model="mlp"):
        """What `ydl serve status` says of one model."""
        return next(one for one in self.status(name)["models"] if one["model"] == model)

    def ready(self, version, name="mlp", model="mlp"):
        """How many replicas of a version are ready."""
        report = self.status(name)["gateway"] or {"models": []}
        return sum(one["state"] == "ready" for m in report["models"] if m["name"] == model
                   for v in m["versions"] if v["version"] == version for one in v["replicas"])

    def replicas(self, name="mlp"):
        """{name: state} as the gateway sees them."""
        report = self.status(name)["gateway"] or {"models": []}
        return {one["name"]: one["state"] for model in report["models"]
                for version in model["versions"] for one in version["replicas"]}


@pytest.fixture
def serving(tmp_path, models):  # pylint: disable=redefined-outer-name
    one = Serving(tmp_path, models)
    try:
        yield one
        for job in json.loads(one.run("serve", "list", "--json", check=0).stdout)["deployments"]:
            one.run("serve", "stop", job["name"], check=0)
        one.assert_nothing_left()
    finally:
        one.close()
