from dataclasses import replace

import numpy as np
import pytest

import caveat
from caveat import charts, metrics
from caveat.exceptions import OptionError, UnsupportedPredictionError
from tests.charts import examples

RANKED = [
    name
    for name in examples.ALL
    if name not in ("one-sided quantiles", "interval", "infinite interval", "sets")
]


class TestAvailable:
    CLASSES = "reliability confidence_curve error_histogram ecdf split groups"
    NUMBERS = "coverage error_calibration confidence_curve error_histogram ecdf"
    NAMES = {  # noqa: RUF012
        "classes": CLASSES,
        "weighted classes": CLASSES,
        "logits": CLASSES,
        "probability intervals": CLASSES.replace(" split", "").replace(
            "reliability", "reliability decision_curve"
        ),
        "risks": "reliability decision_curve confidence_curve error_histogram ecdf groups",
        "numbers": f"{NUMBERS} split groups",
        "weighted numbers": f"{NUMBERS} split",
        "two targets": f"{NUMBERS} split",
        "quantiles": NUMBERS.replace("error_calibration ", ""),
        "interval": "coverage",
        "one-sided quantiles": "coverage",
        "infinite interval": "coverage",
        "sets": "coverage groups",
    }

    @pytest.mark.parametrize("name", examples.ALL)
    def test_names(self, name):
        assert charts.available(examples.ALL[name]()) == self.NAMES[name].split()

    @pytest.mark.parametrize("name", examples.ALL)
    def test_all_of_them_can_be_had_as_frames_without_nan(self, name):
        result = examples.ALL[name]()
        for kind in charts.available(result):
            options = {"metric": result.rows[-1].metric} if kind == "groups" else {}
            frame = charts.chart(result, kind, **options).to_frame()
            assert len(frame) > 0
            assert not frame.isna().any(axis=None)


class TestConfidence:
    @pytest.mark.parametrize("name", RANKED)
    def test_is_the_curve_of_the_metric(self, name):
        result = examples.ALL[name]()
        numbers = charts.confidence_curve(result).numbers
        expected = metrics.confidence_curve(
            result.error[:, 0], result.uncertainty[:, 0], sample_weight=result.sample_weight
        )
        for field in ("removed", "error", "oracle", "random"):
            assert numbers[field].tolist() == getattr(expected, field).tolist()
        assert (numbers["low"] <= numbers["error"]).all()
        assert (numbers["error"] <= numbers["high"]).all()
        assert numbers["low"].min() >= 0

    def test_band_of_all_is_wilsons(self):
        from scipy.stats import binomtest

        numbers = charts.confidence_curve(examples.classes()).numbers
        wrong = int(examples.classes().error.sum())
        expected = binomtest(wrong, examples.N).proportion_ci(method="wilson")
        found = numbers["low"][0], numbers["high"][0]
        assert found == pytest.approx((expected.low, expected.high))

    def test_infinite_uncertainty_goes_first(self):
        result = examples.numbers()
        found = []
        for largest in (np.inf, 1e9):
            spread = result.uncertainty.copy()
            spread[7] = largest
            chart = charts.confidence_curve(replace(result, uncertainty=spread))
            found.append(chart.numbers["error"].tolist())
        assert found[0] == found[1]


