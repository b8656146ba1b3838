"""What hostile calls found."""

import numpy as np
import pytest

import caveat
from caveat.exceptions import CaveatError, InvalidValueError, OptionError, UnknownNameError


def test_methods_that_are_no_names():
    prediction = caveat.Categorical([[0.5, 0.5]])
    for method in (np.array(["auto", "auto"]), ["auto"], None):
        with pytest.raises(UnknownNameError, match="the name of a decomposition is a str; got"):
            caveat.decompose(prediction, method)


def test_class_distances():
    X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
    odd = np.array(["energy", "energy"])
    with pytest.raises(
        OptionError,
        match="distance must be one of 'energy', 'wasserstein', 'bhattacharyya', or a c",
    ):
        caveat.class_distances(X, y, distance=odd)
    with pytest.raises(OptionError, match=r"combine must be one of 'mean\+std', 'rms'"):
        caveat.class_distances(X, y, combine=odd)
    with pytest.raises(InvalidValueError, match=r"X of sample 1 is 1e\+200; squares of"):
        caveat.class_distances([[0.0], [1e200], [2.0]], y)
    with pytest.raises(CaveatError, match="classes must be 1 labels"):
        caveat.class_distances(X, y, classes=0.5)
