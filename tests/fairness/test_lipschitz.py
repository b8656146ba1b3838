"""Lipschitz individual fairness against brute force, closed forms and exact quantiles."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.fairness import Lipschitz, lipschitz
from caveat.fairness import _lipschitz as module
from caveat.fairness._lipschitz import quantile_interval


def sample(samples=60, features=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(samples, features)), rng.random(samples)


def by_hand(u, X, rows):
    """The steepest slope of each sample to one of the rows, by two loops."""
    slopes = np.zeros(len(X))
    for i, j in product(range(len(X)), rows):
        if i != j:
            slopes[i] = max(slopes[i], abs(u[i] - u[j]) / np.linalg.norm(X[i] - X[j]))
    return slopes


@pytest.mark.parametrize("held", [2**22, 64])  # at once, and a row at a time
def test_slopes_are_those_of_two_loops(monkeypatch, held):
    monkeypatch.setattr(module, "_HELD", held)
    X, u = sample()
    result = lipschitz(u, X, scale=None, random_state=3)
    expected = by_hand(u, X, range(60))
    np.testing.assert_allclose(result.slopes["prediction"], expected, rtol=1e-12)
    row = result.rows[0]
    slope = abs(u[row.sample] - u[row.other]) / np.linalg.norm(X[row.sample] - X[row.other])
    assert row.largest == pytest.approx(expected.max()) == pytest.approx(slope)
    order = np.random.default_rng(3).permutation(60)
    half = np.sort(by_hand(u, X, order[:30])[order[30:]])
    assert row.asked == 30
    assert row.constant == pytest.approx(half[28])  # 29 of 30 are the least that are 95 %
    assert row.high == np.inf  # 0.95^30 is above 2.5 %
    assert row.low == pytest.approx(half[int(binom.ppf(0.025, 30, 0.95)) - 1])


def test_a_linear_quantity_is_as_steep_as_its_gradient():
    X, _ = sample(2000, 2)
    row = lipschitz(X @ [3.0, 4.0], X, scale=None, random_state=0).rows[0]
    assert row.largest <= 5 * (1 + 1e-12)
    assert row.largest == pytest.approx(5, rel=1e-3)
    assert row.low <= row.constant <= row.high <= row.largest
    # In units of the features' spread, the gradient is that of the standardized features.
    scaled = lipschitz(X @ [3.0, 4.0], X * [10, 0.1] + 7, random_state=0).rows[0]
    assert scaled.largest == pytest.approx(np.hypot(*(X.std(axis=0) * [3, 4])), rel=1e-3)
    assert scaled.scaled == pytest.approx(scaled.constant / (X @ [3.0, 4.0]).std())


def test_classes_differ_by_one_and_numbers_in_small_distances_keep_their_digits():
    X = np.array([[1e6], [1e6 + 1e-3], [1e6 + 1]])
    text = lipschitz(["b", "a", "a"], X, scale=None, random_state=0)
    np.testing.assert_allclose(text.slopes["prediction"], [1e3, 1e3, 1], rtol=1e-6)
    numbers = lipschitz([1, 0, 0], X, scale=None, random_state=0)
    np.testing.assert_allclose(text.slopes["prediction"], numbers.slopes["prediction"])


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("manhattan", 0.5),
        ("sqeuclidean", 0.5),
        (lambda a, b: 4 * abs(a - b).sum(), 0.125),
        ("precomputed", 0.25),
    ],
)
def test_distances_by_name_by_function_and_given(distance, expected):
    X = np.array([[0.0, 4.0], [4.0, 0.0]]) if distance == "precomputed" else [[0, 0], [1, 1]]
    result = lipschitz([0, 1], X, distance=distance, scale=None, random_state=0)
    assert result.rows[0].largest == pytest.approx(expected)
    assert result.distance == (distance if isinstance(distance, str) else "<lambda>")


def test_groups_and_quantities_have_rows_of_their_own():
    X, u = sample()
    sex = np.array(["f", "m"])[(np.arange(60) % 3 == 0).astype(int)]
    result = lipschitz({"a": u, "b": 2 * u}, X, groups={"sex": sex}, share=0.5, random_state=0)
    assert [(row.quantity, row.label) for row in result] == [
        ("a", "all samples"), ("a", "sex=f"), ("a", "sex=m"),
        ("b", "all samples"), ("b", "sex=f"), ("b", "sex=m"),
    ]  # fmt: skip
    for a, b in zip(result.select(quantity="a"), result.select(quantity="b"), strict=True):
        assert (2 * a.constant, 2 * a.largest) == pytest.approx((b.constant, b.largest))
        assert a.scaled == pytest.approx(b.scaled)
    women = result.select(group="f", quantity="a")[0]
    assert women.largest == pytest.approx(result.slopes["a"][sex == "f"].max())
    assert women.samples == 40
    assert sum(row.asked for row in result.select(attribute="sex", quantity="a")) == 30
    assert "Lipschitz constants that are enough for 0.5 of 60 samples" in repr(result)
    assert "<table" in result._repr_html_()
    assert isinstance(result, Lipschitz)
    assert list(result.to_frame().columns)[:3] == ["quantity", "attribute", "group"]


def test_the_same_features_with_other_values_need_an_infinite_constant():
    row = lipschitz([0.1, 0.2, 0.2], [[1.0], [1.0], [5.0]], scale=None, random_state=0).rows[0]
    assert row.largest == np.inf
    assert row.note == "samples 0 and 1 have the same features, or nearly so, and different values"


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_the_size_of_features_does_not_matter(size):
    X, u = sample(20)
    u = u * 1e-10
    expected = lipschitz(u, X, scale=None, random_state=0).rows[0]
    row = lipschitz(u, X * size, scale=None, random_state=0).rows[0]
    assert row.largest == pytest.approx(expected.largest / size, rel=1e-9, abs=0)
    with pytest.raises(InvalidValueError, match="between two rows is inf"):
        lipschitz(u, X * 1e200, scale=None, distance="sqeuclidean")


def test_next_to_no_distance():
    row = lipschitz([0.0, 1.0], [[0.0], [5e-324]], scale=None, random_state=0).rows[0]
    assert row.largest == np.inf


def test_one_value_for_all_needs_no_constant():
    row = lipschitz([0.3] * 5, np.arange(5.0)[:, None], random_state=0).rows[0]
    assert (row.largest, row.constant, row.sample, row.other) == (0, 0, 0, -1)
    assert np.isnan(row.scaled)
    assert row.note == "all samples have one value, by whose spread nothing can be scaled"


def test_a_group_that_is_not_asked_has_no_constant():
    groups = ["a"] * 9 + ["b"]
    X, u = sample(10, 1)
    rows = [lipschitz(u, X, groups=groups, random_state=seed).rows[2] for seed in range(20)]
    (none, *_) = [row for row in rows if not row.asked]
    assert np.isnan([none.constant, none.low, none.high]).all()
    assert none.largest > 0
    assert none.note == "no sample of this group was held against the others"


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_the_interval_of_a_quantile_is_exact(share):
    # By the distribution of the number of draws below the quantile, and no smaller ranks will do.
    for count in (3, 20, 71, 72, 500):
        values = np.arange(1.0, count + 1)
        _, low, high = quantile_interval(values, share, 0.95)
        assert binom.cdf(low - 1, count, share) <= 0.025 < binom.cdf(low, count, share)
        if np.isfinite(high):
            assert binom.sf(high - 1, count, share) <= 0.025 < binom.sf(high - 2, count, share)
        else:
            assert binom.sf(count - 1, count, share) > 0.025
    assert quantile_interval(np.arange(1.0, 72), 0.95, 0.95)[2] == np.inf
    assert quantile_interval(np.arange(1.0, 73), 0.95, 0.95)[2] == 72


def test_messages():
    X, u = sample(6, 2)
    with pytest.raises(ShapeError, match="a slope needs two samples at least; got 1"):
        lipschitz([1.0], [[1.0]])
    for values, name in [
        (caveat.Gaussian(u, u), "values"),
        ({"a": u, "b": caveat.Gaussian(u, u)}, r"values\['b'\]"),
    ]:
        with pytest.raises(
            OptionError, match=f"^{name} must be one value for each sample; got a Gaussian; pass"
        ):
            lipschitz(values, X)
    with pytest.raises(OptionError, match="share must be"):
        lipschitz(u, X, share=1)
    with pytest.raises(OptionError, match="distance 'haversine' does not work with these rows"):
        lipschitz(u, sample(6, 5)[0], distance="haversine")
    with pytest.raises(InvalidValueError, match="between two rows is inf; it must be a finite"):
        lipschitz(u, X, distance=lambda a, b: np.inf)