class TestErrorHistogram:
    @staticmethod
    def counts(chart):
        return np.nan_to_num(chart.marks[0].values)

    @pytest.mark.parametrize("name", ["classes", "weighted classes"])
    def test_is_numpys_for_classes(self, name):
        result = examples.ALL[name]()
        p, codes = examples.class_arrays()
        error = 1 - p.mean(axis=0)[np.arange(examples.N), codes]
        chart = charts.error_histogram(result)
        expected, x, y = np.histogram2d(
            result.uncertainty[:, 0], error, 40,
            [[0, result.uncertainty.max()], [0, error.max()]], weights=result.sample_weight,
        )  # fmt: skip
        if result.sample_weight is None:
            assert self.counts(chart).tolist() == expected.T.tolist()
            assert chart.marks[0].y == pytest.approx(y)
            assert chart.marks[0].x == pytest.approx(x)
        assert self.counts(chart).sum() == pytest.approx(expected.sum())
        assert chart.note == ""
        assert len(chart.marks) == 1  # an error below 1 is no uncertainty: no diagonal

    def test_the_table_has_the_cells_that_hold_samples_the_fullest_first(self):
        chart = charts.error_histogram(examples.numbers(), bins=12)
        frame, heat = chart.to_frame(), chart.marks[0]
        assert frame["samples"].tolist() == sorted(frame["samples"], reverse=True)
        assert len(frame) == np.isfinite(heat.values).sum()
        for row in frame.itertuples():
            i = np.flatnonzero(heat.y == row.error_low)[0]
            j = np.flatnonzero(heat.x == row.uncertainty_low)[0]
            assert (heat.values[i, j], heat.y[i + 1]) == (row.samples, row.error_high)

    def test_long_tails_end_in_the_last_cell(self):
        result = examples.numbers()
        error = result.error.copy()
        error[3] = 1e6
        chart = charts.error_histogram(replace(result, error=error), bins=10)
        assert self.counts(chart).sum() == examples.N
        assert chart.marks[0].y[-1] == pytest.approx(np.quantile(error, 0.995))
        assert self.counts(chart)[-1].sum() >= 1
        assert chart.note == "The last row also holds what lies beyond."

    def test_infinite_uncertainty_is_in_the_last_cell(self):
        result = examples.numbers()
        spread = np.full_like(result.uncertainty, 2.0)
        spread[5] = np.inf
        chart = charts.error_histogram(replace(result, uncertainty=spread), bins=4)
        assert chart.marks[0].x.tolist() == [0, 0.5, 1, 1.5, 2]
        assert self.counts(chart)[:, -1].sum() == examples.N
        assert chart.note == "The last column also holds what lies beyond."
        spread[:] = np.inf
        chart = charts.error_histogram(replace(result, uncertainty=spread), bins=2)
        assert chart.marks[0].x.tolist() == [0, 0.5, 1]
        assert self.counts(chart)[:, -1].sum() == examples.N

    def test_nothing_but_zeros(self):
        result = examples.evaluate(caveat.Gaussian([1.0], 0.0), [1.0])
        chart = charts.error_histogram(result, bins=3)
        assert self.counts(chart)[0, 0] == self.counts(chart).sum() == 1
        assert chart.marks[0].y[-1] == 1
        assert chart.numbers["samples"].tolist() == [1]


class TestEcdf:
    @pytest.mark.parametrize("name", ["classes", "weighted classes"])
    def test_is_the_share_at_or_below(self, name):
        result = examples.ALL[name]()
        chart = charts.ecdf(result)
        weight = np.ones(examples.N) if result.sample_weight is None else result.sample_weight
        error, spread = result.error[:, 0], result.uncertainty[:, 0]
        grid = chart.numbers["uncertainty"]
        for column, part in (("right", error == 0), ("wrong", error == 1)):
            values = chart.numbers[column]
            below = spread[None] <= grid[1:, None]
            expected = (below * weight * part).sum(axis=1) / weight[part].sum()
            assert values[0] == 0
            assert values[1:] == pytest.approx(expected)
            assert values[-1] == pytest.approx(1)
        sizes = [((error == wrong) & (weight > 0)).sum() for wrong in (0, 1)]
        assert [m.label for m in chart.marks] == [f"right ({sizes[0]})", f"wrong ({sizes[1]})"]
        assert len(grid) <= 201

    def test_numbers_have_halves(self):
        half = examples.N // 2
        names = "smaller half of the errors", "larger half of the errors"
        chart = charts.ecdf(examples.numbers())
        assert [mark.label for mark in chart.marks] == [f"{name} ({half})" for name in names]
        result = examples.weighted_numbers()
        chart = charts.ecdf(result)
        error, weight = result.error[:, 0], result.sample_weight
        order = np.argsort(error)
        half = error[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]
        smaller = ((error <= half) & (weight > 0)).sum()
        assert chart.marks[0].label == f"smaller half of the errors ({smaller})"
        assert chart.title == "Uncertainty of small and large errors"

    def test_all_right(self):
        prediction = caveat.Categorical.from_binary([0.1, 0.2])
        chart = charts.ecdf(examples.evaluate(prediction, [0, 0]))
        assert [mark.label for mark in chart.marks] == ["right (2)"]
        assert not chart.numbers["wrong"].any()

    def test_infinite_uncertainties_are_beyond_the_grid(self):
        result = examples.classes()
        spread = np.where(np.arange(examples.N) % 2, np.inf, 1.0)[:, None]
        numbers = charts.ecdf(replace(result, uncertainty=spread)).numbers
        assert numbers["uncertainty"].tolist() == [1, 1]
        right = result.error[:, 0] == 0
        assert numbers["right"][-1] == pytest.approx((spread[right, 0] == 1).mean())
        numbers = charts.ecdf(replace(result, uncertainty=np.full_like(spread, np.inf))).numbers
        assert numbers["right"].tolist() == [0, 0]


