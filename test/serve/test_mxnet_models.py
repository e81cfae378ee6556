"""MXNet's models, `ydl-native serve` with the real MXNet: answers are those of its own Python."""

import json
import shutil
import struct
import subprocess
import threading
from pathlib import Path

import pytest

import made
from serve_support import BIN, ask_tensors, infer, refused

HERE = Path(__file__).resolve().parent
SHAPES = {"dense": "data=-1x64", "pictures": "data=-1x3x12x12"}


@pytest.fixture(scope="module")
def nets(tmp_path_factory) -> Path:
    """A directory with what mxnet_models.py makes."""
    return made.copy(tmp_path_factory.mktemp("nets"), HERE / "mxnet_models.py")


def told(nets, name):
    """What MXNet itself says: a list of inputs and outputs by name."""
    def tensors(of):
        return {k: (datatype, shape, bytes.fromhex(data)) for k, (datatype, shape, data) in of.items()}
    return [(tensors(case["inputs"]), tensors(case["outputs"]))
            for case in json.loads((nets / f"{name}.told").read_text())]


def model(nets, name):
    return nets / f"{name}-symbol.json"


# ---- answers ----

@pytest.mark.parametrize("name", ["dense", "pictures", "module", "several", "types"])
def test_answers_are_those_of_mxnet_s_own_python(serve, nets, name):
    server = serve(model(nets, name))
    assert (server.ready["model"], server.ready["backend"]) == (name, "mxnet")
    assert server.ready["library_version"].startswith("1.")
    for inputs, outputs in told(nets, name):
        assert ask_tensors(server, name, inputs) == outputs
    assert server.end() == 0


@pytest.mark.parametrize("name", ["dense", "pictures"])
def test_a_shape_that_the_model_does_not_say_can_be_given(serve, nets, name):
    server = serve(model(nets, name), "--shape", SHAPES[name])
    sizes = [int(n) for n in SHAPES[name].split("=")[1].split("x")]
    shown = server.get(f"/v2/models/{name}").json
    assert shown["inputs"] == [{"name": "data", "datatype": "FP32", "shape": sizes}]
    assert shown["outputs"][0]["shape"] == [-1, 10 if name == "dense" else 5]
    for inputs, outputs in told(nets, name):
        assert ask_tensors(server, name, inputs) == outputs


def test_the_shape_that_the_model_says_is_told_without_the_label(serve, nets):
    server = serve(model(nets, "module"))
    shown = server.get("/v2/models/module").json
    assert shown["inputs"] == [{"name": "data", "datatype": "FP32", "shape": [-1, 8]}]
    assert shown["outputs"] == [{"name": "softmax_output", "datatype": "FP32", "shape": [-1, 4]}]
    rows = server.post("/v1/models/module:predict", {"instances": [[0] * 8, [1] * 8]})
    assert rows.status == 200 and abs(sum(rows.json["predictions"][0]) - 1) < 1e-6


def test_a_pushed_version_is_served_as_the_registry_shows_it(serve, nets, tmp_path):
    for end in ("symbol.json", "0000.params"):
        (tmp_path / "net").mkdir(exist_ok=True)
        shutil.copy(nets / f"module-{end}", tmp_path / "net")
    subprocess.run([BIN / "ydl", "model", "push", "--registry", tmp_path / "registry",
                    tmp_path / "net", "cat"], check=True, timeout=60)
    version = tmp_path / "registry" / "cat" / "versions" / "1"
    server = serve(version)
    assert server.ready["model"] == "cat"
    inputs, outputs = told(nets, "module")[1]
    assert ask_tensors(server, "cat", inputs) == outputs
    manifest = json.loads((version / "MANIFEST.json").read_text())["signatures"]["serving_default"]
    assert manifest["inputs"] == server.get("/v2/models/cat").json["inputs"]


