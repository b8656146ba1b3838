"""A fit that fails leaves no model behind that answers with half of the new data."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.validation import check_is_fitted

from caveat import load
from caveat.estimators import (
    DeepEnsembleRegressor,
    EnsembleClassifier,
    EnsembleRegressor,
    MAPClassifier,
    MAPRegressor,
    MCDropoutRegressor,
    save,
)
from caveat.exceptions import LabelError, OptionError, TrainingError

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).normal(size=(60, 3))
NUMBERS = X[:, 0]
LABELS = np.where(X[:, 0] > 0, "yes", "no")
SMALL = {"validation_fraction": None, "hidden": (4,), "epochs": 3, "random_state": 0}


def refuses_to_predict(model):
    for call in ("predict", "predict_distribution"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(model, call)(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("kind", [MAPRegressor, MCDropoutRegressor, DeepEnsembleRegressor])
def test_a_regressor_whose_second_fit_is_refused(kind):
    model = kind(**SMALL).fit(X, NUMBERS)
    with pytest.raises(OptionError, match="patience needs"):
        model.set_params(patience=3).fit(X, 1000 * NUMBERS + 5000)
    refuses_to_predict(model)
    model.set_params(patience=None).fit(X, NUMBERS)
    np.testing.assert_array_equal(model.predict(X), kind(**SMALL).fit(X, NUMBERS).predict(X))


def test_a_classifier_whose_second_fit_is_refused():
    model = MAPClassifier(**SMALL).fit(X, LABELS)
    with pytest.raises(OptionError, match="optimizer must be one of"):
        model.set_params(optimizer="lion").fit(X, np.where(X[:, 0] > 0, "yes", "never"))
    refuses_to_predict(model)


@pytest.mark.parametrize("bad", [np.full((60, 3), np.nan), X[:1], X * 1e300])
def test_samples_that_are_refused(bad):
    model = MAPRegressor(**SMALL).fit(X, NUMBERS)
    with pytest.raises(ValueError, match=r"NaN|minimum of 2|too large"):
        model.fit(bad, NUMBERS[: len(bad)])
    refuses_to_predict(model)


class Fragile(torch.nn.Module):
    """Its answer is infinite once it is told so."""

    broken = False

    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(3, 1)

    def forward(self, x):
        return self.line(x) * (float("inf") if Fragile.broken else 1.0)


@pytest.mark.parametrize("members", [1, 3])
def test_a_second_training_that_diverges(members, monkeypatch):
    model = DeepEnsembleRegressor(
        module=Fragile, head="mean", members=members, epochs=2, random_state=0
    ).fit(X, NUMBERS)
    assert np.isfinite(model.predict(X)).all()
    monkeypatch.setattr(Fragile, "broken", True)
    with pytest.raises(TrainingError, match="training diverged"):
        model.fit(X, 1000 * NUMBERS + 5000)
    monkeypatch.setattr(Fragile, "broken", False)
    refuses_to_predict(model)
    refuses_to_predict(pickle.loads(pickle.dumps(model)))


def test_a_failed_fit_is_not_saved(tmp_path):
    model = MAPRegressor(**SMALL, patience=3)
    with pytest.raises(OptionError, match="patience needs"):
        model.fit(X, NUMBERS)
    with pytest.raises(NotFittedError):
        save(model, tmp_path / "model")


def test_a_recalibrator_goes_with_the_fit_it_was_made_for(tmp_path):
    from caveat import TemperatureScaling

    model = MAPClassifier(**SMALL).fit(X, LABELS)
    scaling = TemperatureScaling().fit(model.predict_distribution(X), LABELS)
    model.save(tmp_path / "model", recalibrator=scaling)
    again = load(tmp_path / "model")
    assert not hasattr(again.fit(X, LABELS), "recalibrator_")


def test_names_of_columns_do_not_outlive_a_fit():
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abc"))
    model = MAPRegressor(**SMALL).fit(frame, NUMBERS)
    assert not hasattr(model.fit(X, NUMBERS), "feature_names_in_")


def test_ensembles_whose_second_fit_is_refused():
    model = EnsembleClassifier(GaussianNB(), members=2, resample=True).fit(X, LABELS)
    with pytest.raises(LabelError, match="y has one class"):
        model.fit(X, np.full(60, "never"))
    refuses_to_predict(model)
    model = EnsembleRegressor(MAPRegressor(**SMALL), members=2).fit(X, NUMBERS)
    with pytest.raises(OptionError, match="patience needs"):
        model.set_params(estimator__patience=3).fit(X, 1000 * NUMBERS)
    refuses_to_predict(model)
