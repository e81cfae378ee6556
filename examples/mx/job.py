"""Three kinds of points, told apart with MXNet's Module; nothing here knows how it was started.

    ydl-mx local -n 2 -s 1 job.py --kv-store dist_sync --data-dir data
    ydl-mx yarn  -n 2 -s 1 job.py --kv-store dist_sync --data-dir data
"""

import argparse
import os

import mxnet as mx
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--kv-store", default="local")
parser.add_argument("--data-dir", default="data")
parser.add_argument("--epochs", type=int, default=15)
args = parser.parse_args()

kv = mx.kvstore.create(args.kv_store)
rows = np.loadtxt(os.path.join(args.data_dir, "points.csv"), delimiter=",", dtype=np.float32)
train, test = rows[:240], rows[240:]
mine = train[kv.rank::kv.num_workers]
print(f"worker {kv.rank} of {kv.num_workers}: {len(mine)} points", flush=True)

net = mx.symbol.Variable("data")
net = mx.symbol.Activation(mx.symbol.FullyConnected(net, num_hidden=16), act_type="relu")
net = mx.symbol.SoftmaxOutput(mx.symbol.FullyConnected(net, num_hidden=3), name="softmax")

mx.random.seed(1)
model = mx.mod.Module(net)
model.fit(mx.io.NDArrayIter(mine[:, 1:], mine[:, 0], 20, shuffle=True), kvstore=kv,
          num_epoch=args.epochs, optimizer_params={"learning_rate": 0.3},
          initializer=mx.init.Xavier())
accuracy = model.score(mx.io.NDArrayIter(test[:, 1:], test[:, 0], 20), "acc")[0][1]
print(f"accuracy {accuracy:.3f}", flush=True)
if kv.rank == 0 and "YDL_OUT" in os.environ:  # what is left there goes to HDFS, or to ./ydl-out
    os.mkdir(os.path.join(os.environ["YDL_OUT"], "model"))
    model.save_checkpoint(os.path.join(os.environ["YDL_OUT"], "model", "points"), args.epochs)
