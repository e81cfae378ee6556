"""Trains a small classifier with NumPy and writes it as flowers.onnx, and rows to ask it for as flowers.csv.

    python3 train.py [DIR]

Needs numpy and onnx. Four measurements of a flower in, the probabilities of three kinds out.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

directory = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
random = np.random.default_rng(1)

# Flowers of three kinds, each around measurements of its own.
kinds = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
kind = random.integers(3, size=600)
flowers = kinds[kind] + random.normal(scale=0.3, size=(600, 4))

weights, bias = np.zeros((4, 3)), np.zeros(3)
for _ in range(2000):
    scores = flowers @ weights + bias
    probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    error = probabilities - np.eye(3)[kind]
    weights -= 0.05 * flowers.T @ error / len(flowers)
    bias -= 0.05 * error.mean(axis=0)
print(f"{(probabilities.argmax(axis=1) == kind).mean():.0%} of the flowers are recognised")

graph = helper.make_graph(
    [helper.make_node("Gemm", ["flower", "weights", "bias"], ["scores"]),
     helper.make_node("Softmax", ["scores"], ["kind"], axis=1)], "flowers",
    [helper.make_tensor_value_info("flower", TensorProto.FLOAT, ["rows", 4])],
    [helper.make_tensor_value_info("kind", TensorProto.FLOAT, ["rows", 3])],
    [numpy_helper.from_array(weights.astype(np.float32), "weights"),
     numpy_helper.from_array(bias.astype(np.float32), "bias")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 8
onnx.save(model, str(directory / "flowers.onnx"))
np.savetxt(directory / "flowers.csv", flowers, fmt="%.2f", delimiter=",", comments="",
           header="sepal length,sepal width,petal length,petal width")
