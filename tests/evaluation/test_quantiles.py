"""Quantiles and intervals are judged by what they say, not as Gaussians."""

import re

import numpy as np
import pytest
from scipy import stats

import caveat
from caveat import compare, evaluate, metrics
from caveat.exceptions import OptionError

SEVEN = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
LEVELS = {"seven": SEVEN, "two": (0.1, 0.9), "asymmetric": (0.1, 0.5, 0.8), "upper": (0.5, 0.9)}


def lognormal(levels=SEVEN, n=1500, members=1, targets=1, shift=0.0, scale=1.0, seed=0):
    """Quantiles of skewed outcomes, true ones unless they are shifted or scaled (on the logs)."""
    rng = np.random.default_rng(seed)
    mu, sigma = rng.normal(2, 0.3, (n, targets)), rng.uniform(0.4, 1, (n, targets))
    y = np.exp(mu + sigma * rng.normal(size=mu.shape))
    z = shift + scale * stats.norm.ppf(levels)
    logs = mu[..., None] + sigma[..., None] * z
    # Members that disagree, and whose mean is the quantile.
    values = np.stack(
        [np.exp(logs) * (1 + 0.1 * m) for m in np.arange(members) - (members - 1) / 2]
    )
    return caveat.Quantiles(levels, values), y, np.exp(mu)


def of(result, metric, **more):
    return {r.option: r.value for r in result.select(metric=metric, group="", **more)}


class TestNumbers:
    @pytest.mark.parametrize("members", [1, 3])
    @pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
    def test_by_hand(self, levels, members):
        prediction, y, median = lognormal(levels, n=300, members=members, targets=2)
        result = evaluate(prediction, y, resamples=0)
        values = prediction.values.mean(axis=0)
        pairs = [(i, j) for i, a in enumerate(levels) for j, b in enumerate(levels)
                 if a < b and abs(a + b - 1) < 1e-9]  # fmt: skip
        for t in range(2):
            target = str(t)
            below = {f"level={p:g}": (y[:, t] <= values[:, t, k]).mean()
                     for k, p in enumerate(levels)}  # fmt: skip
            assert of(result, "quantile_coverage", target=target) == pytest.approx(below)
            gaps = [abs(p - share) for p, share in zip(levels, below.values(), strict=True)]
            assert of(result, "quantile_coverage_error", target=target)[""] == pytest.approx(
                np.mean(gaps)
            )
            inside = {
                f"coverage={levels[j] - levels[i]:g}": (
                    (y[:, t] >= values[:, t, i]) & (y[:, t] <= values[:, t, j])
                ).mean()
                for i, j in pairs
            }
            assert of(result, "interval_coverage", target=target) == pytest.approx(inside)
            assert of(result, "quantile_crps_loss", target=target)[""] == pytest.approx(
                metrics.quantile_crps_loss(y[:, t], levels, values[:, t])
            )
            if 0.5 in levels:
                expected = np.abs(y[:, t] - median[:, t]).mean()
                assert of(result, "mean_absolute_error", target=target)[""] == pytest.approx(
                    expected
                )
        names = {row.metric for row in result}
        assert not {name for name in names if name.startswith("gaussian")}
        assert not names & {
            "root_mean_squared_error", "coverage_calibration_error", "central_coverage_error",
            "maximum_coverage_error", "expected_normalized_calibration_error", "sharpness",
        }  # fmt: skip

    def test_the_point_is_the_given_median_and_the_midpoint_is_not(self):
        prediction, y, median = lognormal()
        result = evaluate(prediction, y, resamples=0)
        np.testing.assert_allclose(result.error, np.abs(y - median))
        (row,) = result.select(metric="mean_absolute_error")
        assert row.note == "of the median"
        midpoint = evaluate(prediction.to_gaussian(0.9), y, metrics=["mae"], resamples=0).rows[0]
        assert midpoint.value > 1.2 * row.value

    def test_without_a_median_two_levels_are_joined(self):
        prediction = caveat.Quantiles([0.1, 0.4, 0.8], [[0.0, 4.0, 8.0], [1.0, 1.0, 5.0]])
        np.testing.assert_allclose(prediction.median()[:, 0], [5.0, 2.0])
        (row,) = evaluate(prediction, [5.0, 5.0], metrics=["mae"], resamples=0)
        assert row.value == pytest.approx(1.5)
        assert row.note == "of the median, interpolated between the levels 0.4 and 0.8"

    def test_levels_on_one_side_have_no_point(self):
        prediction = caveat.Quantiles([0.8, 0.9], [[0.0, 1.0]] * 20)
        result = evaluate(prediction, np.linspace(0, 1, 20))
        assert {row.metric for row in result} == {
            "pinball_loss", "quantile_crps_loss", "quantile_coverage", "quantile_coverage_error",
        }  # fmt: skip
        assert np.isnan(result.error).all()
        assert np.isnan(result.uncertainty).all()
        with pytest.raises(
            OptionError, match=r"a median needs the level 0\.5, or a level below it"
        ):
            prediction.median()

    @pytest.mark.parametrize(
        ("levels", "ends", "words"),
        [
            (SEVEN, (0, 6), "by the width of the 90 % interval"),
            ((0.1587, 0.5, 0.8413, 0.99), (0, 2), "by the width of the 68.26 % interval"),
            ((0.1, 0.5, 0.8), (0, 2), "by the distance between the quantiles at 0.1 and 0.8"),
        ],
    )
    def test_uncertainty_is_a_width(self, levels, ends, words):
        prediction, y, _ = lognormal(levels, n=200)
        result = evaluate(prediction, y, resamples=0)
        low, high = ends
        expected = prediction.values[0, :, :, high] - prediction.values[0, :, :, low]
        np.testing.assert_allclose(result.uncertainty, expected)
        (row,) = result.select(metric="error_uncertainty_correlation")
        assert row.note == words
        assert row.value == pytest.approx(
            stats.spearmanr(result.uncertainty[:, 0], result.error[:, 0]).statistic
        )

    def test_intervals_of_the_numbers_hold_them(self):
        prediction, y, _ = lognormal(n=600)
        result = evaluate(prediction, y, random_state=0)
        for row in result:
            assert np.isfinite([row.value, row.low, row.high]).all()
            if np.isnan(row.estimate):
                assert row.low <= row.value <= row.high
        (row,) = result.select(metric="quantile_coverage_error")
        assert row.low == 0  # perfect, so nothing is shown to be off


