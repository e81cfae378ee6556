"""The commands of MXNetOnYARN and of TensorFlow on YARN, from training to an answer: the job of their texts
leaves its model in the registry, `serve` puts it behind an address, and it is asked."""

import shutil
import socket
import subprocess
from pathlib import Path

import environment
import pytest
from serving_load import ask

pytestmark = pytest.mark.full
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PATH = f"PATH={environment.directory()}/bin:/usr/bin:/bin"


def command(serving, program, *words, timeout=600):
    """An older system's command, in the user's shell."""
    done = subprocess.run([serving.bin / program, *map(str, words)], env=serving.env(), cwd=serving.work, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"{done.args}: {done.returncode}\n{done.stdout}\n{done.stderr}\n{serving.tell()}"
    return done


def published(serving, name):
    """What makes a job publish what is in `model`."""
    return ["--publish", name, "--publish-path", "model", "--registry", serving.registry]


def test_mxnet_is_trained_served_and_asked(serving):
    shutil.copytree(EXAMPLES / "mx", serving.work, dirs_exist_ok=True)
    done = command(serving, "ydl-mx", "yarn", "--mem", "700m", "--env", PATH, *published(serving, "points"), "-n", 2,
                   "-s", 1, "job.py", "--kv-store", "dist_sync", "--data-dir", "data")
    assert "published points:1" in done.stderr, done.stderr
    url = command(serving, "ydl-mx", "serve", "points", "--model_version", 1, "-n", 2, "--cpus", 1, "--mem",
                  "512m").stdout.strip()
    rows = [[float(x) for x in line.split(",")]
            for line in (serving.work / "data" / "points.csv").read_text().splitlines()[240:]]
    status, answer = ask(url, "/v1/models/points:predict", {"instances": [row[1:] for row in rows]})
    assert status == 200, answer
    guesses = [max(range(3), key=kinds.__getitem__) for kinds in answer["predictions"]]
    assert sum(guess == row[0] for guess, row in zip(guesses, rows)) > 0.9 * len(rows)
    serving.run("serve", "stop", "points", check=0)


def test_tensorflow_is_trained_served_and_asked(serving):
    shutil.copy(EXAMPLES / "tf" / "train.py", serving.work)
    done = command(serving, "ydl-tf", "-job", "train.py", "-numberworkers", 2, "-numberps", 1, "--env", PATH,
                   "--env", "OMP_NUM_THREADS=1", *published(serving, "line"))
    assert "error 0.0" in done.stdout and "published line:1" in done.stderr, done
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = command(serving, "ydl-tf", "serve", "--model_name", "line", "--model_version", 1, "--port", port, "--cpus", 1,
                  "--mem", "1g", "--timeout", "5m").stdout.strip()
    assert url.endswith(f":{port}")
    status, answer = ask(url, "/v1/models/line:predict", {"instances": [0, 1, -2]})
    assert status == 200 and answer["predictions"] == pytest.approx([-1, 2, -7], abs=0.1), answer
    serving.run("serve", "stop", "line", check=0)
