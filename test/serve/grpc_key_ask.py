"""Asks a model server that wants a key: `PYTHON grpc_key_ask.py PORT KEY`. Prints what it said, as
JSON. Run as grpc_clients_ask.py is."""

import json
import sys

import numpy as np
import tritonclient.grpc as triton

client = triton.InferenceServerClient(f"127.0.0.1:{sys.argv[1]}")
x = triton.InferInput("x", [1, 4], "FP32")
x.set_data_from_numpy(np.array([[1, 2, 3, 4]], dtype=np.float32))
told = {"live": client.is_server_live(), "ready": client.is_server_ready()}
try:
    client.infer("small", [x])
except triton.InferenceServerException as e:
    told["without"] = e.status()
shown = {"authorization": f"Bearer {sys.argv[2]}"}
told["with"] = client.infer("small", [x], headers=shown).as_numpy("y").shape
print(json.dumps(told))
