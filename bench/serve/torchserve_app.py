"""ONNX Runtime as a handler of TorchServe, by its own documentation of custom ones."""

import os

import numpy as np
import onnxruntime


class Onnx:
    """One thread computes, as in the server beside it."""

    def initialize(self, context):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            os.path.join(context.system_properties["model_dir"], "mlp.onnx"), options,
            providers=["CPUExecutionProvider"])

    def handle(self, data, context):
        rows = [np.asarray(one["body"]["instances"], dtype=np.float32) for one in data]
        return [{"predictions": self.session.run(None, {"x": x})[0].tolist()} for x in rows]


_service = Onnx()


def handle(data, context):
    """What TorchServe calls, first without data."""
    if not hasattr(_service, "session"):
        _service.initialize(context)
    return None if data is None else _service.handle(data, context)
