"""Risks that are kept: on average, with a confidence, at any time, in each group.

Populations are known in closed form, so that each fit is judged by its true risk. A method that
keeps its promise just so is found out falsely once in ten thousand times (``FALSE_ALARM``); means
over repetitions have 3.7 standard errors, which is the same for a normal distribution.
"""

import numpy as np
import pytest
from scipy.stats import binom

import caveat
from caveat.risk_control.bounds import hoeffding_bentkus_p
from caveat.triage import TriagePolicy

FALSE_ALARM, SIGMA = 1e-4, 3.7
REPEATS = 1000
SIZES = pytest.mark.parametrize("samples", [20, 100, 1000])


def most(level, repeats):
    return binom.ppf(1 - FALSE_ALARM, repeats, level)


def beyond_doubt(level, repeats):
    """More failures than a valid method has: for those that are meant to fail."""
    return binom.ppf(1 - FALSE_ALARM**2, repeats, level)


class TestConformalRiskControl:
    """A loss V in [0, 1] where a uniform score is below the threshold t: the risk is t E[V]."""

    T = np.linspace(0, 1, 201)
    RISK = 0.1

    def losses(self, rng, samples, score=None):
        score = rng.random(samples) if score is None else score
        return rng.beta(1.0, 1.0, samples)[:, None] * (score[:, None] < self.T)

    def risks(self, samples, draw, **options):
        """The true risk of each repetition, 0 if no threshold keeps it."""
        control, result = caveat.ConformalRiskControl(self.RISK), np.empty(REPEATS)
        for i in range(REPEATS):
            losses, given = draw(np.random.default_rng([samples, i]), samples)
            t = control.fit(losses, self.T, **given).threshold_
            result[i] = 0.0 if np.isnan(t) else 0.5 * t
        return result

    def record(self, promise, design, risks, wanted="at most 0.1"):
        promise("Risk control", "mean loss of a new sample", design, REPEATS, risks.mean(), wanted)

    @SIZES
    def test_exchangeable_samples(self, samples, promise):
        risks = self.risks(samples, lambda rng, n: (self.losses(rng, n), {}))
        error = SIGMA * risks.std() / np.sqrt(REPEATS)
        assert risks.mean() <= self.RISK + error
        # It is no less than the theory allows: 2 B / (n + 1), and the distance of thresholds.
        assert risks.mean() >= self.RISK - 2 / (samples + 1) - 0.5 * 0.005 - error
        assert np.mean(risks > self.RISK) > 0.1  # a promise on average: no confidence of 90 %
        self.record(promise, f"conformal risk control, exchangeable; n = {samples:,}", risks)

    @pytest.mark.parametrize("samples", [100, 1000])
    def test_clusters_are_not_what_it_is_for(self, samples, promise):
        """Twenty samples of each subject are alike: too few subjects for the correction."""

        def draw(rng, n):
            return np.repeat(self.losses(rng, n // 20), 20, axis=0), {}

        risks = self.risks(samples, draw)
        if samples == 100:
            assert risks.mean() > self.RISK + SIGMA * risks.std() / np.sqrt(REPEATS)
        design = f"conformal risk control, 20 equal samples a subject; n = {samples:,}"
        self.record(promise, design, risks, "no promise")

    @pytest.mark.parametrize("samples", [100, 1000])
    def test_shift(self, samples, promise):
        """New samples have smaller scores: the density 2 (1 - u) instead of 1."""

        def draw(rng, n, ratios):
            score = rng.random(n)
            given = {"shift": 2 * (1 - score)} if ratios else {}
            return self.losses(rng, n, score), given

        def risks(ratios):
            control, result = caveat.ConformalRiskControl(self.RISK), np.empty(REPEATS)
            for i in range(REPEATS):
                rng = np.random.default_rng([7, samples, i])
                losses, given = draw(rng, samples, ratios)
                control.fit(losses, self.T, **given)
                t = control.threshold_
                if ratios:  # the new sample's own threshold
                    new = 1 - np.sqrt(rng.random(200))
                    own = control.threshold_for(shift=np.maximum(2 * (1 - new), 1e-9))
                    result[i] = np.mean(0.5 * (new < np.nan_to_num(own, nan=-1.0)))
                else:
                    result[i] = 0.5 * (1 - (1 - t) ** 2)
            return result

        plain, weighted = risks(False), risks(True)
        assert plain.mean() > self.RISK + 0.03
        assert weighted.mean() <= self.RISK + SIGMA * weighted.std() / np.sqrt(REPEATS)
        name = f"conformal risk control, covariate shift; n = {samples:,}"
        self.record(promise, f"{name}, without ratios", plain, "no promise")
        self.record(promise, f"{name}, likelihood ratios", weighted)

    def test_groups(self, promise):
        """A group of a fifth of the samples has the score u^2: twice the risk at small t."""
        control = caveat.ConformalRiskControl(self.RISK)
        together, own = np.empty(REPEATS), np.empty(REPEATS)
        for i in range(REPEATS):
            rng = np.random.default_rng([8, i])
            group = np.where(np.arange(500) % 5 == 0, "b", "a")
            score = np.where(group == "b", rng.random(500) ** 2, rng.random(500))
            control.fit(self.losses(rng, 500, score), self.T, groups=group)
            # P(u^2 < t) = sqrt(t)
            together[i] = 0.5 * np.sqrt(control.threshold_)
            own[i] = 0.5 * np.sqrt(np.nan_to_num(control.groups_["b"].threshold_))
        assert together.mean() > self.RISK + 0.05
        assert own.mean() <= self.RISK + SIGMA * own.std() / np.sqrt(REPEATS)
        name = "conformal risk control in a group of 100; n = 500"
        self.record(promise, f"{name}, one promise for all", together, "no promise")
        self.record(promise, f"{name}, groups", own)


class TestLearnThenTest:
    """Losses 2 t U have the mean t: each threshold above the risk that is valid is a mistake.

    The threshold 0.1 is just above it.
    """

    T = np.linspace(0.01, 0.5, 50)
    RISK, REPEATS = 0.0999, 500

    def failures(self, test, draw):
        count, valid = 0, 0
        for i in range(self.REPEATS):
            losses, given = draw(np.random.default_rng([3, i]))
            test.fit(losses, **given)
            wrong = test.valid_ & (self.T > self.RISK + 1e-9)
            count += wrong.any()
            valid += test.valid_.sum()
        return count, valid / self.REPEATS

    def graded(self, samples):
        return lambda rng: (2 * rng.random((samples, 1)) * self.T, {})

    @SIZES
    @pytest.mark.parametrize("p_value", ["betting", "hoeffding-bentkus", "binomial"])
    def test_p_values(self, samples, p_value, promise):
        def draw(rng):
            u = rng.random((samples, 1))
            return ((u < self.T).astype(float) if p_value == "binomial" else 2 * u * self.T), {}

        failed, _ = self.failures(caveat.LearnThenTest(self.RISK, p_value=p_value), draw)
        assert failed <= most(0.05, self.REPEATS)
        promise(
            "Risk control", "some valid threshold has a risk above",
            f"Learn then Test, fixed sequence, {p_value}; n = {samples:,}", self.REPEATS,
            failed / self.REPEATS, "at most 0.05",
        )  # fmt: skip

    @pytest.mark.parametrize("method", ["bonferroni", "holm", "graphical", "starts"])
    def test_methods_with_two_losses(self, method, promise):
        """A second loss with the same mean, and its own noise, has the same risk."""

        def draw(rng):
            a, b = 2 * rng.random((2, 100, 1)) * self.T
            return {"a": a, "b": b}, {}

        options = {"starts": 5} if method == "starts" else {"method": method}
        failed, valid = self.failures(caveat.LearnThenTest(self.RISK, **options), draw)
        assert failed <= most(0.05, self.REPEATS)
        assert valid > 0.9  # of ten thresholds below the risk, in the mean
        name = "fixed sequence, 5 starts" if method == "starts" else method
        promise(
            "Risk control", "some valid threshold has a risk above",
            f"Learn then Test, two losses, {name}; n = 100", self.REPEATS,
            failed / self.REPEATS, "at most 0.05",
        )  # fmt: skip

    @pytest.mark.parametrize("method", ["bonferroni", "holm", "fixed-sequence", "graphical"])
    def test_every_threshold_is_above_the_risk(self, method):
        """Independent losses that are 0 or 1 with a mean just above the risk."""
        rng, failed = np.random.default_rng(4), 0
        options = {"starts": 5} if method == "fixed-sequence" else {}
        test = caveat.LearnThenTest(0.1, method=method, p_value="binomial", **options)
        for _ in range(self.REPEATS):
            failed += test.fit((rng.random((200, 20)) < 0.1001).astype(float)).valid_.any()
        assert failed <= most(0.05, self.REPEATS)

    def test_grid(self):
        """Of a grid of two parameters the points above the risk."""
        rng, failed = np.random.default_rng(5), 0
        first, second = np.meshgrid(np.linspace(0.02, 0.3, 6), np.linspace(0.02, 0.3, 6))
        mean = (first + second) / 2
        test = caveat.LearnThenTest(0.1, method="graphical")
        for _ in range(self.REPEATS):
            u, v = rng.random((2, 100, 1, 1))
            test.fit(u * first + v * second)  # the means are (first + second) / 2
            failed += (test.valid_ & (mean > 0.1 + 1e-9)).any()
        assert failed <= most(0.05, self.REPEATS)

    @pytest.mark.parametrize(("samples", "mean"), [(100, 0.06), (300, 0.06), (1000, 0.08)])
    def test_which_test_shows_more(self, samples, mean, promise):
        """Each column is a data set of its own: how often a risk of 0.1 is shown."""
        rng, shown = np.random.default_rng([5, samples]), {}
        designs = {
            "spread": rng.beta(5 * mean, 5 * (1 - mean), (samples, self.REPEATS)),
            "0 or 1": (rng.random((samples, self.REPEATS)) < mean).astype(float),
        }
        for words, losses in designs.items():
            for p_value in ("betting", "hoeffding-bentkus"):
                test = caveat.LearnThenTest(0.1, p_value=p_value).fit(losses)
                shown[words, p_value] = np.mean(test.p_values_ <= 0.05)
                promise(
                    "Risk control", "a risk of 0.1 is shown",
                    f"{p_value}, losses {words}, mean {mean}; n = {samples:,}", self.REPEATS,
                    shown[words, p_value], "the more the better",
                )  # fmt: skip
        assert shown["spread", "betting"] > shown["spread", "hoeffding-bentkus"] + 0.1
        assert shown["0 or 1", "betting"] < shown["0 or 1", "hoeffding-bentkus"]

    def test_dependent_samples(self, promise):
        """A hundred samples of each subject are alike; clusters say so."""

        def draw(rng, clustered):
            losses = np.repeat(2 * rng.random((5, 1)) * self.T, 100, axis=0)
            return losses, {"cluster": np.repeat(np.arange(5), 100)} if clustered else {}

        for clustered in (False, True):
            failed, _ = self.failures(
                caveat.LearnThenTest(self.RISK), lambda rng, c=clustered: draw(rng, c)
            )
            if clustered:
                assert failed <= most(0.05, self.REPEATS)
            else:
                assert failed > beyond_doubt(0.05, self.REPEATS)
            promise(
                "Risk control", "some valid threshold has a risk above",
                "Learn then Test, 5 subjects of 100 equal samples, "
                + ("clusters" if clustered else "taken for independent"), self.REPEATS,
                failed / self.REPEATS, "at most 0.05" if clustered else "no promise",
            )  # fmt: skip

    def test_stopping_whenever_one_likes(self, promise):
        """The worst of 1,000 looks: stop as soon as a threshold at the risk itself is valid."""
        rng, failed, peeking = np.random.default_rng(6), 0, 0
        sizes = np.arange(1, 1001)
        for _ in range(self.REPEATS):
            losses = (rng.random((1000, 1)) < 0.1).astype(float)
            live = caveat.LearnThenTest(0.0999999)
            failed += live.fit(losses).valid_.any()  # valid_ only grows: its end is the worst look
            mean = np.cumsum(losses) / sizes
            p = [hoeffding_bentkus_p(mean[n - 1 : n], n, 0.0999999)[0] for n in sizes[29::10]]
            peeking += min(p) <= 0.05
        assert failed <= most(0.05, self.REPEATS)
        assert peeking > beyond_doubt(0.05, self.REPEATS)
        for name, count, wanted in (
            ("betting, stopped at the worst of 1,000 looks", failed, "at most 0.05"),
            ("hoeffding-bentkus, stopped at the worst of 98 looks", peeking, "no promise"),
        ):
            promise(
                "Risk control", "some valid threshold has a risk above", f"Learn then Test, {name}",
                self.REPEATS, count / self.REPEATS, wanted,
            )  # fmt: skip


class TestSelection:
    """A score s is uniform, and a sample null with probability 1 - s."""

    @staticmethod
    def draw(rng, samples):
        score = rng.random(samples)
        return score, rng.random(samples) >= score

    def shares(self, samples, once, rate=0.2, **options):
        method = caveat.ConformalSelection(rate, **options)
        share, selected = np.empty(REPEATS), np.empty(REPEATS)
        for i in range(REPEATS):
            rng = np.random.default_rng([9, samples, i])
            chosen, null = once(method, rng, samples)
            share[i] = (chosen & null).sum() / max(chosen.sum(), 1)
            selected[i] = chosen.mean()
        return share, selected.mean()

    def record(self, promise, design, share, wanted="at most 0.2"):
        promise(
            "Risk control", "false discovery rate of a selection", design, REPEATS, share.mean(),
            wanted,
        )  # fmt: skip

    @SIZES
    def test_exchangeable(self, samples, promise):
        def once(method, rng, n):
            method.fit(*self.draw(rng, n))
            score, null = self.draw(rng, 100)
            return method.select(score).selected, null

        share, selected = self.shares(samples, once)
        assert share.mean() <= 0.2 + SIGMA * share.std() / np.sqrt(REPEATS)
        assert selected > 0.1
        self.record(promise, f"Benjamini-Hochberg, batch of 100; n = {samples:,}", share)

    def test_outliers(self, promise):
        """Calibration samples are all null, and so are 90 of 100 new ones."""

        def once(method, rng, n):
            method.fit(rng.normal(size=n))
            null = np.arange(100) < 90
            return method.select(rng.normal(size=100) + np.where(null, 0, 4)).selected, null

        share, selected = self.shares(1000, once)
        error = SIGMA * share.std() / np.sqrt(REPEATS)
        assert share.mean() <= 0.9 * 0.2 + error  # the share of nulls times the rate
        assert selected > 0.08
        self.record(promise, "outliers, 90 of 100 null; n = 1,000", share)

    @pytest.mark.parametrize("samples", [20, 100, 1000])
    def test_new_samples_that_depend_on_each_other(self, samples, promise):
        """A batch of ten samples, each ten times: each by itself is drawn as calibration was."""

        def once(method, rng, n):
            method.fit(*self.draw(rng, n))
            score, null = (np.repeat(part, 10) for part in self.draw(rng, 10))
            return method.select(score).selected, null

        share, _ = self.shares(samples, once, dependence="any")
        assert share.mean() <= 0.2 + SIGMA * share.std() / np.sqrt(REPEATS)
        self.record(promise, f"Benjamini-Yekutieli, 10 samples ten times; n = {samples:,}", share)

    def test_dependent_calibration_samples_are_not_what_it_is_for(self, promise):
        def once(method, rng, n):
            score, null = (np.repeat(part, 50) for part in self.draw(rng, n // 50))
            method.fit(score, null)
            score, null = self.draw(rng, 100)
            return method.select(score).selected, null

        share, _ = self.shares(500, once)
        assert share.mean() > 0.2 + SIGMA * share.std() / np.sqrt(REPEATS)
        self.record(promise, "10 calibration samples 50 times; n = 500", share, "no promise")

    def test_shift(self, promise):
        """New samples come from a population in which the same score means null more often."""
        results = {}
        for weighted in (False, True):

            def once(method, rng, n, weighted=weighted):
                # The input x has its share of nulls, and the score does not know it.
                x = rng.random(n)
                null = rng.random(n) < x
                ratio = {"shift": 3 * x**2} if weighted else {}
                score = rng.random(n) + 0.3 * (~null)
                method.fit(score, null, **ratio)
                new = rng.random(100) ** (1 / 3)  # the density 3 x^2
                truth = rng.random(100) < new
                given = {"shift": 3 * new**2} if weighted else {}
                made = rng.random(100) + 0.3 * (~truth)
                return method.select(made, **given).selected, truth

            dependence = "any" if weighted else "exchangeable"
            results[weighted], _ = self.shares(500, once, rate=0.4, dependence=dependence)
        assert results[False].mean() > 0.4 + 0.05
        error = SIGMA * results[True].std() / np.sqrt(REPEATS)
        assert results[True].mean() <= 0.4 + error
        for weighted, share in results.items():
            name = "likelihood ratios" if weighted else "without ratios"
            wanted = "at most 0.4" if weighted else "no promise"
            self.record(promise, f"covariate shift, {name}; n = 500", share, wanted)


class TestTriage:
    """The score u is uniform; group b is wrong far more often at the same score."""

    REPEATS, RISK = 500, 0.2

    def fits(self, samples, **options):
        """The true error rates among accepted: a and b by their own promise, b by that for all."""
        result = np.zeros((self.REPEATS, 3))
        for i in range(self.REPEATS):
            rng = np.random.default_rng([11, samples, i])
            group = np.where(np.arange(samples) % 2 == 0, "a", "b")
            u = rng.random(samples)
            wrong = rng.random(samples) < np.where(group == "a", 0.2 * u, 0.1 + 0.3 * u)
            prediction = caveat.Categorical.from_binary(0.5 * u)
            policy = TriagePolicy(self.RISK, random_state=i, **options)
            policy.fit(prediction, wrong.astype(int), groups=group)
            a, b, all_ = (
                self.accepted(t)
                for t in (
                    policy.groups_["a"].threshold_, policy.groups_["b"].threshold_,
                    policy.threshold_,
                )
            )  # fmt: skip
            # The mean of c + d u up to the share that is accepted; 0 if nothing is.
            result[i] = 0.1 * a, (0.1 + 0.15 * b) * (b > 0), (0.1 + 0.15 * all_) * (all_ > 0)
        return result

    @staticmethod
    def accepted(threshold):
        """The share with an entropy up to the threshold, by bisection."""
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            p = 0.5 * middle
            entropy = 0.0 if p <= 0 else -(p * np.log(p) + (1 - p) * np.log(1 - p))
            low, high = (middle, high) if entropy <= threshold else (low, middle)
        return low

    @pytest.mark.parametrize("samples", [40, 200, 2000])  # 20, 100 and 1,000 of each group
    def test_groups(self, samples, promise):
        found = self.fits(samples)
        above = (found > self.RISK + 1e-9).sum(axis=0)
        assert above[:2].max() <= most(0.05, self.REPEATS)
        if samples == 2000:
            assert above[2] > beyond_doubt(0.05, self.REPEATS)
        for name, count, wanted in (
            ("promises for groups", above[:2].max(), "at most 0.05"),
            ("one promise for all", above[2], "no promise"),
        ):
            promise(
                "Risk control", "error rate in a group above the risk",
                f"triage, {name}; n = {samples // 2:,} a group", self.REPEATS,
                count / self.REPEATS, wanted,
            )  # fmt: skip

    def test_all_groups_at_once(self, promise):
        found = self.fits(600, simultaneous=True)
        failed = int((found[:, :2] > self.RISK + 1e-9).any(axis=1).sum())
        assert failed <= most(0.05, self.REPEATS)
        promise(
            "Risk control", "error rate in some group above the risk",
            "triage, simultaneous; n = 300 a group", self.REPEATS, failed / self.REPEATS,
            "at most 0.05",
        )  # fmt: skip

    @pytest.mark.parametrize("samples", [100, 1000])
    def test_losses(self, samples, promise):
        """Losses are uniform up to 0.5 u: the mean loss of those accepted is 0.125 times their share."""
        failed, shares = 0, np.empty(self.REPEATS)
        for i in range(self.REPEATS):
            rng = np.random.default_rng([12, samples, i])
            u = rng.random(samples)
            policy = TriagePolicy(0.1, random_state=i)
            prediction = caveat.Categorical.from_binary(0.5 * u)
            policy.fit(prediction, np.zeros(samples, int), loss=rng.random(samples) * 0.5 * u)
            shares[i] = self.accepted(policy.threshold_)
            failed += 0.125 * shares[i] > 0.1
        assert failed <= most(0.05, self.REPEATS)
        assert samples == 100 or shares.mean() > 0.6  # 0.8 would be the oracle's
        promise(
            "Risk control", "mean loss of accepted above the risk",
            f"triage, losses between 0 and 1; n = {samples:,}", self.REPEATS,
            failed / self.REPEATS, "at most 0.05",
        )  # fmt: skip
