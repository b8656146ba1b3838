"""Intervals where resamples show too little: shares at their ends, rare errors, chance, halves."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import beta, expon, norm, poisson, t

import caveat
from caveat.metrics import METRICS, Part, Sums
from caveat.metrics.sums import largest
from caveat.resampling import (
    Prepared,
    Replicates,
    confidence_interval,
    interval_of,
    make_plan,
    replicates,
)
from caveat.resampling.inversion import invert
from caveat.resampling.null import null_draws
from caveat.resampling.unseen import with_unseen


def interval(name, truth, inputs, resamples=1000, **given):
    metric = METRICS[name]
    plan = make_plan(
        len(truth), resamples=resamples, random_state=0, cluster=given.pop("cluster", None)
    )
    found = replicates(metric, truth, inputs, plan, **given)
    return confidence_interval(metric, found.center, found), found


def hits(right, samples, p=0.97):
    """A prediction of two classes that is right in some of the samples, all said with p."""
    y = (np.arange(samples) < right).astype(int)
    return y, {"probabilities": np.full(samples, p)}


@pytest.mark.parametrize(("right", "samples"), [(60, 60), (57, 60), (0, 12), (299, 300)])
def test_shares_have_wilsons_interval(right, samples):
    found, _ = interval("accuracy", *hits(right, samples))
    z, share = norm.ppf(0.975), right / samples
    middle = (share + z**2 / (2 * samples)) / (1 + z**2 / samples)
    spread = z * np.sqrt(share * (1 - share) / samples + z**2 / (4 * samples**2))
    spread /= 1 + z**2 / samples
    assert found.method == "score"
    assert (found.low, found.high) == pytest.approx((middle - spread, middle + spread), abs=1e-12)


def test_the_ratio_of_coverage_is_that_share():
    y = np.r_[np.zeros(45), np.ones(5)]
    ends = {"lower": np.full(50, -0.5), "upper": np.full(50, 0.5)}
    share, _ = interval("interval_coverage", y, ends)
    ratio, _ = interval("coverage_ratio", y, ends, options={"coverage": 0.8})
    assert (ratio.low, ratio.high) == pytest.approx((share.low / 0.8, share.high / 0.8))


def size(found, share):
    """How many independent samples Wilson's interval says there are, at two-sided 95 %."""
    z = norm.ppf(0.975)
    end = found.low
    return z**2 * end * (1 - end) / (share - end) ** 2


