"""A model that is chosen among several: the right one, within the budget, and honestly told."""

import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_regressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import caveat
from caveat import AutoClassifier, AutoRegressor
from caveat.estimators import DeepEnsembleRegressor, MAPRegressor, Wrapped
from caveat.exceptions import LabelError, OptionError, ShapeError, UnknownNameError
from caveat.predictions import Gaussian
from caveat.selection import CANDIDATES, auto, trials
from caveat.selection.candidates import LEVELS, ScaledRidge
from caveat.selection.encoding import fits_table


class Knows(RegressorMixin, BaseEstimator):
    """Predicts a multiple of the first feature with a fixed spread, and counts its fits."""

    fits = 0

    def __init__(self, slope=1.0, spread=1.0, random_state=None):
        self.slope, self.spread, self.random_state = slope, spread, random_state

    def fit(self, X, y):
        type(self).fits += 1
        if self.slope is None:
            raise KeyboardInterrupt
        self.rows_, self.n_features_in_ = len(y), np.shape(X)[1]
        return self

    def predict(self, X, return_std=False):
        mean = self.slope * np.asarray(X)[:, 0]
        return (mean, np.full(len(mean), self.spread)) if return_std else mean


class Chance(ClassifierMixin, BaseEstimator):
    """Gives probabilities by a slope; those beyond a limit are 0 and 1."""

    def __init__(self, slope=1.0, limit=np.inf):
        self.slope, self.limit = slope, limit

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.weighted_ = np.unique(y), sample_weight is not None
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict_proba(self, X):
        x = np.asarray(X)[:, 0]
        p = np.where(np.abs(x) > self.limit, x > 0, expit(self.slope * x))
        return np.c_[1 - p, p]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def numbers(samples=300, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, 2))
    return X, X[:, 0] + noise * rng.normal(size=samples)


def classes(samples=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, 2))
    return X, (rng.random(samples) < expit(X[:, 0])).astype(int)


