"""Settings that are left to the data: what is tried, on what it is judged, and what is chosen."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from caveat import load
from caveat._defaults import CONNECTION_RATE, CONNECTION_RATES, LIKELIHOOD_WEIGHTS, RATE, RATES
from caveat.estimators import (
    AnchoredEnsembleRegressor,
    BayesByBackpropClassifier,
    BayesByBackpropRegressor,
    ConcreteDropoutRegressor,
    DropConnectRegressor,
    FlipoutRegressor,
    MCDropoutClassifier,
    MCDropoutRegressor,
    Problem,
    _choice,
    anchored_ensemble,
    bayes_by_backprop,
    concrete_dropout,
    fit_many,
    mc_dropout,
)
from caveat.exceptions import OptionError, TrainingError

torch = pytest.importorskip("torch")

drawn = np.random.default_rng(0)
X = drawn.normal(size=(130, 3))
SMOOTH = X @ [1.0, -2.0, 0.5]
NOISY = SMOOTH + drawn.normal(size=130)
QUICK = {"hidden": (8,), "random_state": 0}


def judged(monkeypatch, answer=None):
    """Note each trial's settings, rows and losses; `answer` replaces the losses."""
    seen = []
    measured = _choice.held_losses

    def noted(model, prepared, rows):
        losses = measured(model, prepared, rows) if answer is None else answer(model, rows)
        seen.append((dict(model.chosen_), model, prepared, rows, losses))
        return losses

    monkeypatch.setattr(_choice, "held_losses", noted)
    return seen


def test_a_target_without_noise_asks_for_a_small_rate_and_noise_for_a_large_one():
    pure = np.random.default_rng(1).normal(size=130)
    problems = [Problem(X, y, random_state=0) for y in (SMOOTH, pure)]
    sure, unsure = fit_many(MCDropoutRegressor(hidden=(30,), epochs=150), problems)
    assert sure.chosen_["rate"] <= 0.05
    assert unsure.chosen_["rate"] == RATES[0]


def test_few_samples_of_a_smooth_target_count_more_than_once_and_noise_does_not():
    pure = np.random.default_rng(1).normal(size=130)
    problems = [Problem(X, y, random_state=0) for y in (SMOOTH, pure)]
    sure, unsure = fit_many(FlipoutRegressor(epochs=300), problems)
    assert sure.chosen_ == {"likelihood_weight": LIKELIHOOD_WEIGHTS[-1]}
    assert unsure.chosen_ == {"likelihood_weight": 1.0}
    plain = FlipoutRegressor(epochs=300, likelihood_weight=1.0, random_state=0).fit(X, SMOOTH)
    new = np.random.default_rng(2).normal(size=(500, 3))
    losses = []
    for model in (sure, plain):
        losses.append(-_density(model, new, new @ [1.0, -2.0, 0.5]).mean())
    assert losses[0] < losses[1] - 0.5


def test_the_weight_is_left_at_1_beside_a_divergence_that_is_given(monkeypatch):
    seen = judged(monkeypatch)
    model = BayesByBackpropRegressor(divergence_weight=0.1, **QUICK).fit(X, NOISY)
    assert model.chosen_ == {"epochs": 1334, "likelihood_weight": 1.0}
    assert seen == []


def test_classes_keep_their_weight_unless_it_is_left_open(monkeypatch):
    seen = judged(monkeypatch)
    assert BayesByBackpropClassifier(epochs=3, **QUICK).fit(X, NOISY > 0).chosen_ == {}
    assert seen == []
    model = BayesByBackpropClassifier(epochs=3, likelihood_weight="auto", **QUICK)
    assert model.fit(X, NOISY > 0).chosen_["likelihood_weight"] in LIKELIHOOD_WEIGHTS
    assert len(seen) > 0


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        (MCDropoutRegressor, "rate"),
        (DropConnectRegressor, "rate"),
        (BayesByBackpropRegressor, "likelihood_weight"),
        (FlipoutRegressor, "likelihood_weight"),
    ],
)
def test_the_model_is_the_one_with_the_chosen_settings(kind, setting, monkeypatch):
    for module in (mc_dropout, bayes_by_backprop):
        monkeypatch.setattr(module, "RANDOM_STEPS", 330)
    model = kind(batch_size=50, **QUICK).fit(X, NOISY)
    assert model.chosen_["epochs"] == 110  # of 3 steps each
    assert model.n_iter_ == 330
    same = kind(batch_size=50, **QUICK, **model.chosen_).fit(X, NOISY)
    assert same.chosen_ == {}
    assert model.predict_distribution(X) == same.predict_distribution(X)
    assert model.get_params()[setting] == "auto"


