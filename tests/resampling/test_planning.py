"""Numbers of samples by the closed form of a symmetric interval."""

import numpy as np
import pytest
from scipy.stats import norm

from caveat.resampling.planning import POWER, rounded_up, samples_factor

LIMIT = norm.ppf(0.975)


@pytest.mark.parametrize("gap", [0.5, 0.2, 0.05])
def test_the_factor_of_a_symmetric_interval(gap):
    # Half widths w / sqrt(k) that leave room for the estimate: (z + z_power) / z times, squared.
    expected = ((1 + norm.ppf(POWER) / LIMIT) / gap) ** 2
    found = samples_factor((-1.0, 0.0, 1.0), lambda low, high: high <= gap, LIMIT, unsure=0.0)
    assert found == pytest.approx(expected, rel=1e-6)


def test_an_unsure_estimate_needs_more():
    decided = lambda low, high: high <= 2.0  # noqa: E731
    moved = norm.ppf(0.75) / LIMIT
    expected = ((1 + norm.ppf(POWER) / LIMIT) / (2 - moved)) ** 2
    # Below 1 there is nothing to collect.
    assert samples_factor((-1.0, 0.0, 1.0), decided, LIMIT) == max(1.0, expected)
    decided = lambda low, high: high <= 1.0  # noqa: E731
    expected = ((1 + norm.ppf(POWER) / LIMIT) / (1 - moved)) ** 2
    assert samples_factor((-1.0, 0.0, 1.0), decided, LIMIT) == pytest.approx(expected, rel=1e-6)


def test_no_number_of_samples_decides_at_the_threshold():
    decided = lambda low, high: high < 0 or low > 0  # noqa: E731
    assert samples_factor((-1.0, 0.0, 1.0), decided, LIMIT, unsure=0.0) == np.inf
    # Where the estimate may be at the threshold, it is the same.
    assert samples_factor((-0.9, 0.1, 1.1), decided, LIMIT) > 1000


def test_two_digits():
    numbers = [7, 50, 51.2, 101, 1234, 99.5]
    assert [rounded_up(number) for number in numbers] == [7, 50, 52, 110, 1300, 100]