class Clock:
    """Every look at it is so many seconds later."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def test_the_best_by_crps_is_chosen_and_scores_are_those_of_the_formula():
    X, y = numbers(2000)
    given = {"steep": Knows(2.0), "right": Knows(1.0), "sure": Knows(1.0, 0.2)}
    model = AutoRegressor(given, random_state=0).fit(X, y)
    assert model.chosen_ == "right"
    assert model.measure_ == "gaussian_crps_loss"
    rows = {row.candidate: row for row in model.tried_}
    for name, known in given.items():
        # No candidate learns anything, so the cross-validated score is that of all samples.
        exact = caveat.metrics.gaussian_crps_loss(
            y, known.slope * X[:, 0], np.full(len(y), known.spread**2)
        )
        assert rows[name].score == pytest.approx(exact, rel=1e-9)
        assert rows[name].low < exact < rows[name].high
    assert rows["right"].behind == 0
    assert rows["right"].chosen
    assert rows["steep"].behind > 2 * rows["steep"].error > 0
    assert model.model_.rows_ == 2000  # the chosen one is fitted to all samples
    np.testing.assert_allclose(model.predict(X), X[:, 0])
    assert model.predict_interval(X[:3], 0.5).coverage == 0.5
    assert str(model.tried_) == model.summary()
    assert model.summary().startswith("Chose right among 3 candidates: its CRPS on samples that")
    assert "interval" in repr(model.tried_)
    assert "<table>" in model.tried_._repr_html_()


def test_a_model_that_is_not_better_by_more_than_its_noise_is_not_worth_its_cost():
    X, y = numbers(200, seed=38)
    # Both are as far from the truth; the second is better on these samples, within its error.
    low, high = Knows(0.9), Knows(1.1)
    model = AutoRegressor({"low": low, "high": high}, random_state=0).fit(X, y)
    swapped = AutoRegressor({"high": high, "low": low}, random_state=0).fit(X, y)
    assert (model.chosen_, swapped.chosen_) == ("low", "high")
    assert 0 < model.tried_.rows[0].behind < model.tried_.rows[0].error
    assert "lower by less than one standard error" in model.summary()
    assert model.summary().endswith("low is cheaper.")
    assert "standard error" not in swapped.summary()
    # With many samples, a difference shows.
    X, y = numbers(200_000)
    clear = AutoRegressor({"cheap": Knows(0.95), "dear": Knows(1.0)}, random_state=0).fit(X, y)
    assert clear.chosen_ == "dear"


def test_trees_win_where_lines_cannot():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(400, 2))
    y = np.sign(X[:, 0] * X[:, 1]) * 3 + 0.3 * rng.normal(size=400)
    model = AutoRegressor(["linear", "forest"], random_state=0).fit(X, y)
    assert model.chosen_ == "forest"
    prediction = model.predict_distribution(X[:7])
    assert prediction.members == 200  # the trees are kept


def test_boosted_trees_predict_quantiles():
    X, y = numbers(60)
    model = AutoRegressor(["boosting"], folds=2, random_state=0).fit(X, y)
    assert model.measure_ == "quantile_crps_loss"
    prediction = model.predict_distribution(X)
    assert prediction.levels.tolist() == pytest.approx([0.05 + 0.1 * k for k in range(10)])
    np.testing.assert_allclose(model.predict(X), prediction.median()[:, 0])
    both = AutoRegressor({"boosting": None, "right": Knows()}, folds=2, random_state=0).fit(X, y)
    assert both.chosen_ == "right"
    assert both.tried_.rows[0].score == model.tried_.rows[0].score  # seeded


def test_the_budget_ends_the_search(monkeypatch):
    X, y = numbers()
    given = {"steep": Knows(2.0), "right": Knows(1.0), "flat": Knows(0.0)}
    monkeypatch.setattr(trials, "clock", Clock(4.0))  # each candidate takes four seconds
    model = AutoRegressor(given, time_budget=5, random_state=0).fit(X, y)
    assert [row.seconds for row in model.tried_][:2] == [4.0, 4.0]
    assert model.tried_.rows[2].reason == "not tried: the time budget of 5 s was used up"
    assert model.chosen_ == "right"
    assert "Not compared: flat (not tried: the time budget" in model.summary()
    assert AutoRegressor(given, time_budget=0, random_state=0).fit(X, y).chosen_ == "steep"
    assert AutoRegressor(given, time_budget=9, random_state=0).fit(X, y).tried_.rows[2].score > 0


def test_a_budget_that_a_failure_uses_up_leaves_the_next_one(monkeypatch):
    X, y = numbers()
    given = {"lost": Knows("steep"), "right": Knows(), "steep": Knows(2.0)}
    monkeypatch.setattr(trials, "clock", Clock(4.0))
    model = AutoRegressor(given, time_budget=3, random_state=0).fit(X, y)
    assert model.chosen_ == "right"
    assert [row.reason.partition(":")[0] for row in model.tried_] == ["left out", "", "not tried"]


def test_what_chooses_its_settings_comes_last():
    names = [name for name, candidate in CANDIDATES.items() if not candidate.package]
    opened = [getattr(CANDIDATES[name].make(True), "rate", None) == "auto" for name in names]
    assert names[-1] == "mc-dropout"
    assert opened == [False] * (len(names) - 1) + [True]


class AtLevels(Knows):
    """Predicts the quantiles of the same distributions at some levels."""

    def __init__(self, levels=(0.1, 0.9), slope=1.0, spread=1.0, random_state=None):
        super().__init__(slope, spread, random_state)
        self.levels = levels

    def predict_distribution(self, X):
        mean, spread = self.predict(X, return_std=True)
        return Gaussian(mean, spread**2).to_quantiles(self.levels)


def test_all_are_compared_at_the_levels_of_those_that_predict_quantiles():
    X, y = numbers(300)
    given = {
        "right": Knows(),
        "ten": AtLevels(LEVELS),
        "five": AtLevels((0.05, 0.25, 0.5, 0.75, 0.95)),
        "other": AtLevels((0.1, 0.9)),
    }
    model = AutoRegressor(given, folds=2, random_state=0).fit(X, y)
    assert (model.chosen_, model.measure_) == ("right", "quantile_crps_loss")
    shared = Gaussian(X[:, 0], np.ones(300)).to_quantiles([0.05, 0.25, 0.75, 0.95])
    exact = caveat.metrics.quantile_crps_loss(y, shared.levels, shared.values[0, :, 0])
    *rows, other = model.tried_
    assert [row.score for row in rows] == pytest.approx([exact] * 3)
    assert [row.low < exact < row.high for row in rows] == [True] * 3
    assert other.reason == (
        "its quantiles have no level in common with those of ten, at which all are compared"
    )
    assert isinstance(model.predict_distribution(X), Gaussian)
    # Without quantiles it is the whole distribution.
    alone = AutoRegressor({"right": Knows()}, folds=2, random_state=0).fit(X, y)
    assert alone.measure_ == "gaussian_crps_loss"


def test_log_loss_decides_and_the_brier_score_where_it_is_infinite():
    X, y = classes()
    model = AutoClassifier({"flat": Chance(0.0), "right": Chance()}, random_state=0).fit(X, y)
    assert (model.chosen_, model.measure_) == ("right", "negative_log_likelihood_loss")
    exact = caveat.metrics.negative_log_likelihood_loss(y, Chance().fit(X, y).predict_proba(X))
    assert model.tried_.rows[1].score == pytest.approx(exact)
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(model.predict_proba(X[:3]).sum(axis=1), 1)
    assert 0.5 < model.score(X, y) < 1
    given = {"sure": Chance(limit=0.3), "right": Chance()}
    model = AutoClassifier(given, random_state=0).fit(X, y)
    assert (model.chosen_, model.measure_) == ("right", "brier_loss")
    assert "its Brier score on" in model.summary()


class TestCheckpoint:
    def test_a_killed_search_goes_on(self, tmp_path):
        X, y = numbers()
        Knows.fits = 0
        killed = {"first": Knows(2.0), "second": Knows(None)}
        options = {"random_state": 0, "checkpoint": tmp_path / "run", "folds": 3}
        with pytest.raises(KeyboardInterrupt):
            AutoRegressor(killed, **options).fit(X, y)
        assert Knows.fits == 4  # three folds, and the one that was killed
        Knows.fits = 0
        with pytest.raises(KeyboardInterrupt):
            AutoRegressor(killed, **options).fit(X, y)
        assert Knows.fits == 1
        with pytest.raises(OptionError, match="belongs to another experiment"):
            AutoRegressor({"first": Knows(2.0), "second": Knows(1.0)}, **options).fit(X, y)

    def test_what_was_finished_is_the_same(self, tmp_path, monkeypatch):
        X, y = numbers()
        given = {"steep": Knows(2.0), "net": MAPRegressor(hidden=(4,), epochs=2)}
        options = {"random_state": 0, "checkpoint": tmp_path / "run", "folds": 3}
        monkeypatch.setattr(trials, "clock", Clock(2.0))
        first = AutoRegressor(given, **options).fit(X, y)
        (tmp_path / "run" / "net.npz").write_bytes(b"damaged")
        Knows.fits = 0
        second = AutoRegressor(given, time_budget=1e9, **options).fit(X, y)
        assert [row.score for row in second.tried_] == [row.score for row in first.tried_]
        assert [row.seconds for row in second.tried_] == [2.0, 2.0]
        assert Knows.fits <= 1  # the final fit alone

    def test_what_failed_is_tried_again(self, tmp_path):
        X, y = numbers(60)
        given = {"right": Knows(), "odd": LinearRegression(positive="no")}
        options = {"random_state": 0, "checkpoint": tmp_path}
        model = AutoRegressor(given, **options).fit(X, y)
        assert "positive" in model.tried_.rows[1].reason
        assert AutoRegressor(given, **options).fit(X, y).tried_.rows[1].reason

    def test_a_frame_is_the_same_whatever_was_asked_of_it(self, tmp_path):
        X, y = numbers(60)
        frame = pd.DataFrame(
            {"a": X[:, 0], "b": pd.Series(X[:, 1] > 0).astype("Int64").mask(y > 1)}
        )
        for given in (frame, frame.copy()):
            options = {"random_state": 0, "checkpoint": tmp_path, "folds": 2}
            model = AutoRegressor(["linear"], **options).fit(given, y)
            assert model.predict(given).shape == (60,)
        with pytest.raises(OptionError, match="belongs to another experiment"):
            AutoRegressor(["linear"], **options).fit(frame.fillna(1), y)

    def test_it_needs_a_seed(self, tmp_path):
        with pytest.raises(OptionError, match="checkpoint needs random_state to be an integer"):
            AutoRegressor(checkpoint=tmp_path).fit(*numbers(20))


def table(samples=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "size": rng.normal(size=samples),
        "color": rng.choice(["red", "blue", None], size=samples),
        "flag": pd.Categorical(rng.choice(["a", "b"], size=samples)),
    })  # fmt: skip
    frame.loc[::9, "size"] = np.nan
    effect = np.where(frame["color"] == "red", 3.0, 0.0) + (frame["flag"] == "a")
    return frame, effect.to_numpy() + 0.1 * rng.normal(size=samples)


def test_frames_with_categories_and_missing_values():
    X, y = table()
    networks = {"map": MAPRegressor(hidden=(8,), epochs=20)}
    model = AutoRegressor(
        {"linear": None, "forest": None, **networks}, folds=3, random_state=0
    ).fit(X, y)
    assert [row.reason for row in model.tried_] == [""] * 3
    new = X.iloc[:5].copy()
    new.loc[0, "color"] = "green"  # not seen before
    assert np.isfinite(model.predict(new)).all()
    assert model.feature_names_in_.tolist() == ["size", "color", "flag"]
    assert model.score(X, y) > 0.9
    labels = np.where(y > y.mean(), "high", "low")
    chosen = AutoClassifier(["linear", "forest", "boosting"], folds=2, random_state=0).fit(
        X, labels
    )
    assert chosen.classes_.tolist() == ["high", "low"]
    gaps = X[["size"]].to_numpy()
    assert AutoRegressor(["linear"], random_state=0).fit(gaps, y).predict(gaps).shape == (120,)


def test_what_takes_a_table_as_it_is_gets_it_as_it_is():
    plain = LogisticRegression()
    assert fits_table(plain, np.zeros((3, 2))) is plain
    assert fits_table(plain, pd.DataFrame({"a": [1, 2]})) is plain
    trees = DecisionTreeClassifier()  # takes missing values, no categories
    assert fits_table(trees, np.array([[np.nan], [1.0]])) is trees
    assert fits_table(trees, table()[0]) is not trees
    chosen = AutoClassifier()
    assert fits_table(chosen, table()[0]) is chosen

    class Whole(MAPRegressor):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.input_tags.allow_nan = True
            return tags

    network = Whole()
    assert fits_table(network, table()[0]) is network
    assert fits_table(object(), table()[0]).steps[0][0] == "transformer"


def columns(samples=90):
    """Return frames whose columns or names scikit-learn does not take as they are."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=samples)
    codes = rng.integers(1, 4, samples)
    kinds = {
        "categories that are whole numbers": pd.Categorical(codes),
        "categories that are numbers, with gaps": pd.Categorical(
            np.where(codes > 2, np.nan, codes)
        ),
        "categories that are truths": pd.Categorical(codes > 1),
        "texts with gaps": pd.array(np.array(["u", None, "v"], object)[codes - 1], dtype="string"),
        "texts and numbers": np.array([1, "u", 2.5], dtype=object)[codes - 1],
    }
    frames = {name: pd.DataFrame({"a": x, "b": kind}) for name, kind in kinds.items()}
    text = np.array(["u", "v", "w"])[codes - 1]
    frames["numbers as names"] = pd.DataFrame({10: x, 11: text})
    frames["names of both kinds"] = pd.DataFrame({"a": x, 2: x**2, 0: text})
    return frames, x


