"""Asks a running model server by the public gRPC clients: `PYTHON grpc_clients_ask.py PORT`. Prints
what they said, as JSON. Run by the Python of the environment with the frameworks, with the clients
in PYTHONPATH."""

import json
import sys

import numpy as np

sys.modules.setdefault("rapidjson", json)  # tritonclient wants that one, for its JSON's speed only

import grpc  # noqa: E402
import tensorflow as tf  # noqa: E402
import tritonclient.grpc as triton  # noqa: E402
from tensorflow_serving.apis import get_model_status_pb2  # noqa: E402
from tensorflow_serving.apis import model_service_pb2_grpc  # noqa: E402
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc  # noqa: E402

ADDRESS = f"127.0.0.1:{sys.argv[1]}"
ROW = np.array([[1, 2, 3, 4]], dtype=np.float32)

client = triton.InferenceServerClient(ADDRESS)
x = triton.InferInput("x", ROW.shape, "FP32")
x.set_data_from_numpy(ROW)
told = {"live": client.is_server_live(), "ready": client.is_server_ready(),
        "model": client.is_model_ready("small"),
        "inputs": client.get_model_metadata("small", as_json=True)["inputs"][0]["name"],
        "triton": client.infer("small", [x]).as_numpy("y").tolist()}
try:
    client.infer("other", [x])
except triton.InferenceServerException as e:
    told["unknown"] = e.status()

channel = grpc.insecure_channel(ADDRESS)
question = predict_pb2.PredictRequest()
question.model_spec.name = "small"
question.inputs["x"].CopyFrom(tf.make_tensor_proto(ROW))
stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
answer, call = stub.Predict.with_call(question, metadata=[("x-request-id", "mine")])
told |= {"tensorflow": tf.make_ndarray(answer.outputs["y"]).tolist(),
         "id": dict(call.initial_metadata()).get("x-request-id")}
asked = get_model_status_pb2.GetModelStatusRequest()
asked.model_spec.name = "small"
told["state"] = model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus(
    asked).model_version_status[0].state
print(json.dumps(told))
