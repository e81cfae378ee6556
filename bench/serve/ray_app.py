"""ONNX Runtime under Ray Serve, as its documentation has it: `python ray_app.py PORT`."""

import os
import sys
import time

import numpy as np
import onnxruntime
import ray
from ray import serve


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.5})
class Onnx:
    """One thread computes, as in the server beside it."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    async def __call__(self, request):
        body = await request.json()
        x = np.asarray(body["instances"], dtype=np.float32)
        return {"predictions": self.session.run(None, {"x": x})[0].tolist()}


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1")
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1])})
    serve.run(Onnx.bind(os.environ["MODEL"]))
    while True:
        time.sleep(3600)