class TestGaussians:
    """Quantiles of a Gaussian agree with the Gaussian where both say the same thing."""

    MEAN, STD = (
        np.random.default_rng(1).normal(size=500), np.random.default_rng(2).uniform(0.5, 2, 500)
    )  # fmt: skip
    Y = MEAN + 1.3 * STD * np.random.default_rng(3).normal(size=500) + 0.1
    GAUSSIAN = caveat.Gaussian.from_std(MEAN, STD)

    def test_agree(self):
        levels = [0.02275, 0.15865, 0.5, 0.84135, 0.97725]
        ours = evaluate(self.GAUSSIAN.to_quantiles(levels), self.Y, resamples=50, random_state=0)
        theirs = evaluate(self.GAUSSIAN, self.Y, resamples=50, random_state=0)
        for metric in ("mean_absolute_error", "error_uncertainty_correlation"):
            (one,), (other,) = ours.select(metric=metric), theirs.select(metric=metric)
            assert (one.value, one.low, one.high) == pytest.approx(
                (other.value, other.low, other.high), rel=1e-9
            )
        for metric in ("interval_coverage", "coverage_ratio", "mean_interval_width"):
            rows = zip(ours.select(metric=metric), theirs.select(metric=metric), strict=True)
            for one, other in rows:
                assert one.value == pytest.approx(other.value, rel=1e-3)
        curve = metrics.coverage_curve(
            self.Y, self.MEAN, self.STD**2, levels=levels, kind="one-sided"
        )
        np.testing.assert_allclose(ours.curves["quantile_coverage_error"].observed, curve.observed)

    def test_the_conversion_is_one_line(self):
        levels = [0.0228, 0.1587, 0.5, 0.8413, 0.9772]
        quantiles = self.GAUSSIAN.to_quantiles(levels)
        for coverage in (0.6827, 0.9545):  # one and two sigma
            back = quantiles.to_gaussian(coverage)
            one = evaluate(back, self.Y, metrics=["ence", "crps"], resamples=0)
            other = evaluate(self.GAUSSIAN, self.Y, metrics=["ence", "crps"], resamples=0)
            for ours, theirs in zip(one, other, strict=True):
                assert ours.value == pytest.approx(theirs.value, rel=2e-3)


