"""Small models by the real frameworks: make_models.py DIRECTORY, in their environment.

Writes m.onnx, external/ (ONNX with its weights beside it), tf/, mx/, m.json, m.ubj, classes.ubj and
m.txt."""

import os
import sys

import numpy as np


def onnx_models():
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    weights = numpy_helper.from_array(np.ones((4, 3), dtype=np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4]),
         helper.make_tensor_value_info("w", TensorProto.FLOAT, [4, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 3])], [weights])
    model = helper.make_model(graph, producer_name="test",
                              opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, "m.onnx")
    os.makedirs("external")
    onnx.save(model, "external/m.onnx", save_as_external_data=True, location="w.bin",
              size_threshold=0)


def tensorflow_model():
    import tensorflow as tf

    class Twice(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
        def twice(self, x):
            return {"y": x * 2.0}
    model = Twice()
    tf.saved_model.save(model, "tf", signatures={"serving_default": model.twice})


def mxnet_model():
    import mxnet as mx
    layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(layer, name="softmax"))
    module.bind(data_shapes=[("data", (1, 4))], label_shapes=[("softmax_label", (1,))])
    module.init_params()
    os.makedirs("mx")
    module.save_checkpoint("mx/net", 0)


def trees():
    import lightgbm
    import xgboost
    data = np.random.default_rng(1).random((50, 4))
    two, three = np.arange(50) % 2, np.arange(50) % 3
    model = xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(data, label=two), 2)
    model.save_model("m.json")
    model.save_model("m.ubj")
    xgboost.train({"objective": "multi:softprob", "num_class": 3},
                  xgboost.DMatrix(data, label=three), 2).save_model("classes.ubj")
    lightgbm.train({"objective": "binary", "min_data_in_leaf": 1, "verbose": -1},
                   lightgbm.Dataset(data, label=two), 2).save_model("m.txt")


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    for make in (onnx_models, mxnet_model, trees, tensorflow_model):
        make()
