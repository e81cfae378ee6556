"""The requests that the documentation of TensorFlow Serving's REST API and of the Open Inference Protocol
prints, sent to a real server with a real model: status and answer are what it prints there, errors too.
documented.json has them, as data; `page` says where each is from."""

import json
import math
import subprocess
from pathlib import Path

import environment
import pytest
from serve_support import Server

HERE = Path(__file__).resolve().parent
ROWS = json.loads((HERE / "documented.json").read_text())
MODELS = {"half_plus_three": ("half_plus_three", "--model-version", 123, "--label", "stable"),
          "echo": ("echo",), "mymodel": ("mymodel.onnx", "--model-version", 1)}


@pytest.fixture(scope="module", name="servers")
def fixture_servers(tmp_path_factory, library):
    """One for each model, started when it is asked first."""
    found, running = tmp_path_factory.mktemp("documented"), {}
    subprocess.run([environment.directory() / "bin" / "python", HERE / "documented_models.py", found], check=True,
                   timeout=300, env={"PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": ""})

    def give(name):
        if name not in running:
            path, *words = MODELS[name]
            running[name] = Server(library, found / path, "--name", name, *words)
        return running[name]
    yield give
    for server in running.values():
        server.kill()


def same(a, b):
    """Equal, where NaN is NaN, and numbers are those of 32 bits."""
    if isinstance(a, float) and isinstance(b, (int, float)) and not isinstance(b, bool):
        return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=1e-7)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) == set(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("row", ROWS, ids=[row["page"] for row in ROWS])
def test_what_the_documentation_prints_is_answered(servers, row):
    method, path = row["ask"].split(" ")
    body = row["body"].encode() if "body" in row else None
    answer = servers(row["model"]).ask(method, path, body)
    assert answer.status == row["status"], answer.text
    found = answer.json if answer.body else None
    assert answer.headers["Content-Type"] == "application/json", answer.headers
    if "says" in row:
        assert row["says"] in found["error"]
        return
    for key in row.get("part", ()):
        found = found[key]
    assert "answer" not in row or same(found, row["answer"]), answer.text
