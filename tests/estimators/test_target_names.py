"""Targets are called what the columns of y are called."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from caveat import load
from caveat.estimators import (
    DeepEnsembleRegressor,
    EnsembleRegressor,
    MAPRegressor,
    Problem,
    QuantileNetworkRegressor,
    fit_many,
)

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).normal(size=(40, 3))
TWO = pd.DataFrame({"height": X[:, 0], "weight": X[:, 1]})
SMALL = {"hidden": (4,), "epochs": 2, "random_state": 0}
KINDS = [
    MAPRegressor(**SMALL),
    MAPRegressor(head="mean", **SMALL),
    DeepEnsembleRegressor(members=2, **SMALL),
    QuantileNetworkRegressor(**SMALL),
    EnsembleRegressor(MAPRegressor(**SMALL), members=2),
    EnsembleRegressor(LinearRegression(), members=2, resample=True),
]


@pytest.mark.parametrize("model", KINDS)
def test_names_of_columns_and_of_a_series(model):
    model = clone(model).fit(X, TWO)
    assert model.predict_distribution(X).targets.tolist() == ["height", "weight"]
    assert model.predict_interval(X, 0.5).targets.tolist() == ["height", "weight"]
    assert model.predict(X).shape == (40, 2)
    model.fit(X, TWO["weight"])
    assert model.predict_distribution(X).targets.tolist() == ["weight"]
    assert model.predict(X).shape == (40,)
    model.fit(X, TWO.to_numpy())
    assert model.predict_distribution(X).targets.tolist() == [0, 1]


@pytest.mark.parametrize("model", KINDS[:5])
def test_names_are_saved(model, tmp_path):
    model = clone(model).fit(X, TWO)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict_distribution(X) == model.predict_distribution(X)


def test_problems_have_names_of_their_own():
    problems = [
        Problem(X, TWO, rows=np.arange(20)),
        Problem(X, TWO.rename(columns={"height": "size"})),
        Problem(X, TWO.to_numpy()),
        Problem(X, torch.tensor(TWO.to_numpy())),
    ]
    found = [model.predict_distribution(X) for model in fit_many(MAPRegressor(**SMALL), problems)]
    assert [part.targets.tolist() for part in found] == [
        ["height", "weight"],
        ["size", "weight"],
        [0, 1],
        [0, 1],
    ]


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(X[:, 0]),
        pd.Series(X[:, 0], name=""),
        pd.Series(X[:, 0], name=("a", "b")),
        pd.DataFrame(X[:, :2]),
        pd.DataFrame(X[:, :2], columns=["a", 1]),
        pd.DataFrame(X[:, :2], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
    ],
)
def test_names_that_name_nothing_are_numbers(y):
    found = MAPRegressor(**SMALL).fit(X, y).predict_distribution(X)
    assert found.targets.tolist() == list(range(y.ndim))


@pytest.mark.parametrize("model", KINDS)
def test_frames_of_polars(model):
    polars = pytest.importorskip("polars")
    y = polars.DataFrame({"height": X[:, 0], "weight": X[:, 1]})
    found = clone(model).fit(X, y).predict_distribution(X)
    assert found.targets.tolist() == ["height", "weight"]
