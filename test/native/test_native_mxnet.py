"""Schedulers and servers of the real MXNet without Python."""

import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "mxnet-digits" / "train.py"
MINUTES = 180

# The example with weights that the workers update, and the wait that MXNet 1.9.1 needs for that.
GUARDED = """
import hashlib, sys
import mxnet as mx, numpy as np
from mxnet import autograd, gluon
sys.path.insert(0, {directory!r})
from train import accuracy, load
kv = mx.kv.create("dist_sync")
(x, y), (x_test, y_test) = load(kv.rank, kv.num_workers)
np.random.seed(kv.rank)
mx.random.seed(7)
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(64, activation="relu"), gluon.nn.Dense(10))
net.initialize(mx.init.Xavier())
trainer = gluon.Trainer(net.collect_params(), "sgd", {{"learning_rate": 0.5}}, kvstore=kv,
                        update_on_kvstore=False)
net(mx.nd.array(x[:1]))
trainer._init_kvstore(); trainer._init_params(); mx.nd.waitall()
loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
for step in range(180):
    rows = np.random.permutation(len(x))[:50]
    with autograd.record():
        loss = loss_of(net(mx.nd.array(x[rows])), mx.nd.array(y[rows]))
    loss.backward()
    trainer.step(50 * kv.num_workers)
weights = b"".join(p.data().asnumpy().tobytes() for p in net.collect_params().values())
print("weights", hashlib.sha256(weights).hexdigest(), flush=True)
print("accuracy %.4f" % accuracy(net, x_test, y_test), flush=True)
"""

# The same steps by a server (from a text) and by MXNet's own optimizer here: they must agree.
COMPARE = """
import mxnet as mx, numpy as np
kv = mx.kv.create("dist_sync")
rounds = np.random.RandomState(3).randn(6, 5).astype(np.float32)
OPTIMIZERS = [
    ("sgd lr=0.1", "sgd", dict(learning_rate=0.1)),
    ("sgd lr=0.1 wd=0.01 rescale_grad=0.5 clip_gradient=0.3", "sgd",
     dict(learning_rate=0.1, wd=0.01, rescale_grad=0.5, clip_gradient=0.3)),
    ("sgd lr=0.1 momentum=0.9 wd=0.01", "sgd", dict(learning_rate=0.1, momentum=0.9, wd=0.01)),
    ("adam lr=0.05 beta1=0.8 epsilon=1e-6", "adam",
     dict(learning_rate=0.05, beta1=0.8, epsilon=1e-6)),
]
for key, (text, name, parameters) in enumerate(OPTIMIZERS):
    kv._send_command_to_servers(0, text)
    start = mx.nd.array(np.linspace(-1, 1, 5))
    kv.init(key, start)
    mine, update = start.copy(), mx.optimizer.get_updater(mx.optimizer.create(name, **parameters))
    for row in rounds:
        kv.push(key, mx.nd.array(row))
        theirs = mx.nd.zeros(5)
        kv.pull(key, out=theirs)
        update(key, mx.nd.array(row), mine)
        np.testing.assert_allclose(theirs.asnumpy(), mine.asnumpy(), rtol=1e-5, atol=1e-6)
    print("same:", text, flush=True)
"""

# Softmax regression with nothing but push and pull: the servers do the learning.
PUSHING = """
import sys, mxnet as mx, numpy as np
from sklearn.datasets import load_digits
kv = mx.kv.create(sys.argv[1])
digits = load_digits()
x = np.c_[digits.data / 16.0, np.ones(len(digits.data))]
y = np.eye(10)[digits.target]
order = np.random.RandomState(7).permutation(len(x))
train, test = order[:1500][kv.rank::kv.num_workers], order[1500:]
kv.init(0, mx.nd.zeros((65, 10)))
if kv.rank == 0:
    kv._send_command_to_servers(0, sys.argv[2])
kv._barrier()
w = mx.nd.zeros((65, 10))
for step in range(150):
    rows = train[step * 25 % 700:][:50]
    kv.pull(0, out=w)
    scores = np.exp(x[rows] @ w.asnumpy())
    slope = x[rows].T @ (scores / scores.sum(1, keepdims=True) - y[rows]) / len(rows)
    kv.push(0, mx.nd.array(slope))
kv._barrier()
kv.pull(0, out=w)
right = (x[test] @ w.asnumpy()).argmax(1) == digits.target[test]
print("accuracy %.4f" % right.mean(), flush=True)
"""


