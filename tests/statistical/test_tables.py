"""Default settings on tables: a column with a heavy tail, or at another scale, and noisy labels."""

import numpy as np
import pytest

pytest.importorskip("torch")

from caveat.estimators import (
    ConcreteDropoutClassifier,
    DeepEnsembleClassifier,
    DeepEnsembleRegressor,
    DropConnectClassifier,
    LaplaceClassifier,
    MCDropoutClassifier,
    Problem,
    SWAGClassifier,
    fit_many,
)

TABLES = 6
MANY = 24


def ratio(seed, kind):
    """Return the root mean squared error with a column of noise over that without it."""
    rng = np.random.default_rng([20, seed])
    X = rng.normal(size=(5000, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=5000)
    column = rng.standard_cauchy(5000) if kind == "Cauchy" else 1e6 * rng.normal(size=5000)
    errors = []
    for inputs in (X, np.column_stack([X, column])):
        model = DeepEnsembleRegressor(
            members=4, hidden=(32, 32), epochs=15, learning_rate=0.01, random_state=seed
        ).fit(inputs[:4000], y[:4000])
        errors.append(np.sqrt(np.mean((model.predict(inputs[4000:]) - y[4000:]) ** 2)))
    return errors[1] / errors[0]


@pytest.mark.parametrize("kind", ["Cauchy", "10^6"])
def test_a_column_costs_less_than_a_twentieth_of_the_error(kind, promise):
    ratios = np.array([ratio(seed, kind) for seed in range(TABLES)])
    promise(
        "Networks on tables",
        f"RMSE with a column of noise ({kind}) over that without",
        "4,000 rows, 4 columns that matter; 4 members",
        TABLES,
        ratios.mean(),
        "at most 1.05",
    )
    # Three standard errors of the mean of a few tables.
    assert ratios.mean() + 3 * ratios.std(ddof=1) / TABLES**0.5 < 1.05


def noisy_labels(samples, seed):
    """Return inputs of eight columns, labels, and the probabilities from which they are drawn."""
    rng = np.random.default_rng([21, seed])
    X = rng.normal(size=(samples, 8))
    p = 1 / (1 + np.exp(-X[:, 0]))
    return X, (rng.random(samples) < p).astype(int), p


@pytest.mark.parametrize(
    "kind",
    [
        DeepEnsembleClassifier, MCDropoutClassifier, ConcreteDropoutClassifier,
        DropConnectClassifier, LaplaceClassifier, SWAGClassifier,
    ],
)  # fmt: skip
def test_classifiers_do_not_learn_noisy_labels_by_heart(kind, promise):
    # The expected log loss, without the noise of test labels. Inputs tell the difference between
    # that of one half for everybody and that of the true probabilities. With nothing held out, more
    # than a quarter (MC dropout) to more than all of it (deep ensembles) is lost.
    # A network in a few tables loses half of it, so that it takes many to see the mean.
    problems = [Problem(*noisy_labels(1500, seed)[:2], random_state=seed) for seed in range(MANY)]
    X, _, p = noisy_labels(4000, MANY)
    predicted = np.array([model.predict_proba(X) for model in fit_many(kind(), problems)])
    losses = -(np.log(predicted[..., 1]) * p + np.log(predicted[..., 0]) * (1 - p)).mean(axis=1)
    known = np.log(2) + (np.log(p) * p + np.log(1 - p) * (1 - p)).mean()
    lost = (losses - np.log(2)) / known + 1
    promise(
        "Networks on tables",
        f"share of what inputs tell about noisy labels that {kind.__name__} loses",
        "1,500 rows, 8 columns, one of which matters; by log loss",
        MANY,
        lost.mean(),
        "at most 0.25",
    )
    assert lost.mean() + lost.std(ddof=1) / MANY**0.5 < 0.25
