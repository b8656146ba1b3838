"""The debiased error where many probabilities are equal: no noise is subtracted twice."""

import itertools

import numpy as np
import pytest

from caveat.metrics import debiased_calibration_error

LEVELS = np.array([0.2, 0.4, 0.6, 0.8])
OFF = np.array([0.05, 0.05, -0.05, -0.05])


def draw(seed, samples=500):
    rng = np.random.default_rng([31, seed])
    place = rng.integers(0, 4, samples)
    return (rng.random(samples) < (LEVELS + OFF)[place]).astype(int), LEVELS[place]


def test_its_square_is_unbiased():
    """Truth 0.05 and four distinct probabilities: the mean square is that, but for its noise."""
    found = np.array(
        [debiased_calibration_error(*draw(seed), kind="positive") for seed in range(300)]
    )
    # Negative squares count as 0, which raises the mean a little: by less than a standard error.
    error = np.std(found**2) / np.sqrt(300)
    assert np.mean(found**2) == pytest.approx(0.05**2, abs=4 * error)
    assert np.mean(found == 0) < 0.2


@pytest.mark.parametrize("seed", range(5))
def test_few_distinct_probabilities_are_their_own_bins(seed):
    y, p = draw(seed)
    bins = debiased_calibration_error(y, p, kind="positive")
    width = debiased_calibration_error(y, p, kind="positive", binning="equal-width")
    assert bins == pytest.approx(width, abs=1e-12)


def test_large_and_small_sets_are_cut_alike():
    """Beyond some thousand samples no sort is made of them; the bins are the same."""
    y, p = draw(0, 9000)
    p = np.round(np.clip(p + np.random.default_rng(0).normal(0, 0.05, 9000), 0, 1), 2)
    order = np.argsort(p, kind="stable")
    ends = np.flatnonzero(np.r_[np.diff(p[order]) > 0, True]) + 1
    cuts = [0] + [int(ends[np.argmin(np.abs(ends - k * 600))]) for k in range(1, 16)]
    total = weight = 0.0
    for a, b in itertools.pairwise(cuts):
        rows = order[a:b]
        if len(rows) > 1:
            gap, rate = np.mean(p[rows]) - np.mean(y[rows]), np.mean(y[rows])
            total += len(rows) * (gap**2 - rate * (1 - rate) / (len(rows) - 1))
            weight += len(rows)
    wanted = np.sqrt(max(total / weight, 0.0))
    assert debiased_calibration_error(y, p, kind="positive") == pytest.approx(wanted, rel=1e-9)