def test_below_100_samples_nothing_is_tried(monkeypatch):
    seen = judged(monkeypatch)
    model = MCDropoutRegressor(**QUICK).fit(X[:99], NOISY[:99])
    assert model.chosen_ == {"epochs": 100, "rate": RATE}
    model = DropConnectRegressor(**QUICK).fit(X[:99], NOISY[:99])
    assert model.chosen_["rate"] == CONNECTION_RATE
    assert seen == []


def test_a_module_has_its_own_rate(monkeypatch):
    seen = judged(monkeypatch)

    def make():
        return torch.nn.Sequential(
            torch.nn.Linear(3, 4), torch.nn.Dropout(0.3), torch.nn.Linear(4, 1)
        )

    model = MCDropoutRegressor(module=make, head="mean", random_state=0).fit(X, NOISY)
    assert model.n_iter_ == 300
    assert seen == []


def test_losses_are_those_of_the_mixture_on_samples_that_were_not_learned_from(monkeypatch):
    seen = judged(monkeypatch)
    MCDropoutRegressor(epochs=20, **QUICK).fit(X, NOISY)
    assert len(seen) % _choice.FOLDS == 0
    parts = [rows for *_, rows, _ in seen[: _choice.FOLDS]]
    assert len(np.unique(np.concatenate(parts))) == 13 * _choice.FOLDS
    for place, (_, model, prepared, rows, losses) in enumerate(seen):
        assert rows.tolist() == parts[place % _choice.FOLDS].tolist()
        (copy,) = prepared.copies
        assert len(np.intersect1d(copy.rows, rows)) == 0
        assert len(copy.rows) + len(rows) == len(X)
        exact = -_density(model, X[rows], NOISY[rows]) - np.log(NOISY.std())
        np.testing.assert_allclose(losses, exact, rtol=1e-4, atol=1e-4)


def test_smaller_rates_are_tried_until_the_loss_rises(monkeypatch):
    height = dict(zip(RATES, (1.0, 0.0, 5.0, -9.0, -9.0), strict=True))
    noise = np.random.default_rng(0).normal(size=130)
    seen = judged(monkeypatch, lambda model, rows: height[model.chosen_["rate"]] + noise[rows])
    model = MCDropoutRegressor(epochs=1, **QUICK).fit(X, NOISY)
    assert [settings["rate"] for settings, *_ in seen] == [0.2, 0.2, 0.1, 0.1, 0.05, 0.05]
    assert model.chosen_ == {"rate": 0.1}


def test_of_rates_that_cannot_be_told_apart_the_first_one_is_chosen(monkeypatch):
    # Differences d + (1, -1, 1, -1, ...) of 26 samples have a standard error of 1 / 5.
    signs = np.resize([1.0, -1.0], 13)

    def answer(model, rows):
        place = RATES.index(model.chosen_["rate"])
        flip = 1 if model.flips.setdefault(place, 0) else -1
        model.flips[place] += 1
        return (0.19 if place == 0 else 0.0) + (signs * flip if place == 0 else 0 * signs)

    seen = judged(monkeypatch, answer)
    monkeypatch.setattr(MCDropoutRegressor, "flips", {}, raising=False)
    model = MCDropoutRegressor(epochs=1, **QUICK).fit(X, NOISY)
    assert model.chosen_ == {"rate": RATES[0]}
    assert len(seen) == 2 * len(RATES)


def test_held_out_samples_that_are_given_judge(monkeypatch):
    seen = judged(monkeypatch)
    model = MCDropoutRegressor(epochs=3, **QUICK)
    model.fit(X, NOISY, validation=(X[:20] + 1, NOISY[:20]))
    assert all(rows.tolist() == list(range(130, 150)) for *_, rows, _ in seen)
    assert all(len(prepared.copies[0].rows) == 130 for _, _, prepared, *_ in seen)


