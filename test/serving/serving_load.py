"""Requests to a deployment, one or many."""

import json
import threading
import time
import urllib.request

PAUSE_S = 0.002  # between the requests of one client: load, and not all that the machine can do


def ask(url, path="/v1/models/mlp:predict", body=None, headers=None, timeout=60):
    """Status and answer of one request."""
    data = json.dumps(body or {"instances": [[0.5] * 784]}).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())


class Load(threading.Thread):
    """Requests one after the other until it is ended; what was not answered well is kept, and how
    often each of the answers in `wanted` came."""

    def __init__(self, url, *wanted, first=0.5):
        super().__init__(daemon=True)
        self.url, self.wanted, self.bad, self.wrong, self.n, self.over = url, wanted, [], [], 0, False
        self.counts = [0] * len(wanted)
        self.body = {"instances": [[first] + [0.5] * 783]}
        self.start()

    def run(self):
        while not self.over:
            try:
                status, answer = ask(self.url, body=self.body)
            except OSError as error:
                status, answer = 0, str(error)
            self.n += 1
            if status != 200:
                self.bad.append((status, answer))
            elif answer in self.wanted:
                self.counts[self.wanted.index(answer)] += 1
            else:
                self.wrong.append(answer)
            time.sleep(PAUSE_S)

    def end(self):
        self.over = True
        self.join(60)
        return self.n, self.bad, self.wrong
