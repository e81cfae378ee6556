"""Scores a table in Spark: a pandas UDF asks a deployment, with batches of rows as binary tensors.

    spark-submit spark_udf.py WHERE MODEL TABLE ANSWERS

WHERE is an address (http://HOST:PORT), or the name of a deployment, whose address `ydl serve address` knows. The
columns of TABLE (Parquet) that are float or double are the model's input, in their order. ANSWERS is the table to
write, with one column more: the model's first output. SERVE_KEY_FILE names the file with the deployment's key, if
it has one; only the driver reads it.

Needs Spark 3.3, with pandas and pyarrow on the executors. Only the driver needs `ydl`; an executor that has it too
finds a deployment that moved.
"""

import contextlib
import http.client
import json
import os
import random
import subprocess
import sys
import time
from typing import Iterator
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf, struct

BATCH = 4096  # rows of a request
PATIENCE = 120  # seconds to try before the task fails
HEAD = "Inference-Header-Content-Length"
TYPES = {"FP32": "<f4", "FP64": "<f8"}


def address(where):
    """Where a deployment is now."""
    if "://" in where:
        return where
    told = subprocess.run(["ydl", "serve", "address", where], stdout=subprocess.PIPE, check=True, timeout=PATIENCE)
    return random.choice(told.stdout.decode().split())  # of its gateways


class Deployment:
    """A deployment that may be busy, restarted or moved while it is used, and a connection to it. The driver makes
    one; what is sent to the executors is a copy without a connection."""

    def __init__(self, where, model, keys=None):
        self.where, self.url, self.path, self.connection = where, address(where), f"/v2/models/{model}", None
        self.headers = {}
        if keys:
            with open(keys, encoding="utf-8") as file:
                key = next(line.strip() for line in file if not line.startswith("#"))
            self.headers["Authorization"] = f"Bearer {key}"
        self.input = json.loads(self.ask("GET", "")[0])["inputs"][0]

    def __getstate__(self):
        return {**self.__dict__, "connection": None}

    def connect(self):
        """The connection that there is, or a new one."""
        if not self.connection:
            at = urlsplit(self.url)
            kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
            self.connection = kind(at.hostname, at.port, timeout=PATIENCE)
        return self.connection

    def lose(self):
        """Nobody answered: it may be somewhere else now. Where `ydl` cannot say, the same place is tried again."""
        if self.connection:
            self.connection.close()
            self.connection = None
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            self.url = address(self.where)

    def ask(self, method, path, body=b"", headers=None):
        """The body of an answer and the length of its head, as often as it takes: to predict twice does no harm."""
        end, pause = time.monotonic() + PATIENCE, 0.1
        while True:
            wait = pause * random.uniform(0.5, 1)  # so that tasks do not come back all at once
            try:
                connection = self.connect()
                connection.request(method, self.path + path, body, {**self.headers, **(headers or {})})
                answer = connection.getresponse()
                got = answer.read()
                if answer.status == 200:
                    return got, int(answer.headers.get(HEAD, 0))
                error = f"{answer.status}: {got[:1000].decode(errors='replace')}"
                if answer.status not in (408, 429, 502, 503):
                    raise RuntimeError(error)
                wait = max(wait, float(answer.headers.get("Retry-After", 0)))
            except (OSError, ValueError, http.client.HTTPException) as lost:
                error = f"{self.url}: {lost!r}"
                self.lose()
            if time.monotonic() + wait > end:
                raise RuntimeError(error)
            time.sleep(wait)
            pause = min(2 * pause, 5)

    def predict(self, rows):
        """The model's first output for an array of rows. Request and answer are those of the Open Inference Protocol
        with binary tensors: a head of JSON, whose length a header gives, and then the bytes."""
        data = np.ascontiguousarray(rows, TYPES[self.input["datatype"]]).tobytes()
        head = json.dumps({"inputs": [{"name": self.input["name"], "datatype": self.input["datatype"],
                                       "shape": rows.shape, "parameters": {"binary_data_size": len(data)}}],
                           "parameters": {"binary_data_output": True}}).encode()
        body, at = self.ask("POST", "/infer", head + data, {HEAD: str(len(head))})
        output = json.loads(body[:at])["outputs"][0]
        size = output["parameters"]["binary_data_size"]
        return np.frombuffer(body[at:at + size], TYPES[output["datatype"]]).reshape(len(rows), -1)


def scorer(deployment):
    """A function of columns. Each task has a connection of its own, for all its batches."""

    @pandas_udf("array<float>")
    def score(batches: Iterator[pd.DataFrame]) -> Iterator[pd.Series]:
        for batch in batches:
            rows = batch.to_numpy()
            yield pd.Series([answer for at in range(0, len(rows), BATCH)
                             for answer in deployment.predict(rows[at:at + BATCH])], dtype=object)

    return score


def main():
    where, model, source, target = sys.argv[1:]
    deployment = Deployment(where, model, os.environ.get("SERVE_KEY_FILE"))
    spark = SparkSession.builder.appName(f"{model} for {source}").getOrCreate()
    table = spark.read.parquet(source)
    numbers = [name for name, kind in table.dtypes if kind in ("float", "double")]
    table.withColumn("answer", scorer(deployment)(struct(*numbers))).write.parquet(target)
    spark.stop()


if __name__ == "__main__":
    main()
