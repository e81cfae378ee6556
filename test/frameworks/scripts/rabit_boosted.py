"""XGBoost up to 2.0: rabit finds its tracker in the environment."""

import hashlib

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_digits

x, y = load_digits(return_X_y=True)
order = np.random.RandomState(7).permutation(len(x))
train, test = order[:1500], order[1500:]

xgb.rabit.init()
rank, world = xgb.rabit.get_rank(), xgb.rabit.get_world_size()
rows = train[rank::world]
booster = xgb.train({"objective": "multi:softmax", "num_class": 10, "max_depth": 4, "eta": 0.5,
                     "nthread": 1, "tree_method": "hist"},
                    xgb.DMatrix(x[rows], y[rows], nthread=1), num_boost_round=8)
xgb.rabit.tracker_print(f"rank {rank} has trained\n")
right = booster.predict(xgb.DMatrix(x[test], nthread=1)) == y[test]
print(f"rank {rank} of {world}, accuracy {right.mean():.4f}, "
      f"model {hashlib.sha256(booster.save_raw()).hexdigest()}, version {xgb.__version__}", flush=True)
xgb.rabit.finalize()
