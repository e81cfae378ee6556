"""Asks a deployment for predictions, with NumPy arrays as binary tensors: several times as fast as JSON.

    python3 client_numpy.py WHERE MODEL ROWS.csv

Arguments and SERVE_KEY_FILE are those of client.py. The request is one of the Open Inference Protocol with its
extension for binary tensors: a head of JSON, whose length a header gives, and then the bytes of the tensors.
"""

import http.client
import json
import os
import random
import subprocess
import sys
import time
from urllib.parse import urlsplit

import numpy as np

BATCH = 4096  # rows of a request
PATIENCE = 60  # seconds to try before giving up
HEAD = "Inference-Header-Content-Length"
TYPES = {"FP32": "<f4", "FP64": "<f8", "INT32": "<i4", "INT64": "<i8", "BOOL": "?"}


def encode(name, datatype, rows):
    """The body of a request with one input, and the length of its head."""
    data = np.ascontiguousarray(rows, TYPES[datatype]).tobytes()
    head = json.dumps({"inputs": [{"name": name, "datatype": datatype, "shape": rows.shape,
                                   "parameters": {"binary_data_size": len(data)}}],
                       "parameters": {"binary_data_output": True}}).encode()
    return head + data, len(head)


def decode(body, head):
    """The outputs of an answer: {name: array}."""
    outputs, at = {}, head
    for output in json.loads(body[:head])["outputs"]:
        size = output["parameters"]["binary_data_size"]
        array = np.frombuffer(body[at:at + size], TYPES[output["datatype"]])
        outputs[output["name"]] = array.reshape(output["shape"])
        at += size
    return outputs


class Deployment:
    """A connection to a deployment that may be busy, restarted or moved while it is used."""

    def __init__(self, where, model):
        self.where, self.path, self.connection, self.headers = where, f"/v2/models/{model}", None, {}
        if os.environ.get("SERVE_KEY_FILE"):
            with open(os.environ["SERVE_KEY_FILE"], encoding="utf-8") as keys:
                key = next(line.strip() for line in keys if not line.startswith("#"))
            self.headers["Authorization"] = f"Bearer {key}"
        self.input = json.loads(self.ask("GET", "")[0])["inputs"][0]

    def connect(self):
        """A connection to where it is now."""
        url = self.where
        if "://" not in url:
            told = subprocess.run(["ydl", "serve", "address", url], stdout=subprocess.PIPE, check=True)
            url = random.choice(told.stdout.decode().split())  # of its gateways
        at = urlsplit(url)
        kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
        return kind(at.hostname, at.port, timeout=PATIENCE)

    def ask(self, method, path, body=b"", headers=None):
        """The body of an answer and the length of its head, as often as it takes."""
        end, pause = time.monotonic() + PATIENCE, 0.1
        while True:
            wait = pause
            try:
                self.connection = self.connection or self.connect()
                self.connection.request(method, self.path + path, body, {**self.headers, **(headers or {})})
                answer = self.connection.getresponse()
                got = answer.read()
                if answer.status == 200:
                    return got, int(answer.headers.get(HEAD, 0))
                error = f"{answer.status}: {json.loads(got)['error']}"
                if answer.status not in (408, 429, 502, 503):
                    raise SystemExit(error)
                wait = max(wait, float(answer.headers.get("Retry-After", 0)))
            except (OSError, ValueError, http.client.HTTPException, subprocess.CalledProcessError) as lost:
                error, self.connection = str(lost), None  # look where it is now
            if time.monotonic() + wait > end:
                raise SystemExit(error)
            time.sleep(wait)
            pause = min(2 * pause, 5)

    def predict(self, rows):
        """The outputs for an array of rows."""
        body, head = encode(self.input["name"], self.input["datatype"], rows)
        return decode(*self.ask("POST", "/infer", body, {HEAD: str(head)}))


def main():
    where, model, file = sys.argv[1:]
    deployment = Deployment(where, model)
    rows = np.loadtxt(file, delimiter=",", ndmin=2)
    for at in range(0, len(rows), BATCH):
        for output in deployment.predict(rows[at:at + BATCH]).values():
            for prediction in output.tolist():
                print(json.dumps(prediction))


main()
