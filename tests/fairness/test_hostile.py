"""What hostile calls found."""

import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError, UnknownNameError
from caveat.fairness import consistency


def test_quantities_that_are_not_there():
    result = consistency([0.0, 1.0, 2.0], [[0.0], [1.0], [2.0]], neighbours=1, resamples=0)
    for odd in (None, "total", ["prediction"], {"a": 1}):
        with pytest.raises(UnknownNameError, match=r"^quantity must be one of 'prediction'; got"):
            result.scaled_per_sample(odd)


def test_values_that_cannot_be_squared():
    with pytest.raises(InvalidValueError, match=r"values of sample 1 is 1e\+200; squares"):
        consistency([0.0, 1e200], [[0.0], [1.0]], neighbours=1, resamples=0)


def test_attributes_that_cannot_be_looked_up():
    prediction = caveat.Categorical.from_binary([0.1, 0.9, 0.2, 0.8])
    result = caveat.audit(prediction, [0, 1, 0, 1], np.array(["a", "a", "b", "b"]), resamples=0)
    assert result.comparison(["group"]) == "worst pair"
