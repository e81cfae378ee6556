"""Asks a deployment for predictions, with the package `requests`, which tries again by itself.

    python3 client_requests.py WHERE MODEL ROWS.csv

Arguments and SERVE_KEY_FILE are those of client.py.
"""

import csv
import json
import os
import random
import subprocess
import sys
import time

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

BATCH = 256  # rows of a request
PATIENCE = 60  # seconds to try before giving up

# Sends a request again that came too slowly (408), found no room (429, 503) or whose replica was lost (502), after
# the time that Retry-After names or a growing one. To predict twice does no harm, so POST is repeated as well.
AGAIN = Retry(total=10, connect=2, read=2, backoff_factor=0.1, status_forcelist=(408, 429, 502, 503),
              allowed_methods=None, respect_retry_after_header=True, raise_on_status=False)


def address(where):
    """The deployment's address now."""
    if "://" in where:
        return where
    told = subprocess.run(["ydl", "serve", "address", where], stdout=subprocess.PIPE, check=True)
    return random.choice(told.stdout.decode().split())  # of its gateways


def predict(session, where, model, rows):
    """A prediction for each row."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            answer = session.post(f"{address(where)}/v1/models/{model}:predict", json={"instances": rows},
                                  timeout=PATIENCE)
            break
        except (requests.ConnectionError, requests.RequestException, subprocess.CalledProcessError) as lost:
            if time.monotonic() > end:  # else it may have moved
                raise SystemExit(str(lost)) from None
            time.sleep(1)
    if answer.status_code != 200:
        raise SystemExit(f"{answer.status_code}: {answer.json()['error']}")
    return answer.json()["predictions"]


def main():
    where, model, file = sys.argv[1:]
    session = requests.Session()
    for scheme in "http://", "https://":
        session.mount(scheme, HTTPAdapter(max_retries=AGAIN))
    if os.environ.get("SERVE_KEY_FILE"):
        with open(os.environ["SERVE_KEY_FILE"], encoding="utf-8") as keys:
            key = next(line.strip() for line in keys if not line.startswith("#"))
        session.headers["Authorization"] = f"Bearer {key}"
    with open(file, encoding="utf-8") as table:
        rows = [[float(cell) for cell in row] for row in csv.reader(table)]
    for at in range(0, len(rows), BATCH):
        for prediction in predict(session, where, model, rows[at:at + BATCH]):
            print(json.dumps(prediction))


main()
