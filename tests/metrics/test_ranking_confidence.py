"""Confidence curves: the paper's definition in loops, every order of ties, closed forms."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.metrics import (
    confidence_curve,
    confidence_oracle_area_error,
    confidence_oracle_curve,
    decrease_ratio_score,
    error_drop_score,
    oracle_curve,
)

METRICS = [confidence_oracle_area_error, error_drop_score, decrease_ratio_score]


def sample(size=1000, seed=0):
    """Errors whose spread the uncertainty knows in part."""
    rng = np.random.default_rng(seed)
    uncertainty = rng.gamma(2.0, size=size)
    return np.abs(rng.normal(size=size) * uncertainty), uncertainty


def orders(key):
    """Yield every order of the rows in which the keys increase."""
    groups = [np.flatnonzero(key == value) for value in np.unique(key)]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [row for part in parts for row in part]


def kept_mean(ordered, kept):
    """Mean of the first ``kept`` entries, the last of them in part where ``kept`` is no integer."""
    whole = math.floor(kept + 1e-9)
    total = sum(ordered[:whole])
    if kept - whole > 1e-9:
        total += (kept - whole) * ordered[whole]
    return total / kept


def literal_curve(error, key, points):
    """The mean over every order of ties of the error of those kept, point by point."""
    n = len(error)
    curves = [
        [kept_mean(error[order], n * (points - j) / points) for j in range(points)]
        for order in orders(key)
    ]
    return np.mean(curves, axis=0)


def test_curve_is_the_papers_on_percents_of_the_samples():
    error, uncertainty = sample(700)
    by_confidence = error[np.argsort(uncertainty)]
    expected = [by_confidence[: 700 - 7 * j].mean() for j in range(100)]
    oracle = [np.sort(error)[: 700 - 7 * j].mean() for j in range(100)]
    curve = confidence_curve(error, uncertainty)
    assert_allclose(curve.removed, [j / 100 for j in range(100)], rtol=1e-15)
    assert_allclose(curve.error, expected, rtol=1e-12)
    assert_allclose(curve.oracle, oracle, rtol=1e-12)
    assert_allclose(curve.random, error.mean(), rtol=1e-12)
    assert_array_equal(oracle_curve(error).error, curve.oracle)
    assert_array_equal(oracle_curve(error).removed, curve.removed)
    difference = np.subtract(expected, oracle)
    assert_allclose(
        confidence_oracle_curve(error, uncertainty).error, difference, rtol=1e-9, atol=1e-12
    )
    assert_allclose(confidence_oracle_area_error(error, uncertainty), difference.sum(), rtol=1e-9)
    assert_allclose(error_drop_score(error, uncertainty), expected[0] / expected[-1], rtol=1e-12)
    falls = sum(expected[j] >= expected[j + 1] for j in range(99))
    assert decrease_ratio_score(error, uncertainty) == falls / 99


def test_curve_is_the_papers_on_many_samples():
    # Beyond the size up to which everything is sorted.
    error, uncertainty = sample(20_000)
    by_confidence = np.cumsum(error[np.argsort(uncertainty)])
    expected = [by_confidence[200 * (100 - j) - 1] / (200 * (100 - j)) for j in range(100)]
    assert_allclose(confidence_curve(error, uncertainty).error, expected, rtol=1e-11)


def test_root_mean_square_is_the_root_of_the_curve_of_squares():
    error, uncertainty = sample(500)
    of_roots = confidence_curve(error, uncertainty, aggregate="root_mean_square")
    of_squares = confidence_curve(error**2, uncertainty)
    assert_allclose(of_roots.error, np.sqrt(of_squares.error), rtol=1e-12)
    assert_allclose(of_roots.oracle, np.sqrt(of_squares.oracle), rtol=1e-12)
    assert_allclose(of_roots.random, np.sqrt(np.mean(error**2)), rtol=1e-12)
    assert_array_equal(oracle_curve(error, aggregate="root_mean_square").error, of_roots.oracle)
    assert_allclose(
        error_drop_score(error, uncertainty, aggregate="root_mean_square"),
        math.sqrt(error_drop_score(error**2, uncertainty)),
        rtol=1e-12,
    )


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=5),
    st.integers(2, 7),
)
def test_ties_are_the_mean_over_every_order(rows, points):
    error, uncertainty = np.array(rows, dtype=float).T
    curve = confidence_curve(error, uncertainty, points=points)
    expected = literal_curve(error, uncertainty, points)
    oracle = literal_curve(error, error, points)
    assert_allclose(curve.error, expected, rtol=1e-9, atol=1e-12)
    assert_allclose(curve.oracle, oracle, rtol=1e-9, atol=1e-12)
    assert_allclose(
        confidence_oracle_area_error(error, uncertainty, points=points),
        np.sum(expected - oracle),
        rtol=1e-9,
        atol=1e-12,
    )


def peer_ause(error, uncertainty):
    """torch-uncertainty's AUSE, read off its release 0.13.

    It differs by definition: a point after each single sample instead of 100, each curve divided
    by the error of all, the trapezoidal rule over the share removed instead of a sum; and ties stay
    in the order in which an argsort leaves them.
    """

    def rates(key):
        ordered = error[np.argsort(key, kind="stable")]
        return np.cumsum(ordered)[::-1] / np.arange(len(error), 0, -1) / error.mean()

    removed = np.arange(len(error)) / len(error)
    return np.trapezoid(rates(uncertainty) - rates(error), removed)


def test_without_ties_the_peers_area_follows_from_the_curve():
    error, uncertainty = sample(60)
    curve = confidence_oracle_curve(error, uncertainty, points=60)
    area = np.trapezoid(curve.error, curve.removed) / error.mean()
    assert_allclose(area, peer_ause(error, uncertainty), rtol=1e-9)


def test_tied_rows_in_another_order_change_the_peers_area_and_not_ours():
    error = np.arange(1.0, 11.0)
    uncertainty = np.repeat([1.0, 2.0], 5)
    assert peer_ause(error, uncertainty) != pytest.approx(
        peer_ause(error[::-1], uncertainty[::-1]), rel=0.1
    )
    for metric in METRICS:
        assert_allclose(
            metric(error, uncertainty), metric(error[::-1], uncertainty[::-1]), rtol=1e-12
        )


def test_closed_form_of_the_worst_order():
    # The k smallest of 1..100 average (k + 1) / 2, the k largest 100 - (k - 1) / 2.
    error = np.arange(1.0, 101.0)
    assert_allclose(confidence_oracle_area_error(error, -error), sum(range(100)), rtol=1e-12)
    assert_allclose(error_drop_score(error, error), 50.5, rtol=1e-12)
    assert_allclose(error_drop_score(error, -error), 0.505, rtol=1e-12)
    assert decrease_ratio_score(error, error) == 1
    assert decrease_ratio_score(error, -error) == 0


@pytest.mark.parametrize("size", [300, 20_000])
@pytest.mark.parametrize("metric", METRICS)
def test_only_the_order_counts(metric, size):
    error, uncertainty = sample(size)
    value = metric(error, uncertainty)
    assert_allclose(metric(error, np.log(uncertainty)), value, rtol=1e-9)
    rows = np.random.default_rng(1).permutation(size)
    assert_allclose(metric(error[rows], uncertainty[rows]), value, rtol=1e-9)


@pytest.mark.parametrize("size", [40, 6000])
@pytest.mark.parametrize("metric", METRICS)
def test_weight_is_repetition(metric, size):
    rng = np.random.default_rng(2)
    error, uncertainty = sample(size)
    uncertainty = np.round(uncertainty, 1)
    weight = rng.integers(0, 4, size)
    weighted = metric(error, uncertainty, sample_weight=weight)
    repeated = metric(np.repeat(error, weight), np.repeat(uncertainty, weight))
    assert_allclose(weighted, repeated, rtol=1e-12)


def test_oracle_is_weighted_too():
    error, _ = sample(50)
    weight = np.random.default_rng(3).integers(0, 4, 50)
    assert_allclose(
        oracle_curve(error, sample_weight=weight).error,
        oracle_curve(np.repeat(error, weight)).error,
        rtol=1e-12,
    )


def test_perfect_order_has_no_area():
    error, _ = sample(1000)
    assert confidence_oracle_area_error(error, error) == 0
    assert_allclose(confidence_oracle_area_error(error, 3 * error + 1), 0, atol=1e-10)
    assert (confidence_oracle_curve(error, 3 * error + 1).error >= 0).all()


@pytest.mark.parametrize("size", [7, 1000, 20_000])
def test_constant_uncertainty_has_a_flat_curve(size):
    error, _ = sample(size)
    constant = np.full(size, 0.1)
    curve = confidence_curve(error, constant)
    assert_allclose(curve.error, curve.random, rtol=1e-12)
    assert decrease_ratio_score(error, constant) == 1
    assert_allclose(error_drop_score(error, constant), 1, rtol=1e-12)


def test_one_sample():
    assert confidence_oracle_area_error([0.7], [2.0]) == 0
    assert error_drop_score([0.7], [2.0]) == pytest.approx(1)
    assert decrease_ratio_score([0.7], [2.0]) == 1


def test_no_error_at_the_end_or_at_all():
    right = np.zeros(300)
    some = np.arange(300) >= 200
    assert error_drop_score(some, np.arange(300)) == math.inf
    assert math.isnan(error_drop_score(right, np.arange(300)))
    assert confidence_oracle_area_error(right, np.arange(300)) == 0
    assert decrease_ratio_score(right, np.arange(300)) == 1


BAD = [
    (([0.1, -0.2], [1, 2]), {}, InvalidValueError, r"error of sample 1 is -0.2, below 0; pass abs"),
    (([0.1, np.nan], [1, 2]), {}, InvalidValueError, "error of sample 1 is nan"),
    (([0.1, 0.2], [np.inf, 2]), {}, InvalidValueError, "uncertainty of sample 0 is inf"),
    (([0.1, 0.2], [1, 2, 3]), {}, ShapeError, "uncertainty has 3 samples, error has 2"),
    (([], []), {}, ShapeError, "error is empty"),
    (([[0.1, 0.2]], [1]), {}, ShapeError, "error must be one number for each sample"),
    (([0.1], [1]), {"points": 1}, OptionError, "points must be a whole number of at least 2"),
    (([0.1], [1]), {"aggregate": "max"}, OptionError, "aggregate must be one of 'mean', 'root"),
    (
        ([0.1, 0.2], [1, 2]),
        {"sample_weight": [1]},
        ShapeError,
        "sample_weight has 1 samples, error has 2",
    ),
    (
        ([0.1, 0.2], [1, 2]),
        {"sample_weight": [1, -1]},
        InvalidValueError,
        "sample_weight of sample 1 is -1, below 0",
    ),
]


@pytest.mark.parametrize(("arguments", "options", "error", "text"), BAD)
@pytest.mark.parametrize("metric", [*METRICS, confidence_curve, confidence_oracle_curve])
def test_bad_input_is_refused_in_words(metric, arguments, options, error, text):
    with pytest.raises(error, match=text):
        metric(*arguments, **options)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (partial(oracle_curve, [-1.0]), "error of sample 0 is -1"),
        (partial(oracle_curve, [1.0], points=0), "points must be"),
        (partial(oracle_curve, [1.0], aggregate="sum"), "aggregate must be"),
        (partial(oracle_curve, [1.0], sample_weight=[1, 2]), "sample_weight has 2 samples, error"),
    ],
)
def test_oracle_refuses_the_same(call, text):
    with pytest.raises(ValueError, match=text):
        call()
