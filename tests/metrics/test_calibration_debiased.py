"""The debiased calibration error against its definition, and its lack of bias against the truth."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.metrics import debiased_calibration_error, expected_calibration_error


def draw(samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.random(samples)
    return (rng.random(samples) < 0.3 + 0.4 * p).astype(int), p


def square(p: Any, hit: Any, groups: list[Any]) -> float:
    """Kumar et al.: the plug-in square of each bin less its variance, weighted by its size."""
    total, counted = 0.0, 0
    for rows in groups:
        if len(rows) >= 2:
            confidence, accuracy = np.mean(p[rows]), np.mean(hit[rows])
            variance = accuracy * (1 - accuracy) / (len(rows) - 1)
            total += len(rows) * ((accuracy - confidence) ** 2 - variance)
            counted += len(rows)
    return total / counted


def equal_count(p: np.ndarray, bins: int) -> list[Any]:
    return list(np.argsort(p).reshape(bins, -1))


def equal_width(p: np.ndarray, bins: int) -> list[Any]:
    place = np.minimum((p * bins).astype(int), bins - 1)
    return [np.flatnonzero(place == b) for b in range(bins)]


@pytest.mark.parametrize(
    ("binning", "cut"), [("equal-count", equal_count), ("equal-width", equal_width)]
)
def test_is_the_definition(binning: str, cut: Any) -> None:
    y, p = draw(450)
    found = debiased_calibration_error(y, p, kind="positive", binning=binning)
    assert found == pytest.approx(math.sqrt(square(p, y, cut(p, 15))), rel=1e-11)
    top, hit = np.maximum(p, 1 - p), ((p > 0.5) == y).astype(float)
    found = debiased_calibration_error(y, p, binning=binning)
    assert found == pytest.approx(math.sqrt(square(top, hit, cut(top, 15))), rel=1e-11)


@pytest.mark.parametrize(
    ("binning", "cut"), [("equal-count", equal_count), ("equal-width", equal_width)]
)
def test_classwise_is_the_mean_under_the_root(binning: str, cut: Any) -> None:
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), 300)
    y = rng.integers(0, 3, 300)
    squares = [square(p[:, k], y == k, cut(p[:, k], 10)) for k in range(3)]
    found = debiased_calibration_error(y, p, kind="classwise", binning=binning, bins=10)
    assert found == pytest.approx(math.sqrt(np.mean(squares)), rel=1e-11)


def test_bins_with_one_sample_are_left_out() -> None:
    p = np.array([0.05, 0.55, 0.55, 0.95])
    y = np.array([1, 0, 0, 1])
    found = debiased_calibration_error(y, p, kind="positive", binning="equal-width", bins=10)
    assert found == pytest.approx(0.55)
    # A weight of 2 is a second sample.
    found = debiased_calibration_error(
        y, p, kind="positive", binning="equal-width", bins=10, sample_weight=[2, 1, 1, 1]
    )
    assert found == pytest.approx(math.sqrt((2 * 0.95**2 + 2 * 0.55**2) / 4))


def test_nothing_is_left_of_one_sample() -> None:
    for kind in ("top-label", "positive", "classwise"):
        assert math.isnan(debiased_calibration_error([1], [0.7], kind=kind))
    assert math.isnan(debiased_calibration_error([1, 0], [0.7, 0.2], bins=2))
    assert debiased_calibration_error([1, 1], [0.75, 0.75], bins=1) == pytest.approx(0.25)


def test_a_negative_square_is_zero() -> None:
    p = np.full(10, 0.5)
    y = np.arange(10) % 2
    assert square(p, y, [np.arange(10)]) < 0
    assert debiased_calibration_error(y, p, kind="positive", bins=1) == 0.0


def test_the_square_has_no_bias_where_the_plain_one_has() -> None:
    """One bin at probability 0.6 whose true frequency is 0.5: the squared error is 0.01.

    The mean over all outcomes of 12 samples, by their binomial probabilities, is exact.
    """
    n, chance, p = 12, 0.5, 0.6
    debiased, plain = 0.0, 0.0
    for happened in range(n + 1):
        probability = math.comb(n, happened) * chance**happened * (1 - chance) ** (n - happened)
        y = np.arange(n) < happened
        debiased += probability * square(np.full(n, p), y, [np.arange(n)])
        plain += (
            probability
            * expected_calibration_error(y, np.full(n, p), kind="positive", norm=2, bins=1) ** 2
        )
    assert debiased == pytest.approx(0.01, rel=1e-12)
    assert plain == pytest.approx(0.01 + chance * (1 - chance) / n, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 16), st.integers(0, 3)), min_size=1, max_size=12
    ),
    kind=st.sampled_from(["top-label", "positive", "classwise"]),
    binning=st.sampled_from(["equal-width", "equal-count"]),
    bins=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_weights_are_counts_and_order_does_not_matter(
    rows: Any, kind: str, binning: str, bins: int, seed: int
) -> None:
    table = np.array(rows)
    y, p, w = table[:, 0], table[:, 1] / 16, table[:, 2]
    w[0] += 1
    order = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(y)), w))
    options: dict[str, Any] = {"kind": kind, "binning": binning, "bins": bins}
    weighted = debiased_calibration_error(y, p, sample_weight=w, **options)
    repeated = debiased_calibration_error(y[order], p[order], **options)
    # A root: rounding of the square by 1e-16 is rounding of it by 1e-8 where it is 0.
    assert weighted**2 == pytest.approx(repeated**2, rel=1e-12, abs=1e-15, nan_ok=True)
