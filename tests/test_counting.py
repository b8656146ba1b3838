"""Sums by index against numpy's."""

import numpy as np
import pytest

from caveat._counting import _MOST, add_counts, count_by, sum_by


@pytest.mark.parametrize("samples", [0, 1, 1000, _MOST + 5])
def test_counts_and_sums_are_those_of_bincount(samples):
    rng = np.random.default_rng(samples)
    index = rng.integers(0, 37, samples).astype(np.int32)
    values = rng.normal(size=samples)
    np.testing.assert_array_equal(count_by(index, 40), np.bincount(index, minlength=40))
    np.testing.assert_allclose(
        sum_by(index, values, 40), np.bincount(index, values, 40), rtol=1e-12, atol=1e-9
    )


@pytest.mark.parametrize("samples", [0, 7, 10_000, _MOST + 5])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_counts_are_added_to_those_before(samples, dtype):
    rng = np.random.default_rng(samples)
    counts = np.arange(40).astype(dtype)
    for _ in range(2):
        add_counts(rng.integers(0, 40, samples).astype(np.int32), counts)
    rng = np.random.default_rng(samples)
    index = np.concatenate([rng.integers(0, 40, samples) for _ in range(2)])
    np.testing.assert_array_equal(counts, np.arange(40) + np.bincount(index, minlength=40))
