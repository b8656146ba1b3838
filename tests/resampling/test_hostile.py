"""What hostile calls found."""

import numpy as np
import pytest

from caveat.exceptions import OptionError
from caveat.metrics.sums import absolute_sum
from caveat.resampling import make_plan
from caveat.resampling.inversion import _largest_mode, invert


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e140])
def test_the_largest_mode_in_every_unit(unit):
    deviations = np.random.default_rng(0).normal(size=(50, 2)) * [3.0, 0.1]
    mode = _largest_mode(unit * deviations)
    assert np.abs(mode).max() == pytest.approx(1)
    assert abs(mode[0]) == pytest.approx(1)
    assert (_largest_mode(np.zeros((5, 2))) == 0).all()


def test_a_direction_that_is_lost_in_rounding():
    """The norm of what is next to nothing may be 0: there is no length along it to find."""
    deviations = np.random.default_rng(0).normal(size=(50, 2)) * [1e-3, 1.0]

    def blunt(gaps):
        return np.abs(np.where(np.abs(gaps) < 0.5, 0.0, gaps)).sum(axis=-1)

    low, _, high = invert(np.array([0.1, 2.0]), deviations, blunt, 0.9)
    assert 0 <= low <= high


def test_a_length_that_no_noise_rejects():
    """A norm with an upper end is never far enough above what was observed."""

    def bounded(gaps):
        return np.minimum(absolute_sum(gaps), 1.0)

    low, _, high = invert(np.array([2.0]), np.zeros((50, 1)), bounded, 0.9)
    assert 0 <= low <= high <= 1


def test_more_resamples_than_there_is_memory():
    with pytest.raises(OptionError, match="resamples must be at most 1,000,000,000; got 10000000"):
        make_plan(5, resamples=10**30)