def test_weights_count_in_the_choice(monkeypatch):
    weight = np.random.default_rng(0).uniform(0.1, 3.0, size=130)
    values = np.random.default_rng(1).normal(size=130)
    judged(monkeypatch, lambda model, rows: values[rows])
    model = MCDropoutRegressor(**QUICK)
    work = model._prepare(Problem(X, NOISY, sample_weight=weight))
    (trial, _) = _choice._trials(model, work, {"rate": 0.1}, to_the_end=False)
    trial.model.state_ = {}
    expected = np.average(values[trial.held], weights=weight[trial.held])
    assert trial.losses().mean() == pytest.approx(expected)


def test_rates_and_weights_are_compared_early_but_how_long_to_train_at_the_end():
    for model, one in (
        (MCDropoutRegressor(**QUICK), {"rate": 0.1}),
        (FlipoutRegressor(**QUICK), {"likelihood_weight": 3.0}),
    ):
        work = model._prepare(Problem(X, NOISY))  # 4,000 steps in the end
        trials = _choice._trials(model, work, {**one, "epochs": 1334}, to_the_end=False)
        assert [trial.work.copies[0].steps for trial in trials] == [2000, 2000]
    assert trials[0].work.training.likelihood_weight == 3
    lengths = ConcreteDropoutRegressor(**QUICK)
    work = lengths._prepare(Problem(X, NOISY))
    trials = _choice._trials(lengths, work, {"epochs": 1334, "beta": 0.0}, to_the_end=True)
    assert [trial.work.copies[0].steps for trial in trials] == [2668] * 5  # 2 in an epoch of 117


def test_trainings_to_their_end_are_judged_by_five_tenths_or_by_500_samples():
    many = np.random.default_rng(1).normal(size=(4000, 3))
    for size, parts in ((130, 5), (1500, 4), (2500, 2), (4000, 2)):
        model = ConcreteDropoutRegressor(**QUICK)
        work = model._prepare(Problem(many[:size], many[:size, 0]))
        trials = _choice._trials(model, work, {"epochs": 100, "beta": 0.0}, to_the_end=True)
        assert len(trials) == parts
        assert len(np.unique(np.concatenate([one.held for one in trials]))) == parts * size // 10


def test_a_longer_training_may_weight_samples_and_is_judged_without_weights(monkeypatch):
    monkeypatch.setattr(concrete_dropout, "RANDOM_STEPS", 360)
    best = {100: 1.0, 120: 2.0}
    seen = judged(
        monkeypatch, lambda model, rows: np.full(len(rows), best[model.chosen_["epochs"]])
    )
    model = ConcreteDropoutRegressor(**QUICK).fit(X, NOISY)
    assert model.chosen_ == {"epochs": 100, "beta": 0.0}
    tried = [(each["epochs"], each["beta"]) for each, *_ in seen]
    assert tried == [(100, 0.0)] * 5 + [(120, 0.5)] * 5 + [(120, 0.0)] * 5
    best[100] = 3.0
    longer = ConcreteDropoutRegressor(**QUICK).fit(X, NOISY)
    assert longer.chosen_ == {"epochs": 120, "beta": 0.5}
    assert ConcreteDropoutRegressor(epochs=3, **QUICK).fit(X, NOISY).chosen_ == {"beta": 0.0}
    same = ConcreteDropoutRegressor(epochs=120, beta=0.5, **QUICK).fit(X, NOISY)
    assert longer.predict_distribution(X) == same.predict_distribution(X)
    monkeypatch.undo()
    monkeypatch.setattr(concrete_dropout, "RANDOM_STEPS", 360)
    seen = judged(monkeypatch)
    ConcreteDropoutRegressor(beta=0.5, **QUICK).fit(X, NOISY)
    for _, model, _, rows, losses in seen:
        exact = -_density(model, X[rows], NOISY[rows]) - np.log(NOISY.std())
        np.testing.assert_allclose(losses, exact, rtol=1e-4, atol=1e-4)


def _density(model, X, y):
    """Return the log density of the mixture."""
    prediction = model.predict_distribution(X)
    spread = np.sqrt(prediction.variance[..., 0])
    density = norm.logpdf(y, prediction.mean[..., 0], spread)
    return logsumexp(density, axis=0) - np.log(len(density))


def test_a_setting_that_cannot_be_trained_is_not_chosen():
    model = MCDropoutRegressor(**QUICK)
    work = model._prepare(Problem(X, NOISY))
    tried = []

    def train(models, works):
        tried.append(models[0].chosen_["rate"])
        raise TrainingError("training diverged")

    (result,) = _choice.decided([model], [work], train)
    assert set(tried) == {RATES[0]}
    assert model.chosen_["rate"] == RATES[0]
    assert result.training.epochs == 4000 // 3 + 1


