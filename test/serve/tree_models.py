"""Writes small models of trees and what their libraries' own Python says to them, into a directory.

    PYTHON tree_models.py DIR

Run by the Python of the environment with the frameworks. answers.json has for each model that can
be served inputs and the outputs that belong to them; NaN, where a value is missing, stands as such.
"""

import json
import re
import sys
from pathlib import Path

import lightgbm
import numpy as np
import xgboost

DIR = Path(sys.argv[1])
FEATURES = 6
RANDOM = np.random.default_rng(11)


def some(rows):
    """Rows of 32-bit numbers, some of which are missing."""
    x = RANDOM.standard_normal((rows, FEATURES)).astype(np.float32)
    x[RANDOM.random(x.shape) < .15] = np.nan
    return x


X = some(400)
SUM = np.nan_to_num(X).sum(axis=1)
LABELS = {"reg": SUM, "two": SUM > 0, "three": np.digitize(SUM, [-1, 1])}
ASKED = some(7)
TOLD = {}


def told(file, y):
    TOLD[file] = {"x": ASKED.astype(float).tolist(), "y": np.asarray(y).astype(float).tolist()}


def xgb():
    """A regression as JSON, two classes by an old name, three as UBJSON."""
    data = xgboost.DMatrix(X, label=LABELS["reg"])
    for file, label, objective in (("reg.json", "reg", {"objective": "reg:squarederror"}),
                                   ("two.bst", "two", {"objective": "binary:logistic"}),
                                   ("three.ubj", "three", {"objective": "multi:softprob",
                                                           "num_class": 3})):
        data.set_label(LABELS[label])
        model = xgboost.train({"max_depth": 4, "nthread": 1, **objective}, data, 20)
        model.save_model(DIR / file)
        told(file, model.predict(xgboost.DMatrix(ASKED)))
    (DIR / "json.bst").write_bytes((DIR / "reg.json").read_bytes())
    TOLD["json.bst"] = TOLD["reg.json"]
    xgboost.train({"booster": "gblinear", "nthread": 1}, data, 2).save_model(DIR / "linear.json")


def lgb():
    """The same three."""
    common = {"min_data_in_leaf": 2, "num_threads": 1, "verbose": -1, "deterministic": True}
    for file, label, objective in (("lreg.txt", "reg", {"objective": "regression"}),
                                   ("ltwo.txt", "two", {"objective": "binary"}),
                                   ("lthree.txt", "three", {"objective": "multiclass",
                                                            "num_class": 3})):
        model = lightgbm.train({**common, **objective},
                               lightgbm.Dataset(X.astype(float), label=LABELS[label]), 20)
        model.save_model(DIR / file)
        told(file, model.predict(ASKED))


def broken(file):
    """Halves of a model: what cannot be loaded."""
    whole = (DIR / file).read_bytes()
    (DIR / f"cut_{file}").write_bytes(whole[:len(whole) // 2])


DIR.mkdir(parents=True, exist_ok=True)
xgb()
lgb()
for one in ("reg.json", "three.ubj", "lthree.txt"):
    broken(one)
(DIR / "noise.json").write_text('{"learner": {"what": "is this"}, "version": [3, 2, 0]}')
(DIR / "longer_lthree.txt").write_text(  # than the file is
    (DIR / "lthree.txt").read_text().replace("tree_sizes=", "tree_sizes=9"))
(DIR / "wrong_lthree.txt").write_bytes(  # as long as before
    re.sub(rb"leaf_value=.", b"leaf_value=\xb0", (DIR / "lthree.txt").read_bytes()))
(DIR / "noise.txt").write_text("tree\nthis is not a model\n")
(DIR / "empty.json").write_text("")
(DIR / "answers.json").write_text(json.dumps(TOLD))
