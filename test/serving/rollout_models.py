"""Writes further versions of serve_models.py's mlp.onnx and small.onnx into its directory.

    PYTHON rollout_models.py DIR

mlp2.onnx and small2.onnx give other answers. fragile.onnx gives the same as mlp.onnx, and fails if the first number
of a row is more than 1.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

DIR = Path(sys.argv[1])


def other(name, bias):
    """The last layer's bias is another one."""
    model = onnx.load(DIR / f"{name}.onnx")
    for one in model.graph.initializer:
        if one.name == bias:
            one.CopyFrom(nh.from_array(nh.to_array(one) + np.float32(1), bias))
    (DIR / f"{name}2.onnx").write_bytes(model.SerializeToString())


def fragile():
    """The answer is brought into a shape that fits as long as the first number is less than 1."""
    model = onnx.load(DIR / "mlp.onnx")
    graph = model.graph
    for node in graph.node:
        if node.output[0] == "y":
            node.output[0] = "y0"
    for name, value in (("first", [0]), ("axis", [0]), ("ten", [10]), ("rows", [-1])):
        graph.initializer.append(nh.from_array(np.array(value, dtype=np.int64), name))
    graph.node.extend([h.make_node("Flatten", ["x"], ["flat"], axis=0),
                       h.make_node("Gather", ["flat", "first"], ["x0"], axis=1),
                       h.make_node("Cast", ["x0"], ["place"], to=T.INT64),
                       h.make_node("Squeeze", ["place", "axis"], ["more"]),
                       h.make_node("Add", ["ten", "more"], ["columns"]),
                       h.make_node("Concat", ["rows", "columns"], ["shape"], axis=0),
                       h.make_node("Reshape", ["y0", "shape"], ["y"])])
    onnx.checker.check_model(model)
    (DIR / "fragile.onnx").write_bytes(model.SerializeToString())


other("mlp", "b1")
other("small", "b0")
fragile()
