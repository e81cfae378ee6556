"""Asks a deployment for predictions, with Python's standard library.

    python3 client.py WHERE MODEL ROWS.csv

WHERE is an address (http://HOST:PORT), or the name of a deployment, whose address `ydl serve address` knows.
SERVE_KEY_FILE names the file with the deployment's key, if it has one. Prints the answer for each row.
"""

import csv
import json
import os
import random
import subprocess
import sys
import time
import urllib.error
import urllib.request

BATCH = 256  # rows of a request
PATIENCE = 60  # seconds to try before giving up


class Deployment:
    """A deployment that may be busy, restarted or moved while it is used."""

    def __init__(self, where, model):
        self.where, self.model, self.url = where, model, None
        self.headers = {"Content-Type": "application/json"}
        if os.environ.get("SERVE_KEY_FILE"):
            with open(os.environ["SERVE_KEY_FILE"], encoding="utf-8") as file:
                key = next(line.strip() for line in file if not line.startswith("#"))
            self.headers["Authorization"] = f"Bearer {key}"

    def address(self):
        """Where it is now."""
        if "://" in self.where:
            return self.where
        told = subprocess.run(["ydl", "serve", "address", self.where], stdout=subprocess.PIPE, check=True)
        return random.choice(told.stdout.decode().split())  # of its gateways

    def ask(self, rows):
        """One request: a prediction for each row."""
        self.url = self.url or self.address()
        body = json.dumps({"instances": rows}).encode()
        request = urllib.request.Request(f"{self.url}/v1/models/{self.model}:predict", body, self.headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["predictions"]

    def predict(self, rows):
        """The same, as often as it takes: to predict twice does no harm."""
        end, pause = time.monotonic() + PATIENCE, 0.1
        while True:
            wait = pause
            try:
                return self.ask(rows)
            except urllib.error.HTTPError as refused:
                error = f"{refused.code}: {json.load(refused)['error']}"
                if refused.code not in (408, 429, 502, 503):
                    raise SystemExit(error) from None
                wait = max(wait, float(refused.headers.get("Retry-After", 0)))
            except (OSError, ValueError, subprocess.CalledProcessError) as lost:
                error, self.url = str(lost), None  # look where it is now
            if time.monotonic() + wait > end:
                raise SystemExit(error)
            time.sleep(wait)
            pause = min(2 * pause, 5)


def main():
    where, model, file = sys.argv[1:]
    deployment = Deployment(where, model)
    with open(file, encoding="utf-8") as table:
        rows = [[float(cell) for cell in row] for row in csv.reader(table)]
    for at in range(0, len(rows), BATCH):
        for prediction in deployment.predict(rows[at:at + BATCH]):
            print(json.dumps(prediction))


main()
