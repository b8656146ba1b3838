import numpy as np
import pytest
from sklearn.calibration import calibration_curve

import caveat
from caveat import charts, metrics
from caveat.exceptions import OptionError, UnsupportedPredictionError
from tests.charts import examples

CURVES = {
    "confidence": metrics.reliability_curve,
    "entropy": metrics.uncertainty_reliability_curve,
    "variation": metrics.variation_reliability_curve,
}


def strip(chart):
    """Return the density of predictions."""
    (found,) = [mark for mark in chart.marks if isinstance(mark, charts.Strip)]
    return found


def check(chart):
    for array in (*chart.numbers.values(), strip(chart).heights, strip(chart).edges):
        assert array.dtype == np.float64
        assert np.isfinite(array).all()
    low, observed, high = (chart.numbers[name] for name in ("low", "observed", "high"))
    assert (low <= observed).all()
    assert (observed <= high).all()
    assert low.min() >= 0
    assert high.max() <= 1
    assert strip(chart).heights.sum() == pytest.approx(1)
    assert len(strip(chart).edges) == len(strip(chart).heights) + 1


class TestReliability:
    @pytest.mark.parametrize("kind", CURVES)
    @pytest.mark.parametrize(
        "name", ["classes", "weighted classes", "probability intervals", "logits"]
    )
    def test_is_the_curve_of_the_metric_in_the_table(self, kind, name):
        result = examples.ALL[name]()
        chart = charts.reliability(result, kind)
        check(chart)
        curve = result.curves[chart.headline.metric]
        for field, column in (("predicted",) * 2, ("observed",) * 2, ("weight", "samples")):
            expected = pytest.approx(getattr(curve, field), abs=1e-12)
            assert chart.numbers[column] == expected
        (row,) = result.select(metric=chart.headline.metric, group="")
        assert chart.headline.value == row.value
        assert chart.headline.interval == (row.low, row.high)
        off = np.abs(chart.numbers["predicted"] - chart.numbers["observed"])
        value = np.average(off, weights=chart.numbers["samples"])
        assert value == pytest.approx(row.value)

    def test_of_two_classes_is_that_of_the_second(self):
        p = np.random.default_rng(0).random(500)
        y = np.array(["well", "ill"])[(np.random.default_rng(1).random(500) < p).astype(int)]
        prediction = caveat.Categorical.from_binary(p, classes=["well", "ill"])
        result = examples.sampled(prediction, y, metrics=["positive_ece", "ece"])
        chart = charts.reliability(result)
        check(chart)
        assert chart.headline.metric == "positive_calibration_error"
        assert chart.x.label == "predicted probability of class=ill"
        (row,) = result.select(metric="positive_calibration_error", group="")
        assert (chart.headline.value, chart.headline.interval) == (row.value, (row.low, row.high))
        assert chart.headline.estimate == row.estimate
        other = charts.reliability(result, label="well")
        assert other.numbers["predicted"][::-1] == pytest.approx(1 - chart.numbers["predicted"])
        assert other.numbers["observed"][::-1] == pytest.approx(1 - chart.numbers["observed"])

    def test_of_one_of_many_classes_against_the_rest(self):
        p, codes = examples.class_arrays()
        result = examples.sampled(caveat.Categorical(p), codes, metrics=["positive_ece"])
        chart = charts.reliability(result, "class", label=2)
        curve = metrics.reliability_curve((codes == 2) * 1, p.mean(axis=0)[:, 2], kind="positive")
        assert chart.numbers["predicted"] == pytest.approx(curve.predicted)
        assert chart.numbers["observed"] == pytest.approx(curve.observed)
        (row,) = result.select(option="class=2")
        assert chart.headline.value == row.value
        with pytest.raises(
            OptionError, match=r"needs label=, one of the classes \['0', '1', '2'\]"
        ):
            charts.reliability(result, "class")
        with pytest.raises(OptionError, match=r"label must be one of .*; got 'x'"):
            charts.reliability(result, "class", label="x")
        with pytest.raises(OptionError, match="label is for view 'class'; got 2 for 'confidence'"):
            charts.reliability(result, label=2)

    def test_is_scikit_learns_for_two_classes(self):
        p = np.random.default_rng(0).random(500)
        y = (np.random.default_rng(1).random(500) < p).astype(int)
        chart = charts.reliability(examples.evaluate(caveat.Categorical.from_binary(p), y))
        observed, predicted = calibration_curve(y, p, n_bins=15)
        assert chart.numbers["predicted"] == pytest.approx(predicted)
        assert chart.numbers["observed"] == pytest.approx(observed)

    def test_density_is_a_histogram(self):
        p, _ = examples.class_arrays()
        chart = charts.reliability(examples.classes())
        expected, _ = np.histogram(p.mean(axis=0).max(axis=1), strip(chart).edges)
        assert strip(chart).heights == pytest.approx(expected / examples.N)
        weight, _ = examples.weights_and_clusters()
        chart = charts.reliability(examples.weighted_classes())
        expected, _ = np.histogram(p.mean(axis=0).max(axis=1), strip(chart).edges, weights=weight)
        assert strip(chart).heights == pytest.approx(expected / weight.sum())

    def test_entropy_of_two_classes_is_halved(self):
        chart = charts.reliability(examples.probability_intervals(), "entropy")
        assert strip(chart).edges[-1] == 0.5
        assert chart.numbers["predicted"].max() <= 0.5
        assert chart.x.label == "half of the predicted entropy"

    def test_words(self):
        chart = charts.reliability(examples.classes())
        assert (chart.title, chart.x.label, chart.y.label) == (
            "Reliability of the confidence",
            "probability of the predicted class",
            "share that was right",
        )

    def test_ties_stand_on_several_ranks(self):
        p = np.tile([[0.4, 0.4, 0.1, 0.1]], (40, 1))
        y = np.arange(40) % 4
        result = examples.evaluate(caveat.Categorical(p), y)
        chart = charts.reliability(result, "variation")
        check(chart)
        assert chart.numbers["observed"] == pytest.approx(
            result.curves[chart.headline.metric].observed
        )

    @pytest.mark.parametrize("kind", CURVES)
    @pytest.mark.parametrize("right", [0, 1], ids=["all wrong", "all right"])
    @pytest.mark.parametrize("samples", [1, 30])
    def test_certain_ones_still_have_a_band(self, kind, right, samples):
        p = np.tile([[0.9, 0.05, 0.05]], (samples, 1))
        y = np.full(samples, 0 if right else 1)
        chart = charts.reliability(examples.evaluate(caveat.Categorical(p), y), kind)
        check(chart)
        assert len(chart.numbers["observed"]) == 1
        assert (chart.numbers["high"] - chart.numbers["low"])[0] > 0.1
        if kind == "confidence":
            assert chart.numbers["observed"][0] == right

    def test_a_metric_that_was_not_asked_is_nan(self):
        p, codes = examples.class_arrays()
        result = examples.evaluate(caveat.Categorical(p), codes, metrics=["brier"])
        chart = charts.reliability(result)
        assert np.isnan([chart.headline.value, *chart.headline.interval]).all()

    def test_logits_without_a_curve_are_integrated_again(self):
        mean, variance = np.random.default_rng(0).random((2, 50, 3))
        logits = caveat.GaussianLogits(mean, variance)
        chart = charts.reliability(
            examples.evaluate(logits, np.arange(50) % 3, metrics=["brier", "auco"])
        )
        p = logits.to_categorical().mean
        assert np.average(
            chart.numbers["predicted"], weights=chart.numbers["samples"]
        ) == pytest.approx(p.max(axis=1).mean())

    def test_refusals(self):
        with pytest.raises(OptionError) as error:
            charts.reliability(examples.classes(), "ece")
        assert (
            str(error.value)
            == "view must be one of 'class', 'confidence', 'entropy', 'variation'; got 'ece'"
        )
        with pytest.raises(UnsupportedPredictionError) as error:
            charts.reliability(examples.numbers())
        assert str(error.value) == (
            "reliability needs a probability for each class, which this Gaussian does not have; it "
            "has coverage, error_calibration, confidence_curve, error_histogram, ecdf, split, groups"
        )

    def test_clusters_widen_the_band(self):
        p, codes = examples.class_arrays()
        twice = caveat.Categorical(np.concatenate([p, p], axis=1))
        options = {"resamples": 0, "metrics": ["ece"]}
        alone = caveat.evaluate(caveat.Categorical(p), codes, **options)
        doubled = caveat.evaluate(
            twice,
            np.r_[codes, codes],
            cluster=np.tile(np.arange(examples.N), 2).astype(str),
            **options,
        )
        for kind in CURVES:
            a, b = (charts.reliability(one, kind).numbers for one in (alone, doubled))
            many = a["samples"] > 25  # with few, allowing for few clusters makes a difference
            assert many.sum() > 3
            assert b["observed"] == pytest.approx(a["observed"])
            widths = [(one["high"] - one["low"])[many] for one in (a, b)]
            assert widths[1] == pytest.approx(widths[0], rel=0.1)


