"""What a column with a heavy tail, or at another scale, costs an ensemble of default settings."""

import numpy as np
import pytest

pytest.importorskip("torch")

from caveat.estimators import DeepEnsembleRegressor

TABLES = 6


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
