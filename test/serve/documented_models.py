"""Writes the models that the documentation of the two protocols asks, into a directory.

    PYTHON documented_models.py DIR

Run by the Python of the environment with the frameworks. half_plus_three/ is TensorFlow Serving's own toy;
echo/ says what it was told, with a signature for each shape of its documentation's requests; mymodel.onnx has
the inputs and the answer of the Open Inference Protocol's example.
"""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import tensorflow as tf  # noqa: E402
from onnx import TensorProto as T, helper as h, numpy_helper as nh  # noqa: E402

DIR = Path(sys.argv[1])
v1 = tf.compat.v1
signature = v1.saved_model


def saved(name, make):
    """NAME/ of a graph with variables, as TensorFlow 1 wrote it: `make()` gives its signatures."""
    with tf.Graph().as_default(), v1.Session() as session:
        signatures = make()
        session.run(v1.global_variables_initializer())
        builder = signature.Builder(str(DIR / name))
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()


def half_plus_three():
    a, b = v1.Variable(0.5, name="a"), v1.Variable(3.0, name="b")
    x = v1.placeholder(tf.float32, [None], name="x")
    text = v1.placeholder(tf.string, [None], name="tf_example")
    parsed = tf.io.parse_example(text, {"x": tf.io.FixedLenFeature([1], tf.float32)})["x"]
    return {"serving_default": signature.predict_signature_def({"x": x}, {"y": a * x + b}),
            "tensorflow/serving/regress": signature.regression_signature_def(text, a * parsed + b)}


def same(**inputs):
    """A signature that gives back what it takes: {NAME: (TYPE, SHAPE)}, or _bytes of a text."""
    tensors = {name: v1.placeholder(kind, shape) for name, (kind, shape) in inputs.items()}
    return signature.predict_signature_def(tensors, {name: tf.identity(one) for name, one in tensors.items()})


def objects():
    """A class for each example, by the size of its picture and its caption."""
    text = v1.placeholder(tf.string, [None])
    found = tf.io.parse_example(text, {"image": tf.io.FixedLenFeature([], tf.string),
                                       "caption": tf.io.FixedLenFeature([], tf.string)})
    size = tf.cast(tf.strings.length(found["image"]), tf.float32)
    return signature.classification_signature_def(
        text, tf.stack([found["caption"], tf.fill(tf.shape(size), "")], 1), tf.stack([size, -size], 1))


def echo():
    three = {"tag": (tf.string, [None]), "signal": (tf.float32, [None, 5]), "sensor": (tf.float32, [None, 2, 2])}
    return {"serving_default": same(**three), "texts": same(s=(tf.string, [None])),
            "tensors": same(x=(tf.float32, [None, 1, 2])), "numbers": same(x=(tf.float32, [None, 4])),
            "picture": same(image_bytes=(tf.string, [None])), "classify_objects": objects()}


def mymodel():
    """[2, 2] and [3] in, [3, 2] out, whatever was said: the answer is the protocol's."""
    answer = np.array([[1.0, 1.1], [2.0, 2.1], [3.0, 3.1]], np.float32)
    graph = h.make_graph(
        [h.make_node("Cast", ["input0"], ["a"], to=T.FLOAT), h.make_node("ReduceSum", ["a"], ["b"], keepdims=0),
         h.make_node("Cast", ["input1"], ["c"], to=T.FLOAT), h.make_node("ReduceSum", ["c"], ["d"], keepdims=0),
         h.make_node("Add", ["b", "d"], ["e"]), h.make_node("Mul", ["e", "zero"], ["f"]),
         h.make_node("Add", ["answer", "f"], ["output0"])], "mymodel",
        [h.make_tensor_value_info("input0", T.UINT32, [2, 2]), h.make_tensor_value_info("input1", T.BOOL, [3])],
        [h.make_tensor_value_info("output0", T.FLOAT, [3, 2])],
        [nh.from_array(answer, "answer"), nh.from_array(np.array(0, np.float32), "zero")])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, DIR / "mymodel.onnx")


DIR.mkdir(parents=True, exist_ok=True)
saved("half_plus_three", half_plus_three)
saved("echo", echo)
mymodel()
