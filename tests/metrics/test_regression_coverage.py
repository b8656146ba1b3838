import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from caveat.exceptions import InvalidValueError, OptionError
from caveat.metrics import (
    CoverageCurve,
    central_coverage_error,
    coverage_calibration_error,
    coverage_curve,
    interval_coverage,
    maximum_coverage_error,
    quantile_coverage,
    quantile_coverage_curve,
    quantile_coverage_error,
)

HUNDREDTHS = np.arange(1, 100) / 100


def generic(samples=70_001, seed=0):
    """Skewed errors around predictions that are too sure, so the two tails differ."""
    rng = np.random.default_rng(seed)
    mean, variance = rng.normal(80, 10, samples), rng.lognormal(1, 1.5, samples)
    y = mean + np.sqrt(variance) * (rng.gamma(2.0, 1.0, samples) - 1.5)
    return y, mean, variance, rng.gamma(1.0, size=samples)


@pytest.fixture(scope="module")
def uct():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip("uncertainty_toolbox", reason="a peer, in the test extra")
    return module.metrics_calibration


def count_below(y, mean, variance, level, weight=None):
    inside = y <= stats.norm.ppf(level, mean, np.sqrt(variance))
    return np.average(inside, weights=weight)


def count_inside(y, mean, variance, level, weight=None):
    half = stats.norm.ppf((1 + level) / 2) * np.sqrt(variance)
    return interval_coverage(y, mean - half, mean + half, sample_weight=weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kind", "count"), [("one-sided", count_below), ("central", count_inside)])
def test_curve_level_by_level(kind, count, weighted):
    y, mean, variance, w = generic()
    w = w if weighted else None
    curve = coverage_curve(y, mean, variance, kind=kind, sample_weight=w)
    assert isinstance(curve, CoverageCurve)
    np.testing.assert_array_equal(curve.predicted, HUNDREDTHS)
    expected = [count(y, mean, variance, level, w) for level in HUNDREDTHS]
    np.testing.assert_allclose(curve.observed, expected, rtol=0, atol=1e-12)
    assert curve.weight == pytest.approx(len(y) if w is None else w.sum(), rel=1e-14)


def test_intervals_of_uncertainty_toolbox(uct):
    y, mean, variance, _ = generic(samples=5_000)
    expected, observed = uct.get_proportion_lists_vectorized(
        mean, np.sqrt(variance), y, 100, None, "interval"
    )
    ours = coverage_curve(y, mean, variance, levels=expected)
    np.testing.assert_allclose(ours.observed, observed, rtol=0, atol=1e-12)


def test_quantiles_of_uncertainty_toolbox_are_mirrored(uct):
    # Theirs takes prediction minus truth: the share of true values above the mirrored quantile.
    y, mean, variance, _ = generic(samples=5_000)
    expected, observed = uct.get_proportion_lists_vectorized(
        mean, np.sqrt(variance), y, 100, None, "quantile"
    )
    ours = coverage_curve(y, mean, variance, levels=expected, kind="one-sided").observed
    mirrored = coverage_curve(-y, -mean, variance, levels=expected, kind="one-sided").observed
    np.testing.assert_allclose(mirrored, observed, rtol=0, atol=1e-12)
    assert np.abs(ours - observed).max() > 0.1
    assert ours[50] == count_below(y, mean, variance, expected[50])


def test_mean_absolute_error_of_uncertainty_toolbox(uct):
    # Theirs is the mean over 100 levels from 0 to 1; ours has the area by trapezoids, times 100.
    y, mean, variance, _ = generic(samples=5_000)
    deviation, levels = np.sqrt(variance), np.linspace(0, 1, 100)
    theirs = uct.mean_absolute_calibration_error(mean, deviation, y, 100, vectorized=True)
    ours = central_coverage_error(y, mean, variance, levels=levels)
    assert ours == pytest.approx(100 * theirs * 100 / 99, rel=1e-9)


def test_numbers_from_the_curves():
    y, mean, variance, w = generic()
    below = [count_below(y, mean, variance, level, w) for level in np.arange(1, 20) / 20]
    gaps = [abs(level - count_inside(y, mean, variance, level, w)) for level in HUNDREDTHS]
    given_data = {"y_true": y, "mean": mean, "variance": variance, "sample_weight": w}
    assert coverage_calibration_error(**given_data) == pytest.approx(
        sum((p - q) ** 2 for p, q in zip(np.arange(1, 20) / 20, below, strict=True)), rel=1e-9
    )
    assert central_coverage_error(**given_data) == pytest.approx(sum(gaps), rel=1e-9)
    assert maximum_coverage_error(**given_data) == pytest.approx(max(gaps), rel=1e-9)


def test_levels_are_an_argument_in_any_order():
    y, mean, variance, _ = generic(samples=300)
    levels = [0.9, 0.1, 0.5]
    curve = coverage_curve(y, mean, variance, levels=levels)
    np.testing.assert_array_equal(curve.predicted, levels)
    expected = [count_inside(y, mean, variance, level) for level in levels]
    np.testing.assert_allclose(curve.observed, expected, atol=1e-14)
    for metric in (coverage_calibration_error, central_coverage_error, maximum_coverage_error):
        assert metric(y, mean, variance, levels=levels) == pytest.approx(
            metric(y, mean, variance, levels=sorted(levels)), rel=1e-14
        )


def test_both_ends_of_the_levels():
    y, mean, variance, _ = generic(samples=300)
    for kind in ("central", "one-sided"):
        curve = coverage_curve(y, mean, variance, levels=[0.0, 1.0], kind=kind)
        np.testing.assert_array_equal(curve.observed, [0.0, 1.0])


def test_nothing_covered_is_the_worst():
    y, mean, variance = np.full(7, 1e9), np.zeros(7), np.ones(7)
    assert central_coverage_error(y, mean, variance) == pytest.approx(49.5, rel=1e-12)
    assert maximum_coverage_error(y, mean, variance) == 0.99
    assert coverage_calibration_error(y, mean, variance) == pytest.approx(6.175, rel=1e-12)


def test_everything_covered_is_as_bad():
    y = mean = np.zeros(7)
    assert central_coverage_error(y, mean, np.ones(7)) == pytest.approx(49.5, rel=1e-12)
    assert maximum_coverage_error(y, mean, np.ones(7)) == 0.99


def test_quantiles_of_the_distribution_itself_are_calibrated():
    samples = 20_000
    y = stats.norm.ppf((np.arange(samples) + 0.5) / samples, 5, 2)
    mean, variance = np.full(samples, 5.0), np.full(samples, 4.0)
    assert maximum_coverage_error(y, mean, variance) <= 1 / samples + 1e-12
    assert coverage_calibration_error(y, mean, variance) <= 19 / samples**2 + 1e-12
    assert central_coverage_error(y, mean, variance) <= 100 / samples


def test_errors_to_one_side_are_seen_by_the_one_sided_error_alone():
    samples = 20_000
    y = np.abs(stats.norm.ppf((np.arange(samples) + 0.5) / samples))
    mean, variance = np.zeros(samples), np.ones(samples)
    assert maximum_coverage_error(y, mean, variance) <= 2 / samples
    assert coverage_calibration_error(y, mean, variance) > 1


@pytest.mark.parametrize("kind", ["central", "one-sided"])
@pytest.mark.parametrize("level", [1e-12, 1e-5, 1 - 1e-5, 1 - 1e-12])
def test_tails(kind, level):
    # Two samples just inside and just outside the quantile that many digits give.
    with mpmath.workdps(50):
        p = mpmath.mpf(level)
        if kind == "central":
            cut = mpmath.sqrt(2) * mpmath.erfinv(p)
        else:
            cut = mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)
        y = [float(cut * (1 - mpmath.mpf(10) ** -12)), float(cut * (1 + mpmath.mpf(10) ** -12))]
    observed = coverage_curve(y, [0.0] * 2, [1.0] * 2, levels=[level], kind=kind).observed
    assert observed == [0.5]


