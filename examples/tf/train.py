"""Between-graph training by clients of TensorFlow servers that ydl-tf started: --wk and --ps say
where they are. The data comes with the script: points of y = 3x - 1 with a little noise."""

import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow.compat.v1 as tf


def save(directory: str, slope: float, offset: float) -> None:
    """The line as a SavedModel, for `ydl-tf serve`."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.saved_model.simple_save(session, directory, {"x": x}, {"y": slope * x + offset})


def main() -> None:
    """Trains until the error is small, or for --steps steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--wk", required=True, help="workers, HOST:PORT with commas between")
    parser.add_argument("--ps", default="", help="parameter servers")
    parser.add_argument("--task_index", type=int, default=0, help="which worker is ours")
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()

    tf.disable_eager_execution()
    workers = args.wk.split(",")
    cluster = {"worker": workers} | ({"ps": args.ps.split(",")} if args.ps else {})
    generator = np.random.RandomState(args.task_index)
    x = generator.uniform(-1, 1, 256).astype("float32")
    y = 3 * x - 1 + generator.normal(0, 0.01, 256).astype("float32")
    place = tf.train.replica_device_setter(
        cluster=tf.train.ClusterSpec(cluster), worker_device=f"/job:worker/task:{args.task_index}",
        ps_tasks=len(cluster.get("ps", [])))
    with tf.device(place):
        slope, offset = tf.Variable(0.0, name="slope"), tf.Variable(0.0, name="offset")
        error = tf.reduce_mean(tf.square(slope * x + offset - y))
        step = tf.train.GradientDescentOptimizer(0.3).minimize(error)
        start = tf.global_variables_initializer()
        ready = tf.is_variable_initialized(slope) & tf.is_variable_initialized(offset)
    with tf.Session(f"grpc://{workers[args.task_index]}") as session:
        if args.task_index == 0:
            session.run(start)
        else:
            while not session.run(ready):  # the first client does that
                time.sleep(0.1)
        for _ in range(args.steps):
            session.run(step)
        left, line = session.run(error), session.run([slope, offset])
    print(f"error {left:.4f}, y = {line[0]:.2f} x + {line[1]:.2f}", flush=True)
    assert left < 0.01, "it did not learn"
    if args.task_index == 0 and "YDL_OUT" in os.environ:  # what is left there is kept, and published
        save(os.path.join(os.environ["YDL_OUT"], "model"), *line)


if __name__ == "__main__":
    main()