@pytest.mark.parametrize("kind", columns()[0])
def test_frames_that_networks_take_are_taken_by_all(kind):
    frames, x = columns()
    X = frames[kind]
    y = x + (X.iloc[:, -1] == X.iloc[0, -1]).fillna(False).astype(float)
    given = {
        "linear": None,
        "trees": DecisionTreeRegressor(),
        "boosting": None,
        "network": MAPRegressor(epochs=2, hidden=(4,)),
    }
    model = AutoRegressor(given, folds=2, random_state=0).fit(X, y)
    assert [row.reason for row in model.tried_] == [""] * 4
    assert model.chosen_ == "linear"
    assert model.score(X, y) > 0.9


def as_objects(x):
    return pd.Series(x.astype(object)).where(np.arange(len(x)) % 20 > 0, None)


OTHER_TYPES = {
    "objects": lambda x: x.astype(object),
    "objects with gaps": as_objects,
    "objects with NA": lambda x: as_objects(x).fillna(pd.NA),
    "decimals": lambda x: [Decimal(f"{value:.12f}") for value in x],
    "nullable": lambda x: pd.array(x, dtype="Float64"),
    "nullable with gaps": lambda x: pd.Series(x).astype("Float64").mask(np.arange(len(x)) % 20 < 1),
}


