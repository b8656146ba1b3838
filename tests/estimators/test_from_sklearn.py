import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
    RidgeClassifier,
)
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

import caveat
from caveat.estimators import (
    DeepEnsembleClassifier,
    EnsembleClassifier,
    MAPClassifier,
    MAPRegressor,
    Problem,
    fit_many,
    from_sklearn,
    member_predictions,
)
from caveat.exceptions import InvalidValueError, OptionError, UnsupportedPredictionError

X, codes = load_iris(return_X_y=True)
y = np.array(["setosa", "versicolor", "virginica"], dtype=object)[codes]
X_numbers, y_numbers = load_diabetes(return_X_y=True)
two_targets = np.column_stack([y_numbers, np.sqrt(y_numbers)])
TREES = {"n_estimators": 7, "random_state": 0}


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(max_depth=2, **TREES),
        ExtraTreesClassifier(max_depth=2, **TREES),
        RandomForestClassifier(max_samples=4, **TREES),
        RandomForestClassifier(class_weight="balanced_subsample", max_depth=2, **TREES),
        BaggingClassifier(KNeighborsClassifier(1), max_samples=3, **TREES),
        BaggingClassifier(KNeighborsClassifier(1), max_samples=1, **TREES),
        BaggingClassifier(GaussianNB(), max_features=2, bootstrap_features=True, **TREES),
        BaggingClassifier(DecisionTreeClassifier(max_depth=1), max_samples=2, **TREES),
        BaggingClassifier(LinearSVC(C=0.01), max_samples=10, **TREES),
        BaggingClassifier(make_pipeline(StandardScaler(), GaussianNB()), **TREES),
        VotingClassifier(
            [("a", GaussianNB()), ("b", RandomForestClassifier(**TREES))], voting="soft"
        ),
        VotingClassifier(
            [("a", GaussianNB()), ("b", DecisionTreeClassifier(max_depth=1)), ("c", "drop")],
            voting="soft",
            weights=[2, 2, 5],
        ),
        make_pipeline(StandardScaler(), "passthrough", RandomForestClassifier(**TREES)),
        GridSearchCV(
            make_pipeline(StandardScaler(), RandomForestClassifier(**TREES)),
            {"randomforestclassifier__max_depth": [1, 2]},
            cv=2,
        ),
        make_pipeline(GridSearchCV(ExtraTreesClassifier(**TREES), {"max_depth": [1, 2]}, cv=2)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_members_of_a_classifier_average_to_its_probabilities(model):
    prediction = from_sklearn(model.fit(X, y)).predict_distribution(X)
    assert prediction.members in (2, 7)
    assert prediction.classes.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_allclose(prediction.mean, model.predict_proba(X), atol=1e-12)
    # The members are not the mean repeated.
    assert prediction.probabilities.std(axis=0).max() > 0.05


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=1000),
        GradientBoostingClassifier(n_estimators=3),
        HistGradientBoostingClassifier(max_iter=3),
        AdaBoostClassifier(n_estimators=3),
        KNeighborsClassifier(),
        CalibratedClassifierCV(LinearSVC(), cv=2),
        StackingClassifier([("a", GaussianNB())], cv=2),
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_classifiers_are_one_member(model):
    wrapped = from_sklearn(model.fit(X, y))
    prediction = wrapped.predict_distribution(X)
    assert prediction.members == 1
    np.testing.assert_array_equal(prediction.probabilities[0], model.predict_proba(X))
    np.testing.assert_array_equal(wrapped.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(wrapped.predict(X), model.predict(X))


def test_hard_votes():
    parts = [("a", GaussianNB()), ("b", DecisionTreeClassifier(max_depth=1)), ("c", LinearSVC())]
    model = VotingClassifier(parts).fit(X, y)
    prediction = member_predictions(model, X)
    votes = np.array([part.predict(X) for part in model.estimators_])
    np.testing.assert_array_equal(prediction.probabilities, votes[..., None] == np.arange(3))
    assert (prediction.labels == model.predict(X)).all()


@pytest.mark.parametrize("target", [y_numbers, two_targets], ids=["one target", "two targets"])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(max_depth=3, **TREES),
        ExtraTreesRegressor(max_depth=3, **TREES),
        RandomForestRegressor(criterion="absolute_error", max_depth=2, **TREES),
        make_pipeline(StandardScaler(), RandomForestRegressor(max_depth=3, **TREES)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_trees_of_a_regression_forest(model, target):
    model.fit(X_numbers, target)
    wrapped = from_sklearn(model)
    prediction = wrapped.predict_distribution(X_numbers)
    mean, variance = prediction.moments()
    forest = model[-1] if hasattr(model, "steps") else model
    inputs = model[0].transform(X_numbers) if hasattr(model, "steps") else X_numbers
    trees = np.array([tree.predict(inputs.astype(np.float32)) for tree in forest.estimators_])
    np.testing.assert_array_equal(prediction.mean.reshape(trees.shape), trees)
    np.testing.assert_allclose(variance.reshape(target.shape), trees.var(axis=0), rtol=1e-9)
    np.testing.assert_allclose(mean.reshape(target.shape), model.predict(X_numbers), rtol=1e-12)
    np.testing.assert_array_equal(wrapped.predict(X_numbers), model.predict(X_numbers))
    interval = wrapped.predict_interval(X_numbers, 0.6827)
    np.testing.assert_allclose((interval.upper - interval.lower) / 2, np.sqrt(variance), rtol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        BaggingRegressor(DecisionTreeRegressor(max_depth=2), max_features=4, **TREES),
        BaggingRegressor(LinearRegression(), **TREES),
        VotingRegressor([("a", LinearRegression()), ("b", DecisionTreeRegressor(max_depth=1))]),
        VotingRegressor([("a", LinearRegression()), ("b", RandomForestRegressor(**TREES))]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_members_of_a_regressor_average_to_its_prediction(model):
    prediction = member_predictions(model.fit(X_numbers, y_numbers), X_numbers)
    assert prediction.members == len(model.estimators_)
    mean, variance = prediction.moments()
    np.testing.assert_allclose(mean[:, 0], model.predict(X_numbers), rtol=1e-12)
    assert variance.min() > 0
    assert not prediction.variance.any()


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        GradientBoostingRegressor(n_estimators=3),
        HistGradientBoostingRegressor(max_iter=3),
        TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_regressors_are_one_member_without_a_spread(model):
    prediction = member_predictions(model.fit(X_numbers, y_numbers), X_numbers)
    np.testing.assert_array_equal(prediction.mean[0, :, 0], model.predict(X_numbers))
    assert not prediction.variance.any()


@pytest.mark.parametrize(
    "model",
    [
        BayesianRidge(),
        ARDRegression(),
        GaussianProcessRegressor(RBF() + WhiteKernel(), normalize_y=True),
        make_pipeline(StandardScaler(), BayesianRidge()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_spread_of_the_model_is_kept(model):
    model.fit(X_numbers[:60], y_numbers[:60])
    prediction = member_predictions(model, X_numbers)
    mean, std = model.predict(X_numbers, return_std=True)
    assert prediction.members == 1
    np.testing.assert_allclose(prediction.mean[0, :, 0], mean, rtol=1e-12)
    np.testing.assert_allclose(prediction.variance[0, :, 0], std**2, rtol=1e-12)


def test_a_bag_of_models_with_a_spread():
    model = BaggingRegressor(BayesianRidge(), n_estimators=3, random_state=0)
    prediction = member_predictions(model.fit(X_numbers, y_numbers), X_numbers)
    spread = [part.predict(X_numbers, return_std=True)[1] for part in model.estimators_]
    np.testing.assert_allclose(prediction.variance[..., 0], np.square(spread), rtol=1e-12)


def test_a_gaussian_process_of_several_targets():
    model = GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(
        X_numbers[:40], two_targets[:40]
    )
    assert member_predictions(model, X_numbers[:50]).variance.shape == (1, 50, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda level: HistGradientBoostingRegressor(loss="quantile", quantile=level, max_iter=3),
        lambda level: GradientBoostingRegressor(loss="quantile", alpha=level, n_estimators=3),
        lambda level: QuantileRegressor(quantile=level, alpha=0.1),
        lambda level: make_pipeline(StandardScaler(), QuantileRegressor(quantile=level)),
    ],
)
def test_quantile_models(make):
    models = {level: make(level).fit(X_numbers, y_numbers) for level in (0.9, 0.1, 0.5)}
    wrapped = from_sklearn(models)
    prediction = wrapped.predict_distribution(X_numbers)
    assert prediction.levels.tolist() == [0.1, 0.5, 0.9]
    said = np.column_stack([models[level].predict(X_numbers) for level in (0.1, 0.5, 0.9)])
    np.testing.assert_array_equal(prediction.values[0, :, 0], np.sort(said, axis=1))
    np.testing.assert_array_equal(wrapped.predict(X_numbers), said[:, 1])
    interval = wrapped.predict_interval(X_numbers, 0.8)
    np.testing.assert_array_equal(interval.upper[:, 0], said.max(axis=1))
    with pytest.raises(OptionError, match=r"predicts one quantile, at 0\.9; pass all of them as"):
        from_sklearn(models[0.9])
    with pytest.raises(OptionError, match=r"level 0\.2 was trained for the quantile at 0\.1"):
        from_sklearn({0.2: models[0.1], 0.9: models[0.9]})
    with pytest.raises(OptionError, match=r"there is none at level 0\.5"):
        from_sklearn({0.1: models[0.1], 0.9: models[0.9]}).predict(X_numbers)


def test_levels_are_checked():
    model = LinearRegression().fit(X_numbers, y_numbers)
    with pytest.raises(OptionError, match="model is an empty dict"):
        from_sklearn({})
    with pytest.raises(OptionError, match="every level of model"):
        from_sklearn({1.0: model})
    with pytest.raises(NotFittedError):
        from_sklearn({0.5: LinearRegression()})
    assert member_predictions({0.5: model}, X_numbers).levels.tolist() == [0.5]


def test_estimators_of_caveat_keep_their_members():
    model = EnsembleClassifier(GaussianNB(), members=3, resample=True, random_state=0).fit(X, y)
    assert from_sklearn(model).predict_distribution(X) == model.predict_distribution(X)
    network = MAPClassifier(hidden=(4,), epochs=2, head="gaussian-logits", random_state=0)
    pipeline = make_pipeline(StandardScaler(), network).fit(X, y)
    assert member_predictions(pipeline, X).members == 1
    assert from_sklearn(pipeline).predict_proba(X).shape == (150, 3)


def test_networks_in_bags_and_votes():
    network = MAPRegressor(hidden=(4,), epochs=2)
    bag = BaggingRegressor(network, n_estimators=2, random_state=0).fit(X_numbers, y_numbers)
    prediction = member_predictions(bag, X_numbers)
    assert prediction.members == 2
    assert prediction.variance.min() > 0
    network = MAPClassifier(hidden=(4,), epochs=2, random_state=0)
    vote = VotingClassifier([("a", network), ("b", GaussianNB())], voting="soft").fit(X, y)
    prediction = member_predictions(vote, X)
    np.testing.assert_allclose(prediction.mean, vote.predict_proba(X), atol=1e-12)


def test_sparse_samples_and_frames():
    pd = pytest.importorskip("pandas")
    for model in (RandomForestClassifier(**TREES), BaggingClassifier(max_features=2, **TREES)):
        dense = member_predictions(model.fit(X, y), X)
        assert member_predictions(model, sparse.csr_array(X)) == dense
        frame = pd.DataFrame(X, columns=list("abcd"))
        assert member_predictions(model.fit(frame, y), frame).members == 7
        with pytest.raises(ValueError, match="feature names should match"):
            member_predictions(model, frame.rename(columns={"a": "z"}))
        with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
            member_predictions(model, frame[["a", "b"]])


def test_missing_values():
    holes = X.copy()
    holes[::7, 1] = np.nan
    model = RandomForestClassifier(**TREES).fit(holes, y)
    np.testing.assert_allclose(member_predictions(model, holes).mean, model.predict_proba(holes))
    whole = RandomForestClassifier(criterion="entropy", **TREES).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        member_predictions(whole, np.where(np.isnan(holes), np.inf, holes))


def test_threads_change_nothing(monkeypatch):
    model = RandomForestRegressor(**TREES).fit(X_numbers, y_numbers)
    alone = member_predictions(model, X_numbers)
    monkeypatch.setattr("caveat._parallel.threads", lambda: 4)
    assert member_predictions(model, X_numbers) == alone


def test_the_split_of_a_forest():
    prediction = member_predictions(RandomForestClassifier(**TREES).fit(X, y), X)
    split = caveat.decompose(prediction, "information")
    assert (split.total >= split.aleatoric).all()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            LinearSVC(),
            r"LinearSVC gives no probabilities, only classes or scores of no fixed scale; calibrate "
            r"it: from_sklearn\(sklearn.calibration.CalibratedClassifierCV\(LinearSVC\(...\)\)",
        ),
        (make_pipeline(StandardScaler(), SVC()), "SVC gives no probabilities"),
        (RidgeClassifier(), "RidgeClassifier gives no probabilities"),
        (
            VotingClassifier([("a", GaussianNB()), ("b", GaussianNB())], weights=[1, 2]),
            r"weighs its estimators by \[1, 2\], and the members of a prediction count alike",
        ),
        (
            GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=2, refit=False),
            "this GridSearchCV kept no model; fit it with refit=True",
        ),
        (KMeans(2, n_init=1), "must be a classifier or a regressor; got a KMeans"),
        (make_pipeline(StandardScaler(), "passthrough"), "or a regressor; got a str"),
        (StandardScaler(), "must be a classifier or a regressor; got a StandardScaler"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_models_that_are_refused(model, message):
    with pytest.raises(OptionError, match=message):
        from_sklearn(model.fit(X, y))


def test_other_things_that_are_refused():
    with pytest.raises(OptionError, match="model must be a fitted estimator, or a dict"):
        from_sklearn(RandomForestClassifier)
    with pytest.raises(OptionError, match="or a dict of level to estimator; got 3"):
        from_sklearn(3)
    with pytest.raises(NotFittedError):
        from_sklearn(RandomForestClassifier())
    both = RandomForestClassifier(**TREES).fit(X, np.column_stack([codes, codes == 1]))
    with pytest.raises(OptionError, match="predicts classes of 2 targets; fit one model for each"):
        from_sklearn(both)
    constant = RandomForestClassifier(**TREES).fit(X, np.zeros(150))
    with pytest.raises(OptionError, match="saw one class alone"):
        from_sklearn(constant)
    with pytest.raises(
        UnsupportedPredictionError, match="models of classes; this one gives a Gaus"
    ):
        from_sklearn(LinearRegression().fit(X, codes)).predict_proba(X)
    with pytest.raises(UnsupportedPredictionError, match="models of numbers; this one gives a Cat"):
        from_sklearn(GaussianNB().fit(X, codes)).predict_interval(X)


def test_scores():
    forest = RandomForestClassifier(**TREES).fit(X[::2], y[::2])
    assert from_sklearn(forest).score(X, y) == np.mean(forest.predict(X) == y)
    ridge = BayesianRidge().fit(X_numbers, y_numbers)
    share = 1 - np.var(y_numbers - ridge.predict(X_numbers)) / np.var(y_numbers)
    assert from_sklearn(ridge).score(X_numbers, y_numbers) == pytest.approx(share)
    levels = {0.5: ridge, 0.9: ridge}
    assert from_sklearn(levels).score(X_numbers, y_numbers) == pytest.approx(share)
    with pytest.raises(OptionError, match=r"none at level 0\.5"):
        from_sklearn({0.9: ridge}).score(X_numbers, y_numbers)


class TestAsAnEstimatorOfScikitLearn:
    """It can be cloned, fitted and searched over, as scikit-learn's own meta-estimators can."""

    FOREST = RandomForestClassifier(5, random_state=0).fit(X, y)

    def test_a_clone_is_not_fitted_and_can_be(self):
        wrapped = from_sklearn(self.FOREST)
        copy = clone(wrapped)
        assert copy.get_params() == {**wrapped.get_params(), "model": copy.model}
        with pytest.raises(NotFittedError):
            copy.predict_distribution(X)
        with pytest.raises(NotFittedError):
            check_is_fitted(copy)
        assert not hasattr(copy, "classes_")
        check_is_fitted(copy.fit(X, y))
        assert copy.predict_distribution(X) == wrapped.predict_distribution(X)
        assert copy.classes_.tolist() == wrapped.classes_.tolist()
        with pytest.raises(NotFittedError):  # the copy was fitted, not the setting
            check_is_fitted(copy.model)
        assert wrapped.predict_distribution(X) == member_predictions(self.FOREST, X)

    def test_fitting_leaves_the_given_model_alone(self):
        wrapped = from_sklearn(self.FOREST)
        before = member_predictions(self.FOREST, X)
        wrapped.fit(X[:75], y[:75], sample_weight=np.ones(75))
        assert member_predictions(self.FOREST, X) == before
        assert wrapped.predict_distribution(X) != before
        np.testing.assert_array_equal(wrapped.predict(X), wrapped.model_.predict(X))
        assert wrapped.score(X, y) == wrapped.model_.score(X, y)

    def test_a_model_that_cannot_be_read_is_refused_by_fit_too(self):
        wrapped = from_sklearn(self.FOREST)
        with pytest.raises(OptionError, match="saw one class alone"):
            wrapped.fit(X, np.zeros(len(X)))

    def test_cross_validation_fits_anew(self):
        wrapped = from_sklearn(self.FOREST)
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        ours = cross_val_score(wrapped, X, y, cv=folds)
        np.testing.assert_array_equal(ours, cross_val_score(self.FOREST, X, y, cv=folds))
        search = GridSearchCV(
            wrapped, {"model__max_depth": [1, 3]}, cv=folds, scoring="neg_log_loss"
        )
        search.fit(X, y)
        assert search.best_estimator_.model_.max_depth == search.best_params_["model__max_depth"]
        assert np.isfinite(search.best_score_)

    def test_it_is_what_its_model_is(self):
        assert is_classifier(from_sklearn(self.FOREST))
        ridge = BayesianRidge().fit(X_numbers, y_numbers)
        assert is_regressor(from_sklearn(ridge))
        assert is_regressor(from_sklearn({0.5: ridge}))

    def test_levels(self):
        models = {
            level: QuantileRegressor(quantile=level, alpha=0.1).fit(X_numbers, y_numbers)
            for level in (0.1, 0.5, 0.9)
        }
        copy = clone(from_sklearn(models))
        with pytest.raises(NotFittedError):
            check_is_fitted(copy)
        copy.fit(X_numbers, y_numbers)
        assert copy.predict_distribution(X_numbers) == member_predictions(models, X_numbers)
        np.testing.assert_array_equal(copy.predict(X_numbers), models[0.5].predict(X_numbers))


class TestNamesOfColumns:
    """Numbers are names too, also beside text, where scikit-learn refuses them."""

    FRAME = pd.DataFrame(X, columns=pd.Index(["a", 1, 2, 3], dtype=object))

    def test_of_a_model_without_names(self):
        forest = RandomForestClassifier(5, random_state=0).fit(X, y)
        wrapped = from_sklearn(forest)
        assert wrapped.predict_distribution(self.FRAME) == wrapped.predict_distribution(X)
        np.testing.assert_array_equal(wrapped.predict(self.FRAME), forest.predict(X))
        assert wrapped.score(self.FRAME, y) == forest.score(X, y)

    def test_of_a_model_with_names(self):
        wrapped = clone(from_sklearn(RandomForestClassifier(5, random_state=0).fit(X, y)))
        wrapped.fit(self.FRAME, y)
        assert wrapped.model_.feature_names_in_.tolist() == ["a", "1", "2", "3"]
        assert wrapped.predict_distribution(self.FRAME).mean.shape == (150, 3)
        with pytest.raises(ValueError, match="should match those that were passed during fit"):
            wrapped.predict(self.FRAME[[1, 2, 3, "a"]])

    def test_of_quantiles(self):
        line = LinearRegression().fit(X_numbers, y_numbers)
        names = pd.Index([*range(X_numbers.shape[1] - 1), "last"], dtype=object)
        frame = pd.DataFrame(X_numbers, columns=names)
        found = member_predictions({0.5: line}, frame)
        np.testing.assert_allclose(found.values[0, :, 0, 0], line.predict(X_numbers))

    @pytest.mark.parametrize(
        "model",
        [
            EnsembleClassifier(RandomForestClassifier(3), members=2, random_state=0),
            DeepEnsembleClassifier(members=2, epochs=2, random_state=0),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_of_estimators_of_our_own(self, model):
        by_array = clone(model).fit(X, y).predict_distribution(X)
        fitted = clone(model).fit(self.FRAME, y)
        assert fitted.feature_names_in_.tolist() == ["a", "1", "2", "3"]
        assert fitted.predict_distribution(self.FRAME) == by_array
        numbers = pd.DataFrame(X)
        assert clone(model).fit(numbers, y).predict_distribution(numbers) == by_array
        with pytest.raises(InvalidValueError, match="X has more than one column 'b'; give each it"):
            clone(model).fit(pd.DataFrame(X, columns=list("abbc")), y)

    def test_problems_that_share_a_frame(self):
        model = DeepEnsembleClassifier(members=2, epochs=1, random_state=0)
        problems = [Problem(self.FRAME, y), Problem(self.FRAME, y, random_state=1)]
        for fitted in fit_many(model, problems):
            assert fitted.feature_names_in_.tolist() == ["a", "1", "2", "3"]
