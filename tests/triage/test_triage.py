import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import caveat
from caveat.exceptions import (
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
    UnsupportedPredictionError,
)
from caveat.risk_control.bounds import (
    at_most,
    betting_p,
    binomial_p,
    binomial_units,
    binomial_upper,
    minimum_units,
    stakes,
)
from caveat.risk_control.multiple_testing import walk
from caveat.triage import TriagePolicy
from caveat.triage._sequence import Calibration, Evidence


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
        assert minimum_units(0.05, 0.05) == 59
        assert minimum_units(0.5, 0.25) == 2
        for risk in (0.01, 0.1, 0.3):
            least = minimum_units(risk, 0.1)
            assert (1 - risk) ** least <= 0.1 + 1e-12 < (1 - risk) ** (least - 1)

    def test_exact_binomial(self):
        accepted = np.repeat([0, 1, 58, 59, 200], 6)
        errors = np.minimum(np.tile([0, 1, 4, 5, 58, 200], 5), accepted)
        p = binomial_p(errors, accepted, 0.05)
        np.testing.assert_allclose(p, binom.cdf(errors, accepted, 0.05))
        upper = binomial_upper(errors, accepted, 0.05)
        expected = [
            beta.ppf(0.95, k + 1, n - k) if k < n else 1.0
            for k, n in zip(errors, accepted, strict=True)
        ]
        np.testing.assert_allclose(upper, expected, rtol=1e-9)
        np.testing.assert_array_equal(p <= 0.05, upper <= 0.05)

    def test_equality_passes_whatever_the_rounding(self):
        assert at_most(binomial_p(np.array([0]), np.array([2]), 0.5), 0.25)[0]
        level = 1 - 0.95  # not 0.05
        assert at_most(np.array([0.05]), level)[0]

    def test_units_that_show_a_rate(self):
        needed = binomial_units(np.array([0.0, 0.01, 0.03, 0.05, 0.2]), 0.05, 0.05)
        assert needed[0] == minimum_units(0.05, 0.05)
        assert np.isinf(needed[3:]).all()
        for rate, n in zip((0.01, 0.03), needed[1:3].astype(int), strict=True):
            assert binom.cdf(np.floor(rate * n), n, 0.05) <= 0.05
            assert binom.cdf(np.ceil(rate * 0.9 * n), int(0.9 * n), 0.05) > 0.05

    def test_capital_by_brute_force(self):
        rng = np.random.default_rng(0)
        unit = rng.permutation(np.repeat(np.arange(20), 3))
        excess = (rng.random(60) < 0.1) / 3 - 0.2 / 3
        p = betting_p(excess, unit, 0.2, 0.05, 20)
        for k in (1, 7, 33, 60):
            total = np.bincount(unit[:k], excess[:k], minlength=20)
            capital = np.mean([np.prod(1 - bet * total) for bet in stakes(0.2, 0.05, 20)])
            assert p[k - 1] == pytest.approx(min(1 / capital, 1))

    @pytest.mark.parametrize("shares", [[1.0], [0.5, 0.5], [1.0, 0.25]])
    def test_no_bet_is_expected_to_win(self, shares):
        """All outcomes of four units, whose samples are wrong all at once at the rate ``risk``."""
        risk, units = 0.3, 4
        excess_right, excess_wrong = -risk * np.array(shares), (1 - risk) * np.array(shares)
        expected = 0.0
        for outcome in np.ndindex(*(2,) * units):
            excess = np.concatenate([(excess_right, excess_wrong)[k] for k in outcome])
            unit = np.repeat(np.arange(units), len(shares))
            total = np.bincount(unit, excess)
            capital = np.mean([np.prod(1 - bet * total) for bet in stakes(risk, 0.05, units)])
            expected += risk ** sum(outcome) * (1 - risk) ** (units - sum(outcome)) * capital
        assert expected == pytest.approx(1)

    def test_no_bet_loses_more_than_there_is(self):
        for units in (1, 100, 10**6):
            bets = stakes(0.1, 0.05, units)
            assert (bets * 0.9 < 1).all()
            assert len(bets) <= 12


