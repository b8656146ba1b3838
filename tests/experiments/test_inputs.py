"""Bad input is refused before anything trains."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import caveat
from caveat.exceptions import (
    CaveatError,
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
    UnknownNameError,
    UnsupportedPredictionError,
)
from caveat.experiments import Protocol
from caveat.experiments._models import copy_of, expected, members_of, words_for

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.arange(60) % 3
TARGET = X[:, 0] + 0.1 * X[:, 1]


class Untrainable:
    """Says whether it was trained."""

    def fit(self, X, y):
        raise AssertionError("trained")

    def predict_distribution(self, X):
        raise AssertionError("used")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"y": np.zeros(60)}, InvalidValueError, "y is 0.0 in all 60 samples; there is nothing to learn"),
        ({"y": ["a"] * 60}, InvalidValueError, "y is 'a' in all 60 samples"),
        ({"y": np.full(60, 1.5)}, InvalidValueError, "y is 1.5 in all 60 samples"),
        ({"y": np.append(Y[:-1], 7)}, LabelError, "y has classes with one sample: 7; leave them out, or join them with others; if the model predicts numbers, pass decomposition='total_variance'"),
        ({"y": np.append(["a", "b"] * 29 + ["a"], "c")}, LabelError, "y has classes with one sample: 'c'; leave them out, or join them with others"),
        ({"y": np.arange(60.0)}, LabelError, "with one sample: 0.0, 1.0, 2.0, 3.0, 4.0, ...; leave them out, or join them with others; if the model predicts numbers, pass decomposition='total_variance'"),
        ({"y": Y[:50]}, ShapeError, "X has 60 samples and y 50"),
        ({"y": None}, LabelError, "y is None"),
        ({"y": []}, ShapeError, "y is empty"),
        ({"y": np.c_[Y, Y]}, ShapeError, "one label for each sample; got shape (60, 2); take one target"),
        ({"y": np.where(Y == 2, np.nan, TARGET)}, InvalidValueError, "y of sample 2 is nan"),
        ({"y": np.array([1, "a"] * 30, dtype=object)}, LabelError, "y mixes labels of the types int, str"),
        ({"y": np.array([1, "a", None] * 20, dtype=object)}, LabelError, "y of sample 2 is missing; leave the sample out"),
        ({"test": X}, OptionError, "test must be a pair (X, y) of samples; got a ndarray"),
        ({"test": (X, Y, Y)}, OptionError, "test must be a pair (X, y)"),
        ({"test": (X, Y + 1)}, LabelError, "test has classes that are not among those to learn from: 3"),
        ({"test": (X, Y[:5])}, ShapeError, "X of test has 60 samples and y of test 5"),
        ({"test": (X[:, :2], Y)}, ShapeError, "samples of test have shape (2,), those of X (3,)"),
        ({"test": (X, 0 * Y)}, InvalidValueError, "y of test is 0 in all 60 samples"),
        ({"protocol": Protocol(sizes=(0.01, 0.02, 1))}, OptionError, "sizes 0.01 and 0.02 of 48 samples both come to 3, one for each class; leave the smaller one out"),
        ({"protocol": Protocol(sizes=(0.5, 0.501))}, OptionError, "both come to 24; leave"),
        ({"protocol": "fast"}, OptionError, "protocol must be"),
        ({"confidence": 1}, OptionError, "confidence must be"),
        ({"score": "accuracy"}, OptionError, "score must be score(y_true, y_pred) -> float, or None; got 'accuracy'"),
        ({"random_state": -1}, OptionError, "random_state must be"),
        ({"decomposition": "infromation"}, UnknownNameError, "did you mean 'information'"),
        ({"decomposition": []}, OptionError, "decomposition must be a name or a sequence of names; got []"),
        ({"decomposition": 3}, OptionError, "decomposition must be a name"),
        ({"decomposition": ["it", "total_variance"]}, OptionError, "decomposition 'total_variance' is not for classification; use information"),
        ({"decomposition": "total_variance", "y": np.array([1.5, np.nan] * 30, dtype=object)}, LabelError, "y of sample 1 is missing"),
        ({"decomposition": "total_variance", "y": TARGET * 1e200}, InvalidValueError, "e+200; variances of such numbers are beyond what a float can hold; give them in another unit"),
        ({"decomposition": "total_variance", "y": TARGET * 1e-200}, InvalidValueError, "e-200; variances of such numbers are beyond what a float can hold"),
        ({"decomposition": "total_variance", "y": ["a", "b"] * 30}, LabelError, "y must be numbers for a regressor"),
    ],
)  # fmt: skip
def test_bad_input(changes, error, message):
    given = {"X": X, "y": Y, "random_state": 0, **changes}
    with pytest.raises(error, match=re.escape(message)):
        caveat.disentanglement_error(Untrainable(), **given)


def test_labels_in_columns_of_any_type():
    def error(X, y):
        forest = RandomForestClassifier(n_estimators=5, max_depth=3)
        protocol = Protocol(sizes=(0.2, 1), noise=(0, 1), repeats=2)
        result = caveat.disentanglement_error(forest, X, y, protocol=protocol, random_state=0)
        return result.error().value

    expected = error(X, Y)
    index = np.arange(60)[::-1]
    for y in (Y.astype(object), pd.Series(Y, index, dtype="Int64"), np.ma.array(Y)):
        assert error(pd.DataFrame(X, index % 7), y) == pytest.approx(expected)
    masked = np.ma.array(X, mask=X > 1)
    assert error(masked, Y) == pytest.approx(error(np.where(X > 1, np.nan, X), Y))
    with pytest.raises(InvalidValueError, match="y of sample 2 is nan"):
        error(X, np.ma.array(Y, mask=Y == 2))


def test_models_that_say_what_they_predict_get_other_advice():
    one = np.append(Y[:-1], 7)
    with pytest.raises(LabelError, match=r"one sample: 7; leave them out, or join .* others$"):
        caveat.disentanglement_error(RandomForestClassifier(), X, one)
    with pytest.raises(LabelError, match=r"one sample: 7.0; use a regressor for a target of .*s$"):
        caveat.disentanglement_error(RandomForestClassifier(), X, one.astype(float))


def test_too_few_samples_to_hold_out():
    y = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    with pytest.raises(OptionError, match=r"sizes 0.25 and 0.5 of 4 samples both come to 4"):
        caveat.disentanglement_error(Untrainable(), X[:8], y, protocol="cheap")
    with pytest.raises(
        InvalidValueError, match=r"the held-out y is 0.* in all 1 samples; pass test="
    ):
        caveat.disentanglement_error(
            Untrainable(), X[:2], [0.25, 0.5], decomposition="total_variance"
        )
    with pytest.raises(InvalidValueError, match=r"the held-out y is 0.0 in all .* pass test="):
        caveat.disentanglement_error(
            Untrainable(), X, np.r_[np.zeros(59), 1], decomposition="total_variance", random_state=1
        )


@pytest.mark.parametrize(
    ("model", "name", "wrapper"),
    [
        (DecisionTreeClassifier(), "DecisionTreeClassifier", "EnsembleClassifier"),
        (LogisticRegression(), "LogisticRegression", "EnsembleClassifier"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "LogisticRegression", "EnsembleClassifier"),
        (GridSearchCV(DecisionTreeClassifier(), {}), "DecisionTreeClassifier", "EnsembleClassifier"),
        (RandomForestClassifier(n_estimators=1), "RandomForestClassifier", "EnsembleClassifier"),
        (LinearRegression(), "LinearRegression", "EnsembleRegressor"),
        (caveat.MAPClassifier(), "MAPClassifier", "EnsembleClassifier"),
        (caveat.MAPRegressor(), "MAPRegressor", "EnsembleRegressor"),
        (caveat.MAPClassifier(head="gaussian-logits"), "MAPClassifier", "EnsembleClassifier"),
        (caveat.DeepEnsembleClassifier(members=1), "DeepEnsembleClassifier", "EnsembleClassifier"),
        (caveat.MCDropoutClassifier(passes=1), "MCDropoutClassifier", "EnsembleClassifier"),
    ],
)  # fmt: skip
def test_models_without_members(model, name, wrapper):
    message = f"model {name} has one member, .* zero by construction .* caveat.{wrapper}"
    with pytest.raises(OptionError, match=message):
        caveat.disentanglement_error(model, X, TARGET if "Regress" in name + wrapper else Y)


@pytest.mark.parametrize(
    ("model", "members"),
    [
        (RandomForestClassifier(), 100),
        (ExtraTreesClassifier(n_estimators=7), 7),
        (BaggingRegressor(n_estimators=6), 6),
        (VotingClassifier([("a", None), ("b", "drop"), ("c", None)]), 2),
        (caveat.DeepEnsembleClassifier(), 10),
        (caveat.BootstrapRegressor(members=4), 4),
        (caveat.MCDropoutClassifier(passes=9), 9),
        (caveat.FlipoutClassifier(passes=8), 8),
        (caveat.LaplaceClassifier(passes=8), 8),
        (caveat.BatchEnsembleRegressor(members=6), 6),
        (caveat.MAPRegressor(), 1),
        (caveat.EnsembleClassifier(DecisionTreeClassifier(), members=3), 3),
        (caveat.EnsembleClassifier(caveat.MCDropoutClassifier(passes=5), members=3), 15),
        (caveat.EnsembleClassifier(Untrainable(), members=3), None),
        (make_pipeline(StandardScaler(), BaggingClassifier(n_estimators=5)), 5),
        (Untrainable(), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_members_are_known_before(model, members):
    assert members_of(model) == members


def test_kinds_of_predictions_are_known_before():
    logits = caveat.DeepEnsembleClassifier(head="gaussian-logits")
    assert expected(logits, "classification") is caveat.GaussianLogits
    assert expected(caveat.EnsembleClassifier(logits), "classification") is caveat.GaussianLogits
    assert expected(caveat.MCDropoutRegressor(), "regression") is caveat.Gaussian
    assert expected(RandomForestRegressor(), "regression") is caveat.Gaussian
    assert expected(Untrainable(), "regression") is None
    for model in (RandomForestClassifier(), caveat.DeepEnsembleClassifier()):
        with pytest.raises(
            OptionError, match=r"needs logits with a learned spread, and .* has none"
        ):
            caveat.disentanglement_error(model, X, Y, decomposition="gl")
    with pytest.raises(OptionError, match="says quantiles, which have no split"):
        caveat.disentanglement_error(caveat.QuantileNetworkRegressor(), X, TARGET)
    with pytest.raises(
        OptionError, match="'information' is not for regression; use total_variance"
    ):
        caveat.disentanglement_error(RandomForestRegressor(), X, TARGET, decomposition="it")


def test_models_that_are_none():
    with pytest.raises(
        OptionError, match=r"model is the class .*; pass an object, RandomForestClassifier\(\)"
    ):
        caveat.disentanglement_error(RandomForestClassifier, X, Y)
    with pytest.raises(OptionError, match="model must have fit; got 'forest'"):
        caveat.disentanglement_error("forest", X, Y)

    class OnlyFits:
        def fit(self, X, y):
            raise AssertionError

    with pytest.raises(OptionError, match="or have predict_distribution"):
        caveat.disentanglement_error(OnlyFits(), X, Y)


class Fake:
    """Answers whatever it was made with."""

    def __init__(self, answer, random_state=None):
        self.answer, self.random_state = answer, random_state

    def fit(self, X, y):
        return None

    def predict_distribution(self, X):
        return self.answer(X, self.random_state)


def flat(X, seed):
    return caveat.Categorical(np.full((2, len(X), 3), 1 / 3))


def sure(X, seed):
    return caveat.Gaussian(np.zeros((2, len(X), 1)), 1.0)


ONE = "predict_distribution gave one member, so its epistemic uncertainty by {} is zero by construction and there is nothing to disentangle; give what each member says: {}"


@pytest.mark.parametrize(
    ("answer", "y", "options", "error", "message"),
    [
        (lambda X, seed: X, Y, {}, UnsupportedPredictionError, "must give a Categorical or a GaussianLogits for classification; got a ndarray"),
        (sure, Y, {}, UnsupportedPredictionError, "must give a Categorical or a GaussianLogits for classification; got a Gaussian; if the model predicts numbers, pass decomposition='total_variance'"),
        (sure, Y * 1.0, {}, UnsupportedPredictionError, "got a Gaussian; if the model predicts numbers, pass decomposition='total_variance'"),
        (flat, TARGET, {}, UnsupportedPredictionError, "must give a Gaussian for regression; got a Categorical"),
        (lambda X, seed: flat(X[:1], seed), Y, {}, ShapeError, "gave 1 samples; it was asked for 12"),
        (lambda X, seed: caveat.Gaussian(np.zeros((2, len(X), 2)), 1.0), TARGET, {}, ShapeError, "gave 2 targets; there must be one"),
        (flat, np.array(list("abc"))[Y], {}, LabelError, "classes of the prediction are 0, 1, 2, and y has 'a', 'b', 'c'"),
        (flat, Y, {"decomposition": "gl"}, CaveatError, "gaussian_logits splits a GaussianLogits"),
        (lambda X, seed: caveat.Categorical(np.full((len(X), 3), 1 / 3)), Y, {}, UnsupportedPredictionError, ONE.format("'information'", "Categorical(probabilities) of shape (members, samples, classes)")),
        (lambda X, seed: caveat.Gaussian(X[:, 0], 1.0), TARGET, {}, UnsupportedPredictionError, ONE.format("'total_variance'", "Gaussian.from_members(means, variances)")),
        (lambda X, seed: caveat.GaussianLogits(np.zeros((1, len(X), 3)), np.ones((1, len(X), 3))), Y, {"decomposition": ["gl", "it"]}, UnsupportedPredictionError, ONE.format("'information'", "GaussianLogits(mean, variance) of shape (members, samples, classes)")),
        (flat, Y, {"score": lambda y: 1}, OptionError, "score must be score(y_true, y_pred) -> float"),
        (flat, Y, {"score": lambda y, p: np.nan}, OptionError, "score gave nan; it must be a finite number"),
    ],
)  # fmt: skip
def test_what_only_shows_later(answer, y, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        caveat.disentanglement_error(
            Fake(answer), X, y, protocol="cheap", random_state=0, **options
        )


@pytest.mark.parametrize("unit", [1e-73, 1e73])
def test_very_large_and_small_numbers(unit):
    """What is not refused gives the same correlations in every unit."""
    model = BaggingRegressor(LinearRegression(), n_estimators=3)
    errors = [
        caveat.disentanglement_error(model, X, y, protocol="cheap", random_state=0).error().value
        for y in (TARGET, TARGET * unit)
    ]
    assert errors[1] == pytest.approx(errors[0])


def test_whole_numbers_can_be_predicted():
    """What the messages above advise works."""
    for y in (Y, Y * 1.0, np.arange(60)):
        result = caveat.disentanglement_error(
            Fake(sure), X, y, decomposition="total_variance", protocol="cheap", random_state=0
        )
        assert result.task == "regression"


def test_a_gaussian_for_words_gets_no_advice_about_numbers():
    with pytest.raises(UnsupportedPredictionError, match=r"got a Gaussian$"):
        caveat.disentanglement_error(Fake(sure), X, np.array(list("abc"))[Y], protocol="cheap")


def test_one_member_of_gaussian_logits_has_both_parts():
    def answer(X, seed):
        mean = np.column_stack([X[:, 0], -X[:, 0], 0 * X[:, 0]])
        return caveat.GaussianLogits(mean[None], np.ones((1, len(X), 3)))

    result = caveat.disentanglement_error(
        Fake(answer), X, Y, decomposition="gl", protocol="cheap", random_state=0
    )
    assert (result.curve("size").epistemic > 0).all()


def test_objects_without_params_are_copied_and_seeded():
    seeds = []

    def answer(X, seed):
        seeds.append(seed)
        return flat(X, seed)

    model = Fake(answer)
    result = caveat.disentanglement_error(model, X, Y, protocol="cheap", random_state=0)
    # Sizes predict their training samples too.
    assert len(set(seeds)) == 8
    assert len(seeds) == 12
    assert model.random_state is None
    assert not any("random_state" in note for note in result.notes)
    assert [check.passed for check in result.checks] == [False, False, True]


def test_copies_and_words():
    model = make_pipeline(StandardScaler(), RandomForestClassifier())
    made = copy_of(model, 5, {"randomforestclassifier__max_depth": 2})
    assert made.get_params()["randomforestclassifier__random_state"] == 5
    assert made.get_params()["randomforestclassifier__max_depth"] == 2
    assert (
        words_for(RandomForestClassifier(n_estimators=3))
        == "RandomForestClassifier(n_estimators=3)"
    )
    assert words_for(Untrainable()) == "Untrainable"
    long = words_for(
        VotingClassifier([(f"model {i}", DecisionTreeClassifier()) for i in range(20)])
    )
    assert len(long) == 120
    assert long.endswith("...")
