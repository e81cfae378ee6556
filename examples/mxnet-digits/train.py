"""Handwritten digits with MXNet, data-parallel over a parameter server.

An ordinary MXNet script: nothing in it knows how it was started. On one machine by hand:

    python train.py

distributed, 2 workers and 1 server:

    ydl run -n 2 -s 1 --framework mxnet -- python train.py --kv-store dist_sync

and with `--model DIR` it leaves what `ydl model push` and `ydl serve` take.
"""

import argparse
import os

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from sklearn.datasets import load_digits


def load(part, parts):
    """The training rows of one worker of `parts`, and all test rows."""
    digits = load_digits()
    x = (digits.data / 16.0).astype(np.float32)
    y = digits.target.astype(np.float32)
    order = np.random.RandomState(7).permutation(len(x))
    train, test = order[:1500], order[1500:]
    mine = train[part::parts]
    return (x[mine], y[mine]), (x[test], y[test])


def accuracy(net, x, y):
    """The share of rows that the network gets right."""
    guess = net(mx.nd.array(x)).argmax(axis=1).asnumpy()
    return float((guess == y).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kv-store", default="local")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--model", help="directory for the trained model")
    args = parser.parse_args()

    kv = mx.kv.create(args.kv_store)
    (x, y), (x_test, y_test) = load(kv.rank, kv.num_workers)
    print(f"worker {kv.rank} of {kv.num_workers}: {len(x)} images", flush=True)

    mx.random.seed(7)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(64, activation="relu"), gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5}, kvstore=kv)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), args.batch, shuffle=True,
                                 last_batch="discard")
    for epoch in range(args.epochs):
        total = 0.0
        for images, labels in data:
            with autograd.record():
                loss = loss_of(net(images), labels)
            loss.backward()
            trainer.step(args.batch * kv.num_workers)
            total += float(loss.mean().asscalar())
        print(f"epoch {epoch + 1}/{args.epochs}: loss {total / len(data):.4f}", flush=True)
    print(f"accuracy {accuracy(net, x_test, y_test):.4f}", flush=True)
    if args.model and kv.rank == 0:
        os.makedirs(args.model, exist_ok=True)
        net.hybridize()
        net(mx.nd.array(x_test[:1]))
        net.export(os.path.join(args.model, "digits"))


if __name__ == "__main__":
    main()
