"""What keeps a version from being deployed: its files, its own answers. And models of TensorFlow."""

import json
from pathlib import Path

import made
import pytest

SERVE = Path(__file__).resolve().parent.parent / "serve"


def fails(serving, name):
    """Deploys it; what the logs of its replicas say then."""
    done = serving.run("serve", "deploy", name, "--cpus", 1)
    assert done.returncode == 1
    assert "ydl logs local-" in done.stderr.decode()
    assert not serving.processes()
    return serving.run("logs", "last", check=0).stderr.decode()


def test_a_version_whose_answers_are_wrong_is_not_deployed(serving):
    (serving.work / "wrong.json").write_text(json.dumps(
        {"request": {"instances": [[0.5] * 784]}, "expected": {"predictions": [[0] * 10]}}))
    serving.run("model", "push", serving.tmp / "data/ydl/models/mlp/versions/1/model/mlp.onnx", "mlp",
                "--warmup", "wrong.json", check=0)
    said = fails(serving, "mlp")
    assert "'wrong.json' failed: the model's answer is wrong: predictions[0][0] is" in said
    serving.deploy("mlp:1", "--cpus", 1)
    assert len(serving.predict()["predictions"][0]) == 10


def test_a_version_with_a_damaged_file_is_not_deployed(serving):
    model = serving.tmp / "data/ydl/models/mlp/versions/1/model/mlp.onnx"
    data = bytearray(model.read_bytes())
    data[len(data) // 2] ^= 1
    model.chmod(0o644)
    model.write_bytes(data)
    assert "is damaged: its SHA-256 is not that of the manifest" in fails(serving, "mlp")


@pytest.mark.parametrize("make, push, name, instances", [
    ("tensorflow_models.py", "dense", "dense", [[0.5] * 64]),
    ("mxnet_models.py", "net", "net", [[1] * 8]),
])
def test_models_of_tensorflow_and_mxnet_are_deployed(serving, make, push, name, instances):
    made.copy(serving.work, SERVE / make)
    if name == "net":
        (serving.work / "net").mkdir()
        for part in serving.work.glob("module-*"):
            part.rename(serving.work / "net" / part.name)
    serving.run("model", "push", push, name, check=0)
    serving.deploy(name, "--cpus", 1)
    (serving.work / "one.json").write_text(json.dumps({"instances": instances}))
    assert len(serving.predict(name)["predictions"]) == 1