class TestSplit:
    def test_parts_are_those_of_the_decomposition(self):
        result = examples.classes()
        numbers = charts.split(result).numbers
        assert numbers["aleatoric"].tolist() == result.decomposition.aleatoric.tolist()
        assert numbers["epistemic"].tolist() == result.decomposition.epistemic.tolist()
        assert numbers["id"].tolist() == [str(i) for i in range(examples.N)]

    @pytest.mark.parametrize("name", ["classes", "numbers"])
    def test_few_points_show_the_wrong_ones(self, name):
        result = examples.ALL[name]()
        error = result.error[:, 0]
        chart = charts.split(result, points=60)
        ids = chart.numbers["id"]
        assert len(ids) == len(set(ids)) == 60
        rows = ids.astype(int)
        assert chart.numbers["error"].tolist() == error[rows].tolist()
        assert chart.numbers["uncertainty"].tolist() == result.uncertainty[rows, 0].tolist()
        wrong = error > (0 if name == "classes" else np.quantile(error, 0.9))
        assert wrong[rows].sum() == 30
        assert charts.split(result, points=60).numbers["id"].tolist() == ids.tolist()
        which = "wrong ones" if name == "classes" else "large errors"
        assert chart.note == f"60 of 400 samples are shown, {which} more often than they occur."

    def test_where_few_are_right_the_wrong_ones_fill_up(self):
        result = examples.classes()
        error = np.ones_like(result.error)
        error[:3] = 0
        numbers = charts.split(replace(result, error=error), points=100).numbers
        assert len(numbers["id"]) == 100
        assert (numbers["error"] == 0).sum() == 3

    def test_of_a_target(self):
        result = examples.two_targets()
        chart = charts.split(result, "dbp")
        assert chart.numbers["epistemic"].tolist() == result.decomposition.epistemic[:, 1].tolist()
        assert chart.title == "Aleatoric and epistemic uncertainty of dbp"

    @pytest.mark.parametrize("name", ["quantiles", "sets", "probability intervals"])
    def test_needs_both_parts(self, name):
        result = examples.ALL[name]()
        with pytest.raises(UnsupportedPredictionError) as error:
            charts.split(result)
        kind, has = type(result.prediction).__name__, ", ".join(charts.available(result))
        assert str(error.value) == (
            "split needs an aleatoric and an epistemic part of the uncertainty, which this "
            f"{kind} does not have; it has {has}"
        )

    def test_infinite_parts_are_not_shown(self):
        result = examples.classes()
        epistemic = result.decomposition.epistemic.copy()
        epistemic[4] = np.inf
        broken = caveat.Decomposition(
            result.decomposition.total, result.decomposition.aleatoric, epistemic,
            additive=False, method="pairwise",
        )  # fmt: skip
        numbers = charts.split(replace(result, decomposition=broken)).numbers
        assert "4" not in numbers["id"].tolist()
        assert np.isfinite(numbers["epistemic"]).all()

    def test_actions_of_a_policy(self):
        result = examples.classes()
        actions = np.array(["accept", "ask an expert", "measure again", "defer"])[
            np.arange(examples.N) % 4
        ]
        chart = charts.split(result, actions=actions, points=100)
        rows = chart.numbers["id"].astype(int)
        assert chart.numbers["action"].tolist() == actions[rows].tolist()
        assert len({(mark.color, mark.marker) for mark in chart.marks}) == 4
        for mark in chart.marks:
            assert mark.text == chart.numbers["id"][actions[rows] == mark.label].tolist()
            assert mark.keys is None  # the policy decides, no slider
        assert "what the policy does" in chart.read
        for wrong in (actions[:5], np.where(actions == "defer", "x", actions)):
            with pytest.raises(OptionError, match=r"^actions must be 400 of 'accept', 'ask an"):
                charts.split(result, actions=wrong)


class TestDeferral:
    @pytest.mark.parametrize("name", ["classes", "weighted numbers"])
    def test_is_the_confidence_curve(self, name):
        result = examples.ALL[name]()
        found = charts.deferral(result)
        assert found.deferred.tolist() == (np.arange(100) / 100).tolist()
        expected = charts.confidence_curve(result).numbers["error"]
        assert found.error == pytest.approx(expected)
        assert (np.diff(found.threshold) <= 0).all()
        counted = np.ones(examples.N) if result.sample_weight is None else result.sample_weight
        for share in (0, 0.25, 0.9):
            kept = result.uncertainty[:, 0] <= found.threshold[int(share * 100)]
            assert counted[kept].sum() >= (1 - share) * counted.sum() - 1e-9

    def test_needs_an_order(self):
        with pytest.raises(UnsupportedPredictionError, match=r"^deferral needs an uncertainty and"):
            charts.deferral(examples.sets())
