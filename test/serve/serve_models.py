"""Writes small ONNX models and what ONNX Runtime's own Python says to them, into a directory.

    PYTHON serve_models.py DIR

Run by the Python of the environment with the frameworks. NAME.onnx is a model; answers.json has for
some of them inputs and the outputs that belong to them, floats as they are printed in full.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T, helper as h, numpy_helper as nh

DIR = Path(sys.argv[1])
OPSET = 17


def info(name, kind, shape):
    return h.make_tensor_value_info(name, kind, shape)


def save(name, nodes, inputs, outputs, weights=(), opset=OPSET, check=True):
    """Writes NAME.onnx."""
    graph = h.make_graph(nodes, name, inputs, outputs, [nh.from_array(w, n) for n, w in weights])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)])
    model.ir_version = 8
    if check:
        onnx.checker.check_model(model)
    path = DIR / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def mlp(name, layers):
    """Dense layers with ReLU between them, any number of rows."""
    random = np.random.default_rng(7)
    nodes, weights, last = [], [], "x"
    for i, (a, b) in enumerate(zip(layers, layers[1:])):
        weights += [(f"w{i}", (random.standard_normal((a, b)) / a ** .5).astype(np.float32)),
                    (f"b{i}", random.standard_normal(b).astype(np.float32))]
        out = "y" if i == len(layers) - 2 else f"h{i}"
        nodes.append(h.make_node("Gemm", [last, f"w{i}", f"b{i}"], [out]))
        if out != "y":
            nodes.append(h.make_node("Relu", [out], [f"r{i}"]))
        last = f"r{i}"
    save(name, nodes, [info("x", T.FLOAT, ["n", layers[0]])], [info("y", T.FLOAT, ["n", layers[-1]])],
         weights)


def slow():
    """Takes as long as it is told: `n` rounds of a multiplication of matrices."""
    body = h.make_graph(
        [h.make_node("MatMul", ["m", "w"], ["m2"]), h.make_node("Identity", ["c"], ["c2"])], "body",
        [info("i", T.INT64, []), info("c", T.BOOL, []), info("m", T.FLOAT, [64, 64])],
        [info("c2", T.BOOL, []), info("m2", T.FLOAT, [64, 64])])
    nodes = [h.make_node("Squeeze", ["n"], ["rounds"]),
             h.make_node("Loop", ["rounds", "true", "m0"], ["last"], body=body),
             h.make_node("ReduceSum", ["last"], ["sum"], keepdims=0),
             h.make_node("Unsqueeze", ["sum", "zero"], ["y"])]
    weights = [("w", np.eye(64, dtype=np.float32)), ("m0", np.eye(64, dtype=np.float32)),
               ("true", np.array(True)), ("zero", np.array([0], dtype=np.int64))]
    save("slow", nodes, [info("n", T.INT64, [1])], [info("y", T.FLOAT, [1])], weights)


KINDS = {"BOOL": T.BOOL, "UINT8": T.UINT8, "UINT16": T.UINT16, "UINT32": T.UINT32,
         "UINT64": T.UINT64, "INT8": T.INT8, "INT16": T.INT16, "INT32": T.INT32, "INT64": T.INT64,
         "FP16": T.FLOAT16, "FP32": T.FLOAT, "FP64": T.DOUBLE, "BYTES": T.STRING}


def types():
    """Every type as it is, and rows that are looked up in a table (a bad row fails at run time)."""
    for name, kind in KINDS.items():
        save(f"same_{name.lower()}", [h.make_node("Identity", ["x"], ["y"])],
             [info("x", kind, ["n", "m"])], [info("y", kind, ["n", "m"])])
    save("lookup", [h.make_node("Gather", ["table", "x"], ["y"])], [info("x", T.INT64, ["n"])],
         [info("y", T.FLOAT, ["n"])], [("table", np.arange(10, dtype=np.float32) * 10)])


def two():
    """Two inputs, two outputs, one of which is not by rows."""
    save("two", [h.make_node("Add", ["a", "b"], ["sum"]),
                 h.make_node("ReduceMax", ["a"], ["most"], keepdims=0)],
         [info("a", T.FLOAT, ["n", 2]), info("b", T.FLOAT, ["n", 2])],
         [info("sum", T.FLOAT, ["n", 2]), info("most", T.FLOAT, [])])


def broken():
    """What cannot be loaded."""
    save("opset99", [h.make_node("Identity", ["x"], ["y"])], [info("x", T.FLOAT, [1])],
         [info("y", T.FLOAT, [1])], opset=99, check=False)
    whole = (DIR / "mlp.onnx").read_bytes()
    (DIR / "cut.onnx").write_bytes(whole[:len(whole) // 2])
    (DIR / "noise.onnx").write_bytes(b"this is not a model\n" * 100)
    (DIR / "empty.onnx").write_bytes(b"")


def answers():
    """What ONNX Runtime says itself."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    random = np.random.default_rng(3)
    told = {}
    for name, rows in (("mlp", 1), ("mlp", 5), ("small", 3)):
        session = onnxruntime.InferenceSession(str(DIR / f"{name}.onnx"), options,
                                               providers=["CPUExecutionProvider"])
        x = random.standard_normal((rows, session.get_inputs()[0].shape[1])).astype(np.float32)
        y = session.run(None, {"x": x})[0]
        told[f"{name}/{rows}"] = {"x": x.astype(float).tolist(), "y": y.astype(float).tolist()}
    (DIR / "answers.json").write_text(json.dumps(told))


DIR.mkdir(parents=True, exist_ok=True)
mlp("mlp", (784, 512, 10))
mlp("small", (4, 3))
slow()
types()
two()
broken()
answers()
