"""Laplace estimators: the posterior of `caveat.nn.laplace` behind the API of scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from caveat import load
from caveat.estimators import (
    BatchEnsembleClassifier,
    DeepEnsembleRegressor,
    LaplaceClassifier,
    LaplaceRegressor,
    MAPClassifier,
    MAPRegressor,
    MCDropoutClassifier,
    Problem,
    fit_many,
)
from caveat.exceptions import OptionError, TrainingError

torch = pytest.importorskip("torch")
from caveat import nn  # noqa: E402

rng = np.random.default_rng(1)
X = rng.normal(size=(60, 3))
LABELS = np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [-0.5, 0.5])
NUMBERS = X @ [1.0, -2.0, 0.5] + 3 + rng.normal(size=60)
WHOLE = {"hidden": (), "epochs": 400, "batch_size": 60, "learning_rate": 0.05, "random_state": 0}
QUICK = {"hidden": (6,), "epochs": 3, "batch_size": 16, "random_state": 0}
NEW = 3 * rng.normal(size=(5, 3))


def scaled(values, by=None):
    by = values if by is None else by
    return (values - by.mean(0)) / by.std(0)


def test_a_linear_model_is_bayesian_linear_regression():
    # The training has noise 1 and the prior 0.5; noise s and prior s / 2 have the same mode.
    noise, unit = 0.4, NUMBERS.std()
    model = LaplaceRegressor(
        head="mean", prior_std=0.5, last_prior_std=0.5 * noise, noise_std=noise, standardize=True,
        **WHOLE,
    ).fit(X, NUMBERS)  # fmt: skip
    rows, new = (np.column_stack([scaled(part, X), np.ones(len(part))]) for part in (X, NEW))
    ridge = Ridge(alpha=4.0, fit_intercept=False).fit(rows, scaled(NUMBERS))
    covariance = np.linalg.inv(rows.T @ rows / noise**2 + np.eye(4) / (0.5 * noise) ** 2)
    prediction = model.predict_distribution(NEW)
    mean = ridge.predict(new) * unit + NUMBERS.mean()
    np.testing.assert_allclose(prediction.moments()[0][:, 0], mean, rtol=1e-3, atol=1e-3)
    split = prediction.decompose()
    expected = np.einsum("nf,fg,ng->n", new, covariance, new) * unit**2
    np.testing.assert_allclose(split.epistemic[:, 0], expected, rtol=1e-5)
    np.testing.assert_allclose(split.aleatoric, (noise * unit) ** 2, rtol=1e-5)


def test_the_network_is_the_one_that_map_keeps():
    """From 10,000 samples on, the weights of the best epoch are kept, not those of the last."""
    drawn = np.random.default_rng(0)
    many = drawn.normal(size=(10_000, 3))
    exact = np.tanh(many @ [1.0, -2.0, 0.5])
    settings = {**QUICK, "batch_size": 500, "epochs": 6, "learning_rate": 0.2}
    plain, model = MAPRegressor(**settings), LaplaceRegressor(**settings)
    assert model.held_out_share(10_000) == plain.held_out_share(10_000) == 0.1
    plain.fit(many, exact)
    model.fit(many, exact)
    losses = model.history_[0]["validation"]
    assert np.argmin(losses) < len(losses) - 1  # the last epoch is not the best one
    new = drawn.normal(size=(200, 3))
    np.testing.assert_allclose(model.predict(new), plain.predict(new), rtol=1e-5, atol=1e-6)


def test_the_noise_of_a_linear_model_is_found():
    model = LaplaceRegressor(head="mean", prior_std=None, **WHOLE).fit(X, NUMBERS)
    rows = np.column_stack([X, np.ones(60)])
    left = NUMBERS - rows @ np.linalg.lstsq(rows, NUMBERS, rcond=None)[0]
    # The unbiased estimate, but for the little that the prior adds to the 4 parameters' share.
    found = float(model.posterior_[0]["noise_std"]) * NUMBERS.std()
    assert found == pytest.approx(np.sqrt((left**2).sum() / 56), rel=0.005)


@pytest.mark.parametrize("head", ["mean-std", "mean"])
def test_the_mean_is_what_the_network_says(head):
    model = LaplaceRegressor(head=head, **QUICK).fit(X, NUMBERS)
    plain = MAPRegressor(head=head, **QUICK).fit(X, NUMBERS)
    np.testing.assert_allclose(model.predict(NEW), plain.predict(NEW), rtol=1e-5)
    assert model.predict_distribution(NEW).decompose().epistemic.min() > 0


def test_a_fitted_model_gets_the_same_posterior():
    model = LaplaceClassifier(**QUICK).fit(X, LABELS)
    again = LaplaceClassifier.from_fitted(MAPClassifier(**QUICK).fit(X, LABELS), X, LABELS)
    found = again.predict_distribution(NEW).probabilities
    assert found.shape == (50, 5, 3)
    np.testing.assert_allclose(found, model.predict_distribution(NEW).probabilities, atol=1e-6)


def test_every_network_of_an_ensemble_gets_a_posterior():
    ensemble = DeepEnsembleRegressor(members=3, **QUICK).fit(X, NUMBERS)
    model = LaplaceRegressor.from_fitted(ensemble, X, NUMBERS, np.ones(60))
    prediction = model.set_params(passes=4).predict_distribution(NEW)
    assert prediction.members == 12
    np.testing.assert_allclose(model.predict(NEW), ensemble.predict(NEW), rtol=1e-5)
    within = ensemble.predict_distribution(NEW).decompose().epistemic
    assert (prediction.decompose().epistemic > within).all()


def test_weights_count_as_repetitions():
    count = rng.integers(1, 3, size=60)
    repeated = np.repeat(np.arange(60), count)
    plain = MAPClassifier(**QUICK).fit(X, LABELS)
    weighted = LaplaceClassifier.from_fitted(plain, X, LABELS, count)
    longer = LaplaceClassifier.from_fitted(plain, X[repeated], LABELS[repeated])
    # Weights count by their ratios: 60 samples in all, not as many as the repetitions. Adding a
    # number to all logits changes nothing, so that a third of the eigenvalues is 0.
    ratio = (weighted.posterior_[0]["values"] / longer.posterior_[0]["values"])[-14:]
    np.testing.assert_allclose(ratio, 60 / len(repeated), rtol=1e-4)
    fitted = LaplaceRegressor(**QUICK).fit(X, NUMBERS, count)
    even = LaplaceRegressor(**QUICK).fit(X, NUMBERS)
    assert fitted.posterior_[0]["noise_std"] != even.posterior_[0]["noise_std"]


def test_rows_of_a_problem_and_held_out_ones():
    problems = [Problem(X, NUMBERS, rows=np.arange(i, 60, 2), random_state=i) for i in range(2)]
    models = fit_many(LaplaceRegressor(**QUICK), problems)
    for i, model in enumerate(models):
        alone = LaplaceRegressor(**{**QUICK, "random_state": i}).fit(X[i::2], NUMBERS[i::2])
        found, expected = (
            m.predict_distribution(NEW).decompose().epistemic for m in (model, alone)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-2)
    held = LaplaceClassifier(validation_fraction=0.25, **QUICK).fit(X, LABELS)
    assert held.predict_distribution(NEW).members == 50


def test_files_hold_the_posterior(tmp_path):
    for model, y in ((LaplaceClassifier(**QUICK), LABELS), (LaplaceRegressor(**QUICK), NUMBERS)):
        model.fit(X, y).save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.predict_distribution(NEW) == model.predict_distribution(NEW)


def test_a_large_last_layer_has_factors(tmp_path, monkeypatch):
    monkeypatch.setattr(nn._laplace, "_FULL", 0)
    model = LaplaceClassifier(**QUICK).fit(X, LABELS)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict_distribution(NEW) == model.predict_distribution(NEW)


def test_modules_and_images():
    def make():
        return nn.CNN(1, 3, size=(8, 8), filters=(2,), dense=4)

    images = rng.normal(size=(60, 1, 8, 8))
    model = LaplaceClassifier(module=make, epochs=1, random_state=0).fit(images, LABELS)
    assert model.predict_distribution(images[:4]).members == 50


def test_a_training_that_fails_leaves_nothing():
    from caveat.estimators import _after_training

    model = LaplaceRegressor(**{**QUICK, "optimizer": "sgd", "learning_rate": 1e30})
    with pytest.raises(TrainingError):
        model.fit(X, NUMBERS)
    assert not hasattr(model, "state_")
    model = LaplaceRegressor(**QUICK).fit(X, NUMBERS)
    assert model not in _after_training._WAITING


def test_of_problems_that_train_together_one_may_diverge():
    problems = [Problem(X, NUMBERS), Problem(1e30 * X, NUMBERS)]
    settings = {**QUICK, "optimizer": "sgd", "head": "mean"}
    estimator = LaplaceRegressor(standardize=False, **settings)
    with pytest.raises(TrainingError, match="training of problem 1 diverged in every member"):
        fit_many(estimator, problems)


def test_messages():
    with pytest.raises(OptionError, match="head must be 'softmax', whose curvature is known"):
        LaplaceClassifier(head="gaussian-logits", **QUICK).fit(X, LABELS)
    with pytest.raises(OptionError, match="passes"):
        LaplaceClassifier(passes=1, **QUICK).fit(X, LABELS)
    with pytest.raises(OptionError, match="last_prior_std"):
        LaplaceClassifier(last_prior_std=-1.0, **QUICK).fit(X, LABELS)
    text = "needs a fitted classifier of caveat without random layers, such as MAPClassifier; got"
    dropping = MCDropoutClassifier(**QUICK).fit(X, LABELS)
    packed = BatchEnsembleClassifier(members=2, **QUICK).fit(X, LABELS)
    numbers = MAPRegressor(**QUICK).fit(X, NUMBERS)
    for wrong in (dropping, packed, numbers, MAPClassifier(), "model"):
        with pytest.raises(OptionError, match=text):
            LaplaceClassifier.from_fitted(wrong, X, LABELS)
