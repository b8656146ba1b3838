"""What every recalibrator of the registry must hold to."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import caveat
from caveat.exceptions import CaveatError, OptionError, ShapeError
from caveat.recalibration import RECALIBRATORS

RNG = np.random.default_rng(0)
SAMPLES = 400
Z = RNG.normal(size=(SAMPLES, 3)) * 1.5
P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
LABELS = (P.cumsum(axis=1) < RNG.random((SAMPLES, 1))).sum(axis=1).clip(max=2)
MEAN, VARIANCE = RNG.normal(size=(SAMPLES, 2)), RNG.gamma(3.0, size=(SAMPLES, 2)) + 0.1
NUMBERS = MEAN + np.sqrt(VARIANCE) * RNG.normal(size=(SAMPLES, 2))
GAUSSIAN = caveat.Gaussian(MEAN, VARIANCE, targets=["sbp", "dbp"])
LEVELS = [0.05, 0.15865, 0.5, 0.84135, 0.95]
CASES = {
    caveat.Categorical: (
        caveat.Categorical(P, classes=["a", "b", "c"]),
        np.array(["a", "b", "c"])[LABELS],
    ),
    caveat.GaussianLogits: (caveat.GaussianLogits(Z, np.ones_like(Z)), LABELS),
    caveat.Gaussian: (GAUSSIAN, NUMBERS),
    caveat.Quantiles: (GAUSSIAN.to_quantiles(LEVELS), NUMBERS),
    caveat.Interval: (GAUSSIAN.interval(0.9), NUMBERS),
}
PAIRS = pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name, entry in RECALIBRATORS.items() for kind in entry.takes],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)


def case(name, kind):
    prediction, y = CASES[kind]
    return RECALIBRATORS[name].recalibrator(), prediction, y


def same(first, second):
    assert type(first) is type(second)
    for name in first._arrays:
        np.testing.assert_allclose(
            getattr(first, name), getattr(second, name), rtol=1e-7, atol=1e-9
        )


@pytest.mark.parametrize("name", list(RECALIBRATORS))
def test_entry_tells_what_it_is(name):
    entry = RECALIBRATORS[name]
    assert entry.promises.endswith(".")
    assert entry.cannot.endswith(".")
    text = entry.recalibrator.__doc__
    for word in ("Requires", "Promises", "Cannot", ">>>"):
        assert word in text


@PAIRS
def test_order_of_calibration_samples_does_not_matter(name, kind):
    method, prediction, y = case(name, kind)
    rows = np.random.default_rng(1).permutation(SAMPLES)
    shuffled = clone(method).fit(prediction.take(rows), y[rows]).transform(prediction)
    same(method.fit(prediction, y).transform(prediction), shuffled)


@PAIRS
def test_a_weight_is_a_repetition(name, kind):
    method, prediction, y = case(name, kind)
    weight = np.random.default_rng(2).integers(0, 3, size=SAMPLES)
    weight[:10] = 1
    rows = np.repeat(np.arange(SAMPLES), weight)
    repeated = clone(method).fit(prediction.take(rows), y[rows]).transform(prediction)
    weighted = method.fit(prediction, y, sample_weight=weight).transform(prediction)
    same(weighted, repeated)


@PAIRS
def test_input_stays_as_it_was_and_rows_are_independent(name, kind):
    method, prediction, y = case(name, kind)
    before = pickle.dumps(prediction)
    method.fit(prediction, y)
    whole = method.transform(prediction)
    assert pickle.dumps(prediction) == before
    assert len(whole) == SAMPLES
    same(method.transform(prediction.take(slice(0, 7))), whole.take(slice(0, 7)))


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, entry in RECALIBRATORS.items()
        if caveat.GaussianLogits in entry.takes and name != "TemperatureScaling"
    ],
)
def test_logits_are_averaged_over_their_noise(name):
    method, logits, y = case(name, caveat.GaussianLogits)
    sampled = logits.to_categorical()
    same(
        clone(method).fit(logits, y).transform(logits),
        clone(method).fit(sampled, y).transform(sampled),
    )


@PAIRS
def test_clone_pickle_and_chain(name, kind):
    method, prediction, y = case(name, kind)
    fitted = method.fit(prediction, y)
    assert clone(fitted).get_params() == fitted.get_params()
    same(pickle.loads(pickle.dumps(fitted)).transform(prediction), fitted.transform(prediction))
    chain = make_pipeline(clone(method)).fit(prediction, y)
    same(chain.transform(prediction), fitted.transform(prediction))


@PAIRS
def test_groups(name, kind):
    method, prediction, y = case(name, kind)
    groups = np.array(["x", "y"])[np.arange(SAMPLES) % 2]
    fixed = method.fit(prediction, y, groups=groups).transform(prediction, groups=groups)
    rows = groups == "y"
    alone = clone(method).fit(prediction.take(rows), y[rows]).transform(prediction.take(rows))
    if name != "ConformalSets":  # its draws go by the place of a row
        same(fixed.take(rows), alone)
    with pytest.raises(OptionError, match="group 'z' of sample 0 was not in fit"):
        method.transform(prediction, groups=np.where(np.arange(SAMPLES) == 0, "z", groups))


@PAIRS
def test_bad_input(name, kind):
    method, prediction, y = case(name, kind)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        clone(method).transform(prediction)
    with pytest.raises(CaveatError):
        clone(method).fit(prediction, y[:-1])
    with pytest.raises(CaveatError):
        clone(method).fit(y, y)
    with pytest.raises(CaveatError, match="sample_weight"):
        clone(method).fit(prediction, y, sample_weight=[1.0])
    method.fit(prediction, y)
    other = (
        caveat.Categorical(P[:, :2], normalize=True)
        if kind is caveat.Categorical
        else caveat.GaussianLogits(Z[:, :2], Z[:, :2] ** 2)
        if kind is caveat.GaussianLogits
        else None
    )
    if other is not None:
        with pytest.raises(ShapeError, match="fitted on classes"):
            method.transform(other)
