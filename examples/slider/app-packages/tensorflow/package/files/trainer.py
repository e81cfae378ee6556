"""A line through points, learned by several workers from shared variables: y = 3x - 1 with a little
noise. The data comes with the program.

    trainer.py --ps_hosts=H:P,… --worker_hosts=H:P,… --job_name=ps|worker --task_index=N
    trainer.py --ps_hosts=H:P,… --worker_hosts=H:P,… --replication=in_graph

Worker 0 begins from the last checkpoint in --ckp_dir, and writes one every few steps: a cluster that
was started again goes on from there.
"""

import argparse
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow.compat.v1 as tf

SAVE_STEPS = 50
# One thread for operations that wait for others is not enough for a server.
FEW_THREADS = {"intra_op_parallelism_threads": 1, "inter_op_parallelism_threads": 2}


def options():
    """The words behind the program's name; those that are for other programs are left alone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ps_hosts", default="")
    parser.add_argument("--worker_hosts", required=True)
    parser.add_argument("--job_name", default="client")
    parser.add_argument("--task_index", type=int, default=0)
    parser.add_argument("--replication", default="between_graph")
    parser.add_argument("--ckp_dir", default="")
    parser.add_argument("--steps", type=int, default=int(os.environ.get("TRAINER_STEPS", "200")))
    return parser.parse_known_args()[0]


def cluster_of(args):
    """Addresses by job."""
    found = {"worker": args.worker_hosts.split(",")}
    if args.ps_hosts:
        found["ps"] = args.ps_hosts.split(",")
    return found


def points(seed):
    """Some of the data."""
    generator = np.random.RandomState(seed)
    x = generator.uniform(-1, 1, 256).astype("float32")
    return x, 3 * x - 1 + generator.normal(0, 0.01, 256).astype("float32")


def variables():
    """What is learned, and how often."""
    return (tf.Variable(0.0, name="slope"), tf.Variable(0.0, name="offset"),
            tf.train.get_or_create_global_step())


def error_of(slope, offset, seed):
    """How far the line is from some of the points."""
    x, y = points(seed)
    return tf.reduce_mean(tf.square(slope * x + offset - y))


def begin(session, args, saver, ready):
    """Worker 0 makes or restores the variables, the others wait for them."""
    if args.task_index > 0:
        while not session.run(ready):
            time.sleep(0.1)
        return
    last = tf.train.latest_checkpoint(args.ckp_dir) if args.ckp_dir else None
    if last:
        saver.restore(session, last)
        print("goes on from", os.path.basename(last), flush=True)
    else:
        session.run(tf.global_variables_initializer())


def train(session, args, saver, tensors):
    """Until all workers together have done the steps."""
    step, error, count, line = tensors
    done = session.run(count)
    while done < args.steps:
        session.run(step)
        done = session.run(count)
        if args.task_index == 0 and args.ckp_dir and done % SAVE_STEPS < 2:
            saver.save(session, os.path.join(args.ckp_dir, "model"), global_step=count)
    left, (slope, offset) = session.run(error), session.run(line)
    print("step %d, error %.4f, y = %.2f x + %.2f" % (done, left, slope, offset), flush=True)
    assert left < 0.01, "it did not learn"


def between_graph(args):
    """Every worker has a graph of its own; variables are on the parameter servers."""
    cluster = cluster_of(args)
    server = tf.train.Server(cluster, job_name=args.job_name, task_index=args.task_index,
                             config=tf.ConfigProto(**FEW_THREADS))
    print("%s %d of %s" % (args.job_name, args.task_index, sorted(cluster.items())), flush=True)
    if args.job_name == "ps":
        server.join()
    own = "/job:worker/task:%d" % args.task_index
    with tf.device(tf.train.replica_device_setter(worker_device=own, cluster=cluster)):
        slope, offset, count = variables()
        error = error_of(slope, offset, args.task_index)
        step = tf.train.GradientDescentOptimizer(0.3).minimize(error, global_step=count)
        ready = tf.reduce_all([tf.is_variable_initialized(v) for v in (slope, offset, count)])
        saver = tf.train.Saver()
    config = tf.ConfigProto(device_filters=["/job:ps", own], **FEW_THREADS)
    with tf.Session(server.target, config=config) as session:
        begin(session, args, saver, ready)
        train(session, args, saver, (step, error, count, [slope, offset]))


def in_graph(args):
    """One graph with a part on every worker, built and run by one client."""
    cluster = cluster_of(args)
    with tf.device("/job:ps/task:0" if args.ps_hosts else "/job:worker/task:0"):
        slope, offset, count = variables()
    errors = []
    for i in range(len(cluster["worker"])):
        with tf.device("/job:worker/task:%d" % i):
            errors.append(error_of(slope, offset, i))
    error = tf.add_n(errors) / len(errors)
    step = tf.train.GradientDescentOptimizer(0.3).minimize(error, global_step=count)
    saver = tf.train.Saver()
    with tf.Session("grpc://" + cluster["worker"][0]) as session:
        begin(session, args, saver, None)
        train(session, args, saver, (step, error, count, [slope, offset]))


def main():
    """See the file's text."""
    args = options()
    if args.ckp_dir and "://" not in args.ckp_dir:
        os.makedirs(args.ckp_dir, exist_ok=True)
    tf.disable_eager_execution()
    (in_graph if args.replication == "in_graph" else between_graph)(args)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
