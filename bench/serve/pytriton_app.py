"""ONNX Runtime under PyTriton, as its documentation has it: `python pytriton_app.py PORT`."""

import os
import socket
import sys

import numpy as np
import onnxruntime
from pytriton.decorators import batch
from pytriton.model_config import ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(os.environ["MODEL"], options, providers=["CPUExecutionProvider"])


@batch
def infer(x):
    """Rows together, as they come."""
    return [session.run(None, {"x": x})[0]]


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    config = TritonConfig(http_address="127.0.0.1", http_port=int(sys.argv[1]), grpc_address="127.0.0.1",
                          grpc_port=free_port(), metrics_address="127.0.0.1", metrics_port=free_port())
    with Triton(config=config) as triton:
        triton.bind(model_name="mlp", infer_func=infer, inputs=[Tensor(name="x", dtype=np.float32, shape=(784,))],
                    outputs=[Tensor(name="y", dtype=np.float32, shape=(10,))], config=ModelConfig(max_batch_size=64))
        triton.serve()
