"""What estimators accept, and what they say when they do not."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from caveat import AutoClassifier, AutoRegressor, Repaired
from caveat.estimators import (
    AnchoredEnsembleClassifier,
    AnchoredEnsembleRegressor,
    BayesByBackpropClassifier,
    ConcreteDropoutClassifier,
    DeepEnsembleClassifier,
    EnsembleClassifier,
    MAPClassifier,
    MAPRegressor,
    MCDropoutClassifier,
    Problem,
    QuantileNetworkRegressor,
    fit_many,
)
from caveat.exceptions import (
    CaveatError,
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
    UnknownNameError,
)

torch = pytest.importorskip("torch")
from caveat import nn  # noqa: E402

rng = np.random.default_rng(2)
X = rng.normal(size=(40, 3))
LABELS = np.where(X[:, 0] > 0, "yes", "no")
NUMBERS = X[:, 0] - X[:, 1]
QUICK = {"hidden": (4,), "epochs": 2, "random_state": 0}


def classifier(**settings):
    return MAPClassifier(**{**QUICK, **settings})


def regressor(**settings):
    return MAPRegressor(**{**QUICK, **settings})


# What is accepted.


@pytest.mark.parametrize("convert", [list, np.float32, torch.tensor, pd.DataFrame])
def test_samples_in_any_form_give_one_model(convert):
    values = X.astype(np.float32)
    inputs = values.tolist() if convert is list else convert(values)
    plain = classifier().fit(values, LABELS)
    model = classifier().fit(inputs, LABELS)
    np.testing.assert_allclose(model.predict_proba(inputs), plain.predict_proba(values), atol=1e-6)
    if convert is pd.DataFrame:
        assert model.n_features_in_ == 3


@pytest.mark.parametrize("dtype", [np.int64, bool, np.float16])
def test_samples_of_any_numbers(dtype):
    inputs = (X > 0).astype(dtype)
    np.testing.assert_allclose(
        classifier().fit(inputs, LABELS).predict_proba(inputs),
        classifier().fit(inputs.astype(float), LABELS).predict_proba(inputs.astype(float)),
        atol=1e-6,
    )


def test_names_of_columns_are_remembered():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = classifier().fit(frame, pd.Series(LABELS))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))


def test_labels_of_torch_and_booleans():
    codes = torch.from_numpy((X[:, 0] > 0).astype(np.int64))
    assert classifier().fit(X, codes).predict(X).dtype == np.int64
    assert classifier().fit(X, X[:, 0] > 0).classes_.tolist() == [False, True]


@pytest.mark.parametrize("fit", [
    classifier(epochs=60).fit,
    EnsembleClassifier(LogisticRegression(), members=2, resample=True, random_state=0).fit,
    Repaired(LogisticRegression(), repair=None).fit,
    AutoClassifier(["linear"], folds=2, random_state=0).fit,
])  # fmt: skip
def test_labels_in_columns_of_any_type(fit):
    positive = X[:, 0] > 0
    index = np.arange(40)[::-1] // 2
    for y in (positive.astype(int).astype(object), pd.Series(positive * 1, index, dtype="Int64")):
        model = fit(X, y)
        assert model.classes_.dtype == np.int64
        assert (model.predict(X) == positive).mean() > 0.7
    for y in (positive.astype(object), pd.Series(positive, index, dtype="boolean")):
        assert fit(X, y).classes_.tolist() == [False, True]
    unused = pd.Series(pd.Categorical(LABELS, categories=["maybe", "no", "yes"]), index)
    for y in (unused, LABELS.astype(object), pd.Series(LABELS, index, dtype="string")):
        assert fit(X, y).classes_.tolist() == ["no", "yes"]
    for y in (np.r_[["a", "b", None], LABELS[3:]], pd.Series(LABELS).where(np.arange(40) != 2)):
        with pytest.raises(LabelError, match="y of sample 2 is missing; leave the sample out"):
            fit(X, y)
    with pytest.raises(LabelError, match="of one type; got bool, int"):
        fit(X, np.array([True, 0] * 20, dtype=object))


def test_masked_values_are_missing():
    masked = np.ma.array(X, mask=X > 1.5)
    filled = np.where(X > 1.5, np.nan, X)
    expected = regressor().fit(filled, NUMBERS).predict(filled)
    model = regressor().fit(masked, NUMBERS)
    np.testing.assert_allclose(model.predict(masked), expected, rtol=1e-6)
    auto = AutoRegressor(["forest"], folds=2, random_state=0)
    found, expected = auto.fit(masked, NUMBERS), clone(auto).fit(filled, NUMBERS)
    np.testing.assert_allclose(found.predict(masked), expected.predict(filled))
    with pytest.raises(ValueError, match="Input y contains NaN"):
        regressor().fit(X, np.ma.array(NUMBERS, mask=X[:, 0] > 1))


def test_one_feature():
    assert regressor().fit(X[:, :1], NUMBERS).predict([[0.5]]).shape == (1,)


def test_large_numbers_that_differ_little_are_told_apart():
    stamps = 1.7e9 + np.arange(40.0)[:, None] * 20
    target = np.arange(40.0)
    model = regressor(epochs=150, learning_rate=0.02).fit(stamps, target)
    assert model.score(stamps, target) > 0.95


def test_constant_columns_carry_nothing():
    padded = np.column_stack([X, np.full(40, 0.1), np.full(40, 1e7)])
    model = classifier().fit(padded, LABELS)
    changed = padded + 1e-9 * np.array([0, 0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba(padded), model.predict_proba(changed), atol=1e-5)


@pytest.mark.parametrize(
    "state",
    [3, np.random.default_rng(3), np.random.RandomState(3), None, np.random.SeedSequence(3)],
)
def test_random_states(state):
    model = classifier(random_state=state).fit(X, LABELS)
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(X))


def test_an_integer_gives_the_same_model_and_none_another():
    first, second = (MCDropoutClassifier(**QUICK).fit(X, LABELS).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    first, second = (classifier(random_state=None).fit(X, LABELS).predict_proba(X) for _ in "ab")
    assert not np.array_equal(first, second)


def test_the_generator_of_torch_stays_as_it_was():
    before = torch.random.get_rng_state()
    MCDropoutClassifier(**QUICK, passes=2).fit(X, LABELS).predict(X)
    classifier(module=partial(nn.MLP, 3, 2)).fit(X, LABELS).predict(X)
    assert torch.equal(before, torch.random.get_rng_state())


class Own(torch.nn.Module):
    def __init__(self, features=3, classes=2):
        super().__init__()
        self.line = torch.nn.Linear(features, classes)

    def reset_parameters(self):
        self.line.reset_parameters()

    def forward(self, x):
        return self.line(x)


@pytest.mark.parametrize("module", [Own(), Own, partial(Own, 3), lambda: Own(3, 2)])
def test_modules_as_instances_classes_and_functions(module):
    model = classifier(module=module).fit(X, LABELS)
    assert model.state_["0.line.weight"].shape == (1, 2, 3)
    assert "0.mean" not in model.state_
    scaled = classifier(module=module, standardize=True).fit(X, LABELS)
    np.testing.assert_allclose(
        scaled.state_["0.mean"][0].numpy() + scaled.offset_, X.mean(0), rtol=1e-4, atol=1e-6
    )


def test_images():
    pictures = rng.normal(size=(20, 2, 8, 8)).astype(np.float32)
    module = partial(nn.CNN, 2, 2, size=(8, 8), filters=(4, 4), dense=8, stochastic="dropout")
    model = MCDropoutClassifier(module=module, epochs=1, passes=3, random_state=0)
    assert model.fit(pictures, LABELS[:20]).predict_distribution(pictures).members == 3
    with pytest.raises(ShapeError, match=r"samples must have shape \(2, 8, 8\), as in fit"):
        model.predict(pictures[:, :, :4])
    with pytest.raises(ShapeError, match=r"samples have shape \(2, 8, 8\); without module= they"):
        classifier().fit(pictures, LABELS[:20])


def test_weights_of_zero_leave_samples_out():
    weight = np.where(np.arange(40) < 25, 1.0, 0.0)
    np.testing.assert_allclose(
        classifier().fit(X, LABELS, weight).predict_proba(X),
        classifier().fit(X[:25], LABELS[:25]).predict_proba(X),
        atol=1e-5,
    )


def test_the_best_epoch_is_kept_and_training_stops():
    settings = {"epochs": 300, "learning_rate": 0.1, "prior_std": None, "hidden": (30,)}
    noise = rng.integers(0, 2, size=40)
    model = classifier(validation_fraction=0.25, patience=3, **settings).fit(X, noise)
    losses = model.history_[0]["validation"]
    assert len(losses) < 300
    assert losses.argmin() == len(losses) - 4
    held = (X[:10], noise[:10])
    given = classifier(patience=3, **settings).fit(X[10:], noise[10:], validation=held)
    p = given.predict_proba(X[:10])[np.arange(10), noise[:10]]
    assert -np.log(p).mean() == pytest.approx(given.history_[0]["validation"].min(), rel=1e-4)


def test_clone_pickle_set_params_and_refit():
    model = DeepEnsembleClassifier(members=2, **QUICK).fit(X, LABELS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    fresh = clone(model).set_params(members=3)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert len(fresh.fit(X, LABELS).predict_distribution(X).probabilities) == 3
    three = np.arange(40) % 3
    assert fresh.fit(X[:, :2], three).predict_proba(X[:, :2]).shape == (40, 3)


def test_a_refit_network_is_passed_anew():
    model = MCDropoutClassifier(**QUICK, passes=3).fit(X, LABELS)
    first = model.predict_proba(X)
    model.set_params(random_state=1).fit(X, LABELS)
    assert not np.array_equal(first, model.predict_proba(X))
    np.testing.assert_array_equal(
        model.predict_proba(X),
        MCDropoutClassifier(**{**QUICK, "random_state": 1}, passes=3)
        .fit(X, LABELS)
        .predict_proba(X),
    )


def test_pipelines_and_searches():
    pipe = make_pipeline(StandardScaler(), classifier())
    assert cross_val_score(pipe, X, LABELS, cv=2).shape == (2,)
    search = GridSearchCV(classifier(), {"epochs": np.array([1, 2])}, cv=2).fit(X, LABELS)
    assert search.best_params_["epochs"] in (1, 2)


def test_progress_is_shown_if_asked(capsys):
    classifier(verbose=True).fit(X, LABELS)
    assert "training 1 copies" in capsys.readouterr().err


def test_a_column_of_labels_is_taken_with_the_usual_warning():
    with pytest.warns(DataConversionWarning):
        assert classifier().fit(X, LABELS[:, None]).predict(X).shape == (40,)
    assert regressor().fit(X, NUMBERS[:, None]).predict(X).shape == (40, 1)


# What is refused.


def small_net():
    return torch.nn.Linear(3, 5)


class Pair(Own):
    def forward(self, x):
        return self.line(x), self.line(x)


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (classifier(module=small_net), LABELS, r'module must return a tensor of shape \(samples, 2\) for head "logits"; it returns \(samples, 5\)'),
        (classifier(module=small_net, head="gaussian-logits"), LABELS, r"shape \(samples, 2, 2\) for head"),
        (regressor(module=small_net), NUMBERS, r'shape \(samples, 2, 1\) for head "mean-std"; it returns \(samples, 5\)'),
        (regressor(module=small_net, head="mean"), NUMBERS, r'shape \(samples, 1\) for head "mean"'),
        (QuantileNetworkRegressor(module=Own), NUMBERS, r'shape \(samples, 1, 5\) for head "quantiles"'),
        (classifier(module=Pair), LABELS, r"it returns a tuple"),
        (classifier(module=partial(Own, 7)), LABELS, r"module cannot take samples of shape \(3,\): "),
        (classifier(module="mlp"), LABELS, r"module must be a torch.nn.Module, .*; got a str"),
        (classifier(module=nn.MLP), LABELS, r"module could not be made: .*functools.partial"),
        (classifier(module=lambda: 5), LABELS, r"module must make a torch.nn.Module; it made a int"),
        (MCDropoutClassifier(module=Own), LABELS, r"module has nothing random, so the passes of MCDropoutClassifier"),
        (classifier(head="sigmoid"), LABELS, r"head must be 'softmax' or 'gaussian-logits'; got 'sigmoid'"),
        (regressor(head="median"), NUMBERS, r"head must be 'mean-std' or 'mean'; got 'median'"),
        (classifier(prior_std=-1), LABELS, r"prior_std must be a number above 0; got -1"),
        (classifier(epochs=0), LABELS, r"epochs must be a whole number of at least 1; got 0"),
        (classifier(epochs=True), LABELS, r"epochs must be a whole number"),
        (classifier(batch_size=1.5), LABELS, r"batch_size must be a whole number of at least 1; got 1.5"),
        (classifier(learning_rate=0), LABELS, r"learning_rate must be a number above 0; got 0"),
        (classifier(optimizer="lion"), LABELS, r"optimizer must be one of 'adam'"),
        (classifier(device="cuda:7"), LABELS, r"device is 'cuda:7', but torch finds no GPU here; use 'cpu' or 'auto'"),
        (classifier(device="abacus"), LABELS, r"device must be 'auto', 'cpu' or such as 'cuda:0'; got 'abacus'"),
        (classifier(random_state="one"), LABELS, r"random_state must be None, .*; got 'one'"),
        (classifier(patience=3, validation_fraction=None), LABELS, r"patience needs validation_fraction, or fit\(..., validation=...\)"),
        (classifier(patience=0, validation_fraction=0.2), LABELS, r"patience must be a whole number"),
        (classifier(validation_fraction=1.5), LABELS, r"validation_fraction must be a number strictly between 0 and 1; got 1.5"),
        (classifier(validation_fraction=0.01), LABELS, r"validation_fraction=0.01 cannot be held out of 40 samples"),
        (DeepEnsembleClassifier(members=0), LABELS, r"members must be a whole number of at least 1; got 0"),
        (MCDropoutClassifier(passes=0, module=partial(nn.MLP, 3, 2, stochastic="dropout")), LABELS, r"passes must be a whole number"),
        (MCDropoutClassifier(rate=1.0), LABELS, r"rate must"),
        (ConcreteDropoutClassifier(length_scale=0), LABELS, r"length_scale must be a number above 0; got 0"),
        (AnchoredEnsembleClassifier(prior_std=None), LABELS, r"prior_std must be a number above 0; got None"),
        (AnchoredEnsembleRegressor(noise_std=0), NUMBERS, r"noise_std must be a number above 0; got 0"),
        (BayesByBackpropClassifier(prior="wide"), LABELS, r"prior must be a standard deviation, three numbers"),
        (BayesByBackpropClassifier(initial_mean=0), LABELS, r"initial_mean must be a number above 0; got 0"),
        (BayesByBackpropClassifier(likelihood_weight=0), LABELS, r"likelihood_weight must be a number above 0; got 0"),
        (BayesByBackpropClassifier(divergence_weight="half"), LABELS, r"divergence_weight \(if not 'per-sample'\) must be a number of at least 0"),
        (QuantileNetworkRegressor(levels=(0.9, 0.1)), NUMBERS, r"levels must lie between 0 and 1 and increase"),
        (classifier(), np.full(40, "a"), r"y has one class, 'a'; .*fewer than two classes"),
        (classifier(), None, r"MAPClassifier requires y to be passed, but the target y is None"),
        (regressor(), np.full(40, 0.1), r"y is 0.1 in all 40 samples; a constant target has no spread"),
        (regressor(), np.stack([NUMBERS, np.ones(40)], 1), r"y is 1 in all 40 samples in target 1"),
    ],
)  # fmt: skip
def test_messages(model, y, message):
    with pytest.raises(CaveatError, match=message):
        model.fit(X, y)


def test_unknown_activation():
    with pytest.raises(UnknownNameError, match="activation must be one of"):
        classifier(activation="step").fit(X, LABELS)


def test_a_class_with_one_sample_cannot_be_held_out():
    rare = np.where(np.arange(40) == 0, "rare", LABELS)
    with pytest.raises(
        LabelError, match=r"class 'rare' has one sample .*, so it cannot be in both"
    ):
        classifier(validation_fraction=0.3).fit(X, rare)


@pytest.mark.parametrize(
    ("validation", "error", "message"),
    [
        ((X, np.full(40, "maybe")), LabelError, "not among those to learn from: 'maybe'; leave"),
        ((X[:, :2], LABELS), ValueError, "X has 2 features, but MAPClassifier is expecting 3"),
        ((X, LABELS[:5]), ValueError, "inconsistent numbers of samples"),
        (X, OptionError, r"validation must be a pair \(X, y\); got a ndarray"),
        ((X,), OptionError, r"validation must be a pair \(X, y\); got a tuple of 1"),
        ((X * np.nan, LABELS), ValueError, "NaN"),
    ],
)
def test_samples_to_check_by_must_be_like_the_others(validation, error, message):
    with pytest.raises(error, match=message):
        classifier().fit(X, LABELS, validation=validation)


def test_targets_and_shapes_to_check_by_must_be_like_the_others():
    with pytest.raises(LabelError, match="validation has 2 targets, y has 1"):
        regressor().fit(X, NUMBERS, validation=(X, np.stack([NUMBERS, NUMBERS], 1)))
    pictures = rng.normal(size=(40, 1, 4, 4))
    module = partial(nn.CNN, 1, 2, size=(4, 4), filters=(2,), dense=4)
    with pytest.raises(ShapeError, match=r"validation samples have shape \(1, 4, 2\), those to"):
        classifier(module=module).fit(pictures, LABELS, validation=(pictures[..., :2], LABELS))


def test_too_few_samples():
    with pytest.raises(ValueError, match="minimum of 2"):
        classifier().fit(X[:1], LABELS[:1])
    with pytest.raises(ShapeError, match=r"at least 2 samples are needed.* n_samples = 1$"):
        fit_many(classifier(), [Problem(X, LABELS, rows=[3])])
    with pytest.raises(ShapeError, match="n_samples = 1 with a weight above 0"):
        classifier().fit(X, LABELS, np.eye(40)[0])


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([0, 40], InvalidValueError, "rows must lie from 0 to 39; got 0 to 40"),
        ([-1, 3], InvalidValueError, "rows must lie from 0 to 39; got -1 to 3"),
        ([0.5, 2.0], ShapeError, r"rows must be numbers of samples, or a mask of shape \(40,\)"),
        ([True, False], ShapeError, r"or a mask of shape \(40,\); got shape \(2,\) of bool"),
        (np.array([], dtype=int), ShapeError, "n_samples = 0"),
    ],
)
def test_rows(rows, error, message):
    with pytest.raises(error, match=message):
        fit_many(classifier(), [Problem(X, LABELS, rows=rows)])


def test_sparse_missing_negative_weights_and_words():
    with pytest.raises(TypeError, match="dense data is required"):
        classifier().fit(sparse.csr_matrix(X), LABELS)
    with pytest.raises(ValueError, match="contains infinity"):
        classifier().fit(np.where(X > 1, np.inf, X), LABELS)
    with pytest.raises(ValueError, match="Negative values"):
        classifier().fit(X, LABELS, -np.ones(40))
    with pytest.raises(ValueError, match="could not convert string"):
        regressor().fit(X, LABELS)
    with pytest.raises(ValueError, match="Unknown label type"):
        classifier().fit(X, NUMBERS)


def test_a_model_must_be_fitted_first():
    for call in ("predict", "predict_proba", "predict_distribution"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(classifier(), call)(X)