def accuracies(done):
    """What the workers of a job printed."""
    return [float(x) for x in re.findall(r"accuracy ([\d.]+)", done.stdout.decode())]


class Maps(threading.Thread):
    """Notes which libraries processes have loaded, while a job runs."""

    def __init__(self, local, text):
        super().__init__(daemon=True)
        self.local, self.text, self.found, self.over = local, text, {}, threading.Event()

    def run(self):
        while not self.over.wait(0.2):
            for pid in self.local.find(self.text):
                try:
                    text = Path(f"/proc/{pid}/maps").read_text()
                except OSError:
                    continue
                # More each time: of one that is just ending nothing is to be seen.
                self.found.setdefault(pid, set()).update(
                    Path(x).name for x in re.findall(r"(/\S+)$", text, re.M))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


def _guarded(work):
    (work / "guarded.py").write_text(GUARDED.format(directory=str(DIGITS.parent)))


def test_workers_agree_and_learn_with_native_servers(local):
    _guarded(local.work)
    with Maps(local, "ydl-native mxnet") as maps:
        done = local.run("run", "-n", 2, "-s", 2, "--framework", "mxnet", "--native", "yes", "--",
                         "python", "guarded.py", check=0, timeout=MINUTES)
    found = accuracies(done)
    assert len(found) == 2 and min(found) >= 0.90
    assert len(set(re.findall(r"weights (\w+)", done.stdout.decode()))) == 1
    assert len(maps.found) == 3  # the scheduler and two servers
    for libraries in maps.found.values():
        assert "libmxnet.so" in libraries
        assert not [x for x in libraries if "python" in x]


@pytest.mark.full
@pytest.mark.parametrize("native", ["auto", "no"])
@pytest.mark.parametrize("store", ["dist_sync", "dist_async"])
def test_an_unchanged_script_learns_with_python_servers(local, native, store):
    with Maps(local, "ydl-native mxnet") as maps:
        done = local.run("run", "-n", 2, "-s", 2, "--framework", "mxnet", "--native", native, "--",
                         "python", DIGITS, "--kv-store", store, "--epochs", 12,
                         check=0, timeout=MINUTES)
    assert min(accuracies(done)) >= 0.85
    assert len([x for x in maps.found.values() if "libmxnet.so" in x]) == (native == "auto")


def test_a_native_server_steps_as_mxnets_own_optimizers_do(local):
    (local.work / "compare.py").write_text(COMPARE)
    done = local.run("run", "-n", 1, "-s", 1, "--framework", "mxnet", "--native", "yes", "--",
                     "python", "compare.py", check=0, timeout=MINUTES)
    assert done.stdout.decode().count("same: ") == 4


@pytest.mark.full
@pytest.mark.parametrize("store", ["dist_sync", "dist_async"])
@pytest.mark.parametrize("text", ["sgd lr=0.5 rescale_grad=0.5", "sgd lr=0.1 momentum=0.9",
                                  "adam lr=0.02"])
def test_native_servers_learn_what_a_text_tells_them(local, store, text):
    (local.work / "pushing.py").write_text(PUSHING)
    done = local.run("run", "-n", 2, "-s", 2, "--framework", "mxnet", "--native", "yes", "--",
                     "python", "pushing.py", store, text, check=0, timeout=MINUTES)
    found = accuracies(done)
    assert len(found) == 2 and min(found) >= 0.88


def test_a_pickled_optimizer_is_refused_with_the_ways_out(local):
    done = local.run("run", "-n", 2, "-s", 2, "--framework", "mxnet", "--native", "yes", "--",
                     "python", DIGITS, "--kv-store", "dist_sync", check=1, timeout=MINUTES)
    text = done.stderr.decode()
    assert re.search(r"failed: server:\d", text)
    for word in ("pickled optimizer", "update_on_kvstore=False", "--native auto", "'sgd lr=0.1'"):
        assert word in text


