"""Formats are recognised by content: models that the real frameworks wrote, and near misses."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from model_support import ROOT, handler

sys.path.append(str(ROOT / "test" / "frameworks"))

import made as made_models  # noqa: E402


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """What make_models.py writes."""
    return made_models.copy(tmp_path_factory.mktemp("models"), Path(__file__).with_name("make_models.py"))


def tensors(shown, which: str) -> list[tuple]:
    signature = shown["signatures"]["serving_default"]
    return [(t["name"], t["datatype"], t["shape"]) for t in signature[which]]


@pytest.mark.parametrize("path, fmt, entry, inputs, outputs, framework", [
    ("m.onnx", "onnx", "m.onnx", [("x", "FP32", [-1, 4])], [("y", "FP32", [-1, 3])],
     {"opset": 17, "ir_version": 8, "producer": "test"}),
    ("external", "onnx", "m.onnx", [("x", "FP32", [-1, 4])], [("y", "FP32", [-1, 3])],
     {"opset": 17}),
    ("tf", "tensorflow", "", [("x", "FP32", [-1, 4])], [("y", "FP32", [-1, 4])],
     {"version": "2.13.1"}),
    ("mx", "mxnet", "net-symbol.json", [("data", "FP32", None)],
     [("softmax_output", "FP32", None)], {"version": "1.9.1", "params": "net-0000.params"}),
    ("m.json", "xgboost", "m.json", [("input", "FP32", [-1, 4])], [("output", "FP32", [-1])],
     {"version": "3.2.0", "objective": "binary:logistic"}),
    ("m.ubj", "xgboost", "m.ubj", [("input", "FP32", [-1, 4])], [("output", "FP32", [-1])],
     {"version": "3.2.0", "objective": "binary:logistic"}),
    ("classes.ubj", "xgboost", "classes.ubj", [("input", "FP32", [-1, 4])],
     [("output", "FP32", [-1, 3])], {"objective": "multi:softprob"}),
    ("m.txt", "lightgbm", "m.txt", [("input", "FP64", [-1, 4])], [("output", "FP64", [-1])],
     {"version": "v4", "objective": "binary sigmoid:1"}),
])
def test_a_real_model_is_recognised(registry, made, path, fmt, entry, inputs, outputs, framework):
    registry.ok("push", made / path, "m")
    shown = registry.json("show", "m")
    assert (shown["format"], shown["entry"]) == (fmt, entry)
    assert tensors(shown, "inputs") == inputs and tensors(shown, "outputs") == outputs
    assert shown["framework"].items() >= framework.items()


def test_the_name_of_a_file_does_not_matter(registry, made, tmp_path):
    for name, fmt in (("m.onnx", "onnx"), ("m.ubj", "xgboost"), ("m.json", "xgboost"),
                      ("m.txt", "lightgbm")):
        shutil.copy(made / name, tmp_path / "weights.bin")
        assert registry.json("push", tmp_path / "weights.bin", "m")["format"] == fmt


def test_weights_that_lie_elsewhere_must_come_along(registry, made):
    registry.fails(1, "push", made / "external/m.onnx", "m", says="needs the file 'w.bin'")
    registry.fails(1, "push", made / "mx/net-symbol.json", "m", says="has no weights beside it")


def test_two_models_in_one_directory_are_refused(registry, made, tmp_path):
    both = tmp_path / "both"
    both.mkdir()
    shutil.copy(made / "m.onnx", both / "a")
    shutil.copy(made / "m.txt", both / "b")
    registry.fails(1, "push", both, "m", says="it holds two models: 'a' (onnx) and 'b' (lightgbm)")
    handler(both)  # which says itself what serves it
    assert registry.json("push", both, "m")["format"] == "python"


@pytest.mark.parametrize("name", ["m.onnx", "tf/saved_model.pb", "mx/net-0000.params", "m.ubj"])
def test_a_model_that_was_cut_off_is_refused(registry, made, tmp_path, name):
    tree = tmp_path / "cut"
    tree.mkdir()
    top = name.split("/")[0]
    if (made / top).is_dir():
        shutil.copytree(made / top, tree, dirs_exist_ok=True)
    else:
        shutil.copy(made / top, tree)
    victim = tree / Path(name).name
    content = victim.read_bytes()
    for part in (1, len(content) // 3, len(content) // 2, len(content) - 1):
        victim.write_bytes(content[:part])
        done = registry("push", tree, "m")
        assert done.returncode == 1, (part, done.stdout, done.stderr)


def test_a_command_names_its_program(registry, tmp_path):
    tree = tmp_path / "command"
    tree.mkdir()
    (tree / "weights.gguf").write_bytes(b"GGUF")
    words = ["./server", "-m", "weights.gguf", "--port", "{port}"]
    file = tree / "command.json"
    file.write_text(json.dumps({"command": words, "health": "/health"}))
    registry.ok("push", tree, "llm")
    shown = registry.json("show", "llm")
    assert shown["format"] == "command" and shown["framework"]["command"] == words
    for text, says in (("{", "is not valid JSON"), ("[]", "must be an object"),
                       ('{"command": "x"}', "must be a list of words"),
                       ('{"command": ["x"]}', "contains {port}"),
                       ('{"command": ["x", "{port}"], "health": "h"}', "must be a path"),
                       ('{"command": ["x", "{port}"], "port": 1}', "unknown key 'port'")):
        file.write_text(text)
        registry.fails(1, "push", tree, "llm", says=says)


@pytest.mark.parametrize("text, ok", [
    ("def load(d):\n  pass\nasync def predict(x):\n  pass\n", True),
    ("from mine import load, predict\n", True),
    ("load = predict = print\n", False),
    ("load = print\npredict: object = print\n", True),
    ("class A:\n  def load(d): pass\n  def predict(x): pass\n", False),
    ("# def load(d)\n# def predict(x)\n", False),
])
def test_a_handler_defines_load_and_predict(registry, tmp_path, text, ok):
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "model.py").write_text(text)
    assert registry("push", tmp_path / "h", "h").returncode == (0 if ok else 1)