class TestIntervals:
    def test_what_they_support(self):
        prediction, y, _ = lognormal(targets=2)
        interval = prediction.interval(0.9)
        result = evaluate(interval, y, resamples=0)
        assert {row.metric for row in result} == {
            "interval_coverage", "coverage_ratio", "mean_interval_width", "interval_loss",
        }  # fmt: skip
        np.testing.assert_array_equal(result.uncertainty, interval.upper - interval.lower)
        assert np.isnan(result.error).all()  # an interval names no point

    def test_infinite_ones(self):
        interval = caveat.Interval([-np.inf, 0.0, np.inf], [np.inf, 1.0, np.inf], coverage=0.9)
        result = evaluate(interval, [0.0, 0.0, 0.0], resamples=0)
        assert of(result, "interval_coverage") == {"coverage=0.9": pytest.approx(2 / 3)}
        assert result.uncertainty[:2, 0].tolist() == [np.inf, 1.0]

    def test_points_and_distributions_are_not_made_up(self):
        interval = caveat.Interval([0.0], [1.0], coverage=0.9)
        with pytest.raises(
            OptionError, match=r"a Interval, which names no point .*\.to_gaussian\(\)"
        ):
            evaluate(interval, [0.5], metrics=["mae", "crps"])
        quantiles = caveat.Quantiles([0.1, 0.9], [[0.0, 1.0]])
        with pytest.raises(OptionError, match=r"convert it: quantiles\.to_gaussian\(coverage\)"):
            evaluate(quantiles, [0.5], metrics=["crps", "rmse"])
        with pytest.raises(OptionError, match=r"can be asked of a Gaussian$"):
            evaluate(caveat.Gaussian([0.0], 1.0), [0.5], metrics=["pinball"])


def judged(prediction, y, **options):
    return evaluate(prediction, y, resamples=200, random_state=0, **options).verdict()


class TestVerdict:
    @pytest.mark.parametrize("members", [1, 3])
    @pytest.mark.parametrize("targets", [1, 2])
    @pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
    def test_perfect_skewed_forecasts_are_not_accused(self, levels, targets, members):
        prediction, y, _ = lognormal(levels, 4000, members, targets)
        found = judged(prediction, y)
        assert {s.level for s in found} <= {"good", "info"}
        what = "intervals" if levels[0] + levels[-1] == 1 else "quantiles"
        assert re.match(f"Its {what} (nearly )?hold what they promise", found.statements[0].text)

    @pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
    @pytest.mark.parametrize(("shift", "way"), [(-0.4, "low"), (0.4, "high")])
    def test_shifted_ones_are_found_in_the_right_direction(self, levels, shift, way):
        prediction, y, _ = lognormal(levels, shift=shift)
        found = judged(prediction, y)
        side = {"low": "above", "high": "below"}[way]
        assert found.statements[0].text == (
            f"Its quantiles are too {way}: the truth is {side} them more often than they say."
        )
        assert found.statements[0].level == "bad"
        assert found.statements[1].text.endswith(f": its quantiles are too {way}.")

    @pytest.mark.parametrize(
        ("levels", "scale", "text"),
        [
            (SEVEN, 0.6, "Its intervals are too narrow: it is overconfident."),
            (SEVEN, 1.6, "Its intervals are too wide: it is underconfident."),
            ((0.1, 0.8), 0.6, "Its quantiles are too close together: it is overconfident."),
            ((0.1, 0.8), 1.6, "Its quantiles are too far apart: it is underconfident."),
        ],
    )
    def test_wrong_spreads(self, levels, scale, text):
        prediction, y, _ = lognormal(levels, scale=scale)
        assert judged(prediction, y).statements[0].text == text

    def test_one_end_that_is_off_is_the_interval(self):
        prediction, y, _ = lognormal()
        values = prediction.values.copy()
        values[..., -2:] = values[..., 4:5]  # the upper levels say what the level 0.75 says
        found = judged(caveat.Quantiles(SEVEN, values), y)
        assert found.statements[0].text == "Its intervals are too narrow: it is overconfident."

    def test_a_level_off_where_intervals_are_right(self):
        # The median at the quantile of 0.65: no interval has it for an end.
        prediction, y, _ = lognormal(n=4000)
        values = prediction.values.copy()
        values[..., 3] = lognormal((0.65,), n=4000)[0].values[..., 0]
        found = judged(caveat.Quantiles(SEVEN, values), y)
        assert found.statements[0].text.startswith("Its quantiles are too high")
        assert "its 50 % quantile in 6" in found.statements[1].text

    @pytest.mark.parametrize(
        ("levels", "true", "text"),
        [
            # The intervals of 50 and 80 % hold what they should, one too low and one too high.
            (
                SEVEN,
                (0.05, 0.145, 0.17, 0.5, 0.67, 0.945, 0.95),
                "Its intervals are wrong, some too narrow and some too wide.",
            ),
            (
                (0.1, 0.3, 0.8),
                (0.04, 0.45, 0.8),
                "Its quantiles are wrong, some too low and some too high.",
            ),
        ],
    )
    def test_shapes_that_are_wrong_both_ways(self, levels, true, text):
        prediction, y, _ = lognormal(true, n=4000)
        found = judged(caveat.Quantiles(levels, prediction.values), y)
        assert found.statements[0].text == text
        assert found.statements[0].level == found.statements[1].level == "bad"

    def test_sentences(self):
        prediction, y, median = lognormal(n=2000)
        found = judged(prediction, y)
        texts = [s.text for s in found]
        error = np.abs(y - median).mean()
        assert f"Its medians are off by {error:.2f} on average" in texts[2]
        assert not any("errors do not have the size" in text for text in texts)
        shifted = judged(lognormal((0.1, 0.5, 0.8), shift=0.3)[0], y[:1500])
        assert re.fullmatch(
            r"The truth is at or below its 10 % quantile in [\d.]+ % of cases \(95 % interval "
            r"[\d.]+ to [\d.]+ %\), its 50 % quantile in [\d.]+ % of cases \([\d.]+ to [\d.]+ %\) "
            r"and its 80 % quantile in [\d.]+ % of cases \([\d.]+ to [\d.]+ %\): its quantiles are "
            r"too high\.",
            shifted.statements[1].text,
        )

    def test_few_samples_and_no_intervals(self):
        prediction, y, _ = lognormal((0.1, 0.5, 0.8), n=60)
        assert judged(prediction, y).statements[0].text == (
            "There are too few samples to say whether its quantiles hold what they promise."
        )
        few = judged(prediction.take(np.arange(20)), y[:20])
        assert few.statements[0].level == "unsure"
        high, below, _ = lognormal((0.1, 0.5, 0.8), shift=9, n=9)  # each truth is below all of them
        nine = judged(high, below)
        assert nine.statements[0].text.startswith("There are too few samples to say whether its")
        assert nine.statements[0].level == "unsure"
        nothing = evaluate(prediction, y, resamples=0).verdict()
        assert {s.level for s in nothing} <= {"info", "unsure"}

    def test_targets_are_told_apart(self):
        good, y, _ = lognormal(targets=2)
        low = lognormal(targets=2, shift=-0.5)[0]
        values = np.concatenate([good.values[:, :, :1], low.values[:, :, 1:]], axis=2)
        found = judged(caveat.Quantiles(SEVEN, values, targets=["a", "b"]), y)
        assert "for b, its quantiles are too low" in found.statements[0].text.replace("F", "f")
        assert re.search("[Ff]or a, its intervals (nearly )?hold", found.statements[0].text)

    def test_intervals_of_one_width(self):
        prediction, y, _ = lognormal()
        interval = prediction.interval(0.9)
        assert not any("off by" in s.text for s in judged(interval, y))
        wide = caveat.Interval(y[:, 0] - 1, y[:, 0] + 2, coverage=0.9)
        assert any("the same uncertainty for every sample" in s.text for s in judged(wide, y))