class TestWalk:
    def test_fallback_by_hand(self):
        p = np.array([0.5, 0.01, 0.03, 0.02, 0.001, 0.04, 0.02])
        budget = np.array([0, 0.02, 0.01, 0.0, 0.01, 0, 0.01])
        passed, level = walk(p, budget)
        np.testing.assert_allclose(level, [0, 0.02, 0.03, 0.03, 0.04, 0.04, 0.05])
        assert passed.tolist() == [False, True, True, True, True, True, True]
        passed, level = walk(np.where(np.arange(7) == 3, 0.2, p), budget)
        np.testing.assert_allclose(level, [0, 0.02, 0.03, 0.03, 0.01, 0.01, 0.01])
        assert passed.tolist() == [False, True, True, False, True, False, False]

    def test_fallback_by_brute_force(self):
        rng = np.random.default_rng(0)
        for _ in range(200):
            p = rng.random(30) ** 4
            budget = np.where(rng.random(30) < 0.2, rng.random(30) / 10, 0.0)
            expected, left = [], 0.0
            for value, own in zip(p, budget, strict=True):
                left += own
                expected.append(left)
                left = left if value <= left else 0.0
            passed, level = walk(p, budget)
            np.testing.assert_allclose(level, expected)
            np.testing.assert_array_equal(passed, p <= level)


