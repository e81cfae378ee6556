"""SavedModels, `ydl-native serve` with the real TensorFlow: answers are those of its own Python."""

import base64
import json
import struct
import subprocess
import threading
from pathlib import Path

import pytest

import made
from serve_support import BIN, ask_tensors, infer, refused

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """A directory with what tensorflow_models.py makes."""
    return made.copy(tmp_path_factory.mktemp("saved"), HERE / "tensorflow_models.py")


def told(saved, name):
    """What TensorFlow itself says: inputs and outputs by name."""
    return json.loads((saved / f"{name}.told").read_text())


def asked(data):
    return {k: ("FP32", v["shape"], bytes.fromhex(v["bytes"])) for k, v in data["inputs"].items()}


def expected(data):
    return {k: ("FP32", v["shape"], bytes.fromhex(v["bytes"])) for k, v in data["outputs"].items()}


def predict(server, name, body, **more):
    """What :predict answers to instances, or its error."""
    answer = server.post(f"/v1/models/{name}:predict", {"instances": body, **more})
    return answer.json.get("predictions", (answer.status, answer.json.get("error")))


# ---- answers ----

@pytest.mark.parametrize("name, cpus", [
    ("dense", 1), pytest.param("dense", 2, marks=pytest.mark.full),
    pytest.param("pictures", 1, marks=pytest.mark.full), ("pictures", 2)])
