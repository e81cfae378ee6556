"""The function under LitServe, as its documentation tells one to write it.

    python handler_litserve.py PORT WORKERS
"""

import sys

import litserve
import numpy as np
from handler_function import classify


class Classifier(litserve.LitAPI):
    """One row in each request."""

    def setup(self, device):
        pass

    def decode_request(self, request):
        return np.asarray(request["instances"], "f4")

    def predict(self, x):
        return classify(x)

    def encode_response(self, output):
        return {"predictions": output.tolist()}


if __name__ == "__main__":
    server = litserve.LitServer(Classifier(), accelerator="cpu",
                                workers_per_device=int(sys.argv[2]))
    server.run(port=int(sys.argv[1]), host="127.0.0.1", num_api_servers=1, log_level="warning",
               generate_client_file=False)
