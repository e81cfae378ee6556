"""What a team does with its cluster: it trains a model, serves it, trains a better one, lets that try
itself on a part of the requests, and goes back. All on YARN, with the commands that people type."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import environment
import pytest
from serving_load import Load, ask

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "mxnet-digits" / "train.py"


def images() -> list[tuple[list[float], int]]:
    """Some handwritten digits that no training has seen, and which they are."""
    script = ("import json, numpy as np; from sklearn.datasets import load_digits; d = load_digits(); "
              "order = np.random.RandomState(7).permutation(len(d.data))[1500:1520]; "
              "print(json.dumps([((d.data[i] / 16.0).tolist(), int(d.target[i])) for i in order]))")
    done = subprocess.run([environment.directory() / "bin" / "python", "-c", script], check=True, capture_output=True)
    return json.loads(done.stdout)


def right(url: str, digits) -> int:
    """How many of them the deployment recognises."""
    status, answer = ask(url, "/v1/models/digits:predict", {"instances": [pixels for pixels, _ in digits]})
    assert status == 200, answer
    guesses = [max(range(10), key=row.__getitem__) for row in answer["predictions"]]
    return sum(guess == digit for guess, (_, digit) in zip(guesses, digits))


class DigitsLoad(Load):
    """Requests of users, whatever the answer."""

    def __init__(self, url, digits):
        self.pixels = [pixels for pixels, _ in digits]
        super().__init__(url)

    def run(self):
        while not self.over:
            status, answer = ask(self.url, "/v1/models/digits:predict", {"instances": self.pixels[:1]})
            self.n += 1
            if status != 200:
                self.bad.append((status, answer))


@pytest.mark.full
def test_from_training_to_a_rollback(serving):
    shutil.copy(DIGITS, serving.work)
    digits = images()

    def train(epochs):
        """One more version of `digits`, by two workers and a parameter server."""
        done = serving.run(
            "run", "--on", "yarn", "-n", 2, "-s", 1, "--framework", "mxnet", "--mem", "700m",
            "--env", f"PATH={environment.directory()}/bin:/usr/bin:/bin", "--env", "OMP_NUM_THREADS=1",
            "--publish", "digits", "--publish-path", "model", "--registry", serving.registry, "--files", "train.py",
            "--", "sh", "-c", f"python train.py --kv-store dist_sync --epochs {epochs} --model $YDL_OUT/model",
            check=0, timeout=900)
        return re.search(r"published (digits:\d+)", done.stderr).group(1)

    assert train(1) == "digits:1"
    url = serving.deploy("digits", "--replicas", 2, "--memory", "512m", "--timeout", "5m")
    first = right(url, digits)
    assert json.loads(serving.run("predict", "digits", "--json", json.dumps({"instances": [digits[0][0]]}),
                                  check=0).stdout)["predictions"]

    assert train(12) == "digits:2"
    load = DigitsLoad(url, digits)
    done = serving.run("serve", "update", "digits", "--to", 2, "--canary", "20%", "--requests", 20, "--slower", 50,
                       "--timeout", "5m", check=0, timeout=900)
    assert "watching: 20 % of the requests" in done.stderr and "version 2 serves" in done.stderr, done.stderr
    assert right(url, digits) > max(first, 16) - 1

    serving.run("serve", "rollback", "digits", check=0)
    assert right(url, digits) == first
    n, bad, _ = load.end()
    assert n > 40 and not bad, bad
    serving.run("serve", "stop", "digits", check=0)