def test_answers_are_those_of_tensorflow_s_own_python(serve, saved, name, cpus):
    data = told(saved, name)
    server = serve(saved / name, "--cpus", cpus)
    assert ask_tensors(server, name, asked(data)) == expected(data)
    rows = predict(server, name, next(iter(data["inputs"].values()))["values"])
    one = next(iter(data["outputs"].values()))
    assert [struct.pack("<f", v) for row in rows for v in row] == [
        bytes.fromhex(one["bytes"])[i:i + 4] for i in range(0, len(one["bytes"]) // 2, 4)]
    assert server.end() == 0


def test_a_pushed_version_is_served_as_the_registry_shows_it(serve, saved, tmp_path):
    subprocess.run([BIN / "ydl", "model", "push", "--registry", tmp_path, saved / "dense", "cat"],
                   check=True, timeout=60)
    version = tmp_path / "cat" / "versions" / "1"
    server = serve(version)
    assert (server.ready["model"], server.ready["backend"]) == ("cat", "tensorflow")
    assert server.ready["library_version"].startswith("2.")
    data = told(saved, "dense")
    assert ask_tensors(server, "cat", asked(data)) == expected(data)
    manifest = json.loads((version / "MANIFEST.json").read_text())["signatures"]["serving_default"]
    shown = server.get("/v2/models/cat").json
    for side in ("inputs", "outputs"):
        assert [{k: v for k, v in one.items() if k != "tensor"}
                for one in manifest[side]] == shown[side]
    assert shown["platform"] == "tensorflow_savedmodel"


SAMPLES = {
    "BOOL": (b"\0\1\1\0", [[False, True], [True, False]]),
    "UINT8": (bytes([0, 1, 2, 255]), [[0, 1], [2, 255]]),
    "INT8": (bytes([0, 1, 255, 128]), [[0, 1], [-1, -128]]),
    "UINT16": (struct.pack("<4H", 0, 1, 255, 65535), [[0, 1], [255, 65535]]),
    "INT16": (struct.pack("<4h", 0, -1, 255, -32768), [[0, -1], [255, -32768]]),
    "UINT32": (struct.pack("<4I", 0, 1, 2, 2 ** 32 - 1), [[0, 1], [2, 2 ** 32 - 1]]),
    "INT32": (struct.pack("<4i", 0, -1, 2, -2 ** 31), [[0, -1], [2, -2 ** 31]]),
    "UINT64": (struct.pack("<4Q", 0, 1, 2, 2 ** 64 - 1), [[0, 1], [2, 2 ** 64 - 1]]),
    "INT64": (struct.pack("<4q", 0, -1, 2, -2 ** 63), [[0, -1], [2, -2 ** 63]]),
    "FP16": (struct.pack("<4e", 0, -1.5, 6.1e-5, 65504), None),  # which have no form in JSON
    "BF16": (bytes.fromhex("803f00c0ff7f0100"), None),
    "FP32": (struct.pack("<4f", 0, -1.5, 1e-45, 3.4e38), [[0, -1.5], [1e-45, 3.4e38]]),
    "FP64": (struct.pack("<4d", 0, -1.5, 5e-324, 1.7e308), [[0, -1.5], [5e-324, 1.7e308]]),
    "BYTES": (b"".join(struct.pack("<I", len(s)) + s for s in (b"", b"a", b"bc", b"d" * 99)),
              [["", "a"], ["bc", "d" * 99]]),
}


def test_every_type_passes_unchanged(serve, saved):
    server = serve(saved / "types")
    x = {name: (name, [2, 2], data) for name, (data, _) in SAMPLES.items()}
    assert ask_tensors(server, "types", x) == {f"y_{name}": v for name, v in x.items()}
    # The same as JSON, but for those that have no form there.
    assert ask_tensors(server, "types", x, {k: v for k, (_, v) in SAMPLES.items() if v}) == {
        f"y_{name}": v for name, v in x.items()}


def test_strings_of_any_length_and_bytes_pass_unchanged(serve, saved):
    server = serve(saved / "text")
    strings = [b"", b"short", b"x" * 22, b"x" * 23, b"long " * 10000, b"\0\xff\0", "é".encode()]
    data = b"".join(struct.pack("<I", len(s)) + s for s in strings)
    x = ("BYTES", [len(strings)], data)
    assert ask_tensors(server, "text", {"x": x}) == {"y": x}
    assert predict(server, "text", [{"b64": base64.b64encode(b"abc").decode()}]) == ["abc"]


# ---- signatures ----

def test_each_signature_has_its_own_inputs_and_outputs(serve, saved):
    server = serve(saved / "several")
    assert predict(server, "several", ["Abc", "x"], signature_name="up") == [
        {"length": 3, "up": "ABC"}, {"length": 1, "up": "X"}]
    assert predict(server, "several", [3, 0], signature_name="lookup") == [30, 0]
    answer = server.post("/v1/models/several:predict",
                         {"inputs": {"a": [[1, 2], [3, 4]], "b": [[1, 1], [1, 1]]}})
    assert answer.json["outputs"] == {"sum": [[2, 3], [4, 5]], "most": 4}
    for value, double in ((3, 6), ([1, 2], [2, 4]), ([[[1]]], [[[2]]])):
        answer = server.post("/v1/models/several:predict",
                             {"signature_name": "whatever", "inputs": value})
        assert answer.json["outputs"] == double
    answer = server.post("/v1/models/several:predict", {"signature_name": "scalar", "inputs": 41})
    assert answer.json["outputs"] == 42
    assert server.post("/v2/models/several/infer", {"inputs": [
        {"name": n, "shape": [1, 2], "datatype": "FP32", "data": [1, 2]} for n in "ab"]}).json[
            "outputs"][1]["data"] == [2, 4]


def test_a_signature_that_cannot_be_served_is_left_out(serve, saved):
    server = serve(saved / "several")
    shown = server.get("/v1/models/several/metadata").json["metadata"]["signature_def"]
    assert sorted(shown["signature_def"]) == ["lookup", "scalar", "serving_default", "up", "whatever"]
    status, text = predict(server, "several", [1], signature_name="complex")
    assert status == 400 and "complex" in text


def test_classify_and_regress_take_examples(serve, saved):
    server = serve(saved / "examples")
    body = {"examples": [{"x": [1.0, 2.0]}, {"x": [-1.0, -1.0]}]}
    answer = server.post("/v1/models/examples:classify", body)
    assert answer.status == 200, answer.text
    assert answer.json["results"] == [[["up", 3], ["down", -3]], [["up", -2], ["down", 2]]]
    answer = server.post("/v1/models/examples:regress", {"signature_name": "regress", **body})
    assert answer.status == 200, answer.text
    assert answer.json["results"] == [3, -2]


def test_tables_are_filled_from_the_model_s_assets(serve, saved):
    server = serve(saved / "words")
    assert predict(server, "words", ["blue", "red", "black"]) == [2, 0, -1]


def test_warm_up_requests_of_tensorflow_serving_are_answered(serve, saved, library):
    assert serve(saved / "warmed").ready["warmup_requests"] == 2
    assert serve(saved / "warmed" / "saved_model.pb").ready["warmup_requests"] == 2
    said = refused(saved / "badly", "--lib", library)
    assert "the warm-up request 2 of '" in said and "[-1, 64]" in said


# ---- memory ----

def test_what_a_model_keeps_of_a_request_stays_as_it_was(serve, saved):
    server = serve(saved / "keeper")
    for i in range(200):
        data = struct.pack("<4f", i, i, i, i)
        before = ask_tensors(server, "keeper", {"x": ("FP32", [4], data)})["before"][2]
        assert before == struct.pack("<4f", *[max(i - 1, 0)] * 4)


@pytest.mark.parametrize("name, datatype", [("same", "FP32"), ("text", "BYTES")])
def test_requests_that_meet_keep_their_own_answers(serve, saved, name, datatype):
    server = serve(saved / name, "--batch", "8", "--batch-delay", "60s", "--cpus", "2")
    wrong = []

    def one(i):
        data = struct.pack("<f", i) if datatype == "FP32" else struct.pack("<I", 30) + b"%030d" % i
        x = (datatype, [1], data)
        if ask_tensors(server, name, {"x": x}) != {"y": x}:
            wrong.append(i)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert server.metric("ydl_serve_batch_rows_count") == 1


def test_several_runs_at_a_time_give_the_same_answers(serve, saved):
    data = told(saved, "dense")
    server = serve(saved / "dense", "--cpus", "4", "--instances", "3")
    wrong = []

    def one():
        wrong.extend(a for a in (ask_tensors(server, "dense", asked(data)) for _ in range(50))
                     if a != expected(data))
    threads = [threading.Thread(target=one) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert server.end() == 0


def test_many_requests_do_not_make_it_grow(serve, saved):
    server = serve(saved / "text")
    data = struct.pack("<I", 1 << 20) + b"x" * (1 << 20)
    for i in range(60):
        ask_tensors(server, "text", {"x": ("BYTES", [1], data)})
        if i == 19:
            before = server.memory()
    assert server.memory() - before < 20 << 20


# ---- what is wrong ----

def test_what_does_not_fit_is_400_and_a_sentence(serve, saved):
    server = serve(saved / "dense")
    for body, text in ((infer("x", [1] * 5, [1, 5]), "[-1, 64]"),
                       (infer("y", [1] * 64, [1, 64]), "'x'"),
                       (infer("x", [1] * 64, [1, 64], "INT64"), "INT64")):
        answer = server.post("/v2/models/dense/infer", body)
        assert answer.status == 400, answer.text
        assert text in answer.json["error"]
    status, text = predict(server, "dense", [[1, 2, 3]])
    assert status == 400 and "[-1, 64]" in text
    assert server.get("/v2/health/ready").status == 200


def test_what_the_model_itself_refuses_is_400_and_its_sentence(serve, saved):
    server = serve(saved / "several")
    status, text = predict(server, "several", [3, 99], signature_name="lookup")
    assert status == 400
    assert "99 is not in [0, 10)" in text and "{{" not in text and "\n" not in text
    assert predict(server, "several", [3], signature_name="lookup") == [30]


@pytest.mark.parametrize("name, text", [
    ("cut", "'saved_model.pb' is damaged"),
    pytest.param("noise", "'saved_model.pb' is damaged", marks=pytest.mark.full),
    pytest.param("empty", "'saved_model.pb' is damaged", marks=pytest.mark.full), ("unfilled", "TensorFlow cannot load it"),
    ("untagged", "TensorFlow cannot load it"), ("nothing", "it has no signature"),
    ("complex", "COMPLEX64, which cannot be served"),
    ("bare", "variables/variables.index' is missing"),
])
def test_a_model_that_cannot_be_served_is_refused_with_a_sentence(saved, library, name, text):
    said = refused(saved / name, "--lib", library)
    assert name in said and text in said


def test_a_graph_without_variables_needs_no_files_of_them(serve, saved):
    server = serve(saved / "plain")
    x = {name: (name, [2, 2], data) for name, (data, _) in SAMPLES.items()}
    assert ask_tensors(server, "plain", x) == {f"y_{name}": v for name, v in x.items()}


def test_a_library_that_is_missing_is_answered_with_what_to_type(saved):
    said = refused(saved / "dense")
    assert "libtensorflow_cc.so.2" in said and "pip install --upgrade tensorflow-cpu" in said


def test_another_library_is_refused(saved, tmp_path):
    (tmp_path / "libtensorflow_cc.so.2").write_text("not a library")
    said = refused(saved / "dense", "--lib", tmp_path)
    assert "load TensorFlow" in said and "pip install" in said
    (tmp_path / "libtensorflow_cc.so.2").unlink()
    assert "there is no libtensorflow_cc.so.2 in" in refused(saved / "dense", "--lib", tmp_path)


def test_a_gpu_is_not_for_them(saved, library):
    assert "on the cpu" in refused(saved / "dense", "--lib", library, "--device", "cuda")


def test_a_model_that_takes_long_is_answered_504(serve, saved):
    server = serve(saved / "slow")
    answer = server.post("/v1/models/slow:predict", {"inputs": 1})
    assert answer.json["outputs"] == 64
    late = serve(saved / "slow", "--deadline", "200ms")
    answer = late.post("/v1/models/slow:predict", {"inputs": 10 ** 12})
    assert answer.status == 504
