import numpy as np
import pytest

import caveat
from caveat import charts, metrics
from caveat.exceptions import OptionError, UnsupportedPredictionError
from tests.charts import examples


class TestCoverage:
    @pytest.mark.parametrize("name", ["numbers", "weighted numbers"])
    def test_is_the_curve_of_the_metric(self, name):
        result = examples.ALL[name]()
        chart = charts.coverage(result)
        curve = result.curves["central_coverage_error"]
        assert chart.numbers["nominal"] == pytest.approx(curve.predicted)
        assert chart.numbers["observed"] == pytest.approx(curve.observed)
        assert (chart.numbers["low"] <= chart.numbers["observed"]).all()
        assert (chart.numbers["observed"] <= chart.numbers["high"]).all()
        assert chart.x.label == "nominal coverage of the interval"
        (row,) = result.select(metric="central_coverage_error", group="")
        assert (chart.headline.value, chart.headline.interval) == (row.value, (row.low, row.high))

    def test_of_each_target(self):
        result = examples.two_targets()
        for target in ("sbp", "dbp"):
            chart = charts.coverage(result, target)
            assert chart.numbers["observed"] == pytest.approx(
                result.curves["central_coverage_error", target].observed
            )
            assert chart.title == f"Coverage of {target}"

    def test_zero_variance_covers_what_it_meets(self):
        result = examples.evaluate(
            caveat.Gaussian([0.0, 0.0, 1.0], [0.0, 0.0, 1.0]), [0.0, 3.0, 9.0]
        )
        expected = metrics.coverage_curve([0.0, 3.0, 9.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0])
        assert charts.coverage(result).numbers["observed"] == pytest.approx(expected.observed)

    def test_of_quantiles_is_that_of_their_intervals(self):
        result = examples.quantiles()
        chart = charts.coverage(result)
        assert chart.numbers["nominal"].tolist() == [0.5, 0.9]
        rows = result.select(metric="interval_coverage", group="")
        assert chart.numbers["observed"].tolist() == pytest.approx([row.value for row in rows])
        assert (chart.headline.metric, chart.headline.value) == ("interval_coverage", rows[1].value)

    def test_of_quantiles_without_pairs_is_one_sided(self):
        mean, variance, y = examples.number_arrays(members=1)
        chart = charts.coverage(examples.quantiles((0.1, 0.2)))
        values = caveat.Gaussian(mean[0], variance[0]).to_quantiles([0.1, 0.2]).values[0, :, 0]
        assert chart.numbers["nominal"].tolist() == [0.1, 0.2]
        assert chart.numbers["observed"].tolist() == pytest.approx(
            (y[:, None] <= values).mean(axis=0).tolist()
        )
        (row,) = examples.quantiles((0.1, 0.2)).select(metric="quantile_coverage_error")
        assert (chart.headline.metric, chart.headline.value) == (row.metric, row.value)
        assert chart.y.label == "share of true values at or below"

    @pytest.mark.parametrize("infinite", [False, True])
    def test_of_intervals_is_one_point(self, infinite):
        result = examples.interval(infinite)
        chart = charts.coverage(result)
        (row,) = result.select(metric="interval_coverage", group="")
        assert chart.numbers["nominal"].tolist() == [0.8]
        assert chart.numbers["observed"].tolist() == pytest.approx([row.value])
        assert chart.to_frame().columns.tolist() == ["nominal", "observed", "low", "high"]

    def test_of_sets_is_one_point(self):
        chart = charts.coverage(examples.sets())
        (row,) = examples.sets().select(metric="set_coverage", group="")
        assert (chart.y.label, chart.numbers["nominal"][0]) == ("share of true classes inside", 0.9)
        assert (chart.numbers["observed"][0], chart.headline.value) == (
            pytest.approx(row.value),
            row.value,
        )

    def test_points_have_none(self):
        with pytest.raises(UnsupportedPredictionError) as error:
            charts.coverage(examples.evaluate(caveat.Gaussian(np.arange(9.0), 0.0), np.zeros(9)))
        assert str(error.value) == (
            "coverage needs intervals, quantiles, sets of classes, or a variance above 0, which this "
            "Gaussian does not have; it has confidence_curve, error_histogram, ecdf"
        )

    def test_unknown_target(self):
        with pytest.raises(OptionError) as error:
            charts.coverage(examples.two_targets(), "pulse")
        assert str(error.value) == "unknown target 'pulse'; the targets are 'sbp', 'dbp'"