def test_a_problem_whose_trial_fails_leaves_the_others_theirs(monkeypatch):
    judged(monkeypatch, lambda model, rows: np.full(len(rows), model.chosen_["rate"]))
    models = [MCDropoutRegressor(**QUICK), MCDropoutRegressor(batch_size=32, **QUICK)]
    works = [model._prepare(Problem(X, NOISY)) for model in models]
    tried = []

    def train(some, works):
        if some[0].batch_size != 32:
            raise TrainingError("training diverged")
        tried.append(some[0].chosen_["rate"])
        for model in some:
            model.state_ = {}
        raise TrainingError("training diverged")

    _choice.decided(models, works, train)
    assert tried == list(RATES)
    assert [model.chosen_["rate"] for model in models] == [RATES[0], RATES[-1]]


def test_what_fails_later_is_left_out(monkeypatch):
    judged(monkeypatch, lambda model, rows: np.full(len(rows), model.chosen_["rate"]))
    model = MCDropoutRegressor(**QUICK)
    work = model._prepare(Problem(X, NOISY))

    def train(models, works):
        for one in models:
            if one.chosen_["rate"] < 0.1:
                raise TrainingError("training diverged")
            one.state_ = {}

    _choice.decided([model], [work], train)
    assert model.chosen_["rate"] == 0.1


@pytest.mark.parametrize(
    ("kind", "module", "name", "tried"),
    [
        (ConcreteDropoutRegressor, concrete_dropout, "RANDOM_STEPS", 2),
        (AnchoredEnsembleRegressor, anchored_ensemble, "ANCHORED_STEPS", 1),
    ],
)
def test_more_steps_are_taken_where_they_help(kind, module, name, tried, monkeypatch):
    monkeypatch.setattr(module, name, 360)
    seen = judged(monkeypatch, lambda model, rows: np.full(len(rows), 1.0))
    alike = kind(**QUICK).fit(X, NOISY)
    assert [settings["epochs"] for settings, *_ in seen] == [100] * 5 + [120] * 5 * tried
    assert alike.chosen_["epochs"] == 100
    judged(monkeypatch, lambda model, rows: np.full(len(rows), 1.0 / model.chosen_["epochs"]))
    assert kind(**QUICK).fit(X, NOISY).chosen_["epochs"] == 120
    seen.clear()
    short = kind(batch_size=10, **QUICK).fit(X, NOISY)
    assert short.chosen_["epochs"] == 100
    assert seen == []  # 100 epochs are enough steps, and there is nothing to choose


def test_problems_that_train_together_choose_for_themselves():
    problems = [Problem(X, y, random_state=0) for y in (SMOOTH, NOISY)]
    estimator = MCDropoutRegressor(hidden=(8,), epochs=40)
    for together, problem in zip(fit_many(estimator, problems), problems, strict=True):
        alone = MCDropoutRegressor(hidden=(8,), epochs=40, random_state=0).fit(X, problem.y)
        assert together.chosen_ == alone.chosen_
        np.testing.assert_allclose(together.predict(X), alone.predict(X), rtol=1e-3, atol=1e-3)


def test_classes_can_be_left_to_the_data_too():
    model = MCDropoutClassifier(rate="auto", epochs=5, **QUICK).fit(X, NOISY > 0)
    assert model.chosen_["rate"] in RATES
    assert MCDropoutClassifier().rate == RATE
    assert set(CONNECTION_RATES).isdisjoint({0.0, 1.0})


def test_files_keep_what_was_chosen(tmp_path):
    model = MCDropoutRegressor(epochs=5, **QUICK).fit(X, NOISY)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.chosen_ == model.chosen_
    assert again.predict_distribution(X) == model.predict_distribution(X)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (MCDropoutRegressor, "rate", "Auto"),
        (MCDropoutRegressor, "epochs", "automatic"),
        (FlipoutRegressor, "likelihood_weight", "per-sample"),
    ],
)
def test_a_word_that_leaves_nothing_open_is_refused(kind, name, value):
    with pytest.raises(OptionError, match=f"{name} must be 'auto' or a number; got '{value}'"):
        kind(**{name: value}).fit(X, NOISY)
