"""Scorers against metrics called by hand on held-out folds, and against scikit-learn's own."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import integrate, stats
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import (
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
)
from sklearn.metrics import get_scorer, make_scorer, mean_pinball_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import caveat
from caveat.exceptions import OptionError, UnknownNameError, UnsupportedPredictionError
from caveat.integrations.sklearn import Scorer
from caveat.metrics import METRICS, Metric

NAMES = {2: np.array(["well", "ill"]), 3: np.array(["red", "green", "blue"])}


def classes_of(count):
    """Text labels whose order in the alphabet is not that of their codes, with unlike shares."""
    X, codes = make_classification(
        240, 5, n_informative=4, n_redundant=0, n_classes=count, flip_y=0.2, class_sep=0.7,
        weights=[0.5, 0.5] if count == 2 else [0.5, 0.3, 0.2], random_state=count,
    )  # fmt: skip
    return X, NAMES[count][codes]


def model():
    return make_pipeline(StandardScaler(), LogisticRegression())


def held_out(estimator, X, y, folds):
    """Yield the fitted model and the held-out samples of each fold."""
    for train, test in folds.split(X, y):
        yield clone(estimator).fit(X[train], y[train]), X[test], y[test]


def numbers(noise=10.0):
    return make_regression(120, 4, noise=noise, random_state=0)


GAUSSIAN = make_pipeline(StandardScaler(), BayesianRidge())
FOLDS, KFOLDS = StratifiedKFold(3), KFold(3)
OF_PROBABILITIES = [
    name
    for name, metric in METRICS.items()
    if metric.inputs == ("probabilities",) and metric.direction != "target"
]
OF_SPREAD = [
    name
    for name, metric in METRICS.items()
    if metric.inputs in (("mean", "variance"), ("variance",)) and metric.direction != "target"
]


def test_the_lists_above_have_metrics_in_them():
    assert {"expected_calibration_error", "brier_loss", "roc_auc_score"} <= set(OF_PROBABILITIES)
    assert {"gaussian_crps_loss", "sharpness"} <= set(OF_SPREAD)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", OF_PROBABILITIES)
def test_probabilities_against_the_metric_by_hand(name, count):
    X, y = classes_of(count)
    metric = METRICS[name]
    if metric.two_classes and count == 3:
        fitted = model().fit(X, y)
        with pytest.raises(UnsupportedPredictionError, match=f"^{name} is .*Pipeline predicts"):
            caveat.scorer(name)(fitted, X, y)
        return
    sign = {"higher": 1, "lower": -1}[metric.direction]
    expected = []
    for fitted, X_test, y_test in held_out(model(), X, y, FOLDS):
        codes = np.array([sorted(NAMES[count]).index(label) for label in y_test])
        expected.append(sign * metric.function(codes, fitted.predict_proba(X_test)))
    got = cross_val_score(model(), X, y, cv=FOLDS, scoring=caveat.scorer(name))
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("accuracy", "accuracy"),
        ("balanced_accuracy", "balanced_accuracy"),
        ("f1", "f1_macro"),
        ("mcc", "matthews_corrcoef"),
        ("log_loss", "neg_log_loss"),
        ("cross_entropy", "neg_log_loss"),
        ("roc_auc", "roc_auc_ovr"),
    ],
)
def test_probabilities_against_scikit_learn(ours, theirs, count):
    X, y = classes_of(count)
    expected = cross_val_score(model(), X, y, cv=FOLDS, scoring=theirs)
    got = cross_val_score(model(), X, y, cv=FOLDS, scoring=caveat.scorer(ours))
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_average_precision_against_scikit_learn():
    X, y = classes_of(2)
    theirs = make_scorer(
        sklearn.metrics.average_precision_score, response_method="predict_proba", pos_label="well"
    )
    expected = cross_val_score(model(), X, y, cv=FOLDS, scoring=theirs)
    got = cross_val_score(model(), X, y, cv=FOLDS, scoring=caveat.scorer("average_precision"))
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_brier_is_twice_that_of_scikit_learn_for_two_classes():
    X, y = classes_of(2)
    codes = (y == "well").astype(int)  # their scorer does not take text
    expected = 2 * get_scorer("neg_brier_score")(model().fit(X, codes), X, codes)
    got = caveat.scorer("brier")(model().fit(X, y), X, y)
    assert got == pytest.approx(expected, rel=1e-9)


def test_log_loss_of_what_was_impossible():
    class Certain(LogisticRegression):
        def predict_proba(self, X):
            return np.tile([1.0, 0.0], (len(X), 1))

    X, y = np.array([[-1.0], [1.0], [2.0]]), np.array(["ill", "well", "ill"])
    fitted = Certain().fit(X, y)
    assert caveat.scorer("log_loss")(fitted, X, y) == -np.inf
    bounded = caveat.scorer("log_loss", eps=np.finfo(float).eps)(fitted, X, y)
    assert bounded == pytest.approx(get_scorer("neg_log_loss")(fitted, X, y), rel=1e-9)


@pytest.mark.parametrize("count", [2, 3])
def test_brier_is_the_sum_over_classes(count):
    X, y = classes_of(count)
    fitted = model().fit(X, y)
    one_hot = y[:, None] == fitted.classes_
    by_hand = ((fitted.predict_proba(X) - one_hot) ** 2).sum(axis=1).mean()
    assert caveat.scorer("brier")(fitted, X, y) == pytest.approx(-by_hand, rel=1e-12)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (caveat.scorer("mae"), "neg_mean_absolute_error"),
        (caveat.scorer("rmse"), "neg_root_mean_squared_error"),
        (
            caveat.scorer("pinball", level=0.8),
            make_scorer(mean_pinball_loss, greater_is_better=False, alpha=0.8),
        ),
    ],
    ids=["mae", "rmse", "pinball"],
)
def test_points_against_scikit_learn(ours, theirs):
    X, y = numbers()
    for estimator in (LinearRegression(), QuantileRegressor(quantile=0.8, alpha=0.1)):
        expected = cross_val_score(estimator, X, y, cv=KFOLDS, scoring=theirs)
        got = cross_val_score(estimator, X, y, cv=KFOLDS, scoring=ours)
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("name", OF_SPREAD)
def test_spread_against_the_metric_by_hand(name):
    X, y = numbers()
    metric, expected = METRICS[name], []
    for fitted, X_test, y_test in held_out(GAUSSIAN, X, y, KFOLDS):
        mean, std = fitted.predict(X_test, return_std=True)
        inputs = {"mean": mean, "variance": std**2}
        given = [inputs[part] for part in metric.inputs]
        expected.append(-metric.function(y_test, *given))
    got = cross_val_score(GAUSSIAN, X, y, cv=KFOLDS, scoring=caveat.scorer(name))
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_crps_of_a_gaussian_process_against_its_integral():
    X, y = numbers(noise=1.0)
    kernel = RBF(2.0) + WhiteKernel(0.1)
    fitted = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(X[:80], y[:80])
    mean, std = fitted.predict(X[80:100], return_std=True)
    each = [
        integrate.quad(lambda t, m, s: stats.norm.cdf(t, m, s) ** 2, m - 12 * s, truth, (m, s))[0]
        + integrate.quad(lambda t, m, s: stats.norm.sf(t, m, s) ** 2, truth, m + 12 * s, (m, s))[0]
        for m, s, truth in zip(mean, std, y[80:100], strict=True)
    ]
    got = caveat.scorer("crps")(fitted, X[80:100], y[80:100])
    assert got == pytest.approx(-np.mean(each), rel=1e-6)


def test_members_of_forests():
    X, y = numbers()
    forest = RandomForestRegressor(20, random_state=0).fit(X[:80], y[:80])
    trees = np.array([tree.predict(X[80:]) for tree in forest.estimators_])
    pairs = np.abs(trees[:, None] - trees[None]).mean(axis=(0, 1))
    by_hand = (np.abs(trees - y[80:]).mean(axis=0) - pairs / 2).mean()
    got = caveat.scorer("ensemble_crps")(forest, X[80:], y[80:])
    assert got == pytest.approx(-by_hand, rel=1e-10)


def test_ranking_of_classes_by_entropy_and_of_numbers_by_spread():
    X, y = classes_of(3)
    fitted = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X[:120], y[:120])
    p = fitted.predict_proba(X[120:])
    wrong = (fitted.predict(X[120:]) != y[120:]).astype(float)
    entropy = stats.entropy(p, axis=1)
    auroc = sklearn.metrics.roc_auc_score(wrong, np.round(entropy, 12))
    got = caveat.scorer("auroc_error")(fitted, X[120:], y[120:])
    assert got == pytest.approx(auroc, rel=1e-9)
    X, y = numbers()
    fitted = GAUSSIAN.fit(X[:80], y[:80])
    mean, std = fitted.predict(X[80:], return_std=True)
    rank = stats.spearmanr(np.abs(y[80:] - mean), std).statistic
    assert caveat.scorer("spearman")(fitted, X[80:], y[80:]) == pytest.approx(rank, rel=1e-9)


def test_values_are_those_of_evaluate():
    X, y = classes_of(3)
    fitted = model().fit(X[:120], y[:120])
    prediction = caveat.from_sklearn(fitted).predict_distribution(X[120:])
    result = caveat.evaluate(prediction, y[120:], resamples=0)
    for name in ("ece", "brier", "aurc", "uce"):
        (row,) = result.select(metric=name, group="")
        assert caveat.scorer(name)(fitted, X[120:], y[120:]) == pytest.approx(-row.value, rel=1e-9)


def test_own_estimators_and_searches_inside():
    X, y = numbers()
    search = GridSearchCV(BayesianRidge(), {"alpha_1": [1e-6, 1e-3]}, cv=2)
    nested = cross_val_score(search, X, y, cv=KFOLDS, scoring=caveat.scorer("crps"))
    assert np.isfinite(nested).all()
    assert (nested < 0).all()
    wrapped = caveat.from_sklearn(BayesianRidge().fit(X, y))
    plain = cross_val_score(BayesianRidge(), X, y, cv=KFOLDS, scoring=caveat.scorer("crps"))
    got = cross_val_score(wrapped, X, y, cv=KFOLDS, scoring=caveat.scorer("crps"))
    np.testing.assert_allclose(got, plain, rtol=1e-10)


def test_quantiles_of_several_models():
    X, y = numbers()
    levels = (0.1, 0.5, 0.9)
    models = {q: QuantileRegressor(quantile=q, alpha=0.1).fit(X[:80], y[:80]) for q in levels}
    values = np.sort(np.stack([m.predict(X[80:]) for m in models.values()], axis=1), axis=1)
    wrapped = caveat.from_sklearn(models)
    expected = caveat.metrics.quantile_crps_loss(y[80:], levels, values)
    got = caveat.scorer("quantile_crps")(wrapped, X[80:], y[80:])
    assert got == pytest.approx(-expected, rel=1e-12)
    median = caveat.scorer("pinball", level=0.5)(wrapped, X[80:], y[80:])
    # A point is what ``predict`` gives: the model of the median, before quantiles are sorted.
    by_hand = np.abs(y[80:] - models[0.5].predict(X[80:])).mean() / 2
    assert median == pytest.approx(-by_hand, rel=1e-12)
    with pytest.raises(UnsupportedPredictionError, match=r"^gaussian_crps.*predicts: Quantiles: "):
        caveat.scorer("crps")(wrapped, X[80:], y[80:])


def test_options():
    X, y = classes_of(2)
    fitted = model().fit(X, y)
    p = fitted.predict_proba(X)
    codes = (y == fitted.classes_[1]).astype(int)
    for bins in (2, 30):
        expected = -caveat.metrics.expected_calibration_error(codes, p, bins=bins)
        assert caveat.scorer("ece", bins=bins)(fitted, X, y) == pytest.approx(expected, rel=1e-12)
    X, y = numbers()
    fitted = LinearRegression().fit(X, y)
    scaled = caveat.scorer("mase", reference_median=1.0)(fitted, X, y)
    expected = caveat.metrics.mean_absolute_scaled_error(y, fitted.predict(X), reference_median=1.0)
    assert scaled == pytest.approx(-expected, rel=1e-12)


def test_frames_and_series():
    X, y = classes_of(3)
    frame, labels = pd.DataFrame(X, columns=list("abcde")), pd.Series(y).astype("category")
    plain = cross_val_score(model(), X, y, cv=FOLDS, scoring=caveat.scorer("ece"))
    got = cross_val_score(model(), frame, labels, cv=FOLDS, scoring=caveat.scorer("ece"))
    np.testing.assert_allclose(got, plain, rtol=1e-12)


def test_a_class_that_a_fold_does_not_have():
    X, y = classes_of(3)
    fitted = model().fit(X, y)
    some = y != "blue"
    one_hot = y[some][:, None] == fitted.classes_
    expected = ((fitted.predict_proba(X[some]) - one_hot) ** 2).sum(axis=1).mean()
    assert caveat.scorer("brier")(fitted, X[some], y[some]) == pytest.approx(-expected, rel=1e-12)


# ------------------------------------------------------------------------------------ searches


def test_a_search_with_several_scorers_finds_the_best():
    X, y = classes_of(2)
    strengths = [1e-4, 1e-2, 1.0]
    grid = {"logisticregression__C": strengths}
    scoring = {name: caveat.scorer(name) for name in ("ece", "brier", "roc_auc")}
    search = GridSearchCV(model(), grid, scoring=scoring, refit="brier", cv=FOLDS).fit(X, y)
    for name in scoring:
        metric = METRICS[name]
        sign = 1 if metric.direction == "higher" else -1
        by_hand = []
        for strength in strengths:
            estimator = model().set_params(logisticregression__C=strength)
            by_hand.append(
                np.mean([
                    sign * metric.function(y_test, fit.predict_proba(X_test), classes=fit.classes_)
                    for fit, X_test, y_test in held_out(estimator, X, y, FOLDS)
                ])
            )  # fmt: skip
        got = search.cv_results_[f"mean_test_{name}"]
        np.testing.assert_allclose(got, by_hand, rtol=1e-10)
        if name == "brier":
            assert search.best_index_ == np.argmax(by_hand)


def test_pickled_cloned_and_written():
    X, y = classes_of(2)
    fitted = model().fit(X, y)
    scorer = caveat.scorer("ece", bins=7)
    value = scorer(fitted, X, y)
    for copy in (pickle.loads(pickle.dumps(scorer)), clone(scorer)):
        assert isinstance(copy, Scorer)
        assert copy is not scorer
        assert copy == scorer
        assert copy(fitted, X, y) == pytest.approx(value, rel=1e-12)
    assert repr(scorer) == "caveat.scorer('expected_calibration_error', bins=7)"
    assert repr(caveat.scorer("brier")) == "caveat.scorer('brier_loss')"
    rebuilt = eval(repr(scorer), {"caveat": caveat})
    assert rebuilt == scorer
    search = GridSearchCV(model(), {}, scoring={"ece": scorer}, refit="ece")
    assert clone(search).scoring["ece"] == scorer
    assert "caveat.scorer('expected_calibration_error', bins=7)" in repr(search)


def test_other_processes():
    X, y = classes_of(2)
    one = cross_val_score(model(), X, y, cv=2, scoring=caveat.scorer("ece"))
    two = cross_val_score(model(), X, y, cv=2, scoring=caveat.scorer("ece"), n_jobs=2)
    np.testing.assert_allclose(two, one, rtol=1e-12)


# ------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("name", ["ece", "brier", "aurc", "log_loss"])
def test_weights_count_samples(name):
    X, y = classes_of(3)
    fitted = model().fit(X, y)
    times = np.random.default_rng(0).integers(4, size=len(y))
    weighted = caveat.scorer(name)(fitted, X, y, sample_weight=times)
    repeated = caveat.scorer(name)(fitted, np.repeat(X, times, 0), np.repeat(y, times))
    assert weighted == pytest.approx(repeated, rel=1e-9)
    assert weighted != pytest.approx(caveat.scorer(name)(fitted, X, y), rel=1e-3)


def test_weights_of_numbers():
    X, y = numbers()
    fitted = GAUSSIAN.fit(X, y)
    times = np.random.default_rng(0).integers(1, 4, size=len(y))
    for name in ("mae", "crps"):
        weighted = caveat.scorer(name)(fitted, X, y, sample_weight=times)
        repeated = caveat.scorer(name)(fitted, np.repeat(X, times, 0), np.repeat(y, times))
        assert weighted == pytest.approx(repeated, rel=1e-9)


def by_hand_with_weights(X, y, weight, scored):
    expected = []
    for train, test in FOLDS.split(X, y):
        fitted = LogisticRegression().fit(X[train], y[train], sample_weight=weight[train])
        expected.append(
            -caveat.metrics.brier_loss(
                y[test], fitted.predict_proba(X[test]), classes=fitted.classes_,
                sample_weight=weight[test] if scored else None,
            )
        )  # fmt: skip
    return expected


@pytest.mark.parametrize("wanted", [True, False])
def test_weights_are_routed_as_requested(wanted):
    X, y = classes_of(2)
    weight = np.random.default_rng(1).uniform(0.1, 3, size=len(y))
    expected = by_hand_with_weights(X, y, weight, wanted)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = caveat.scorer("brier").set_score_request(sample_weight=wanted)
        estimator = LogisticRegression().set_fit_request(sample_weight=True)
        given = {"cv": FOLDS, "params": {"sample_weight": weight}}
        got = cross_val_score(estimator, X, y, scoring=scorer, **given)
        kept = cross_val_score(estimator, X, y, scoring=clone(scorer), **given)
        several = cross_validate(estimator, X, y, scoring={"brier": scorer}, **given)
        search = GridSearchCV(estimator, {"C": [1.0]}, scoring=scorer, cv=FOLDS)
        search.fit(X, y, sample_weight=weight)
    for values in (got, kept, several["test_brier"]):
        np.testing.assert_allclose(values, expected, rtol=1e-9)
    assert search.best_score_ == pytest.approx(np.mean(expected), rel=1e-9)


def test_weights_without_a_request_are_an_error_of_scikit_learn():
    X, y = classes_of(2)
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"),
    ):
        cross_val_score(
            LogisticRegression().set_fit_request(sample_weight=True), X, y,
            scoring=caveat.scorer("brier"), params={"sample_weight": np.ones(len(y))},
        )  # fmt: skip


def test_searches_with_weights_and_without_routing():
    X, y = classes_of(2)
    weight = np.random.default_rng(1).uniform(0.1, 3, size=len(y))
    scorer = caveat.scorer("brier")
    best = []
    for scoring, refit in ((scorer, True), ({"brier": scorer}, "brier")):
        search = GridSearchCV(
            LogisticRegression(), {"C": [1.0]}, scoring=scoring, refit=refit, cv=FOLDS
        )
        best.append(search.fit(X, y, sample_weight=weight).best_score_)
    # Older versions of scikit-learn score without weights.
    expected = [np.mean(by_hand_with_weights(X, y, weight, scored)) for scored in (True, False)]
    assert best[0] == pytest.approx(best[1], rel=1e-9)
    assert min(abs(best[0] - value) for value in expected) < 1e-9
    assert scorer._accept_sample_weight()


# -------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "set_coverage",
            "^set_coverage is neither better when greater nor when lower, so it is no",
        ),
        ("picp", "^coverage_ratio is neither better"),
        ("cv", "^dispersion is neither better"),
        ("set_size", "^mean_set_size needs membership, which estimators of scikit-learn do not"),
        ("winkler", "^interval_loss needs lower and upper, which"),
        ("fpr95", "^false_positive_rate_at_true_positive_rate_error compares samples with others"),
        ("pinball", "^pinball_loss needs level=$"),
    ],
)
def test_metrics_that_are_no_scores(name, message):
    with pytest.raises(OptionError, match=message):
        caveat.scorer(name)


def test_names():
    with pytest.raises(
        UnknownNameError, match=r"'nll' is short for negative_log.*; use a full name$"
    ):
        caveat.scorer("nll")
    with pytest.raises(UnknownNameError, match="unknown metric 'eec'; did you mean 'ece'"):
        caveat.scorer("eec")
    with pytest.raises(
        OptionError, match=r"has no option 'bin'; it has bins, kind, norm, binning$"
    ):
        caveat.scorer("ece", bin=3)
    with pytest.raises(
        OptionError, match=r"^mean_absolute_error has no option 'bins'; it has none$"
    ):
        caveat.scorer("mae", bins=3)
    with pytest.raises(OptionError, match="has no option 'classes'"):
        caveat.scorer("ece", classes=[0, 1])


def test_estimators_that_do_not_give_what_is_needed():
    X, y = classes_of(2)
    with pytest.raises(
        UnsupportedPredictionError, match=r"LinearSVC has no predict_proba; a class"
    ):
        caveat.scorer("ece")(LinearSVC().fit(X, y), X, y)
    codes = (y == "ill").astype(int)
    with pytest.raises(
        UnsupportedPredictionError, match=r"predicted numbers, and Logistic.* classes$"
    ):
        caveat.scorer("mae")(LogisticRegression().fit(X, codes), X, codes)
    both = np.stack([codes, 1 - codes], axis=1)
    two = MultiOutputClassifier(LogisticRegression()).fit(X, both)
    with pytest.raises(
        UnsupportedPredictionError, match=r"^MultiOutputClassifier predicts classes of 2"
    ):
        caveat.scorer("ece")(two, X, both)
    X, y = numbers()
    plain = LinearRegression().fit(X, y)
    with pytest.raises(
        UnsupportedPredictionError,
        match=r"^gaussian_crps_loss is not defined for what LinearRegression predicts: Gaussian: .*"
        r"return_std=True",
    ):
        caveat.scorer("crps")(plain, X, y)
    targets = np.stack([y, y + X[:, 0]], axis=1)
    forest = RandomForestRegressor(5, random_state=0).fit(X, targets)
    with pytest.raises(UnsupportedPredictionError, match="one number for one target only; RandomF"):
        caveat.scorer("ensemble_crps")(forest, X, targets)


def test_a_metric_of_the_users_own():
    def largest_miss(y_true, probabilities, *, sample_weight=None, **extra):
        return float(
            1 - np.asarray(probabilities)[np.arange(len(y_true)), y_true].min()
        ) + extra.get("plus", 0)

    METRICS.register(
        Metric(
            function=largest_miss, task="classification", inputs=("probabilities",),
            direction="lower", range=(0.0, 1.0), optimum=0.0, says="The worst.", cannot_see="Rest.",
        )
    )  # fmt: skip
    try:
        X, y = classes_of(3)
        fitted = model().fit(X, y)
        places = np.searchsorted(fitted.classes_, y)
        worst = 1 - fitted.predict_proba(X)[np.arange(len(y)), places].min()
        assert caveat.scorer("largest_miss")(fitted, X, y) == pytest.approx(-worst, rel=1e-12)
        plus = caveat.scorer("largest_miss", plus=1)(fitted, X, y)
        assert plus == pytest.approx(-worst - 1, rel=1e-12)
    finally:
        METRICS.unregister("largest_miss")


def test_perfect_is_no_negative_zero():
    class Perfect(LogisticRegression):
        def predict_proba(self, X):
            return np.eye(2)[(X[:, 0] > 0).astype(int)]

    X = np.array([[-1.0], [1.0], [2.0]])
    fitted = Perfect().fit(X, [0, 1, 1])
    value = caveat.scorer("brier")(fitted, X, [0, 1, 1])
    assert str(value) == "0.0"
