"""Deployments on this machine: real models, model servers and HAProxy."""

import json
import re
import sys
import uuid
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ("local", "frameworks")]

import environment  # noqa: E402
import made  # noqa: E402
from local_support import Local  # noqa: E402


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """A directory with what test/serve/serve_models.py and rollout_models.py make."""
    return made.copy(tmp_path_factory.mktemp("models"), HERE.parent / "serve" / "serve_models.py",
                     HERE / "rollout_models.py")


class Serving(Local):
    """A person's machine with a registry that has the model `mlp`, and ONNX Runtime in PATH's Python."""

    def __init__(self, tmp: Path, models: Path):  # pylint: disable=redefined-outer-name
        super().__init__(tmp)
        self.env["PATH"] = f"{environment.directory() / 'bin'}:{self.env['PATH']}"
        self.env["XDG_DATA_HOME"] = str(tmp / "data")
        self.models = models
        self.prepare()
        self.push("mlp")
        (self.work / "one.json").write_text(json.dumps({"instances": [[0.5] * 784]}))

    def prepare(self):
        """What a test wants to change before anything is pushed."""

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

    def history(self, *words, name="mlp"):
        """Rows of `ydl serve status --history`."""
        done = self.run("serve", "status", name, "--history", *words, "--json", check=0)
        return json.loads(done.stdout)["rows"]

    def answered(self, *words, name="mlp"):
        """How many requests each version had: {version: requests}."""
        found = {}
        for row in self.history(*words, name=name):
            found[row["version"]] = found.get(row["version"], 0) + row["requests"]
        return found

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


def lent(one: Serving):
    """Lends it to a test, and takes away what that left."""
    try:
        yield one
        for job in json.loads(one.run("serve", "list", "--json", check=0).stdout)["deployments"]:
            one.run("serve", "stop", job["name"], check=0)
        one.assert_nothing_left()
    finally:
        one.close()


@pytest.fixture
def serving(tmp_path, models):  # pylint: disable=redefined-outer-name
    yield from lent(Serving(tmp_path, models))


@pytest.fixture(scope="module")
def shared(tmp_path_factory, models):  # pylint: disable=redefined-outer-name
    """The same for all tests of a file that leave it, and what is deployed, as it was."""
    yield from lent(Serving(tmp_path_factory.mktemp("shared"), models))


class FromHdfs(Serving):
    """The same machine as in other tests, and a registry on HDFS that is alice's."""

    def __init__(self, tmp: Path, models: Path, cluster):  # pylint: disable=redefined-outer-name
        self.top = f"/tmp/serving-{uuid.uuid4().hex[:12]}"
        self.place = f"hdfs://{self.top}/registry"
        self.cluster = cluster
        cluster.fs("-mkdir", self.top)
        cluster.fs("-chown", "alice", self.top)
        super().__init__(tmp, models)

    def prepare(self):
        self.env.update({k: v for k, v in self.cluster.env("alice").items() if k.startswith(("HADOOP_", "KRB5"))})
        self.env["XDG_CACHE_HOME"] = str(self.tmp / "cache")
        config = self.tmp / ".config" / "ydl"
        config.mkdir(parents=True)
        (config / "config.yaml").write_text(f"model: {{registry: '{self.place}'}}\n")

    def kept(self) -> dict[str, Path]:
        """What is in this node's cache, without locks: {name: path}."""
        return {p.name: p for p in (self.tmp / "cache" / "ydl" / "models").glob("*") if p.suffix != ".lock"}

    def said(self, pattern: str) -> list[str]:
        """What the replicas of all deployments wrote about their models."""
        return [line for job in self.jobs() for log in sorted(job.glob("logs/**/*"))
                if log.is_file() for line in re.findall(pattern, log.read_text(errors="replace"))]

    def close(self):
        super().close()
        self.cluster.fs("-rm", "-r", "-f", "-skipTrash", self.top)


@pytest.fixture
def hdfs(tmp_path, models, cluster):  # pylint: disable=redefined-outer-name
    yield from lent(FromHdfs(tmp_path, models, cluster))


@pytest.fixture
def hdfs_of_each(tmp_path, models, each_cluster):  # pylint: disable=redefined-outer-name
    yield from lent(FromHdfs(tmp_path, models, each_cluster))
