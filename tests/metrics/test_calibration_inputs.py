"""What the calibration metrics refuse, by message."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from caveat import metrics
from caveat.exceptions import InvalidValueError, LabelError, OptionError, ShapeError

EVERY: list[Callable[..., Any]] = [
    metrics.expected_calibration_error,
    metrics.maximum_calibration_error,
    metrics.classwise_calibration_error,
    metrics.adaptive_calibration_error,
    metrics.thresholded_adaptive_calibration_error,
    metrics.smooth_calibration_error,
    metrics.uncertainty_calibration_error,
    metrics.variation_calibration_error,
    metrics.debiased_calibration_error,
    metrics.reliability_curve,
    metrics.adaptive_reliability_curve,
    metrics.smooth_reliability_curve,
    metrics.uncertainty_reliability_curve,
    metrics.variation_reliability_curve,
]
CURVES = [metrics.smooth_calibration_error, metrics.smooth_reliability_curve]


@pytest.mark.parametrize("function", EVERY)
def test_refuses_what_is_no_probability(function: Callable[..., Any]) -> None:
    with pytest.raises(InvalidValueError, match=r"probabilities of sample 1 sum to 1\.1"):
        function([0, 1], [[0.5, 0.5], [0.5, 0.6]])
    with pytest.raises(InvalidValueError, match="probabilities of sample 1, class 0 is nan"):
        function([0, 1], [[0.5, 0.5], [np.nan, 0.5]])
    with pytest.raises(InvalidValueError, match=r"probabilities of sample 1, class 0 is -0\.5"):
        function([0, 1], [[0.5, 0.5], [-0.5, 1.5]])
    with pytest.raises(InvalidValueError, match=r"probabilities of sample 1 is 1\.5, outside"):
        function([0, 1], [0.5, 1.5])
    with pytest.raises(InvalidValueError, match=r"probabilities of sample 2 is -0\.1, outside"):
        function([0, 1, 1], [0.5, 0.5, -0.1])
    with pytest.raises(InvalidValueError, match="probabilities of sample 1 is nan"):
        function([0, 1], [0.5, np.nan])
    with pytest.raises(InvalidValueError, match="probabilities of sample 0 is inf"):
        function([0, 1], [np.inf, 0.5])


@pytest.mark.parametrize("function", EVERY)
def test_refuses_labels_it_does_not_know(function: Callable[..., Any]) -> None:
    for p in ([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]]):
        with pytest.raises(LabelError, match="y_true of sample 1 is 2, but the classes are 0 to 1"):
            function([0, 2], p)
        with pytest.raises(LabelError, match="y_true of sample 0 is -1"):
            function([-1, 0], p)
        with pytest.raises(LabelError, match="y_true of sample 1 is 'c', but the classes are"):
            function(["a", "c"], p, classes=["a", "b"])
        with pytest.raises(LabelError, match="y_true of sample 0 is nan"):
            function([np.nan, 1.0], p)


@pytest.mark.parametrize("function", EVERY)
def test_refuses_shapes(function: Callable[..., Any]) -> None:
    with pytest.raises(ShapeError, match="y_true has 3 samples, probabilities has 2"):
        function([0, 1, 1], [0.5, 0.5])
    with pytest.raises(ShapeError, match="y_true has 3 samples, probabilities has 2"):
        function([0, 1, 1], [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ShapeError, match="probabilities must have shape"):
        function([0, 1], [[0.5], [0.5]])
    with pytest.raises(ShapeError, match="probabilities is empty"):
        function([], [])
    with pytest.raises(ShapeError, match="rectangular"):
        function([0, 1], [[0.5, 0.5], [1.0]])
    with pytest.raises(ShapeError, match="y_true must be one label for each sample"):
        function([[0, 1], [1, 0]], [0.5, 0.5])


@pytest.mark.parametrize("function", EVERY)
def test_refuses_weights(function: Callable[..., Any]) -> None:
    with pytest.raises(InvalidValueError, match="sample_weight of sample 1 is -1"):
        function([0, 1], [0.5, 0.5], sample_weight=[1, -1])
    with pytest.raises(InvalidValueError, match="sample_weight is 0 for every sample"):
        function([0, 1], [0.5, 0.5], sample_weight=[0, 0])
    with pytest.raises(ShapeError, match="sample_weight must be one number for each of 2"):
        function([0, 1], [0.5, 0.5], sample_weight=[1])


@pytest.mark.parametrize("function", [f for f in EVERY if f not in CURVES])
@pytest.mark.parametrize("bins", [0, 2.5, True, "15"])
def test_refuses_numbers_of_bins(function: Callable[..., Any], bins: Any) -> None:
    with pytest.raises(OptionError, match="bins must be a whole number of at least 1; got"):
        function([0, 1], [0.5, 0.5], bins=bins)


def test_refuses_options() -> None:
    y, p = [0, 1], [0.5, 0.5]
    with pytest.raises(OptionError, match="kind must be one of 'top-label', 'positive', 'classwi"):
        metrics.expected_calibration_error(y, p, kind="binary")
    with pytest.raises(OptionError, match="norm must be one of 1, 2, 'max'; got 3"):
        metrics.expected_calibration_error(y, p, norm=3)
    with pytest.raises(OptionError, match="binning must be one of 'equal-width', 'equal-count'"):
        metrics.debiased_calibration_error(y, p, binning="quantile")
    with pytest.raises(OptionError, match="kind must be one of 'top-label', 'positive'; got"):
        metrics.smooth_calibration_error(y, p, kind="classwise")
    with pytest.raises(OptionError, match="points must be a whole number"):
        metrics.smooth_reliability_curve(y, p, points=0)
    for function in CURVES:
        for bandwidth in (0, 2**-11, np.inf, np.nan, "wide"):
            with pytest.raises(OptionError, match="bandwidth must be a number of at least"):
                function(y, p, bandwidth=bandwidth)
    for threshold in (-0.1, 1.5, np.nan, "low"):
        with pytest.raises(OptionError, match="threshold must be a number from 0 to 1; got"):
            metrics.thresholded_adaptive_calibration_error(y, p, threshold=threshold)


@pytest.mark.parametrize(
    "function",
    [
        metrics.expected_calibration_error,
        metrics.maximum_calibration_error,
        metrics.debiased_calibration_error,
        metrics.smooth_calibration_error,
        metrics.reliability_curve,
    ],
)
def test_the_positive_class_is_one_of_two(function: Callable[..., Any]) -> None:
    with pytest.raises(ShapeError, match="kind='positive' is defined for two classes, probabilit"):
        function([0], [[0.2, 0.3, 0.5]], kind="positive")
    with pytest.raises(ShapeError, match="probabilities has 3; use kind='classwise'"):
        metrics.positive_calibration_error([0], [[0.2, 0.3, 0.5]])


def test_the_sample_is_named_beyond_the_first_block() -> None:
    p, y = np.full(200_000, 0.5), np.zeros(200_000, dtype=int)
    p[150_000] = 1.25
    with pytest.raises(InvalidValueError, match=r"probabilities of sample 150000 is 1\.25"):
        metrics.expected_calibration_error(y, p, kind="positive")
    p[150_000], y[123_456] = 0.5, 7
    with pytest.raises(LabelError, match="y_true of sample 123456 is 7"):
        metrics.expected_calibration_error(y, p)


def test_frames_and_tensors() -> None:
    import pandas as pd
    import polars as pl

    torch = pytest.importorskip("torch", reason="tensors are an input")
    y, p = np.array([0, 1, 1, 0]), np.array([0.25, 0.5, 0.75, 0.5])
    expected = metrics.expected_calibration_error(y, p, kind="positive")
    for vector in (pd.Series(p), pl.Series(p), torch.tensor(p), pl.Series(p).to_arrow()):
        assert metrics.expected_calibration_error(y, vector, kind="positive") == expected
    frame = pd.DataFrame({"no": 1 - p, "yes": p})
    names = np.array(["no", "yes"])[y]
    assert metrics.expected_calibration_error(names, frame, kind="positive") == expected


def test_single_precision_has_its_tolerance() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 50).astype(np.float32)
    y = rng.integers(0, 3, 50)
    for function in EVERY:
        function(y, p)
    uniform = np.full((4, 3), 0.3335, dtype=np.float16)  # sums to 1.0005
    assert metrics.uncertainty_calibration_error([0, 1, 2, 0], uniform) == pytest.approx(0.5)


def test_entries_are_complete() -> None:
    entries = [entry for entry in metrics.METRICS.values() if entry.task == "classification"]
    aliases = [alias for entry in entries for alias in entry.aliases]
    assert len(set(aliases)) == len(aliases)
    assert {
        "ece",
        "mce",
        "ace",
        "tace",
        "smece",
        "uce",
        "vce",
        "debiased_ece",
        "classwise_ece",
    } <= (set(aliases))
    for entry in entries:
        assert getattr(metrics, entry.name) is entry.function
    y, p = [0, 1, 1, 0] * 10, [0.25, 0.5, 0.75, 0.5] * 10
    for entry in entries:
        if entry.curve is not None and entry.name.endswith("calibration_error"):
            assert entry.curve(y, p) is not None