class TestCompare:
    def test_by_the_levels_that_all_have(self):
        right, y, _ = lognormal()
        low, _, _ = lognormal(shift=-0.5)
        found = compare({"right": right, "low": low}, y, resamples=100, random_state=0)
        for expression, scale, metric in (
            ("interval", "local", "quantile_coverage_error"),
            ("variance", "local", "quantile_coverage_error"),
            ("variance", "global", "quantile_crps_loss"),
        ):
            answer = found.recommend(expression, scale=scale)
            assert (answer.technique, answer.primary) == ("right", metric)

    def test_intervals_by_their_loss(self):
        right, y, _ = lognormal()
        narrow, _, _ = lognormal(scale=0.4)
        intervals = {"right": right.interval(0.9), "narrow": narrow.interval(0.9)}
        found = compare(intervals, y, resamples=100, random_state=0)
        answer = found.recommend("interval")
        assert (answer.technique, answer.skill) == ("right", "interval_loss")
        assert answer.primary == "coverage_ratio"
        ratios = {r.technique: r.value for r in found.select(metric="coverage_ratio", group="")}
        assert answer.values == pytest.approx({n: abs(v - 1) for n, v in ratios.items()})
        other = {**intervals, "other": right.interval(0.5)}
        mixed = compare(other, y, metrics=["interval_loss", "coverage_ratio"], resamples=20)
        with pytest.raises(OptionError, match="proper score was not measured"):
            mixed.recommend("interval")

    def test_different_levels_are_not_compared(self):
        right, y, _ = lognormal()
        few, _, _ = lognormal((0.2, 0.5, 0.7))
        found = compare({"right": right, "few": few}, y, resamples=20, random_state=0)
        with pytest.raises(OptionError, match="was not measured"):
            found.recommend("interval")

    def test_a_gaussian_and_quantiles_have_nothing_in_common(self):
        right, y, _ = lognormal((0.05, 0.5, 0.95))
        mixed = {"quantiles": right, "gaussian": right.to_gaussian(0.9)}
        found = compare(mixed, y, metrics=["cce", "quantile_crps_loss"], resamples=20)
        with pytest.raises(OptionError, match="was not measured"):
            found.recommend("interval")
