"""Models of trees, `ydl-native serve` with the real XGBoost and LightGBM: predictions are those of
the libraries' own Python."""

import json
import math
import shutil
import struct
import subprocess
import threading
from pathlib import Path

import pytest

import made
from serve_support import BIN, infer, refused

HERE = Path(__file__).resolve().parent
FEATURES = 6
KINDS = {"json": ("FP32", "f"), "ubj": ("FP32", "f"), "bst": ("FP32", "f"),
         "txt": ("FP64", "d")}
FILES = ["reg.json", "two.bst", "three.ubj", "json.bst", "lreg.txt", "ltwo.txt", "lthree.txt"]
EACH = ["reg.json", "three.ubj", "lreg.txt", "lthree.txt"]  # library, and shape of the output


@pytest.fixture(scope="module")
def trees(tmp_path_factory) -> Path:
    """A directory with what tree_models.py makes."""
    return made.copy(tmp_path_factory.mktemp("trees"), HERE / "tree_models.py")


def kind(file):
    """The element type, and its letter in struct."""
    return KINDS[file.rsplit(".", 1)[1]]


def told(trees, file):
    """Rows to ask, and the answers as a flat list."""
    data = json.loads((trees / "answers.json").read_text())[file]
    return data["x"], [v for row in data["y"] for v in (row if isinstance(row, list) else [row])]


def binary(file, rows):
    """A binary infer request, and its headers."""
    datatype, letter = kind(file)
    x = b"".join(struct.pack(f"<{FEATURES}{letter}", *row) for row in rows)
    head = json.dumps({"inputs": [{"name": "input", "shape": [len(rows), FEATURES],
                                   "datatype": datatype,
                                   "parameters": {"binary_data_size": len(x)}}],
                       "parameters": {"binary_data_output": True}}).encode()
    return head + x, {"Inference-Header-Content-Length": str(len(head)),
                      "Content-Type": "application/octet-stream"}


def ask_binary(server, file, rows, name=None):
    """Its output's numbers, exactly."""
    answer = server.post(f"/v2/models/{name or file.split('.')[0]}/infer", *binary(file, rows))
    assert answer.status == 200, answer.text
    tensor = answer.body[int(answer.headers["Inference-Header-Content-Length"]):]
    letter = kind(file)[1]
    return list(struct.unpack(f"<{len(tensor) // struct.calcsize(letter)}{letter}", tensor))


def same(file, values, expected):
    """Numbers read from JSON, to the last bit of the model's type."""
    letter = kind(file)[1]
    return [struct.unpack(letter, struct.pack(letter, v))[0] for v in values] == expected


def flat(rows):
    return [v for row in rows for v in (row if isinstance(row, list) else [row])]


# ---- answers ----

@pytest.mark.parametrize("file", FILES)
def test_predictions_are_those_of_the_library_s_own_python(serve, trees, file):
    x, y = told(trees, file)
    assert any(math.isnan(v) for row in x for v in row)
    server = serve(trees / file)
    name = file.split(".")[0]
    assert ask_binary(server, file, x) == y
    oip = server.post(f"/v2/models/{name}/infer",
                      infer("input", flat(x), [len(x), FEATURES], kind(file)[0]))
    assert oip.status == 200, oip.text
    assert same(file, oip.json["outputs"][0]["data"], y)
    rows = server.post(f"/v1/models/{name}:predict", {"instances": x})
    assert rows.status == 200, rows.text
    assert same(file, flat(rows.json["predictions"]), y)
    assert server.end() == 0


@pytest.mark.parametrize("file", FILES)
def test_what_a_model_takes_and_gives_is_told(serve, trees, file):
    x, y = told(trees, file)
    per_row = len(y) // len(x)
    server = serve(trees / file)
    shown = server.get(f"/v2/models/{file.split('.')[0]}").json
    datatype = kind(file)[0]
    assert shown["inputs"] == [{"name": "input", "datatype": datatype, "shape": [-1, FEATURES]}]
    assert shown["outputs"] == [{"name": "output", "datatype": datatype,
                                 "shape": [-1] if per_row == 1 else [-1, per_row]}]
    assert server.ready["library_version"].startswith(tuple("123456789"))


@pytest.mark.parametrize("file", EACH)
def test_requests_that_meet_are_run_together_and_keep_their_own_answers(serve, trees, file):
    x, y = told(trees, file)
    per_row = len(y) // len(x)
    server = serve(trees / file, "--batch", len(x), "--batch-delay", "60s")
    answers = {}

    def one(i):
        answers[i] = ask_binary(server, file, [x[i]])
    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(x))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert flat([answers[i] for i in range(len(x))]) == y
    assert per_row == len(answers[0])
    assert server.metric("ydl_serve_batch_rows_count") == 1


