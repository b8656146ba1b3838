"""Samples to check by are none of those to learn from, however often a row is given."""

import numpy as np
import pytest

from caveat.estimators import (
    BootstrapClassifier,
    EnsembleClassifier,
    EnsembleRegressor,
    MAPClassifier,
    MAPRegressor,
    Problem,
    fit_many,
)
from caveat.exceptions import LabelError, OptionError

pytest.importorskip("torch")

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
LABELS = np.where(np.arange(60) % 3 == 0, "rare", "common")
SMALL = {"hidden": (4,), "epochs": 2, "batch_size": 16, "random_state": 0}


@pytest.fixture
def copies(monkeypatch):
    """Return the copies of all trainings that follow."""
    from caveat import nn

    seen = []
    train = nn.train

    def spy(*args, copies, **options):
        seen.extend(copies)
        return train(*args, copies=copies, **options)

    monkeypatch.setattr(nn, "train", spy)
    return seen


def check_apart(copy):
    assert len(copy.rows)
    assert len(copy.validation)
    assert not set(copy.rows) & set(copy.validation)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (EnsembleRegressor(MAPRegressor(**SMALL, validation_fraction=0.2), 3, resample=True, random_state=0), X[:, 0]),
        (EnsembleClassifier(MAPClassifier(**SMALL, validation_fraction=0.2), 3, resample=True, random_state=0), LABELS),
        (BootstrapClassifier(**SMALL, members=3, validation_fraction=0.2), LABELS),
    ],
)  # fmt: skip
def test_members_on_resamples(model, y, copies):
    model.fit(X, y)
    assert len(copies) == 3
    for copy in copies:
        check_apart(copy)


def test_repeated_rows_count_as_often_as_they_occur(copies):
    rows = np.repeat(np.arange(30), np.arange(30) % 3 + 1)[::-1]
    estimator = MAPClassifier(**SMALL, validation_fraction=0.3)
    fit_many(estimator, [Problem(X, LABELS, rows=rows)])
    (copy,) = copies
    check_apart(copy)
    parts = np.concatenate([copy.rows, copy.validation])
    np.testing.assert_array_equal(np.bincount(parts), np.bincount(rows))
    held = np.unique(copy.validation)
    assert len(held) == 9  # 0.3 of the 30 distinct ones
    assert (LABELS[held] == "rare").sum() == 3  # a third of them, as of all


def test_rows_in_any_order_are_split_as_the_samples_themselves():
    rows = rng.permutation(60)[:40]
    estimator = MAPClassifier(**SMALL, validation_fraction=0.3)
    (together,) = fit_many(estimator, [Problem(X, LABELS, rows=rows)])
    alone = MAPClassifier(**SMALL, validation_fraction=0.3).fit(X[rows], LABELS[rows])
    np.testing.assert_allclose(together.predict_proba(X), alone.predict_proba(X), atol=1e-6)


def test_a_class_of_one_sample_stays_one_however_often_it_is_given():
    labels = np.where(np.arange(60) == 7, "single", LABELS)
    problem = Problem(X, labels, rows=np.append(np.arange(60), [7, 7]))
    with pytest.raises(
        LabelError, match=r"class 'single' has one sample .*, so it cannot be in both"
    ):
        fit_many(MAPClassifier(**SMALL, validation_fraction=0.3), [problem])


def test_a_fraction_that_is_none():
    with pytest.raises(
        OptionError, match="validation_fraction must be one of 'auto', None, or a share"
    ):
        MAPClassifier(**SMALL, validation_fraction="a").fit(X, LABELS)
    for fraction in (True, [0.2], np.nan):
        with pytest.raises(OptionError, match="validation_fraction must be a number strictly"):
            MAPClassifier(**SMALL, validation_fraction=fraction).fit(X, LABELS)
    problem = Problem(X, LABELS, rows=[0, 0, 0, 1, 1, 2, 3, 3])
    with pytest.raises(OptionError, match=r"=0\.1 cannot be held out of 4 samples"):
        fit_many(MAPClassifier(**SMALL, validation_fraction=0.1), [problem])


def test_gaussian_logits_are_checked_by_the_same_noise_alone_and_together():
    y = rng.integers(3, size=60)
    settings = {"head": "gaussian-logits", **SMALL, "epochs": 20}
    problems = [
        Problem(X, y, parameters={"validation_fraction": fraction}) for fraction in (0.2, 0.5)
    ]
    for model, problem in zip(fit_many(MAPClassifier(**settings), problems), problems, strict=True):
        alone = MAPClassifier(**settings, **problem.parameters).fit(X, y)
        np.testing.assert_allclose(
            model.history_[0]["validation"], alone.history_[0]["validation"], rtol=1e-4
        )
        found, expected = model.predict_distribution(X), alone.predict_distribution(X)
        np.testing.assert_allclose(found.mean, expected.mean, atol=1e-4)
        np.testing.assert_allclose(found.variance, expected.variance, atol=1e-4)


def test_classes_are_held_out_from_fewer_samples_on():
    """A network that learns labels by heart is sure of them; the best epoch is before that."""
    assert MAPClassifier().held_out_share(999) is None
    assert MAPClassifier().held_out_share(1_000) == 0.1
    assert MAPRegressor().held_out_share(1_000) is None
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 8))
    chances = 1 / (1 + np.exp(-X[:, 0]))
    labels = (rng.random(3_000) < chances).astype(int)
    settings = {"hidden": (32, 32), "epochs": 20, "learning_rate": 0.02, "random_state": 0}
    losses = []
    for share in ("auto", None):
        model = MAPClassifier(validation_fraction=share, **settings).fit(X[:1_000], labels[:1_000])
        p = model.predict_proba(X[1_000:])[:, 1]
        losses.append(np.mean(-chances[1_000:] * np.log(p) - (1 - chances[1_000:]) * np.log(1 - p)))
    assert losses[0] < losses[1]
