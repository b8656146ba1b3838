"""Curves whose error is known, and images of three kinds that are no photographs."""

import numpy as np

from caveat.datasets import Dataset
from caveat.experiments import Curve, Disentanglement, Protocol

SCORE = np.array([0.5, 0.7, 0.9])
RISING = np.array([1.0, 3.0, 5.0])
FLAT = np.ones(3)
TINY = Protocol(sizes=(0.1, 0.75, 1), noise=(0, 0.5, 1), repeats=2)
SMALL = {"epochs": 1, "passes": 3, "members": 2, "hidden": (8, 8)}


def curves(name, repeats=3, *, a_size=FLAT, e_size=RISING[::-1], a_noise=RISING, e_noise=FLAT):
    """Return both curves; without more the perfect ones. Noise costs score from left to right."""

    def stacked(values):
        return np.tile(np.asarray(values, dtype=float), (repeats, 1))

    size = Curve("size", name, [0.1, 0.5, 1], stacked(SCORE), stacked(a_size), stacked(e_size))
    noise = Curve(
        "noise", name, [0, 0.5, 1], stacked(SCORE[::-1]), stacked(a_noise), stacked(e_noise)
    )
    return size, noise


def perfect(*names, repeats=3):
    return Disentanglement(curves=tuple(c for name in names for c in curves(name, repeats)))


def trap(*names, repeats=3):
    """Total uncertainty twice: both parts follow both sweeps."""
    both = {"a_size": RISING[::-1], "e_noise": RISING}
    return Disentanglement(curves=tuple(c for name in names for c in curves(name, repeats, **both)))


def images(channels=1, side=28, each=12, held=4):
    """Return a data set in the form of the public ones: of each class bars at one place."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(10), each + held)
    X = rng.random((len(y), channels, side, side)).astype(np.float32) * 0.3
    for label in range(10):
        X[y == label, :, 2 * label : 2 * label + 2] += 0.7
    test = np.arange(len(y)) >= 10 * each
    return Dataset(X, y, {}, (), "Bars: ten places", test, tuple("abcdefghij"))
