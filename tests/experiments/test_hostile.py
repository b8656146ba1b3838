"""What hostile calls found."""

import numpy as np
import pytest

import caveat
from caveat.exceptions import CaveatError, InvalidValueError, OptionError, UnknownNameError
from caveat.experiments import ClassDetection, Curve, gaussian_noise
from caveat.experiments.error import correlate

SIZE = Curve("size", "information", [0.1, 0.5, 1], [[1, 2, 3]], [[1, 2, 4]], [[1, 2, 4]])
NOISE = Curve("noise", "information", [0, 0.5, 1], [[1, 2, 3]], [[1, 2, 4]], [[1, 2, 4]])


def test_a_straight_line_has_a_correlation_of_exactly_1():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        number = int(rng.integers(2, 20))
        x, slope = rng.normal(size=number), rng.normal() * 10.0 ** rng.integers(-9, 9)
        line = slope * x + rng.normal() * slope * 10.0 ** rng.integers(-3, 4)
        assert correlate(x, line, "pearson") == np.sign(slope)


def test_what_is_not_straight_keeps_its_correlation():
    for bend in (1e-6, 1e-3, 0.1):
        x = np.linspace(0, 1, 10)
        y = x + bend * x**2
        assert correlate(x, y, "pearson") == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-14)
        assert correlate(x, y, "pearson") < 1


@pytest.mark.parametrize("bad", ["abc", [["a"]], [[1e200, 1, 2]], len, {"a": 1}])
def test_curves_that_are_no_numbers(bad):
    with pytest.raises(CaveatError):
        Curve("size", "information", [0.1, 0.5, 1], bad, [[1, 2, 3]], [[1, 2, 3]])


def test_curves_that_are_none():
    for odd in (3, [3], "ab"):
        with pytest.raises(OptionError, match=r"^curves must be a sequence of Curve; got"):
            caveat.Disentanglement(odd)
    with pytest.raises(OptionError, match="confidence must be a number strictly between 0 and 1"):
        caveat.Disentanglement((SIZE, NOISE), confidence=[None])
    with pytest.raises(InvalidValueError, match="auc must be real numbers"):
        ClassDetection(("a",), ("information",), "text")
    with pytest.raises(OptionError, match="weights must be four numbers"):
        caveat.Disentanglement((SIZE, NOISE)).error(weights=(1e308, 1e308, 0, 1))


@pytest.mark.parametrize("X", [1.0, np.zeros((0, 2)), ["a"]])
def test_noise_needs_numbers(X):
    with pytest.raises(InvalidValueError, match="X must hold numbers alone"):
        gaussian_noise(X, 0.5, np.random.default_rng(0))


def test_noise_that_overflows():
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidValueError, match=r"X of sample 1 is 1e\+200"):
        gaussian_noise([0.0, 1e200], 0.5, rng)
    for odd in (-1, np.nan, 1e300, "x", None, [1]):
        with pytest.raises(OptionError, match="strength must be a number of at least 0"):
            gaussian_noise([0.0, 1.0], odd, rng)


def test_very_small_uncertainties_can_be_drawn():
    tiny = Curve("noise", "information", [0, 0.5, 1], [[1, 2, 3]], [[1e-320] * 3], [[0] * 3])
    other = Curve("size", "information", [0.1, 0.5, 1], [[1, 2, 3]], [[1e-320] * 3], [[0] * 3])
    chart, _ = caveat.charts.sweeps(caveat.Disentanglement((other, tiny)))
    assert np.isfinite(chart.y.ends).all()
    assert chart.marks[1].y == pytest.approx([100] * 3)


def test_names_that_are_no_text():
    result, odd = caveat.Disentanglement((SIZE, NOISE)), np.array([["size", "size"]])
    with pytest.raises(OptionError, match="kind of a curve must be 'size' or 'noise'"):
        result.curve(odd)
    with pytest.raises(OptionError, match="kind of a curve must be 'size' or 'noise'"):
        Curve(odd, "information", [0.5, 1], [[1, 2]], [[1, 2]], [[1, 2]])
    with pytest.raises(UnknownNameError, match="the name of a decomposition is a str"):
        result.curve("size", odd)
    with pytest.raises(OptionError, match="correlation must be 'pearson' or 'spearman'"):
        result.error(odd)


def test_numbers_that_cannot_be():
    with pytest.raises(InvalidValueError, match="auc must be from 0 to 1, as a ROC AUC is"):
        ClassDetection(("a",), ("information",), [[[[0.5, 1e200, 0.5]]]])
    for odd in (np.nan, np.inf, 1e30):
        with pytest.raises(InvalidValueError, match="samples of a curve of level 1 is"):
            Curve("size", "information", [0.5, 1], *[[[1, 2]]] * 3, samples=[1, odd])
