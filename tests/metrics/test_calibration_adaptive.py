"""ACE and its thresholded form against equation 9, written as loops."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.metrics import (
    adaptive_calibration_error,
    adaptive_reliability_curve,
    expected_calibration_error,
    thresholded_adaptive_calibration_error,
)


def draw(samples: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, classes, samples), rng.dirichlet(np.full(classes, 0.5), samples)


def equation_9(y: np.ndarray, p: np.ndarray, ranges: int, threshold: float = 0.0) -> float:
    """An unweighted mean over classes and ranges; each range has the same number of samples."""
    terms = []
    for k in range(p.shape[1]):
        rows = sorted((i for i in range(len(y)) if p[i, k] >= threshold), key=lambda i: p[i, k])
        size = len(rows) // ranges
        assert size * ranges == len(rows)
        for r in range(ranges):
            members = rows[r * size : (r + 1) * size]
            accuracy = sum(y[i] == k for i in members) / size
            confidence = sum(p[i, k] for i in members) / size
            terms.append(abs(accuracy - confidence))
    return sum(terms) / len(terms)


@pytest.mark.parametrize(("samples", "classes"), [(150, 2), (600, 5), (9000, 3), (90, 11)])
def test_adaptive_is_equation_9(samples: int, classes: int) -> None:
    y, p = draw(samples, classes)
    assert adaptive_calibration_error(y, p) == pytest.approx(equation_9(y, p, 15), rel=1e-11)


def test_classes_and_ranges_count_alike() -> None:
    """A rare class counts as much as a frequent one."""
    p = np.tile([0.9, 0.05, 0.05], (100, 1))
    y = np.array([0] * 90 + [1] * 10)
    assert adaptive_calibration_error(y, p, bins=1) == pytest.approx((0 + 0.05 + 0.05) / 3)


@pytest.mark.parametrize("bins", [1, 7, 15])
def test_adaptive_is_the_classwise_reading_in_equal_counts(bins: int) -> None:
    y, p = draw(333, 4)
    w = np.random.default_rng(1).exponential(size=333)
    other = expected_calibration_error(
        y, p, kind="classwise", binning="equal-count", bins=bins, sample_weight=w
    )
    assert adaptive_calibration_error(y, p, bins=bins, sample_weight=w) == pytest.approx(
        other, rel=1e-11
    )


def test_two_classes_have_the_same_value() -> None:
    y, p = draw(200, 2)
    one = expected_calibration_error(y, p[:, 1], kind="positive", binning="equal-count")
    assert adaptive_calibration_error(y, p[:, 1]) == pytest.approx(one, rel=1e-11)


def test_thresholded_is_equation_9_above_the_threshold() -> None:
    y, p = draw(1000, 4)
    # Cut the samples so that each class has a whole number of them in each range.
    threshold, ranges = 0.1, 1
    found = thresholded_adaptive_calibration_error(y, p, threshold=threshold, bins=ranges)
    assert found == pytest.approx(equation_9(y, p, ranges, threshold), rel=1e-11)
    w = np.random.default_rng(2).integers(1, 4, len(y))
    weighted = thresholded_adaptive_calibration_error(
        y, p, threshold=threshold, bins=ranges, sample_weight=w
    )
    repeated = equation_9(np.repeat(y, w), np.repeat(p, w, axis=0), ranges, threshold)
    assert weighted == pytest.approx(repeated, rel=1e-11)


def test_thresholded_ranges_are_cut_after_the_threshold() -> None:
    p = np.array([[0.0, 1.0], [0.004, 0.996], [0.3, 0.7], [0.6, 0.4]])
    y = np.array([0, 1, 1, 0])
    # Class 0 has 0.3 and 0.6 left, class 1 all four.
    expected = (0.3 + 0.4) / 4 + (abs(0.4 - 0 + 0.7 - 1) / 2 + abs(0.996 - 1 + 1.0 - 0) / 2) / 4
    found = thresholded_adaptive_calibration_error(y, p, bins=2)
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_threshold_of_zero_is_ace() -> None:
    y, p = draw(77, 3)
    p[:5] = [1, 0, 0]
    assert thresholded_adaptive_calibration_error(y, p, threshold=0) == (
        adaptive_calibration_error(y, p)
    )


def test_classes_below_the_threshold_are_left_out() -> None:
    p = np.array([[0.7, 0.295, 0.005], [0.5, 0.495, 0.005]])
    y = np.array([0, 1])
    two = np.mean([abs(0.6 - 0.5), abs(0.395 - 0.5)])
    assert thresholded_adaptive_calibration_error(y, p, bins=1) == pytest.approx(two)
    assert np.isnan(thresholded_adaptive_calibration_error(y, p, threshold=0.9))
    # A class whose only samples above the threshold have no weight is left out, too.
    left = thresholded_adaptive_calibration_error(
        y, p, threshold=0.49, bins=1, sample_weight=[1, 0]
    )
    assert left == pytest.approx(0.3)


@pytest.mark.parametrize("threshold", [0.0, 0.2])
def test_the_curve_has_the_number(threshold: float) -> None:
    y, p = draw(123, 3)
    names = np.array(["a", "b", "c"])
    curves = adaptive_reliability_curve(names[y], p, threshold=threshold, classes=list(names))
    assert list(curves) == ["a", "b", "c"]
    values = [np.abs(c.predicted - c.observed).mean() for c in curves.values()]
    number = thresholded_adaptive_calibration_error(y, p, threshold=threshold)
    assert np.mean(values) == pytest.approx(number, rel=1e-11)
    for k, curve in enumerate(curves.values()):
        kept = p[:, k] >= threshold
        np.testing.assert_allclose(curve.weight, kept.sum() / 15)
        assert curve.low[0] == p[kept, k].min()
        assert curve.high[-1] == p[kept, k].max()


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(
        st.tuples(
            st.integers(0, 2), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)
        ).filter(lambda row: any(row[1:])),
        min_size=1,
        max_size=10,
    ),
    weight=st.lists(st.integers(0, 3), min_size=10, max_size=10),
    threshold=st.sampled_from([0.0, 0.01, 0.3]),
    bins=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_weights_repeat_and_order_does_not_matter(
    counts: Any, weight: Any, threshold: float, bins: int, seed: int
) -> None:
    table = np.array(counts, dtype=float)
    y, p = table[:, 0].astype(int), table[:, 1:] / table[:, 1:].sum(axis=1, keepdims=True)
    w = np.array(weight[: len(y)])
    w[0] += 1
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.repeat(np.arange(len(y)), w))
    options: dict[str, Any] = {"threshold": threshold, "bins": bins}
    weighted = thresholded_adaptive_calibration_error(y, p, sample_weight=w, **options)
    repeated = thresholded_adaptive_calibration_error(y[rows], p[rows], **options)
    assert 0 <= weighted <= 1 + 1e-12
    assert weighted == pytest.approx(repeated, rel=1e-12, abs=1e-15)
    order = rng.permutation(3)
    permuted = thresholded_adaptive_calibration_error(
        np.argsort(order)[y], p[:, order], sample_weight=w, **options
    )
    assert weighted == pytest.approx(permuted, rel=1e-12, abs=1e-15)


def test_a_curve_leaves_out_a_class_that_never_reaches_the_threshold() -> None:
    p = np.array([[0.9, 0.08, 0.02], [0.1, 0.88, 0.02], [0.6, 0.38, 0.02]])
    curves = adaptive_reliability_curve([0, 1, 0], p, threshold=0.5, bins=1)
    assert list(curves) == [0, 1]
    assert curves[0].predicted == pytest.approx([0.75])
