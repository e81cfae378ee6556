"""Calls of the public gRPC clients, for tests of what stands between them and a model.

    PYTHON grpc_calls.py

Each line of standard input is a call, {"to": "HOST:PORT", "api": "oip" or "tfs", "model", "version",
"input", "row", "key", "ca"}, and gets a line with what came: {"version", "row"} or {"error", "text"}.
A line with a list of calls makes each of them again and again, and is answered when all of them were
made some times; the line "end" ends that, and is answered with a list of {"calls", "errors",
"answers"}. Run by the Python of the environment with the frameworks, with the clients in PYTHONPATH.
"""

import json
import sys
import threading
import time

import grpc
import numpy as np
import tensorflow as tf
import tritonclient.grpc as triton
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

PATIENCE = 60
PAUSE_S = 0.002  # between the calls of one client: load, and not all that the machine can do


class Caller:
    """One client, with one connection."""

    def __init__(self, how):
        self.how = how
        self.row = np.array([how["row"]], dtype=np.float32)
        self.metadata = {"authorization": f"Bearer {how['key']}"} if "key" in how else {}
        if how["api"] == "oip":
            ca = how.get("ca")
            self.client = triton.InferenceServerClient(how["to"], ssl=bool(ca), root_certificates=ca)
        else:
            most = [("grpc.max_send_message_length", -1)]
            if "ca" in how:
                with open(how["ca"], "rb") as file:
                    trusted = grpc.ssl_channel_credentials(file.read())
                self.channel = grpc.secure_channel(how["to"], trusted, most)
            else:
                self.channel = grpc.insecure_channel(how["to"], most)

    def __call__(self):
        try:
            return self.oip() if self.how["api"] == "oip" else self.tfs()
        except triton.InferenceServerException as e:
            return {"error": e.status(), "text": e.message()}
        except grpc.RpcError as e:
            return {"error": str(e.code()), "text": e.details()}

    def oip(self):
        x = triton.InferInput(self.how.get("input", "x"), self.row.shape, "FP32")
        x.set_data_from_numpy(self.row)
        said = self.client.infer(self.how["model"], [x], model_version=str(self.how.get("version", "")),
                                 headers=self.metadata, client_timeout=PATIENCE)
        return {"version": int(said.get_response().model_version), "row": said.as_numpy("y")[0].tolist()}

    def tfs(self):
        question = predict_pb2.PredictRequest()
        question.model_spec.name = self.how["model"]
        if "version" in self.how:
            question.model_spec.version.value = self.how["version"]
        question.inputs[self.how.get("input", "x")].CopyFrom(tf.make_tensor_proto(self.row))
        said = prediction_service_pb2_grpc.PredictionServiceStub(self.channel).Predict(
            question, timeout=PATIENCE, metadata=list(self.metadata.items()))
        return {"version": said.model_spec.version.value, "row": tf.make_ndarray(said.outputs["y"])[0].tolist()}


class Load(threading.Thread):
    """One call after the other."""

    def __init__(self, how):
        super().__init__(daemon=True)
        self.call, self.calls, self.errors, self.answers, self.over = Caller(how), 0, [], [], False
        self.begun = threading.Event()
        self.start()

    def run(self):
        while not self.over:
            said = self.call()
            self.calls += 1
            if "error" in said:
                self.errors.append(said)
            elif said not in self.answers:
                self.answers.append(said)
            if self.calls == 20:
                self.begun.set()
            time.sleep(PAUSE_S)

    def end(self):
        self.over = True
        self.join(2 * PATIENCE)
        return {"calls": self.calls, "errors": self.errors[:20], "answers": self.answers}


def main():
    load = []
    for line in sys.stdin:
        what = json.loads(line)
        if what == "end":
            said = [one.end() for one in load]
        elif isinstance(what, list):
            load = [Load(how) for how in what]
            said = all(one.begun.wait(2 * PATIENCE) for one in load)
        else:
            said = Caller(what)()
        print(json.dumps(said), flush=True)


main()
