"""Many problems at once give what single fits give."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from caveat.estimators import (
    BootstrapRegressor,
    DeepEnsembleClassifier,
    DeepEnsembleRegressor,
    FlipoutClassifier,
    MAPClassifier,
    MAPRegressor,
    MCDropoutClassifier,
    Problem,
    fit_many,
)
from caveat.estimators._data import SampleCache
from caveat.exceptions import InvalidValueError, LabelError, OptionError, TrainingError

torch = pytest.importorskip("torch")

SMALL = {"hidden": (6,), "epochs": 4, "batch_size": 16}
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
LABELS = np.where(X[:, 0] + X[:, 1] > 0, "up", "down")
NUMBERS = np.stack([X[:, 0] ** 2, 50 + X[:, 1]], axis=1)


def values(model, inputs=X):
    prediction = model.predict_distribution(inputs)
    return prediction.probabilities if hasattr(prediction, "probabilities") else prediction.variance


def alone(estimator, problem, rows=slice(None)):
    """Fit by itself, on the rows cut out."""
    settings = {**estimator.get_params(), **problem.parameters}
    if problem.random_state is not None:
        settings["random_state"] = problem.random_state
    weight = None if problem.sample_weight is None else problem.sample_weight[rows]
    model = type(estimator)(**settings)
    return model.fit(problem.X[rows], problem.y[rows], weight, validation=problem.validation)


@pytest.mark.parametrize(
    "estimator",
    [
        DeepEnsembleClassifier(members=2, **SMALL),
        MCDropoutClassifier(passes=3, **SMALL),
        FlipoutClassifier(passes=3, **SMALL),
        MAPClassifier(head="gaussian-logits", **SMALL),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_shared_samples_with_other_rows_labels_epochs_and_weights(estimator):
    other = rng.permutation(LABELS)
    weight = rng.uniform(0.5, 2, size=60)
    rows = np.arange(0, 60, 2)
    cases = [
        (Problem(X, LABELS, random_state=0), slice(None)),
        (Problem(X, LABELS, rows=rows, random_state=1), rows),
        (Problem(X, other, random_state=2, parameters={"epochs": 7}), slice(None)),
        (Problem(X, LABELS, sample_weight=weight, random_state=3), slice(None)),
    ]
    together = fit_many(estimator, [problem for problem, _ in cases])
    for model, (problem, part) in zip(together, cases, strict=True):
        single = alone(estimator, problem, part)
        assert model.n_iter_ == single.n_iter_
        np.testing.assert_allclose(values(model), values(single), atol=1e-5)
    assert not np.allclose(values(together[0]), values(together[2]), atol=1e-2)
    assert not hasattr(estimator, "classes_")


def mixed(samples=200):
    """Return a frame in whose second half other things happen than in the first, and numbers."""
    draw = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "size": draw.normal(size=samples),
            "age": draw.normal(size=samples),
            "late": draw.normal(size=samples),
            "color": draw.choice(["red", "green"], samples),
            "city": draw.integers(0, 30, samples).astype(str),
        }
    )
    second = np.arange(samples) >= samples // 2
    frame.loc[second, "age"] += 50
    frame.loc[::3, "age"] = np.nan
    frame.loc[second & (np.arange(samples) % 2 > 0), "late"] = np.nan
    frame.loc[second & (draw.random(samples) < 0.5), "color"] = "blue"
    frame.loc[second, "city"] = frame.loc[second, "city"] + " north"
    return frame, frame["size"].to_numpy() + (frame["color"] == "red")


def test_columns_are_learned_from_the_rows_of_the_problem():
    frame, y = mixed()
    first = np.arange(100)
    weight = (np.arange(200) < 100).astype(float)
    problems = [
        Problem(frame, y, rows=first),
        Problem(frame, y, sample_weight=weight),
        Problem(frame, y),
        Problem(frame, y, rows=first, parameters={"epochs": 6}),
    ]
    estimator = MAPRegressor(**SMALL, random_state=0)
    models = fit_many(estimator, problems)
    alone = MAPRegressor(**SMALL, random_state=0).fit(frame[:100], y[:100])
    new = frame.drop(index=100 + np.flatnonzero(frame["late"][100:].isna()))
    for model in models[:2]:
        assert model.columns_[1]["center"] == frame["age"][:100].median()
        assert [each["values"] for each in model.columns_[3:]] == [
            each["values"] for each in alone.columns_[3:]
        ]
        np.testing.assert_allclose(model.predict(new), alone.predict(new), atol=1e-5)
    assert models[0].columns_[3]["values"] == ["green", "red"]
    assert models[2].columns_[3]["values"] == ["blue", "green", "red"]
    assert models[3].columns_ == models[0].columns_
    # A gap that is known of the table, in other rows, is not refused.
    assert np.isfinite(models[0].predict(frame)).all()
    with pytest.raises(InvalidValueError, match="column 'late' is NaN in sample 101"):
        alone.predict(frame)


def test_columns_of_arrays_with_gaps_are_learned_from_rows():
    holes = X.copy()
    holes[40:, 1] += 50
    holes[::3, 1] = np.nan
    rows = np.r_[np.arange(40), np.arange(10)]
    models = fit_many(MAPRegressor(**SMALL), [Problem(holes, NUMBERS, rows=rows)])
    single = MAPRegressor(**SMALL).fit(holes[rows], NUMBERS[rows])
    assert models[0].columns_[1]["center"] == single.columns_[1]["center"]
    for options, message in [
        (
            {"sample_weight": np.arange(60), "rows": [0]},
            "at least 2 samples .* with a weight above 0",
        ),
        ({"rows": [0, 3]}, "X holds no value: all are NaN"),
    ]:
        holes[[0, 3]] = np.nan
        with pytest.raises(ValueError, match=message):
            fit_many(MAPRegressor(**SMALL), [Problem(holes, NUMBERS, **options)])


def test_folds_of_a_table_train_together_where_their_columns_have_the_same_shape():
    frame, y = mixed()
    problems = [Problem(frame, y, rows=np.flatnonzero(np.arange(200) % 4 != i)) for i in range(4)]
    models = [MAPRegressor(**SMALL) for _ in problems]
    cache = SampleCache()
    works = [model._prepare(one, cache) for model, one in zip(models, problems, strict=True)]
    sizes = [len(model.columns_[4]["values"]) for model in models]
    assert len({work.signature for work in works}) == len(set(sizes))
    plain = [Problem(X, NUMBERS, rows=np.arange(i, 60)) for i in range(2)]
    works = [MAPRegressor(**SMALL)._prepare(problem, cache) for problem in plain]
    assert works[0].X is works[1].X


def test_tables_with_other_numbers_of_categories_are_other_networks():
    frame, y = mixed()
    cities = [frame[["city"]][part] for part in (slice(0, 100), slice(40, 100))]
    assert [each["city"].nunique() for each in cities] == [29, 26]
    problems = [Problem(each, y[: len(each)], random_state=0) for each in cities]
    for model, one in zip(fit_many(MAPRegressor(**SMALL), problems), problems, strict=True):
        single = MAPRegressor(**SMALL, random_state=0).fit(one.X, one.y)
        np.testing.assert_allclose(model.predict(one.X), single.predict(one.X), atol=1e-5)


def test_masks_are_rows():
    mask = np.arange(60) % 3 == 0
    estimator = MAPRegressor(**SMALL, random_state=0)
    first, second = fit_many(
        estimator, [Problem(X, NUMBERS, rows=mask), Problem(X, NUMBERS, rows=np.flatnonzero(mask))]
    )
    np.testing.assert_array_equal(values(first), values(second))


def test_own_samples_of_several_sizes_with_validation_and_weights():
    problems = []
    for i, size in enumerate((20, 35, 50)):
        own = np.random.default_rng(i).normal(size=(size, 3)) * (i + 1)
        held = own[:7] + 0.1
        problems.append(
            Problem(
                own,
                np.stack([own[:, 0], own.sum(1)], axis=1),
                sample_weight=None if i == 1 else np.linspace(1, 2, size),
                validation=(held, held[:, :2]),
                random_state=i,
            )
        )
    estimator = DeepEnsembleRegressor(members=2, **SMALL, patience=2)
    for model, problem in zip(fit_many(estimator, problems), problems, strict=True):
        single = alone(estimator, problem)
        np.testing.assert_allclose(values(model), values(single), rtol=1e-4, atol=1e-5)
        assert len(model.history_[0]["validation"]) >= 1


def test_problems_with_other_classes_have_their_own():
    three = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    absent = np.flatnonzero(three != "b")
    names = np.where(LABELS == "up", 7, 3)
    problems = [
        Problem(X, three, random_state=0),
        Problem(X, three, rows=absent, random_state=1),
        Problem(X, names, random_state=2),
    ]
    models = fit_many(MAPClassifier(**SMALL), problems)
    assert [model.classes_.tolist() for model in models] == [["a", "b", "c"], ["a", "c"], [3, 7]]
    for model, problem, part in zip(
        models, problems, [slice(None), absent, slice(None)], strict=True
    ):
        single = alone(MAPClassifier(**SMALL), problem, part)
        np.testing.assert_allclose(values(model), values(single), atol=1e-5)


def test_settings_that_change_the_network_are_kept_apart():
    problems = [
        Problem(X, LABELS, random_state=0),
        Problem(X, LABELS, random_state=0, parameters={"hidden": (9, 4)}),
        Problem(X, LABELS, random_state=0, parameters={"learning_rate": 0.1}),
        Problem(X, LABELS, random_state=0, parameters={"prior_std": 0.1}),
    ]
    models = fit_many(MAPClassifier(**SMALL), problems)
    for model, problem in zip(models, problems, strict=True):
        np.testing.assert_allclose(
            values(model), values(alone(MAPClassifier(**SMALL), problem)), atol=1e-5
        )


def test_modules_are_told_apart_by_their_identity():
    def net(width):
        return torch.nn.Sequential(
            torch.nn.Linear(3, width), torch.nn.Tanh(), torch.nn.Linear(width, 2)
        )

    module = net(4)
    problems = [
        Problem(X, LABELS, random_state=i, parameters=given)
        for i, given in enumerate([{}, {}, {"module": net(5)}])
    ]
    models = fit_many(MAPClassifier(module=module, epochs=2), problems)
    widths = [model.state_["0.0.weight"].shape for model in models]
    assert widths == [(1, 4, 3), (1, 4, 3), (1, 5, 3)]
    assert models[0].engine_.startswith("in lock-step")
    assert models[0].get_params()["module"] is module


def test_shared_samples_are_kept_once(monkeypatch):
    from caveat import nn

    seen = []
    train = nn.train

    def spy(make, samples, *args, **options):
        seen.append(len(samples))
        return train(make, samples, *args, **options)

    monkeypatch.setattr(nn, "train", spy)
    held = (X[:10], LABELS[:10])
    shared = [Problem(X, LABELS, validation=held, random_state=i) for i in range(3)]
    fit_many(MAPClassifier(**SMALL), shared)
    copied = [Problem(X.copy(), LABELS, random_state=i) for i in range(3)]
    fit_many(MAPClassifier(**SMALL), copied)
    assert seen == [70, 180]


def test_problems_on_one_data_set_have_labels_of_their_own():
    data = torch.utils.data.TensorDataset(torch.tensor(X, dtype=torch.float32))
    y = np.arange(60) % 2

    def make():
        return torch.nn.Linear(3, 2)

    estimator = DeepEnsembleClassifier(module=make, members=2, epochs=4, device="cpu")
    labels = [y, 1 - y]
    by_rows = fit_many(estimator, [Problem(data, each, random_state=1) for each in labels])
    by_array = fit_many(estimator, [Problem(X, each, random_state=1) for each in labels])
    for one, other in zip(by_rows, by_array, strict=True):
        np.testing.assert_allclose(values(one, data), values(other), atol=1e-5)
    assert not np.allclose(values(by_rows[0], data), values(by_rows[1], data), atol=1e-3)


def test_each_problem_has_its_own_scaling():
    estimator = BootstrapRegressor(members=2, **SMALL, random_state=0)
    near, far = fit_many(estimator, [Problem(X, NUMBERS), Problem(1e9 * X + 3e9, 1e5 * NUMBERS)])
    np.testing.assert_allclose(values(far, 1e9 * X + 3e9), 1e10 * values(near), rtol=1e-3)


class Burst(torch.nn.Module):
    """Its answer is infinite from the start if its draw says so."""

    def __init__(self, often):
        super().__init__()
        self.line = torch.nn.Linear(3, 2)
        self.often = often
        self.register_buffer("size", torch.ones(()))
        self.reset_parameters()

    def reset_parameters(self):
        self.line.reset_parameters()
        burst = torch.rand(()) < self.often
        self.size.fill_(float("inf") if burst else 1.0)

    def forward(self, x):
        return self.line(x) * self.size


def test_diverged_members_are_left_out_and_named():
    from functools import partial

    model = DeepEnsembleClassifier(module=partial(Burst, 0.5), members=6, epochs=2, random_state=3)
    with pytest.warns(RuntimeWarning, match=r"training diverged in \d of 6 members.*left out: \d"):
        model.fit(X, LABELS)
    kept = len(model.predict_distribution(X).probabilities)
    assert 0 < kept < 6
    assert len(model.history_) == 6


def test_a_problem_whose_members_all_diverge_is_named():
    from functools import partial

    model = MAPClassifier(module=partial(Burst, 0.5), epochs=2)
    problems = [Problem(X, LABELS, random_state=i) for i in range(6)]
    with pytest.raises(TrainingError, match=r"training of problem \d diverged in every member"):
        fit_many(model, problems)
    named = [Problem(X, LABELS, random_state=i, name=f"fold {i}") for i in range(6)]
    with pytest.raises(TrainingError, match=r"training of fold \d diverged in every member"):
        fit_many(model, named)


def test_estimators_of_scikit_learn_go_through_joblib():
    rows = np.arange(0, 60, 2)
    weight = np.linspace(1, 3, 60)
    problems = [
        Problem(X, LABELS),
        Problem(X, LABELS, rows=rows, sample_weight=weight, parameters={"C": 0.1}),
        Problem(torch.from_numpy(X), LABELS, random_state=5),
    ]
    models = fit_many(LogisticRegression(), problems, n_jobs=1)
    expected = LogisticRegression(C=0.1).fit(X[rows], LABELS[rows], weight[rows])
    np.testing.assert_allclose(models[1].coef_, expected.coef_)
    assert models[2].random_state == 5
    np.testing.assert_allclose(models[2].coef_, models[0].coef_)


def test_networks_in_a_pipeline_go_through_joblib():
    pipe = make_pipeline(StandardScaler(), MAPClassifier(**SMALL, random_state=0))
    (model,) = fit_many(pipe, [Problem(X, LABELS)])
    assert model.predict(X).shape == (60,)


def test_validation_is_passed_on():
    class Picky(LogisticRegression):
        def fit(self, X, y, *, validation):
            self.given_ = validation
            return super().fit(X, y)

    pair = (X[:5], LABELS[:5])
    (model,) = fit_many(Picky(), [Problem(X, LABELS, validation=pair)])
    assert model.given_ is pair


def test_no_problems():
    with pytest.raises(OptionError, match="problems is empty; give at least one Problem"):
        fit_many(MAPClassifier(), [])


def test_a_killed_training_goes_on(tmp_path):
    problems = [Problem(X, LABELS, random_state=i) for i in range(2)]
    first = fit_many(MAPClassifier(**SMALL), problems, checkpoint=tmp_path)
    second = fit_many(MAPClassifier(**SMALL), problems, checkpoint=tmp_path)
    np.testing.assert_array_equal(values(first[1]), values(second[1]))
    assert (tmp_path / "group-0").is_dir()


@pytest.mark.parametrize("estimator", [MAPClassifier(**SMALL), LogisticRegression()])
def test_errors_name_the_problem(estimator):
    one = np.zeros(60, dtype=int)
    good = Problem(X, LABELS, name="A")
    with pytest.raises(ValueError, match=r"^fold B: .*(one|only one|1) class") as caught:
        fit_many(estimator, [good, Problem(X, one, name="fold B")])
    assert type(caught.value) is (LabelError if "MAP" in str(estimator) else ValueError)
    with pytest.raises(ValueError, match=r"^problem 1: .*contains infinity"):
        fit_many(estimator, [good, Problem(np.full((60, 3), np.inf), LABELS)])
    with pytest.raises(ValueError, match=r"^problem 1: Invalid parameter 'speed' for estimator"):
        fit_many(estimator, [good, Problem(X, LABELS, parameters={"speed": 1})])
    with pytest.raises(ValueError, match=r"^(y has|This solver needs)"):
        fit_many(estimator, [Problem(X, one)])
    with pytest.raises(ValueError, match=r"^only: "):
        fit_many(estimator, [Problem(X, one, name="only")])


def test_errors_without_a_text_stay_as_they_are():
    class Odd(LogisticRegression):
        def fit(self, X, y):
            raise OSError(5, "no disk")

    with pytest.raises(OSError, match=r"^\[Errno 5\] no disk$"):
        fit_many(Odd(), [Problem(X, LABELS), Problem(X, LABELS)])


def test_what_is_no_problem():
    with pytest.raises(
        OptionError, match=r"problems must hold Problem\(X, y, \.\.\.\); problems\[1\] is a tuple"
    ):
        fit_many(MAPClassifier(**SMALL), [Problem(X, LABELS), (X, LABELS)])


@pytest.mark.parametrize("estimator", [MAPClassifier(**SMALL), LogisticRegression()])
def test_weights_of_torch_that_are_learned_themselves(estimator):
    weight = torch.linspace(1, 3, 60, dtype=torch.float64)
    rows = np.arange(40)
    first, second = (
        fit_many(estimator, [Problem(X, LABELS, rows=rows, sample_weight=given, random_state=0)])[0]
        for given in (weight.clone().requires_grad_(), weight.numpy())
    )
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
