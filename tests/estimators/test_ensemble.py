import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from caveat import Categorical, Gaussian, GaussianLogits, Quantiles
from caveat.estimators import EnsembleClassifier, EnsembleRegressor, MAPClassifier, MAPRegressor
from caveat.estimators._join import join_members
from caveat.exceptions import LabelError, OptionError, ShapeError, UnsupportedPredictionError

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]
X_numbers, y_numbers = load_diabetes(return_X_y=True)


@parametrize_with_checks(
    [
        EnsembleClassifier(ExtraTreeClassifier(), members=2, random_state=0),
        EnsembleRegressor(LinearRegression(), members=2, resample=True, random_state=0),
        EnsembleRegressor(BayesianRidge(), members=2, resample=True, random_state=0),
    ],
    expected_failed_checks=lambda estimator: (
        dict.fromkeys(
            (
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ),
            "a bootstrap draws rows, so a row twice is not a row of weight 2",
        )
        if estimator.resample
        else {}
    ),
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_members_are_separate_fits_with_different_seeds():
    model = EnsembleClassifier(ExtraTreeClassifier(max_depth=2), members=4, random_state=7)
    prediction = model.fit(X, NAMES).predict_distribution(X)
    assert prediction.classes.tolist() == ["setosa", "versicolor", "virginica"]
    seeds = {part.random_state for part in model.estimators_}
    assert len(seeds) == 4
    for part, probabilities in zip(model.estimators_, prediction.probabilities, strict=True):
        alone = ExtraTreeClassifier(max_depth=2, random_state=part.random_state).fit(X, NAMES)
        np.testing.assert_array_equal(alone.predict_proba(X), probabilities)
    mean = np.mean([part.predict_proba(X) for part in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), mean, rtol=1e-14)
    assert (model.predict(X) == model.classes_[mean.argmax(axis=1)]).all()
    assert model.score(X, NAMES) == np.mean(model.predict(X) == NAMES)
    assert model.estimator.random_state is None


def test_the_same_random_state_gives_the_same_members():
    first, second, other = (
        EnsembleRegressor(DecisionTreeRegressor(), 3, resample=True, random_state=seed)
        .fit(X_numbers, y_numbers)
        .predict_distribution(X_numbers)
        for seed in (0, 0, 1)
    )
    assert first == second
    assert first != other


def test_jobs_change_nothing():
    alone = EnsembleRegressor(DecisionTreeRegressor(max_features=2), 3, random_state=0)
    together = clone(alone).set_params(n_jobs=2)
    with joblib.parallel_config("threading"):
        together.fit(X_numbers, y_numbers)
    np.testing.assert_array_equal(
        alone.fit(X_numbers, y_numbers).predict(X_numbers), together.predict(X_numbers)
    )


def test_resampled_members_are_fits_to_bootstrap_rows():
    class Recorder(LinearRegression):
        def fit(self, X, y):
            self.rows_ = np.asarray(X)[:, 0].astype(int)
            return super().fit(X, y)

    numbered = np.column_stack([np.arange(442), X_numbers])
    model = EnsembleRegressor(Recorder(), members=3, resample=True, random_state=0)
    prediction = model.fit(numbered, y_numbers).predict_distribution(numbered)
    expected = []
    for part in model.estimators_:
        assert len(part.rows_) == 442
        # The share of rows that a bootstrap sample leaves out is 1/e, give or take 0.02.
        assert 0.3 < 1 - len(np.unique(part.rows_)) / 442 < 0.44
        fit = LinearRegression().fit(numbered[part.rows_], y_numbers[part.rows_])
        expected.append(fit.predict(numbered))
    np.testing.assert_allclose(prediction.mean[:, :, 0], expected, rtol=1e-9)
    assert not prediction.variance.any()
    np.testing.assert_allclose(model.predict(numbered), np.mean(expected, axis=0), rtol=1e-9)
    interval = model.predict_interval(numbered, 0.6827)
    half = (interval.upper - interval.lower)[:, 0] / 2
    np.testing.assert_allclose(half, np.std(expected, axis=0), rtol=1e-4)


def test_a_class_that_a_member_has_not_seen_has_probability_0():
    rare = np.zeros(60, dtype=int)
    rare[:20], rare[-1] = 1, 2
    model = EnsembleClassifier(GaussianNB(), members=12, resample=True, random_state=0)
    prediction = model.fit(X[:60], rare).predict_distribution(X)
    assert prediction.classes.tolist() == [0, 1, 2]
    blind = [2 not in part.classes_ for part in model.estimators_]
    assert 0 < sum(blind) < 12
    for part, p, unseen in zip(model.estimators_, prediction.probabilities, blind, strict=True):
        np.testing.assert_array_equal(p[:, :2] if unseen else p, part.predict_proba(X))
        assert not unseen or not p[:, 2].any()


def test_a_bootstrap_sample_has_two_classes_at_least():
    lonely = np.zeros(10, dtype=int)
    lonely[3] = 1
    model = EnsembleClassifier(LogisticRegression(), members=20, resample=True, random_state=0)
    model.fit(X[:10], lonely)
    assert all(len(part.classes_) == 2 for part in model.estimators_)


def test_classifiers_without_probabilities_vote():
    model = EnsembleClassifier(LinearSVC(), members=3, resample=True, random_state=0)
    prediction = model.fit(X, NAMES).predict_distribution(X)
    votes = np.array([part.predict(X) for part in model.estimators_])
    np.testing.assert_array_equal(prediction.probabilities, votes[..., None] == model.classes_)


def test_regressors_with_a_spread_keep_it():
    model = EnsembleRegressor(BayesianRidge(), members=2, resample=True, random_state=0)
    prediction = model.fit(X_numbers, y_numbers).predict_distribution(X_numbers)
    for part, variance in zip(model.estimators_, prediction.variance[..., 0], strict=True):
        _, std = part.predict(X_numbers, return_std=True)
        np.testing.assert_allclose(variance, std**2, rtol=1e-12)


def test_several_targets():
    two = np.column_stack([y_numbers, -2 * y_numbers])
    model = EnsembleRegressor(DecisionTreeRegressor(max_features=3), 3, random_state=0)
    prediction = model.fit(X_numbers, two).predict_distribution(X_numbers)
    assert prediction.mean.shape == (3, 442, 2)
    assert model.predict(X_numbers).shape == (442, 2)
    np.testing.assert_allclose(prediction.mean[..., 1], -2 * prediction.mean[..., 0])


@pytest.mark.parametrize("resample", [False, True])
def test_networks(resample):
    base = MAPRegressor(hidden=(8,), epochs=20)
    model = EnsembleRegressor(base, members=3, resample=resample, random_state=0)
    prediction = model.fit(X_numbers, y_numbers).predict_distribution(X_numbers)
    assert prediction.members == 3
    for i, part in enumerate(model.estimators_):
        own = part.predict_distribution(X_numbers)
        np.testing.assert_array_equal(prediction.mean[i], own.mean[0])
        np.testing.assert_array_equal(prediction.variance[i], own.variance[0])
    assert not np.allclose(prediction.mean[0], prediction.mean[1])
    if not resample:
        alone = clone(base).set_params(random_state=model.estimators_[1].random_state)
        alone.fit(X_numbers, y_numbers)
        np.testing.assert_allclose(alone.predict(X_numbers), prediction.mean[1, :, 0], rtol=1e-2)


def test_networks_of_gaussian_logits_stay_such():
    base = MAPClassifier(hidden=(4,), epochs=2, head="gaussian-logits")
    model = EnsembleClassifier(base, members=2, random_state=0).fit(X, y)
    prediction = model.predict_distribution(X)
    assert isinstance(prediction, GaussianLogits)
    assert prediction.members == 2
    np.testing.assert_array_equal(model.predict_proba(X), prediction.to_categorical().mean)


def test_an_ensemble_of_ensembles_has_all_members():
    inner = EnsembleClassifier(ExtraTreeClassifier(), members=2)
    model = EnsembleClassifier(inner, members=3, random_state=0).fit(X, y)
    trees = [tree for part in model.estimators_ for tree in part.estimators_]
    assert len({tree.random_state for tree in trees}) == 6
    np.testing.assert_array_equal(
        model.predict_distribution(X).probabilities, [tree.predict_proba(X) for tree in trees]
    )


def test_the_seed_of_a_step_of_a_pipeline_is_set():
    pipeline = make_pipeline(StandardScaler(), ExtraTreeClassifier(max_depth=2))
    model = EnsembleClassifier(pipeline, members=3, random_state=0).fit(X, y)
    assert len({part[-1].random_state for part in model.estimators_}) == 3
    np.testing.assert_array_equal(
        model.predict_distribution(X).probabilities,
        [part.predict_proba(X) for part in model.estimators_],
    )


def test_texts():
    texts = ["red fish", "blue fish", "red car", "blue car"] * 5
    labels = [0, 0, 1, 1] * 5
    pipeline = make_pipeline(CountVectorizer(), ExtraTreeClassifier())
    model = EnsembleClassifier(pipeline, members=2, resample=True, random_state=0)
    assert model.fit(texts, labels).predict(["green fish", "green car"]).tolist() == [0, 1]


def test_frames_keep_their_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = EnsembleClassifier(GaussianNB(), members=2, resample=True, random_state=0)
    model.fit(frame, pd.Series(NAMES))
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.estimators_[0].feature_names_in_.tolist() == list("abcd")
    assert len(model.predict_distribution(frame)) == 150
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))
    seeded = EnsembleClassifier(ExtraTreeClassifier(max_depth=1), members=2, random_state=0)
    assert seeded.fit(frame, NAMES).predict(frame).shape == (150,)


