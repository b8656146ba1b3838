"""ECE, its readings and norms, and the reliability curve against literal loops and peers."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caveat
from caveat.metrics import (
    classwise_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    positive_calibration_error,
    reliability_curve,
)

BINS = 15


def draw(samples: int = 700, classes: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels and miscalibrated probabilities."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.7), samples)
    truth = p**0.6 / (p**0.6).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(classes, p=row) for row in truth])
    return y, p


def readings(y: np.ndarray, p: np.ndarray, kind: str) -> list[tuple[list[float], list[bool]]]:
    if kind == "positive":
        return [([row[1] for row in p], [label == 1 for label in y])]
    if kind == "top-label":
        top = [int(np.argmax(row)) for row in p]
        return [
            (
                [row[k] for row, k in zip(p, top, strict=True)],
                [a == b for a, b in zip(top, y, strict=True)],
            )
        ]
    return [([row[k] for row in p], [label == k for label in y]) for k in range(p.shape[1])]


def cut(p: list[float], bins: int, binning: str) -> list[list[int]]:
    """The samples of each bin; equal counts need samples / bins to be whole."""
    if binning == "equal-count":
        order = sorted(range(len(p)), key=lambda i: p[i])
        size = len(p) // bins
        return [order[b * size : (b + 1) * size] for b in range(bins)]
    found: list[list[int]] = [[] for _ in range(bins)]
    for i, x in enumerate(p):
        for b in range(bins):
            if b / bins <= x < (b + 1) / bins or (b == bins - 1 and x == 1):
                found[b].append(i)
    return found


def literal(y: Any, p: Any, w: Any, kind: str, norm: Any, binning: str, bins: int = BINS) -> float:
    """Equation 8, with the norm and the mean over readings."""
    values = []
    for predicted, happened in readings(y, p, kind):
        gaps, shares = [], []
        for members in cut(predicted, bins, binning):
            weight = sum(w[i] for i in members)
            if weight == 0:
                continue
            confidence = sum(w[i] * predicted[i] for i in members) / weight
            accuracy = sum(w[i] * happened[i] for i in members) / weight
            gaps.append(abs(accuracy - confidence))
            shares.append(weight / sum(w))
        if norm == 1:
            values.append(sum(g * s for g, s in zip(gaps, shares, strict=True)))
        elif norm == 2:
            values.append(sum(g * g * s for g, s in zip(gaps, shares, strict=True)) ** 0.5)
        else:
            values.append(max(gaps))
    return sum(values) / len(values)


@pytest.mark.parametrize("norm", [1, 2, "max"])
@pytest.mark.parametrize("kind", ["top-label", "positive", "classwise"])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_width_is_the_equation(kind: str, norm: Any, weighted: bool) -> None:
    y, p = draw(classes=2 if kind == "positive" else 4)
    w = np.random.default_rng(1).exponential(size=len(y)) if weighted else np.ones(len(y))
    found = expected_calibration_error(
        y, p, kind=kind, norm=norm, sample_weight=w if weighted else None
    )
    assert found == pytest.approx(literal(y, p, w, kind, norm, "equal-width"), rel=1e-11)


@pytest.mark.parametrize("norm", [1, 2, "max"])
@pytest.mark.parametrize("kind", ["top-label", "positive", "classwise"])
@pytest.mark.parametrize("samples", [660, 9000])  # below and above where the kernel sorts all
def test_equal_count_is_the_equation(kind: str, norm: Any, samples: int) -> None:
    y, p = draw(samples, classes=2 if kind == "positive" else 3)
    w = np.ones(samples)
    found = expected_calibration_error(y, p, kind=kind, norm=norm, binning="equal-count")
    assert found == pytest.approx(literal(y, p, w, kind, norm, "equal-count"), rel=1e-10)


def test_equal_count_with_a_remainder_takes_fractions_of_samples() -> None:
    """Every sample as often as there are bins: then no bin ends inside one."""
    y, p = draw(103, classes=2)
    found = expected_calibration_error(y, p, kind="positive", binning="equal-count", bins=7)
    y, p = np.repeat(y, 7), np.repeat(p, 7, axis=0)
    assert found == pytest.approx(literal(y, p, np.ones(len(y)), "positive", 1, "equal-count", 7))


def test_ties_are_the_mean_over_all_orders() -> None:
    p, y = np.array([0.2, 0.4, 0.4, 0.4, 0.4, 0.9]), np.array([0, 1, 0, 0, 0, 1])
    sums = np.zeros(3)
    orders = list(itertools.permutations([1, 2, 3, 4]))
    for order in orders:
        sums += (p - y)[[0, *order, 5]].reshape(3, 2).sum(axis=1) / len(orders)
    found = expected_calibration_error(y, p, kind="positive", binning="equal-count", bins=3)
    assert found == pytest.approx(np.abs(sums).sum() / 6, rel=1e-12)


@pytest.mark.parametrize("norm", [1, 2, "max"])
def test_readings_with_names_of_their_own(norm: Any) -> None:
    y, p = draw(classes=2)
    assert positive_calibration_error(y, p, norm=norm) == expected_calibration_error(
        y, p, kind="positive", norm=norm
    )
    assert classwise_calibration_error(y, p, norm=norm) == expected_calibration_error(
        y, p, kind="classwise", norm=norm
    )


@pytest.mark.parametrize("kind", ["top-label", "positive", "classwise"])
@pytest.mark.parametrize("binning", ["equal-width", "equal-count"])
def test_maximum_is_the_largest_norm(kind: str, binning: str) -> None:
    y, p = draw(classes=2)
    assert maximum_calibration_error(y, p, kind=kind, binning=binning) == (
        expected_calibration_error(y, p, kind=kind, binning=binning, norm="max")
    )


@pytest.mark.parametrize("kind", ["top-label", "positive"])
@pytest.mark.parametrize("binning", ["equal-width", "equal-count"])
@pytest.mark.parametrize("norm", [1, 2, "max"])
def test_all_forms_of_two_classes_agree(kind: str, binning: str, norm: Any) -> None:
    y, p = draw(9001, classes=2)
    p[:, 0] = 1 - p[:, 1]  # as exactly as a vector says it
    w = np.random.default_rng(2).integers(0, 3, len(y))
    options: dict[str, Any] = {"kind": kind, "binning": binning, "norm": norm, "sample_weight": w}
    found = expected_calibration_error(y, p, **options)
    names = np.array(["no", "yes"])
    others = [
        expected_calibration_error(y, p[:, 1], **options),
        expected_calibration_error(y.tolist(), p[:, 1].tolist(), **options),
        expected_calibration_error(y == 1, p[:, 1], **options),
        expected_calibration_error(y.astype(np.uint8), p[:, 1], **options),
        expected_calibration_error(y.astype(float), p[:, 1], **options),
        expected_calibration_error(names[y], p[:, 1], classes=["no", "yes"], **options),
        expected_calibration_error(names[y], p, classes=["no", "yes"], **options),
        expected_calibration_error(y, caveat.Categorical(p), **options),
        expected_calibration_error(
            names[y], caveat.Categorical.from_binary(p[:, 1], classes=names), **options
        ),
    ]
    assert others == pytest.approx([found] * len(others), rel=1e-12)


def test_confidence_of_equals_is_that_of_the_first() -> None:
    p = [[0.5, 0.5], [0.5, 0.5]]
    assert expected_calibration_error([0, 0], p) == 0.5
    assert expected_calibration_error([0, 1], p) == 0.0
    assert expected_calibration_error([1, 1], [0.5, 0.5]) == 0.5
    assert expected_calibration_error([1], [[0.4, 0.4, 0.2]]) == pytest.approx(0.4)


def test_bins_are_closed_below_and_the_last_on_both_sides() -> None:
    curve = reliability_curve([0, 1, 1, 0], [0.0, 0.25, 0.75, 1.0], kind="positive", bins=4)
    np.testing.assert_array_equal(curve.weight, [1, 1, 2])
    np.testing.assert_array_equal(curve.low, [0, 0.25, 0.75])
    np.testing.assert_array_equal(curve.high, [0.25, 0.5, 1.0])
    np.testing.assert_array_equal(curve.predicted, [0, 0.25, 0.875])
    np.testing.assert_array_equal(curve.observed, [0, 1, 0.5])


@pytest.mark.parametrize("kind", ["top-label", "positive", "classwise"])
@pytest.mark.parametrize("binning", ["equal-width", "equal-count"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_has_the_number(kind: str, binning: str, weighted: bool) -> None:
    y, p = draw(401, classes=2)
    w = np.random.default_rng(3).exponential(size=len(y)) if weighted else None
    found = reliability_curve(y, p, kind=kind, binning=binning, sample_weight=w)
    curves = list(found.values()) if isinstance(found, dict) else [found]
    values = []
    for curve in curves:
        assert curve.weight.sum() == pytest.approx(401 if w is None else w.sum())
        assert (curve.low <= curve.predicted).all()
        assert (curve.predicted <= curve.high).all()
        values.append(np.average(np.abs(curve.predicted - curve.observed), weights=curve.weight))
    value = expected_calibration_error(y, p, kind=kind, binning=binning, sample_weight=w)
    assert np.mean(values) == pytest.approx(value, rel=1e-11)


def test_the_classwise_curve_is_that_of_each_class() -> None:
    y, p = draw(classes=3)
    found = reliability_curve(
        np.array(["a", "b", "c"])[y], p, kind="classwise", classes=list("abc")
    )
    assert list(found) == ["a", "b", "c"]
    for k, name in enumerate("abc"):
        one = reliability_curve(y == k, p[:, k], kind="positive")
        for part in ("predicted", "observed", "weight", "low", "high"):
            np.testing.assert_allclose(getattr(found[name], part), getattr(one, part), rtol=1e-12)


def test_edges_of_equal_counts_are_probabilities_in_the_bin() -> None:
    y, p = draw(30, classes=2)
    curve = reliability_curve(y, p, kind="positive", binning="equal-count", bins=3)
    ordered = np.sort(p[:, 1]).reshape(3, 10)
    np.testing.assert_array_equal(curve.low, ordered[:, 0])
    np.testing.assert_array_equal(curve.high, ordered[:, -1])
    weights = np.where(p[:, 1] == ordered[0, 0], 0.0, 0.1)
    curve = reliability_curve(
        y, p, kind="positive", binning="equal-count", bins=3, sample_weight=weights
    )
    assert curve.low[0] == ordered[0, 1]
    assert curve.high[-1] == ordered[-1, -1]


@pytest.mark.parametrize("binning", ["equal-width", "equal-count"])
@pytest.mark.parametrize("kind", ["top-label", "positive", "classwise"])
@pytest.mark.parametrize("norm", [1, 2, "max"])
def test_degenerate_but_valid(binning: str, kind: str, norm: Any) -> None:
    options: dict[str, Any] = {"binning": binning, "kind": kind, "norm": norm}
    assert expected_calibration_error([1], [0.75], **options) == pytest.approx(0.25)
    assert expected_calibration_error([1, 0, 1], [1.0, 0.0, 1.0], **options) == 0
    y, p = draw(50, classes=2)
    one = expected_calibration_error(y, p, bins=1, **options)
    gap = {
        "top-label": (p.argmax(axis=1) == y).mean() - p.max(axis=1).mean(),
        "positive": y.mean() - p[:, 1].mean(),
        "classwise": y.mean() - p[:, 1].mean(),
    }
    assert one == pytest.approx(abs(gap[kind]), rel=1e-10)
    few = expected_calibration_error(y[:3], p[:3], bins=40, **options)
    assert 0 <= few <= 1


@st.composite
def tables(draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, probabilities with many ties, and whole weights, not all zero."""
    classes = draw(st.integers(2, 4))
    rows = draw(st.integers(1, 12))
    counts = draw(
        st.lists(
            st.lists(st.integers(0, 3), min_size=classes, max_size=classes).filter(any),
            min_size=rows,
            max_size=rows,
        )
    )
    p = np.array(counts, dtype=float)
    p /= p.sum(axis=1, keepdims=True)
    y = draw(st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows))
    weight = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows).filter(any))
    return np.array(y), p, np.array(weight)


