"""Networks over molecules in files, with what calibrates them."""

import json

import numpy as np
import pytest

pytest.importorskip("cuik_molmaker")
torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

from safetensors import safe_open  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402

import caveat  # noqa: E402
from caveat.exceptions import FileFormatError, OptionError  # noqa: E402
from caveat.molecules import MoleculeClassifier, MoleculeRegressor, featurize  # noqa: E402
from caveat.molecules.estimators import METHODS  # noqa: E402

SMILES = ["C" * n + tail for n in range(1, 13) for tail in ("", "O", "N", "=O", "c1ccccc1")]
QUICK = {"hidden": 8, "epochs": 2, "members": 2, "passes": 3, "random_state": 0, "device": "cpu"}
OTHER = ["CCO", "c1ccccc1O", "C", "[Na+].[Cl-]"]


@pytest.fixture(scope="module")
def graphs():
    return featurize(SMILES)


@pytest.fixture(scope="module")
def y(graphs):
    return graphs.atom_counts.astype(float)


def same(one, other):
    assert type(one) is type(other)
    for name in one._fields():
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("method", METHODS)
def test_a_loaded_model_predicts_the_same(graphs, y, method, tmp_path):
    model = MoleculeRegressor(method=method, cache=tmp_path / "cache", **QUICK).fit(graphs, y)
    model.save(tmp_path / "model.safetensors")
    again = caveat.load(tmp_path / "model.safetensors")
    same(again.predict_distribution(OTHER), model.predict_distribution(OTHER))
    # A place on one machine is no part of a model that travels.
    assert again.get_params() == {**model.get_params(), "cache": None}
    again.save(tmp_path / "again.safetensors")
    files = [tmp_path / f"{stem}.safetensors" for stem in ("model", "again")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_classes_targets_and_strengths_for_each_layer(graphs, y, tmp_path):
    import pandas as pd

    labels = np.array(["ring" if "1" in text else "chain" for text in SMILES])
    model = MoleculeClassifier(**QUICK).fit(graphs, labels)
    model.save(tmp_path / "classes")
    again = caveat.load(tmp_path / "classes")
    assert again.predict(OTHER).tolist() == model.predict(OTHER).tolist()
    names = ("edge_input", "edge_update", "atom_output", "dense", "last")
    frame = pd.DataFrame({"size": y, "half": y / 2})
    frame.loc[::3, "half"] = np.nan
    model = MoleculeRegressor(
        method="anchored", anchor_strength=dict.fromkeys(names, 0.5), **QUICK
    ).fit(graphs, frame)
    model.save(tmp_path / "targets")
    again = caveat.load(tmp_path / "targets")
    same(again.predict_distribution(OTHER), model.predict_distribution(OTHER))
    assert again.predict_distribution(OTHER).targets.tolist() == ["size", "half"]


def test_a_recalibrator_travels_with_the_model(graphs, y, tmp_path):
    model = MoleculeRegressor(**QUICK).fit(graphs, y)
    scaling = caveat.VarianceScaling().fit(model.predict_distribution(graphs), y)
    model.save(tmp_path / "model", recalibrator=scaling)
    again = caveat.load(tmp_path / "model")
    prediction = model.predict_distribution(OTHER)
    same(again.recalibrator_.transform(prediction), scaling.transform(prediction))


@pytest.mark.parametrize("cv", [0.3, "prefit"])
def test_a_model_with_its_calibration_is_one_file(graphs, y, cv, tmp_path):
    network = MoleculeRegressor(**QUICK)
    if cv == "prefit":
        network.fit(graphs[:40], y[:40])
    rows = slice(40, None) if cv == "prefit" else slice(None)
    model = caveat.Repaired(
        network, repair="VarianceScaling", conformal=0.8, cv=cv, random_state=0
    ).fit(SMILES[rows], y[rows])
    model.save(tmp_path / "model.safetensors")
    again = caveat.load(tmp_path / "model.safetensors")
    assert isinstance(again, caveat.Repaired)
    same(again.predict_distribution(OTHER), model.predict_distribution(OTHER))
    same(again.predict_interval(OTHER), model.predict_interval(OTHER))
    np.testing.assert_array_equal(again.predict(OTHER), model.predict(OTHER))
    assert again.conformal_.summary() == model.conformal_.summary()
    again.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").stat().st_size == (
        tmp_path / "model.safetensors"
    ).stat().st_size


def test_an_automatic_choice_is_kept_as_its_recalibrator(graphs, y, tmp_path):
    model = caveat.Repaired(MoleculeRegressor(**QUICK), cv=0.5, random_state=0).fit(SMILES, y)
    model.save(tmp_path / "model")
    again = caveat.load(tmp_path / "model")
    same(again.predict_distribution(OTHER), model.predict_distribution(OTHER))
    assert isinstance(model.repair_, caveat.Repair)
    assert type(again.repair_) is type(model.repair_.recalibrator)


def test_what_cannot_be_kept_is_refused(graphs, y, tmp_path):
    from sklearn.linear_model import BayesianRidge

    X = np.arange(40.0)[:, None]
    model = caveat.Repaired(BayesianRidge(), cv=0.3, random_state=0).fit(X, X[:, 0] ** 2)
    with pytest.raises(OptionError, match="a BayesianRidge cannot be saved"):
        model.save(tmp_path / "model")
    with pytest.raises(NotFittedError):
        MoleculeRegressor().save(tmp_path / "model")
    quantiles = {0.1: BayesianRidge().fit(X, X[:, 0]), 0.9: BayesianRidge().fit(X, X[:, 0] + 1)}
    model = caveat.Repaired(quantiles, repair=None, cv="prefit").fit(X, X[:, 0])
    with pytest.raises(OptionError, match="one model, not a dict"):
        model.save(tmp_path / "model")
    model = caveat.Repaired(MoleculeRegressor(**QUICK), cv=0.3, random_state=0).fit(SMILES, y)
    scaling = caveat.VarianceScaling().fit(model.predict_distribution(OTHER), np.zeros(4))
    with pytest.raises(OptionError, match="has its repair already"):
        caveat.estimators.save(model, tmp_path / "model", recalibrator=scaling)


def changed(path, change):
    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["caveat"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(header["model"])
    path.write_bytes(safetensors.save(tensors, {"caveat": json.dumps(header)}))


def test_files_that_do_not_fit_are_refused(graphs, y, tmp_path):
    path = tmp_path / "model.safetensors"
    model = MoleculeRegressor(**QUICK).fit(graphs, y)
    model.save(path)
    changed(path, lambda model: model["settings"].update(hidden=9))
    with pytest.raises(FileFormatError, match="weights of another network"):
        caveat.load(path)
    model.save(path)
    changed(path, lambda model: model["settings"].update(method="other"))
    with pytest.raises(FileFormatError, match="cannot be read"):
        caveat.load(path)
    repaired = caveat.Repaired(MoleculeRegressor(**QUICK), cv=0.3, random_state=0).fit(SMILES, y)
    for lost in ("estimator_", "repair_", "conformal_"):
        repaired.save(path)
        changed(path, lambda model, lost=lost: model["learned"].pop(lost))
        with pytest.raises(FileFormatError, match="not fitted"):
            caveat.load(path)
    repaired.save(path)
    changed(path, lambda model: model["learned"]["estimator_"]["learned"].pop("model_"))
    with pytest.raises(FileFormatError, match="not fitted"):
        caveat.load(path)
    repaired.save(path)
    changed(path, lambda model: model["learned"].update(n_features_in_=3))
    with pytest.raises(FileFormatError, match="cannot be read"):
        caveat.load(path)
