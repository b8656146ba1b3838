"""Risk against coverage, and rank correlation."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import spearmanr

from caveat.exceptions import InvalidValueError, ShapeError
from caveat.metrics import (
    area_under_risk_coverage_error,
    error_uncertainty_correlation,
    excess_area_under_risk_coverage_error,
    risk_coverage_curve,
)

METRICS = [
    area_under_risk_coverage_error,
    excess_area_under_risk_coverage_error,
    error_uncertainty_correlation,
]


def sample(size=1000, seed=0, decimals=None):
    rng = np.random.default_rng(seed)
    uncertainty = rng.gamma(2.0, size=size)
    error = np.abs(rng.normal(size=size) * uncertainty)
    if decimals is not None:
        error, uncertainty = np.round(error, decimals), np.round(uncertainty, decimals)
    return error, uncertainty


def running_means(error, order):
    """The definition, term by term."""
    return np.mean([np.mean([error[i] for i in order[:k]]) for k in range(1, len(order) + 1)])


def orders(key):
    groups = [np.flatnonzero(key == value) for value in np.unique(key)]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [row for part in parts for row in part]


def test_area_is_the_mean_of_running_means():
    error, uncertainty = sample(300)
    area = running_means(error, np.argsort(uncertainty))
    best = running_means(error, np.argsort(error))
    assert_allclose(area_under_risk_coverage_error(error, uncertainty), area, rtol=1e-12)
    assert_allclose(
        excess_area_under_risk_coverage_error(error, uncertainty), area - best, rtol=1e-9
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=6))
def test_ties_are_the_mean_over_every_order(rows):
    error, uncertainty = np.array(rows, dtype=float).T
    expected = np.mean([running_means(error, order) for order in orders(uncertainty)])
    assert_allclose(
        area_under_risk_coverage_error(error, uncertainty), expected, rtol=1e-9, atol=1e-12
    )


def test_trapezoidal_areas_differ_by_half_of_two_terms():
    # torch-uncertainty's AURC: the trapezoidal rule from coverage 1/n to 1, divided by 1 - 1/n.
    rng = np.random.default_rng(4)
    n = 200
    uncertainty, wrong = rng.random(n), rng.random(n) < 0.3
    risk = np.cumsum(wrong[np.argsort(uncertainty)]) / np.arange(1, n + 1)
    peer = np.trapezoid(risk, np.arange(1, n + 1) / n) / (1 - 1 / n)
    ours = area_under_risk_coverage_error(wrong, uncertainty)
    assert_allclose((n * ours - (risk[0] + risk[-1]) / 2) / (n - 1), peer, rtol=1e-9)


def test_best_area_of_an_error_rate_tends_to_the_papers_formula():
    # The paper's integral against our sum over 1/n: they differ by less than one step of the risk.
    n, rate = 10_000, 0.2
    wrong = np.arange(n) >= (1 - rate) * n
    best = area_under_risk_coverage_error(wrong, wrong)
    assert abs(best - (rate + (1 - rate) * math.log(1 - rate))) < rate / n
    assert excess_area_under_risk_coverage_error(wrong, wrong) == 0


def test_curve_has_a_point_for_each_distinct_uncertainty():
    error, uncertainty = sample(500, decimals=1)
    curve = risk_coverage_curve(error, uncertainty)
    assert_allclose(curve.threshold, np.unique(uncertainty))
    for coverage, risk, threshold in zip(curve.coverage, curve.risk, curve.threshold, strict=True):
        assert coverage == pytest.approx(np.mean(uncertainty <= threshold), rel=1e-12)
        assert risk == pytest.approx(error[uncertainty <= threshold].mean(), rel=1e-12)


def test_curve_with_weights():
    error, uncertainty = sample(200, decimals=1)
    weight = np.random.default_rng(5).integers(0, 4, 200)
    weighted = risk_coverage_curve(error, uncertainty, sample_weight=weight)
    repeated = risk_coverage_curve(np.repeat(error, weight), np.repeat(uncertainty, weight))
    assert_allclose(weighted.coverage, repeated.coverage, rtol=1e-12)
    assert_allclose(weighted.risk, repeated.risk, rtol=1e-12)
    assert_allclose(weighted.threshold, repeated.threshold)


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("metric", METRICS)
def test_weight_is_repetition(metric, decimals):
    error, uncertainty = sample(400, decimals=decimals)
    weight = np.random.default_rng(6).integers(0, 5, 400)
    weighted = metric(error, uncertainty, sample_weight=weight)
    repeated = metric(np.repeat(error, weight), np.repeat(uncertainty, weight))
    assert_allclose(weighted, repeated, rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_weights_of_one_change_nothing(metric):
    error, uncertainty = sample(5000, decimals=2)
    ones = np.ones(5000)
    assert_allclose(
        metric(error, uncertainty, sample_weight=ones), metric(error, uncertainty), rtol=1e-12
    )


def test_fractions_of_a_sample_go_through_harmonic_numbers():
    error, uncertainty = sample(20)
    weight = np.random.default_rng(7).gamma(3.0, size=20)
    order = np.argsort(uncertainty)
    mass = loss = area = mpmath.mpf(0)
    for i in order:
        end = mass + weight[i]
        # On this sample G(k) = loss + error (k - mass); sum of G(k) / k over k in (mass, end].
        step = mpmath.harmonic(end) - mpmath.harmonic(mass)
        area += error[i] * (end - mass) + (loss - error[i] * mass) * step
        loss += error[i] * weight[i]
        mass = end
    value = area_under_risk_coverage_error(error, uncertainty, sample_weight=weight)
    assert_allclose(value, float(area / mass), rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("size", [300, 10_000])
def test_only_the_order_counts(metric, size):
    error, uncertainty = sample(size, decimals=2)
    value = metric(error, uncertainty)
    rows = np.random.default_rng(8).permutation(size)
    assert_allclose(metric(error[rows], uncertainty[rows]), value, rtol=1e-12)
    assert_allclose(metric(error, np.expm1(uncertainty)), value, rtol=1e-12)


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("size", [50, 10_000])
def test_correlation_is_scipys(size, decimals):
    error, uncertainty = sample(size, decimals=decimals)
    expected = spearmanr(error, uncertainty).statistic
    assert_allclose(error_uncertainty_correlation(error, uncertainty), expected, rtol=1e-9)


def test_correlation_does_not_depend_on_the_unit_of_weights():
    error, uncertainty = sample(100)
    weight = np.random.default_rng(9).random(100)
    assert_allclose(
        error_uncertainty_correlation(error, uncertainty, sample_weight=weight),
        error_uncertainty_correlation(error, uncertainty, sample_weight=7 * weight),
        rtol=1e-12,
    )


def test_same_and_opposite_order():
    error, _ = sample(1000)
    assert error_uncertainty_correlation(error, error**2) == pytest.approx(1, abs=1e-15)
    assert error_uncertainty_correlation(error, -error) == pytest.approx(-1, abs=1e-15)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_values_stay_in_their_range(rows):
    error, uncertainty = np.array(rows, dtype=float).T / 7
    assert 0 <= area_under_risk_coverage_error(error, uncertainty) <= error.max() * (1 + 1e-12)
    assert excess_area_under_risk_coverage_error(error, uncertainty) >= 0
    correlation = error_uncertainty_correlation(error, uncertainty)
    constant = len(set(error)) == 1 or len(set(uncertainty)) == 1
    assert math.isnan(correlation) if constant else -1 <= correlation <= 1


def test_constant_uncertainty_and_one_sample():
    error, _ = sample(1000)
    constant = np.full(1000, 0.3)
    assert_allclose(area_under_risk_coverage_error(error, constant), error.mean(), rtol=1e-12)
    assert math.isnan(error_uncertainty_correlation(error, constant))
    assert math.isnan(error_uncertainty_correlation(constant, error))
    assert area_under_risk_coverage_error([0.7], [3.0]) == 0.7
    assert area_under_risk_coverage_error([0.7], [3.0], sample_weight=[2.0]) == pytest.approx(0.7)
    assert excess_area_under_risk_coverage_error([0.7], [3.0]) == 0
    assert math.isnan(error_uncertainty_correlation([0.7], [3.0]))


def test_samples_of_weight_zero_are_as_good_as_absent():
    weight = [1.0, 1.0, 0.0]
    assert area_under_risk_coverage_error([1, 0, 9], [1, 2, 0], sample_weight=weight) == (
        pytest.approx(0.75)
    )
    # What is left is constant.
    assert math.isnan(error_uncertainty_correlation([1, 1, 2], [1, 2, 3], sample_weight=weight))


@pytest.mark.parametrize("metric", [*METRICS, risk_coverage_curve])
def test_bad_input_is_refused_in_words(metric):
    with pytest.raises(InvalidValueError, match="error of sample 0 is -1, below 0"):
        metric([-1, 2], [1, 2])
    with pytest.raises(InvalidValueError, match="uncertainty of sample 1 is nan"):
        metric([1, 2], [1, np.nan])
    with pytest.raises(ShapeError, match="uncertainty has 1 samples, error has 2"):
        metric([1, 2], [1])
    with pytest.raises(InvalidValueError, match="sample_weight is 0 for every sample"):
        metric([1, 2], [1, 2], sample_weight=[0, 0])
