import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.exceptions import InvalidValueError
from caveat.recalibration import _conformal
from caveat.recalibration._conformal import (
    as_fraction,
    conformal_quantile,
    minimum_samples,
    too_few,
    values_at_ranks,
)

from .conformal_examples import RNG, kth


class TestRank:
    @pytest.mark.parametrize("coverage", [0.1, 0.5, 0.6827, 0.8, 0.9, 0.95, 0.9545, 0.99, 0.999])
    def test_is_exact_for_every_size(self, coverage):
        exact = Fraction(str(coverage))
        smallest = minimum_samples(coverage)
        assert smallest == next(n for n in range(2000) if math.ceil((n + 1) * exact) <= n)
        for count in range(smallest, 1200, 7):
            scores = np.arange(1.0, count + 1)[:, None]
            assert conformal_quantile(scores, coverage)[0] == math.ceil((count + 1) * exact)

    def test_reads_floats_as_the_fractions_people_mean(self):
        assert as_fraction(0.9) == as_fraction(1 - 0.1) == Fraction(9, 10)
        assert as_fraction(1 - 0.7) == Fraction(3, 10)  # the float is 0.30000000000000004
        assert as_fraction(Fraction(1, 3)) == as_fraction(1 / 3) == Fraction(1, 3)
        assert as_fraction(math.erf(2**-0.5)) == Fraction(math.erf(2**-0.5))
        assert as_fraction(1 - 1e-12) < 1

    def test_nine_samples_suffice_for_ninety_percent(self):
        scores = np.arange(1.0, 10.0)[:, None]
        assert conformal_quantile(scores, 0.9)[0] == 9
        assert too_few(9, 0.9) is None
        assert conformal_quantile(scores[:8], 0.9)[0] == np.inf
        assert too_few(8, 0.9) == "8 calibration samples, at least 9 are needed"
        assert conformal_quantile(scores[:0], 0.9)[0] == np.inf

    def test_infinite_scores_are_ranked_and_nan_refused(self):
        scores = np.r_[np.arange(9.0), np.inf][:, None]
        assert conformal_quantile(scores, 0.9)[0] == np.inf
        assert conformal_quantile(scores, 0.8)[0] == 8
        scores[3] = np.nan
        with pytest.raises(InvalidValueError, match="score of sample 3 is nan"):
            conformal_quantile(scores, 0.9)

    def test_constant_scores(self):
        np.testing.assert_array_equal(conformal_quantile(np.full((50, 3), 2.0), 0.9), 2.0)

    @settings(max_examples=100, deadline=None)
    @given(
        scores=st.lists(st.integers(-3, 3), min_size=20, max_size=40),
        coverage=st.sampled_from([0.2, 0.5, 0.9]),
        seed=st.integers(0, 1000),
    )
    def test_weights_are_repetitions(self, scores, coverage, seed):
        rng = np.random.default_rng(seed)
        scores = np.array(scores, dtype=float)[:, None]
        weight = rng.integers(0, 5, size=len(scores)).astype(float)
        weight[:10] += 1
        repeated = np.repeat(scores, weight.astype(int), axis=0)
        expected = conformal_quantile(repeated, coverage)
        np.testing.assert_array_equal(conformal_quantile(scores, coverage, weight), expected)
        np.testing.assert_array_equal(expected, kth(repeated, coverage))

    def test_fractional_weights(self):
        # 90 samples of 0.1 are nine: the last one is needed at 90 %, but for the sum's rounding.
        scores, weight = np.arange(90.0)[:, None], np.full(90, 0.1)
        assert conformal_quantile(scores, 0.9, weight)[0] == 89
        assert conformal_quantile(scores, 0.5, weight)[0] == 49
        assert conformal_quantile(scores[1:], 0.9, weight[1:])[0] == np.inf
        words = too_few(89, 0.9, weight[1:])
        assert words == "8.9 calibration samples, at least 9 are needed"

    @pytest.mark.parametrize("shape", ["random", "sorted", "ties", "two values", "adversarial"])
    def test_selection_in_large_columns_equals_a_sort(self, shape):
        count = 60_001
        column = {
            "random": RNG.normal(size=count),
            "sorted": np.arange(float(count)),
            "ties": RNG.integers(0, 5, size=count).astype(float),
            "two values": (np.arange(count) < 7).astype(float),
            "adversarial": np.where(np.arange(count) % 15 == 0, -1.0, RNG.random(count)),
        }[shape]
        ordered = np.sort(column)
        for rank in (1, 2, 100, 30_000, 54_002, 59_999, count):
            assert values_at_ranks(column, [Fraction(rank)], None)[0] == ordered[rank - 1]

    def test_the_sample_in_that_test_is_misled(self):
        # Every fifteenth row is all that a sample of 4,000 sees, so the detour must be left.
        assert 60_001 // _conformal._SAMPLE == 15
