"""Weights of classes from the confusion matrix, and thresholds that hold for all within bounds."""

from itertools import product

import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError, UnsupportedPredictionError
from caveat.recalibration._thresholds import label_shift_quantiles, weighted_quantiles

RNG = np.random.default_rng(5)


def draw(rng, samples, shares, noise=1.0):
    """Samples of three classes whose inputs are around the corners of a triangle."""
    y = rng.choice(3, size=samples, p=shares)
    x = 2 * np.eye(3)[y] + noise * rng.normal(size=(samples, 3))
    p = np.exp(2 * x)
    return p / p.sum(axis=1, keepdims=True), y


P, Y = draw(RNG, 600, [0.5, 0.3, 0.2])
TEST, _ = draw(RNG, 400, [0.2, 0.3, 0.5])


class TestEstimate:
    @pytest.mark.parametrize("soft", [True, False])
    def test_solves_the_confusion_matrix(self, soft):
        found = caveat.label_shift(P, Y, TEST, soft=soft)
        votes, new = (P, TEST) if soft else tuple(np.eye(3)[p.argmax(axis=1)] for p in (P, TEST))
        confusion = np.array([[votes[j == Y, i].sum() / 600 for j in range(3)] for i in range(3)])
        np.testing.assert_allclose(confusion @ found.weights, new.mean(axis=0), rtol=1e-10)
        np.testing.assert_allclose(found.shares, found.weights * np.bincount(Y) / 600)
        assert found.shares.sum() == pytest.approx(1)
        assert (found.lower <= found.weights).all()
        assert (found.weights <= found.upper).all()

    def test_standard_errors_are_those_of_repeated_samples(self):
        rng = np.random.default_rng(6)
        weights, errors = [], []
        for _ in range(400):
            p, y = draw(rng, 600, [0.5, 0.3, 0.2])
            found = caveat.label_shift(p, y, draw(rng, 400, [0.2, 0.3, 0.5])[0])
            weights.append(found.weights)
            errors.append(found.standard_errors)
        # A standard deviation of 400 draws has a relative error of 1 / sqrt(800) = 3.5 %.
        np.testing.assert_allclose(np.mean(errors, axis=0), np.std(weights, axis=0), rtol=0.15)
        error = np.std(weights, axis=0) / 20
        assert (np.abs(np.mean(weights, axis=0) - [0.4, 1.0, 2.5]) < 5 * error + 0.03).all()

    def test_words(self):
        found = caveat.label_shift(P, Y, TEST)
        assert found.message.startswith("class ")
        assert "times as frequent among the test samples as in calibration (0.99 bounds" in (
            found.message
        )
        same = caveat.label_shift(P, Y, draw(RNG, 300, [0.5, 0.3, 0.2])[0])
        assert same.message.endswith("the shares of the classes may also be unchanged")

    def test_names_and_logits(self):
        names = np.array(["a", "b", "c"])
        prediction = caveat.Categorical(P, classes=names)
        found = caveat.label_shift(prediction, names[Y], TEST)
        assert found.classes.tolist() == ["a", "b", "c"]
        logits = caveat.GaussianLogits(np.log(P), np.full(P.shape, 1e-12), classes=names)
        noisy = caveat.label_shift(logits, names[Y], caveat.Categorical(TEST, classes=names))
        np.testing.assert_allclose(noisy.weights, found.weights, rtol=1e-6)

    def test_bad_input(self):
        with pytest.raises(InvalidValueError, match="class 2 has no calibration sample, so that"):
            caveat.label_shift(caveat.Categorical(P), np.minimum(Y, 1), TEST)
        flat = np.full((600, 3), 1 / 3)
        with pytest.raises(InvalidValueError, match="the confusion matrix has no inverse"):
            caveat.label_shift(flat, Y, TEST)
        with pytest.raises(UnsupportedPredictionError, match="takes probabilities of classes; got"):
            caveat.label_shift(caveat.Gaussian(P[:, 0], 1.0), Y, TEST)
        with pytest.raises(UnsupportedPredictionError, match="classes; test is a Gaussian"):
            caveat.label_shift(P, Y, caveat.Gaussian(P[:, 0], 1.0))
        with pytest.raises(ShapeError, match=r"test has the classes \['a', 'b', 'c'\], the calib"):
            caveat.label_shift(P, Y, caveat.Categorical(TEST, classes=["a", "b", "c"]))
        with pytest.raises(ShapeError, match="at least 2 calibration and 2 test samples"):
            caveat.label_shift(P, Y, TEST[:1])
        with pytest.raises(OptionError, match="soft must be True or False; got 'yes'"):
            caveat.label_shift(P, Y, TEST, soft="yes")


