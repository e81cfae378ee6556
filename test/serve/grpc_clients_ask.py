"""Asks a running model server by the public gRPC clients: `PYTHON grpc_clients_ask.py PORT`. Prints
what they said, as JSON. Run by the Python of the environment with the frameworks, with the clients
in PYTHONPATH."""

import json
import sys

import grpc
import numpy as np
import tensorflow as tf
import tritonclient.grpc as triton
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2
from tensorflow_serving.apis import model_service_pb2_grpc
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

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
asked = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
asked.model_spec.name = "small"
signatures = get_model_metadata_pb2.SignatureDefMap()
stub.GetModelMetadata(asked).metadata["signature_def"].Unpack(signatures)
told["signature"] = {name: [one.dtype, [d.size for d in one.tensor_shape.dim]] for name, one in
                     signatures.signature_def["serving_default"].inputs.items()}
print(json.dumps(told))
