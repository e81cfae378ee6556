"""The function that bench/serve/handler serves on both sides: a layer of 64 to 10 and the best of it,
by numpy."""

import numpy as np

FEATURES = 64
WEIGHTS = ((np.arange(FEATURES * 10) * 37 % 255) / 255 - 0.5).reshape(FEATURES, 10).astype("f4")


def classify(x):
    """Scores of rows."""
    scores = np.exp(x @ WEIGHTS)
    return scores / scores.sum(1, keepdims=True)