@settings(max_examples=60, deadline=None)
@given(
    table=tables(),
    kind=st.sampled_from(["top-label", "classwise"]),
    norm=st.sampled_from([1, 2, "max"]),
    binning=st.sampled_from(["equal-width", "equal-count"]),
    bins=st.integers(1, 20),
    seed=st.integers(0, 99),
)
def test_weights_repeat_and_order_does_not_matter(
    table: Any, kind: str, norm: Any, binning: str, bins: int, seed: int
) -> None:
    y, p, w = table
    options: dict[str, Any] = {"kind": kind, "norm": norm, "binning": binning, "bins": bins}
    weighted = expected_calibration_error(y, p, sample_weight=w, **options)
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(y)), w))
    repeated = expected_calibration_error(y[rows], p[rows], **options)
    assert 0 <= weighted <= 1 + 1e-12
    assert weighted == pytest.approx(repeated, rel=1e-12, abs=1e-15)
    # The classes may come in any order, unless the first of equals is asked for.
    ordered = np.sort(p, axis=1)
    if kind == "classwise" or (ordered[:, -1] > ordered[:, -2]).all():
        order = np.random.default_rng(seed).permutation(p.shape[1])
        permuted = expected_calibration_error(
            np.argsort(order)[y], p[:, order], sample_weight=w, **options
        )
        assert permuted == pytest.approx(weighted, rel=1e-12, abs=1e-15)
