"""Horovod with MXNet: gluon's training loop, with Horovod's trainer in it."""

import hashlib

import horovod.mxnet as hvd
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from sklearn.datasets import load_digits

hvd.init()
digits = load_digits()
x, y = (digits.data / 16.0).astype(np.float32), digits.target
order = np.random.RandomState(7).permutation(len(x))
train, test = order[:1500][hvd.rank()::hvd.size()], order[1500:]

mx.random.seed(hvd.rank())  # every rank starts elsewhere: the broadcast has to make them equal
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(32, activation="relu", in_units=64), gluon.nn.Dense(10, in_units=32))
net.initialize(mx.init.Xavier())
hvd.broadcast_parameters(net.collect_params(), root_rank=0)
trainer = hvd.DistributedTrainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
for step in range(150):
    rows = np.take(train, range(step * 25, step * 25 + 50), mode="wrap")
    with autograd.record():
        loss = loss_of(net(mx.nd.array(x[rows])), mx.nd.array(y[rows]))
    loss.backward()
    trainer.step(len(rows))

right = net(mx.nd.array(x[test])).asnumpy().argmax(1) == y[test]
weights = b"".join(p.data().asnumpy().tobytes() for p in net.collect_params().values())
print(f"rank {hvd.rank()} of {hvd.size()}, local {hvd.local_rank()} of {hvd.local_size()}, "
      f"accuracy {right.mean():.4f}, model {hashlib.sha256(weights).hexdigest()}", flush=True)
hvd.shutdown()
