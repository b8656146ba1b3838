"""What hostile calls found."""

import numpy as np
import pytest

import caveat
from caveat.estimators import preset
from caveat.exceptions import OptionError, UnknownNameError

PREDICTION, Y = caveat.Categorical.from_binary([0.1, 0.9, 0.2, 0.8]), [0, 1, 0, 1]


@pytest.mark.parametrize("metrics", ["ece", 1.5])
def test_metrics_that_are_no_list(metrics):
    with pytest.raises(OptionError, match=r"^metrics must be a list of names; got"):
        caveat.evaluate(PREDICTION, Y, metrics=metrics, resamples=0)


@pytest.mark.parametrize("minimum", [0.5, [1], {"accuracy": "x"}])
def test_a_minimum_that_is_no_dict(minimum):
    result = caveat.compare({"a": PREDICTION, "b": PREDICTION}, Y, resamples=0)
    with pytest.raises(OptionError, match=r"^minimum must be a dict of metric to number; got"):
        result.recommend(minimum=minimum)


def test_names_that_are_no_text():
    result = caveat.compare({"a": PREDICTION, "b": PREDICTION}, Y, resamples=0)
    for odd in ([], {}, 3):
        with pytest.raises(OptionError, match="expression must be one of"):
            result.recommend(odd)
        with pytest.raises(OptionError, match="scale must be one of"):
            result.recommend(scale=odd)
    for odd in ([], {}, 3):
        with pytest.raises(UnknownNameError, match="preset must be one of"):
            preset(odd)
    with pytest.raises(OptionError, match="method must be one of 'permutation', 'martingale'"):
        caveat.exchangeability_test([1.0, 2.0], [1.0, 2.0], method={})


def test_rows_that_match_an_array():
    result = caveat.evaluate(caveat.Categorical([[0.2, 0.8]] * 4), [0, 1, 1, 1], resamples=0)
    assert result.matching(metric=np.array(["accuracy_score", "brier_loss"])) == []


def test_subnormal_probabilities():
    p = np.array([[1.0, 5e-324, 0.0], [1.0, 0.0, 5e-324]] * 20)
    result = caveat.evaluate(caveat.Categorical(p), [0] * 40, resamples=50, random_state=0)
    assert all(not row.low > row.high for row in result)