def test_a_job_without_any_python(local, venv):
    """A worker in C, started by a shell script; scheduler and servers can only be native then."""
    library = next(venv.glob("lib/python*/site-packages/mxnet/libmxnet.so"))
    subprocess.run(["cc", "-Wall", "-Werror", "-o", local.work / "worker",
                    ROOT / "examples" / "native" / "worker.c", "-ldl"], check=True)
    (local.work / "worker.sh").write_text('#!/bin/sh\necho "I am $DMLC_ROLE"\nexec ./worker "$@"\n')
    (local.work / "worker.sh").chmod(0o755)
    job = (ROOT / "examples" / "native" / "job.yaml").read_text()
    (local.work / "job.yaml").write_text(job.replace("./worker", f"./worker.sh {library}"))
    done = local.run("run", "-f", "job.yaml", check=0, timeout=MINUTES)
    out = done.stdout.decode()
    assert out.count("I am worker") == 2
    assert {"worker 0 of 2 learnt 15.000", "worker 1 of 2 learnt 15.000"} == set(
        re.findall(r"worker \d of 2 learnt [\d.]+", out))


def test_a_python_without_mxnet_is_left_to_itself(local):
    (local.work / "roles.py").write_text("import os; print('role', os.environ['DMLC_ROLE'])")
    args = ("-n", 1, "-s", 1, "--framework", "mxnet", "--", "/usr/bin/python3", "roles.py")
    plan = json.loads(local.run("plan", "--json", *args, check=0).stdout)
    words = plan["roles"][0]["tasks"][0]["argv"]
    assert words == [str(local.bin / "ydl-native"), "mxnet", "--fallback", "--",
                     "/usr/bin/python3", "roles.py"]
    done = local.run("run", *args, check=0)
    assert sorted(re.findall(r"role (\w+)", done.stdout.decode()))[-1] == "worker"


def test_on_yarn_the_program_travels_with_the_roles_that_need_it(jobs, venv):
    _guarded(jobs.work)
    args = ("--on", "yarn", "-n", 2, "-s", 1, "--framework", "mxnet", "--native", "yes",
            "--role", "scheduler=1,memory=256m", "--role", "server=1,memory=256m", "--mem", "512m",
            "--env", "OMP_NUM_THREADS=1", "--", venv / "bin" / "python", "guarded.py")
    plan = json.loads(jobs.run("plan", "--json", *args, check=0).stdout)
    assert [(x["to"], x["role"]) for x in plan["ship"] if x["to"] == "ydl-native"] == [
        ("ydl-native", "scheduler"), ("ydl-native", "server")]
    done = jobs.run("run", *args, check=0, timeout=MINUTES)
    found = [float(x) for x in re.findall(r"accuracy ([\d.]+)", done.stdout)]
    assert len(found) == 2 and min(found) >= 0.90
    assert len(set(re.findall(r"weights (\w+)", done.stdout))) == 1


@pytest.mark.full
@pytest.mark.parametrize("store", ["dist_sync", "dist_async"])
@pytest.mark.parametrize("native", ["yes", "no"])
def test_on_yarn_two_workers_learn_from_two_servers(jobs, venv, native, store):
    """Native servers step as a text tells them; Python's as the worker's own optimizer."""
    (jobs.work / "pushing.py").write_text(PUSHING)
    shutil.copy(DIGITS, jobs.work)
    command = (["pushing.py", store, "sgd lr=0.1 momentum=0.9"] if native == "yes" else
               [DIGITS.name, "--kv-store", store, "--epochs", 12])
    done = jobs.run("run", "--on", "yarn", "-n", 2, "-s", 2, "--framework", "mxnet", "--native", native,
                    "--role", "scheduler=1,memory=256m", "--role", "server=2,memory=384m", "--mem",
                    "512m", "--env", "OMP_NUM_THREADS=1", "--", venv / "bin" / "python", *command,
                    check=0, timeout=MINUTES)
    found = [float(x) for x in re.findall(r"accuracy ([\d.]+)", done.stdout)]
    assert len(found) == 2 and min(found) >= 0.85, done.stdout
