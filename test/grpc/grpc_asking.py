"""The process that makes calls for a test: grpc_calls.py, run where the clients are."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "frameworks")]

import environment  # noqa: E402
import grpc_clients  # noqa: E402


class Asking:
    """`with Asking() as ask: ask(to=…, api=…, model=…)`; `ask.load(CALL…)` makes calls all the time
    until `ask.end()`, which says what came of each."""

    def __init__(self):
        env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3",
               "PYTHONPATH": str(grpc_clients.site_packages(grpc_clients.directory()))}
        self.process = subprocess.Popen(
            [environment.directory() / "bin" / "python", HERE / "grpc_calls.py"], env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _ask(self, what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __call__(self, **call):
        return self._ask(call)

    def load(self, *calls):
        """Goes on when each of them was answered some times."""
        assert self._ask(calls)

    def end(self):
        return self._ask("end")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
