"""What hostile calls found."""

import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError

PREDICTION = caveat.Categorical.from_binary([0.1, 0.9, 0.2, 0.8])


@pytest.mark.parametrize(
    "recalibrator",
    [
        caveat.BetaCalibration(),
        caveat.HistogramBinning(),
        caveat.IsotonicCalibration(),
        caveat.PlattScaling(),
        caveat.QuadraticScaling(),
        caveat.ScalingBinning(),
        caveat.SplineCalibration(),
        caveat.StructuredMatrixScaling(),
        caveat.StructuredVectorScaling(),
        caveat.TemperatureScaling(),
        caveat.VennAbers(),
    ],
    ids=lambda recalibrator: type(recalibrator).__name__,
)
def test_a_group_of_which_no_sample_counts(recalibrator):
    weight, groups = [1, 1, 0, 0], ["a", "a", "b", "b"]
    with pytest.raises(InvalidValueError, match=r"^group 'b': sample_weight is 0 for every sample"):
        recalibrator.fit(PREDICTION, [0, 1, 0, 1], groups=groups, sample_weight=weight)


def test_infinite_intervals_cannot_be_compared():
    first = caveat.Interval([-np.inf, 0.0], [np.inf, 1.0], coverage=0.9)
    with pytest.raises(InvalidValueError, match="of sample 0, number 0 is -inf"):
        caveat.exchangeability_test(first, first, random_state=0)


def test_logits_that_a_temperature_takes_out_of_range():
    logits = caveat.GaussianLogits([[9e74, 0.0], [8e74, 0.0]], np.ones((2, 2)))
    scaling = caveat.TemperatureScaling().fit(logits, [0, 0])
    scaling.temperature_ = 0.01
    with pytest.raises(InvalidValueError, match="squares of numbers beyond"):
        scaling.transform(logits)