class TestSequence:
    def test_threshold_is_the_last_that_passed(self):
        prediction, y = classes()
        policy = TriagePolicy(0.1, random_state=0).fit(prediction, y)
        curve = policy.curve_
        assert (np.diff(curve.threshold) > 0).all()
        assert 0 < curve.reached < len(curve.threshold)
        assert curve.passed[curve.reached - 1]
        assert not curve.passed[curve.reached :].any()
        assert policy.threshold_ == curve.threshold[curve.reached - 1]
        tested = curve.level > 0
        np.testing.assert_array_equal(curve.passed[tested], curve.upper[tested] <= 0.1)
        assert not curve.passed[~tested].any()
        assert curve.level.max() <= 0.05 + 1e-12

    def test_perfect_model_is_accepted(self):
        """The first threshold may hold too few samples to pass; others must not depend on it."""
        p = np.random.default_rng(9).uniform(0.6, 0.999, 2000)
        prediction = caveat.Categorical.from_binary(p)
        for seed in (9, 0, 1):
            policy = TriagePolicy(0.2, random_state=seed).fit(prediction, np.ones(2000, int))
            assert policy.decide(prediction).accepted.all()

    def test_surest_samples_may_err_more_often(self):
        rng = np.random.default_rng(0)
        p = rng.uniform(0.5, 1, 2000)
        y = (rng.random(2000) > np.where(p > 0.95, 0.4, 0.02)).astype(int)
        prediction = caveat.Categorical.from_binary(p)
        policy = TriagePolicy(0.1, random_state=0).fit(prediction, y)
        assert policy.decide(prediction).accepted.all()
        curve = policy.curve_
        assert curve.tested[-1] == 2000  # the start with all samples leaves none out
        assert curve.tested[0] < 2000
        assert curve.upper[-1] == pytest.approx(
            beta.ppf(1 - curve.level[-1], curve.errors[-1] + 1, 2000 - curve.errors[-1])
        )
        assert not curve.passed[:-1].all()

    def test_few_samples_have_one_start(self):
        prediction = caveat.Categorical.from_binary(np.linspace(0.01, 0.02, 70))
        policy = TriagePolicy(0.05, random_state=0).fit(prediction, np.zeros(70, dtype=int))
        curve = policy.curve_
        assert policy.decide(prediction).accepted.all()
        np.testing.assert_allclose(curve.level, [0.0] * 69 + [0.05])
        assert (curve.tested == 70).all()

    def test_many_thresholds_are_thinned(self):
        prediction, y = classes(5000)
        policy = TriagePolicy(0.1, random_state=0).fit(prediction, y)
        assert 1000 <= len(policy.curve_.threshold) <= 1001
        assert policy.threshold_ in policy.curve_.threshold

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

    def test_some_set_the_starts_and_are_not_tested(self):
        prediction, y = classes(600)
        curve = TriagePolicy(0.1, random_state=0).fit(prediction, y).curve_
        assert (curve.tested == 600 - 49).all()  # 2 sqrt(600)
        tenth = TriagePolicy(0.2, random_state=0).fit(prediction.take(slice(0, 200)), y[:200])
        assert (tenth.curve_.tested == 180).all()

    def test_number_of_thresholds(self):
        prediction, y = classes(600)
        curve = TriagePolicy(0.1, points=10, random_state=0).fit(prediction, y).curve_
        assert 10 <= len(curve.threshold) <= 10 + 3 + 1
        assert set(curve.threshold) <= set(caveat.decompose(prediction).total)
        assert curve.reached > 0

    def test_constant_scores_have_one_threshold(self):
        prediction = caveat.Categorical.from_binary(np.full(200, 0.1))
        policy = TriagePolicy(0.05, random_state=0).fit(prediction, np.zeros(200, dtype=int))
        assert len(policy.curve_.threshold) == 1
        assert policy.decide(prediction).accepted.all()

    def test_more_uncertain_than_calibration_is_not_accepted(self):
        prediction = caveat.Categorical.from_binary(np.full(200, 0.1))
        policy = TriagePolicy(0.05, random_state=0).fit(prediction, np.zeros(200, dtype=int))
        worse = caveat.Categorical.from_binary([0.2, 0.05])
        assert policy.decide(worse).actions.tolist() == ["defer", "accept"]

    @pytest.mark.parametrize("points", [0, -1, 2.5, True, "many", None])
    def test_refused_points(self, points):
        with pytest.raises(OptionError, match='points must be "all", how many thresholds to'):
            TriagePolicy(0.1, points=points).fit(*classes())

    def test_refused_thresholds(self):
        with pytest.raises(ShapeError, match=r"points must be thresholds along one axis; got sha"):
            TriagePolicy(0.1, points=[[0.1]]).fit(*classes())
        with pytest.raises(ShapeError, match="points is empty"):
            TriagePolicy(0.1, points=[]).fit(*classes())
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
        assert triage.guarantee == (
            "No threshold was shown to keep the error rate of accepted predictions at 0.1 % with "
            "95 % confidence, so none is accepted. A prediction is wrong if its most probable "
            "class is not the true one. Even without an error it takes at least 2,995 accepted "
            "samples to show this; at the error rates seen here, none below the risk, no number "
            "of samples would do."
        )
        assert triage.needed == policy.needed_ == np.inf
        assert "never low enough" in repr(triage)

    def test_more_samples_would_do(self):
        """One error in 50 everywhere: how many samples show that it is less than one in 20?"""
        y = (np.arange(100) % 50 == 7).astype(int)
        prediction = caveat.Categorical.from_binary(np.full(100, 0.1))
        policy = TriagePolicy(0.05, random_state=0).fit(prediction, y)
        # Half an error more is seen, and the test is that of the first start.
        n, rate = int(policy.needed_), 2.5 / 101
        assert binom.cdf(np.floor(rate * n), n, 0.05) <= 0.5 * 0.05
        assert binom.cdf(np.ceil(rate * 0.9 * n), int(0.9 * n), 0.05) > 0.5 * 0.05
        assert (
            f"at the error rates seen here it would take about {-(-n // 10) * 10} in all, but the "
            "best threshold looks better than it is where samples are few: expect to need more, "
            "perhaps several times as many."
        ) in policy.guarantee_
        many = caveat.Categorical.from_binary(np.full(2 * n, 0.1))
        enough = TriagePolicy(0.05, random_state=0).fit(many, np.tile(y, 2 * n)[: 2 * n])
        assert enough.decide(many).accepted.all()
        assert enough.needed_ is None

    @pytest.mark.parametrize("samples", [1, 2, 50, 58])
    def test_too_few_without_an_error(self, samples):
        prediction = caveat.Categorical.from_binary(np.linspace(0.01, 0.02, samples))
        policy = TriagePolicy(0.05, random_state=0).fit(prediction, np.zeros(samples, dtype=int))
        assert policy.threshold_ == -np.inf
        assert "Even without an error it takes at least 59 accepted samples" in policy.guarantee_
        assert 59 <= policy.needed_ <= 150

    def test_nothing_tried_nothing_known(self):
        policy = TriagePolicy(0.1, points=[-1.0]).fit(*classes())
        assert policy.threshold_ == -np.inf
        assert policy.needed_ == np.inf

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

    def test_refused_promise(self):
        with pytest.raises(OptionError, match="one of 'high-probability', 'mean'; got 'certain'"):
            TriagePolicy(0.1, promise="certain").fit(*classes())