def test_requests_that_meet_are_run_together_and_keep_their_own_answers(serve, nets):
    inputs, outputs = told(nets, "dense")[1]
    x, y = inputs["data"][2], next(iter(outputs.values()))[2]
    server = serve(model(nets, "dense"), "--shape", SHAPES["dense"], "--batch", 7,
                   "--batch-delay", "60s")
    answers = {}

    def one(i):
        found = ask_tensors(server, "dense", {"data": ("FP32", [1, 64], x[i * 256:(i + 1) * 256])})
        answers[i] = next(iter(found.values()))[2]
    threads = [threading.Thread(target=one, args=(i,)) for i in range(7)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert b"".join(answers[i] for i in range(7)) == y
    assert server.metric("ydl_serve_batch_rows_count") == 1


def test_many_shapes_from_several_clients_give_the_right_answers(serve, nets):
    cases = told(nets, "dense")
    server = serve(model(nets, "dense"), "--cpus", "2", "--instances", "2")
    wrong = []

    def one(shift):
        for i in range(24):
            rows = 1 + (i + shift) % 12  # more of them than are kept ready
            x = struct.pack("<64f", *range(64)) * rows
            found = next(iter(ask_tensors(server, "dense", {"data": ("FP32", [rows, 64], x)}).values()))
            if found[1] != [rows, 10]:
                wrong.append(rows)
            inputs, outputs = cases[i % len(cases)]
            if ask_tensors(server, "dense", inputs) != outputs:
                wrong.append(i)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert server.end() == 0


# ---- what is wrong ----

def test_what_does_not_fit_is_400_and_a_sentence(serve, nets):
    known = serve(model(nets, "dense"), "--shape", SHAPES["dense"])
    unknown = serve(model(nets, "dense"))
    for server, text in ((known, "[-1, 64]"), (unknown, "hape")):
        answer = server.post("/v2/models/dense/infer", infer("data", [1] * 5, [1, 5]))
        assert answer.status == 400, answer.text
        assert text in answer.json["error"] and "Stack trace" not in answer.json["error"]
        answer = server.post("/v2/models/dense/infer", infer("data", [], [0, 64]))
        assert answer.status == 400 and "empty" in answer.json["error"]
        inputs, outputs = told(nets, "dense")[0]
        assert ask_tensors(server, "dense", inputs) == outputs


@pytest.mark.parametrize("name, text", [
    ("cutsymbol", "no known model format"), ("cutparams", "is damaged"),
    ("noparams", "has no weights beside it"), ("others", "has no 'batchnorm0_running_mean'"),
    ("noop", "MXNet cannot load it"),
])
def test_a_model_that_cannot_be_served_is_refused_with_a_sentence(nets, library, name, text):
    said = refused(model(nets, name), "--lib", library)
    assert name in said and text in said and "Stack trace" not in said


@pytest.mark.parametrize("shape, text", [
    ("data=64", None), ("data=ax64", "is not NAME=SIZExSIZE"), ("data", "is not NAME=SIZExSIZE"),
    ("data=0x64", "is not NAME=SIZExSIZE"), ("x=-1x64", "has no input 'x'"),
])
def test_a_shape_that_is_wrong_is_refused(serve, nets, library, shape, text):
    if text:
        assert text in refused(model(nets, "dense"), "--lib", library, "--shape", shape)
    else:
        assert serve(model(nets, "dense"), "--shape", shape).ready


def test_a_shape_is_for_mxnet_only(models, library):
    assert "say their shapes themselves" in refused(models / "small.onnx", "--lib", library,
                                                    "--shape", "x=-1x4")


def test_another_library_is_refused(nets, tmp_path):
    (tmp_path / "libmxnet.so").write_text("not a library")
    said = refused(model(nets, "dense"), "--lib", tmp_path)
    assert "load MXNet" in said and "pip install" in said


def test_a_gpu_is_not_for_them(nets, library):
    assert "on the cpu" in refused(model(nets, "dense"), "--lib", library, "--device", "cuda")