@pytest.mark.parametrize("file", EACH)
def test_several_runs_at_a_time_give_the_same_answers(serve, trees, file):
    x, y = told(trees, file)
    server = serve(trees / file, "--cpus", "4", "--instances", "3")
    wrong = []

    def one():
        wrong.extend(a for a in (ask_binary(server, file, x) for _ in range(50)) if a != y)
    threads = [threading.Thread(target=one) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert server.get("/v2/health/ready").status == 200


@pytest.mark.parametrize("file", EACH)
def test_a_pushed_version_is_served_as_the_registry_shows_it(serve, trees, tmp_path, file):
    shutil.copy(trees / file, tmp_path / "weights.bin")
    for _ in range(2):
        subprocess.run([BIN / "ydl", "model", "push", "--registry", tmp_path / "registry",
                        tmp_path / "weights.bin", "cat"], check=True, timeout=60)
    version = tmp_path / "registry" / "cat" / "versions" / "2"
    server = serve(version)
    assert (server.ready["model"], server.ready["version"]) == ("cat", 2)
    x, y = told(trees, file)
    assert ask_binary(server, file, x, "cat") == y
    manifest = json.loads((version / "MANIFEST.json").read_text())["signatures"]["serving_default"]
    shown = server.get("/v2/models/cat").json
    assert (shown["inputs"], shown["outputs"]) == (manifest["inputs"], manifest["outputs"])


def test_single_precision_is_taken_where_a_model_has_double(serve, trees):
    x, y = told(trees, "lthree.txt")
    server = serve(trees / "lthree.txt")
    body = b"".join(struct.pack(f"<{FEATURES}f", *row) for row in x)
    head = json.dumps({"inputs": [{"name": "input", "shape": [len(x), FEATURES], "datatype": "FP32",
                                   "parameters": {"binary_data_size": len(body)}}]}).encode()
    answer = server.post("/v2/models/lthree/infer", head + body,
                         {"Inference-Header-Content-Length": str(len(head))})
    assert answer.status == 200, answer.text
    assert answer.json["outputs"][0]["datatype"] == "FP64"
    assert same("lthree.txt", answer.json["outputs"][0]["data"], y)
    answer = server.post("/v2/models/lthree/infer",
                         infer("input", flat(x), [len(x), FEATURES], "FP32"))
    assert answer.status == 200, answer.text
    assert same("lthree.txt", answer.json["outputs"][0]["data"], y)


# ---- what is wrong ----

@pytest.mark.parametrize("file", EACH)
def test_what_does_not_fit_is_400_and_a_sentence(serve, trees, file):
    server = serve(trees / file)
    name, datatype = file.split(".")[0], kind(file)[0]
    for body, text in ((infer("input", [1] * 5, [1, 5], datatype), f"[-1, {FEATURES}]"),
                       (infer("input", [1] * 7, [1, 7], datatype), f"[-1, {FEATURES}]"),
                       (infer("input", [1] * 6, [6], datatype), f"[-1, {FEATURES}]"),
                       (infer("x", [1] * 6, [1, 6], datatype), "'input'"),
                       (infer("input", [1] * 6, [1, 6], "INT64"), "INT64")):
        answer = server.post(f"/v2/models/{name}/infer", body)
        assert answer.status == 400, answer.text
        assert text in answer.json["error"]
    answer = server.post(f"/v1/models/{name}:predict", {"instances": [[1, 2, 3]]})
    assert answer.status == 400, answer.text
    assert server.get("/v2/health/ready").status == 200


def test_no_rows_have_no_answers(serve, trees):
    server = serve(trees / "reg.json")
    answer = server.post("/v2/models/reg/infer", infer("input", [], [0, FEATURES]))
    assert answer.status == 200, answer.text
    assert answer.json["outputs"][0]["data"] == []


@pytest.mark.parametrize("file, text", [
    ("cut_reg.json", "XGBoost cannot load it"), ("cut_three.ubj", "is damaged"),
    ("noise.json", "XGBoost cannot load it"), ("empty.json", "is empty"),
    ("linear.json", "XGBoost cannot predict"),
    ("cut_lthree.txt", "is damaged"), ("noise.txt", "LightGBM cannot load it"),
    ("longer_lthree.txt", "is damaged"), ("wrong_lthree.txt", "LightGBM cannot load it"),
])
def test_a_model_that_cannot_be_served_is_refused_with_a_sentence(trees, library, file, text):
    said = refused(trees / file, "--lib", library)
    assert file in said and text in said
    assert "Stack trace" not in said and "/workspace" not in said


def test_another_library_is_refused(trees, tmp_path):
    (tmp_path / "libxgboost.so").write_text("not a library")
    said = refused(trees / "reg.json", "--lib", tmp_path)
    assert "load XGBoost" in said
    (tmp_path / "libxgboost.so").unlink()
    assert "there is no libxgboost.so in" in refused(trees / "reg.json", "--lib", tmp_path)


def test_a_gpu_is_not_for_them(trees, library):
    assert "on the cpu" in refused(trees / "reg.json", "--lib", library, "--device", "cuda")