class TestMeanPromise:
    """Conformal risk control."""

    def test_by_brute_force(self):
        prediction, y = classes()
        policy = TriagePolicy(0.1, promise="mean").fit(prediction, y)
        score, wrong = caveat.decompose(prediction).total, prediction.labels != y
        keeps = [
            t for t in score if (wrong[score <= t].sum() + 1) / ((score <= t).sum() + 1) <= 0.1
        ]
        assert policy.threshold_ == max(keeps)
        assert policy.curve_.tested[0] == 600  # none is left out
        strict = TriagePolicy(0.1, random_state=0).fit(prediction, y)
        assert policy.threshold_ > strict.threshold_

    def test_in_words(self):
        prediction, y = classes()
        policy = TriagePolicy(0.1, promise="mean").fit(prediction, y)
        triage = policy.decide(prediction)
        assert policy.guarantee_.startswith(
            "On average over calibration sets, at most 10 % of the accepted predictions are "
            "wrong, for new samples drawn as the calibration samples were. The error rate of the "
            "threshold that one calibration set gives may well be higher: in simulations it is in "
            "about every second set. The promise of high probability bounds how often. A prediction"
        )
        assert "upper limit" not in policy.guarantee_
        policy.fit(prediction, y, loss=0.5 * (prediction.labels != y))
        assert "were. The mean loss of the threshold that one calibration set" in policy.guarantee_
        assert repr(triage).startswith("Triage of 600 samples at risk 0.1, on average\n")

    def test_no_threshold_accepts_a_sample(self):
        prediction, y = classes()
        policy = TriagePolicy(0.1, points=[-1.0]).fit(prediction, y)
        assert policy.needed_ == np.inf
        assert policy.guarantee_.endswith(
            "true one. All calibration samples are more uncertain than the thresholds to try."
        )

    def test_too_few(self):
        prediction = caveat.Categorical.from_binary(np.full(8, 0.1))
        policy = TriagePolicy(0.1, promise="mean").fit(prediction, np.zeros(8, int))
        assert policy.threshold_ == -np.inf
        assert "error rate of accepted predictions at 10 % on average, so" in policy.guarantee_
        assert "takes at least 9 accepted samples" in policy.guarantee_
        assert policy.needed_ == pytest.approx(0.9 / (0.1 - 0.5 / 9))
        enough = caveat.Categorical.from_binary(np.full(9, 0.1))
        policy.fit(enough, np.zeros(9, int))
        assert policy.decide(enough).accepted.all()

    def test_given_thresholds(self):
        policy = TriagePolicy(0.1, promise="mean", points=[0.2, 0.1]).fit(*classes())
        assert policy.threshold_ == 0.2

    def test_one_sample_of_each_cluster(self):
        """Clusters of ten right samples count as one: 9 are too few for a risk of 0.05."""
        prediction = caveat.Categorical.from_binary(np.full(180, 0.1))
        policy = TriagePolicy(0.05, promise="mean")
        policy.fit(prediction, np.zeros(180, int), cluster=np.arange(180) // 10)
        assert policy.threshold_ == -np.inf
        policy.fit(prediction, np.zeros(180, int), cluster=np.arange(180) // 9)
        assert policy.threshold_ > -np.inf


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
            (np.array([["a", "b"]]), "got a ndarray of type"),
        ],
    )
    def test_others_are_told_how_to_convert(self, prediction, advice):
        with pytest.raises(UnsupportedPredictionError, match=advice):
            TriagePolicy(0.1, tolerance=1).fit(prediction, [0])

    def test_a_single_model_is_not_told_why(self):
        prediction, y = classes(members=1)
        triage = TriagePolicy(0.05, random_state=0).fit(prediction, y).decide(prediction)
        assert set(triage.actions) == {"accept", "defer"}
        assert triage.counts == {
            "accept": triage.accepted.sum(),
            "defer": triage.deferred.sum(),
        }
        assert np.isnan(triage.aleatoric).all()
        assert np.isnan(triage.epistemic).all()
        assert triage.remark.startswith("A single model does not tell what it does not know")
        assert triage.remark[:40] in repr(triage)
        assert (
            triage.reasons["defer"]
            == "deferred: which part of the uncertainty dominates is not known"
        )
        for text in (repr(triage), triage._repr_html_(), triage.summary().to_string()):
            assert "measure again" not in text
            assert "ask an expert" not in text

    def test_members_that_agree_say_nothing(self):
        p = classes(members=1)[0].probabilities
        prediction = caveat.Categorical(np.repeat(p, 3, axis=0))
        y = classes(members=1)[1]
        triage = TriagePolicy(0.05, random_state=0).fit(prediction, y).decide(prediction)
        assert set(triage.actions) == {"accept", "defer"}
        assert triage.remark.startswith(
            "The epistemic part of the uncertainty is the same for every calibration sample"
        )

    def test_members_that_give_points_say_nothing_of_noise(self):
        rng = np.random.default_rng(0)
        center = rng.normal(size=600)
        members = center + rng.normal(size=(5, 600)) * rng.random(600)
        prediction = caveat.Gaussian.from_members(members)
        policy = TriagePolicy(0.1, tolerance=0.3, random_state=0).fit(prediction, center)
        triage = policy.decide(prediction)
        assert set(triage.actions) == {"accept", "defer"}
        assert triage.remark.startswith("The aleatoric part of the uncertainty is 0 for every")

    def test_refused_y(self):
        prediction, y = classes()
        with pytest.raises(LabelError, match="y of sample 0 is 7"):
            TriagePolicy(0.1).fit(prediction, y * 0 + 7)
        with pytest.raises(ShapeError, match="y has 599 samples, the prediction has 600"):
            TriagePolicy(0.1).fit(prediction, y[1:])


