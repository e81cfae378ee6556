"""ParameterServerStrategy with a chief, and an evaluator beside it: one script for all, as in TensorFlow's
guide. Workers and ps are servers, the chief trains and saves, the evaluator reads what was saved."""

import argparse
import os

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

EPOCHS = 3
parser = argparse.ArgumentParser()
parser.add_argument("--model-dir", required=True)
args = parser.parse_args()

digits = load_digits()
x, y = (digits.data / 16.0).astype(np.float32), digits.target
order = np.random.RandomState(7).permutation(len(x))
train, test = order[:1500], order[1500:]


def make_model():
    """The same one for who trains and who evaluates."""
    model = tf.keras.Sequential([
        tf.keras.layers.Input(64), tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(10)])
    model.compile(optimizer=tf.keras.optimizers.legacy.SGD(0.3), metrics=["accuracy"],
                  steps_per_execution=5,
                  loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def batches(context):
    """What one worker learns from."""
    rows = train[context.input_pipeline_id::context.num_input_pipelines]
    return tf.data.Dataset.from_tensor_slices((x[rows], y[rows])).shuffle(1500).repeat().batch(64)


resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
cluster = resolver.cluster_spec().as_dict()
place = f"{resolver.task_type} {resolver.task_id}"

if resolver.task_type in ("worker", "ps"):
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type,
                         task_index=resolver.task_id, protocol="grpc", start=True).join()
elif resolver.task_type == "evaluator":
    evaluator = make_model()
    tf.keras.utils.SidecarEvaluator(
        evaluator, data=(tf.data.Dataset.from_tensor_slices((x[test], y[test])).batch(297)),
        checkpoint_dir=args.model_dir, max_evaluations=EPOCHS).start()
    result = {metric.name: metric.result().numpy() for metric in evaluator.metrics}
    print(f"{place}, roles {' '.join(sorted(cluster))}, accuracy {result['accuracy']:.4f}", flush=True)
else:
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    with strategy.scope():
        trained = make_model()
    trained.fit(tf.keras.utils.experimental.DatasetCreator(batches), epochs=EPOCHS,
                steps_per_epoch=50, verbose=0, callbacks=[tf.keras.callbacks.ModelCheckpoint(
                    os.path.join(args.model_dir, "ckpt-{epoch}"), save_weights_only=True)])
    right = tf.matmul(tf.nn.relu(tf.matmul(x[test], trained.weights[0]) + trained.weights[1]),
                      trained.weights[2]) + trained.weights[3]
    servers = sorted({device.name.split("/device")[0].replace("/replica:0", "")
                      for device in tf.config.list_logical_devices("CPU")})
    homes = {weight.device.split("/replica")[0] for weight in trained.weights}
    print(f"{place}, connected {' '.join(servers)}, weights on {' '.join(sorted(homes))}, "
          f"accuracy {(right.numpy().argmax(1) == y[test]).mean():.4f}", flush=True)
