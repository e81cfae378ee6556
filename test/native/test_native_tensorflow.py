"""Servers of the real TensorFlow without Python."""

import re
import textwrap

import pytest

MINUTES = 180

# Softmax regression on digits; what differs is where the parts of the graph are.
COMMON = """
import argparse
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

tf1 = tf.compat.v1
tf1.disable_eager_execution()
digits = load_digits()
x = np.c_[digits.data / 16.0, np.ones(len(digits.data))].astype(np.float32)
y = np.eye(10, dtype=np.float32)[digits.target]
order = np.random.RandomState(7).permutation(len(x))
train, test = order[:1500], order[1500:]

parser = argparse.ArgumentParser()
parser.add_argument("--ps", type=lambda s: s.split(","))
parser.add_argument("--wk", type=lambda s: s.split(","))
parser.add_argument("--index", type=int, default=0)
args = parser.parse_args()


def loss_of(weights, rows):
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(
        labels=tf.constant(y[rows]), logits=tf.matmul(tf.constant(x[rows]), weights)))


def tell(weights):
    right = (x[test] @ weights).argmax(1) == digits.target[test]
    print("accuracy %.4f" % right.mean(), flush=True)
"""

# As many clients as workers: each has a graph of its own, which shares the variables on the ps.
BETWEEN = """
with tf1.device(tf1.train.replica_device_setter(
        worker_device=f"/job:worker/task:{args.index}",
        cluster=tf.train.ClusterSpec({"ps": args.ps, "worker": args.wk}))):
    w = tf1.get_variable("w", [65, 10], initializer=tf1.zeros_initializer())
    step = tf1.train.get_or_create_global_step()
    loss = loss_of(w, train[args.index::len(args.wk)])
    learn = tf1.train.GradientDescentOptimizer(1.0).minimize(loss, global_step=step)
    ready = tf1.report_uninitialized_variables()
with tf1.Session("grpc://" + args.wk[args.index]) as session:
    if args.index == 0:
        session.run(tf1.global_variables_initializer())
    while len(session.run(ready)) > 0:
        pass
    while session.run(step) < 200:
        session.run(learn)
    tell(session.run(w))
"""

# One client: one graph over all workers.
IN_GRAPH = """
with tf1.device("/job:ps/task:0"):
    w = tf1.get_variable("w", [65, 10], initializer=tf1.zeros_initializer())
losses = []
for i in range(len(args.wk)):
    with tf1.device(f"/job:worker/task:{i}"):
        losses.append(loss_of(w, train[i::len(args.wk)]))
learn = tf1.train.GradientDescentOptimizer(1.0).minimize(tf.add_n(losses) / len(losses))
with tf1.Session("grpc://" + args.wk[0]) as session:
    session.run(tf1.global_variables_initializer())
    for _ in range(100):
        session.run(learn)
    print("devices", sorted({d.name.split("/device")[0] for d in session.list_devices()}))
    tell(session.run(w))
"""

# TensorFlow 2: the chief coordinates, everybody else is a server.
STRATEGY = """
import numpy as np
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    w = tf.Variable(0.0)


@tf.function
def step():
    def replica():
        w.assign_sub(0.2 * (w - 3.0))
    strategy.run(replica)


for _ in range(60):
    coordinator.schedule(step)
coordinator.join()
print("learnt %.2f" % w.numpy(), flush=True)
"""


def _put(work, script, clients):
    (work / "client.py").write_text(COMMON + script)
    (work / "job.yaml").write_text(textwrap.dedent(f"""
        framework: tensorflow
        roles:
          ps: 1
          worker: 2
          client:
            count: {clients}
            command: python client.py --ps {{hosts:ps}} --wk {{hosts:worker}} --index {{rank}}
        """))


def _job(local, script, clients):
    _put(local.work, script, clients)
    return local.run("run", "-f", "job.yaml", check=0, timeout=MINUTES).stdout.decode()


def _accuracies(out):
    return [float(a) for a in re.findall(r"accuracy ([\d.]+)", out)]


def _check_in_graph(out):
    assert min(_accuracies(out)) >= 0.90
    assert out.count("/job:worker/replica:0/task:") == 2 and out.count("/job:ps/") == 1


@pytest.mark.full
def test_clients_with_graphs_of_their_own_share_native_servers(local):
    found = _accuracies(_job(local, BETWEEN, 2))
    assert len(found) == 2 and min(found) >= 0.90


@pytest.mark.full
def test_one_client_spreads_its_graph_over_native_servers(local):
    _check_in_graph(_job(local, IN_GRAPH, 1))


@pytest.mark.full
@pytest.mark.parametrize("script, clients", [(BETWEEN, 2), (IN_GRAPH, 1)],
                         ids=["between-graph", "in-graph"])
def test_on_yarn_both_ways_use_native_servers(jobs, venv, script, clients):
    _put(jobs.work, script, clients)
    done = jobs.run("run", "--on", "yarn", "-f", "job.yaml", "--mem", "700m",
                    "--env", f"PATH={venv}/bin:/usr/bin:/bin", "--env", "OMP_NUM_THREADS=1",
                    check=0, timeout=MINUTES)
    if clients == 1:
        _check_in_graph(done.stdout)
    found = _accuracies(done.stdout)
    assert len(found) == clients and min(found) >= 0.90
    assert jobs.ended()["finalStatus"] == "SUCCEEDED"


@pytest.mark.full
@pytest.mark.parametrize("native, processors", [("yes", "all"), ("yes", "one"), ("no", "all")])
def test_a_strategy_of_tensorflow_2_uses_native_servers(local, native, processors):
    """With one processor TensorFlow itself would take one thread between operations."""
    script = STRATEGY
    if native == "no":  # the same file for all, as TensorFlow's own guide has it
        script = STRATEGY.replace("strategy =", textwrap.dedent("""
            if resolver.task_type in ("worker", "ps"):
                tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type,
                                     task_index=resolver.task_id, protocol="grpc").join()
            strategy =""").lstrip(), 1)
    (local.work / "strategy.py").write_text(script)
    prefix = ("taskset", "-c", "0") if processors == "one" else ()
    done = local.command(*prefix, local.bin / "ydl", "run", "--framework", "tensorflow",
                         "--native", native, "--role", "chief=1", "--role", "worker=2",
                         "--role", "ps=1", "--", "python", "strategy.py", timeout=MINUTES)
    assert done.returncode == 0, done.stderr.decode()
    assert "learnt 3.00" in done.stdout.decode()


@pytest.mark.full
def test_old_scripts_with_four_flags_have_a_native_ps(local):
    text = COMMON.replace('"--ps"', '"--ps_hosts", dest="ps"').replace(
        '"--wk"', '"--worker_hosts", dest="wk"').replace(
        'parser.add_argument("--index", type=int, default=0)',
        'parser.add_argument("--task_index", dest="index", type=int)\n'
        'parser.add_argument("--job_name")')
    server = ('assert args.job_name == "worker"\n'
              'server = tf1.train.Server({"ps": args.ps, "worker": args.wk}, job_name="worker",\n'
              '                          task_index=args.index)\n')
    script = BETWEEN.replace('"grpc://" + args.wk[args.index]', "server.target")
    (local.work / "old.py").write_text(text + server + script)
    done = local.run("run", "-n", 2, "-s", 1, "--framework", "tensorflow-flags", "--native", "yes",
                     "--", "python", "old.py", check=0, timeout=MINUTES)
    assert min(_accuracies(done.stdout.decode())) >= 0.90
