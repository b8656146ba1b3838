"""Temperature scaling against scikit-learn, root finding, grids and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax
from scipy.stats import chi2
from sklearn.calibration import _TemperatureScaling

import caveat
from caveat.exceptions import InvalidValueError, OptionError, UnsupportedPredictionError
from caveat.recalibration.temperature_scaling import TemperatureScaling, minimize

from .class_data import calibration_set, draw, log_loss, softmax


def root_temperature(logits, y, weight=None):
    """The temperature at which the mean logit under the softmax is the mean true logit."""

    def slope(beta):
        q = softmax(beta * logits)
        gap = (q * logits).sum(axis=1) - logits[np.arange(len(y)), y]
        return np.average(gap, weights=weight)

    return 1 / brentq(slope, 1e-3, 1e3, xtol=1e-15, rtol=1e-14)


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("factor", [0.3, 0.9, 1.7, 6.0])
def test_equals_the_root_of_the_slope(k, factor):
    prediction, y = calibration_set(k=k, factor=factor)
    expected = root_temperature(np.log(prediction.mean), y)
    scaling = TemperatureScaling().fit(prediction, y)
    assert scaling.temperature_ == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(
        scaling.transform(prediction).mean,
        softmax(np.log(prediction.mean) / expected),
        atol=1e-10,
    )


def test_equals_scikit_learn():
    prediction, y = calibration_set(k=4, n=500)
    # Handed logits, not probabilities: to those scikit-learn adds 1e-12 before the logarithm.
    logits = np.log(prediction.mean) + 5
    oracle = _TemperatureScaling().fit(logits, y)
    scaling = TemperatureScaling().fit(prediction, y)
    # A minimum found by values alone is known to the root of the precision.
    assert scaling.temperature_ == pytest.approx(1 / oracle.beta_, rel=1e-6)
    np.testing.assert_allclose(
        scaling.transform(prediction).mean, oracle.predict(logits), atol=1e-6
    )


def test_weights():
    prediction, y = calibration_set()
    weight = np.random.default_rng(1).exponential(size=len(y))
    scaling = TemperatureScaling().fit(prediction, y, sample_weight=weight)
    expected = root_temperature(np.log(prediction.mean), y, weight)
    assert scaling.temperature_ == pytest.approx(expected, rel=1e-10)


def test_many_rows_start_from_some_of_them():
    prediction, y = calibration_set(n=50_000)
    order = np.argsort(y, kind="stable")
    expected = root_temperature(np.log(prediction.mean), y)
    for rows in (np.arange(len(y)), order):
        scaling = TemperatureScaling().fit(prediction.take(rows), y[rows])
        assert scaling.temperature_ == pytest.approx(expected, rel=1e-10)


@given(st.floats(0.55, 0.95), st.floats(0.55, 0.95))
@settings(max_examples=30, deadline=None)
def test_closed_form_for_one_confidence(confidence, accuracy):
    prediction = caveat.Categorical.from_binary([confidence, confidence])
    scaling = TemperatureScaling().fit(prediction, [1, 0], sample_weight=[accuracy, 1 - accuracy])
    expected = np.log(confidence / (1 - confidence)) / np.log(accuracy / (1 - accuracy))
    assert scaling.temperature_ == pytest.approx(expected, rel=1e-9)


def test_temperatures_far_from_one():
    prediction, y = calibration_set(k=10, factor=0.002)
    expected = root_temperature(np.log(prediction.mean), y)
    assert expected < 0.003
    assert TemperatureScaling().fit(prediction, y).temperature_ == pytest.approx(expected, rel=1e-9)
    prediction, y = calibration_set(k=10, factor=40.0)
    expected = root_temperature(np.log(prediction.mean), y)
    assert TemperatureScaling().fit(prediction, y).temperature_ == pytest.approx(expected, rel=1e-9)


def test_bounds():
    prediction, _ = calibration_set(n=50)
    right = TemperatureScaling().fit(prediction, prediction.mean.argmax(axis=1))
    assert right.temperature_ == 1e-3
    assert np.isfinite(right.transform(prediction).mean).all()
    wrong = TemperatureScaling().fit(prediction, prediction.mean.argmin(axis=1))
    assert wrong.temperature_ == 1e3
    np.testing.assert_allclose(wrong.transform(prediction).mean, 1 / 3, atol=0.01)


def test_uniform_rows_leave_the_temperature_at_one():
    prediction = caveat.Categorical(np.full((7, 3), 1 / 3))
    scaling = TemperatureScaling(per_class=True).fit(prediction, np.arange(7) % 3)
    assert scaling.temperature_ == 1.0
    assert scaling.class_temperatures_.tolist() == [1.0, 1.0, 1.0]


def test_zeros_stay_and_certain_rows_do_not_matter():
    prediction, y = calibration_set(n=60)
    with_zeros = np.insert(prediction.mean, 1, 0.0, axis=1)
    labels = np.array([0, 2, 3])[y]
    certain = np.eye(4)[[0, 3]]
    extended = caveat.Categorical(np.concatenate([with_zeros, certain]))
    scaling = TemperatureScaling().fit(extended, np.r_[labels, 0, 3])
    alone = TemperatureScaling().fit(prediction, y)
    assert scaling.temperature_ == pytest.approx(alone.temperature_, rel=1e-12)
    fixed = scaling.transform(extended).mean
    assert (fixed[:, 1] == 0).all()
    np.testing.assert_array_equal(fixed[-2:], certain)


def test_impossible_labels():
    p = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    prediction = caveat.Categorical(p, classes=["a", "b", "c"])
    with pytest.raises(
        InvalidValueError,
        match=r"true class 'c' of sample 0 has probability 0, and no temperature changes that; "
        r"raise such zeros first, for example with Categorical\(numpy.maximum\(p, 1e-12\)",
    ):
        TemperatureScaling().fit(prediction, ["c", "c"])
    TemperatureScaling().fit(prediction, ["c", "a"], sample_weight=[0, 1])
    members = caveat.Categorical(np.stack([p[::-1], p]))
    TemperatureScaling().fit(members, [2, 2])
    with pytest.raises(InvalidValueError, match=r"true class 2 of sample 1, member 0 has"):
        TemperatureScaling(members="each").fit(members, [2, 2])


def probabilities(k):
    return st.lists(st.floats(1e-6, 1), min_size=k, max_size=k)


@given(st.lists(probabilities(4), min_size=1, max_size=6), st.integers(0, 5), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_predicted_class_is_kept(rows, seed, per_class):
    prediction = caveat.Categorical(rows, normalize=True)
    y = np.random.default_rng(seed).integers(0, 4, size=len(rows))
    fixed = TemperatureScaling(per_class=per_class).fit(prediction, y).transform(prediction).mean
    top = prediction.mean.argmax(axis=1)
    # Equal but for rounding counts as kept.
    np.testing.assert_allclose(fixed[np.arange(len(rows)), top], fixed.max(axis=1), rtol=1e-14)
    order = prediction.mean.argsort(axis=1)
    assert (np.diff(np.take_along_axis(fixed, order, axis=1), axis=1) >= -1e-15).all()


def test_never_worse_than_leaving_it():
    prediction, y = calibration_set(n=40, factor=2.5)
    fixed = TemperatureScaling().fit_transform(prediction, y)
    assert log_loss(fixed, y) < log_loss(prediction, y)


def test_on_calibrated_data_it_is_near_one():
    rng = np.random.default_rng(3)
    p = softmax(rng.normal(size=(20_000, 4)) * 1.5)
    y = draw(p, rng)
    prediction = caveat.Categorical(p)
    scaling = TemperatureScaling().fit(prediction, y)
    z = np.log(p)
    information = ((p * z**2).sum(axis=1) - (p * z).sum(axis=1) ** 2).sum()
    # The maximum-likelihood 1/T is normal around 1 with one over the root of the information.
    assert abs(1 / scaling.temperature_ - 1) < 5 / np.sqrt(information)
    gain = 2 * len(y) * (log_loss(prediction, y) - log_loss(scaling.transform(prediction), y))
    assert 0 <= gain < chi2.isf(1e-6, 1)


# Predicted classes ---------------------------------------------------------------------------


def test_per_class_without_shrinkage_is_one_fit_for_each_predicted_class():
    prediction, y = calibration_set(n=600, shift=0.4)
    predicted = prediction.mean.argmax(axis=1)
    scaling = TemperatureScaling(per_class=True, shrinkage=0.0).fit(prediction, y)
    fixed = scaling.transform(prediction)
    common = TemperatureScaling().fit(prediction, y)
    assert scaling.temperature_ == common.temperature_
    for c in range(3):
        rows = predicted == c
        alone = TemperatureScaling().fit(prediction.take(rows), y[rows])
        assert scaling.class_temperatures_[c] == pytest.approx(alone.temperature_, rel=1e-9)
        np.testing.assert_allclose(
            fixed.mean[rows], alone.transform(prediction.take(rows)).mean, atol=1e-9
        )
    assert log_loss(fixed, y) < log_loss(common.transform(prediction), y)


def test_shrinkage_by_brute_force():
    prediction, y = calibration_set(n=80)
    logits, predicted = np.log(prediction.mean), prediction.mean.argmax(axis=1)
    scaling = TemperatureScaling(per_class=True, shrinkage=3.0).fit(prediction, y)

    for c in range(3):
        rows = np.flatnonzero(predicted == c)

        def loss(log_t, rows=rows):
            t = np.exp(log_t)
            q = log_softmax(logits[rows] / t, axis=1)[np.arange(len(rows)), y[rows]]
            return -q.sum() + 1.5 * (scaling.temperature_ / t - 1) ** 2

        found = minimize_scalar(loss, bounds=(-4, 4), options={"xatol": 1e-12})
        assert scaling.class_temperatures_[c] == pytest.approx(np.exp(found.x), rel=1e-6)


def test_rare_classes_are_pulled_to_the_common_temperature():
    prediction, y = calibration_set(n=200)
    p = np.insert(prediction.mean, 3, 0.0, axis=1) * 0.999 + 0.001 * np.eye(4)[3]
    p = np.vstack([p, np.array([[0.1, 0.2, 0.2, 0.5]])])
    prediction, y = caveat.Categorical(np.insert(p * 0.999, 4, 0.001, axis=1)), np.r_[y, 3]
    pulled = TemperatureScaling(per_class=True).fit(prediction, y)
    # Class 3 is predicted once and true: alone it would run to the bound. Class 4 never is.
    assert 0.3 < pulled.class_temperatures_[3] < pulled.temperature_
    assert pulled.class_temperatures_[4] == pulled.temperature_
    free = TemperatureScaling(per_class=True, shrinkage=0).fit(prediction, y)
    assert free.class_temperatures_[3] == 1e-3
    assert free.class_temperatures_[4] == free.temperature_


# Members -------------------------------------------------------------------------------------


def test_members():
    prediction, y = calibration_set(members=4)
    mean = TemperatureScaling().fit(prediction, y)
    alone = caveat.Categorical(prediction.mean)
    assert mean.temperature_ == TemperatureScaling().fit(alone, y).temperature_
    assert mean.transform(prediction) == mean.transform(alone)
    each = TemperatureScaling(members="each").fit(prediction, y)
    logits = np.log(prediction.probabilities)
    expected = root_temperature(logits.reshape(-1, 3), np.tile(y, 4))
    assert each.temperature_ == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(
        each.transform(prediction).probabilities, softmax(logits / expected), atol=1e-10
    )


# Gaussian logits -----------------------------------------------------------------------------


def noisy(members, seed=0, n=120):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3))
    y = draw(softmax(z), rng)
    mean = 2 * z + 0.3 * rng.normal(size=(members, n, 3))
    return caveat.GaussianLogits(mean, rng.gamma(2.0, 0.5, size=mean.shape)), y


def scaled(logits, t):
    return caveat.GaussianLogits(logits.mean / t, logits.variance / t**2)


def test_gaussian_logits_without_noise():
    logits, y = noisy(1)
    logits = caveat.GaussianLogits(logits.mean, np.zeros_like(logits.mean))
    plain = caveat.Categorical.from_logits(logits.mean)
    for per_class in (False, True):
        scaling = TemperatureScaling(per_class=per_class, draws=3).fit(logits, y)
        expected = TemperatureScaling(per_class=per_class).fit(plain, y)
        np.testing.assert_allclose(
            scaling.class_temperatures_, expected.class_temperatures_, rtol=1e-9
        )
        np.testing.assert_allclose(
            caveat.Categorical.from_logits(scaling.transform(logits).mean).mean,
            expected.transform(plain).mean,
            atol=1e-9,
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_logits_by_brute_force(weighted):
    logits, y = noisy(2)
    weight = np.random.default_rng(5).exponential(size=len(y)) if weighted else None
    scaling = TemperatureScaling(draws=20, random_state=7).fit(logits, y, sample_weight=weight)

    def loss(t):
        return log_loss(scaled(logits, t).sample(draws=20, random_state=7), y, weight)

    found = minimize_scalar(loss, bounds=(0.1, 10), options={"xatol": 1e-10})
    assert scaling.temperature_ == pytest.approx(found.x, rel=1e-6)
    fixed = scaling.transform(logits)
    assert isinstance(fixed, caveat.GaussianLogits)
    np.testing.assert_allclose(fixed.mean, logits.mean / scaling.temperature_)
    np.testing.assert_allclose(fixed.variance, logits.variance / scaling.temperature_**2)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gaussian_logits_by_the_exact_likelihood(seed):
    # The default's lattice is good to 1 % with three classes; 100 draws were off by up to 5 %.
    logits, y = noisy(2, seed)
    found = minimize_scalar(
        lambda t: log_loss(scaled(logits, t).to_categorical(), y, None), bounds=(0.1, 10)
    )
    scaling = TemperatureScaling().fit(logits, y)
    assert scaling.temperature_ == pytest.approx(found.x, rel=0.01)


def test_gaussian_logits_each_member():
    logits, y = noisy(2)
    scaling = TemperatureScaling(members="each", draws=20, per_class=True).fit(logits, y)
    rows = caveat.GaussianLogits(logits.mean.reshape(-1, 3), logits.variance.reshape(-1, 3))
    pooled = TemperatureScaling(draws=20, per_class=True, members="each")
    pooled.fit(rows, np.tile(y, 2), sample_weight=np.full(2 * len(y), 0.5))
    np.testing.assert_allclose(scaling.class_temperatures_, pooled.class_temperatures_, rtol=1e-9)
    expected = scaling.class_temperatures_[logits.mean.argmax(axis=2)][..., None]
    np.testing.assert_allclose(scaling.transform(logits).mean, logits.mean / expected)


@pytest.mark.parametrize("members", ["mean", "each"])
def test_gaussian_logits_order_and_weights(members):
    logits, y = noisy(2)
    options = {"members": members, "draws": 10, "per_class": True}
    fitted = TemperatureScaling(**options).fit(logits, y)
    order = np.random.default_rng(1).permutation(len(y))
    shuffled = TemperatureScaling(**options).fit(logits.take(order), y[order])
    np.testing.assert_allclose(shuffled.class_temperatures_, fitted.class_temperatures_, rtol=1e-9)
    weight = order % 3
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = TemperatureScaling(**options).fit(logits, y, sample_weight=weight)
    repeated = TemperatureScaling(**options).fit(logits.take(rows), y[rows])
    np.testing.assert_allclose(
        weighted.class_temperatures_, repeated.class_temperatures_, rtol=1e-9
    )


def test_gaussian_logits_with_far_tails():
    # The true class has a likelihood of 1e-400 in every draw, which no double holds.
    mean = np.array([[1000.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    scaling = TemperatureScaling().fit(
        caveat.GaussianLogits(mean, np.full((3, 2), 1e-6)), [1, 0, 1]
    )
    assert scaling.temperature_ == 1000.0


# The search ----------------------------------------------------------------------------------


@given(st.floats(-6, 6), st.floats(0.05, 20))
@settings(max_examples=60, deadline=None)
def test_minimize_finds_the_change_of_sign(log_root, sharpness):
    root, calls = np.exp(log_root), []

    def derivatives(beta):
        calls.append(beta)
        x = sharpness * (beta - root)
        return np.tanh(x), sharpness * (1 - np.tanh(x) ** 2)

    assert minimize(derivatives, 1.0) == pytest.approx(root, rel=1e-5)
    assert len(calls) < 60


def test_minimize_without_curvature_halves():
    found = minimize(lambda beta: (1.0 if beta > 3 else -1.0, 0.0), 1.0)
    assert found == pytest.approx(3.0, rel=1e-5)


# Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"members": "all"}, r"members must be one of 'mean', 'each'; got 'all'"),
        ({"per_class": "yes"}, r"per_class must be one of False, True; got 'yes'"),
        ({"shrinkage": -1}, r"shrinkage must be a number of at least 0; got -1"),
        ({"shrinkage": True}, r"shrinkage must be a number of at least 0; got True"),
        ({"draws": 0}, r"draws must be a whole number of at least 1; got 0"),
    ],
)
def test_options(options, message):
    prediction, y = calibration_set(n=10)
    with pytest.raises(OptionError, match=message):
        TemperatureScaling(**options).fit(prediction, y)


def test_other_predictions_are_refused():
    with pytest.raises(
        UnsupportedPredictionError,
        match="repairs a Categorical or a GaussianLogits; got a Gaussian",
    ):
        TemperatureScaling().fit(caveat.Gaussian([0.0], 1.0), [0.0])
