"""Calibration sets of class probabilities for the tests."""

import numpy as np

import caveat


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def draw(p, rng):
    """Labels that follow the rows of ``p`` exactly."""
    return np.minimum((p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1), p.shape[1] - 1)


def calibration_set(seed=0, n=300, k=3, factor=1.7, shift=0.0, members=None):
    """Return logits' softmax at ``factor`` times the true logits, plus a shift, and labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k)) * 1.5
    y = draw(softmax(z), rng)
    z = factor * z + shift * np.arange(k)
    if members is not None:
        z = z + 0.5 * rng.normal(size=(members, n, k))
    return caveat.Categorical(softmax(z)), y


def log_loss(prediction, y, weight=None):
    p = prediction.mean[np.arange(len(y)), y]
    return -np.average(np.log(p), weights=weight)