def test_a_value_at_the_level_is_inside():
    at_median = coverage_curve([0.0], [0.0], [1.0], levels=[0.5], kind="one-sided")
    assert at_median.observed == [1.0]
    assert coverage_curve([3.0], [3.0], [1.0], levels=[0.0]).observed == [1.0]


def test_a_variance_of_zero_is_the_limit_of_small_ones():
    y, mean = [0.0, 1.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0]
    for variance in (0.0, 1e-280, 1e-20):
        spread = [variance] * 4
        central = coverage_curve(y, mean, spread, levels=[0.01, 0.99])
        np.testing.assert_array_equal(central.observed, [0.25, 0.25])
        below = coverage_curve(y, mean, spread, levels=[0.49, 0.5, 0.99], kind="one-sided")
        np.testing.assert_array_equal(below.observed, [0.25, 0.5, 0.5])


def test_what_overflows_is_far_outside():
    observed = coverage_curve([1e75], [-1e75], [5e-324], levels=[0.99]).observed
    assert observed == [0.0]
    below = coverage_curve([-1e75], [0.0], [1e-320], levels=[0.01], kind="one-sided").observed
    assert below == [1.0]


def test_blocks_without_weight():
    y, mean, variance, w = generic()
    w[:40_000] = 0  # more than the first block
    for kind in ("central", "one-sided"):
        ours = coverage_curve(y, mean, variance, kind=kind, sample_weight=w)
        kept = coverage_curve(
            y[40_000:], mean[40_000:], variance[40_000:], kind=kind, sample_weight=w[40_000:]
        )
        np.testing.assert_allclose(ours.observed, kept.observed, rtol=1e-12)


