"""Signatures of classes: means without outliers, and a sample beside them."""

import re

import numpy as np
import pytest

from caveat.charts import Band, Line, signatures
from caveat.exceptions import OptionError, ShapeError


def draw(seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(["oak", "road", "vine"], 40)
    X = rng.normal(size=(120, 6)) + np.repeat([0.0, 4.0, 8.0], 40)[:, None]
    return X, y


def lines(chart):
    return {mark.label: mark for mark in chart.marks if isinstance(mark, Line)}


def test_means_without_outliers():
    X, y = draw()
    spoiled = X.copy()
    spoiled[:4] = 1000.0 + 100 * np.arange(4)[:, None]
    plain, robust = signatures(X, y), signatures(spoiled, y)
    np.testing.assert_allclose(robust.numbers["oak"], plain.numbers["oak"], atol=0.5)
    everything = signatures(spoiled, y, dense=1)
    np.testing.assert_allclose(everything.numbers["oak"], spoiled[:40].mean(axis=0))
    assert sum(isinstance(mark, Band) for mark in plain.marks) == 3


def test_a_sample_and_what_a_model_says_of_it():
    X, y = draw()
    chart = signatures(X, y, X[0] + 2, [0.55, 0.4, 0.05], channels=np.linspace(400, 900, 6))
    drawn = lines(chart)
    assert list(drawn) == ["oak (55%)", "road (40%)", "vine (5%)", "sample in question"]
    assert drawn["oak (55%)"].width > drawn["road (40%)"].width > drawn["vine (5%)"].width
    bands = [mark for mark in chart.marks if isinstance(mark, Band)]
    opacity = np.array([mark.opacity for mark in bands])
    # The opacity grows in a straight line with the posterior.
    np.testing.assert_allclose(np.diff(opacity) / np.diff([0.55, 0.4, 0.05]), 0.47)
    shown = [float(text) for text in re.findall('fill-opacity:([0-9.]+)"', chart.svg())]
    np.testing.assert_allclose(shown, opacity, atol=1e-3)
    assert drawn["vine (5%)"].opacity < 0.4 < drawn["oak (55%)"].opacity
    ax = chart.plot()
    np.testing.assert_allclose([one.get_alpha() for one in ax.collections], opacity)
    plain = signatures(X, y)
    assert {mark.opacity for mark in plain.marks if isinstance(mark, Band)} == {None}
    np.testing.assert_array_equal(drawn["sample in question"].y, X[0] + 2)
    assert chart.numbers["channel"][0] == 400
    assert chart.plot().get_xlabel() == "channel"
    assert "<svg" in chart.svg()


def test_few_samples():
    chart = signatures([[0.0, 1.0], [5.0, 6.0], [5.0, 7.0]], [0, 1, 1])
    np.testing.assert_array_equal(chart.numbers["0"], [0, 1])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sample": [1.0]}, ShapeError, "sample must have one number for each of 6 channels"),
        ({"channels": [1.0]}, ShapeError, "channels must have one number for each of 6"),
        ({"probabilities": [0.5, 0.5]}, OptionError, "probabilities must be 3 numbers from 0 to 1"),
        ({"probabilities": [2, 0, 0]}, OptionError, "probabilities must be 3 numbers from 0 to 1"),
        ({"dense": 0}, OptionError, "dense"),
        ({"X": np.ones(3)}, ShapeError, "X must have shape"),
        ({"y": ["a", "b"]}, ShapeError, "y has 2 labels, X has 120 samples"),
    ],
)
def test_what_does_not_fit(options, error, message):
    X, y = draw()
    with pytest.raises(error, match=message):
        signatures(**{"X": X, "y": y, **options})
