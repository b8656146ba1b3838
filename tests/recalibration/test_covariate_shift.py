"""Conformal prediction with a likelihood ratio: by its definition, in exact order."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.recalibration import ShiftWarning
from caveat.recalibration._conformal import conformal_quantile
from caveat.recalibration._thresholds import effective_samples, weighted_quantiles

from .conformal_examples import MEAN, NEW, NEW_QUANTILES, PREDICTION, QUANTILES, Y

RNG = np.random.default_rng(21)
RATIO, NEW_RATIO = RNG.gamma(2.0, size=101), RNG.gamma(2.0, size=30)


def by_definition(scores, weight, level, new):
    """The smallest score q for which the normalized weights of scores at most q reach the level."""
    answers = []
    for own in new:
        share = weight / (weight.sum() + own)
        enough = [q for q in scores if share[scores <= q].sum() >= level - 1e-12]
        answers.append(min(enough, default=np.inf))
    return np.array(answers)


class TestQuantile:
    @pytest.mark.parametrize("count", [1, 5, 20, 101])
    def test_is_its_definition(self, count):
        scores = np.round(RNG.exponential(size=count), 1)  # some tie
        weight = RNG.gamma(0.5, size=count) + 1e-3
        new = np.r_[
            RNG.gamma(0.5, size=20), weight.sum() / 4 * 0.99, weight.sum() / 4 * 1.01, np.inf
        ]
        found = weighted_quantiles(scores, weight, 0.8, new)
        np.testing.assert_array_equal(found, by_definition(scores, weight, 0.8, new))
        assert found[-1] == np.inf
        assert found[-3] < np.inf

    @pytest.mark.parametrize("count", [3, 9, 10, 19, 100, 60_000])
    def test_equal_ratios_are_no_shift(self, count):
        scores = RNG.exponential(size=count)
        found = weighted_quantiles(scores, np.full(count, 0.3), 0.9, np.full(2, 0.3))
        np.testing.assert_array_equal(found, conformal_quantile(scores[:, None], 0.9)[0])

    @pytest.mark.parametrize("hard", ["heavy weights", "one weight", "order"])
    def test_large_samples_are_selected_as_small_ones_are_sorted(self, hard):
        scores = RNG.exponential(size=60_001)
        weight = RNG.gamma(0.05 if hard == "heavy weights" else 2.0, size=60_001) + 1e-9
        if hard == "one weight":
            weight[np.argmin(np.abs(scores - 1))] = weight.sum() * 2
        if hard == "order":
            scores = np.sort(scores)
            weight = np.sort(weight)
        new = np.r_[RNG.gamma(2.0, size=50), weight.sum() * np.array([0.01, 0.1, 0.2])]
        order = np.argsort(scores)
        reached = np.cumsum(weight[order])
        places = np.searchsorted(reached, 0.9 * (1 - 1e-12) * (weight.sum() + new))
        expected = np.append(scores[order], np.inf)[places]
        np.testing.assert_array_equal(weighted_quantiles(scores, weight, 0.9, new), expected)

    def test_a_sample_that_misleads(self):
        # Every 15th score is large: the sample of regular places sees these alone.
        scores = RNG.exponential(size=60_000)
        scores[:: 60_000 // 4_000] += 100
        weight = np.ones(60_000)
        found = weighted_quantiles(scores, weight, 0.5, np.ones(1))
        assert found[0] == np.sort(scores)[30_000]

    def test_effective_samples(self):
        assert effective_samples(np.full(7, 1e-200)) == pytest.approx(7)
        assert effective_samples(np.array([1.0, 0.0, 0.0])) == pytest.approx(1)
        assert effective_samples(np.array([2.0, 1.0])) == pytest.approx(9 / 5)


class TestIntervals:
    @pytest.mark.parametrize("normalize", [False, True])
    @pytest.mark.parametrize("symmetric", [False, True])
    def test_residuals(self, normalize, symmetric):
        conformal = caveat.ConformalResiduals(0.8, normalize=normalize, symmetric=symmetric)
        found = conformal.fit(PREDICTION, Y, shift=RATIO).transform(NEW, shift=NEW_RATIO)
        std = np.sqrt(PREDICTION.variance[0]) if normalize else 1.0
        new_std = np.sqrt(NEW.variance[0]) if normalize else np.ones((30, 2))
        residual = (Y - MEAN) / std
        level = 0.8 if symmetric else 0.9
        upper_score = np.abs(residual) if symmetric else residual
        lower_score = np.abs(residual) if symmetric else -residual
        for t in range(2):
            high = by_definition(upper_score[:, t], RATIO, level, NEW_RATIO) * new_std[:, t]
            low = by_definition(lower_score[:, t], RATIO, level, NEW_RATIO) * new_std[:, t]
            np.testing.assert_allclose(found.upper[:, t], NEW.mean[0, :, t] + high, rtol=1e-12)
            np.testing.assert_allclose(found.lower[:, t], NEW.mean[0, :, t] - low, rtol=1e-12)
        assert conformal.effective_samples_ == pytest.approx(RATIO.sum() ** 2 / (RATIO**2).sum())
        assert conformal.too_few_ == ()

    def test_quantiles(self):
        conformal = caveat.ConformalQuantiles(0.9).fit(QUANTILES, Y, shift=RATIO)
        found = conformal.transform(NEW_QUANTILES, shift=NEW_RATIO)
        low, high = QUANTILES.values[0, ..., 0], QUANTILES.values[0, ..., 2]
        scores = np.maximum(low - Y, Y - high)
        for t in range(2):
            q = by_definition(scores[:, t], RATIO, 0.9, NEW_RATIO)
            np.testing.assert_allclose(
                found.upper[:, t], NEW_QUANTILES.values[0, :, t, 2] + q, rtol=1e-12
            )

    def test_a_factor_of_all_ratios_does_not_matter_and_weights_are_repetitions(self):
        conformal = caveat.ConformalResiduals(0.8)
        first = conformal.fit(PREDICTION, Y, shift=RATIO).transform(NEW, shift=NEW_RATIO)
        again = conformal.fit(PREDICTION, Y, shift=7 * RATIO).transform(NEW, shift=7 * NEW_RATIO)
        assert first == again
        counts = np.arange(101) % 3
        rows = np.repeat(np.arange(101), counts)
        weighted = conformal.fit(PREDICTION, Y, shift=RATIO, sample_weight=counts)
        weighted = weighted.transform(NEW, shift=NEW_RATIO)
        repeated = conformal.fit(PREDICTION.take(rows), Y[rows], shift=RATIO[rows])
        assert repeated.transform(NEW, shift=NEW_RATIO) == weighted

    def test_groups_are_fits_of_their_own(self):
        groups, new_groups = np.arange(101) % 2, np.arange(30) % 2
        conformal = caveat.ConformalResiduals(0.8).fit(PREDICTION, Y, groups=groups, shift=RATIO)
        found = conformal.transform(NEW, groups=new_groups, shift=NEW_RATIO)
        rows, new_rows = groups == 1, new_groups == 1
        alone = caveat.ConformalResiduals(0.8)
        alone.fit(PREDICTION.take(rows), Y[rows], shift=RATIO[rows])
        assert found.take(new_rows) == alone.transform(
            NEW.take(new_rows), shift=NEW_RATIO[new_rows]
        )
        text = conformal.summary()
        assert text.startswith("Promised in each group: at least 80 % of new samples whose inputs")
        assert "From: group '1': 50 calibration samples, worth " in text

    def test_too_large_a_ratio_is_infinite_and_said(self):
        conformal = caveat.ConformalResiduals(0.9).fit(PREDICTION, Y, shift=RATIO)
        large = np.where(np.arange(30) < 4, RATIO.sum() / 9 * 1.001, 1.0)
        large[0] = np.inf
        with pytest.warns(
            ShiftWarning, match=r"4 of 30 samples have an infinite interval, .* worth"
        ):
            found = conformal.transform(NEW, shift=large)
        assert np.isinf(found.upper).all(axis=1).tolist() == [True] * 4 + [False] * 26
        assert repr(found).endswith("4 infinite")

    def test_few_effective_samples_are_said(self):
        ratio = np.where(np.arange(101) < 3, 1.0, 1e-9)
        conformal = caveat.ConformalResiduals(0.9).fit(PREDICTION, Y, shift=ratio)
        assert conformal.too_few_ == (
            "101 calibration samples are worth 3 after weighting, at least 9 are needed",
        )
        assert "Too few: 101 calibration samples are worth 3 after" in conformal.summary()

    def test_summary_names_what_would_break_it(self):
        text = caveat.ConformalResiduals(0.9).fit(PREDICTION, Y, shift=RATIO).summary()
        assert text.startswith(
            "Promised: at least 90 % of new samples whose inputs are distributed as the "
            "likelihood ratio says are covered"
        )
        assert "Not promised: coverage if the truth given the inputs has changed" in text
        plain = caveat.ConformalResiduals(0.9).fit(PREDICTION, Y).summary()
        assert "From: 101 calibration samples." in plain
        assert "coverage after a shift" in plain

    def test_survives_a_pickle(self):
        fitted = caveat.ConformalResiduals(0.8).fit(PREDICTION, Y, shift=RATIO)
        again = pickle.loads(pickle.dumps(fitted))
        assert again.transform(NEW, shift=NEW_RATIO) == fitted.transform(NEW, shift=NEW_RATIO)

    @pytest.mark.parametrize(
        ("shift", "error", "text"),
        [
            ([1.0], ShapeError, r"one likelihood ratio for each of 101 samples; got shape \(1,\)"),
            (np.full(101, -1.0), InvalidValueError, "of calibration sample 0 is -1; it must be 0"),
            (np.full(101, np.nan), InvalidValueError, "sample 0 is nan"),
            (np.full(101, np.inf), InvalidValueError, "sample 0 is inf; .* finite"),
            (np.zeros(101), InvalidValueError, "of every calibration sample is 0"),
            (
                np.full(101, 1e90),
                InvalidValueError,
                r"go up to 1e\+90, and sums of such ratios are not exact; scale",
            ),
            ("a", InvalidValueError, "shift must be real numbers"),
        ],
    )
    def test_bad_ratios(self, shift, error, text):
        with pytest.raises(error, match=text):
            caveat.ConformalResiduals().fit(PREDICTION, Y, shift=shift)

    def test_bad_calls(self):
        conformal = caveat.ConformalResiduals()
        with pytest.raises(
            InvalidValueError, match="group '1' has no calibration sample with a lik"
        ):
            conformal.fit(
                PREDICTION, Y, groups=np.arange(101) % 2, shift=(np.arange(101) + 1.0) % 2
            )
        with pytest.raises(
            OptionError, match="bins cannot be combined with a shift; cut the sprea"
        ):
            caveat.ConformalResiduals(bins=2).fit(PREDICTION, Y, shift=RATIO)
        with pytest.raises(OptionError, match="joint cannot be combined with a shift; use joint=F"):
            caveat.ConformalResiduals(joint=True).fit(PREDICTION, Y, shift=RATIO)
        conformal.fit(PREDICTION, Y, shift=RATIO)
        with pytest.raises(
            OptionError, match="transform needs the likelihood ratio of its samples"
        ):
            conformal.transform(NEW)
        with pytest.raises(InvalidValueError, match="of test sample 2 is 0; it must be above 0"):
            conformal.transform(NEW, shift=np.where(np.arange(30) == 2, 0.0, 1.0))
        with pytest.raises(OptionError, match="shift was given to transform but not to fit"):
            conformal.fit(PREDICTION, Y).transform(NEW, shift=NEW_RATIO)


class TestSets:
    LOGITS = RNG.normal(size=(150, 3)) * 1.5
    P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    Y = (P.cumsum(axis=1) < RNG.random((150, 1))).sum(axis=1)
    W, V = RNG.gamma(2.0, size=150), RNG.gamma(2.0, size=150)

    def test_lac(self):
        conformal = caveat.ConformalSets(0.8).fit(self.P, self.Y, shift=self.W)
        found = conformal.transform(self.P, shift=self.V)
        scores = 1 - self.P[np.arange(150), self.Y]
        q = by_definition(scores, self.W, 0.8, self.V)
        np.testing.assert_array_equal(found.membership, q[:, None] >= 1 - self.P)
        assert conformal.effective_samples_ == pytest.approx(effective_samples(self.W))

    def test_class_conditional(self):
        conformal = caveat.ConformalSets(0.8, class_conditional=True)
        found = conformal.fit(self.P, self.Y, shift=self.W).transform(self.P, shift=self.V)
        for k in range(3):
            rows = k == self.Y
            q = by_definition(1 - self.P[rows, k], self.W[rows], 0.8, self.V)
            np.testing.assert_array_equal(found.membership[:, k], 1 - self.P[:, k] <= q)

    def test_a_class_without_samples_is_in_every_set(self):
        rows = self.Y != 2
        prediction = caveat.Categorical(self.P)
        conformal = caveat.ConformalSets(0.8, class_conditional=True)
        conformal.fit(prediction.take(rows), self.Y[rows], shift=self.W[rows])
        with pytest.warns(ShiftWarning, match="150 of 150 samples"):
            found = conformal.transform(prediction, shift=self.V)
        assert found.membership[:, 2].all()
        assert conformal.too_few_ == (
            "class 2: 0 calibration samples are worth 0 after weighting, at least 4 are needed",
        )

    @pytest.mark.parametrize("smoothed", [False, True])
    def test_p_values(self, smoothed):
        conformal = caveat.ConformalSets(0.8, random_state=0)
        conformal.fit(self.P, self.Y, shift=self.W)
        prediction = caveat.Categorical(self.P)
        ratio = np.append(self.V[:-1], np.inf)
        found = conformal.p_values(prediction, shift=ratio, smoothed=smoothed)
        scores = 1 - self.P[np.arange(150), self.Y]
        for i in range(149):
            for k in range(3):
                own = 1 - self.P[i, k]
                most = self.V[i] + self.W[scores >= own].sum()
                least = self.W[scores > own].sum()
                total = self.V[i] + self.W.sum()
                if smoothed:
                    assert least / total <= found[i, k] <= most / total
                else:
                    assert found[i, k] == pytest.approx(most / total)
        assert (found[-1] == 1).all() or smoothed
        assert np.isfinite(found).all()
        if not smoothed:
            members = conformal.transform(prediction.take(slice(149)), shift=self.V[:-1]).membership
            np.testing.assert_array_equal(members, found[:-1] > 0.2 + 1e-9)
        with pytest.raises(OptionError, match="transform needs the likelihood ratio"):
            conformal.p_values(prediction)


class TestEstimate:
    def test_of_gaussians_is_the_true_ratio(self):
        rng = np.random.default_rng(0)
        first, second = rng.normal(size=4000), rng.normal(1.0, size=4000)
        found = caveat.likelihood_ratio(first, second, random_state=0)
        # log dN(1, 1) / dN(0, 1) = x - 1/2; slopes of a logistic regression of 8000 samples are
        # known to about 0.03.
        slope, intercept = np.polyfit(first, np.log(found.calibration), 1)
        assert abs(slope - 1) < 0.12
        assert abs(intercept + 0.5) < 0.12
        np.testing.assert_allclose(np.log(found.test), second - 0.5, atol=0.6)
        assert abs(found.area - 0.760) < 0.03  # Phi(1 / sqrt 2)
        assert found.effective_samples == pytest.approx(effective_samples(found.calibration))
        assert abs(found.effective_samples / (4000 / np.e) - 1) < 0.25
        worth = f"{found.effective_samples:.0f}"
        assert found.message == (
            "a classifier tells test from calibration samples with an area under the ROC curve of "
            f"{found.area:.2f}; the 4000 calibration samples are worth {worth} after weighting"
        )
        again = caveat.likelihood_ratio(first, second, random_state=0)
        np.testing.assert_array_equal(again.test, found.test)

    def test_of_nothing_changed_is_flat(self):
        rng = np.random.default_rng(1)
        found = caveat.likelihood_ratio(
            rng.normal(size=(2000, 3)), rng.normal(size=(1000, 3)), random_state=0
        )
        assert found.effective_samples > 1900
        np.testing.assert_allclose(found.calibration, 1.0, atol=0.5)

    def test_is_cross_fitted(self):
        """A classifier that recognizes what it was trained on says nothing of these samples."""
        from sklearn.neighbors import KNeighborsClassifier

        rng = np.random.default_rng(2)
        found = caveat.likelihood_ratio(
            rng.normal(size=300), rng.normal(size=300), random_state=0,
            classifier=KNeighborsClassifier(25),
        )  # fmt: skip
        assert 0.4 < found.area < 0.6

    def test_goes_into_fit_and_transform(self):
        shift = caveat.likelihood_ratio(MEAN[:101], MEAN[:30] + 0.5, random_state=0)
        conformal = caveat.ConformalResiduals(0.8)
        found = conformal.fit(PREDICTION, Y, shift=shift).transform(NEW, shift=shift)
        given = conformal.fit(PREDICTION, Y, shift=shift.calibration)
        assert found == given.transform(NEW, shift=shift.test)

    def test_few_are_alike(self):
        rng = np.random.default_rng(3)
        found = caveat.likelihood_ratio(
            rng.normal(size=60), rng.normal(4.0, size=60), random_state=0
        )
        assert found.effective_samples < 20
        assert "too few of them are like the test samples" in found.message

    def test_bad_input(self):
        x = np.arange(20.0)
        with pytest.raises(ShapeError, match="5 folds need at least 5 calibration and 5 test samp"):
            caveat.likelihood_ratio(x, x[:3])
        with pytest.raises(OptionError, match="must be a scikit-learn classifier with predict_pr"):
            caveat.likelihood_ratio(x, x, classifier="logistic")

        class Certain(LogisticRegression):
            """Knows which side each sample is of: calibration 0 to 9, test from 100."""

            def predict_proba(self, X):
                p = (X[:, 0] > self.C).astype(float)
                return np.stack([1 - p, p], axis=1)

        far = x + 100
        with pytest.raises(
            InvalidValueError, match="tells all calibration samples from test sampl"
        ):
            caveat.likelihood_ratio(x, far, classifier=Certain(C=50))
        with pytest.raises(
            InvalidValueError, match="is certain that calibration sample 6 is a tes"
        ):
            caveat.likelihood_ratio(x, far, classifier=Certain(C=5))
