"""Sums by index against numpy's."""

import numpy as np
import pytest

from caveat._counting import _MOST, count_by, sum_by


@pytest.mark.parametrize("samples", [0, 1, 1000, _MOST + 5])
def test_counts_and_sums_are_those_of_bincount(samples):
    rng = np.random.default_rng(samples)
    index = rng.integers(0, 37, samples).astype(np.int32)
    values = rng.normal(size=samples)
    np.testing.assert_array_equal(count_by(index, 40), np.bincount(index, minlength=40))
    np.testing.assert_allclose(
        sum_by(index, values, 40), np.bincount(index, values, 40), rtol=1e-12, atol=1e-9
    )
