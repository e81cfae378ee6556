"""Writes a model of XGBoost as UBJSON, which brings the library down when a byte of it is wrong.

    PYTHON ubj_model.py DIR

Run by the Python of the environment with the frameworks, as three.ubj.
"""

import sys
from pathlib import Path

import numpy as np
import xgboost

x = np.random.default_rng(1).standard_normal((200, 4))
booster = xgboost.train({"max_depth": 4}, xgboost.DMatrix(x, label=x.sum(axis=1)), 20)
booster.save_model(str(Path(sys.argv[1]) / "three.ubj"))
