import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import caveat
from caveat.evaluation._risk_bounds import binomial_bound, minimum_units
from caveat.evaluation.triage import TriagePolicy
from caveat.exceptions import (
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
    UnsupportedPredictionError,
)


def classes(samples=600, members=3, seed=0):
    """A prediction of two classes and labels drawn from it."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(0, 4, samples) + rng.normal(0, 1, (members, samples))
    p = 1 / (1 + np.exp(-logit))
    return caveat.Categorical.from_binary(p), (rng.random(samples) < p.mean(axis=0)).astype(int)


def numbers(samples=600, members=3, targets=2, seed=0):
    rng = np.random.default_rng(seed)
    variance = np.exp(rng.normal(-3, 1, (members, samples, targets)))
    mean = rng.normal(0, 0.1, (members, samples, targets))
    y = rng.normal(0, np.sqrt(variance.mean(axis=0)))
    return caveat.Gaussian(mean, variance), y


class TestBounds:
    def test_minimum(self):
        assert minimum_units(0.05, 0.95) == 59
        assert minimum_units(0.5, 0.75) == 2
        for risk in (0.01, 0.1, 0.3):
            least = minimum_units(risk, 0.9)
            assert (1 - risk) ** least <= 0.1 + 1e-12 < (1 - risk) ** (least - 1)

    def test_exact_binomial(self):
        accepted = np.repeat([0, 1, 58, 59, 200], 6)
        errors = np.minimum(np.tile([0, 1, 4, 5, 58, 200], 5), accepted)
        passed, upper = binomial_bound(errors, accepted, 0.05, 0.95)
        np.testing.assert_array_equal(passed, binom.cdf(errors, accepted, 0.05) <= 0.05)
        expected = [
            beta.ppf(0.95, k + 1, n - k) if k < n else 1.0
            for k, n in zip(errors, accepted, strict=True)
        ]
        np.testing.assert_allclose(upper, expected, rtol=1e-9)
        np.testing.assert_array_equal(passed, upper <= 0.05)

    def test_equality_passes_whatever_the_rounding(self):
        passed, upper = binomial_bound(np.array([0]), np.array([2]), 0.5, 0.75)
        assert passed[0]
        assert upper[0] == 0.5


class TestSequence:
    def test_threshold_is_the_last_before_the_first_that_fails(self):
        prediction, y = classes()
        policy = TriagePolicy(0.1, random_state=0).fit(prediction, y)
        curve = policy.curve_
        assert (np.diff(curve.threshold) > 0).all()
        assert 0 < curve.reached < len(curve.threshold)
        assert curve.passed[: curve.reached].all()
        assert not curve.passed[curve.reached]
        assert policy.threshold_ == curve.threshold[curve.reached - 1]

    def test_curve_by_brute_force(self):
        prediction, y = classes()
        points = [0.05, 0.2, 0.1, 0.6]
        curve = TriagePolicy(0.1, points=points).fit(prediction, y).curve_
        score = caveat.decompose(prediction).total
        wrong = prediction.labels != y
        np.testing.assert_array_equal(curve.threshold, sorted(points))
        accepted = [np.sum(score <= t) for t in sorted(points)]
        np.testing.assert_array_equal(curve.accepted, accepted)
        np.testing.assert_array_equal(
            curve.errors, [wrong[score <= t].sum() for t in sorted(points)]
        )
        np.testing.assert_allclose(curve.coverage, np.divide(accepted, len(y)))
        np.testing.assert_allclose(curve.error, curve.errors / curve.accepted)
        np.testing.assert_array_equal(curve.to_frame()["upper"], curve.upper)

    def test_a_tenth_sets_the_thresholds_and_is_not_tested(self):
        prediction, y = classes(600)
        curve = TriagePolicy(0.1, points=10, random_state=0).fit(prediction, y).curve_
        assert len(curve.threshold) == 10
        assert curve.accepted[-1] / curve.coverage[-1] == pytest.approx(540)
        assert set(curve.threshold) <= set(caveat.decompose(prediction).total)

    def test_constant_scores_have_one_threshold(self):
        prediction = caveat.Categorical.from_binary(np.full(200, 0.1))
        policy = TriagePolicy(0.05, random_state=0).fit(prediction, np.zeros(200, dtype=int))
        assert len(policy.curve_.threshold) == 1
        assert policy.decide(prediction).accepted.all()

    def test_more_uncertain_than_calibration_is_not_accepted(self):
        prediction = caveat.Categorical.from_binary(np.full(200, 0.1))
        policy = TriagePolicy(0.05, random_state=0).fit(prediction, np.zeros(200, dtype=int))
        worse = caveat.Categorical.from_binary([0.2, 0.05])
        assert policy.decide(worse).actions.tolist() == ["measure again", "accept"]

    @pytest.mark.parametrize("points", [0, -1, 2.5, True, "many", None])
    def test_refused_points(self, points):
        with pytest.raises(OptionError, match="points must be how many thresholds to try, 1 or"):
            TriagePolicy(0.1, points=points).fit(*classes())

    def test_refused_thresholds(self):
        with pytest.raises(ShapeError, match=r"points must be thresholds along one axis; got sha"):
            TriagePolicy(0.1, points=[[0.1]]).fit(*classes())
        with pytest.raises(InvalidValueError, match="points of threshold 1 is nan"):
            TriagePolicy(0.1, points=[0.1, np.nan]).fit(*classes())


class TestPromise:
    def test_in_words(self):
        policy = TriagePolicy(0.1, points=[0.2]).fit(*classes())
        curve = policy.curve_
        assert policy.guarantee_ == (
            "With 95 % confidence, at most 10 % of the accepted predictions are wrong, for new "
            "samples drawn as the calibration samples were. A prediction is wrong if its most "
            f"probable class is not the true one. The threshold accepts {curve.accepted[0]} of the "
            f"600 samples it was tested on, {curve.errors[0]} of them wrong: the upper limit of the "
            f"error rate is {100 * curve.upper[0]:.3g} %."
        )

    def test_out_of_reach(self):
        prediction, y = classes(5000)
        policy = TriagePolicy(0.001, random_state=0).fit(prediction, 1 - y)
        triage = policy.decide(prediction)
        assert policy.threshold_ == -np.inf
        assert not triage.accepted.any()
        assert triage.guarantee.startswith(
            "No threshold was shown to keep the error rate of accepted predictions at 0.1 % with "
            "95 % confidence, so none is accepted. A prediction is"
        )
        assert "The strictest threshold accepts" in triage.guarantee
        assert "Even without an error" not in triage.guarantee
        assert "never low enough" in repr(triage)

    @pytest.mark.parametrize("samples", [1, 2, 50])
    def test_too_few_without_an_error(self, samples):
        prediction = caveat.Categorical.from_binary(np.linspace(0.01, 0.02, samples))
        policy = TriagePolicy(0.05, random_state=0).fit(prediction, np.zeros(samples, dtype=int))
        assert policy.threshold_ == -np.inf
        assert policy.guarantee_.endswith(
            "Even without an error it takes at least 59 accepted samples to show this, beside "
            "those that set the thresholds."
        )

    def test_enough_without_an_error(self):
        prediction = caveat.Categorical.from_binary(np.full(59, 0.1))
        y = np.zeros(59, dtype=int)
        assert TriagePolicy(0.05, points=[1.0]).fit(prediction, y).threshold_ == 1.0
        fewer = TriagePolicy(0.05, points=[1.0]).fit(prediction.take(slice(0, 58)), y[:58])
        assert fewer.threshold_ == -np.inf

    @pytest.mark.parametrize("name", ["risk", "confidence"])
    @pytest.mark.parametrize("value", [0, 1, -0.1, np.nan, "low"])
    def test_refused_fractions(self, name, value):
        policy = TriagePolicy(0.1).set_params(**{name: value})
        with pytest.raises(OptionError, match=f"{name} must be a number strictly between 0 and 1"):
            policy.fit(*classes())


class TestRegression:
    def test_errors_and_score(self):
        prediction, y = numbers()
        tolerance = np.array([0.5, 0.8])
        policy = TriagePolicy(0.1, tolerance=tolerance, points=[0.5]).fit(prediction, y)
        mean, variance = prediction.moments()
        score = (variance / tolerance**2).sum(axis=1)
        wrong = (np.abs(y - mean) > tolerance).any(axis=1)
        assert policy.curve_.errors[0] == wrong[score <= 0.5].sum()
        np.testing.assert_allclose(policy.decide(prediction).scores, score)
        assert "off by more than the tolerance for any target" in policy.guarantee_

    def test_one_number_for_all_targets(self):
        prediction, y = numbers()
        one, each = (
            TriagePolicy(0.1, tolerance=t, random_state=0).fit(prediction, y)
            for t in (0.7, [0.7] * 2)
        )
        assert one.threshold_ == each.threshold_

    def test_y_of_one_target(self):
        prediction, y = numbers(targets=1)
        first, second = (
            TriagePolicy(0.1, tolerance=0.7, random_state=0).fit(prediction, truth)
            for truth in (y, y[:, 0])
        )
        assert first.threshold_ == second.threshold_ > -np.inf

    def test_tiny_tolerance_is_no_warning(self):
        prediction, y = numbers()
        triage = TriagePolicy(0.1, tolerance=1e-200).fit(prediction, y).decide(prediction)
        assert triage.deferred.all()

    def test_tolerance(self):
        with pytest.raises(OptionError, match=r"regression needs a tolerance: pass the largest"):
            TriagePolicy(0.1).fit(*numbers())
        with pytest.raises(OptionError, match=r"got 0.5 with classes, of which one is right"):
            TriagePolicy(0.1, tolerance=0.5).fit(*classes())
        with pytest.raises(ShapeError, match=r"one for each of 2 targets; got shape \(3,\)"):
            TriagePolicy(0.1, tolerance=[1, 2, 3]).fit(*numbers())
        for value in (0, -1, np.nan, np.inf, [1, 0]):
            with pytest.raises(OptionError, match="tolerance must be above 0 and finite"):
                TriagePolicy(0.1, tolerance=value).fit(*numbers())

    def test_refused_y(self):
        prediction, y = numbers()
        policy = TriagePolicy(0.1, tolerance=1)
        with pytest.raises(ShapeError, match=r"with 2 targets; got \(600, 1\)"):
            policy.fit(prediction, y[:, 0])
        with pytest.raises(ShapeError, match="y has 599 samples, the prediction has 600"):
            policy.fit(prediction, y[1:])
        y[3, 1] = np.nan
        with pytest.raises(InvalidValueError, match="y of sample 3, target 1 is nan"):
            policy.fit(prediction, y)


class TestKinds:
    def test_gaussian_logits(self):
        rng = np.random.default_rng(0)
        mean = rng.normal(0, 4, (3, 600, 3))
        prediction = caveat.GaussianLogits(mean, np.full(mean.shape, 0.5))
        y = prediction.to_categorical().mean.argmax(axis=1)
        for decomposition, draws in (("auto", None), ("variance", 20), ("gaussian_logits", None)):
            policy = TriagePolicy(0.1, decomposition=decomposition, draws=draws, random_state=0)
            policy.fit(prediction, y)
            triage = policy.decide(prediction)
            assert triage.accepted.any()
            part = policy.decide(prediction.take([5, 3]))
            np.testing.assert_array_equal(part.scores, triage.scores[[5, 3]])

    def test_logits_without_noise_are_as_their_softmax(self):
        rng = np.random.default_rng(0)
        mean = rng.normal(0, 3, (3, 300, 3))
        y = rng.integers(3, size=300)
        logits = caveat.GaussianLogits(mean, np.zeros(mean.shape))
        policies = [
            TriagePolicy(0.5, random_state=0).fit(p, y)
            for p in (logits, caveat.Categorical.from_logits(mean))
        ]
        np.testing.assert_allclose(policies[0].curve_.upper, policies[1].curve_.upper)

    @pytest.mark.parametrize(
        ("prediction", "advice"),
        [
            (caveat.Quantiles([0.1, 0.9], np.array([[0.0, 1.0]])), r"\.to_gaussian\(level\)"),
            (caveat.Interval([0.0], [1.0], coverage=0.9), r"\.to_gaussian\(\)"),
            (caveat.ProbabilityInterval([[0.2, 0.6]], [[0.4, 0.8]]), r"\.to_categorical\(\)"),
            (caveat.PredictionSet([[True, False]], coverage=0.9), "that the sets were made from"),
            (np.array([[0.1, 0.9]]), "got a ndarray$"),
        ],
    )
    def test_others_are_told_how_to_convert(self, prediction, advice):
        with pytest.raises(UnsupportedPredictionError, match=advice):
            TriagePolicy(0.1, tolerance=1).fit(prediction, [0])

    def test_one_member_has_no_epistemic_part(self):
        prediction, y = classes(members=1)
        triage = TriagePolicy(0.05, random_state=0).fit(prediction, y).decide(prediction)
        assert triage.counts["ask an expert"] == 0
        assert triage.counts["measure again"] > 0
        assert np.isnan(triage.epistemic).all()
        assert triage.remark.startswith("A prediction with one member has no epistemic part")
        assert triage.remark[:40] in repr(triage)

    def test_refused_y(self):
        prediction, y = classes()
        with pytest.raises(LabelError, match="y of sample 0 is 7"):
            TriagePolicy(0.1).fit(prediction, y * 0 + 7)
        with pytest.raises(ShapeError, match="y has 599 samples, the prediction has 600"):
            TriagePolicy(0.1).fit(prediction, y[1:])


class TestReasons:
    def test_larger_standardised_part_decides(self):
        prediction, y = classes()
        policy = TriagePolicy(0.02, random_state=0).fit(prediction, y)
        triage = policy.decide(prediction)
        split = caveat.decompose(prediction)
        z = [(part - part.mean()) / part.std() for part in (split.aleatoric, split.epistemic)]
        np.testing.assert_allclose([triage.aleatoric, triage.epistemic], z)
        deferred = split.total > policy.threshold_
        np.testing.assert_array_equal(triage.deferred, deferred)
        assert set(triage.actions[deferred & (z[1] > z[0])]) == {"ask an expert"}
        assert set(triage.actions[deferred & (z[1] <= z[0])]) == {"measure again"}
        assert triage.remark == ""

    def test_scale_is_that_of_fit(self):
        prediction, y = classes()
        policy = TriagePolicy(0.1, random_state=0).fit(prediction, y)
        whole, part = policy.decide(prediction), policy.decide(prediction.take([4, 7]))
        np.testing.assert_array_equal(part.epistemic, whole.epistemic[[4, 7]])
        np.testing.assert_array_equal(part.actions, whole.actions[[4, 7]])

    def test_infinite_disagreement_asks_an_expert(self):
        p = np.full((2, 100), 0.3)
        p[:, :50] = [[0.0], [1.0]]
        prediction = caveat.Categorical.from_binary(p)
        policy = TriagePolicy(0.1, decomposition="pairwise_kl", random_state=0)
        triage = policy.fit(prediction, np.arange(100) % 2).decide(prediction)
        assert (triage.actions[:50] == "ask an expert").all()
        assert (triage.actions[50:] == "measure again").all()

    def test_only_infinite_disagreement(self):
        prediction = caveat.Categorical.from_binary([[0.0] * 5, [1.0] * 5])
        policy = TriagePolicy(0.1, decomposition="pairwise_kl").fit(prediction, [0, 1, 0, 1, 0])
        assert (policy.decide(prediction).actions == "ask an expert").all()


class TestClustersAndWeights:
    def test_one_sample_of_each_cluster(self):
        prediction, y = classes(600)
        cluster = np.repeat([f"subject {i}" for i in range(150)], 4)
        policy = TriagePolicy(0.2, random_state=0).fit(prediction, y, cluster=cluster)
        curve = policy.curve_
        assert curve.accepted[-1] / curve.coverage[-1] == pytest.approx(135)
        assert "wrong, each cluster counting the same, for new clusters drawn" in policy.guarantee_
        assert "of the 135 samples (one of each cluster) it was tested on" in policy.guarantee_

    def test_thresholds_come_from_other_clusters(self):
        score = np.arange(100) // 5 / 1000  # each cluster has a score of its own
        prediction = caveat.Categorical.from_binary(score)
        policy = TriagePolicy(0.2, random_state=0)
        curve = policy.fit(prediction, np.zeros(100, int), cluster=np.arange(100) // 5).curve_
        assert len(curve.threshold) <= 2
        assert curve.accepted[-1] <= 18

    def test_clusters_of_one_are_samples(self):
        prediction, y = classes()
        alone, plain = (
            TriagePolicy(0.1, random_state=0).fit(prediction, y, cluster=cluster)
            for cluster in (pd.Series(range(600)), None)
        )
        assert alone.guarantee_ == plain.guarantee_

    def test_refused_clusters(self):
        prediction, y = classes()
        with pytest.raises(ShapeError, match=r"cluster must be one value for each of 600 samples"):
            TriagePolicy(0.1).fit(prediction, y, cluster=[1, 2])
        cluster = np.array(["a"] * 600, dtype=object)
        cluster[7] = None
        with pytest.raises(InvalidValueError, match="the cluster of sample 7 is missing; give"):
            TriagePolicy(0.1).fit(prediction, y, cluster=cluster)

    def test_equal_weights_change_nothing(self):
        prediction, y = classes()
        weighted, plain = (
            TriagePolicy(0.1, random_state=0).fit(prediction, y, sample_weight=weight)
            for weight in (np.full(600, 3.0), None)
        )
        assert weighted.guarantee_ == plain.guarantee_

    def test_weight_zero_is_absent(self):
        prediction, y = classes()
        weight = np.arange(600) % 3 > 0
        cluster = np.arange(600) // 5
        for groups in (None, cluster):
            weighted = TriagePolicy(0.1, random_state=0)
            weighted.fit(prediction, y, sample_weight=weight.astype(float), cluster=groups)
            absent = TriagePolicy(0.1, random_state=0).fit(
                prediction.take(weight),
                y[weight],
                cluster=None if groups is None else cluster[weight],
            )
            assert weighted.guarantee_ == absent.guarantee_
            np.testing.assert_array_equal(weighted.center_, absent.center_)

    def test_weights_thin_the_test(self):
        prediction, y = classes(6000)
        weight = np.where(np.arange(6000) % 2, 1.0, 0.25)
        policy = TriagePolicy(0.1, random_state=0).fit(prediction, y, sample_weight=weight)
        tested = policy.curve_.accepted[-1] / policy.curve_.coverage[-1]
        low, high = binom.ppf([1e-5, 1 - 1e-5], 2700, 0.25) + 2700
        assert low <= tested <= high
        assert "each weighted by what it stands for" in policy.guarantee_


class TestEstimator:
    def test_not_fitted(self):
        with pytest.raises(NotFittedError, match="this TriagePolicy is not fitted yet; call fit"):
            TriagePolicy(0.1).decide(classes()[0])

    def test_clone_and_pickle(self):
        prediction, y = classes()
        policy = TriagePolicy(0.1, points=5, random_state=3)
        assert clone(policy).get_params() == policy.get_params()
        policy.fit(prediction, y)
        copy = pickle.loads(pickle.dumps(policy))
        assert repr(copy.decide(prediction)) == repr(policy.decide(prediction))
        again = clone(policy).fit(prediction, y)
        assert again.threshold_ == policy.threshold_

    def test_another_model_is_refused(self):
        prediction, y = classes(members=3)
        policy = TriagePolicy(0.1).fit(prediction, y)
        with pytest.raises(ShapeError, match="fitted on members 3, asked to decide on members 2"):
            policy.decide(classes(members=2)[0])
        with pytest.raises(ShapeError, match="fitted on type Categorical, asked to decide on type"):
            policy.decide(numbers()[0])
        with pytest.raises(UnsupportedPredictionError, match="got a list"):
            policy.decide([1])


class TestResult:
    @pytest.fixture
    def triage(self):
        prediction, y = classes(members=3)
        policy = TriagePolicy(0.05, random_state=0).fit(prediction, y)
        return policy.decide(prediction, ids=[f"<{i}>" for i in range(600)])

    def test_shares(self, triage):
        assert sum(triage.counts.values()) == len(triage) == 600
        assert sum(triage.shares.values()) == pytest.approx(1)
        assert triage.shares["accept"] == triage.accepted.mean() > 0
        summary = triage.summary()
        assert summary["action"].tolist() == ["accept", "ask an expert", "measure again"]
        assert summary["samples"].tolist() == list(triage.counts.values())
        assert summary["reason"][1].startswith("deferred: the epistemic part")

    def test_frame(self, triage):
        frame = triage.to_frame()
        assert frame.index[3] == "<3>"
        assert frame.index.name == "id"
        assert frame.columns.tolist() == ["action", "score", "aleatoric", "epistemic"]
        prediction, y = classes()
        plain = TriagePolicy(0.1).fit(prediction, y).decide(prediction).to_frame()
        assert plain.index.tolist() == list(range(600))

    def test_ids(self):
        prediction, y = classes()
        with pytest.raises(ShapeError, match=r"ids must be one name for each of 600 samples"):
            TriagePolicy(0.1).fit(prediction, y).decide(prediction, ids=["a"])

    def test_text(self, triage):
        lines = repr(triage).splitlines()
        assert lines[0] == "Triage of 600 samples at risk 0.05, confidence 0.95"
        assert lines[1].startswith("  accept         ")
        assert max(map(len, lines)) <= 100
        assert "With 95 % confidence" in repr(triage)

    def test_html_is_escaped(self, triage):
        page = triage._repr_html_()
        assert page.count("<tr>") == 4
        assert "<td>ask an expert</td>" in page
        from dataclasses import replace

        assert "<b>" not in replace(triage, guarantee="<b>")._repr_html_()

    def test_frozen(self, triage):
        with pytest.raises(AttributeError):
            triage.risk = 0.5
