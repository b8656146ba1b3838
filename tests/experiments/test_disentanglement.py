"""The engine: what is trained on what, in any order, by any number of workers, after any crash."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import caveat
from caveat.exceptions import FileFormatError, OptionError
from caveat.experiments import Protocol, _disentanglement, _engine, _models, _scoring
from caveat.experiments._inputs import TrainTestData
from caveat.experiments.conditions import TEST, Condition, Draws, conditions_of, rows_of

from .oracles import Oracle, mean_prediction, oracle_data

X, Y = load_wine(return_X_y=True)
SMALL = Protocol(sizes=(0.05, 0.3, 1), noise=(0, 0.5, 1), repeats=2)
FOREST = RandomForestClassifier(n_estimators=8, max_depth=4)


def same(a, b):
    """Whether two results have the same numbers, to the last digit."""
    parts = [json.loads(result.to_json()) for result in (a, b)]
    for part in parts:
        del part["cost"]["seconds"]
    return parts[0] == parts[1]


def forest(**options):
    given = {"protocol": SMALL, "random_state": 0, **options}
    return caveat.disentanglement_error(FOREST, X, Y, **given)


def test_each_number_is_that_of_a_model_trained_by_hand():
    result = forest(decomposition=["it", "variance"])
    draws = Draws.of(0)
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(178), test_size=36, stratify=Y, random_state=draws.split()
    )
    train, test = np.sort(train), np.sort(test)
    for kind in ("size", "noise"):
        for repeat in range(2):
            for place, level in enumerate(SMALL.sizes if kind == "size" else SMALL.noise):
                condition = Condition(kind, level, place, repeat)
                rows = rows_of(condition, Y[train], "classification", draws)
                rows = np.arange(142) if rows is None else rows
                y, y_test = Y[train], Y[test]
                if kind == "noise":
                    y = draws.noisy(y, condition)
                    y_test = draws.noisy(y_test, condition, part=TEST)
                model = clone(FOREST).set_params(random_state=draws.seeds(condition, 1)[0])
                model.fit(X[train][rows], y[rows])
                members = np.stack([tree.predict_proba(X[test]) for tree in model.estimators_])
                logs = np.log(np.where(members > 0, members, 1))
                curve = result.curve(kind, "it")
                expected = -(members * logs).sum(axis=2).mean()
                assert curve.aleatoric[repeat, place] == pytest.approx(expected)
                assert curve.score[repeat, place] == (model.predict(X[test]) == y_test).mean()
                # Kwon: the variance of the members' probabilities, summed over classes.
                expected = members.var(axis=0).sum(axis=1).mean()
                found = result.curve(kind, "variance").epistemic[repeat, place]
                assert found == pytest.approx(expected)
                if kind == "size":
                    assert curve.train_score[repeat, place] == model.score(X[train][rows], y[rows])
    assert result.curve("noise").train_score is None
    assert result.decompositions == ("information", "variance")
    assert result.cost.trainings == 12
    assert result.cost.steps is None
    assert (result.samples, result.test_samples, result.task) == (142, 36, "classification")


def test_the_number_of_workers_and_the_container_change_nothing():
    one = forest()
    assert same(one, forest(n_jobs=2))
    assert same(
        one,
        caveat.disentanglement_error(
            FOREST, pd.DataFrame(X).rename(columns=str), list(Y), protocol=SMALL, random_state=0
        ),
    )
    assert same(
        one,
        caveat.disentanglement_error(
            FOREST, X.tolist(), Y[:, None], protocol=SMALL, random_state=0
        ),
    )
    assert not same(one, forest(random_state=1))
    assert not hasattr(FOREST, "estimators_")


def test_tensors_and_sparse_samples():
    torch = pytest.importorskip("torch")
    from scipy.sparse import coo_matrix

    assert same(
        forest(),
        caveat.disentanglement_error(
            FOREST, torch.tensor(X), torch.tensor(Y), protocol=SMALL, random_state=0
        ),
    )
    assert same(
        forest(),
        caveat.disentanglement_error(FOREST, coo_matrix(X), Y, protocol=SMALL, random_state=0),
    )


def test_own_test_samples_and_score():
    result = caveat.disentanglement_error(
        FOREST, X[::2], Y[::2], test=(X[1::2], Y[1::2]), protocol=SMALL, random_state=0,
        score=balanced_accuracy_score,
    )  # fmt: skip
    assert (result.samples, result.test_samples) == (89, 89)
    assert result.score_name == "balanced_accuracy_score"
    assert result.notes == (
        "RandomForestClassifier has no training length that could be set, so the schedule "
        "(inverse-epochs) plays no part",
    )


def test_the_smallest_size_has_one_sample_of_each_class():
    result = forest(protocol=Protocol(sizes=(0.01, 0.05, 1), noise=(0, 1), repeats=1))
    assert result.curve("size").samples.tolist() == [3, 7, 142]
    assert result.notes[1] == (
        "the smallest size, 0.01 of 142 samples, is 1; 3 were taken, one for each class"
    )


def test_regression_by_hand():
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(n_estimators=5, max_depth=4)
    result = caveat.disentanglement_error(model, X, y, protocol=SMALL, random_state=0)
    assert result.decompositions == ("total_variance",)
    assert (result.task, result.score_name) == ("regression", "1 - standardized MAE")
    assert "stratified by quantile bins of y" in result.notes[0]
    draws = Draws.of(0)
    from sklearn.model_selection import train_test_split

    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    train, test = train_test_split(
        np.arange(442), test_size=89, stratify=ranks * 10 // 442, random_state=draws.split()
    )
    train, test = np.sort(train), np.sort(test)
    condition = Condition("size", 0.3, 1, 1)
    rows = rows_of(condition, y[train], "regression", draws)
    fitted = clone(model).set_params(random_state=draws.seeds(condition, 1)[0])
    fitted.fit(X[train][rows], y[train][rows])
    points = np.stack([tree.predict(X[test]) for tree in fitted.estimators_])
    error = np.abs(points.mean(axis=0) - y[test]).mean()
    median = np.abs(np.median(y[train]) - y[test]).mean()
    curve = result.curve("size")
    assert curve.score[1, 1] == pytest.approx(1 - error / median)
    assert curve.epistemic[1, 1] == pytest.approx(points.var(axis=0).mean())
    assert (curve.aleatoric == 0).all()
    learned = np.abs(fitted.predict(X[train][rows]) - y[train][rows]).mean()
    of_median = np.abs(np.median(y[train]) - y[train]).mean()
    assert curve.train_score[1, 1] == pytest.approx(1 - learned / of_median)
    assert result.error().terms["aleatoric_consistency"].correlation == 0
    assert "aleatoric uncertainty is constant" in repr(result)
    assert result.notes[-1] == (
        "the members predict numbers without a spread of their own, so the aleatoric uncertainty "
        "is zero by construction: C1 fails and O1 holds whatever the data; use a model that learns "
        "a spread, such as caveat.DeepEnsembleRegressor"
    )
    three = replace(SMALL, repeats=3)
    said = caveat.disentanglement_error(model, X, y, protocol=three, random_state=0).verdict()
    assert not any(s.level == "good" and "aleatoric" in s.text for s in said.statements)


NETWORK = caveat.DeepEnsembleClassifier(
    members=2, epochs=4, batch_size=16, hidden=(8,), device="cpu", random_state=0
)
ROWS = np.linspace(0, 177, 64).astype(int)
TWO = {"sizes": (0.1, 1), "noise": (0, 1), "repeats": 1}


def wine_network(model=NETWORK, protocol=None, **options):
    given = {"protocol": Protocol(**TWO) if protocol is None else protocol, "random_state": 0}
    return caveat.disentanglement_error(
        model, X[ROWS], Y[ROWS], test=(X[1::2], Y[1::2]), **{**given, **options}
    )


@pytest.mark.parametrize(
    ("schedule", "steps"),
    [
        # 64 samples in batches of 16 for 4 epochs are 16 steps; 6 samples are one batch.
        ("inverse-epochs", 40),
        ("constant-steps", 16),
        ("constant-epochs", 4),
    ],
)
def test_training_lengths_by_hand(schedule, steps):
    result = wine_network(protocol=Protocol(**TWO, schedule=schedule))
    assert result.cost.steps == 2 * (steps + 16 + 16 + 16)
    assert result.cost.trainings == 8
    assert not any("schedule" in note for note in result.notes)


def test_networks_in_lock_step_are_those_trained_alone():
    result = wine_network()
    draws, rows = Draws.of(0), ROWS
    for condition, epochs in ((Condition("size", 0.1, 0, 0), 40), (Condition("noise", 1, 1, 0), 4)):
        chosen = rows_of(condition, Y[rows], "classification", draws)
        chosen = np.arange(64) if chosen is None else chosen
        y = draws.noisy(Y[rows], condition) if condition.kind == "noise" else Y[rows]
        model = clone(NETWORK).set_params(epochs=epochs, random_state=draws.seeds(condition, 1)[0])
        model.fit(X[rows][chosen], y[chosen])
        split = caveat.decompose(model.predict_distribution(X[1::2]))
        curve = result.curve(condition.kind)
        # Equal up to rounding in single precision, which 40 steps of Adam enlarge.
        assert curve.aleatoric[0, condition.place] == pytest.approx(
            split.aleatoric.mean(), abs=1e-3
        )
        assert curve.epistemic[0, condition.place] == pytest.approx(
            split.epistemic.mean(), abs=1e-3
        )


def test_gaussian_logits_may_have_one_member():
    model = caveat.MAPClassifier(head="gaussian-logits", epochs=2, hidden=(8,), device="cpu")
    result = wine_network(model, decomposition="gl")
    assert result.decompositions == ("gaussian_logits",)
    assert (result.curve("size").epistemic > 0).all()
    assert same(result, wine_network(model, decomposition="gaussian_logits"))


def test_a_network_at_the_end_of_a_pipeline_has_its_length_set():
    network = caveat.MCDropoutClassifier(passes=3, epochs=3, hidden=(8,), device="cpu")
    lengths = []

    class Spy(StandardScaler):
        def fit(self, X, y=None, **options):
            lengths.append(len(X))
            return super().fit(X, y, **options)

    result = wine_network(make_pipeline(Spy(), network))
    assert lengths == [6, 64, 64, 64]
    assert result.cost.trainings == 4
    # 30 epochs and three times 3 epochs, each of one batch.
    assert result.cost.steps == 30 + 3 * 3
    assert not any("schedule" in note for note in result.notes)
    samples = TrainTestData(X[ROWS], Y[ROWS], X[1::2], Y[1::2], "classification")
    training = _disentanglement._training(
        Condition("size", 0.1, 0, 0), samples, Draws.of(0),
        _models.network_of(make_pipeline(Spy(), network)), "inverse-epochs",
    )  # fmt: skip
    assert training.parameters == {"mcdropoutclassifier__epochs": 30}


def test_networks_are_counted_wherever_they_are():
    """64 samples in batches of 16 for 4 epochs are 16 steps; 6 samples for 40 epochs are 40."""
    steps = 2 * (40 + 16 + 16 + 16)
    single = caveat.MAPClassifier(epochs=4, batch_size=16, hidden=(8,), device="cpu")
    for model in (
        make_pipeline(StandardScaler(), NETWORK),
        caveat.EnsembleClassifier(single, members=2),
        make_pipeline(StandardScaler(), caveat.EnsembleClassifier(single, members=2)),
    ):
        cost = wine_network(model).cost
        assert (cost.trainings, cost.steps) == (8, steps)
    trees = caveat.EnsembleClassifier(DecisionTreeClassifier(), members=3, resample=True)
    cost = wine_network(trees).cost
    assert (cost.trainings, cost.steps) == (4, None)


def test_networks_in_several_batches(tmp_path):
    one, two = wine_network(), wine_network(n_jobs=2, checkpoint=tmp_path / "run")
    assert len(list((tmp_path / "run" / "conditions").glob("*.json"))) == 4
    assert not (tmp_path / "run" / "networks").exists()
    assert two.cost.steps == one.cost.steps
    for a, b in zip(one.curves, two.curves, strict=True):
        for name in ("score", "aleatoric", "epistemic"):
            # Up to rounding in single precision, which 40 steps of Adam enlarge.
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=1e-3)
    assert same(two, wine_network(checkpoint=tmp_path / "run"))


def trainings_of(protocol, samples):
    network, draws = _models.network_of(NETWORK), Draws.of(0)
    return [
        _disentanglement._training(condition, samples, draws, network, "inverse-epochs")
        for condition in conditions_of(protocol)
    ]


def test_what_a_worker_does_with_a_batch():
    samples = TrainTestData(X[ROWS], Y[ROWS], X[1::2], Y[1::2], "classification")
    scorer = _scoring.Scorer(samples, ("information",), Draws.of(0))
    trainings = trainings_of(Protocol(**TWO), samples)
    found = _engine.train_batch(NETWORK, trainings, scorer, True, [2, 3])
    assert [place for place, _ in found] == [2, 3]
    whole = wine_network().curve("noise")
    for place, (_, outcome) in enumerate(found):
        assert outcome.trainings == 2
        assert outcome.steps == 32
        pair = whole.aleatoric[0, place], whole.epistemic[0, place]
        assert outcome.uncertainties["information"] == pytest.approx(pair, abs=1e-3)


def test_batches_have_about_the_same_work():
    samples = TrainTestData(np.zeros((200, 1)), np.arange(200) % 2, None, None, "classification")
    trainings = trainings_of(Protocol(), samples)
    parts = _engine._batches(NETWORK, trainings, list(range(90)), 4)
    assert sorted(map(len, parts)) == [22, 22, 23, 23]
    assert sorted(place for part in parts for place in part) == list(range(90))
    conditions = [[trainings[place].condition for place in part] for part in parts]
    epochs = [sum(1 / c.level if c.kind == "size" else 1 for c in part) for part in conditions]
    # Five trainings take 100 times the epochs of the others, of which one part has two.
    assert max(epochs) - min(epochs) <= 101


class CrashError(Exception):
    pass


def crash_at(monkeypatch, owner, name, place):
    """Make the place-th call of a function fail; return how many there were."""
    calls, function = [], getattr(owner, name)

    def failing(*given, **options):
        calls.append(None)
        if len(calls) == place:
            raise CrashError
        return function(*given, **options)

    monkeypatch.setattr(owner, name, failing)
    return calls


@pytest.mark.parametrize("place", [1, 5, 12])
def test_a_killed_run_goes_on_with_the_same_numbers(tmp_path, monkeypatch, place):
    whole = forest()
    crash_at(monkeypatch, RandomForestClassifier, "fit", place)
    with pytest.raises(CrashError):
        forest(checkpoint=tmp_path / "run")
    assert len(list((tmp_path / "run" / "conditions").glob("*.json"))) == place - 1
    monkeypatch.undo()
    calls = crash_at(monkeypatch, RandomForestClassifier, "fit", None)
    assert same(whole, forest(checkpoint=tmp_path / "run"))
    assert len(calls) == 13 - place
    # Everything is there: nothing is trained.
    assert same(whole, forest(checkpoint=tmp_path / "run", n_jobs=2))
    assert len(calls) == 13 - place


def test_killed_networks_go_on_with_the_same_numbers(tmp_path, monkeypatch):
    whole = wine_network()
    crash_at(monkeypatch, _scoring.Scorer, "__call__", 3)
    with pytest.raises(CrashError):
        wine_network(checkpoint=tmp_path / "run")
    monkeypatch.undo()
    calls = crash_at(monkeypatch, _scoring.Scorer, "__call__", None)
    assert same(whole, wine_network(checkpoint=tmp_path / "run"))
    assert len(calls) == 2
    assert same(whole, wine_network(checkpoint=tmp_path / "run"))
    assert len(calls) == 2


def test_folders_of_another_run_are_refused(tmp_path):
    folder = tmp_path / "run"
    forest(checkpoint=folder)
    other = "belongs to another experiment"
    for options in (
        {"random_state": 1},
        {"decomposition": "kl"},
        {"protocol": Protocol(**TWO)},
        {"score": balanced_accuracy_score},
        {"test": (X[:50], np.arange(50) % 3)},
    ):
        with pytest.raises(OptionError, match=other):
            forest(checkpoint=folder, **options)
    with pytest.raises(OptionError, match=other):
        caveat.disentanglement_error(
            RandomForestClassifier(n_estimators=9, max_depth=4), X, Y, protocol=SMALL,
            random_state=0, checkpoint=folder,
        )  # fmt: skip
    for state in (None, True, np.random.default_rng(0)):
        with pytest.raises(OptionError, match="checkpoint needs random_state to be an integer"):
            forest(checkpoint=folder, random_state=state)


def test_folders_that_are_none(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(OptionError, match="is a file; name a folder"):
        forest(checkpoint=file)
    with pytest.raises(OptionError, match="holds other files"):
        forest(checkpoint=tmp_path)
    folder = tmp_path / "run"
    forest(checkpoint=folder)
    broken = next((folder / "conditions").iterdir())
    good = broken.read_text()
    for text in ("{", "[1]", '{"score": 1}', '{"uncertainties": 3}'):
        broken.write_text(text)
        with pytest.raises(FileFormatError, match="delete it"):
            forest(checkpoint=folder)
    broken.write_text(good)
    label = folder / "experiment.json"
    label.write_text('{"version": 2}')
    with pytest.raises(FileFormatError, match="newer version"):
        forest(checkpoint=folder)
    label.write_text("nothing")
    with pytest.raises(FileFormatError, match="not readable JSON"):
        forest(checkpoint=folder)


def test_a_bar_on_the_error_stream(capsys):
    forest(progress=True)
    captured = capsys.readouterr()
    assert "12/12" in captured.err
    assert captured.out == ""


def test_an_estimator_that_does_not_say_what_it_predicts():
    class Plain(BaseEstimator):
        def fit(self, X, y):
            self.forest_ = clone(FOREST).fit(X, y)

        def predict_distribution(self, X):
            return caveat.from_sklearn(self.forest_).predict_distribution(X)

    for decomposition in ("auto", "bv"):
        result = caveat.disentanglement_error(
            Plain(), X, Y, protocol=SMALL, decomposition=decomposition, random_state=0
        )
        assert result.task == "classification"


def test_what_is_decided_is_said():
    Xo, yo, test = oracle_data()
    result = caveat.disentanglement_error(
        Oracle(lambda s, q: 1 + q, lambda s, q: 2 - s), Xo, yo, test=test, score=mean_prediction,
        protocol="cheap", random_state=0,
    )  # fmt: skip
    assert result.notes == (
        "Oracle has no training length that could be set, so the schedule (inverse-epochs) plays "
        "no part",
        "Oracle has no random_state; what it draws may differ in a second run",
        "one repeat shows no spread, so there are no intervals",
    )
    assert result.model == "Oracle"
    assert result.protocol.conditions == 8