def test_input():
    with pytest.raises(OptionError, match="kind must be one of 'central', 'one-sided'; got 'both'"):
        coverage_curve([0.0], [0.0], [1.0], kind="both")
    for levels in ([1.1], [-0.1], [np.nan], [[0.5]]):
        with pytest.raises(OptionError, match="levels must be one axis of numbers from 0 to 1"):
            coverage_calibration_error([0.0], [0.0], [1.0], levels=levels)
    with pytest.raises(InvalidValueError, match="variance of sample 0 is -1, below 0"):
        central_coverage_error([0.0], [0.0], [-1.0])


@given(
    st.lists(
        st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.floats(0, 9), st.integers(0, 3)),
        min_size=1,
        max_size=30,
    ).filter(lambda rows: any(row[3] for row in rows))
)
def test_curves_rise_and_stay_in_range(rows):
    y, mean, variance, times = np.array(rows).T
    for kind in ("central", "one-sided"):
        curve = coverage_curve(y, mean, variance, kind=kind, sample_weight=times)
        assert (np.diff(curve.observed) >= -1e-15).all()
        assert curve.observed[0] >= 0
        assert curve.observed[-1] <= 1 + 1e-15
    maximum = maximum_coverage_error(y, mean, variance, sample_weight=times)
    area = central_coverage_error(y, mean, variance, sample_weight=times)
    assert 0 <= area <= min(49.5, 99 * maximum) + 1e-9


class TestQuantiles:
    """Coverage at the levels that were predicted."""

    def test_level_by_level(self):
        y, mean, variance, w = generic(samples=4_000)
        levels = np.array([0.05, 0.2, 0.5, 0.7])
        values = stats.norm.ppf(levels, mean[:, None], np.sqrt(variance)[:, None])
        for weight in (None, w):
            expected = [np.average(y <= q, weights=weight) for q in values.T]
            curve = quantile_coverage_curve(y, levels, values, sample_weight=weight)
            assert isinstance(curve, CoverageCurve)
            np.testing.assert_array_equal(curve.predicted, levels)
            np.testing.assert_allclose(curve.observed, expected, atol=1e-12)
            assert curve.weight == pytest.approx(len(y) if weight is None else w.sum())
            one_sided = coverage_curve(
                y, mean, variance, levels=levels, kind="one-sided", sample_weight=weight
            )
            np.testing.assert_allclose(curve.observed, one_sided.observed, atol=1e-12)
            gaps = np.abs(levels - expected)
            found = quantile_coverage_error(y, levels, values, sample_weight=weight)
            assert found == pytest.approx(gaps.mean(), rel=1e-12)
            single = [quantile_coverage(y, q, sample_weight=weight) for q in values.T]
            np.testing.assert_allclose(single, expected, atol=1e-12)

    def test_quantiles_that_cross_are_counted_one_by_one(self):
        values = [[3.0, 1.0], [0.0, 5.0]]
        curve = quantile_coverage_curve([2.0, 2.0], [0.25, 0.75], values)
        np.testing.assert_allclose(curve.observed, [0.5, 0.5])
        assert quantile_coverage_error([2.0, 2.0], [0.25, 0.75], values) == pytest.approx(0.25)

    def test_quantiles_of_the_distribution_itself_are_calibrated(self):
        samples, levels = 20_000, np.array([0.025, 0.4, 0.975])
        y = stats.lognorm.ppf((np.arange(samples) + 0.5) / samples, 0.9)
        values = np.tile(stats.lognorm.ppf(levels, 0.9), (samples, 1))
        assert quantile_coverage_error(y, levels, values) <= 1 / samples
        moved = quantile_coverage_error(y, levels, values * np.exp(0.3))
        expected = np.abs(levels - stats.norm.cdf(stats.norm.ppf(levels) + 0.3 / 0.9)).mean()
        assert moved == pytest.approx(expected, abs=2 / samples)

    def test_input(self):
        with pytest.raises(OptionError, match="levels must increase and not repeat"):
            quantile_coverage_error([0.0], [0.5, 0.5], [[0.0, 0.0]])
        with pytest.raises(InvalidValueError, match="values of sample 0, level 1 is nan"):
            quantile_coverage_error([0.0], [0.1, 0.5], [[0.0, np.nan]])
