"""What hostile calls found."""

from dataclasses import replace

import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError, UnknownNameError
from caveat.fairness import consistency


def test_quantities_that_are_not_there():
    result = consistency([0.0, 1.0, 2.0], [[0.0], [1.0], [2.0]], neighbors=1, resamples=0)
    for odd in (None, "total", ["prediction"], {"a": 1}):
        with pytest.raises(UnknownNameError, match=r"^quantity must be one of 'prediction'; got"):
            result.scaled_per_sample(odd)


def test_values_that_cannot_be_squared():
    with pytest.raises(InvalidValueError, match=r"values of sample 1 is 1e\+200; squares"):
        consistency([0.0, 1e200], [[0.0], [1.0]], neighbors=1, resamples=0)


def test_attributes_that_cannot_be_looked_up():
    prediction = caveat.Categorical.from_binary([0.1, 0.9, 0.2, 0.8])
    result = caveat.audit(prediction, [0, 1, 0, 1], np.array(["a", "a", "b", "b"]), resamples=0)
    assert result.comparison(["group"]) == "worst pair"


def alike(consistency, low, high):
    from caveat.fairness import ConsistencyRow

    numbers = (consistency, low, high, consistency, low, high)
    return ConsistencyRow("prediction", "sex", "a", "", *numbers, 20, 20, "")


def test_groups_without_any_difference():
    from caveat.fairness._individuals import _ratio

    none, some = alike(1.0, 1.0, 1.0), alike(0.8, 0.7, 0.9)
    ratio = _ratio(some, none)
    assert (ratio.value, ratio.low, ratio.high) == (np.inf, np.inf, np.inf)
    ratio = _ratio(none, some)
    assert (ratio.value, ratio.low, ratio.high) == (0, 0, 0)
    ratio = _ratio(none, none)
    assert np.isnan(ratio.value)
    assert (ratio.low, ratio.high) == (0, np.inf)
    wide = _ratio(some, alike(1.0, 0.9, 1.0))
    assert wide.low == pytest.approx(0.1 / 0.1)
    assert wide.high == np.inf


def test_an_audit_of_groups_without_any_difference():
    prediction = caveat.Categorical.from_binary(np.full(40, 0.9))
    groups = np.repeat(["a", "b"], 20)
    X = np.arange(40.0)[:, None]
    result = caveat.audit(prediction, np.ones(40), groups, X=X, resamples=40, random_state=0)
    assert result.verdict().paragraphs
    same = {"consistency": 1.0, "low": 1.0, "high": 1.0}
    rows = tuple(replace(row, **same) for row in result.consistency.rows)
    result = replace(result, consistency=replace(result.consistency, rows=rows))
    assert "no sample of any group differs from its neighbors" in str(result.verdict())