@pytest.mark.parametrize("kind", OTHER_TYPES)
@pytest.mark.parametrize("columns", [1, 2])
def test_numbers_of_any_type_are_numbers_for_all(kind, columns):
    x, y = numbers(120, noise=0.1)
    other = pd.DataFrame({i: OTHER_TYPES[kind](x[:, i]) for i in range(columns)})
    plain = pd.DataFrame({i: pd.to_numeric(other[i]).astype(float) for i in range(columns)})
    given = {"linear": None, "forest": None, "boosting": None, "map": MAPRegressor(epochs=3)}
    expected = AutoRegressor(given, folds=2, random_state=0).fit(plain, y)
    model = AutoRegressor(given, folds=2, random_state=0).fit(other, y)
    assert [row.reason for row in model.tried_] == [""] * 4
    scores = [row.score for row in expected.tried_]
    assert [row.score for row in model.tried_] == pytest.approx(scores, rel=1e-6)
    assert model.predict(other) == pytest.approx(expected.predict(plain), rel=1e-6)
    assert model.predict(other.iloc[:1]) == pytest.approx(expected.predict(plain[:1]), rel=1e-6)
    seen = fits_table(LikeCatBoost(), other).fit(other, y)[-1].seen_
    pd.testing.assert_frame_equal(seen, plain)
    broken = other.astype(object)
    broken.iloc[3, -1] = "text"
    with pytest.raises(ValueError, match=f"column '?x?{columns - 1}'? must hold numbers"):
        model.predict(broken)


