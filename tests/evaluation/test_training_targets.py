"""Training targets give the error that is scaled by that of their median."""

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat.exceptions import CaveatError


def two_targets():
    rng = np.random.default_rng(0)
    y_train, y = rng.normal(5, 2, size=(2, 80, 2))
    mean = y + rng.normal(size=(80, 2))
    return caveat.Gaussian(mean, np.ones((80, 2)), targets=["a", "b"]), y, y_train


def test_the_scaled_error_of_each_target_and_group():
    prediction, y, y_train = two_targets()
    half = np.arange(80) % 2
    result = caveat.evaluate(
        prediction, y, y_train=y_train, groups={"half": half}, resamples=100, random_state=0
    )
    rows = {(row.target, row.group): row for row in result if row.metric.endswith("scaled_error")}
    for column, target in enumerate(["a", "b"]):
        for group, rows_of in (("", half < 2), ("half=0", half == 0), ("half=1", half == 1)):
            expected = caveat.metrics.mean_absolute_scaled_error(
                y[rows_of, column],
                prediction.mean[0, rows_of, column],
                y_train=y_train[:, column],
            )
            row = rows[target, group]
            assert row.value == pytest.approx(expected)
            assert row.low < row.value < row.high
    plain = caveat.evaluate(prediction, y, resamples=0)
    assert "mean_absolute_scaled_error" not in {row.metric for row in plain}
    framed = caveat.evaluate(
        prediction, y, y_train=pd.DataFrame(y_train), metrics=["mase"], resamples=0
    )
    assert [row.value for row in framed] == pytest.approx([rows[t, ""].value for t in "ab"])


def test_one_target_and_quantiles():
    rng = np.random.default_rng(1)
    y = rng.normal(size=50)
    quantiles = caveat.Quantiles([0.1, 0.5, 0.9], y[:, None] + [[-1.0, 0.2, 1.0]])
    (row,) = caveat.evaluate(quantiles, y, y_train=[1.0, 2.0, 9.0], metrics=["mase"], resamples=0)
    assert row.value == pytest.approx(0.2 / np.abs(y - 2).mean())


@pytest.mark.parametrize(
    ("y_train", "message"),
    [
        ([1.0, 2.0], r"y_train must have shape \(training samples, 2\), a column for each target"),
        (np.empty((0, 2)), "y_train is empty"),
        ([[1.0, np.nan]], "y_train of sample 0, target 1 is nan"),
    ],
)
def test_training_targets_that_cannot_be(y_train, message):
    prediction, y, _ = two_targets()
    with pytest.raises(CaveatError, match=message):
        caveat.evaluate(prediction, y, y_train=y_train, resamples=0)


def test_what_has_no_scaled_error():
    prediction, y, _ = two_targets()
    with pytest.raises(CaveatError, match="predictions with a mean, and needs y_train="):
        caveat.evaluate(prediction, y, metrics=["mase"], resamples=0)
    classes = caveat.Categorical([[0.5, 0.5], [0.2, 0.8]])
    with pytest.raises(CaveatError, match="y_train= is for predictions of numbers; got a Categor"):
        caveat.evaluate(classes, [0, 1], y_train=[0, 1], resamples=0)
