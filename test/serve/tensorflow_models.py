"""Writes small SavedModels and what TensorFlow's own Python says to them, into a directory.

    PYTHON tensorflow_models.py DIR

Run by the Python of the environment with the frameworks. NAME/ is a SavedModel; NAME.told has for
some of them inputs and the outputs that belong to them, to the last bit.
"""

import json
import os
import shutil
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

DIR = Path(sys.argv[1])
RANDOM = np.random.default_rng(5)


def spec(shape, dtype, name):
    return tf.TensorSpec(shape, dtype, name=name)


def save(name, signatures, module=None):
    """NAME/ with functions as its signatures, each of tensors by name to a dictionary."""
    module = module or tf.Module()
    for key, function in signatures.items():
        setattr(module, f"f_{key}", function)
    tf.saved_model.save(module, str(DIR / name), signatures=signatures)


def tensor(v):
    """Shape, bytes, and numbers for people."""
    assert v.dtype == np.float32
    return {"shape": list(v.shape), "bytes": v.tobytes().hex(), "values": v.astype(float).tolist()}


def told(name, inputs, signature="serving_default"):
    """What TensorFlow answers, from a model that it has loaded again."""
    function = tf.saved_model.load(str(DIR / name)).signatures[signature]
    outputs = function(**{k: tf.constant(v) for k, v in inputs.items()})
    (DIR / f"{name}.told").write_text(json.dumps(
        {"inputs": {k: tensor(v) for k, v in inputs.items()},
         "outputs": {k: tensor(v.numpy()) for k, v in outputs.items()}}))


def dense():
    """Dense layers, any number of rows."""
    sizes = (64, 128, 10)
    weights = [(tf.Variable(RANDOM.standard_normal((a, b)).astype(np.float32) / a ** .5),
                tf.Variable(RANDOM.standard_normal(b).astype(np.float32)))
               for a, b in zip(sizes, sizes[1:])]

    @tf.function(input_signature=[spec([None, 64], tf.float32, "x")])
    def f(x):
        for w, b in weights:
            x = tf.nn.tanh(x @ w + b)
        return {"y": tf.nn.softmax(x)}
    module = tf.Module()
    module.weights = weights
    save("dense", {"serving_default": f}, module)
    told("dense", {"x": RANDOM.standard_normal((7, 64)).astype(np.float32)})


def pictures():
    """A Keras model with convolutions and what training keeps beside the weights."""
    model = tf.keras.Sequential([
        tf.keras.layers.Conv2D(6, 3, activation="relu", input_shape=(12, 12, 3)),
        tf.keras.layers.BatchNormalization(), tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Flatten(), tf.keras.layers.Dense(5)])
    tf.saved_model.save(model, str(DIR / "pictures"))
    function = tf.saved_model.load(str(DIR / "pictures")).signatures["serving_default"]
    name = next(iter(function.structured_input_signature[1]))
    told("pictures", {name: RANDOM.standard_normal((3, 12, 12, 3)).astype(np.float32)})


KINDS = {"BOOL": tf.bool, "UINT8": tf.uint8, "UINT16": tf.uint16, "UINT32": tf.uint32,
         "UINT64": tf.uint64, "INT8": tf.int8, "INT16": tf.int16, "INT32": tf.int32,
         "INT64": tf.int64, "FP16": tf.float16, "BF16": tf.bfloat16, "FP32": tf.float32,
         "FP64": tf.float64, "BYTES": tf.string}


def types():
    """Every type as it is: the output is the input's own memory."""
    save("types", {"serving_default": tf.function(
        lambda **x: {f"y_{name}": tf.identity(v) for name, v in x.items()},
        input_signature=None).get_concrete_function(
            **{name: spec([None, None], kind, name) for name, kind in KINDS.items()})})
    for name, kind in (("same", tf.float32), ("text", tf.string)):
        save(name, {"serving_default": tf.function(lambda x: {"y": tf.identity(x)},
                                                   input_signature=[spec([None], kind, "x")])})


def several():
    """Signatures of different shapes; one that cannot be served, one that fails on bad rows."""
    @tf.function(input_signature=[spec([None, 2], tf.float32, "a"), spec([None, 2], tf.float32, "b")])
    def both(a, b):
        return {"sum": a + b, "most": tf.reduce_max(a)}

    @tf.function(input_signature=[spec([None], tf.string, "text")])
    def up(text):
        return {"up": tf.strings.upper(text), "length": tf.strings.length(text)}

    @tf.function(input_signature=[spec([None], tf.int64, "x")])
    def lookup(x):
        return {"y": tf.gather(tf.range(10.) * 10, x)}

    @tf.function(input_signature=[spec(None, tf.float32, "x")])
    def whatever(x):
        return {"y": x * 2}

    @tf.function(input_signature=[spec([], tf.float32, "x")])
    def scalar(x):
        return {"y": x + 1}

    @tf.function(input_signature=[spec([None], tf.complex64, "x")])
    def complex_(x):
        return {"y": tf.math.real(x)}

    save("several", {"serving_default": both, "up": up, "lookup": lookup, "whatever": whatever,
                     "scalar": scalar, "complex": complex_})
    save("complex", {"serving_default": complex_})


