"""The shared kernels against loops that say the definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.metrics._core import equal_count, equal_width, levels
from caveat.metrics._core.places import places

KEYS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "ties": lambda rng, n: np.round(rng.random(n), 2),
    "constant": lambda rng, n: np.ones(n),
    "zeros of both signs": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, -0.0),
    "all magnitudes": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, size=n),
    "one outlier": lambda rng, n: np.r_[0.0, 1 - 1e-9 * rng.random(n - 1)],
    "both ends": lambda rng, n: np.where(rng.random(n) < 0.3, -1e308, 1e308),
    "integers": lambda rng, n: rng.integers(-3, 4, size=n).astype(float),
}


def literal(key, value, shares, weight):
    """Walk through the groups of ties, taking of the last one the fraction that still fits."""
    groups = sorted(set(key.tolist()))
    mass = [weight[key == group].sum() for group in groups]
    total = [(value * weight)[key == group].sum() for group in groups]
    sums = []
    for share in shares:
        left, found = share * sum(mass), 0.0
        for m, v in zip(mass, total, strict=True):
            fraction = min(1.0, left / m) if m > 0 else 0.0
            found += fraction * v
            left -= fraction * m
        sums.append(found)
    return sums


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("samples", [1, 2, 37, 400, equal_count.SMALL + 1000])
def test_cumulative_sums(kind, weighted, samples):
    rng = np.random.default_rng(samples)
    key = KEYS[kind](rng, samples)
    values = [rng.normal(size=samples), rng.random(samples)]
    weight = rng.integers(0, 4, size=samples).astype(float) if weighted else None
    if weighted:
        weight[0] = 2.0
    shares = np.array([0.0, 0.1, 1 / 3, 0.5, 0.99, 1.0])
    found = equal_count.cumulative_sums(key, values, shares, weight)
    if samples > 1000 and len(np.unique(key)) > 1000:
        order = np.argsort(key)
        ones = np.ones(samples) if weight is None else weight
        mass = np.r_[0.0, np.cumsum(ones[order])]
        for i, value in enumerate(values):
            running = np.r_[0.0, np.cumsum((value * ones)[order])]
            expected = np.interp(shares * mass[-1], mass, running)
            np.testing.assert_allclose(found[i], expected, rtol=1e-10, atol=1e-9)
    else:
        ones = np.ones(samples) if weight is None else weight
        for i, value in enumerate(values):
            np.testing.assert_allclose(
                found[i], literal(key, value, shares, ones), rtol=1e-10, atol=1e-9
            )


def test_ties_are_the_mean_over_all_orders():
    key = np.array([1.0, 1.0, 1.0, 0.5])
    value = np.array([3.0, 5.0, 10.0, 2.0])
    expected = np.mean(
        [np.cumsum(np.r_[2.0, order]) for order in itertools.permutations(value[:3])], axis=0
    )
    found = equal_count.cumulative_sums(key, [value], np.array([0.25, 0.5, 0.75, 1.0]))
    np.testing.assert_allclose(found[0], expected)


@pytest.mark.parametrize("samples", [60, 9000])
def test_bins_are_those_of_a_sort_where_the_number_divides(samples):
    rng = np.random.default_rng(0)
    key, value = rng.random(samples), rng.random(samples)
    expected = value[np.argsort(key)].reshape(15, -1).sum(axis=1)
    np.testing.assert_allclose(equal_count.bin_sums(key, [value], 15)[0], expected, rtol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_a_weight_is_a_repetition(seed):
    rng = np.random.default_rng(seed)
    samples = int(rng.integers(1, 30))
    key, value = np.round(rng.random(samples), 1), rng.random(samples)
    weight = rng.integers(1, 4, size=samples)
    repeated = np.repeat(np.arange(samples), weight)
    np.testing.assert_allclose(
        equal_count.bin_sums(key, [value], 7, weight.astype(float)),
        equal_count.bin_sums(key[repeated], [value[repeated]], 7),
        rtol=1e-12,
        atol=1e-12,
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [2, 17])
def test_shares_at_or_below(weighted, digits):
    rng = np.random.default_rng(digits)
    for wanted in (np.linspace(0.01, 0.99, 99), rng.random(7), np.array([1.0, 0.0, 0.5, 0.5])):
        values = np.r_[np.round(rng.random(500), digits), 0.0, 1.0, 1.0]
        weight = rng.random(len(values)) if weighted else None
        ones = np.ones(len(values)) if weight is None else weight
        expected = [ones[values <= level].sum() / ones.sum() for level in wanted]
        found = levels.shares_at_or_below(values, wanted, weight)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_equal_width_bins_are_half_open_and_the_last_is_closed():
    positions = np.array([0.0, 0.1, 0.2, 0.5, 0.999, 1.0])
    assert equal_width.bin_of(positions, 5).tolist() == [0, 0, 1, 2, 4, 4]
    sums = np.zeros((2, 5))
    weight = np.arange(1.0, 7.0)
    equal_width.add_sums(sums, positions, [None, positions], weight)
    np.testing.assert_allclose(sums[0], [3, 3, 4, 0, 11])
    np.testing.assert_allclose(sums[1], [0.2, 0.6, 2.0, 0, 5 * 0.999 + 6])
    plain = np.zeros((2, 5))
    equal_width.add_sums(plain, positions, [None, positions])
    np.testing.assert_allclose(plain[0], [2, 1, 1, 0, 2])
    np.testing.assert_allclose(plain[1], [0.1, 0.2, 0.5, 0, 1.999])


def test_a_correlation_of_counts_that_rounding_leaves_above_their_sum():
    from caveat.metrics._core.confusion import matthews

    true, found = np.array([0.5, 0.5 - 2**-54]), np.array([1 + 2**-52, 0.0])
    assert matthews(np.array([0.5, 0.0]), true, found) == 0


AWKWARD_EDGES = {
    "none": [],
    "one": [0.5],
    "equal steps": np.linspace(0, 1, 400),
    "crowded at one end": np.linspace(0, 1, 400) ** 12,
    "neighboring doubles": [0.5, np.nextafter(0.5, 1), np.nextafter(np.nextafter(0.5, 1), 1), 0.9],
    "span below the smallest normal number": [0.0, 5e-324],
    "span above the largest number": [-1.7e308, 0.0, 1.7e308],
    "infinite": [0.0, 1.0, np.inf],
    "large values": [1e300, 1.5e300, 2e300],
}


@pytest.mark.parametrize("name", AWKWARD_EDGES)
def test_places_are_those_of_a_binary_search(name):
    rng = np.random.default_rng(0)
    edges = np.asarray(AWKWARD_EDGES[name], dtype=np.float64)
    near = [edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)]
    spread = [rng.random(50_000), rng.normal(size=1_000) * 1e300, [0.0, -0.0, np.inf, -np.inf]]
    key = np.concatenate([*near, *spread])
    np.testing.assert_array_equal(places(key, edges), np.searchsorted(edges, key, side="right"))
