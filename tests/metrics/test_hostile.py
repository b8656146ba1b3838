"""What hostile calls found."""

import numpy as np
import pytest

from caveat.exceptions import OptionError
from caveat.metrics import (
    accuracy_score,
    area_under_risk_coverage_error,
    confidence_curve,
    error_calibration_curve,
    interval_coverage,
    root_mean_squared_error,
    smooth_calibration_error,
    variation_calibration_error,
)


def test_a_weighted_mean_of_ones_is_1():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=500)
    for seed in range(50):
        weight = np.random.default_rng(seed).gamma(1.0, size=500)
        assert accuracy_score(y, np.eye(4)[y], sample_weight=weight) == 1
        assert interval_coverage(y, y - 1, y + 1, sample_weight=weight) == 1


@pytest.mark.parametrize("unit", [1e-320, 1e-200, 1e-100, 1.0, 1e60])
def test_root_mean_squares_in_every_unit(unit):
    errors = unit * np.array([3.0, 4.0, 0.0, 0.0])
    # A number near 1e-320 has some three digits.
    close = pytest.approx(2.5 * unit, rel=1e-12 if unit > 1e-300 else 1e-2)
    assert root_mean_squared_error(errors, np.zeros(4)) == close
    assert root_mean_squared_error(errors, np.zeros(4), sample_weight=[2, 2, 2, 2]) == close
    curve = confidence_curve(errors, np.arange(4), points=2, aggregate="root_mean_square")
    assert curve.error[0] == close


def test_no_error_at_all():
    assert root_mean_squared_error([1.0, 2.0], [1.0, 2.0]) == 0
    curve = confidence_curve([0.0, 0.0], [1, 2], points=2, aggregate="root_mean_square")
    assert (curve.error == 0).all()


def test_weights_that_are_lost_in_their_sum():
    weight = np.array([1.0, 1e-60, 1e-60])
    area = area_under_risk_coverage_error([0.5, 1.0, 1.0], [0.1, 0.2, 0.3], sample_weight=weight)
    assert area == pytest.approx(0.5)
    # Rounding took this one below 0.
    assert area_under_risk_coverage_error([0.0, 1e8], [0.5, 1.0], sample_weight=[1e8, 1.0]) >= 0


def test_a_bandwidth_that_smooths_everything():
    y, p = [0, 1, 1], [0.2, 0.3, 0.8]
    wide = smooth_calibration_error(y, p, kind="positive", bandwidth=1e300)
    assert wide == pytest.approx(abs(np.mean(y) - np.mean(p)), rel=1e-9)
    assert wide == pytest.approx(smooth_calibration_error(y, p, kind="positive", bandwidth=100.0))


@pytest.mark.parametrize("variation", [["entropy"], np.array(["gini"]), 3, None])
def test_variations_that_cannot_be_looked_up(variation):
    with pytest.raises(OptionError, match="variation must be 'entropy', 'confidence', 'gini' or"):
        variation_calibration_error([0, 1], [0.2, 0.8], variation=variation)


def test_bins_end_with_the_last_sample():
    """The sum of weights times the bins, over the bins, may be more than the sum."""
    y = np.arange(8.0)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        variance, weight = rng.gamma(2.0, size=8), rng.gamma(2.0, size=8)
        for bins in (3, 7, 15):
            curve = error_calibration_curve(y, y, variance, bins=bins, sample_weight=weight)
            assert curve.high[-1] == np.sqrt(variance.max())
