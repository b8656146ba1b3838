"""Batch ensembles: many members in one network."""

import numpy as np
import pytest

from caveat import load
from caveat.estimators import BatchEnsembleClassifier, BatchEnsembleRegressor, Problem, fit_many
from caveat.exceptions import ShapeError

torch = pytest.importorskip("torch")
from caveat.estimators import batch_ensemble  # noqa: E402
from caveat.nn import MLP  # noqa: E402

rng = np.random.default_rng(1)
X = rng.normal(size=(60, 3))
LABELS = np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [-0.5, 0.5])
NUMBERS = X @ [1.0, -2.0, 0.5] + 3 + rng.normal(size=60)
QUICK = {"hidden": (6,), "epochs": 3, "batch_size": 16, "random_state": 0, "members": 5}


def test_every_member_is_a_member_of_the_prediction(monkeypatch):
    model = BatchEnsembleClassifier(**QUICK).fit(X, LABELS)
    found = model.predict_distribution(X).probabilities
    assert found.shape == (5, 60, 3)
    network = model._trained().module(0)
    with torch.no_grad():
        values = network(torch.from_numpy((X - model.offset_).astype(np.float32)))
    np.testing.assert_allclose(found, values.softmax(-1).transpose(0, 1), atol=1e-6)
    assert np.ptp(found, axis=0).max() > 0.01
    # As many rows at a time as memory allows; their number changes nothing.
    monkeypatch.setattr(batch_ensemble, "_ROWS", 35)
    np.testing.assert_allclose(model.predict_distribution(X).probabilities, found, atol=1e-6)


def test_numbers_have_a_spread_of_each_member():
    model = BatchEnsembleRegressor(adapters="all", **{**QUICK, "epochs": 60}).fit(X, NUMBERS)
    prediction = model.predict_distribution(X)
    assert prediction.mean.shape == (5, 60, 1)
    assert model.score(X, NUMBERS) > 0.7
    points = BatchEnsembleRegressor(head="mean", **QUICK).fit(X, NUMBERS).predict_distribution(X)
    assert points.mean.shape == (5, 60, 1)


def test_many_train_as_each_alone():
    problems = [Problem(X, LABELS, rows=np.arange(i, 60, 2), random_state=i) for i in range(2)]
    together = fit_many(BatchEnsembleClassifier(**QUICK), problems)
    assert together[0].engine_.startswith("in lock-step")
    for i, model in enumerate(together):
        alone = BatchEnsembleClassifier(**{**QUICK, "random_state": i}).fit(X[i::2], LABELS[i::2])
        np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-4)
    # Networks of other numbers of members are other networks.
    several = [Problem(X, LABELS, parameters={"members": count}) for count in (2, 3)]
    models = fit_many(BatchEnsembleClassifier(**QUICK), several)
    assert [model.predict_distribution(X).members for model in models] == [2, 3]


def test_files_hold_all_members(tmp_path):
    model = BatchEnsembleRegressor(**QUICK).fit(X, NUMBERS)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict_distribution(X) == model.predict_distribution(X)


def test_a_module_brings_its_own_members():
    def make():
        return MLP(3, 3, hidden=(4,), members=5)

    model = BatchEnsembleClassifier(module=make, **QUICK).fit(X, LABELS)
    assert model.predict_distribution(X).members == 5
    text = r"shape \(samples, 7, 3\) for head .* it returns \(samples, 5, 3\)"
    with pytest.raises(ShapeError, match=text):
        BatchEnsembleClassifier(module=make, **{**QUICK, "members": 7}).fit(X, LABELS)