class TestReasons:
    def test_larger_standardized_part_decides(self):
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
    def test_in_words(self):
        prediction, y = classes(600)
        cluster = np.repeat([f"subject {i}" for i in range(150)], 4)
        policy = TriagePolicy(0.2, random_state=0).fit(prediction, y, cluster=cluster)
        assert "wrong, each cluster counting the same, for new clusters drawn" in policy.guarantee_
        assert "of the 540 samples it was tested on" in policy.guarantee_

    def test_shares_of_clusters_by_brute_force(self):
        prediction, y = classes(600)
        rng = np.random.default_rng(0)
        cluster, weight = rng.integers(40, size=600), rng.integers(1, 4, 600) / 3
        policy = TriagePolicy(0.2, points=[0.1, 0.5], random_state=0)
        curve = policy.fit(prediction, y, cluster=cluster, sample_weight=weight).curve_
        score, wrong = caveat.decompose(prediction).total, prediction.labels != y
        for k, t in enumerate([0.1, 0.5]):
            a, e, all_ = (
                np.mean([np.sum((weight * what)[cluster == c]) / np.sum(cluster == c)
                         for c in range(40)])
                for what in (score <= t, (score <= t) & wrong, np.ones(600))
            )  # fmt: skip
            assert curve.coverage[k] == pytest.approx(a / all_)
            assert curve.error[k] == pytest.approx(e / a)
            assert curve.accepted[k] == (score <= t).sum()

    def test_samples_of_a_cluster_are_used(self):
        """Errors at a rate of 5 % that are spread over clusters: one of each would not do."""
        y = (np.arange(1000) % 20 == 7).astype(int)
        prediction = caveat.Categorical.from_binary(np.full(1000, 0.1))
        policy = TriagePolicy(0.1, points=[1.0], random_state=0)
        policy.fit(prediction, y, cluster=np.arange(1000) // 10)
        assert policy.threshold_ == 1.0
        one = TriagePolicy(0.1, points=[1.0]).fit(prediction.take(slice(0, 100)), y[:100])
        assert one.threshold_ == -np.inf
        assert policy.curve_.upper[0] <= 0.1

    def test_two_tests_share_the_level(self):
        rng = np.random.default_rng(0)
        cluster = np.repeat(np.arange(50), 4)
        calibration = Calibration(rng.random(200), rng.random(200) < 0.1, None, cluster)
        evidence = Evidence(calibration, 0.05, np.random.default_rng(0))
        t = np.array([-1.0, 0.5, 1.0])
        drawn = evidence._drawn[evidence.accepted(t)]
        assert drawn[0] == 0
        assert drawn[-1] == 50
        binomial = binomial_p(evidence._drawn_errors[evidence.accepted(t)], drawn, 0.2)
        bets = evidence._bets(0.2)[evidence.accepted(t)]
        expected = np.minimum(2 * np.minimum(binomial, bets), 1)
        np.testing.assert_allclose(evidence.p_values(t, 0.2), expected)
        for level in (0.001, 0.05):
            upper = evidence.upper(t, np.full(3, level), 0.2)
            assert (
                upper
                <= binomial_upper(evidence._drawn_errors[evidence.accepted(t)], drawn, level / 2)
            ).all()
            np.testing.assert_array_equal(upper <= 0.2, at_most(expected, level))

    def test_starts_come_from_other_clusters(self):
        score = np.repeat(np.random.default_rng(1).permutation(300), 5) / 1000
        prediction = caveat.Categorical.from_binary(score)
        policy = TriagePolicy(0.2, random_state=0)
        policy.fit(prediction, np.zeros(1500, int), cluster=np.arange(1500) // 5)
        curve = policy.curve_
        assert (curve.tested == 5 * 270).all()
        assert policy.decide(prediction).accepted.all()

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
        with pytest.raises(InvalidValueError, match="cluster of sample 7 is missing; give"):
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

    def test_weights_say_whom_a_sample_stands_for(self):
        """The wrong half stands for few: it hardly counts, and the right half does."""
        wrong = np.arange(2000) % 2 == 1
        prediction = caveat.Categorical.from_binary(np.full(2000, 0.1))
        weight = np.where(wrong, 0.05, 1.0)
        policy = TriagePolicy(0.1, points=[1.0], random_state=0)
        policy.fit(prediction, wrong.astype(int), sample_weight=weight)
        assert policy.decide(prediction).accepted.all()
        assert policy.curve_.error[-1] == pytest.approx(0.05 / 1.05)
        assert "each weighted by what it stands for" in policy.guarantee_
        assert TriagePolicy(0.1).fit(prediction, wrong.astype(int)).threshold_ == -np.inf

    def test_needed_units_consider_weights(self):
        prediction = caveat.Categorical.from_binary(np.full(20, 0.1))
        weight = np.where(np.arange(20) % 2, 0.5, 1.0)
        policy = TriagePolicy(0.1).fit(prediction, np.zeros(20, int), sample_weight=weight)
        plain = TriagePolicy(0.1).fit(prediction, np.zeros(20, int))
        assert policy.needed_ > plain.needed_ / 0.75


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
            policy.decide(["a"])
        with pytest.raises(ShapeError, match="fitted on members 3, asked to decide on members 1"):
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


class TestLosses:
    def test_true_and_false_are_errors(self):
        prediction, y = classes()
        wrong = prediction.labels != y
        given, plain = (
            TriagePolicy(0.1, random_state=0).fit(prediction, y, loss=loss)
            for loss in (wrong, None)
        )
        assert given.threshold_ == plain.threshold_
        np.testing.assert_array_equal(given.curve_.upper, plain.curve_.upper)

    def test_by_brute_force(self):
        prediction, y = classes()
        loss = np.random.default_rng(0).random(600) * (prediction.labels != y)
        points = [0.1, 0.5]
        policy = TriagePolicy(0.1, points=points, random_state=0).fit(prediction, y, loss=loss)
        score, curve = caveat.decompose(prediction).total, policy.curve_
        for k, t in enumerate(points):
            assert curve.errors[k] == pytest.approx(loss[score <= t].sum())
            assert curve.error[k] == pytest.approx(loss[score <= t].mean())
        place = curve.reached - 1
        assert policy.guarantee_ == (
            "With 95 % confidence, the mean loss of the accepted predictions is at most 10 %, for "
            "new samples drawn as the calibration samples were. The loss of a sample is the one "
            "that was given, from 0 to 1. The threshold accepts "
            f"{curve.accepted[place]} of the 600 samples it was tested on, with a mean loss of "
            f"{100 * curve.error[place]:.3g} %: the upper limit of the mean loss is "
            f"{100 * curve.upper[place]:.3g} %."
        )

    def test_small_losses_need_fewer_samples_than_errors(self):
        """Each sample loses 5 %: bets see that no sample loses more, counts of errors do not."""
        prediction = caveat.Categorical.from_binary(np.full(100, 0.1))
        y = np.zeros(100, int)
        policy = TriagePolicy(0.1, random_state=0).fit(prediction, y, loss=np.full(100, 0.05))
        assert policy.decide(prediction).accepted.all()
        errors = np.arange(100) % 20 == 0
        assert (
            TriagePolicy(0.1, random_state=0).fit(prediction, y, loss=errors).threshold_ == -np.inf
        )

    def test_out_of_reach(self):
        prediction, y = classes(50)
        policy = TriagePolicy(0.1).fit(prediction, y, loss=np.full(50, 0.3))
        assert "keep the mean loss of accepted predictions at 10 % with 95 %" in policy.guarantee_
        assert "Even without any loss it takes at least 36 accepted samples" in policy.guarantee_
        assert "at the mean losses seen here, none below the risk" in policy.guarantee_

    def test_refused(self):
        prediction, y = classes()
        with pytest.raises(ShapeError, match="loss must be one number for each of 600 samples"):
            TriagePolicy(0.1).fit(prediction, y, loss=[0.5])
        with pytest.raises(InvalidValueError, match="loss of sample 0 is 2, outside"):
            TriagePolicy(0.1).fit(prediction, y, loss=np.full(600, 2.0))


class TestGroups:
    """Samples of one ward are twice as often wrong, at the same uncertainty."""

    @staticmethod
    def wards(samples=2000, seed=0):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.3, 0.3, samples)
        ward = np.where(rng.random(samples) < 0.3, "B", "A")
        flat = np.where(ward == "B", 0.5 + 0.6 * (p - 0.5), p)
        return caveat.Categorical.from_binary(p), (rng.random(samples) < flat).astype(int), ward

    def test_each_has_its_own_threshold(self):
        prediction, y, ward = self.wards()
        policy = TriagePolicy(0.15, random_state=0).fit(prediction, y, groups=ward)
        together = TriagePolicy(0.15, random_state=0).fit(prediction, y)
        assert policy.threshold_ == together.threshold_
        triage = policy.decide(prediction, groups=ward)
        for name, price in zip("AB", triage.prices, strict=True):
            rows, part = ward == name, policy.groups_[name]
            np.testing.assert_array_equal(
                triage.accepted[rows], triage.scores[rows] <= part.threshold_
            )
            assert price == policy.prices_["AB".index(name)]
            assert price.accepted == triage.accepted[rows].sum()
            assert price.together == (triage.scores[rows] <= together.threshold_).sum()
            assert price.threshold == part.threshold_
        assert np.isnan(triage.threshold)
        assert triage.reasons["accept"] == (
            "the total uncertainty is at most the threshold of its group"
        )
        frame = triage.price_frame()
        assert frame.columns.tolist() == ["group", "samples", "accepted", "together", "threshold"]

    def test_in_words(self):
        prediction, y, ward = self.wards()
        policy = TriagePolicy(0.15, random_state=0).fit(prediction, y, groups=ward)
        a, b = policy.prices_
        assert policy.guarantee_ == (
            "With 95 % confidence for each group by itself, at most 15 % of the accepted "
            "predictions of the group are wrong, for new samples drawn as the calibration samples "
            f"were. B: {policy.groups_['B'].guarantee_} The promises for groups change the number "
            f"of samples accepted from {a.together + b.together:,} to {a.accepted:,}: A: "
            f"{a.accepted:,} of {a.samples:,} samples ({a.together:,} under one promise for all); B: "
            f"0 of {b.samples} samples ({b.together:,} under one promise for all)."
        )
        assert "No threshold was shown" in policy.groups_["B"].guarantee_
        clustered = TriagePolicy(0.3, random_state=0).fit(
            prediction, y, groups=ward, cluster=np.arange(len(y)) // 2, sample_weight=1 + y
        )
        assert (
            "of the group are wrong, each cluster counting the same, each weighted by what it "
            "stands for, for new clusters drawn as the calibration clusters were."
        ) in clustered.guarantee_
        mean = TriagePolicy(0.3, promise="mean").fit(prediction, y, groups=ward)
        assert mean.guarantee_.startswith("On average over calibration sets, in each group, at mo")

    def test_all_at_once_is_stricter(self):
        prediction, y, ward = self.wards()
        each, all_ = (
            TriagePolicy(0.1, simultaneous=simultaneous, random_state=0).fit(
                prediction, y, groups=ward
            )
            for simultaneous in (False, True)
        )
        assert all_.groups_["A"].confidence == pytest.approx(0.975)
        assert all_.groups_["A"].threshold_ <= each.groups_["A"].threshold_
        assert "With 95 % confidence for all groups at once, at most 10 %" in all_.guarantee_
        with pytest.raises(OptionError, match="simultaneous must be True or False; got 'yes'"):
            TriagePolicy(0.1, simultaneous="yes").fit(prediction, y)

    def test_with_weights_clusters_and_losses(self):
        prediction, y, ward = self.wards()
        weight, cluster = np.random.default_rng(0).random(2000), np.arange(2000) // 2
        policy = TriagePolicy(0.2, random_state=0).fit(
            prediction, y, groups=ward, sample_weight=weight, cluster=cluster, loss=np.full(2000, 0)
        )
        assert policy.decide(prediction, groups=ward).accepted.mean() > 0.9

    def test_refused(self):
        prediction, y, ward = self.wards()
        policy = TriagePolicy(0.2, random_state=0).fit(prediction, y, groups=ward)
        with pytest.raises(OptionError, match="fit was given groups, so decide needs them too"):
            policy.decide(prediction)
        with pytest.raises(OptionError, match="group 'C' had no samples in fit, so nothing can be"):
            policy.decide(prediction, groups=["C"] * 2000)
        plain = TriagePolicy(0.2).fit(prediction, y)
        with pytest.raises(OptionError, match="groups were given to decide but not to fit"):
            plain.decide(prediction, groups=ward)
        with pytest.raises(InvalidValueError, match="group 'B': sample_weight is 0 for every"):
            policy.fit(prediction, y, groups=ward, sample_weight=(ward == "A").astype(float))

    def test_pickle_and_parts(self):
        prediction, y, ward = self.wards()
        policy = TriagePolicy(0.1, random_state=0).fit(prediction, y, groups=ward)
        again = pickle.loads(pickle.dumps(policy)).decide(prediction, groups=ward)
        np.testing.assert_array_equal(again.actions, policy.decide(prediction, groups=ward).actions)
        alone = policy.groups_["A"].decide(prediction.take(ward == "A"))
        np.testing.assert_array_equal(alone.accepted, again.accepted[ward == "A"])
