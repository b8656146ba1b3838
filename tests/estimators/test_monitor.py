"""Estimators stop by a metric of the registry, and lower their rate on a plateau."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import mean_absolute_error, roc_auc_score

import caveat
from caveat.estimators import (
    BatchEnsembleClassifier,
    BatchEnsembleRegressor,
    DeepEnsembleClassifier,
    MAPClassifier,
    MAPRegressor,
    Problem,
    QuantileNetworkRegressor,
    SWAGClassifier,
    fit_many,
    preset,
)
from caveat.exceptions import OptionError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)).astype(np.float32)
LABELS = np.where(X[:, 0] + RNG.normal(size=120) > 0, "yes", "no")
NUMBERS = 100 + 20 * np.stack([X[:, 0], X[:, 1]], axis=1) + RNG.normal(size=(120, 2))
HELD = X[80:], LABELS[80:]
SMALL = {"hidden": (8,), "epochs": 12, "batch_size": 20, "random_state": 0, "scheduler": "constant"}


@pytest.mark.parametrize("head", ["softmax", "gaussian-logits"])
def test_the_best_area_is_kept(head):
    model = MAPClassifier(head=head, monitor="auc", **SMALL)
    model.fit(X[:80], LABELS[:80], validation=HELD)
    areas = model.history_[0]["monitor"]
    kept = roc_auc_score(HELD[1] == "yes", model.predict_proba(HELD[0])[:, 1])
    assert kept == pytest.approx(areas.max(), abs=1e-9)
    assert len(areas) == 12


def test_errors_are_in_units_of_the_scaled_targets():
    model = MAPRegressor(monitor="mae", **SMALL)
    model.fit(X[:80], NUMBERS[:80], validation=(X[80:], NUMBERS[80:]))
    scaled = [mean_absolute_error(NUMBERS[80:, k], model.predict(X[80:])[:, k]) for k in (0, 1)]
    expected = np.mean(np.array(scaled) / model.y_scale_)
    assert model.history_[0]["monitor"].min() == pytest.approx(expected, rel=1e-5)


def test_a_value_in_between_is_approached():
    """A ratio of coverages is best at 1, so that the distance from it counts."""
    model = MAPRegressor(monitor="picp", **SMALL)
    model.fit(X[:80], NUMBERS[:80], validation=(X[80:], NUMBERS[80:]))
    inside = []
    for coverage in (0.6827, 0.9545):
        interval = model.predict_interval(X[80:], coverage=coverage)
        share = ((interval.lower <= NUMBERS[80:]) & (NUMBERS[80:] <= interval.upper)).mean(axis=0)
        inside.append(np.abs(share / coverage - 1))
    assert model.history_[0]["monitor"].min() == pytest.approx(np.mean(inside), abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "options", "y"),
    [
        (DeepEnsembleClassifier, {"members": 2, "monitor": "ece"}, LABELS),
        (BatchEnsembleClassifier, {"members": 3, "monitor": "auc"}, LABELS),
        (BatchEnsembleRegressor, {"members": 3, "monitor": "crps", "head": "mean-std"}, NUMBERS),
        (BatchEnsembleRegressor, {"members": 3, "monitor": "mae", "head": "mean"}, NUMBERS),
        (QuantileNetworkRegressor, {"monitor": "mae"}, NUMBERS),
        (SWAGClassifier, {"monitor": "auc", "plateau": {"patience": 2}, "snapshots": 3}, LABELS),
    ],
)
def test_every_kind_of_network(kind, options, y):
    model = kind(**SMALL | {"epochs": 3}, **options, patience=2).fit(X, y)
    assert all(len(one["monitor"]) == len(one["validation"]) for one in model.history_)


def test_a_plateau_reaches_the_training():
    options = {**SMALL, "monitor": "auc", "plateau": {"factor": 0.0, "patience": 1}}
    model = MAPClassifier(**options | {"epochs": 30}).fit(X[:80], LABELS[:80], validation=HELD)
    losses = model.history_[0]["validation"]
    assert len(set(losses[-10:])) == 1
    assert len(set(losses)) > 1


def test_problems_that_train_together():
    problems = [
        Problem(X, LABELS, rows=np.arange(90)), Problem(X, LABELS == "yes", rows=np.arange(90)),
    ]  # fmt: skip
    together = fit_many(MAPClassifier(monitor="auc", **SMALL), problems)
    alone = MAPClassifier(monitor="auc", **SMALL).fit(X[:90], LABELS[:90])
    for model in together:
        np.testing.assert_allclose(
            model.history_[0]["monitor"], alone.history_[0]["monitor"], atol=0.02
        )


def test_loaders(tmp_path):
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    def load(rows):
        codes = torch.from_numpy((LABELS[rows] == "yes").astype(np.int64))
        return DataLoader(TensorDataset(torch.from_numpy(X[rows]), codes), batch_size=20)

    model = MAPClassifier(
        module=torch.nn.Linear(4, 2), monitor="auc", epochs=4, random_state=0, patience=3
    )
    model.fit(load(slice(0, 80)), validation=load(slice(80, 120)))
    areas = model.history_[0]["monitor"]
    kept = roc_auc_score(HELD[1] == "yes", model.predict_proba(HELD[0])[:, 1])
    assert kept == pytest.approx(areas.max(), abs=1e-9)


def test_settings_are_kept_in_files(tmp_path):
    options = {**SMALL, "monitor": "auc", "plateau": {"factor": 0.5, "patience": 8}}
    model = MAPClassifier(**options).fit(X, LABELS)
    model.save(tmp_path / "model")
    again = caveat.load(tmp_path / "model")
    assert (again.monitor, again.plateau) == (model.monitor, model.plateau)
    assert clone(again).plateau == model.plateau


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"monitor": "acu"}, "acu"),
        ({"monitor": "crps"}, "none of the metrics .* can be asked of a Categorical"),
        ({"monitor": len}, "monitor must be the name of a metric"),
        ({"plateau": 0.5}, "plateau must be a dictionary of some of"),
        ({"plateau": {"factr": 0.5}}, "plateau must be a dictionary of some of"),
        ({"monitor": "auc", "validation_fraction": None}, "monitor needs validation_fraction"),
        ({"plateau": {}, "validation_fraction": None}, "plateau needs validation_fraction"),
    ],
)
def test_bad_settings(options, words):
    with pytest.raises(ValueError, match=words):
        MAPClassifier(**SMALL, **options).fit(X, LABELS)


def test_a_metric_without_a_best_value():
    with pytest.raises(OptionError, match="which has no best value"):
        MAPRegressor(monitor="dispersion", **SMALL).fit(X, NUMBERS)


def test_one_class_has_no_area():
    some = LABELS == "yes"
    with pytest.raises(ValueError, match="monitor is nan"):
        MAPClassifier(monitor="auc", **SMALL).fit(X, LABELS, validation=(X[some], LABELS[some]))


def test_published_settings():
    settings = preset("ppg-af-alexnet", "map")
    assert (settings["monitor"], settings["patience"]) == ("auc", 15)
    assert settings["plateau"] == {"factor": 0.5, "patience": 8}
    assert "monitor" not in preset("ppg-bp-alexnet", "map")
