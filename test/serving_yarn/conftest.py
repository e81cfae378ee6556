"""Deployments on YARN: `served` is one that many tests share, `serving` makes one for a single test."""

import importlib.util
import json
import sys
import uuid
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ("frameworks", "serving")]

import environment  # noqa: E402
import made  # noqa: E402


def _yarn_jobs():
    path = HERE.parent / "yarn_jobs" / "conftest.py"
    spec = importlib.util.spec_from_file_location("ydl_yarn_jobs_fixtures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_YARN = _yarn_jobs()
rich_cluster, secure_cluster, own_cluster = _YARN.rich_cluster, _YARN.secure_cluster, _YARN.own_cluster


class OnYarn(_YARN.Jobs):
    """A person's shell with a registry on HDFS and a cluster to deploy to. Applications are `user`'s, ours if
    nobody is named."""

    def __init__(self, cluster, tmp: Path, models: Path, user=None):  # pylint: disable=redefined-outer-name
        super().__init__(cluster, tmp)
        self.models, self.user = models, user or _YARN.specs.me()
        self.top = f"/tmp/serving-{uuid.uuid4().hex[:12]}"
        self.registry = f"hdfs://{self.top}/registry"
        cluster.fs("-mkdir", "-p", self.top)
        cluster.fs("-chmod", "777", self.top)
        config = self.home / ".config" / "ydl"
        config.mkdir(parents=True)
        (config / "config.yaml").write_text(f"model: {{registry: '{self.registry}'}}\n")
        (self.work / "one.json").write_text(json.dumps({"instances": [[0.5] * 784]}))

    def env(self, user=None):
        env = super().env(user or (self.user if self.user != _YARN.specs.me() else None))
        return env | {"PATH": f"{environment.directory() / 'bin'}:{env['PATH']}",
                      "XDG_CACHE_HOME": str(self.home / "cache"),
                      "XDG_DATA_HOME": str(self.home / "data")}

    def push(self, name, model="mlp", *words):
        """Another version of `model`."""
        self.run("model", "push", self.models / f"{name}.onnx", model, *words, check=0)

    def deploy(self, *words, check=0, **options):
        """`ydl serve deploy --on yarn` of small replicas; the address that it prints."""
        return self.run("serve", "deploy", "--on", "yarn", "--cpus", 1, "--memory", "256m", *words,
                        check=check, **options).stdout.strip()

    def predict(self, name="mlp", *words, check=0):
        """The answer to the request in one.json."""
        done = self.run("predict", name, "--file", "one.json", *words, check=check)
        return json.loads(done.stdout) if done.stdout else done.stderr

    def status(self, name="mlp"):
        return json.loads(self.run("serve", "status", name, "--json", check=0).stdout)

    def model(self, name="mlp", model="mlp"):
        """What `ydl serve status` says of one model."""
        return next(one for one in self.status(name)["models"] if one["model"] == model)

    def replicas(self, name="mlp"):
        """{name: state} as the gateway sees them."""
        report = self.status(name)["gateway"] or {"models": []}
        return {one["name"]: one["state"] for model in report["models"]
                for version in model["versions"] for one in version["replicas"]}

    def answered(self, name="mlp"):
        """How many requests `ydl serve status --history` has."""
        done = self.run("serve", "status", name, "--history", "--json", check=0)
        return sum(row["requests"] for row in json.loads(done.stdout)["rows"])

    def wait_ready(self, n, name="mlp"):
        self.wait_for(lambda: list(self.replicas(name).values()) == ["ready"] * n, f"{n} ready replicas")

    def pids(self, text: str) -> list[int]:
        return sorted(self.processes(text))

    def end(self):
        """Stops all deployments first."""
        self.cluster.heal()
        for job in json.loads(self.run("serve", "list", "--json", check=0).stdout)["deployments"]:
            self.run("serve", "stop", job["name"], check=0)
        self.close()

    def close(self):
        self.cluster.heal()
        running = self.stop_all()
        left = self.leftovers()
        self.cluster.fs("-rm", "-r", "-f", "-skipTrash", self.top)
        assert not running, f"still running: {running}\n{self.tell()}"
        assert not left, "\n".join(left)


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """A directory with what test/serve/serve_models.py and test/serving/rollout_models.py make."""
    return made.copy(tmp_path_factory.mktemp("models"), HERE.parent / "serve" / "serve_models.py",
                     HERE.parent / "serving" / "rollout_models.py")


@pytest.fixture(scope="module")
def served(tmp_path_factory, models, cluster):  # pylint: disable=redefined-outer-name
    """`mlp` with two replicas on the plain cluster, which every test leaves with version 1 in them."""
    one = OnYarn(cluster, tmp_path_factory.mktemp("served"), models)
    one.push("mlp")
    one.url = one.deploy("mlp", "--replicas", 2)
    yield one
    one.run("serve", "stop", "mlp", check=0)
    one.close()


@pytest.fixture
def serving(tmp_path, models, cluster):  # pylint: disable=redefined-outer-name
    one = OnYarn(cluster, tmp_path, models)
    one.push("mlp")
    yield one
    one.end()


@pytest.fixture
def on(tmp_path, models):  # pylint: disable=redefined-outer-name
    """`on(a_cluster, user)`: a person's shell there, with `mlp` in a registry."""
    made = []

    def give(cluster, user=None):
        made.append(OnYarn(cluster, tmp_path, models, user))
        made[-1].push("mlp")
        return made[-1]
    yield give
    for one in made:
        one.end()
