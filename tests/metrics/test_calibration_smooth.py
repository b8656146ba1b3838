"""smECE against a direct evaluation of its definition, within the bound that its grid has."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import caveat.metrics.classification.smooth as module
from caveat.metrics import smooth_calibration_error, smooth_reliability_curve

NARROWEST = 2.0**-10


def draw(samples: int, seed: int = 0, power: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 0.9, samples)
    return (rng.random(samples) < p**power).astype(int), p


def kernel(f: np.ndarray, t: np.ndarray, sigma: float) -> np.ndarray:
    """The Gaussian with its mirror images: of shape (samples, points)."""
    images = [s * f[:, None] + 2 * m for m in range(-3, 4) for s in (1, -1)]
    return sum(np.exp(-0.5 * ((t - at) / sigma) ** 2) for at in images) / (
        sigma * np.sqrt(2 * np.pi)
    )


def direct(
    y: np.ndarray, p: np.ndarray, sigma: float, w: Any = None, points: int = 20_001
) -> float:
    """The definition: the integral of the absolute smoothed residual, by the trapezoidal rule."""
    t = np.linspace(0, 1, points)
    w = np.ones(len(p)) if w is None else np.asarray(w, dtype=float)
    smoothed = (w * (p - y)) @ kernel(p, t, sigma) / w.sum()
    return float(np.trapezoid(np.abs(smoothed), t))


def bound(y: np.ndarray, p: np.ndarray, sigma: float, cells: int = 2**13) -> float:
    """What the docstring states, for grids of ``cells`` cells."""
    return 0.242 / (cells * sigma) ** 2 * float(np.abs(p - y).mean())


@pytest.mark.parametrize("sigma", [0.004, 0.02, 0.1, 0.5])
@pytest.mark.parametrize("samples", [1, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_at_a_bandwidth_within_the_bound(sigma: float, samples: int, weighted: bool) -> None:
    y, p = draw(samples, seed=samples)
    w = np.random.default_rng(9).exponential(size=samples) if weighted else None
    found = smooth_calibration_error(y, p, kind="positive", bandwidth=sigma, sample_weight=w)
    mean = np.average(np.abs(p - y), weights=w) / np.abs(p - y).mean()
    # The trapezoidal rule interpolates, too: its cells add what twice the bound of theirs allows.
    allowed = mean * (bound(y, p, sigma) + bound(y, p, sigma, 20_000))
    assert found == pytest.approx(direct(y, p, sigma, w), abs=allowed + 1e-13)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["top-label", "positive"])
def test_the_fixed_point_within_the_bound(seed: int, kind: str) -> None:
    y, p = draw(60, seed)
    found = smooth_calibration_error(y, p, kind=kind)
    f, hit = (p, y) if kind == "positive" else (np.maximum(p, 1 - p), (p > 0.5) == y)
    hit = hit.astype(float)
    expected = brentq(lambda s: direct(hit, f, s, points=2001) - s, 1e-2, 1, xtol=1e-10)
    assert found == pytest.approx(expected, abs=bound(hit, f, found) + bound(hit, f, found, 2000))


def test_the_error_shrinks_with_the_square_of_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coarse grid errs more than the bound of a fine one, and less than its own."""
    y, p = draw(30, seed=3)
    exact = direct(y, p, 0.01, points=50_001)
    errors = []
    for cells in (2**7, 2**9, 2**11):
        monkeypatch.setattr(module, "_CELLS", cells)
        found = smooth_calibration_error(y, p, kind="positive", bandwidth=0.01)
        errors.append(abs(found - exact))
        assert errors[-1] <= bound(y, p, 0.01, cells) + bound(y, p, 0.01, 50_000)
    assert errors[0] > 4 * errors[1] > 16 * errors[2]


def test_the_level_falls_with_the_bandwidth() -> None:
    y, p = draw(500)
    levels = [
        smooth_calibration_error(y, p, kind="positive", bandwidth=s)
        for s in np.geomspace(NARROWEST, 10, 40)
    ]
    assert (np.diff(levels) <= 1e-15).all()
    assert levels[-1] == pytest.approx(abs((p - y).mean()), rel=1e-9)
    assert levels[0] <= np.abs(p - y).mean() + 1e-12


def test_residuals_of_one_sign_leave_nothing_to_cancel() -> None:
    """Then every bandwidth has the same level, the mean residual."""
    p = np.array([0.2, 0.5, 0.9])
    assert smooth_calibration_error([0, 0, 0], p, kind="positive") == pytest.approx(p.mean())
    assert smooth_calibration_error([1], [[0.3, 0.7]]) == pytest.approx(0.3)
    # Below the narrowest bandwidth as well.
    tiny = np.array([1e-5, 2e-5])
    assert smooth_calibration_error([0, 0], tiny, kind="positive") == pytest.approx(1.5e-5)