def test_arrays_for_a_model_of_frames():
    X, y = table()
    X["whole"] = pd.array([1, None, 3] * 40, dtype="Int64")
    X.columns = range(4)
    model = AutoRegressor(["linear"], folds=2, random_state=0).fit(X, y)
    assert model.predict(X.to_numpy()) == pytest.approx(model.predict(X))


def test_targets_keep_their_names():
    X, y = numbers(60)
    for given in (["forest"], {"map": MAPRegressor(epochs=2)}):
        model = AutoRegressor(given, folds=2, random_state=0)
        price = model.fit(X, pd.Series(y, index=range(9, 69), name="price"))
        assert price.predict_distribution(X).targets.tolist() == ["price"]
        assert price.predict_interval(X).targets.tolist() == ["price"]
        both = model.fit(X, pd.DataFrame({"low": y, "high": y + 1}))
        assert both.predict_distribution(X).targets.tolist() == ["low", "high"]
        assert model.fit(X, y).predict_distribution(X).targets.tolist() == [0]


def test_a_column_without_values_is_nothing_for_all():
    X, y = numbers(120)
    given = {"linear": None, "forest": None, "boosting": None, "map": MAPRegressor(epochs=3)}
    for kind in (float, object, "Float64"):
        frame = pd.DataFrame({"a": X[:, 0], "b": pd.Series([None] * 120).astype(kind)})
        model = AutoRegressor(given, folds=2, random_state=0).fit(frame, y)
        assert [row.reason for row in model.tried_] == [""] * 4
    objects = np.where(X > 1, None, X.astype(object))
    model = AutoRegressor(["linear", "boosting"], folds=2, random_state=0).fit(objects, y)
    floats = AutoRegressor(["linear", "boosting"], folds=2, random_state=0)
    floats.fit(objects.astype(float), y)
    assert [row.score for row in model.tried_] == [row.score for row in floats.tried_]
    with pytest.raises(OptionError, match="column 1 must hold numbers; got values such as 'a'"):
        floats.fit(np.where([False, True], "a", objects), y)
    array = np.where([True, False], X, np.nan)
    model = AutoRegressor(given, folds=2, random_state=0).fit(array, y)
    assert [row.reason for row in model.tried_] == [""] * 4


