"""The shape of dmlc's text: a kvstore, and a model that is told of it. The images are made up.

    dmlc-yarn.py -n 1 -s 1 python imagenet.py
    dmlc-submit --cluster local --num-workers 2 --num-servers 1 python imagenet.py
"""

import mxnet as mx
import numpy as np

kv = mx.kvstore.create("dist_sync")

dice = np.random.RandomState(5)
labels = dice.randint(0, 4, 400).astype(np.float32)
images = dice.rand(400, 8, 8).astype(np.float32) * 0.5
for image, label in zip(images, labels):
    row, column = divmod(int(label), 2)
    image[row * 4:row * 4 + 4, column * 4:column * 4 + 4] += 1  # one corner is brighter
mine = slice(kv.rank, 320, kv.num_workers)
data = mx.io.NDArrayIter(images[mine].reshape(-1, 64), labels[mine], 20, shuffle=True)

net = mx.symbol.FullyConnected(mx.symbol.Variable("data"), num_hidden=4)
net = mx.symbol.SoftmaxOutput(net, name="softmax")
mx.random.seed(1)
model = mx.model.FeedForward.create(symbol=net, X=data, kvstore=kv, num_epoch=8, learning_rate=0.1,
                                    initializer=mx.init.Xavier())
test = mx.io.NDArrayIter(images[320:].reshape(-1, 64), labels[320:], 20)
print(f"worker {kv.rank} of {kv.num_workers}: accuracy {model.score(test):.3f}", flush=True)
