"""XGBoost from 2.1 on: the script gives its tracker's address to the communicator."""

import hashlib
import os

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_digits

x, y = load_digits(return_X_y=True)
order = np.random.RandomState(7).permutation(len(x))
train, test = order[:1500], order[1500:]

with xgb.collective.CommunicatorContext(dmlc_tracker_uri=os.environ["DMLC_TRACKER_URI"],
                                        dmlc_tracker_port=int(os.environ["DMLC_TRACKER_PORT"]),
                                        dmlc_task_id=os.environ["DMLC_TASK_ID"]):
    rank, world = xgb.collective.get_rank(), xgb.collective.get_world_size()
    rows = train[rank::world]
    booster = xgb.train({"objective": "multi:softmax", "num_class": 10, "max_depth": 4, "eta": 0.5,
                         "nthread": 1, "tree_method": "hist"},
                        xgb.DMatrix(x[rows], y[rows], nthread=1), num_boost_round=8)
    xgb.collective.communicator_print(f"rank {rank} has trained")
    right = booster.predict(xgb.DMatrix(x[test], nthread=1)) == y[test]
    print(f"rank {rank} of {world}, accuracy {right.mean():.4f}, "
          f"model {hashlib.sha256(booster.save_raw()).hexdigest()}", flush=True)
