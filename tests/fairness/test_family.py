"""The level of many comparisons, held against distributions whose quantiles are known."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import binomtest, norm, studentized_range
from scipy.stats import t as student

from caveat.fairness._family import MOST_PAIRS, Family, bonferroni, joint_noise
from caveat.fairness._rates import Rate
from caveat.fairness._ratios import Number
from caveat.resampling import Replicates
from caveat.resampling.intervals import stretch
from caveat.resampling.spread import share_limits, spread_of, stacked

RESAMPLES = 2000
NOISE = joint_noise(RESAMPLES, 0)
ACCURACY, ERROR = ("accuracy", ""), ("mean_absolute_error", "")
# The 95 % quantile of 2,000 draws of a maximum, whose density there is above 0.1, has a standard
# error of sqrt(0.05 * 0.95 / 2000) / 0.1 = 0.05; correlations from 2,000 resamples add 0.01.
CLOSE = 0.15


def rate(values, value=0.5, *, share=False, units=100):
    return Rate(value, Replicates(np.asarray(values, float), value, units), units, share)


def share(hits, samples, resamples=50):
    """A share with the spread of its samples; resamples of all are all alike."""
    seen = spread_of((np.arange(samples) < hits).astype(float), None, None)
    values = np.random.default_rng(0).binomial(samples, hits / samples, resamples) / samples
    spread = stacked([seen], clustered=False)
    found = Replicates(values, hits / samples, samples, share=spread)
    return Rate(hits / samples, found, samples, True)


def independent(number, *, keys=(ACCURACY,), seed=1, scale=0.01):
    """Groups whose rates vary on their own, by as much each."""
    rng = np.random.default_rng(seed)
    return [
        {key: rate(0.5 + scale * rng.normal(size=RESAMPLES)) for key in keys} for _ in range(number)
    ]


def critical(family, chosen=True):
    """The normal quantile of the level of all comparisons."""
    return norm.ppf((1 + family.level(family.keys, chosen)) / 2)


class TestLevels:
    def test_of_one_comparison_is_the_confidence(self):
        family = Family(independent(2), None, 0.95, NOISE)
        assert (family.level(family.keys, True), family.size(family.keys, True)) == (0.95, 1)

    def test_of_the_same_comparison_twice_is_that_of_one(self):
        groups = [{ACCURACY: g[ACCURACY], ERROR: g[ACCURACY]} for g in independent(2)]
        family = Family(groups, None, 0.95, NOISE)
        assert family.size(family.keys, True) == 2
        assert critical(family) == pytest.approx(norm.ppf(0.975), abs=CLOSE)

    def test_of_two_independent_rates(self):
        family = Family(independent(2, keys=(ACCURACY, ERROR)), None, 0.95, NOISE)
        # Both hold with 0.95 if each does with its square root.
        assert critical(family) == pytest.approx(
            norm.ppf((1 + np.sqrt(0.95)) / 2), abs=CLOSE
        )  # fmt: skip

    @pytest.mark.parametrize("number", [3, 4, 6, 20])
    def test_of_all_pairs_is_tukeys(self, number):
        family = Family(independent(number), None, 0.95, NOISE)
        wanted = studentized_range.ppf(0.95, number, np.inf) / np.sqrt(2)
        assert critical(family) == pytest.approx(wanted, abs=CLOSE)
        assert family.size(family.keys, True) == number * (number - 1) // 2

    @pytest.mark.parametrize("number", [3, 6])
    def test_of_pairs_with_the_privileged_is_dunnetts(self, number):
        def short(c):
            held = quad(
                lambda z: (
                    norm.pdf(z)
                    * (norm.cdf(z + np.sqrt(2) * c) - norm.cdf(z - np.sqrt(2) * c)) ** (number - 1)
                ),
                -8,
                8,
            )[0]
            return held - 0.95

        family = Family(independent(number), 1, 0.95, NOISE)
        assert family.size(family.keys, False) == number - 1
        assert critical(family, False) == pytest.approx(brentq(short, 1, 5), abs=CLOSE)
        assert critical(family, False) < critical(family, True)

    def test_is_never_above_bonferronis(self):
        family = Family(independent(6), None, 0.95, NOISE)
        assert 0.95 < family.level(family.keys, True) <= bonferroni(0.95, 15)
        assert bonferroni(0.95, 15) == pytest.approx(1 - 0.05 / 15)

    def test_of_very_many_pairs_is_bonferronis(self):
        number = 102
        pairs = number * (number - 1) // 2
        assert pairs > MOST_PAIRS
        family = Family(independent(number), None, 0.95, NOISE)
        assert family.level(family.keys, True) == bonferroni(0.95, pairs)

    def test_without_resamples_there_is_one_level(self):
        assert joint_noise(0, 0) is None
        family = Family(independent(4), None, 0.95, None)
        assert family.level(family.keys, True) == 0.95

    def test_scale_does_not_matter(self):
        groups = independent(2, keys=(ACCURACY,)), independent(2, keys=(ERROR,), scale=1e6, seed=2)
        both = [one | other for one, other in zip(*groups, strict=True)]
        assert critical(Family(both, None, 0.95, NOISE)) == pytest.approx(2.236, abs=CLOSE)

    def test_is_repeatable(self):
        ends = [{ACCURACY: rate(np.ones(RESAMPLES), 1.0, share=True)} for _ in range(3)]
        levels = {Family(ends, None, 0.95, NOISE).level((ACCURACY,), True) for _ in range(2)}
        assert len(levels) == 1


class TestUnusualRates:
    def test_a_share_of_all_varies_as_its_limit_does(self):
        ends = [{ACCURACY: share(50, 50, RESAMPLES)} for _ in range(4)]
        wanted = studentized_range.ppf(0.95, 4, np.inf) / np.sqrt(2)
        assert critical(Family(ends, None, 0.95, NOISE)) == pytest.approx(wanted, abs=CLOSE)

    def test_what_is_constant_costs_nothing(self):
        still = rate(np.full(RESAMPLES, 0.3), 0.3)
        groups = [{ACCURACY: g[ACCURACY], ERROR: still} for g in independent(2)]
        family = Family(groups, None, 0.95, NOISE)
        assert critical(family) == pytest.approx(norm.ppf(0.975), abs=CLOSE)

    def test_what_is_undefined_is_in_no_pair(self):
        groups = independent(3)
        groups[0] = {ACCURACY: Rate(np.nan, None, 0, True, "no positives")}
        for privileged, sizes in ((None, (1, 0)), (0, (1, 0)), (1, (1, 1))):
            family = Family(groups, privileged, 0.95, NOISE)
            found = family.size(family.keys, True), family.size(family.keys, False)
            assert found == sizes

    def test_resamples_without_a_value_are_left_out(self):
        rng = np.random.default_rng(0)
        groups = independent(3)
        values = groups[0][ACCURACY].replicates.values.copy()
        values[rng.random(RESAMPLES) < 0.2] = np.nan
        values[rng.random(RESAMPLES) < 0.1] = np.inf
        groups[0] = {ACCURACY: rate(values)}
        wanted = studentized_range.ppf(0.95, 3, np.inf) / np.sqrt(2)
        assert critical(Family(groups, None, 0.95, NOISE)) == pytest.approx(wanted, abs=CLOSE)


class TestNumbers:
    def test_ends_are_students_on_the_log_scale(self):
        factor = student.ppf(0.995, 9) / student.ppf(0.975, 9)
        assert stretch(0.99, 0.95, 10) == pytest.approx(factor)
        number = Number(2.0, 1.5, 3.0, 10)
        low, high = number.at(0.99, 0.95, ratio=True)
        assert np.log(2.0 / low) == pytest.approx(factor * np.log(2.0 / 1.5))
        assert np.log(high / 2.0) == pytest.approx(factor * np.log(3.0 / 2.0))
        low, high = number.at(0.99, 0.95, ratio=False)
        assert (low, high) == pytest.approx((2 - 0.5 * factor, 2 + factor))
        assert number.at(0.95, 0.95, ratio=True) == (1.5, 3.0)

    def test_few_resamples_make_noisy_ends(self):
        """The noise of a normal interval's ends, simulated; and what it takes to hold far out."""
        rng = np.random.default_rng(0)
        draws, resamples, level = 40_000, 200, 0.998
        ends = np.partition(rng.normal(size=(draws, resamples)), 4, axis=1)[:, 4]  # 2.5 % of 200
        relative = ends.std() / 1.96
        freedom = 1 / (2 * relative**2)
        wanted = student.ppf((1 + level) / 2, freedom) / norm.ppf(0.975)
        assert stretch(level, 0.95, 10**9, resamples) == pytest.approx(wanted, rel=0.01)
        far = np.abs(rng.normal(size=10 * draws))
        plain = norm.ppf((1 + level) / 2) / norm.ppf(0.975)
        scale = 1.96 * (1 + relative * rng.normal(size=10 * draws))
        missed = [np.mean(far > factor * scale) for factor in (plain, wanted)]
        # Four standard errors of a share of 0.002 in 400,000 draws are 0.0003.
        assert missed[0] > 0.0025
        assert missed[1] == pytest.approx(0.002, abs=0.0003)

    def test_shares_have_limits_of_their_own_at_every_level(self):
        one, other = share(30, 30), share(20, 40)
        number = Number(0.5, 0.3, 0.7, 30, rates=(one, other))
        limits = [share_limits(rate.replicates.share, 0.99) for rate in (one, other)]
        (a, b), (c, d) = ((float(low[0]), float(high[0])) for low, high in limits)
        wilson = binomtest(30, 30).proportion_ci(0.99, "wilson")
        assert (a, b) == pytest.approx((wilson.low, wilson.high))
        ends = 0.5 - np.hypot(1 - a, d - 0.5), 0.5 + np.hypot(b - 1, 0.5 - c)
        assert number.at(0.99, 0.95, ratio=False) == pytest.approx(ends)

    def test_means_are_stretched_beside_each_other(self):
        rng = np.random.default_rng(0)
        one, other = (rate(v + 0.05 * rng.normal(size=400), v) for v in (1.0, 0.5))
        ends = [one.interval(0.95), other.interval(0.95)]
        factor = stretch(0.99, 0.95, 100, 400)
        number = Number(0.5, 0.3, 0.7, 30, rates=(one, other))
        below = factor * np.hypot(1 - ends[0].low, ends[1].high - 0.5)
        above = factor * np.hypot(ends[0].high - 1, 0.5 - ends[1].low)
        assert number.at(0.99, 0.95, ratio=False) == pytest.approx((0.5 - below, 0.5 + above))

    def test_beside_one_that_never_varies(self):
        rng = np.random.default_rng(0)
        one, other = rate(1 + 0.05 * rng.normal(size=400), 1.0), rate(np.full(400, 0.5), 0.5)
        found = one.interval(0.95)
        number = Number(0.5, 0.3, 0.7, 30, rates=(one, other))
        factor = stretch(0.99, 0.95, 100, 400)
        wanted = 0.5 - factor * (1 - found.low), 0.5 + factor * (found.high - 1)
        assert number.at(0.99, 0.95, ratio=False) == pytest.approx(wanted)

    def test_no_interval_stays_none(self):
        assert np.isnan(Number(2.0, np.nan, np.nan, 30).at(0.99, 0.95, ratio=True)).all()