def test_clusters_and_weights_count_as_fewer_trials():
    y, inputs = hits(70, 100)
    rows, _ = interval("accuracy", y, inputs)
    assert size(rows, 0.7) == pytest.approx(100)
    # Each pair of rows is one row twice: as good as 50 rows, with Student's quantile.
    both = np.repeat(y[::2], 2), {"probabilities": np.full(100, 0.97)}
    pairs, _ = interval("accuracy", *both, cluster=np.arange(100) // 2)
    wider = (t.ppf(0.975, 49) / norm.ppf(0.975)) ** 2 * 50 / 49
    assert size(pairs, 0.7) == pytest.approx(50 / wider)
    sure, _ = interval("accuracy", *hits(100, 100), cluster=np.arange(100) // 2)
    assert size(sure, 1.0) == pytest.approx(50)
    weight = np.where(np.arange(100) % 2, 3.0, 1.0)
    weighted, _ = interval("accuracy", *hits(100, 100), sample_weight=weight)
    assert size(weighted, 1.0) == pytest.approx(weight.sum() ** 2 / np.square(weight).sum())
    # All hits in one of two clusters: nothing but their number is known.
    apart = np.repeat([0, 1], 50)
    two, _ = interval("accuracy", apart, {"probabilities": np.full(100, 0.9)}, cluster=apart)
    assert (two.low, two.high) == pytest.approx((0.0, 1.0), abs=0.05)


def test_unseen_errors_reach_the_exact_limit():
    """The share of errors, as a mean of scores, against Clopper and Pearson."""
    samples, resamples = 200, 4000
    for wrong in (0, 3):
        y, inputs = hits(samples - wrong, samples)
        _, found = interval("brier", y, inputs, resamples=resamples)
        # Of a constant prediction the score is a + b times the share of errors.
        share = (found.unseen - 2 * 0.03**2) / (2 * (0.97**2 - 0.03**2))
        wanted = poisson.rvs(wrong, size=resamples, random_state=0) if wrong else 0
        weight = expon.rvs(size=resamples, random_state=1)
        by_hand = (wanted + weight) / (samples + weight)
        for level in (0.5, 0.975):
            assert np.quantile(share, level) == pytest.approx(np.quantile(by_hand, level), rel=0.15)
        exact = beta.ppf(0.975, wrong + 1, samples - wrong)
        assert np.quantile(share, 0.975) == pytest.approx(exact, rel=0.15)


def test_unseen_hits_where_nearly_all_is_wrong():
    y, inputs = hits(2, 60)
    found, values = interval("brier", y, inputs)
    assert values.unseen is not None
    assert found.low < values.center - 2 / 60
    assert found.method == "percentile with unseen samples"


def test_unseen_errors_of_calibration_errors_reach_the_exact_limit():
    """All right, said with 0.999: the error may be as large as the share of errors may be."""
    samples = 60
    y, inputs = hits(samples, samples, p=0.999)
    exact = beta.ppf(0.975, 1, samples)
    for name in ("ece", "ace", "classwise_calibration_error"):
        found, _ = interval(name, y, inputs, resamples=4000)
        assert found.low == 0
        assert 0.9 * (exact - 0.001) < found.high < 1.4 * exact
    # The entropy that such a share of errors has, which is far more than that of the prediction.
    found, _ = interval("vce", y, inputs, resamples=4000)
    assert found.high == pytest.approx(
        -exact * np.log2(exact) - (1 - exact) * np.log2(1 - exact), rel=0.1
    )


def test_half_of_the_unseen_errors_are_anywhere_if_the_prediction_is_in_doubt():
    p = np.r_[np.full(90, 1.0), np.full(10, 0.6)]
    plan = make_plan(100, resamples=2000, random_state=0)
    given = Prepared(np.ones(100, dtype=int), {"probabilities": np.c_[1 - p, p]}, plan)
    for doubted, share in ((False, 0.0), (True, 0.45)):
        more = with_unseen(given, {}, doubted)
        surely = more.inputs["probabilities"][100:, 1] == 1
        assert surely.mean() == pytest.approx(share, abs=0.04)  # 3.6 standard errors


@pytest.mark.parametrize("missed", [0, 3])
def test_unseen_true_values_beyond_an_interval(missed):
    """Against the same mixture by hand: an exponential weight, a gamma distance."""
    samples, resamples, size = 200, 4000, 2.0
    y = np.zeros(samples)
    y[:missed] = size + 1.0
    rng = np.random.default_rng(5)
    weight, far = rng.exponential(size=resamples), rng.gamma(2.0, size=resamples)
    seen = rng.binomial(samples, missed / samples, resamples)
    beyond = (missed * 1.0 + 0.2 * size) / (missed * size + size) * far * size
    ends = {"lower": np.full(samples, -size), "upper": np.full(samples, size)}
    found, values = interval("interval_loss", y, ends, resamples, options={"coverage": 0.9})
    by_hand = 2 * size + 20 * (seen + weight * beyond) / (samples + weight)
    for level in (0.5, 0.975):
        assert np.quantile(values.unseen, level) - 2 * size == pytest.approx(
            np.quantile(by_hand, level) - 2 * size, rel=0.12
        )
    assert found.method == "percentile with unseen samples"
    assert found.low <= values.center < found.high
    width, _ = interval("mean_interval_width", y, ends)
    assert width.method == "constant"


@pytest.mark.parametrize("level", [0.9, 0.1])
def test_unseen_true_values_beyond_a_quantile(level):
    """All lie 1 on the side where they should: unseen ones lie beyond, at 0.2 times that."""
    samples, resamples, side = 100, 4000, 1 if level > 0.5 else -1
    y = np.full(samples, -1.0 * side)
    found, values = interval(
        "pinball_loss", y, {"value": np.zeros(samples)}, resamples, options={"level": level}
    )
    rng = np.random.default_rng(5)
    weight, beyond = rng.exponential(size=resamples), 0.2 * rng.gamma(2.0, size=resamples)
    by_hand = (samples * 0.1 + weight * 0.9 * beyond) / (samples + weight)
    for share in (0.5, 0.975):
        assert np.quantile(values.unseen, share) == pytest.approx(
            np.quantile(by_hand, share), rel=0.01
        )
    assert found.high > values.center == pytest.approx(0.1)


def test_no_true_values_are_unseen_beyond_what_has_no_size_or_many_misses():
    plan = make_plan(100, resamples=10, random_state=0)
    y, options = np.zeros(100), {"coverage": 0.9}
    for low, high in ((0.0, 0.0), (0.0, np.inf), (1.0, 2.0)):
        ends = {"lower": np.full(100, low), "upper": np.full(100, high)}
        _, found = interval("interval_loss", y, ends, options=options)
        assert found.unseen is None
    # Misses of no weight are none.
    ends = {"lower": np.full(100, -1.0), "upper": np.full(100, 1.0)}
    y = np.where(np.arange(100) < 50, 3.0, 0.0)
    weight = np.where(np.arange(100) < 50, 0.0, 1.0)
    assert with_unseen(Prepared(y, ends, plan), options) is None
    more = with_unseen(Prepared(y, ends, plan, sample_weight=weight), options)
    assert np.all(more.truth[100:] > 1)


def test_unseen_true_values_stay_among_the_numbers_that_can_be_summed():
    for half in (9e74, 1e-322):
        ends = {"lower": np.full(50, -half), "upper": np.full(50, half)}
        y = np.where(np.arange(50) < 3, 1e75, 0.0)
        found, values = interval("interval_loss", y, ends, options={"coverage": 0.9})
        assert values.unseen is not None
        assert np.isfinite([found.low, found.high]).all()


def test_the_low_end_of_a_mean_is_not_raised_by_unseen_samples():
    """Intervals that hold every true value: their widths alone say how low the loss can be."""
    half = np.random.default_rng(0).gamma(3.0, size=100)
    ends = {"lower": -half, "upper": half}
    loss, _ = interval("interval_loss", np.zeros(100), ends, options={"coverage": 0.95})
    width, _ = interval("mean_interval_width", np.zeros(100), ends)
    assert loss.low <= width.low * (1 + 1e-9)
    assert loss.high > width.high


def test_unequal_weights_count_as_fewer_units():
    plan = make_plan(100, resamples=10, random_state=0)
    weight = np.random.default_rng(0).lognormal(size=100)

    def units(weight, cluster=None, rows=None):
        chosen = plan if cluster is None else make_plan(100, cluster=cluster, random_state=0)
        given = Prepared(np.zeros(100), {}, chosen, sample_weight=weight, rows=rows)
        return given.counted_units

    kish = round(weight.sum() ** 2 / np.square(weight).sum())
    assert units(weight) == units(7 * weight) == kish < 60
    assert units(np.ones(100)) == units(None) == 100
    assert units(weight, cluster=np.arange(100) // 10) == 10
    none = np.where(np.arange(100) < 10, 0.0, 1.0)
    assert units(none) == 90
    assert units(none, rows=np.arange(10)) == 0


def test_nothing_is_unseen_where_enough_is_seen():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = (rng.random(400) < p).astype(int)
    _, found = interval("brier", y, {"probabilities": p})
    assert found.unseen is None
    plan = make_plan(400, resamples=10, random_state=0)
    errors = Prepared(np.abs(rng.normal(size=400)), {"uncertainty": p}, plan)
    assert with_unseen(errors, {}) is None
    assert with_unseen(Prepared(p, {"mean": p}, plan), {}) is None


def test_unseen_errors_of_ranked_samples():
    uncertainty = np.linspace(0.1, 1, 80)
    for wrong in (0, 78):
        error = (np.arange(80) >= 80 - wrong).astype(float)
        found, values = interval("aurc", error, {"uncertainty": uncertainty})
        assert values.unseen is not None
        assert found.high > values.center if wrong == 0 else found.low < values.center
    flat, _ = interval("aurc", np.zeros(80), {"uncertainty": np.zeros(80)})
    assert flat.high > 0.02
    everywhere, values = interval("auroc_error", np.zeros(80), {"uncertainty": uncertainty})
    assert np.isnan(values.center)
    assert everywhere.method == "undefined"


def test_predictions_without_doubt_may_err_anywhere():
    y = np.tile([0, 1], 30)
    found, _ = interval("brier", y, {"probabilities": np.eye(2)[y]})
    assert found.low == 0
    assert 0.05 < found.high < 0.2


def test_a_calibrated_prediction_that_was_always_right_may_be_calibrated():
    """All of 60 right at 97 %: the chance is 0.16, so an error of 0 is not rejected."""
    for name in ("ece", "positive_ece", "brier_calibration_error", "vce", "smece"):
        found, _ = interval(name, *hits(60, 60))
        assert found.low == 0, name
        assert found.high > 0.01
    sure, _ = interval("ece", *hits(200, 1000))
    assert sure.low > 0.7


def test_draws_are_as_the_prediction_says():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    plan = make_plan(300, resamples=10, random_state=0)
    prepared = Prepared(y, {"probabilities": np.c_[1 - p, p]}, plan)
    values, gaps = null_draws(METRICS["positive_calibration_error"].sums, prepared, {"bins": 1})
    assert gaps.shape == (199, 1)
    np.testing.assert_allclose(np.abs(gaps[:, 0]), values)
    deviation = np.sqrt((p * (1 - p)).sum()) / 300
    assert gaps.std() == pytest.approx(deviation, rel=4 / np.sqrt(2 * 199))
    assert abs(gaps.mean()) < 4 * deviation / np.sqrt(199)
    named = Prepared(np.array(["b", "a"])[y], {"probabilities": np.c_[p, 1 - p]}, plan)
    again, _ = null_draws(
        METRICS["expected_calibration_error"].sums,
        named,
        {"classes": ["a", "b"], "kind": "positive", "bins": 1},
    )
    assert again.std() == pytest.approx(values.std(), rel=0.5)


def test_draws_from_quantiles_and_gaussians():
    levels, values = np.array([0.1, 0.5, 0.9]), np.tile([1.0, 2.0, 4.0], (50, 1))
    plan = make_plan(50, resamples=10, random_state=0)
    prepared = Prepared(np.zeros(50), {"levels": levels, "values": values}, plan)
    _, gaps = null_draws(METRICS["quantile_coverage_error"].sums, prepared, {})
    deviation = np.sqrt(levels * (1 - levels) / 50)
    np.testing.assert_allclose(gaps.std(axis=0), deviation, rtol=4 / np.sqrt(2 * 199))
    assert (np.abs(gaps.mean(axis=0)) < 4 * deviation / np.sqrt(199)).all()
    normal = Prepared(np.zeros(50), {"mean": np.zeros(50), "variance": np.full(50, 4.0)}, plan)
    _, gaps = null_draws(METRICS["coverage_calibration_error"].sums, normal, {"levels": [0.25]})
    assert gaps.std() == pytest.approx(np.sqrt(0.25 * 0.75 / 50), rel=4 / np.sqrt(2 * 199))


def test_nothing_is_drawn_from_what_is_no_distribution():
    plan = make_plan(20, resamples=5, random_state=0)
    sets = Prepared(np.zeros(20), {"means": np.zeros((2, 20)), "variances": np.ones((2, 20))}, plan)
    values, gaps = null_draws(METRICS["expected_calibration_error"].sums, sets, {})
    assert len(values) == len(gaps) == 0


def test_an_error_that_nothing_was_drawn_for_keeps_its_interval():
    found = Replicates(
        np.full(50, 0.5), 0.5, 50, 1, np.array([0.5]), np.zeros((50, 1)),
        lambda gaps: np.abs(gaps).sum(axis=-1),
    )  # fmt: skip
    for null in (None, lambda: np.empty(0), lambda: np.zeros(99)):
        given = dataclasses.replace(found, null=null)
        assert confidence_interval(METRICS["ece"], 0.5, given).low > 0.4
    chance = dataclasses.replace(found, null=lambda: np.ones(99))
    assert confidence_interval(METRICS["ece"], 0.5, chance).low == 0


def test_means_have_the_bootstrap_t_interval():
    rng = np.random.default_rng(1)
    y, plan = rng.gamma(1.0, size=50), make_plan(50, resamples=500, random_state=0)
    metric, inputs = METRICS["mae"], {"mean": np.zeros(50)}
    found = replicates(metric, y, inputs, plan)
    counts = plan.counts.astype(float)
    means = counts @ y / 50
    errors = np.sqrt((counts @ y**2 / 50 - means**2) / 49)
    np.testing.assert_allclose(found.errors, errors, rtol=1e-6)
    assert found.error == pytest.approx(y.std() / 7, rel=1e-9)
    away = np.sort((means - y.mean()) / errors)
    wider = np.sqrt(1 + 1 / 49) * t.ppf(0.975, 49) / norm.ppf(0.975) * found.error
    low, high = (y.mean() - away[round(q * 501) - 1] * wider for q in (0.975, 0.025))
    ends = confidence_interval(metric, found.center, found)
    assert (ends.low, ends.high, ends.method) == (
        pytest.approx(low, rel=1e-6), pytest.approx(high, rel=1e-6), "bootstrap-t",
    )  # fmt: skip
    # A mean of the squares, and its root: the same standard error but for the slope.
    squares = replicates(METRICS["rmse"], y, inputs, plan)
    root = np.sqrt(np.mean(y**2))
    assert squares.error == pytest.approx((y**2).std() / 7 / (2 * root), rel=1e-4)
    few = dataclasses.replace(found, units=8)
    wide = confidence_interval(metric, found.center, few)
    least = t.ppf(0.975, 7) * np.sqrt(8 / 7) * found.error
    assert wide.high - found.center >= least * (1 - 1e-9)
    assert found.center - wide.low >= least * (1 - 1e-9)


def test_few_units_reach_as_far_as_students_t():
    values = norm.ppf((np.arange(999) + 0.5) / 999) ** 3 / 4
    found = interval_of(0.0, Replicates(values, 0.0, units=6))
    assert found.high >= t.ppf(0.975, 5) * np.sqrt(6 / 5) * values.std() * (1 - 1e-9)


def test_halves_correct_a_bias():
    rng = np.random.default_rng(0)
    # The halves of a mean vary as the mean does, and have no bias.
    plain = Replicates(rng.normal(1.0, 0.1, 20_000), 1.0, units=1000, half=0.5)
    found = interval_of(1.0, plain)
    assert (found.low, found.high) == pytest.approx((1 - 0.196, 1 + 0.196), abs=0.01)
    assert (found.method, found.estimate) == ("half-samples", pytest.approx(1.0, abs=0.01))
    # A bias of 0.3 that halves with n is 0.6 in half of the samples; one that falls with the root
    # of n and is 0.3 in half of them exceeds that of all by 0.3 (1 - 1 / sqrt(2)).
    shifted = dataclasses.replace(plain, values=plain.values + 0.3)
    ends = interval_of(1.0, shifted, range=(0.0, 2.0))
    assert ends.high == pytest.approx(1 - 0.3 + 0.196, abs=0.01)
    assert ends.low == pytest.approx(1 - 0.3 / (np.sqrt(2) - 1) - 0.196, abs=0.01)
    assert (shifted - plain).half == 0.5


def test_a_direction_without_a_norm_is_left_out():
    def first(gaps):
        return np.abs(gaps[..., 0])

    deviations = np.random.default_rng(0).normal(size=(300, 2))
    gaps = np.array([0.5, 8.0])
    low, _, high = invert(gaps, deviations, first, 0.95)
    assert low == 0.0
    assert 1.0 < high < 5.0


def test_few_samples_of_many_classes():
    p = np.random.default_rng(0).dirichlet(np.ones(20), size=5)
    result = caveat.evaluate(caveat.Categorical(p), [0, 3, 7, 7, 19], resamples=50, random_state=0)
    assert len(result.rows) > 10


@pytest.mark.parametrize("scale", [1 / 400, 7.0, 1e60])
def test_only_ratios_of_weights_matter(scale):
    rng = np.random.default_rng(0)
    p, weight = rng.random(400), rng.gamma(2.0, size=400)
    y = (rng.random(400) < p).astype(int)
    prediction = caveat.Categorical.from_binary(p)
    some = ["aurc", "debiased_ece", "brier", "ece"]
    rows, scaled = (
        caveat.evaluate(
            prediction, y, sample_weight=w, metrics=some, resamples=50, random_state=0
        ).to_frame()
        for w in (weight, weight * scale)
    )
    for column in ("value", "low", "high"):
        np.testing.assert_allclose(rows[column], scaled[column], rtol=1e-6, atol=1e-9)
    # A sample of weight 0 is as good as absent.
    ends = np.r_[weight, 0.0, 0.0]
    more = caveat.evaluate(
        caveat.Categorical.from_binary(np.r_[p, 0.5, 0.9]), np.r_[y, 0, 0], sample_weight=ends,
        metrics=some, resamples=0,
    )  # fmt: skip
    wanted = [row.value for row in caveat.evaluate(
        prediction, y, sample_weight=weight, metrics=some, resamples=0
    ).select(group="")]  # fmt: skip
    np.testing.assert_allclose([row.value for row in more.select(group="")], wanted, rtol=1e-9)


def test_a_mean_with_unseen_samples_stays_in_its_range():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = rng.dirichlet(np.ones(3), 8)
        found, _ = interval("log_loss", p.argmax(axis=1), {"probabilities": p}, resamples=100)
        assert 0 <= found.low <= found.high


def test_next_to_no_confidence():
    rng = np.random.default_rng(0)
    plan = make_plan(8, resamples=40, random_state=0)
    found = replicates(METRICS["mae"], rng.normal(size=8), {"mean": np.zeros(8)}, plan)
    ends = confidence_interval(METRICS["mae"], found.center, found, 1e-17)
    assert ends.low <= found.center <= ends.high


def test_gaps_of_a_point_have_no_truths_to_draw():
    """A metric of one's own whose gaps are of points: the mean error below and above 0."""

    def drift(y_true, mean, *, sample_weight=None):
        error, above = y_true - mean, np.asarray(y_true) > 0
        sums = [np.average(error * part, weights=sample_weight) for part in (above, ~above)]
        return float(np.abs(sums).max())

    def sums(batch):
        error = batch.truth - batch.inputs["mean"]
        index = (batch.truth > 0).astype(int)
        part = Part(lambda: batch.matrix(index, 2, [None, error]))

        def finish(found):
            return found[:, 2:] / found[:, :2].sum(axis=1, keepdims=True)

        return Sums([part], finish, largest)

    metric = dataclasses.replace(METRICS["mae"], function=drift, name="drift", sums=sums)
    y = np.random.default_rng(0).normal(size=80)
    plan = make_plan(80, resamples=100, random_state=0)
    found = replicates(metric, y, {"mean": 0.9 * y}, plan)
    assert found.center == pytest.approx(drift(y, 0.9 * y))
    assert len(found.null()) == 0
    ends = confidence_interval(metric, found.center, found)
    assert 0 < ends.low < found.center < ends.high
