"""Other readings of the protocol: clean test labels, validation outside of the subsets."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.datasets import load_wine

import caveat
from caveat import Categorical
from caveat.exceptions import InvalidValueError, OptionError
from caveat.experiments import Curve, Disentanglement, Protocol
from caveat.experiments._inputs import TrainTestData, hold_out
from caveat.experiments._models import network_of
from caveat.experiments.conditions import Draws
from caveat.experiments.error import part_correlation

SHORT = Protocol(sizes=(0.1, 1), noise=(0, 0.5, 1), repeats=2)
SMALL = {"hidden": (4,), "epochs": 2, "passes": 3}


class Knower:
    """Knows the true class, which is the first feature, and has seen what it was trained on."""

    seen: ClassVar = []  # of the class, which copies share

    def fit(self, X, y):
        self.seen.append(float(np.mean(y != X[:, 0])))

    def predict_distribution(self, X):
        sure = np.eye(2)[X[:, 0].astype(int)]
        return Categorical(np.stack([0.9 * sure + 0.05, 0.8 * sure + 0.1]), classes=[0, 1])


def labels(samples=400):
    y = np.arange(samples) % 2
    return np.stack([y, y], axis=1).astype(float), y


@pytest.mark.parametrize("noise_in", ["train and test", "train"])
def test_noise_in_the_training_labels_alone_leaves_the_test_labels_clean(noise_in):
    X, y = labels()
    Knower.seen.clear()
    protocol = Protocol((0.1, 1), (0, 0.5, 1), 2, noise_in=noise_in)
    # A model that is always right about the true class.
    result = caveat.disentanglement_error(
        Knower(), X, y, test=(X[:200], y[:200]), protocol=protocol, random_state=0
    )
    score = result.curve("noise").score
    # The training labels are as noisy in both readings.
    noisy = np.array(Knower.seen[4:]).reshape(2, 3)
    assert not noisy[:, 0].any()
    np.testing.assert_allclose(noisy[:, 1:], [[0.25, 0.5]] * 2, atol=0.1)
    if noise_in == "train":
        assert (score == 1).all()
    else:
        assert (score[:, 0] == 1).all()
        np.testing.assert_allclose(score[:, 1:], [[0.75, 0.5]] * 2, atol=0.12)
    assert Disentanglement.from_json(result.to_json()).protocol.noise_in == noise_in


def test_noise_in_is_checked():
    with pytest.raises(OptionError, match="noise_in must be one of 'train and test', 'train'"):
        Protocol(noise_in="test")


def test_one_percent_of_wine_with_validation():
    X, y = load_wine(return_X_y=True)
    model = caveat.MCDropoutClassifier(validation_fraction=0.2, patience=1, **SMALL)
    protocol = Protocol(sizes=(0.01, 1), noise=(0, 1), repeats=1)
    result = caveat.disentanglement_error(model, X, y, protocol=protocol, random_state=0)
    assert result.samples == 142 - 28
    assert result.curve("size").samples.tolist() == [3, 114]
    assert (
        "28 of 142 samples to learn from are in no subset: they decide which epoch of each "
        "network is kept"
    ) in result.notes
    for sizes in ("constant-steps", "constant-epochs"):
        other = Protocol((0.01, 1), (0, 1), 1, schedule=sizes)
        caveat.disentanglement_error(model, X, y, protocol=other, random_state=0)


def held(model, y, task="classification", seed=0):
    X = np.arange(len(y), dtype=float)[:, None]
    samples = TrainTestData(X, y, X, y, task)
    return samples, *hold_out(samples, network_of(model), Draws.of(seed))


def test_what_is_held_out_is_in_no_subset_and_keeps_the_shares():
    y = np.repeat([0, 1, 2], [60, 30, 10])
    before, after, notes = held(caveat.MAPClassifier(validation_fraction=0.2), y)
    X, own = after.validation
    assert len(own) == 20
    assert np.bincount(own).tolist() == [12, 6, 2]
    assert sorted([*X[:, 0], *after.X[:, 0]]) == before.X[:, 0].tolist()
    np.testing.assert_array_equal(y[X[:, 0].astype(int)], own)
    assert len(notes) == 1


def test_every_class_is_left_to_learn_from():
    y = np.array([0] * 30 + [1])
    for seed in range(20):
        _, after, _ = held(caveat.MAPClassifier(validation_fraction=0.9), y, seed=seed)
        assert set(after.y) == {0, 1}
    _, after, _ = held(caveat.MAPRegressor(validation_fraction=0.9), np.arange(30.0), "regression")
    assert (len(after.y), len(after.validation[1])) == (3, 27)


@pytest.mark.parametrize(
    "model",
    [
        caveat.MAPClassifier(validation_fraction=None),
        caveat.MAPClassifier(),  # "auto" holds nothing out of few samples
        caveat.EnsembleClassifier(caveat.MAPClassifier(validation_fraction=0.2)),
    ],
)
def test_nothing_is_held_out_of_others(model):
    before, after, notes = held(model, np.arange(40) % 2)
    assert after is before
    assert notes == ()


def test_a_share_that_is_none():
    with pytest.raises(OptionError, match="validation_fraction must be"):
        held(caveat.MAPClassifier(validation_fraction=1.5), np.arange(40) % 2)


def test_validation_labels_are_as_noisy_as_training_labels(monkeypatch):
    from caveat.experiments import _engine

    kept = []
    real = _engine._fitted

    def spied(model, trainings, *rest):
        kept.extend(trainings)
        return real(model, trainings, *rest)

    monkeypatch.setattr(_engine, "_fitted", spied)
    X, y = labels()
    model = caveat.MCDropoutClassifier(validation_fraction=0.5, **SMALL)
    caveat.disentanglement_error(model, X, y, protocol=SHORT, random_state=0)
    for one in kept:
        X_held, y_held = one.validation
        wrong = (y_held != X_held[:, 0]).mean()
        if one.condition.kind == "size" or one.condition.level == 0:
            assert wrong == 0
        else:
            assert wrong == pytest.approx(one.condition.level / 2, abs=0.15)
        assert not np.isin(X_held, one.X).all() or len(one.X) == len(X_held)


def test_a_stopped_run_with_validation_continues(tmp_path):
    X, y = labels(80)
    model = caveat.MCDropoutClassifier(validation_fraction=0.2, **SMALL)
    first, again = (
        caveat.disentanglement_error(
            model, X, y, protocol=SHORT, random_state=0, checkpoint=tmp_path / "run"
        )
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.curve("size").score, again.curve("size").score)
    parts = [one.curve("noise").part_correlation for one in (first, again)]
    np.testing.assert_array_equal(*parts)


# The correlation of both parts over samples


def test_the_correlation_of_parts_is_that_over_test_samples():
    X, y = load_wine(return_X_y=True)
    model = caveat.MCDropoutClassifier(hidden=(16,), epochs=5, passes=5)
    result = caveat.disentanglement_error(
        model, X, y, test=(X[::5], y[::5]), protocol=SHORT, random_state=0
    )
    frame = result.to_frame()
    assert frame["part_correlation"].between(-1, 1).all()
    full = frame[(frame.kind == "size") & (frame.level == 1)]["part_correlation"]
    assert result.part_correlation() == pytest.approx(full.mean())
    again = Disentanglement.from_json(result.to_json())
    assert again.part_correlation("information") == pytest.approx(result.part_correlation())


def test_by_hand():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 50))
    assert part_correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert np.isnan(part_correlation(np.ones(50), b))
    assert np.isnan(part_correlation(a, np.full(50, np.inf)))


def curves(aleatoric, epistemic, together):
    """Sweeps of three levels, with the correlation over samples at all of them."""
    score = [[0.5, 0.7, 0.9]]
    rest = {"part_correlation": np.full((1, 3), together)}
    size = Curve("size", "information", [0.1, 0.5, 1], score, *aleatoric, **rest)
    noise = Curve("noise", "information", [0, 0.5, 1], score, *epistemic, **rest)
    return Disentanglement(curves=(size, noise))


def test_it_is_no_proxy_of_disentanglement():
    flat, falls = [[1.0, 1.0, 1.0]], [[5.0, 3.0, 1.0]]
    # Perfectly disentangled, although both parts are the same for every sample.
    right = curves((flat, falls), (falls, flat), 1.0)
    assert (right.error().value, right.part_correlation()) == (0, 1)
    # Each follows the wrong cause, and over samples they have nothing in common.
    wrong = curves((falls, flat), (flat, falls), 0.0)
    assert (wrong.error().value, wrong.part_correlation()) == (1, 0)


def test_curves_without_it():
    score = [[0.5, 0.7, 0.9]]
    size = Curve("size", "information", [0.1, 0.5, 1], score, score, score)
    noise = Curve("noise", "information", [0, 0.5, 1], score, score, score)
    result = Disentanglement(curves=(size, noise))
    assert np.isnan(result.part_correlation())
    assert result.to_frame()["part_correlation"].isna().all()
    for wrong in ([[0.1]], [[0.1, 0.2, 1.5]]):
        with pytest.raises(InvalidValueError, match="part_correlation of a curve must be corr"):
            Curve("size", "information", [0.1, 0.5, 1], score, score, score, part_correlation=wrong)