def test_perfect_forecasts_have_none() -> None:
    assert smooth_calibration_error([0, 1, 1], [0.0, 1.0, 1.0], kind="positive") == 0.0
    assert smooth_calibration_error([0, 1, 1], [[1, 0], [0, 1], [0, 1]]) == 0.0


def test_a_fixed_point_that_is_too_narrow_is_bounded_from_below() -> None:
    """Residuals that cancel at 1e-4: the level at 2^-10 is at most the fixed point."""
    n = 4000
    p = 0.5 + np.tile([-1e-6, 1e-6], n // 2)
    y = np.tile([0, 1], n // 2)
    found = smooth_calibration_error(y, p, kind="positive")
    assert 0 < found < NARROWEST
    at = smooth_calibration_error(y, p, kind="positive", bandwidth=NARROWEST)
    assert found == at
    curve = smooth_reliability_curve(y, p, kind="positive")
    assert curve.weight.sum() == pytest.approx(n, rel=1e-9)


def test_a_level_that_vanishes_on_the_way_is_no_obstacle() -> None:
    """Two spikes that cancel once the bandwidth reaches their distance."""
    p, y = np.array([0.5, 0.504]), np.array([1, 0])
    found = smooth_calibration_error(y, p, kind="positive")
    expected = brentq(lambda s: direct(y, p, s, points=50_001) - s, 2e-3, 0.5, xtol=1e-12)
    assert found == pytest.approx(expected, abs=bound(y, p, found) + bound(y, p, found, 50_000))


def test_fixed_points_where_the_level_jumps() -> None:
    def level(_: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(sigma) < 0.01, 0.5, 0.0) * np.ones(2)

    found = module._fixed_points(np.zeros((2, 1)), level, 200)
    np.testing.assert_allclose(found, 0.01, rtol=1e-9)


@pytest.mark.parametrize("bandwidth", [None, 0.05])
def test_the_curve_has_the_number(bandwidth: float | None) -> None:
    y, p = draw(200)
    value = smooth_calibration_error(y, p, kind="positive", bandwidth=bandwidth)
    curve = smooth_reliability_curve(y, p, kind="positive", bandwidth=bandwidth, points=2000)
    assert curve.weight.sum() == pytest.approx(200, rel=1e-6)
    gaps = np.abs(curve.predicted - curve.observed)
    # Only cells in which the residual changes its sign lose something, a quarter of the squared
    # width times the slope; and the slopes at all zeros add up to less than the integral of |g''|.
    sigma = bandwidth or value
    assert np.average(gaps, weights=curve.weight) == pytest.approx(
        value, abs=bound(y, p, sigma, 2000) + bound(y, p, sigma)
    )


def test_the_curve_is_made_of_kernel_means() -> None:
    y, p = draw(30)
    w = np.random.default_rng(4).exponential(size=30)
    curve = smooth_reliability_curve(
        y, p, kind="positive", bandwidth=0.05, points=10, sample_weight=w
    )
    t = (np.arange(5000) + 0.5) / 5000
    weights = (kernel(p, t, 0.05) * w[:, None]).reshape(30, 10, 500).mean(axis=2)
    density = weights.sum(axis=0)
    np.testing.assert_allclose(curve.weight, density / 10, rtol=1e-5)
    np.testing.assert_allclose(curve.predicted, p @ weights / density, rtol=1e-5)
    np.testing.assert_allclose(curve.observed, y @ weights / density, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(curve.low, np.arange(10) / 10)
    np.testing.assert_allclose(curve.high, np.arange(1, 11) / 10)


def test_points_without_samples_near_them_are_left_out() -> None:
    curve = smooth_reliability_curve([0, 1], [0.1, 0.9], kind="positive", bandwidth=0.01, points=10)
    np.testing.assert_allclose(curve.low, [0.0, 0.1, 0.8, 0.9])


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 16), st.integers(0, 3)), min_size=1, max_size=12
    ),
    kind=st.sampled_from(["top-label", "positive"]),
    seed=st.integers(0, 99),
)
def test_weights_repeat_and_order_does_not_matter(rows: Any, kind: str, seed: int) -> None:
    table = np.array(rows)
    y, p, w = table[:, 0], table[:, 1] / 16, table[:, 2]
    w[0] += 1
    order = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(y)), w))
    weighted = smooth_calibration_error(y, p, kind=kind, sample_weight=w)
    repeated = smooth_calibration_error(y[order], p[order], kind=kind)
    assert 0 <= weighted <= 1 + 1e-9
    assert weighted == pytest.approx(repeated, rel=1e-12, abs=1e-15)