def test_tensors():
    torch = pytest.importorskip("torch")
    model = EnsembleClassifier(ExtraTreeClassifier(), members=2, random_state=0)
    model.fit(torch.tensor(X), torch.tensor(y))
    assert model.score(X, y) == 1.0


def test_weights_reach_the_members():
    weight = np.where(y == 2, 0.0, 1.0)
    model = EnsembleClassifier(DecisionTreeClassifier(max_features=1), members=2, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert not model.predict_proba(X)[:, 2].any()


def test_a_search_over_settings():
    search = GridSearchCV(
        EnsembleClassifier(ExtraTreeClassifier(), members=2, random_state=0),
        {"members": [1, 3], "estimator__max_depth": [1, 3]},
        cv=2,
    ).fit(X, y)
    assert search.best_params_["estimator__max_depth"] == 3


class Stubborn(ClassifierMixin, BaseEstimator):
    """A classifier with a seed that it has no use for."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_identical_members():
    with pytest.raises(
        OptionError,
        match="GaussianNB has no random_state, so 10 members fitted to the same samples would be "
        "identical; pass resample=True",
    ):
        EnsembleClassifier(GaussianNB()).fit(X, y)
    with pytest.warns(UserWarning, match="members of Stubborn are exactly the same although"):
        EnsembleClassifier(Stubborn(), members=2).fit(X, y)
    unknown = make_pipeline(FunctionTransformer(lambda X: X), Stubborn())
    EnsembleClassifier(unknown, members=2).fit(X, y)
    assert EnsembleClassifier(GaussianNB(), members=1).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"members": 0}, "members must be a whole number of at least 1; got 0"),
        ({"members": True}, "members must be a whole number of at least 1; got True"),
        ({"resample": "yes"}, "resample must be True or False; got 'yes'"),
        ({"estimator": GaussianNB}, "estimator must be an estimator to copy; got <class"),
        ({"estimator": "forest"}, "estimator must be an estimator to copy; got 'forest'"),
        ({"random_state": "x"}, "random_state must be None, a non-negative integer"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(OptionError, match=message):
        EnsembleClassifier(**{"estimator": GaussianNB(), "resample": True, **settings}).fit(X, y)


def test_wrong_data():
    model = EnsembleClassifier(GaussianNB(), members=2, resample=True)
    with pytest.raises(LabelError, match="y has one class"):
        model.fit(X, np.zeros(150))
    with pytest.raises(ShapeError, match="X has no samples"):
        model.fit(np.empty((0, 2)), np.empty(0))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:10])
    with pytest.raises(OptionError, match="fit of Stubborn does not take it"):
        EnsembleClassifier(Stubborn()).fit(X, y, sample_weight=np.ones(150))


def test_joining_counts_every_prediction_alike():
    one = Categorical([[0.2, 0.8]], classes=["a", "b"])
    two = Categorical([[[0.6, 0.4]], [[1.0, 0.0]]], classes=["b", "c"])
    joined = join_members([one, two], ["a", "b", "c"])
    np.testing.assert_allclose(joined.probabilities[:, 0], [[0.2, 0.8, 0], [0, 0.8, 0.2]])
    gaussian = join_members(
        [Gaussian([1.0], [4.0]), Gaussian.from_members([[0.0], [2.0]], [[1.0], [3.0]])]
    )
    np.testing.assert_allclose(gaussian.mean.ravel(), [1, 1])
    np.testing.assert_allclose(gaussian.variance.ravel(), [4, 3])  # 3 = (1 + 3) / 2 + 1
    values = np.array([[[[1.0, 2.0]]], [[[3.0, 6.0]]]])
    quantiles = join_members([Quantiles([0.1, 0.9], values), Quantiles([0.1, 0.9], values[0])])
    np.testing.assert_allclose(quantiles.values[:, 0, 0], [[2, 4], [1, 2]])


def test_joining_logits_with_other_classes_gives_probabilities():
    logits = GaussianLogits([[3.0, 0.0]], [[1.0, 1.0]], classes=["a", "b"])
    joined = join_members([logits, logits], ["a", "b", "c"])
    assert isinstance(joined, Categorical)
    np.testing.assert_array_equal(joined.probabilities[0, :, :2], logits.to_categorical().mean)
    with pytest.raises(LabelError, match="a member predicts the class 'b', which is none of"):
        join_members([logits, logits], ["a", "c"])


def test_what_cannot_be_joined():
    gaussian = Gaussian([1.0], [1.0])
    with pytest.raises(UnsupportedPredictionError, match="kinds Gaussian and Quantiles cannot be"):
        join_members([gaussian, Quantiles([0.1, 0.9], [[1.0, 2.0]])])
    with pytest.raises(UnsupportedPredictionError, match="kinds Interval cannot be"):
        join_members([gaussian.interval(0.9)])
    with pytest.raises(UnsupportedPredictionError, match="targets of member 1 differ"):
        join_members([gaussian, Gaussian([1.0], [1.0], targets=["b"])])


def test_a_bootstrap_sample_has_two_classes_of_some_weight():
    labels, weight = np.arange(10) % 2, np.zeros(10)
    weight[:2] = 1
    tree = DecisionTreeClassifier(max_features=1)
    model = EnsembleClassifier(tree, members=10, resample=True, random_state=0)
    model.fit(X[:10], labels, sample_weight=weight)
    assert all(part.tree_.max_depth == 1 for part in model.estimators_)
    with pytest.raises(LabelError, match="y has one class"):
        model.fit(X[:10], labels, sample_weight=np.eye(10)[0])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (EnsembleClassifier(LinearRegression(), resample=True), "estimator of an EnsembleClassifier must be a classifier; got a LinearRegression"),
        (EnsembleRegressor(LogisticRegression(), resample=True), "estimator of an EnsembleRegressor must be a regressor; got a LogisticRegression"),
        (EnsembleRegressor(make_pipeline(StandardScaler(), GaussianNB()), resample=True), "must be a regressor; got a Pipeline"),
        (EnsembleClassifier(StandardScaler(), resample=True), "must be a classifier; got a StandardScaler"),
    ],
)  # fmt: skip
def test_an_estimator_of_another_task(model, message):
    with pytest.raises(OptionError, match=message):
        model.fit(X, y)


@pytest.mark.parametrize("target", [[2.0, 1, 1, 1], [[2.0, 5], [1, 5], [1, 5], [1, 6]]])
def test_a_bootstrap_sample_of_numbers_has_a_spread(target):
    base = MAPRegressor(hidden=(2,), epochs=1)
    model = EnsembleRegressor(base, members=30, resample=True, random_state=0)
    assert model.fit(X[:4], target).predict(X[:4]).shape == np.shape(target)


def test_a_target_without_a_spread_is_left_to_the_estimator():
    model = EnsembleRegressor(LinearRegression(), members=2, resample=True, random_state=0)
    np.testing.assert_allclose(model.fit(X, np.ones(150)).predict(X), 1)
    # Each of 150 targets has one sample that differs: no resample holds all of them.
    model.fit(X, np.eye(150))
    assert model.predict(X).shape == (150, 150)


def test_errors_name_the_member():
    base = MAPRegressor(hidden=(2,), epochs=1, optimizer="lion")
    with pytest.raises(OptionError, match=r"^member 0: optimizer must be one of"):
        EnsembleRegressor(base, members=2).fit(X, y)
    with pytest.raises(OptionError, match=r"^optimizer must be one of"):
        EnsembleRegressor(base, members=1).fit(X, y)
