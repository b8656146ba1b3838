"""Intervals of replicates whose distribution is known."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm, t

from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.metrics import METRICS
from caveat.metrics.entry import Metric
from caveat.resampling import (
    Prepared,
    Replicates,
    confidence_interval,
    equal_errors,
    interval_of,
    make_plan,
    pair_interval,
    replicates,
)
from caveat.resampling.inversion import invert
from caveat.resampling.pairs import widening
from tests.contracts.metric_cases import make

NORMAL = norm.ppf((np.arange(100_000) + 0.5) / 100_000)


def absolute(gaps):
    return np.abs(gaps).sum(axis=-1)


def test_normal_replicates_give_the_normal_interval():
    interval = interval_of(3.0, 3 + 2 * NORMAL, 0.9)
    assert interval.low == pytest.approx(3 - 2 * norm.ppf(0.95), abs=1e-3)
    assert interval.high == pytest.approx(3 + 2 * norm.ppf(0.95), abs=1e-3)
    assert (interval.method, interval.estimate) == ("bias-corrected percentile", None)


def test_few_units_widen_it_as_students_t_does():
    interval = interval_of(0.0, Replicates(NORMAL, 0.0, units=10))
    half = t.ppf(0.975, 9) * np.sqrt(10 / 9)
    assert interval.high == pytest.approx(half, abs=2e-3)
    stratified = interval_of(0.0, Replicates(NORMAL, 0.0, units=10, strata=3))
    assert stratified.high == pytest.approx(t.ppf(0.975, 7) * np.sqrt(10 / 7), abs=4e-3)
    assert np.isfinite(interval_of(0.0, Replicates(NORMAL, 0.0, units=1)).high)


def test_median_bias_is_removed():
    # The replicates of X**3 are those of X transformed: so is the interval.
    plain = interval_of(0.5, Replicates(0.5 + NORMAL, 0.5))
    cubed = interval_of(0.125, Replicates((0.5 + NORMAL) ** 3, 0.125))
    assert cubed.low == pytest.approx(plain.low**3, rel=1e-9)
    assert cubed.high == pytest.approx(plain.high**3, rel=1e-9)
    # Replicates that lie too high by half a standard deviation, as the value then does.
    shifted = interval_of(0.0, NORMAL + 0.5)
    assert shifted.low == pytest.approx(-0.5 - norm.ppf(0.975), abs=2e-3)


def test_approximation_does_not_shift_the_interval():
    centered = interval_of(1.0, Replicates(1 + NORMAL, 1.0))
    off = interval_of(1.0, Replicates(1.01 + NORMAL, 1.01))
    assert off.low == pytest.approx(centered.low, abs=1e-9)


def test_range_clips():
    interval = interval_of(0.9, 0.9 + 0.2 * NORMAL, range=(0.0, 1.0))
    assert interval.high == 1.0
    assert interval.low == pytest.approx(0.9 - 0.2 * norm.ppf(0.975), abs=1e-3)


def test_constant_replicates():
    interval = interval_of(0.1, np.full(100, 0.1 * (1 + 1e-16)))
    assert (interval.low, interval.high, interval.method) == (0.1, 0.1, "constant")


def test_undefined_replicates_are_left_out():
    values = np.r_[NORMAL, np.full(1000, np.nan)]
    assert interval_of(0.0, values) == interval_of(0.0, NORMAL)
    mostly = np.where(np.arange(100) < 60, np.nan, 1.0)
    assert interval_of(1.0, mostly).method == "undefined"
    assert np.isnan(interval_of(np.nan, NORMAL).low)
    assert interval_of(np.inf, NORMAL).method == "undefined"


def test_infinite_replicates_are_not_averaged():
    values = np.where(np.arange(1000) < 100, np.inf, np.linspace(0, 1, 1000))
    interval = interval_of(0.5, values)
    assert interval.high == np.inf
    assert np.isfinite(interval.low)


def test_bad_arguments():
    with pytest.raises(ShapeError, match=r"replicates must be one value for each resample; got"):
        interval_of(0.0, np.zeros((2, 3)))
    with pytest.raises(OptionError, match="confidence must be a number strictly between 0 and 1"):
        interval_of(0.0, NORMAL, 95)


def test_pairs():
    a, b = Replicates(np.array([1.0, 2.0, 0.0]), 1.5, 10), Replicates(np.zeros(3) + 0.5, 0.5, 8, 2)
    gap, ratio = a - b, a / b
    np.testing.assert_array_equal(np.asarray(gap), [0.5, 1.5, -0.5])
    assert (gap.center, gap.units, gap.strata, ratio.center) == (1.0, 8, 2, 3.0)
    np.testing.assert_array_equal(ratio.values, [2.0, 4.0, 0.0])
    assert len(gap) == 3
    zero = Replicates(np.zeros(3), 0.0)
    assert np.isnan((zero / zero).center)
    with pytest.raises(ShapeError, match="replicates of 3 and 2 resamples are not paired"):
        a - Replicates(np.zeros(2), 0.0)


def test_one_gap_is_inverted_as_a_folded_normal():
    deviations = NORMAL[:, None]
    for observed in (0.5, 1.5, 4.0):
        low, middle, high = invert(np.array([observed]), deviations, absolute, 0.95)

        def below(length, observed=observed):
            return norm.cdf(observed - length) - norm.cdf(-observed - length)

        # The chance relative to that of noise alone: an interval, however small the gap.
        assert below(high) / below(0) == pytest.approx(0.025, abs=2e-3)
        if low > 0:
            assert below(low) == pytest.approx(0.975, abs=1e-3)
        else:
            assert below(0) < 0.975
        if middle > 0:
            assert below(middle) == pytest.approx(0.5, abs=1e-3)


def test_an_error_that_is_small_even_for_noise_leaves_an_interval():
    deviations = np.random.default_rng(0).normal(size=(500, 40))
    gaps = np.full(40, 0.01)
    low, middle, high = invert(gaps, deviations, absolute, 0.95)
    assert (low, middle) == (0.0, 0.0)
    assert high == pytest.approx(float(absolute(gaps)))


def test_an_interval_holds_its_value():
    shifted = np.random.default_rng(0).normal(size=1000) * 0.01 + 5
    interval = interval_of(0.0, shifted)
    assert interval.low == 0.0
    assert interval.high > 4.9


def test_gaps_of_zero_and_gaps_without_noise():
    deviations = np.random.default_rng(0).normal(size=(500, 3))
    low, middle, high = invert(np.zeros(3), deviations, absolute, 0.95)
    assert (low, middle) == (0.0, 0.0)
    assert high > 0
    ends = invert(np.array([0.3, -0.2]), np.zeros((100, 2)), absolute, 0.95)
    np.testing.assert_allclose(ends, 0.5, rtol=1e-3)


def test_a_bin_without_noise_stays_where_it_is():
    deviations = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 0.0, 0.0]
    low, _, high = invert(np.array([0.1, 8.0, 0.0]), deviations, absolute, 0.95)
    assert 5 < low < 8.1 < high < 12


def test_binned_errors_are_inverted():
    rng = np.random.default_rng(0)
    p = rng.random(1000)
    plan = make_plan(1000, resamples=300, random_state=0)
    for shift, begins in ((0.0, True), (0.15, False)):
        y = (rng.random(1000) < np.clip(p - shift, 0, 1)).astype(int)
        metric = METRICS["positive_ece"]
        found = replicates(metric, y, {"probabilities": p}, plan)
        interval = confidence_interval(metric, found.center, found)
        assert interval.method == "test inversion"
        assert (interval.low == 0) == begins
        assert interval.low <= interval.estimate <= interval.high
        plain = confidence_interval(metric, found.center, found.values)
        assert plain.method == "bias-corrected percentile"
    assert confidence_interval(metric, np.nan, found).method == "undefined"
    absent = dataclasses.replace(found, deviations=np.full_like(found.deviations, np.nan))
    assert confidence_interval(metric, 0.1, absent).method == "undefined"


def test_a_metric_of_ones_own_is_called_for_each_resample():
    def median_error(y_true, mean, *, scale=1.0, sample_weight=None):
        """No sums give a weighted median."""
        order = np.argsort(np.abs(y_true - mean))
        running = np.cumsum(sample_weight[order])
        return scale * np.abs(y_true - mean)[order][np.searchsorted(running, running[-1] / 2)]

    known = METRICS["mae"]
    metric = Metric(
        **{
            **{field.name: getattr(known, field.name) for field in dataclasses.fields(Metric)},
            "name": "median_error",
            "function": median_error,
            "sums": None,
        }
    )
    rng = np.random.default_rng(0)
    y, mean, weight = rng.normal(size=20), np.zeros(20), rng.gamma(1.0, size=20)
    plan = make_plan(20, resamples=10, random_state=0)
    found = replicates(
        metric, y, {"mean": mean}, plan, options={"scale": 2.0}, sample_weight=weight
    )
    halves = plan.halves()
    assert (halves.sum(axis=1) == 10).all()
    wanted = [median_error(y, mean, scale=2.0, sample_weight=weight * half) for half in halves]
    np.testing.assert_array_equal(found.values, wanted)
    assert found.half == 0.5
    one = replicates(metric, y, {"mean": mean}, plan, rows=[4])
    np.testing.assert_array_equal(np.isnan(one.values), ~halves[:, 4])
    assert one.units == 1


def test_units_are_those_that_count():
    plan = make_plan(6, resamples=2, cluster=[0, 0, 1, 1, 2, 2], random_state=0)
    weight = [1, 0, 0, 0, 2, 1]
    assert Prepared(np.zeros(6), {}, plan, sample_weight=weight).counted_units == 2
    assert Prepared(np.zeros(6), {}, plan, rows=[0, 1]).counted_units == 1


def test_what_does_not_fit_is_refused():
    plan = make_plan(4, resamples=2, random_state=0)
    with pytest.raises(ShapeError, match="truth has 3 samples, plan has 4"):
        Prepared(np.zeros(3), {}, plan)
    with pytest.raises(ShapeError, match="rows must be one bool for each of 4 samples"):
        Prepared(np.zeros(4), {}, plan, rows=[True, False])
    with pytest.raises(ShapeError, match="rows is empty: a group needs a sample at least"):
        Prepared(np.zeros(4), {}, plan, rows=np.zeros(4, dtype=bool))
    with pytest.raises(ShapeError, match="replicates needs truth, inputs and plan, or prepared"):
        replicates(METRICS["mae"], np.zeros(4))
    with pytest.raises(InvalidValueError, match="sample_weight"):
        Prepared(np.zeros(4), {}, plan, sample_weight=[-1, 1, 1, 1])


@pytest.mark.parametrize("name", list(METRICS))
def test_every_metric_has_an_interval(name):
    case = make(name, 120)
    plan = make_plan(120, resamples=60, random_state=0)
    found = replicates(case.metric, case.truth, case.inputs, plan, options=case.options)
    interval = confidence_interval(case.metric, case.value(), found)
    low, high = case.metric.range
    if name == "error_drop_score":  # its last point holds two samples
        assert interval.method == "undefined"
        return
    assert low <= interval.low <= interval.high <= high
    if interval.estimate is None:
        assert interval.low <= case.value() <= interval.high
    else:
        assert interval.method == "test inversion"


def two(name, rows, resamples=200):
    rng = np.random.default_rng(0)
    p = rng.random(600)
    y = (rng.random(600) < np.clip(p + 0.2, 0, 1)).astype(int)
    plan = make_plan(600, resamples=resamples, random_state=0)
    metric = METRICS[name]
    found = tuple(replicates(metric, y, {"probabilities": p}, plan, rows=r) for r in (rows, ~rows))
    return metric, (found[0].center, found[1].center), found


@pytest.mark.parametrize("name", ["brier", "accuracy", "auc", "positive_ece"])
def test_pairs_combine_their_intervals(name):
    metric, values, (a, b) = two(name, np.arange(600) < 200)
    one, other = (confidence_interval(metric, v, r) for v, r in zip(values, (a, b), strict=True))
    first, second = (
        value if interval.estimate is None else interval.estimate
        for value, interval in zip(values, (one, other), strict=True)
    )
    gap = pair_interval(metric, values, (a, b))
    below = np.hypot(first - one.low, other.high - second)
    above = np.hypot(one.high - first, second - other.low)
    assert (gap.low, gap.high) == pytest.approx((first - second - below, first - second + above))
    assert (gap.estimate is None) == (one.estimate is None)
    wider = pair_interval(metric, values, (a, b), among=15)
    factor = norm.isf(0.025 / 15) / norm.isf(0.025)
    assert wider.low == pytest.approx(first - second - factor * below)
    ratio = pair_interval(metric, values, (a, b), kind="ratio")
    below = np.hypot(np.log(first / one.low), np.log(other.high / second))
    assert ratio.low == pytest.approx(first / second * np.exp(-below))


def test_ratios_of_what_may_be_zero_or_negative():
    metric, values, (a, b) = two("positive_ece", np.arange(600) < 200)
    zero = dataclasses.replace(
        b, gaps=np.zeros_like(b.gaps), deviations=np.zeros_like(b.deviations), center=0.0
    )
    nothing = pair_interval(metric, (values[0], 0.0), (a, zero), kind="ratio")
    assert (nothing.method, nothing.estimate) == ("undefined", None)
    positive, negative = Replicates(1 + 0.1 * NORMAL, 1.0), Replicates(NORMAL - 1, -1.0)
    own = dataclasses.replace(METRICS["auc"], range=(-np.inf, np.inf))
    assert pair_interval(own, (1.0, -1.0), (positive, negative), kind="ratio").method == "undefined"
    unsure = Replicates(0.1 + NORMAL, 0.1)
    open_end = pair_interval(own, (1.0, 0.1), (positive, unsure), kind="ratio")
    assert open_end.high == np.inf
    assert 0 < open_end.low < 10
    assert pair_interval(metric, (np.nan, values[1]), (a, b)).method == "undefined"
    with pytest.raises(OptionError, match="kind must be one of 'gap', 'ratio'; got 'odds'"):
        pair_interval(metric, values, (a, b), kind="odds")
    with pytest.raises(OptionError, match="among must be a whole number of at least 1; got 0"):
        pair_interval(metric, values, (a, b), among=0)


def test_gaps_with_next_to_no_noise_do_not_overflow():
    """Warnings are errors: the square of a gap over its noise must not be formed."""
    deviations = np.random.default_rng(0).normal(size=(500, 3)) * [1e-158, 1e-3, 1e-3]
    low, _, high = invert(np.array([0.1, 0.2, 0.0]), deviations, absolute, 0.95)
    assert low < 0.3 < high


def binned(gaps, noise):
    """Replicates of a sum of absolute gaps with normal noise; all units know each other."""
    gaps = np.asarray(gaps, dtype=float)
    deviations = noise * NORMAL[:, None] * np.ones(len(gaps))
    values = absolute(gaps + deviations)
    return Replicates(values, float(absolute(gaps)), 0, 1, gaps, deviations, absolute)


def test_equal_errors_by_hand():
    # With one gap each and the same noise d, |c + d| - |c + d| is 0 for all c: any difference of
    # the errors is rejected. With opposite signs it is |c + d| - |c - d|: at most 2 c, up to 2 d.
    same, opposite = binned([0.2], 0.1), binned([-0.3], 0.1)
    assert equal_errors([same], [same])
    assert not equal_errors([same], [binned([0.3], 0.1)])
    assert equal_errors([same], [opposite])
    assert not equal_errors([same], [binned([-0.7], 0.1)])  # 0.5 is more than 2 * 1.96 * 0.1
    assert equal_errors([binned([0.0], 0.0)], [binned([0.0], 0.0)])
    undefined = dataclasses.replace(same, deviations=np.full_like(same.deviations, np.nan))
    assert equal_errors([undefined], [opposite])
    # A mean of two errors, one of them as before and one without noise.
    certain = binned([0.2], 0.0)
    assert equal_errors([same, certain], [same, certain])
    assert not equal_errors([same, certain], [same, binned([0.5], 0.0)])
    with pytest.raises(OptionError, match="compares binned errors"):
        equal_errors([Replicates(np.zeros(3), 0.0)], [same])


def test_widening_of_next_to_no_confidence():
    assert widening(0.95, 1) == 1
    assert widening(0.95, 10) == pytest.approx(norm.isf(0.0025) / norm.isf(0.025))
    assert widening(5e-324, 1) == 0


def test_one_unit_says_nothing():
    interval = interval_of(0.5, Replicates(np.full(100, 0.5), 0.5, units=1))
    assert np.isnan([interval.low, interval.high]).all()
    assert interval_of(0.5, Replicates(np.full(100, 0.5), 0.5, units=9)).high == 0.5
