"""Calibration of a risk: in the large, intercept and slope, against fits by other packages."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

import caveat
from caveat.exceptions import OptionError, ShapeError
from caveat.metrics import (
    METRICS,
    brier_loss,
    calibration_in_the_large,
    calibration_intercept,
    calibration_slope,
)
from caveat.metrics._core.logistic import intercepts, slopes
from caveat.resampling import make_plan, replicates

PAIR = [calibration_intercept, calibration_slope]


def risks(samples=400, seed=0, intercept=0.4, slope=0.6, spread=2.0):
    """Outcomes whose log-odds are intercept + slope * logit(p)."""
    rng = np.random.default_rng(seed)
    z = spread * rng.normal(size=samples)
    y = (rng.random(samples) < expit(intercept + slope * z)).astype(int)
    return y, expit(z), rng.gamma(1.0, size=samples)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_slope_is_that_of_a_logistic_regression(seed, weighted):
    y, p, weight = risks(seed=seed, slope=0.5 + 0.4 * seed)
    weight = weight if weighted else None
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(np.log(p / (1 - p))[:, None], y, sample_weight=weight)
    found = calibration_slope(y, p, sample_weight=weight)
    assert found == pytest.approx(model.coef_[0, 0], rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_intercept_makes_the_mean_right(weighted):
    y, p, weight = risks()
    weight = weight if weighted else np.ones(len(y))
    z = np.log(p / (1 - p))
    wanted = brentq(lambda a: weight @ (expit(a + z) - y), -20, 20, xtol=1e-13)
    assert calibration_intercept(y, p, sample_weight=weight) == pytest.approx(wanted, abs=1e-10)


def test_of_many_samples_they_are_those_of_the_population():
    y, p, _ = risks(400_000, intercept=-0.3, slope=0.8, spread=1.5)
    assert calibration_slope(y, p) == pytest.approx(0.8, abs=0.02)
    right = expit(-0.3 + 0.8 * np.log(p / (1 - p)))
    assert calibration_slope(y, right) == pytest.approx(1, abs=0.02)
    assert calibration_intercept(y, right) == pytest.approx(0, abs=0.02)
    assert calibration_in_the_large(y, right) == pytest.approx(0, abs=0.003)


def test_in_the_large_is_the_difference_of_two_means():
    y, p, weight = risks()
    assert calibration_in_the_large(y, p) == pytest.approx(p.mean() - y.mean(), rel=1e-12)
    wanted = np.average(p, weights=weight) - np.average(y, weights=weight)
    assert calibration_in_the_large(y, p, sample_weight=weight) == pytest.approx(wanted, rel=1e-12)
    # The sign of the intercept is the other one: what must be added.
    assert np.sign(calibration_in_the_large(y, p)) == -np.sign(calibration_intercept(y, p))


def test_closed_forms():
    y, p = np.array([0, 0, 0, 1] * 5), np.full(20, 0.5)
    assert calibration_intercept(y, p) == pytest.approx(-np.log(3), rel=1e-12)
    assert np.isnan(calibration_slope(y, p))  # all probabilities are alike
    low, high = [0, 0, 0, 1] * 5, [0, 1, 1, 1] * 5
    found = calibration_slope([*low, *high], np.repeat([0.1, 0.9], 20))
    assert found == pytest.approx(np.log(3) / np.log(9), rel=1e-12)


@pytest.mark.parametrize(
    ("y", "p", "slope", "intercept"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], np.inf, None),  # no overlap
        ([0, 0, 1, 1], [0.1, 0.2, 0.2, 0.4], np.inf, None),  # they touch
        ([1, 1, 0, 0], [0.1, 0.2, 0.2, 0.4], -np.inf, None),
        ([0, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], np.nan, -np.inf),
        ([1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4], np.nan, np.inf),
        ([1], [0.3], np.nan, np.inf),
    ],
)
def test_without_a_most_likely_line(y, p, slope, intercept):
    np.testing.assert_equal(calibration_slope(y, p), slope)
    if intercept is not None:
        assert calibration_intercept(y, p) == intercept


def test_an_overlap_below_rounding_is_none():
    score = np.array([[0.0, 1e-15, 2e-15, 3.0]])
    misses, hits = np.array([[1.0, 0, 1, 0]]), np.array([[0.0, 1, 0, 1]])
    assert slopes(score, misses, hits) == [np.inf]
    assert slopes(-score, misses, hits) == [-np.inf]


def test_a_slope_of_exactly_zero():
    assert calibration_slope([0, 1, 0, 1], [0.2, 0.2, 0.8, 0.8]) == pytest.approx(0, abs=1e-12)


def test_samples_without_weight_do_not_count():
    y, p, _ = risks(60)
    weight = np.r_[np.ones(60), np.zeros(2)]
    # These two would make the classes overlap, or the slope steep.
    more, far = np.r_[y, 1, 0], np.r_[p, 0.0, 1.0]
    for metric in PAIR:
        assert metric(more, far, sample_weight=weight) == pytest.approx(metric(y, p), rel=1e-9)


def test_certainty_is_clipped():
    """0 and 1 count as 2^-53 and 1 - 2^-53."""
    y, p, _ = risks(300)
    sure = np.where(np.arange(300) < 20, np.repeat([0.0, 1.0], 150), p)
    sure[:20], y = 0.0, y.copy()
    y[:20] = 0
    near = np.clip(sure, 2.0**-53, 1 - 2.0**-53)
    for metric in PAIR:
        assert metric(y, sure) == metric(y, near)
        assert np.isfinite(metric(y, sure))
    # Said to be impossible, and right: about as without these samples.
    assert calibration_slope(y, sure) == pytest.approx(calibration_slope(y[20:], p[20:]), rel=0.05)
    # Said to be impossible, and it happened: far too extreme.
    y[0] = 1
    slope = calibration_slope(y, sure)
    assert slope < 0.75 * calibration_slope(y[20:], p[20:])
    assert calibration_slope(y, sure, eps=1e-3) > slope
    assert calibration_intercept(y, np.r_[np.zeros(150), np.ones(150)]) < 40


@pytest.mark.parametrize("spread", [1e-4, 1.0, 12.0])
def test_leverage_does_not_stop_newton(spread):
    """Outliers of any size: no other line is more likely than the one that is returned."""
    rng = np.random.default_rng(3)
    score = (spread * rng.standard_t(1, size=(200, 60))).clip(-36, 36)
    hits = (rng.random(score.shape) < expit(0.3 * score)).astype(float)
    found = slopes(score, 1 - hits, hits)
    defined = np.isfinite(found)
    assert defined.sum() > 100
    score, hits, found = score[defined], hits[defined], found[defined]

    def likelihood(slope):
        """The largest over all intercepts."""
        line = slope[:, None] * score
        line += intercepts(line, 1 - hits, hits)[:, None]
        return (hits * line - np.logaddexp(0, line)).sum(axis=1)

    best, scale = likelihood(found), np.ptp(score, axis=1)
    for aside in (1e-3, 0.1, 2.0):
        for sign in (-1, 1):
            assert (likelihood(found + sign * aside / scale) < best + 1e-9).all()


@pytest.mark.parametrize("metric", [*PAIR, calibration_in_the_large])
def test_for_two_classes(metric):
    with pytest.raises(ShapeError, match="is for two classes, probabilities have 3"):
        metric([0, 1, 2], np.full((3, 3), 1 / 3))


@pytest.mark.parametrize("metric", PAIR)
@pytest.mark.parametrize("eps", [0, 0.5, "small"])
def test_eps_is_between(metric, eps):
    with pytest.raises(OptionError, match=r"eps must be a number strictly between 0 and 0\.5"):
        metric([0, 1], [0.2, 0.7], eps=eps)


@pytest.mark.parametrize("spread", [0.01, 2.0, 9.0])
@pytest.mark.parametrize("name", ["calibration_slope", "calibration_intercept"])
def test_many_samples_in_cells_of_log_odds(name, spread):
    """Off by far less than the value varies between resamples, however close log-odds are."""
    y, p, _ = risks(3000, spread=spread)
    plan = make_plan(3000, resamples=20, random_state=0)
    found = replicates(METRICS[name], y, {"probabilities": p}, plan)
    exact = [METRICS[name].function(y, p, sample_weight=plan.weights(i)) for i in range(20)]
    np.testing.assert_allclose(found.values, exact, atol=0.02 * np.std(exact))


def test_many_samples_that_are_alike():
    plan = make_plan(600, resamples=5, random_state=0)
    y, inputs = np.arange(600) % 4 == 0, {"probabilities": np.full(600, 0.5)}
    assert np.isnan(replicates(METRICS["calibration_slope"], y, inputs, plan).values).all()
    found = replicates(METRICS["calibration_intercept"], y, inputs, plan)
    assert found.center == pytest.approx(-np.log(3), rel=1e-9)


def test_many_samples_of_one_class():
    plan = make_plan(600, resamples=5, random_state=0)
    p = np.linspace(0.1, 0.9, 600)
    for name in ("calibration_slope", "calibration_intercept"):
        found = replicates(METRICS[name], np.ones(600, bool), {"probabilities": p}, plan)
        exact = METRICS[name].function(np.ones(600, bool), p)
        np.testing.assert_allclose(found.values, np.full(5, exact))


def test_an_interval_may_have_no_end():
    """Hardly any overlap: many resamples have none."""
    p = np.linspace(0.05, 0.95, 40)
    y = (p > 0.5).astype(int)
    y[[19, 20]] = 1, 0
    result = caveat.evaluate(caveat.Categorical.from_binary(p), y, random_state=0)
    row = result.select(metric="calibration_slope", group="")[0]
    assert row.value > 1
    assert row.high == np.inf
    assert row.low > 1


class TestRows:
    def evaluation(self, **given):
        y, p, _ = risks(intercept=1.0)
        sex = np.where(np.arange(400) % 3, "f", "m")
        made = caveat.evaluate(
            caveat.Categorical.from_binary(p), y, groups={"sex": sex}, resamples=100,
            random_state=0, **given,
        )  # fmt: skip
        return made, y, p, sex

    def test_predicted_and_observed_overall_and_in_groups(self):
        result, y, p, sex = self.evaluation()
        for group, some in (("", slice(None)), ("sex=f", sex == "f"), ("sex=m", sex == "m")):
            (row,) = result.select(metric="calibration_in_the_large", group=group)
            mean, rate = 100 * p[some].mean(), 100 * y[some].mean()
            assert row.note == f"on average predicts {mean:.3g} %, observed {rate:.3g} %"
            assert row.low < row.value < row.high < 0
            assert row.direction == "target"
        # Of the samples of one true class they would mean nothing.
        assert not result.select(metric="calibration_slope", group="class=1")

    def test_the_observed_rate_has_no_rounding_error(self):
        """A half is rounded as in the sentences, which count: 50.25 % is 50.2 %."""
        y = (np.arange(400) < 201).astype(int)
        for p in np.linspace(0.1, 0.9, 17):
            (row,) = caveat.evaluate(
                np.full(400, p), y, metrics=["calibration_in_the_large"], resamples=0
            ).select(group="")
            assert row.note.endswith(" observed 50.2 %")

    def test_weights(self):
        _, _, weight = risks()
        result, y, p, _ = self.evaluation(sample_weight=weight)
        (row,) = result.select(metric="calibration_in_the_large", group="")
        mean, rate = (100 * np.average(part, weights=weight) for part in (p, y))
        assert row.note == f"on average predicts {mean:.3g} %, observed {rate:.3g} %"

    def test_brier_score_as_scikit_learn_has_it(self):
        result, y, p, _ = self.evaluation()
        (row,) = result.select(metric="brier", group="")
        theirs = brier_score_loss(y, p)
        assert row.value == pytest.approx(2 * theirs, rel=1e-12)
        assert (
            row.note == f"half of the Brier loss, {theirs:.3g}, is brier_score_loss of scikit-learn"
        )
        three = caveat.Categorical(np.full((4, 3), 1 / 3))
        (row,) = caveat.evaluate(three, [0, 1, 2, 0], metrics=["brier"], resamples=0).select(
            group=""
        )
        assert row.note == ""

    def test_more_classes_do_not_have_them(self):
        three = caveat.Categorical(np.full((4, 3), 1 / 3))
        metrics = {row.metric for row in caveat.evaluate(three, [0, 1, 2, 0], resamples=0).rows}
        assert not metrics & {"calibration_slope", "calibration_in_the_large"}


class TestHalf:
    def test_as_scikit_learn(self):
        y, p, weight = risks()
        for given in (None, weight):
            theirs = brier_score_loss(y, p, sample_weight=given)
            for half in (True, "auto"):
                ours = brier_loss(y, p, scale_by_half=half, sample_weight=given)
                assert ours == pytest.approx(theirs, rel=1e-12)
            assert brier_loss(y, p, sample_weight=given) == pytest.approx(2 * theirs, rel=1e-12)

    def test_of_more_classes(self):
        p, y = np.full((3, 3), 1 / 3), [0, 1, 2]
        whole = brier_loss(y, p)
        assert brier_loss(y, p, scale_by_half="auto") == whole
        assert brier_loss(y, p, scale_by_half=True) == pytest.approx(whole / 2)
        np.testing.assert_allclose(
            brier_loss(y, p, scale_by_half=True, per_sample=True), np.full(3, whole / 2)
        )

    def test_anything_else_is_refused(self):
        with pytest.raises(OptionError, match="scale_by_half must be one of False, True, 'auto'"):
            brier_loss([0, 1], [0.2, 0.7], scale_by_half="half")

    def test_intervals_take_it(self):
        y, p, _ = risks()
        brier = METRICS["brier"]
        plan = make_plan(400, resamples=20, random_state=0)
        inputs = {"probabilities": p}
        one = replicates(brier, y, inputs, plan, options={"scale_by_half": True})
        np.testing.assert_allclose(one.values, replicates(brier, y, inputs, plan).values / 2)
        state = brier.state(y, p, scale_by_half="auto")
        assert brier.value(state) == pytest.approx(brier_score_loss(y, p))


@pytest.mark.parametrize("samples", [20, 100, 1000])
@pytest.mark.parametrize("low", [0.0, 1e-300])
def test_perfect_hard_labels(samples, low):
    """Any shift of a wide range fits: no intercept, by the function as by its sums."""
    y = (np.random.default_rng(0).random(samples) < 0.5).astype(int)
    p = np.where(y == 1, 1.0, low)
    assert np.isnan(calibration_intercept(y, p))
    assert calibration_slope(y, p) == np.inf
    result = caveat.evaluate(p, y, resamples=50, random_state=0)
    (row,) = result.select(metric="calibration_intercept", group="")
    assert np.isnan(row.value)
    assert row.note == "undefined here"
    assert str(result.verdict())
    assert caveat.summarize(p, y).evaluate(resamples=50, random_state=0).verdict()
    wrong = caveat.evaluate(1 - p, y, resamples=50, random_state=0)
    assert np.isfinite(wrong.select(metric="calibration_intercept", group="")[0].value)
    both = caveat.compare({"sure": p, "half": np.full(samples, 0.5)}, y, resamples=50)
    assert str(both.recommend())


@pytest.mark.parametrize("noise", [0.003, 0.01, 0.03])
@pytest.mark.parametrize("scale", [1, -1, 5])
def test_classes_that_hardly_overlap(noise, scale):
    """A steep slope is the same by the function and by its sums."""
    rng = np.random.default_rng(0)
    for _ in range(4):
        z = 2 * rng.normal(size=1000)
        p = expit(scale * (z + noise * rng.normal(size=1000)))
        result = caveat.evaluate(p, (z > 0) * 1, metrics=["calibration_slope"], resamples=5)
        assert abs(result.rows[0].value) > 1
