"""Writes small models of MXNet and what its own Python says to them, into a directory.

    PYTHON mxnet_models.py DIR

Run by the Python of the environment with the frameworks. NAME-symbol.json and NAME-0000.params are a
model; NAME.told has for some of them inputs and the outputs that belong to them, to the last bit.
"""

import json
import sys
from pathlib import Path

import numpy as np

np.bool = bool  # MXNet 1.9 wants the name, which NumPy 1.24 has no more
import mxnet as mx  # noqa: E402
from mxnet import gluon  # noqa: E402

DIR = Path(sys.argv[1])
RANDOM = np.random.default_rng(5)


def tensor(v):
    """Type, shape, and bytes."""
    names = {"float32": "FP32", "float64": "FP64", "int32": "INT32", "int64": "INT64",
             "uint8": "UINT8", "int8": "INT8", "float16": "FP16"}
    return [names[str(v.dtype)], list(v.shape), v.tobytes().hex()]


def told(name, asked):
    """Several requests and the answers of a model that was loaded again."""
    symbol, args, aux = mx.model.load_checkpoint(str(DIR / name), 0)
    found = []
    for inputs in asked:
        shapes = {k: v.shape for k, v in inputs.items()}
        types = {k: v.dtype for k, v in inputs.items()}
        bound = symbol.simple_bind(mx.cpu(), grad_req="null", type_dict=types, **shapes)
        bound.copy_params_from(args, aux, allow_extra_params=True)
        outputs = bound.forward(is_train=False, **{k: mx.nd.array(v, dtype=v.dtype)
                                                   for k, v in inputs.items()})
        found.append({"inputs": {k: tensor(v) for k, v in inputs.items()},
                      "outputs": {k: tensor(v.asnumpy())
                                  for k, v in zip(symbol.list_outputs(), outputs)}})
    (DIR / f"{name}.told").write_text(json.dumps(found))


def some(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def dense():
    """As Gluon exports it: nothing says the shape of the input."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(128, activation="tanh"), gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    x = some(3, 64)
    y = net(mx.nd.array(x)).asnumpy()
    net.export(str(DIR / "dense"))
    told("dense", [{"data": some(n, 64)} for n in (1, 7, 1, 32)])
    again = gluon.SymbolBlock.imports(str(DIR / "dense-symbol.json"), ["data"],
                                      str(DIR / "dense-0000.params"))
    assert (again(mx.nd.array(x)).asnumpy() == y).all()


def pictures():
    """With convolutions and states that are no weights."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(6, 3), gluon.nn.BatchNorm(), gluon.nn.Activation("relu"),
            gluon.nn.MaxPool2D(), gluon.nn.Dense(5))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    net(mx.nd.array(some(2, 3, 12, 12)))
    net.export(str(DIR / "pictures"))
    told("pictures", [{"data": some(n, 3, 12, 12)} for n in (1, 4)])


def save(name, symbol, weights=()):
    """What Module.save_checkpoint writes."""
    mx.model.save_checkpoint(str(DIR / name), 0, symbol, {k: mx.nd.array(v, dtype=v.dtype)
                                                          for k, v in weights}, {})


def module():
    """As Module saves it: the label is an argument, too, and the input says its shape."""
    data = mx.sym.Variable("data", shape=(0, 8))
    hidden = mx.sym.FullyConnected(data, num_hidden=4, name="fc")
    save("module", mx.sym.SoftmaxOutput(hidden, name="softmax"),
         [("fc_weight", some(4, 8)), ("fc_bias", some(4))])
    told("module", [{"data": some(n, 8)} for n in (1, 5)])


def several():
    """Two inputs, three outputs, numbers of two types."""
    a, b = mx.sym.Variable("a", shape=(0, 4)), mx.sym.Variable("b", shape=(0, 4))
    n = mx.sym.Variable("n", shape=(0, 2), dtype="int32")
    left, right = mx.sym.split(a, num_outputs=2, axis=1, name="half")
    save("several", mx.sym.Group([mx.sym.broadcast_add(a, b, name="sum"), right, n * 2, left]))
    told("several", [{"a": some(2, 4), "b": some(2, 4), "n": np.array([[1, -2], [3, 4]], np.int32)}])


def types():
    """Each type that MXNet computes with."""
    names = ("float32", "float64", "float16", "uint8", "int8", "int32", "int64")
    save("types", mx.sym.Group([mx.sym.identity(mx.sym.Variable(f"x_{n}", shape=(0, 2), dtype=n),
                                                name=f"y_{n}") for n in names]))
    told("types", [{f"x_{n}": np.array([[0, 1], [100, 127]], dtype=n) for n in names}])


def slow():
    """Takes a while for a large input."""
    x = mx.sym.Variable("data")
    for i in range(40):
        x = mx.sym.dot(x, x, name=f"dot{i}")
    save("slow", mx.sym.sum(x, name="sum"))


def broken():
    """What cannot be loaded."""
    symbol, params = (DIR / f"dense-{end}" for end in ("symbol.json", "0000.params"))
    for name, text, weights in (("cutsymbol", symbol.read_bytes()[:200], params.read_bytes()),
                                ("cutparams", symbol.read_bytes(), params.read_bytes()[:-200]),
                                ("noparams", symbol.read_bytes(), None),
                                ("others", (DIR / "pictures-symbol.json").read_bytes(),
                                 params.read_bytes()),
                                ("noop", symbol.read_bytes().replace(b"FullyConnected", b"FullyPerplexed"),
                                 params.read_bytes())):
        (DIR / f"{name}-symbol.json").write_bytes(text)
        if weights is not None:
            (DIR / f"{name}-0000.params").write_bytes(weights)


DIR.mkdir(parents=True, exist_ok=True)
for make in (dense, pictures, module, several, types, slow, broken):
    make()
