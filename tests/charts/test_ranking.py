from dataclasses import replace

import numpy as np
import pytest

import caveat
from caveat import figures, metrics
from tests.figures import examples

RANKED = [
    name
    for name in examples.ALL
    if name not in ("one-sided quantiles", "interval", "infinite interval", "sets")
]


class TestAvailable:
    CLASSES = "reliability confidence_curve error_histogram ecdf split by_group extremes"
    NUMBERS = "coverage error_calibration confidence_curve error_histogram ecdf extremes"
    NAMES = {  # noqa: RUF012
        "classes": CLASSES,
        "weighted classes": CLASSES,
        "logits": CLASSES,
        "probability intervals": CLASSES.replace(" split", ""),
        "numbers": NUMBERS.replace("ecdf", "ecdf split by_group"),
        "weighted numbers": NUMBERS.replace("ecdf", "ecdf split"),
        "two targets": NUMBERS.replace("ecdf", "ecdf split"),
        "quantiles": NUMBERS.replace("error_calibration ", ""),
        "interval": "coverage",
        "one-sided quantiles": "coverage",
        "infinite interval": "coverage",
        "sets": "coverage by_group",
    }

    @pytest.mark.parametrize("name", examples.ALL)
    def test_names(self, name):
        assert figures.available(examples.ALL[name]()) == self.NAMES[name].split()

    @pytest.mark.parametrize("name", examples.ALL)
    def test_all_of_them_can_be_had_as_frames_without_nan(self, name):
        result = examples.ALL[name]()
        for figure in figures.available(result):
            options = (result.rows[-1].metric,) if figure == "by_group" else ()
            frame = getattr(figures, figure)(result, *options).to_frame()
            assert len(frame) > 0
            assert not frame.isna().any(axis=None)


class TestConfidence:
    @pytest.mark.parametrize("name", RANKED)
    def test_is_the_curve_of_the_metric(self, name):
        result = examples.ALL[name]()
        figure = figures.confidence_curve(result)
        expected = metrics.confidence_curve(
            result.error[:, 0], result.uncertainty[:, 0], sample_weight=result.sample_weight
        )
        for field in ("removed", "error", "oracle", "random"):
            assert getattr(figure, field).tolist() == getattr(expected, field).tolist()
        assert (figure.low <= figure.error).all()
        assert (figure.error <= figure.high).all()
        assert figure.low.min() >= 0

    def test_band_of_all_is_wilsons(self):
        from scipy.stats import binomtest

        figure = figures.confidence_curve(examples.classes())
        wrong = int(examples.classes().error.sum())
        expected = binomtest(wrong, examples.N).proportion_ci(method="wilson")
        assert (figure.low[0], figure.high[0]) == pytest.approx((expected.low, expected.high))

    def test_infinite_uncertainty_goes_first(self):
        result = examples.numbers()
        spread = result.uncertainty.copy()
        spread[7] = np.inf
        figure = figures.confidence_curve(replace(result, uncertainty=spread))
        spread[7] = 1e9
        expected = figures.confidence_curve(replace(result, uncertainty=spread))
        assert figure.error.tolist() == expected.error.tolist()


class TestErrorHistogram:
    @pytest.mark.parametrize("name", ["classes", "weighted classes"])
    def test_is_numpys_for_classes(self, name):
        result = examples.ALL[name]()
        p, codes = examples.class_arrays()
        error = 1 - p.mean(axis=0)[np.arange(examples.N), codes]
        figure = figures.error_histogram(result)
        expected, x, y = np.histogram2d(
            result.uncertainty[:, 0], error, 40,
            [[0, result.uncertainty.max()], [0, error.max()]], weights=result.sample_weight,
        )  # fmt: skip
        if result.sample_weight is None:
            assert figure.counts.tolist() == expected.T.tolist()
            assert figure.error_edges == pytest.approx(y)
            assert figure.uncertainty_edges == pytest.approx(x)
        assert figure.counts.sum() == pytest.approx(expected.sum())
        assert figure.note == ""

    def test_long_tails_end_in_the_last_cell(self):
        result = examples.numbers()
        error = result.error.copy()
        error[3] = 1e6
        figure = figures.error_histogram(replace(result, error=error), bins=10)
        assert figure.counts.sum() == examples.N
        assert figure.error_edges[-1] == pytest.approx(np.quantile(error, 0.995))
        assert figure.counts[-1].sum() >= 1
        assert figure.note == "the last row also holds what lies beyond"

    def test_infinite_uncertainty_is_in_the_last_cell(self):
        result = examples.numbers()
        spread = np.full_like(result.uncertainty, 2.0)
        spread[5] = np.inf
        figure = figures.error_histogram(replace(result, uncertainty=spread), bins=4)
        assert figure.uncertainty_edges.tolist() == [0, 0.5, 1, 1.5, 2]
        assert figure.counts[:, -1].sum() == examples.N
        assert figure.note == "the last column also holds what lies beyond"
        spread[:] = np.inf
        figure = figures.error_histogram(replace(result, uncertainty=spread), bins=2)
        assert figure.uncertainty_edges.tolist() == [0, 0.5, 1]
        assert figure.counts[:, -1].sum() == examples.N

    def test_nothing_but_zeros(self):
        figure = figures.error_histogram(
            examples.evaluate(caveat.Gaussian([1.0], 0.0), [1.0]), bins=3
        )
        assert figure.counts[0, 0] == figure.counts.sum() == 1
        assert figure.error_edges[-1] == 1
        assert figure.to_frame()["count"].tolist() == [1]


