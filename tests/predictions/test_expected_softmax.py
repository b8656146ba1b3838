"""The mean softmax of Gaussian logits against integrals of other kinds, and against known answers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, softmax

from caveat.predictions import _expected_softmax
from caveat.predictions._expected_softmax import ERROR, expected_softmax

# On either side of every change from one rule to the next, and far beyond.
STDS = [0.0, 0.05, 0.4, 0.5, 0.51, 0.9, 1.2, 1.21, 1.69, 1.71, 2.5, 3.0, 3.01, 6.0, 20.0, 300.0]


def one(mean, std):
    return expected_softmax(np.array([mean], dtype=float), np.array([std], dtype=float))[0]


def entropy(p):
    return -np.sum(p * np.log(np.maximum(p, 1e-300)))


def of_two(difference, std):
    """The mean sigmoid of one Gaussian: adaptive quadrature over the noise."""

    def weighed(e):
        return math.exp(-e * e / 2) * expit(difference + std * e)

    step = [np.clip(-difference / max(std, 0.01), -12, 12)]
    value, _ = quad(weighed, -12, 12, points=step, limit=500, epsabs=1e-10)
    return value / math.sqrt(2 * math.pi)


def of_grid(mean, std, nodes):
    """The mean over a grid of Gauss-Hermite nodes in every class that has noise."""
    places, weights = np.polynomial.hermite_e.hermegauss(nodes)
    noisy = np.flatnonzero(std)
    grid = np.stack(np.meshgrid(*[places] * len(noisy), indexing="ij"), -1).reshape(-1, len(noisy))
    chance = np.prod(
        np.stack(np.meshgrid(*[weights] * len(noisy), indexing="ij"), -1), axis=-1
    ).ravel()
    logits = np.tile(np.asarray(mean, dtype=float), (len(grid), 1))
    logits[:, noisy] += grid * np.asarray(std)[noisy]
    return chance @ softmax(logits, axis=1) / chance.sum()


@pytest.mark.parametrize("first", STDS)
def test_two_classes(first):
    for second in STDS:
        for difference in (0.0, 0.3, 2.0, 9.0, 40.0):
            exact = of_two(difference, np.hypot(first, second))
            found = one([difference, 0.0], [first, second])
            assert abs(found[0] - exact) < ERROR
            assert abs(entropy(found) - entropy(np.array([exact, 1 - exact]))) < 1e-4


@pytest.mark.parametrize("std", [0.05, 0.5, 0.9, 1.2, 1.6])
@pytest.mark.parametrize("mean", [[0.0, 0.0, 0.0], [0.5, 0.0, -1.0], [4.0, 1.0, 3.5]])
def test_three_classes(mean, std):
    for stds in ([std, std, std], [std, 0.3, 1.0], [0.0, 1.6, std]):
        exact = of_grid(mean, stds, 60)
        found = one(mean, stds)
        assert np.abs(found - exact).max() < ERROR
        assert abs(entropy(found) - entropy(exact)) < 1e-4


def test_many_classes_of_which_two_have_noise():
    rng = np.random.default_rng(0)
    for _ in range(10):
        mean, std = rng.normal(size=20), np.zeros(20)
        std[[3, 11]] = rng.uniform(0, 2, size=2)
        assert np.abs(one(mean, std) - of_grid(mean, std, 120)).max() < ERROR


def test_ten_classes_of_many_draws():
    rng = np.random.default_rng(1)
    mean, std = rng.normal(size=(5, 10)) * 2, rng.uniform(0, 5, size=(5, 10))
    found = expected_softmax(mean, std)
    for i in range(5):
        half = rng.normal(size=(100_000, 10))
        p = (
            softmax(mean[i] + std[i] * half, axis=1) + softmax(mean[i] - std[i] * half, axis=1)
        ) / 2
        error = p.std(axis=0) / np.sqrt(len(p))
        assert (np.abs(p.mean(axis=0) - found[i]) < 4.5 * error + ERROR).all()


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
@pytest.mark.parametrize("std", [0.0, 0.7, 1.5, 2.0, 30.0, 1e6, 1e150])
def test_equal_classes_have_equal_chances(classes, std):
    np.testing.assert_allclose(
        one(np.full(classes, 3.0), np.full(classes, std)), 1 / classes, rtol=1e-9
    )


@pytest.mark.parametrize("wide", [600.0, 1e4, 1e9, 1e150])
def test_noises_of_different_orders_of_magnitude(wide):
    # The wide logit is on top in half of the cases; the others share the rest by their softmax. That
    # it is neither above nor below has a chance of some 3 / (wide sqrt(2 pi)).
    found = one([0.0, 1.0, 0.0], [0.0, 0.0, wide])
    rest = np.array([1, np.e]) / (1 + np.e) / 2
    np.testing.assert_allclose(found, [*rest, 0.5], atol=2 / wide + ERROR)
    # Two wide ones: both are below the others in a quarter of the cases.
    found = one([0.0, 0.0, 0.0, 0.0], [wide, wide, 2.0, 2.0])
    np.testing.assert_allclose(found, [0.375, 0.375, 0.125, 0.125], atol=4 / wide + ERROR)


def test_pieces_agree_with_equal_steps(monkeypatch):
    rng = np.random.default_rng(2)
    mean, std = 3 * rng.normal(size=(30, 4)), rng.choice(STDS[:-1], size=(30, 4))
    found = expected_softmax(mean, std)
    monkeypatch.setattr(_expected_softmax, "_MOST", 1)
    assert np.abs(expected_softmax(mean, std) - found).max() < 2 * ERROR


def test_rows_without_noise_are_softmaxes():
    mean = np.array([[1.0, 2.0, -1.0], [0.0, 1e4, 0.0], [1e308, -1e308, 0.0]])
    std = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1e3, 1.0]])
    expected = softmax(mean[:2], axis=1)
    np.testing.assert_allclose(expected_softmax(mean, std), [*expected, [1, 0, 0]], atol=1e-15)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 8))
def test_a_row_depends_on_itself_alone(seed, classes):
    rng = np.random.default_rng(seed)
    mean, std = 3 * rng.normal(size=(12, classes)), rng.choice([*STDS, 1e4], size=(12, classes))
    found = expected_softmax(mean, std)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert (found >= 0).all()
    rows, order = rng.permutation(12)[:5], rng.permutation(classes)
    np.testing.assert_array_equal(expected_softmax(mean[rows], std[rows]), found[rows])
    np.testing.assert_allclose(
        expected_softmax(mean[:, order], std[:, order]), found[:, order], rtol=1e-9, atol=1e-13
    )
    np.testing.assert_allclose(expected_softmax(mean + 100.0, std), found, rtol=1e-9, atol=1e-11)


def test_gauss_nodes_have_the_moments_of_a_gumbel_variable():
    places, weights = _expected_softmax._gumbel(5)
    # Cumulants: Euler's constant, pi^2 / 6, 2 zeta(3), pi^4 / 15.
    centered = places - np.euler_gamma
    second = np.pi**2 / 6
    assert weights @ places == pytest.approx(np.euler_gamma, rel=1e-9)
    assert weights @ centered**2 == pytest.approx(second, rel=1e-9)
    assert weights @ centered**3 == pytest.approx(2 * 1.2020569031595942, rel=1e-9)
    assert weights @ centered**4 == pytest.approx(np.pi**4 / 15 + 3 * second**2, rel=1e-9)