class TestExtremes:
    def test_are_those_of_a_sort(self):
        p, codes = examples.class_arrays()
        result = examples.classes()
        found = charts.extremes(result, 7)
        total = caveat.decompose(caveat.Categorical(p)).total
        predicted = p.mean(axis=0).argmax(axis=1)
        order = sorted(range(examples.N), key=lambda i: -total[i])
        assert [s.id for s in found.most_uncertain] == [str(i) for i in order[:7]]
        wrong = [i for i in reversed(order) if predicted[i] != codes[i]]
        assert [s.id for s in found.most_confidently_wrong] == [str(i) for i in wrong[:7]]
        first = found.most_confidently_wrong[0]
        assert (first.truth, first.predicted) == (str(codes[wrong[0]]), str(predicted[wrong[0]]))
        assert (first.error, first.uncertainty) == (1.0, pytest.approx(total[wrong[0]]))
        frame = found.to_frame()
        assert frame["list"].tolist() == ["most_uncertain"] * 7 + ["most_confidently_wrong"] * 7
        assert frame.columns.tolist() == [
            "list",
            "id",
            "truth",
            "predicted",
            "uncertainty",
            "error",
            "row",
        ]
        assert [s.row for s in found.most_uncertain] == order[:7]

    def test_of_equals_the_first_and_none_if_all_are_right(self):
        result = examples.evaluate(
            caveat.Categorical(np.tile([[0.8, 0.2]], (9, 1))), np.zeros(9, int)
        )
        found = charts.extremes(result, 3)
        assert [s.id for s in found.most_uncertain] == ["0", "1", "2"]
        assert found.most_confidently_wrong == []

    def test_weights_of_zero_do_not_count(self):
        weight, _ = examples.weights_and_clusters()
        found = charts.extremes(examples.weighted_classes(), examples.N)
        assert {int(s.id) for s in found.most_uncertain} == set(np.flatnonzero(weight))

    def test_refusal(self):
        with pytest.raises(UnsupportedPredictionError) as error:
            charts.extremes(examples.sets())
        assert str(error.value) == (
            "extremes needs an uncertainty and an error for each sample, which this PredictionSet "
            "does not have; it has coverage, groups"
        )


def test_target_is_for_numbers():
    with pytest.raises(OptionError) as error:
        charts.ecdf(examples.classes(), target="a")
    assert str(error.value) == "target is for regression; classes were predicted, got 'a'"