class TestThresholds:
    def test_of_known_weights_are_weighted_quantiles(self):
        scores = np.round(RNG.exponential(size=80), 1)
        codes = RNG.integers(3, size=80)
        weights = np.array([0.4, 1.0, 2.5])
        found = label_shift_quantiles(scores, codes, None, 0.9, np.stack([weights, weights]))
        expected = weighted_quantiles(scores, weights[codes], 0.9, weights)
        np.testing.assert_array_equal(found, expected)
        counts = RNG.integers(1, 4, size=80).astype(float)
        found = label_shift_quantiles(scores, codes, counts, 0.9, np.stack([weights, weights]))
        expected = weighted_quantiles(scores, counts * weights[codes], 0.9, weights)
        np.testing.assert_array_equal(found, expected)

    def test_are_the_largest_over_the_corners_of_the_bounds(self):
        scores, codes = RNG.exponential(size=60), RNG.integers(3, size=60)
        bounds = np.array([[0.2, 0.7, 1.5], [0.6, 1.4, 3.5]])
        found = label_shift_quantiles(scores, codes, None, 0.8, bounds)
        corners = [
            weighted_quantiles(scores, np.array(w)[codes], 0.8, np.array(w))
            for w in product(*bounds.T)
        ]
        np.testing.assert_array_equal(found, np.max(corners, axis=0))

    def test_infinite_where_no_score_is_enough(self):
        bounds = np.array([[1.0, 0.0], [1.0, 50.0]])
        found = label_shift_quantiles(
            np.arange(20.0), np.repeat([0, 1], [15, 5]), None, 0.9, bounds
        )
        assert np.isinf(found[1])


class TestSets:
    def test_uses_the_bounds_at_a_higher_coverage(self):
        shift = caveat.label_shift(P, Y, TEST, confidence=0.98)
        conformal = caveat.ConformalSets(0.9).fit(P, Y, shift=shift)
        scores = 1 - P[np.arange(600), Y]
        bounds = np.stack([shift.lower, shift.upper])
        expected = label_shift_quantiles(scores, Y, None, 0.92, bounds)
        np.testing.assert_array_equal(conformal.thresholds_, expected)
        found = conformal.transform(TEST)
        np.testing.assert_array_equal(found.membership, expected >= 1 - TEST)
        assert conformal.transform(TEST, shift=shift) == found
        text = conformal.summary()
        assert "90 % of new samples whose classes have other shares than in calibration" in text
        assert "Not promised: coverage if the samples of a class have changed" in text

    def test_bad_input(self):
        shift = caveat.label_shift(P, Y, TEST, confidence=0.9)
        with pytest.raises(
            OptionError, match=r"coverage of 0.9 needs bounds .* got 0.9. Pass a larg"
        ):
            caveat.ConformalSets(0.9).fit(P, Y, shift=shift)
        shift = caveat.label_shift(P, Y, TEST)
        sets = caveat.ConformalSets(0.9)
        with pytest.raises(OptionError, match="a LabelShift is that of all samples; for groups"):
            sets.fit(P, Y, shift=shift, groups=Y)
        with pytest.raises(OptionError, match="class_conditional=True covers each class whatever"):
            caveat.ConformalSets(0.9, class_conditional=True).fit(P, Y, shift=shift)
        named = caveat.Categorical(P, classes=["a", "b", "c"])
        with pytest.raises(OptionError, match=r"shift is about the classes \[0, 1, 2\], the pred"):
            sets.fit(named, np.array(["a", "b", "c"])[Y], shift=shift)
        with pytest.raises(OptionError, match="a LabelShift is for sets of classes; ConformalResi"):
            caveat.ConformalResiduals().fit(caveat.Gaussian(P[:, 0], 1.0), P[:, 1], shift=shift)
        sets.fit(P, Y, shift=shift)
        with pytest.raises(
            OptionError, match="p-values are not defined after a fit with label shi"
        ):
            sets.p_values(caveat.Categorical(P))
        with pytest.raises(OptionError, match="shift was given to transform but not to fit"):
            sets.transform(TEST, shift=np.ones(400))
