"""What holds for every recalibrator of class probabilities."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import caveat
from caveat.exceptions import InvalidValueError
from caveat.recalibration.bayesian_binning import BayesianBinning
from caveat.recalibration.beta_calibration import BetaCalibration
from caveat.recalibration.dirichlet_calibration import DirichletCalibration
from caveat.recalibration.histogram_binning import HistogramBinning
from caveat.recalibration.isotonic_calibration import IsotonicCalibration
from caveat.recalibration.platt_scaling import PlattScaling
from caveat.recalibration.quadratic_scaling import QuadraticScaling
from caveat.recalibration.scaling_binning import ScalingBinning
from caveat.recalibration.spline_calibration import SplineCalibration
from caveat.recalibration.structured_matrix_scaling import StructuredMatrixScaling
from caveat.recalibration.structured_vector_scaling import StructuredVectorScaling
from caveat.recalibration.temperature_scaling import TemperatureScaling

from .class_data import calibration_set

RECALIBRATORS = [
    TemperatureScaling(),
    TemperatureScaling(per_class=True),
    PlattScaling(),
    IsotonicCalibration(),
    HistogramBinning(bins=5),
    HistogramBinning(bins=5, strategy="equal-width"),
    DirichletCalibration(regularization=0.1),
    BayesianBinning(),
    BetaCalibration(),
    QuadraticScaling(),
    SplineCalibration(),
    ScalingBinning(bins=5),
    StructuredVectorScaling(),
    StructuredMatrixScaling(),
]
every = pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)


def learned(fitted):
    return {
        name: value
        for name, value in vars(fitted).items()
        if name.endswith("_") and name not in ("signature_", "groups_")
    }


def assert_same(first, second, tolerance=1e-6):
    """The optimizer of the Dirichlet map stops at a slope; all others are exact to rounding."""
    np.testing.assert_allclose(first.probabilities, second.probabilities, atol=tolerance)


@every
@pytest.mark.parametrize("k", [2, 4])
def test_returns_probabilities_of_the_same_classes(recalibrator, k):
    prediction, y = calibration_set(k=k)
    labels = np.array(["a", "b", "c", "d"][:k])
    named = caveat.Categorical(prediction.mean, classes=labels)
    before = named.probabilities.copy()
    fixed = clone(recalibrator).fit_transform(named, labels[y])
    assert isinstance(fixed, caveat.Categorical)
    assert fixed.classes.tolist() == labels.tolist()
    assert fixed.probabilities.shape == (1, len(y), k)
    assert fixed.probabilities.min() >= 0
    np.testing.assert_allclose(fixed.mean.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(named.probabilities, before)


@every
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("digits", [1, 17])
def test_order_of_samples(recalibrator, k, digits):
    prediction, y = calibration_set(k=k)
    prediction = caveat.Categorical(prediction.mean.round(digits) + 0.01, normalize=True)
    order = np.random.default_rng(1).permutation(len(y))
    fitted = clone(recalibrator).fit(prediction, y)
    shuffled = clone(recalibrator).fit(prediction.take(order), y[order])
    assert_same(fitted.transform(prediction), shuffled.transform(prediction))
    # A sample is repaired alone, whatever stands around it.
    assert_same(
        fitted.transform(prediction).take([5]), fitted.transform(prediction.take([5])), 1e-14
    )


@every
@pytest.mark.parametrize("k", [2, 3])
def test_weight_is_repetition(recalibrator, k):
    prediction, y = calibration_set(k=k)
    weight = np.random.default_rng(1).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = clone(recalibrator).fit(prediction, y, sample_weight=weight)
    repeated = clone(recalibrator).fit(prediction.take(rows), y[rows])
    assert_same(weighted.transform(prediction), repeated.transform(prediction))


@every
def test_members(recalibrator):
    prediction, y = calibration_set(k=3, members=3)
    mean = caveat.Categorical(prediction.mean)
    fitted = clone(recalibrator).fit(prediction, y)
    assert fitted.transform(prediction) == clone(recalibrator).fit_transform(mean, y)

    each = clone(recalibrator).set_params(members="each").fit(prediction, y)
    fixed = each.transform(prediction)
    assert fixed.members == 3
    rows = caveat.Categorical(prediction.probabilities.reshape(-1, 3))
    pooled = clone(recalibrator).fit(rows, np.tile(y, 3), sample_weight=np.full(3 * len(y), 1 / 3))
    assert_same(fixed, caveat.Categorical(pooled.transform(rows).mean.reshape(3, -1, 3)))
    weighted = clone(each).fit(prediction, y, sample_weight=np.ones(len(y)))
    assert_same(weighted.transform(prediction), fixed)


@every
def test_equal_members_are_one(recalibrator):
    prediction, y = calibration_set(k=3)
    twice = caveat.Categorical(np.repeat(prediction.probabilities, 2, axis=0))
    alone = clone(recalibrator).fit_transform(prediction, y)
    each = clone(recalibrator).set_params(members="each").fit_transform(twice, y)
    assert_same(each, caveat.Categorical(np.repeat(alone.probabilities, 2, axis=0)))


@every
def test_groups_are_repaired_each_for_itself(recalibrator):
    prediction, y = calibration_set(k=3)
    groups = np.array(["x", "y"])[np.arange(len(y)) % 2]
    fixed = clone(recalibrator).fit_transform(prediction, y, groups=groups)
    for value in ("x", "y"):
        rows = groups == value
        alone = clone(recalibrator).fit_transform(prediction.take(rows), y[rows])
        assert fixed.take(rows) == alone


@every
def test_clone_pickle_and_learned_values(recalibrator):
    prediction, y = calibration_set(k=3)
    fitted = clone(recalibrator).fit(prediction, y)
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.transform(prediction) == fitted.transform(prediction)
    assert clone(fitted).get_params() == recalibrator.get_params()
    assert not learned(clone(fitted))
    for value in learned(fitted).values():
        for part in value if isinstance(value, list) else [value]:
            assert isinstance(part, float | np.ndarray)


@every
def test_in_a_pipeline(recalibrator):
    prediction, y = calibration_set(k=3)
    pipeline = make_pipeline(TemperatureScaling(), clone(recalibrator)).fit(prediction, y)
    first = TemperatureScaling().fit_transform(prediction, y)
    assert pipeline.transform(prediction) == clone(recalibrator).fit_transform(first, y)


@every
@pytest.mark.parametrize("k", [2, 3])
def test_one_sample_and_constant_scores(recalibrator, k):
    prediction, y = calibration_set(k=k)
    one = clone(recalibrator).fit(prediction.take([0]), y[:1])
    assert np.isfinite(one.transform(prediction).mean).all()
    constant = caveat.Categorical(np.tile(prediction.mean[:1], (len(y), 1)))
    fixed = clone(recalibrator).fit_transform(constant, y)
    assert (fixed.mean == fixed.mean[0]).all()


@every
def test_zeros_and_ones(recalibrator):
    certain = caveat.Categorical(np.eye(3)[[0, 1, 2, 0, 1, 2]])
    fixed = clone(recalibrator).fit_transform(certain, [0, 1, 2, 0, 1, 2])
    assert np.isfinite(fixed.mean).all()
    if not isinstance(recalibrator, TemperatureScaling):
        fixed = clone(recalibrator).fit_transform(certain, [0, 1, 2, 0, 1, 1])
        assert np.isfinite(fixed.mean).all()


@every
def test_is_scale_free_in_the_samples(recalibrator):
    """All rows twice: nothing changes, but for targets and pulls that count samples."""
    if isinstance(recalibrator, BayesianBinning):
        pytest.skip("evidence counts samples: with more of them finer bins win")
    prediction, y = calibration_set(k=3, n=2000)
    twice = caveat.concat([prediction, prediction])
    once = clone(recalibrator).fit(prediction, y).transform(prediction)
    assert_same(clone(recalibrator).fit(twice, np.r_[y, y]).transform(prediction), once, 5e-3)


@given(
    st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 40), st.sampled_from(RECALIBRATORS)
)
@settings(max_examples=80, deadline=None)
def test_any_calibration_set_gives_probabilities(seed, k, n, recalibrator):
    rng = np.random.default_rng(seed)
    coarse = rng.multinomial(rng.integers(1, 20), np.ones(k) / k, size=n)
    prediction = caveat.Categorical(coarse, normalize=True)
    y = rng.integers(0, k, size=n)
    fitted = clone(recalibrator)
    if isinstance(recalibrator, TemperatureScaling) and (coarse[np.arange(n), y] == 0).any():
        with pytest.raises(InvalidValueError, match="no temperature changes that"):
            fitted.fit(prediction, y)
        return
    fitted.fit(prediction, y)
    p = fitted.transform(prediction).mean
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