class TestEcdf:
    @pytest.mark.parametrize("name", ["classes", "weighted classes"])
    def test_is_the_share_at_or_below(self, name):
        result = examples.ALL[name]()
        figure = figures.ecdf(result)
        weight = np.ones(examples.N) if result.sample_weight is None else result.sample_weight
        error, spread = result.error[:, 0], result.uncertainty[:, 0]
        assert (figure.right[0], figure.wrong[0]) == (0, 0)
        for values, part in ((figure.right, error == 0), (figure.wrong, error == 1)):
            below = spread[None] <= figure.uncertainty[1:, None]
            expected = (below * weight * part).sum(axis=1) / weight[part].sum()
            assert values[1:] == pytest.approx(expected)
            assert values[-1] == pytest.approx(1)
        assert figure.right_count == ((error == 0) & (weight > 0)).sum()
        assert figure.right_count + figure.wrong_count == (weight > 0).sum()
        assert (figure.right_label, figure.wrong_label) == ("right", "wrong")
        assert len(figure.uncertainty) <= 201

    def test_numbers_have_halves(self):
        figure = figures.ecdf(examples.numbers())
        assert figure.right_count == figure.wrong_count == examples.N // 2
        result = examples.weighted_numbers()
        figure = figures.ecdf(result)
        error, weight = result.error[:, 0], result.sample_weight
        order = np.argsort(error)
        half = error[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]
        assert figure.right_count == ((error <= half) & (weight > 0)).sum()
        assert figure.title == "Uncertainty of small and large errors"

    def test_all_right(self):
        prediction = caveat.Categorical.from_binary([0.1, 0.2])
        figure = figures.ecdf(examples.evaluate(prediction, [0, 0]))
        assert figure.wrong_count == 0
        assert not figure.wrong.any()

    def test_infinite_uncertainties_are_beyond_the_grid(self):
        result = examples.classes()
        spread = np.where(np.arange(examples.N) % 2, np.inf, 1.0)[:, None]
        figure = figures.ecdf(replace(result, uncertainty=spread))
        assert figure.uncertainty.tolist() == [1, 1]
        right = result.error[:, 0] == 0
        assert figure.right[-1] == pytest.approx((spread[right, 0] == 1).mean())
        figure = figures.ecdf(replace(result, uncertainty=np.full_like(spread, np.inf)))
        assert figure.right.tolist() == [0, 0]


class TestSplit:
    def test_parts_are_those_of_the_decomposition(self):
        result = examples.classes()
        figure = figures.split(result)
        assert figure.aleatoric.tolist() == result.decomposition.aleatoric.tolist()
        assert figure.epistemic.tolist() == result.decomposition.epistemic.tolist()
        assert figure.ids.tolist() == [str(i) for i in range(examples.N)]

    def test_deferral_is_the_confidence_curve(self):
        for result in (examples.classes(), examples.weighted_numbers()):
            figure, curve = figures.split(result), figures.confidence_curve(result)
            assert figure.deferred.tolist() == (np.arange(101) / 100).tolist()
            assert figure.error_kept[:100] == pytest.approx(curve.error)
            assert figure.error_kept[100] == figure.error_kept[99]
            assert (np.diff(figure.threshold) <= 0).all()
            counted = np.ones(examples.N) if result.sample_weight is None else result.sample_weight
            for share in (0, 0.25, 0.9):
                kept = result.uncertainty[:, 0] <= figure.threshold[int(share * 100)]
                assert counted[kept].sum() >= (1 - share) * counted.sum() - 1e-9
            assert figure.threshold[100] == result.uncertainty[counted > 0].min()

    @pytest.mark.parametrize("name", ["classes", "numbers"])
    def test_few_points_show_the_wrong_ones(self, name):
        result = examples.ALL[name]()
        error = result.error[:, 0]
        figure = figures.split(result, points=60)
        assert len(figure.ids) == len(set(figure.ids)) == 60
        rows = figure.ids.astype(int)
        assert figure.error.tolist() == error[rows].tolist()
        assert figure.uncertainty.tolist() == result.uncertainty[rows, 0].tolist()
        wrong = error > (0 if name == "classes" else np.quantile(error, 0.9))
        assert wrong[rows].sum() == 30
        assert figures.split(result, points=60).ids.tolist() == figure.ids.tolist()

    def test_where_few_are_right_the_wrong_ones_fill_up(self):
        result = examples.classes()
        error = np.ones_like(result.error)
        error[:3] = 0
        figure = figures.split(replace(result, error=error), points=100)
        assert len(figure.ids) == 100
        assert (figure.error == 0).sum() == 3

    def test_of_a_target(self):
        result = examples.two_targets()
        figure = figures.split(result, "dbp")
        assert figure.epistemic.tolist() == result.decomposition.epistemic[:, 1].tolist()
        assert figure.title == "Aleatoric and epistemic uncertainty of dbp"

    @pytest.mark.parametrize("name", ["quantiles", "sets", "probability intervals"])
    def test_none_without_both_parts(self, name):
        assert figures.split(examples.ALL[name]()) is None

    def test_infinite_parts_are_not_shown(self):
        result = examples.classes()
        epistemic = result.decomposition.epistemic.copy()
        epistemic[4] = np.inf
        broken = caveat.Decomposition(
            result.decomposition.total, result.decomposition.aleatoric, epistemic,
            additive=False, method="pairwise",
        )  # fmt: skip
        figure = figures.split(replace(result, decomposition=broken))
        assert "4" not in figure.ids.tolist()
        assert np.isfinite(figure.epistemic).all()