class TestErrorCalibration:
    @pytest.mark.parametrize("name", ["numbers", "weighted numbers"])
    def test_is_the_curve_of_the_metric(self, name):
        result = examples.ALL[name]()
        chart = charts.error_calibration(result)
        curve = result.curves["expected_normalized_calibration_error"]
        for field, column in (("predicted",) * 2, ("observed",) * 2, ("weight", "samples")):
            assert chart.numbers[column] == pytest.approx(getattr(curve, field))
        assert (chart.numbers["low"] < chart.numbers["observed"]).all()
        assert (chart.numbers["observed"] < chart.numbers["high"]).all()

    @pytest.mark.parametrize("name", ["quantiles", "interval"])
    def test_what_has_no_variance_has_none(self, name):
        with pytest.raises(UnsupportedPredictionError, match="needs numbers with a standard dev"):
            charts.error_calibration(examples.ALL[name]())

    def test_of_a_target(self):
        result = examples.two_targets()
        curve = result.curves["expected_normalized_calibration_error", "dbp"]
        observed = charts.error_calibration(result, "dbp").numbers["observed"]
        assert observed == pytest.approx(curve.observed)

    @pytest.mark.parametrize("samples", [1, 4, 100])
    def test_constant_uncertainty_is_one_place(self, samples):
        y = np.random.default_rng(0).normal(size=samples)
        chart = charts.error_calibration(
            examples.evaluate(caveat.Gaussian(np.zeros(samples), 4.0), y)
        )
        assert chart.numbers["predicted"] == pytest.approx(np.full(15, 2.0))
        assert chart.numbers["observed"] == pytest.approx(np.full(15, np.sqrt((y**2).mean())))
        assert np.isfinite(chart.numbers["high"]).all()

    def test_very_large_errors_are_drawn(self):
        y = np.r_[np.zeros(29), 1e75]
        result = examples.evaluate(
            caveat.Gaussian(np.zeros(30), np.arange(1.0, 31)), y, resamples=0
        )
        chart = charts.error_calibration(result)
        assert chart.numbers["observed"][-1] == pytest.approx(1e75 / np.sqrt(2))
        assert np.isfinite(chart.to_frame()).all(axis=None)

    def test_classes_have_none(self):
        with pytest.raises(
            UnsupportedPredictionError, match=r"^error_calibration needs numbers with a "
        ):
            charts.error_calibration(examples.classes())


class TestExtremes:
    def test_are_those_of_a_sort(self):
        mean, variance, y = examples.number_arrays()
        found = charts.extremes(examples.numbers(), 5)
        middle = mean.mean(axis=0)
        std = np.sqrt(variance.mean(axis=0) + mean.var(axis=0))
        error = np.abs(y - middle)
        assert [int(s.id) for s in found.most_uncertain] == np.argsort(-std)[:5].tolist()
        worst = np.argsort(-error / std)[:5]
        assert [int(s.id) for s in found.most_confidently_wrong] == worst.tolist()
        first = found.most_confidently_wrong[0]
        assert (first.truth, first.predicted) == pytest.approx((y[worst[0]], middle[worst[0]]))
        assert (first.error, first.uncertainty) == pytest.approx((error[worst[0]], std[worst[0]]))

    def test_of_quantiles_are_medians(self):
        mean, variance, _ = examples.number_arrays(members=1)
        found = charts.extremes(examples.quantiles(), 3)
        for sample in found.most_uncertain:
            row = int(sample.id)
            assert sample.predicted == pytest.approx(mean[0, row])
            assert sample.uncertainty == pytest.approx(2 * 1.6448536 * np.sqrt(variance[0, row]))

    def test_points_that_are_off_come_first(self):
        result = examples.evaluate(
            caveat.Gaussian([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]), [9.0, 0.1, 0.0]
        )
        assert [s.id for s in charts.extremes(result).most_confidently_wrong] == ["1", "0"]
