"""Scores a table in Spark without pandas: mapPartitions asks a deployment, with JSON as curl sends it.

    spark-submit spark_map_partitions.py WHERE MODEL TABLE ANSWERS

The arguments, SERVE_KEY_FILE and what happens to a deployment that moved are those of spark_udf.py, which is
several times as fast. Needs nothing but Spark on the executors.
"""

import contextlib
import http.client
import json
import os
import random
import subprocess
import sys
import time
from itertools import islice
from urllib.parse import urlsplit

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DoubleType, StructField, StructType

BATCH = 256  # rows of a request
PATIENCE = 120  # seconds to try before the task fails


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
        self.where, self.url, self.path = where, address(where), f"/v1/models/{model}:predict"
        self.connection, self.headers = None, {"Content-Type": "application/json"}
        if keys:
            with open(keys, encoding="utf-8") as file:
                key = next(line.strip() for line in file if not line.startswith("#"))
            self.headers["Authorization"] = f"Bearer {key}"

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

    def predict(self, rows):
        """An answer for each row, asked for as often as it takes: to predict twice does no harm."""
        body = json.dumps({"instances": rows}).encode()
        end, pause = time.monotonic() + PATIENCE, 0.1
        while True:
            wait = pause * random.uniform(0.5, 1)  # so that tasks do not come back all at once
            try:
                connection = self.connect()
                connection.request("POST", self.path, body, self.headers)
                answer = connection.getresponse()
                got = answer.read()
                if answer.status == 200:
                    return json.loads(got)["predictions"]
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


def number(value):
    """NULL is NaN to a model, as with pandas: a missing value."""
    return float("nan") if value is None else value


def scorer(deployment, numbers):
    """A function of the rows of a partition. Each task has a connection of its own, for all its batches."""

    def score(rows):
        while batch := list(islice(rows, BATCH)):
            for row, answer in zip(batch, deployment.predict([[number(row[i]) for i in numbers] for row in batch])):
                yield (*row, [float(value) for value in answer])

    return score


def main():
    where, model, source, target = sys.argv[1:]
    deployment = Deployment(where, model, os.environ.get("SERVE_KEY_FILE"))
    spark = SparkSession.builder.appName(f"{model} for {source}").getOrCreate()
    table = spark.read.parquet(source)
    numbers = [i for i, (_, kind) in enumerate(table.dtypes) if kind in ("float", "double")]
    wider = StructType([*table.schema.fields, StructField("answer", ArrayType(DoubleType()))])
    spark.createDataFrame(table.rdd.mapPartitions(scorer(deployment, numbers)), wider).write.parquet(target)
    spark.stop()


if __name__ == "__main__":
    main()
