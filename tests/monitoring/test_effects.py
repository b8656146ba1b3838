"""Effect sizes and tests against closed forms and other libraries."""

import numpy as np
import pytest
from scipy import stats

from caveat.monitoring.cells import Design, _made
from caveat.monitoring.effects import (
    Effect,
    Shares,
    bins_of,
    change_of_kinds,
    difference,
    joint,
    kolmogorov,
    standardized,
    total_variation,
)

NONE = (None, None)


def numbers(values):
    return _made(np.asarray(values, dtype=float), np.ones(len(values)), len(values))


def test_the_distance_is_that_of_kolmogorov_and_smirnov():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=80), np.round(rng.normal(0.4, size=60), 1)
    _, counts = joint(numbers(x), numbers(y))
    binned = Shares.of(counts, np.array([80.0, 60.0]), NONE)
    found = kolmogorov(counts, binned, 0.95)
    assert found.value == pytest.approx(stats.ks_2samp(x, y).statistic)
    half = stats.kstwobign.isf(0.05) * np.sqrt(1 / 80 + 1 / 60)
    assert (found.low, found.high) == pytest.approx(
        (max(found.value - half, 0), found.value + half)
    )


def test_the_test_is_pearsons():
    counts = np.array([[30.0, 40.0, 50.0], [22.0, 61.0, 37.0]])
    shares = Shares.of(counts, counts.sum(axis=1), NONE)
    assert shares.p_value() == pytest.approx(stats.chi2_contingency(counts).pvalue)
    assert Shares.of(np.ones((2, 1)), np.ones(2), NONE).p_value() == 1.0


def test_a_design_of_equal_samples_changes_nothing():
    counts = np.array([[30.0, 40.0, 50.0], [22.0, 61.0, 37.0]])
    sizes = counts.sum(axis=1)
    pooled = counts.sum(axis=0) / counts.sum()
    plain = np.diag(pooled) - np.outer(pooled, pooled)
    designs = tuple(Design(plain / n, np.inf) for n in sizes)
    wanted = Shares.of(counts, sizes, NONE)
    found = Shares.of(counts, sizes, designs)
    assert found.p_value() == pytest.approx(wanted.p_value())
    assert found.effective() == pytest.approx(1.0)
    few = Shares.of(counts, sizes, tuple(Design(plain / n, 9.0) for n in sizes))
    assert few.p_value() > found.p_value()
    assert few.effective() > 1.3
    nothing = Shares.of(counts, sizes, tuple(Design(0 * plain, np.inf) for n in sizes))
    assert nothing.p_value() == 1.0


def test_samples_that_count_twice_are_worth_half():
    counts = np.array([[30.0, 40.0, 50.0], [22.0, 61.0, 37.0]])
    sizes = counts.sum(axis=1)
    pooled = counts.sum(axis=0) / counts.sum()
    plain = np.diag(pooled) - np.outer(pooled, pooled)
    doubled = Shares.of(2 * counts, 2 * sizes, tuple(Design(plain / n, np.inf) for n in sizes))
    assert doubled.p_value() == pytest.approx(Shares.of(counts, sizes, NONE).p_value())


def test_bins_have_enough_samples_on_either_side():
    rng = np.random.default_rng(1)
    for n, m, draw in (
        (1000, 1000, rng.normal), (20, 900, rng.normal), (7, 7, rng.normal),
        (300, 200, lambda size: rng.choice([0.0, 1.0, 5.0], size, p=[0.9, 0.08, 0.02])),
    ):  # fmt: skip
        _, counts = joint(numbers(draw(size=n)), numbers(draw(size=m)))
        sizes = np.array([n, m], dtype=float)
        bins = bins_of(counts, sizes)
        assert (np.diff(bins) >= 0).all()
        expected = np.bincount(bins, counts.sum(axis=0)) / (n + m) * min(n, m)
        assert len(expected) <= 10
        assert len(expected) == 1 or expected.min() >= 5 - 1e-9


def test_the_difference_is_welchs():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=30), rng.normal(1, 3, size=20)
    found = difference(numbers(x), numbers(y), NONE, 0.95)
    wanted = stats.ttest_ind(y, x, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))
    huge = difference(numbers(x * 1e100), numbers(y * 1e100), NONE, 0.95)
    assert huge.low == pytest.approx(found.low * 1e100)
    few = difference(numbers([1.0]), numbers(y), NONE, 0.95)
    assert np.isnan(few.low)
    equal = difference(numbers([1.0, 1.0]), numbers([2.0, 2.0]), NONE, 0.95)
    assert (equal.value, equal.low, equal.high) == (1.0, 1.0, 1.0)


def test_the_standardized_difference_is_cohens():
    """Of two normal samples the variance is 1 / n + 1 / m + d^2 / 8 (1 / n + 1 / m) about."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=20_000), rng.normal(1, size=20_000)
    found = standardized(numbers(x), numbers(y), NONE, 0.95)
    scale = np.sqrt((x.var() + y.var()) / 2)
    assert found.value == pytest.approx((y.mean() - x.mean()) / scale)
    half = stats.norm.isf(0.025) * np.sqrt((1 + found.value**2 / 8) * 2 / 20_000)
    assert found.high - found.value == pytest.approx(half, rel=0.03)
    same = standardized(numbers([1.0, 1.0]), numbers([1.0]), NONE, 0.95)
    assert same == Effect(0.0) or same.value == 0.0
    assert np.isnan(standardized(numbers([1.0]), numbers([2.0]), NONE, 0.95).value)
    doubled = Design(np.array([[2 * y.var() / len(y)]]), np.inf)
    wider = standardized(numbers(x), numbers(y), (None, doubled), 0.95)
    assert wider.high - wider.value == pytest.approx(half * np.sqrt(1.5), rel=0.03)


def test_total_variation():
    counts = np.array([[50.0, 30.0, 20.0], [30.0, 30.0, 40.0]])
    shares = Shares.of(counts, np.array([100.0, 100.0]), NONE)
    found = total_variation(shares, 0.95)
    assert found.value == pytest.approx(0.2)
    assert 0 <= found.low < 0.2 < found.high
    same = total_variation(Shares.of(counts[[0, 0]], np.array([100.0, 100.0]), NONE), 0.95)
    assert (same.value, same.low) == (0.0, 0.0)
    assert same.high > 0.1
    constant = np.array([[9.0, 0.0], [9.0, 0.0]])
    few = total_variation(Shares.of(constant, np.array([9.0, 9.0]), NONE), 0.95)
    assert few.high > 0.25  # nine samples of one kind do not exclude others


def test_rare_kinds_are_joined():
    counts = np.array([[500.0, 480.0, 1.0, 2.0, 1.0], [520.0, 450.0, 2.0, 1.0, 3.0]])
    change = change_of_kinds(Shares.of(counts, counts.sum(axis=1), NONE), 0.95)
    joined = np.array([[500.0, 484.0], [520.0, 456.0]])
    wanted = stats.chi2_contingency(joined, correction=False).pvalue
    assert change.p_value == pytest.approx(wanted)
    many = np.array([[50.0, 50.0, 4.0, 4.0], [50.0, 50.0, 3.0, 9.0]])
    change = change_of_kinds(Shares.of(many, many.sum(axis=1), NONE), 0.95)
    joined = np.array([[50.0, 50.0, 8.0], [50.0, 50.0, 12.0]])
    assert change.p_value == pytest.approx(stats.chi2_contingency(joined).pvalue)
    few = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert change_of_kinds(Shares.of(few, few.sum(axis=1), NONE), 0.95).p_value == 1.0