class LikeCatBoost(RegressorMixin, BaseEstimator):
    """Takes texts without gaps in the columns it is told of, and numbers with gaps elsewhere."""

    def __init__(self, cat_features=()):
        self.cat_features = cat_features

    def get_cat_feature_indices(self):
        return list(self.cat_features)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def _checked(self, X):
        for place in range(X.shape[1]):
            column = X.iloc[:, place]
            if place in self.cat_features:
                assert all(isinstance(value, str) for value in column)
            else:
                column.to_numpy(dtype=float)
        return X

    def fit(self, X, y):
        self.seen_, self.n_features_in_ = self._checked(X), X.shape[1]
        return self

    def predict(self, X):
        return np.zeros(len(self._checked(X)))


def test_catboost_gets_its_categories():
    X, y = table()
    X.columns = [2, 1, 0]  # names that are numbers are not places
    given = LikeCatBoost()
    fitted = fits_table(given, X).fit(X, y)
    seen = fitted[-1].seen_
    assert fitted[-1].cat_features == (1, 2)
    assert seen[2].isna().equals(X[2].isna())
    assert (seen[1] == X[1].fillna("missing").astype(str)).all()
    new = X.iloc[:4].copy()
    new.iloc[0, 1] = "green"
    assert fitted.predict(new).shape == (4,)
    assert pickle.loads(pickle.dumps(fitted)).predict(X[:2]).shape == (2,)
    # Numbers with gaps need no encoder.
    assert fits_table(given, X[[2]]) is given


def test_weights_reach_those_that_take_them():
    X, y = classes()
    weight = np.where(y == 1, 3.0, 1.0)
    given = {"near": KNeighborsClassifier(), "right": Chance(), "steep": Chance(2.0)}
    model = AutoClassifier(given, random_state=0).fit(X, y, weight)
    assert model.model_.weighted_
    assert model.tried_.rows[0].reason == "left out: its fit does not take sample_weight"
    probabilities = Chance().fit(X, y).predict_proba(X)
    exact = caveat.metrics.negative_log_likelihood_loss(y, probabilities, sample_weight=weight)
    assert model.tried_.rows[1].score == pytest.approx(exact)
    assert trials._takes_weights(CANDIDATES["boosting"].make(True))
    assert trials._takes_weights(Wrapped(Chance()))
    # They reach the model after a scaler: three of four samples are of class 1 by weight.
    linear = AutoClassifier(["linear"], random_state=0).fit(0 * X, y, weight)
    expected = np.average(y, weights=weight)
    assert linear.predict_proba(0 * X[:1])[0, 1] == pytest.approx(expected, abs=1e-3)


def test_clusters_stay_whole():
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(20), 10)
    X = rng.normal(size=20)[cluster][:, None] + np.zeros((200, 2))  # the same within a cluster
    y = rng.normal(size=20)[cluster]  # to be learned by heart alone
    given = {"flat": Knows(0.0, y.std()), "forest": None}
    assert AutoRegressor(given, random_state=0).fit(X, y).chosen_ == "forest"
    assert AutoRegressor(given, random_state=0).fit(X, y, cluster=cluster).chosen_ == "flat"


def test_several_targets_count_alike():
    X, y = numbers(150)
    both = np.c_[y, 1000 * y]
    model = AutoRegressor(["linear", "forest"], random_state=0, folds=3).fit(X, both)
    linear, forest = model.tried_
    assert linear.reason.startswith("left out: ")  # it has one target
    assert (forest.score, np.isnan(forest.low)) == (1.0, True)
    assert model.predict(X).shape == (150, 2)
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        one = AutoRegressor({"a": Knows()}, random_state=0).fit(X, y[:, None])
    assert one.predict(X).shape == (150,)


