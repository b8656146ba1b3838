"""The base class, by a recalibrator that shifts means by the mean residual."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import caveat
from caveat.exceptions import (
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
    UnsupportedPredictionError,
)
from caveat.recalibration._base import Recalibrator

RNG = np.random.default_rng(0)
PREDICTION = caveat.Gaussian(RNG.normal(size=(40, 2)), 1.0, targets=["a", "b"])
Y = PREDICTION.mean[0] + np.array([1.0, -2.0]) + RNG.normal(scale=0.1, size=(40, 2))
GROUPS = np.array(["x", "y"])[np.arange(40) % 2]


class Shift(Recalibrator):
    takes = (caveat.Gaussian,)

    def __init__(self, factor=1.0):
        self.factor = factor

    def _fit(self, prediction, y, weight):
        if len(y) < 3:
            raise InvalidValueError("needs three samples")
        self.shift_ = np.average(y - prediction.mean[0], axis=0, weights=weight)

    def _transform(self, prediction):
        return caveat.Gaussian(
            prediction.mean + self.factor * self.shift_,
            prediction.variance,
            targets=prediction.targets,
        )


class Classes(Recalibrator):
    takes = (caveat.Categorical, caveat.GaussianLogits)

    def _fit(self, prediction, y, weight):
        self.codes_ = y

    def _transform(self, prediction):
        return prediction


def test_fit_transform():
    expected = PREDICTION.mean[0] + (Y - PREDICTION.mean[0]).mean(axis=0)
    fixed = Shift().fit(PREDICTION, Y).transform(PREDICTION)
    np.testing.assert_allclose(fixed.mean[0], expected)
    assert Shift().fit_transform(PREDICTION, Y) == fixed


def test_weights_reach_the_method():
    weight = np.arange(40.0)
    fitted = Shift().fit(PREDICTION, Y, sample_weight=weight)
    np.testing.assert_allclose(
        fitted.shift_, np.average(Y - PREDICTION.mean[0], axis=0, weights=weight)
    )


def test_groups_are_fitted_each_for_itself_and_rows_stay_in_order():
    weight = np.arange(1.0, 41.0)
    fitted = Shift().fit(PREDICTION, Y, groups=GROUPS, sample_weight=weight)
    fixed = fitted.transform(PREDICTION, groups=GROUPS)
    for value in ("x", "y"):
        rows = value == GROUPS
        alone = Shift().fit(PREDICTION.take(rows), Y[rows], sample_weight=weight[rows])
        assert fixed.take(rows) == alone.transform(PREDICTION.take(rows))
    order = RNG.permutation(40)
    assert fitted.transform(PREDICTION.take(order), groups=GROUPS[order]) == fixed.take(order)
    assert Shift().fit_transform(PREDICTION, Y, groups=GROUPS) == Shift().fit(
        PREDICTION, Y, groups=GROUPS
    ).transform(PREDICTION, groups=GROUPS)


def test_it_is_a_scikit_learn_estimator():
    fitted = Shift(factor=0.5).fit(PREDICTION, Y, groups=GROUPS)
    assert clone(fitted).get_params() == {"factor": 0.5}
    assert not hasattr(clone(fitted), "groups_")
    back = pickle.loads(pickle.dumps(fitted))
    assert back.transform(PREDICTION, groups=GROUPS) == fitted.transform(PREDICTION, groups=GROUPS)
    pipeline = make_pipeline(Shift(0.5), Shift(1.0)).fit(PREDICTION, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fixed = pipeline.transform(PREDICTION)
    np.testing.assert_allclose(fixed.mean.mean(axis=(0, 1)), Y.mean(axis=0))


def test_classes_are_encoded():
    prediction = caveat.Categorical([[0.5, 0.5], [0.2, 0.8]], classes=["no", "yes"])
    assert Classes().fit(prediction, ["yes", "no"]).codes_.tolist() == [1, 0]
    with pytest.raises(LabelError, match="'maybe'"):
        Classes().fit(prediction, ["yes", "maybe"])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: Shift().transform(PREDICTION), NotFittedError,
         r"this Shift is not fitted yet; call fit\(prediction, y\) with calibration samples first"),
        (lambda: Shift().fit(PREDICTION, Y[:3]), ShapeError, "y has 3 samples, the prediction has 40"),
        (lambda: Shift().fit(PREDICTION, Y[:, 0]), ShapeError, r"with 2 targets; got \(40, 1\)"),
        (lambda: Shift().fit(PREDICTION, Y * np.nan), InvalidValueError, "no true value of target 'a' is known"),
        (lambda: Shift().fit(Y, Y), UnsupportedPredictionError,
         "Shift repairs a Gaussian; got a ndarray"),
        (lambda: Classes().fit(PREDICTION, Y), UnsupportedPredictionError,
         "repairs a Categorical or a GaussianLogits; got a Gaussian"),
        (lambda: Shift().fit(PREDICTION, Y).transform(caveat.Gaussian(Y, 1.0)), ShapeError,
         r"fitted on targets \['a', 'b'\], asked to transform targets \[0, 1\]"),
        (lambda: Shift().fit(PREDICTION, Y).transform(PREDICTION, groups=GROUPS), OptionError,
         "groups were given to transform but not to fit"),
        (lambda: Shift().fit(PREDICTION, Y, groups=GROUPS).transform(PREDICTION), OptionError,
         "fit was given groups, so transform needs them too"),
        (lambda: Shift().fit(PREDICTION, Y, groups=GROUPS).transform(
            PREDICTION.take([0, 1]), groups=["x", "z"]), OptionError,
         "group 'z' of sample 1 was not in fit; it knew 'x', 'y'"),
        (lambda: Shift().fit(PREDICTION, Y, groups=["rare", *GROUPS[1:]]), InvalidValueError,
         "group 'rare': needs three samples"),
        (lambda: Shift().fit(PREDICTION, Y, sample_weight=[1.0]), ShapeError, "sample_weight must be"),
    ],
)  # fmt: skip
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_the_base_itself_does_nothing():
    base = Recalibrator()
    with pytest.raises(NotImplementedError):
        base._fit(None, None, None)
    with pytest.raises(NotImplementedError):
        base._transform(None)


@pytest.mark.parametrize("name", list(caveat.recalibration.RECALIBRATORS))
def test_nothing_looks_learned_before_fit(name):
    made = caveat.recalibration.RECALIBRATORS[name].recalibrator()
    assert [key for key in vars(made) if key.endswith("_")] == []
