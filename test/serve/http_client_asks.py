"""Asks a running model server by tritonclient over HTTP: `PYTHON http_client_asks.py PORT`. Prints what it
said, as JSON. Run by the Python of the environment with the frameworks, with the clients in PYTHONPATH."""

import json
import sys

import numpy as np
import tritonclient.http as triton

ROW = np.array([[1, 2, 3, 4]], dtype=np.float32)
client = triton.InferenceServerClient(f"127.0.0.1:{sys.argv[1]}", concurrency=4)


def question(binary, row=ROW):
    x = triton.InferInput("x", row.shape, "FP32")
    x.set_data_from_numpy(row, binary_data=binary)
    return [x]


def outputs(binary):
    return [triton.InferRequestedOutput("y", binary_data=binary)]


answers = [client.infer("small", question(i), outputs=outputs(o)).as_numpy("y").tolist()
           for i in (True, False) for o in (True, False)]
several = [client.async_infer("small", question(True)) for _ in range(2)]  # all outputs, binary
answers += [one.get_result().as_numpy("y").tolist() for one in several]
packed = client.infer("small", question(True), model_version="1", request_id="42",
                      response_compression_algorithm="gzip")
answers.append(packed.as_numpy("y").tolist())
answers.append(client.infer("small", question(True), headers={"x-request-id": "mine"}).as_numpy("y").tolist())
told = {"live": client.is_server_live(), "ready": client.is_server_ready(),
        "model": client.is_model_ready("small"), "other": client.is_model_ready("other"),
        "server": client.get_server_metadata()["name"], "inputs": client.get_model_metadata("small")["inputs"],
        "index": client.get_model_repository_index(), "id": packed.get_response()["id"], "answers": answers}
try:
    client.infer("other", question(True))
except triton.InferenceServerException as e:
    told["unknown"] = [e.status(), e.message()]
try:
    client.infer("small", question(True, ROW[:, :3]))
except triton.InferenceServerException as e:
    told["wrong"] = e.status()
print(json.dumps(told))
