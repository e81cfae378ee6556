"""ONNX Runtime as a model of KServe, by its own example for a custom one: `python kserve_app.py PORT`."""

import os
import sys

import numpy as np
import onnxruntime
import uvicorn
from kserve import InferOutput, InferResponse, Model, ModelServer

_begin = uvicorn.Config.__init__


def _on_loopback(self, *args, **words):
    """It has no option for the address that it listens on."""
    _begin(self, *args, **{**words, "host": "127.0.0.1"})


uvicorn.Config.__init__ = _on_loopback


class Onnx(Model):
    """One thread computes, as in the server beside it."""

    def load(self) -> bool:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.environ["MODEL"], options,
                                                    providers=["CPUExecutionProvider"])
        self.ready = True
        return self.ready

    async def predict(self, payload, headers=None, response_headers=None):
        x = payload.inputs[0].as_numpy().astype(np.float32)
        y = self.session.run(None, {"x": x})[0]
        output = InferOutput(name="y", shape=list(y.shape), datatype="FP32")
        output.set_data_from_numpy(y, binary_data=False)
        return InferResponse(response_id=payload.id or "", model_name=self.name, infer_outputs=[output])


if __name__ == "__main__":
    model = Onnx("mlp")
    model.load()
    ModelServer(http_port=int(sys.argv[1]), enable_grpc=False, workers=1).start([model])