def words():
    """A table that is filled from a file when the model is loaded."""
    (DIR / "words.txt").write_text("red\ngreen\nblue\n")
    module = tf.Module()
    module.table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(
        str(DIR / "words.txt"), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
        tf.lookup.TextFileIndex.LINE_NUMBER), -1)

    @tf.function(input_signature=[spec([None], tf.string, "word")])
    def f(word):
        return {"number": module.table.lookup(word)}
    save("words", {"serving_default": f}, module)
    (DIR / "words.txt").unlink()


def keeper():
    """Keeps what it was last given, in a variable."""
    module = tf.Module()
    module.last = tf.Variable(tf.zeros([4]))

    @tf.function(input_signature=[spec([4], tf.float32, "x")])
    def f(x):
        before = tf.identity(module.last)
        with tf.control_dependencies([before]):
            module.last.assign(x)
        return {"before": before}
    save("keeper", {"serving_default": f}, module)


def examples():
    """What tf.Estimator exported: classify and regress, of serialized tf.Example."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        text = tf.compat.v1.placeholder(tf.string, [None], name="examples")
        x = tf.io.parse_example(text, {"x": tf.io.FixedLenFeature([2], tf.float32)})["x"]
        total = tf.reduce_sum(x, 1)
        scores = tf.stack([total, -total], 1)
        classes = tf.tile([["up", "down"]], [tf.shape(x)[0], 1])
        signatures = {
            "serving_default": tf.compat.v1.saved_model.classification_signature_def(
                text, classes, scores),
            "regress": tf.compat.v1.saved_model.regression_signature_def(text, total)}
        builder = tf.compat.v1.saved_model.Builder(str(DIR / "examples"))
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()


def message(number, value):
    """A field of bytes."""
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
    return varint(number << 3 | 2) + varint(len(value)) + value


def warmed():
    """With the requests that TensorFlow Serving would warm them up with: `badly` has a bad one."""
    for name, sizes in (("warmed", (64, 64)), ("badly", (64, 3))):
        shutil.copytree(DIR / "dense", DIR / name)
        (DIR / name / "assets.extra").mkdir()
        with tf.io.TFRecordWriter(
                str(DIR / name / "assets.extra" / "tf_serving_warmup_requests")) as out:
            for size in sizes:
                x = tf.make_tensor_proto(np.zeros((2, size), np.float32)).SerializeToString()
                request = (message(1, message(1, b"another")) +
                           message(2, message(1, b"x") + message(2, x)))
                out.write(message(6, message(1, request)))
            out.write(message(2, b""))  # a ClassifyLog


def slow():
    """Takes as long as it is told."""
    @tf.function(input_signature=[spec([], tf.int64, "n")])
    def f(n):
        m = tf.eye(64)
        for _ in tf.range(n):
            m = m @ tf.eye(64)
        return {"y": tf.reduce_sum(m)}
    save("slow", {"serving_default": f})


def broken():
    """What cannot be loaded."""
    for name in ("cut", "noise", "empty", "unfilled", "untagged", "bare"):
        shutil.copytree(DIR / "dense", DIR / name)
    file = DIR / "dense" / "saved_model.pb"
    whole = file.read_bytes()
    (DIR / "cut" / file.name).write_bytes(whole[:len(whole) // 2])
    (DIR / "noise" / file.name).write_bytes(b"this is not a model\n" * 100)
    (DIR / "empty" / file.name).write_bytes(b"")
    next((DIR / "unfilled" / "variables").glob("*.data-*")).unlink()
    shutil.rmtree(DIR / "bare" / "variables")
    shutil.copytree(DIR / "types", DIR / "plain")  # which has none, and can do without
    shutil.rmtree(DIR / "plain" / "variables")
    (DIR / "untagged" / file.name).write_bytes(whole.replace(b"serve", b"train", 1))
    save("nothing", {})


DIR.mkdir(parents=True, exist_ok=True)
for make in (dense, pictures, types, several, words, keeper, examples, warmed, slow, broken):
    make()