def test_clone_pickle_and_tags():
    X, y = numbers(80)
    model = AutoRegressor(["linear"], time_budget=60, random_state=0)
    assert clone(model).get_params() == model.get_params()
    assert is_regressor(model)
    assert model.__sklearn_tags__().input_tags.allow_nan
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.tried_.rows == model.tried_.rows
    with pytest.raises(ValueError, match="X has 1 features, but AutoRegressor is expecting 2"):
        model.predict(X[:, :1])
    with pytest.raises(
        ShapeError, match=r"must have shape \(samples, 2\); got \(2,\). Reshape your"
    ):
        model.predict(X[0])
    with pytest.raises(OptionError, match="sparse X is not supported"):
        model.fit(csr_array(X), y)


def test_networks_are_saved_and_others_refused(tmp_path):
    X, y = numbers(60)
    path = tmp_path / "model.safetensors"
    given = {"net": DeepEnsembleRegressor(members=2, hidden=(4,), epochs=2)}
    model = AutoRegressor(given, folds=2, random_state=0).fit(X, y)
    model.save(path)
    again = caveat.load(path)
    assert isinstance(again, DeepEnsembleRegressor)
    assert again.predict_distribution(X) == model.predict_distribution(X)
    with pytest.raises(OptionError, match="cannot be saved: files hold caveat's networks"):
        AutoRegressor(["linear"], random_state=0).fit(X, y).save(path)


def test_progress_is_shown_if_asked(capsys):
    X, y = numbers(60)
    AutoRegressor({"right": Knows()}, verbose=True, random_state=0).fit(X, y)
    assert "trying right" in capsys.readouterr().err
    AutoRegressor({"right": Knows()}, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""


def test_what_is_not_installed_is_said(monkeypatch):
    monkeypatch.setattr("caveat.selection.candidates.find_spec", lambda name: None)
    X, y = numbers(60)
    model = AutoRegressor(["linear", "catboost"], random_state=0).fit(X, y)
    assert model.tried_.rows[1].reason == "left out: the package catboost is not installed"
    with pytest.raises(OptionError, match=r"no candidate could be fitted \(catboost: left out"):
        AutoRegressor(["catboost"], random_state=0).fit(X, y)


def test_makers_of_other_packages(monkeypatch):
    """Settings for packages that are not installed here, with stand-ins that keep them."""
    import sys
    from types import ModuleType

    class Keeps(BaseEstimator):
        def __init__(self, trees=0, **settings):
            self.settings = settings

    for package, names in {
        "catboost": ("CatBoostClassifier", "CatBoostRegressor"),
        "quantile_forest": ("RandomForestQuantileRegressor",),
        "lightgbm": ("LGBMClassifier", "LGBMRegressor"),
    }.items():
        module = ModuleType(package)
        for name in names:
            setattr(module, name, Keeps)
        monkeypatch.setitem(sys.modules, package, module)
    monkeypatch.setattr("caveat.selection.candidates.find_spec", lambda name: name)
    assert CANDIDATES["catboost"].make(False).settings["posterior_sampling"] is True
    assert CANDIDATES["catboost"].make(True).settings["loss_function"] == "RMSEWithUncertainty"
    assert len(CANDIDATES["quantile-forest"].make(True).settings["default_quantiles"]) == 10
    assert CANDIDATES["lightgbm"].make(False).settings == {"verbose": -1}
    assert CANDIDATES["lightgbm"].make(True).model[0.05].settings["alpha"] == 0.05
    with pytest.raises(OptionError, match="predicts numbers, not classes"):
        CANDIDATES["quantile-forest"].make(False)


def test_candidates_that_are_checkpointed_have_words():
    assert trials.words_of(lambda: CANDIDATES["quantile-forest"].classifier()) == (
        "a quantile forest predicts numbers, not classes"
    )
    assert trials.words_of(CANDIDATES["mc-dropout"].regressor) == "MCDropoutRegressor()"


def test_an_error_without_words_is_named():
    class Silent(Knows):
        def fit(self, X, y):
            raise ArithmeticError

    X, y = numbers(40)
    model = AutoRegressor({"silent": Silent(), "right": Knows()}, random_state=0).fit(X, y)
    assert model.tried_.rows[0].reason == "left out: ArithmeticError"


def test_scores_that_are_not_finite(monkeypatch):
    X, y = numbers(40)
    monkeypatch.setattr(auto, "finite", lambda answers: answers[0].value < 1)
    model = AutoRegressor({"steep": Knows(9.0), "right": Knows()}, random_state=0).fit(X, y)
    assert model.chosen_ == "right"
    assert model.tried_.rows[0].reason == "its score is infinite or undefined"
    with pytest.raises(OptionError, match="the score of every candidate is infinite or undefined"):
        AutoRegressor({"steep": Knows(9.0)}, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"candidates": []}, OptionError, "candidates must be a list of names, or a dict of name"),
        ({"candidates": "forest"}, OptionError, "candidates must be a list of names"),
        ({"candidates": 3}, OptionError, "from cheap to expensive; got 3"),
        ({"candidates": [Knows()]}, OptionError, "the name of a candidate must be text; got Knows"),
        ({"candidates": ["forrest"]}, UnknownNameError, "did you mean 'forest'"),
        ({"candidates": {"a": Chance()}}, OptionError, "candidate 'a' must be a regressor; got Ch"),
        ({"candidates": {"a": Knows}}, OptionError, "candidate 'a' must be a regressor; got <class"),
        ({"folds": 1}, OptionError, "folds must be a whole number of at least 2; got 1"),
        ({"folds": 50}, ShapeError, "folds=50 needs as many samples; got n_samples = 40"),
        ({"time_budget": -1}, OptionError, "time_budget must be"),
    ],
)  # fmt: skip
def test_errors_say_what_was_expected(options, error, message):
    X, y = numbers(40)
    with pytest.raises(error, match=message):
        AutoRegressor(**{"random_state": 0, **options}).fit(X, y)


