"""ONNX Runtime under LitServe, as its documentation has it: `python litserve_app.py PORT`."""

import os
import sys

import litserve
import numpy as np
import onnxruntime


class Onnx(litserve.LitAPI):
    """One thread computes, as in the server beside it."""

    def setup(self, device):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.environ["MODEL"], options,
                                                    providers=["CPUExecutionProvider"])

    def decode_request(self, request):
        return np.asarray(request["instances"], dtype=np.float32)

    def predict(self, x):
        return self.session.run(None, {"x": x})[0]

    def encode_response(self, output):
        return {"predictions": output.tolist()}


if __name__ == "__main__":
    litserve.LitServer(Onnx(), accelerator="cpu", workers_per_device=1).run(
        host="127.0.0.1", port=int(sys.argv[1]), generate_client_file=False, log_level="warning")