def test_targets_are_checked():
    X, y = classes(40)
    with pytest.raises(LabelError, match="AutoClassifier requires y to be passed, but the target"):
        AutoClassifier().fit(X, None)
    with pytest.raises(LabelError, match="y has one class"):
        AutoClassifier(["linear"]).fit(X, np.zeros(40, int))
    with pytest.raises(LabelError, match="class 7 has one sample; cross-validation needs two of"):
        AutoClassifier(["linear"]).fit(X, np.where(np.arange(40) == 3, 7, y))
    with pytest.raises(ShapeError, match="folds=5 needs as many clusters; got n_clusters = 2"):
        AutoClassifier(["linear"]).fit(X, y, cluster=y)
    with pytest.raises(NotImplementedError):
        auto.AutoModel()._truth(y)
    with pytest.raises(NotImplementedError):
        auto.AutoModel()._measures(y)
    with pytest.raises(ValueError, match="not fitted"):
        AutoClassifier().summary()


def test_logits_with_noise_count_as_probabilities():
    X, y = classes(60)
    net = caveat.MAPClassifier(hidden=(4,), epochs=2, head="gaussian-logits")
    model = AutoClassifier({"net": net}, folds=2, random_state=0).fit(X, y)
    assert isinstance(model.predict_distribution(X), caveat.GaussianLogits)
    assert np.isfinite(model.tried_.rows[0].score)


@pytest.mark.parametrize("scale", [1e-5, 1e8])
def test_the_unit_of_the_target_does_not_matter(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = 3 * X[:, 0] + 0.5 * rng.normal(size=150)
    weight = rng.integers(1, 3, 150)
    one, other = (
        AutoRegressor(["linear", "forest"], folds=2, random_state=0).fit(X, target, weight)
        for target in (y, scale * y)
    )
    assert (one.chosen_, other.chosen_) == ("linear", "linear")
    first, second = (model.predict_distribution(X[:9]) for model in (one, other))
    np.testing.assert_allclose(second.mean, scale * first.mean, rtol=1e-6)
    np.testing.assert_allclose(second.variance, scale**2 * first.variance, rtol=1e-6)
    assert np.sqrt(first.variance).mean() == pytest.approx(0.5, rel=0.2)


def test_a_ridge_of_a_constant():
    X = np.random.default_rng(0).normal(size=(37, 2))
    np.testing.assert_allclose(ScaledRidge().fit(X, np.full(37, 0.3)).predict(X), 0.3)
