"""Names of columns as other programs write them."""

import numpy as np
import pytest

from caveat import Categorical, Gaussian, Interval, Quantiles
from caveat.exceptions import CaveatError, FileFormatError, InvalidValueError, OptionError
from caveat.files import read_predictions
from caveat.files._patterns import levels

from .tables import text

N = 4
rng = np.random.default_rng(0)
P = np.round(rng.random(N), 3)
Y = np.array([0, 1, 0, 1])


class TestProbabilities:
    @pytest.mark.parametrize(
        "name",
        [
            "pred_prob", "prob", "score", "risk", "y_prob", "y_proba", "probability", "pred_proba",
            "predicted_probability", "y_pred_proba", "y_score", "Predicted_Risk", "Score",
        ],
    )  # fmt: skip
    def test_alone(self, read, name):
        found = read({name: P, "y": Y, "age": [1, 2, 3, 4]})
        assert isinstance(found.prediction, Categorical)
        np.testing.assert_array_equal(found.prediction.mean[:, 1], P)
        assert f"{name!r}: probability of 1, the other class is 0" in found.recognized

    @pytest.mark.parametrize("prefix", ["pred_prob", "y_proba", "predicted_probability"])
    def test_of_classes(self, read, prefix):
        found = read({f"{prefix}_cat": P, f"{prefix}_big_dog": 1 - P, "y": ["cat", "big_dog"] * 2})
        assert found.prediction.classes.tolist() == ["cat", "big_dog"]

    def test_a_predicted_label_beside_them(self, read):
        for name in ("prob", "score", "pred_prob"):
            found = read({"pred": (P > 0.5) * 1.0, name: P, "y": Y})
            np.testing.assert_array_equal(found.prediction.mean[:, 1], P)

    def test_a_score_steps_back_behind_everything_else(self, read):
        found = read({"mean": P, "std": P, "score": P, "y": P})
        assert isinstance(found.prediction, Gaussian)
        found = read({"p": P, "risk": P + 1, "y": Y})
        np.testing.assert_array_equal(found.prediction.mean[:, 1], P)

    def test_two_scores(self, read):
        with pytest.raises(
            FileFormatError, match="name one: probability='score', or probability='risk'"
        ):
            read({"score": P, "risk": P, "y": Y})

    def test_a_score_that_is_no_probability(self, read):
        with pytest.raises(CaveatError, match=r"values up to 98.2 look like percentages: percent="):
            read({"score": [98.2, 1.5, 0.0, 40], "y": Y})
        with pytest.raises(CaveatError, match=r"is 700, outside \[0, 1\]; probabilities lie betw"):
            read({"score": [700.0, 650, 300, 810], "y": Y})


class TestQuantiles:
    @pytest.mark.parametrize(
        ("names", "wanted"),
        [
            ("q0.05 q0.5 q0.95", [0.05, 0.5, 0.95]),
            ("q05 q50 q95", [0.05, 0.5, 0.95]),
            ("q5 q50 q95", [0.05, 0.5, 0.95]),
            ("q_10 q_90", [0.1, 0.9]),
            ("q025 q50 q975", [0.025, 0.5, 0.975]),
            ("q025 q05 q95 q975", [0.025, 0.05, 0.95, 0.975]),
            ("q2.5 q50 q97.5", [0.025, 0.5, 0.975]),
            ("p5 p25 p50 p75 p95", [0.05, 0.25, 0.5, 0.75, 0.95]),
            ("P10 P50 P90", [0.1, 0.5, 0.9]),
            ("p2.5 p97.5", [0.025, 0.975]),
            ("p50 p90", [0.5, 0.9]),
            ("p1 p99", [0.01, 0.99]),
            ("quantile_05 quantile_95", [0.05, 0.95]),
        ],
    )
    @pytest.mark.parametrize("form", ["{}", "{}_price", "price_{}"])
    def test_one_target(self, read, names, wanted, form):
        names = [form.format(name) for name in names.split()]
        columns = {name: P + i for i, name in enumerate(names)}
        found = read({**dict(reversed(columns.items())), "y": P})
        assert isinstance(found.prediction, Quantiles)
        assert found.prediction.levels.tolist() == wanted
        np.testing.assert_array_equal(found.prediction.values[0, :, 0, 0], P)
        np.testing.assert_array_equal(found.prediction.values[0, :, 0, -1], P + (len(names) - 1))
        assert f"quantiles at {', '.join(f'{level:g}' for level in wanted)}" in found.recognized[0]

    @pytest.mark.parametrize(
        "form", ["{target}_q{level}", "q{level}_{target}", "{target}_p{level}"]
    )
    def test_several_targets(self, read, form):
        if "q" in form and form.startswith("q"):
            shown = {"0.05": 0.05, "0.95": 0.95}
        else:
            shown = {"05": 0.05, "95": 0.95}
        columns = {
            form.format(target=target, level=level): P + 10 * i + value
            for level, value in shown.items()
            for i, target in enumerate(["x", "rain_fall"])
        }
        found = read({**columns, "x": P, "y_rain_fall": P + 10})
        assert found.prediction.targets.tolist() == ["x", "rain_fall"]
        assert found.prediction.levels.tolist() == [0.05, 0.95]
        np.testing.assert_allclose(found.prediction.values[0, :, 1, 1], P + 10.95)
        np.testing.assert_array_equal(found.y, np.stack([P, P + 10], axis=1))

    @pytest.mark.parametrize("names", ["q1 q2 q3", "q1 q2 q14", "p1 p2 p3", "q10 q20"])
    def test_numbers_that_count_something(self, read, names):
        columns = dict.fromkeys(names.split(), P)
        pattern = rf"{names[0]}\{{level\}}"
        with pytest.raises(
            FileFormatError, match=rf"no prediction is .*; or quantiles with quantile='{pattern}'"
        ):
            read({**columns, "y": Y})
        found = read({**columns, "p": P, "y": Y})
        np.testing.assert_array_equal(found.prediction.mean[:, 1], P)

    def test_targets_with_other_levels(self, read):
        with pytest.raises(FileFormatError, match="no prediction is recognized"):
            read({"a_q05": P, "a_q95": P, "b_q05": P, "y": P})

    def test_named(self, read):
        columns = {"q10": P, "q20": P + 1, "x-lo-80": P, "x-median": P + 1, "y": P}
        found = read(columns, quantile="q{level}")
        assert found.prediction.levels.tolist() == [0.1, 0.2]
        found = read(columns, quantile=["x-median", "x-lo-80"])
        assert found.prediction.levels.tolist() == [0.1, 0.5]
        assert read({"q0.05_x": P, "y": P}, quantile="q0.05_x").prediction.levels.tolist() == [0.05]

    def test_two_ways_of_naming(self, read):
        columns = {"p10": P, "p90": P + 1, "y": P}
        found = read({**columns, "q0.1": P, "q0.5": P, "q0.9": P})
        assert found.prediction.levels.tolist() == [0.1, 0.5, 0.9]
        with pytest.raises(
            FileFormatError, match=r"name one: quantile='p\{level\}', or quantile='q\{level\}'"
        ):
            read({**columns, "q10": P, "q90": P})

    def test_percentiles_may_be_features(self, read):
        found = read({"delay_p50": P, "delay_p95": P, "temp": P, "temp_unc": P, "p": P, "y": Y})
        assert isinstance(found.prediction, Categorical)
        found = read({"forecast": P, "p10": P, "p90": P, "y": Y})
        assert found.prediction.levels.tolist() == [0.1, 0.9]

    def test_a_level_that_is_missing_is_named(self, read):
        with pytest.raises(FileFormatError, match=r"no column for level 0.95, target b \(1 of 4 "):
            read({"a_q0.05": P, "a_q0.95": P, "b_q0.05": P, "y": P})

    @pytest.mark.parametrize(
        "labels", ["1 2 3", "5", "5 05 95", "0 50 100 025", "100 025", "50 500"]
    )
    def test_levels_that_are_not_clear(self, labels):
        with pytest.raises(
            OptionError, match=r"the levels .* of quantiles are not clear; name the"
        ):
            levels(labels.split())

    def test_levels(self):
        assert levels(["0.5", "2.5", "50"]) == {"0.5": 0.005, "2.5": 0.025, "50": 0.5}
        assert levels([".1", "1.0"]) == {".1": 0.1, "1.0": 1.0}
        assert levels(["125", "500"]) == {"125": 0.125, "500": 0.5}


class TestNixtla:
    """unique_id, ds, y, and for each model its forecast and ends of intervals."""

    def columns(self, *coverages, model="AutoARIMA"):
        columns = {"unique_id": ["a"] * N, "ds": ["2024-01-01"] * N, "y": P, model: P + 0.1}
        for coverage in coverages:
            columns[f"{model}-lo-{coverage}"] = P - float(coverage) / 100
            columns[f"{model}-hi-{coverage}"] = P + float(coverage) / 100
        return columns

    @pytest.mark.parametrize(
        ("written", "coverage"), [("90", 0.9), ("95.0", 0.95), ("99.5", 0.995)]
    )
    def test_one_coverage_is_an_interval(self, read, written, coverage):
        found = read(self.columns(written))
        assert isinstance(found.prediction, Interval)
        assert found.prediction.coverage == coverage
        np.testing.assert_array_equal(found.prediction.upper[:, 0], P + float(written) / 100)
        np.testing.assert_array_equal(found.y, P)
        assert f"'AutoARIMA-lo-{written}': lower end at coverage {coverage:g}" in found.recognized
        assert read(self.columns(written), coverage=0.5).prediction.coverage == 0.5

    def test_several_are_quantiles(self, read):
        found = read(self.columns("80", "95"))
        assert isinstance(found.prediction, Quantiles)
        assert found.prediction.levels.tolist() == [0.025, 0.1, 0.9, 0.975]
        np.testing.assert_array_equal(found.prediction.values[0, :, 0, 3], P + 0.95)
        found = read({**self.columns("80", model="NHITS"), "NHITS-median": P})
        assert found.prediction.levels.tolist() == [0.1, 0.5, 0.9]

    def test_the_forecast_is_not_the_truth(self, read):
        columns = self.columns("90")
        del columns["y"]
        assert read(columns).y is None

    def test_two_models(self, read):
        columns = self.columns("90") | self.columns("90", model="ETS")
        with pytest.raises(
            FileFormatError,
            match="hold more than one prediction; name one: lower='AutoARIMA-lo-90' and "
            "upper='AutoARIMA-hi-90', or lower='ETS-lo-90' and upper='ETS-hi-90'",
        ):
            read(columns)
        found = read(columns, lower="ETS-lo-90", upper="ETS-hi-90")
        assert found.prediction.coverage == 0.9

    def test_one_end_is_no_interval(self, read):
        columns = self.columns("90")
        del columns["AutoARIMA-hi-90"]
        with pytest.raises(FileFormatError, match="no prediction is recognized"):
            read(columns)

    def test_ends_of_two_coverages(self, read):
        with pytest.raises(OptionError, match="an interval needs its nominal coverage"):
            read(self.columns("80", "90"), lower="AutoARIMA-lo-80", upper="AutoARIMA-hi-90")


class TestChemprop:
    """The prediction has the name of the target, and its uncertainty ends in _unc."""

    def test_one_target(self, read):
        found = read({"smiles": ["C"] * N, "logP": P, "logP_unc": P**2, "truth": P + 1})
        assert isinstance(found.prediction, Gaussian)
        np.testing.assert_array_equal(found.prediction.mean[0, :, 0], P)
        np.testing.assert_array_equal(found.prediction.variance[0, :, 0], P**2)
        np.testing.assert_array_equal(found.y, P + 1)
        assert found.recognized[0] == (
            "'logP_unc': taken for a variance, as most methods of chemprop write it; if it is a "
            "standard deviation, name mean='logP' and std='logP_unc'; if it is half the width of "
            "an interval, as after quantile regression and conformal calibration, "
            "half_width='logP_unc' and coverage="
        )
        found = read({"logP": P, "logP_unc": P, "y": P}, mean="logP", std="logP_unc")
        np.testing.assert_array_equal(found.prediction.variance[0, :, 0], P**2)

    def test_names_that_chemprop_makes(self, read):
        found = read({"pred_0": P, "pred_0_unc": P, "logP": P + 1}, target="logP")
        np.testing.assert_array_equal(found.prediction.mean[0, :, 0], P)
        np.testing.assert_array_equal(found.y, P + 1)

    def test_several_targets_with_the_truth_in_another_file(self, tmp_path):
        rows = "\n".join(f"{p},{p + 1},{p * p},1" for p in P)
        path = text(tmp_path, f"logP,logS,logP_unc,logS_unc\n{rows}\n", "preds.csv")
        truth = "\n".join(f"{p + 3},{p + 2}" for p in P)
        other = text(tmp_path, f"logS,logP\n{truth}\n", "truth.csv")
        found = read_predictions(path, target_file=other)
        assert found.prediction.targets.tolist() == ["logP", "logS"]
        np.testing.assert_allclose(found.y, np.stack([P + 2, P + 3], axis=1))
        np.testing.assert_array_equal(found.prediction.variance[0, :, 1], np.ones(N))
        assert "name mean='logP' and mean='logS' and std='{target}_unc'" in found.recognized[0]
        # The prediction itself is never the truth.
        assert read_predictions(path).y is None
        found = read_predictions(path, mean=["logP", "logS"], std="{target}_unc")
        np.testing.assert_allclose(found.prediction.variance[0, :, 0], P**4)

    def test_half_widths(self, read):
        columns = {"logP": P, "logP_unc": -0.5 * P, "y": P}
        found = read(columns, mean="logP", half_width="logP_unc", coverage=0.9)
        assert isinstance(found.prediction, Interval)
        np.testing.assert_allclose(found.prediction.lower[:, 0], 0.5 * P)
        np.testing.assert_allclose(found.prediction.upper[:, 0], 1.5 * P)
        assert found.prediction.coverage == 0.9
        with pytest.raises(OptionError, match="needs its nominal coverage"):
            read(columns, mean="logP", half_width="logP_unc")
        with pytest.raises(OptionError, match="half_width= needs the columns of the means"):
            read({"h": P, "y": P}, half_width="h", coverage=0.9)
        members = {"m_1": P, "m_2": P, "h_1": P, "h_2": P, "y": P}
        with pytest.raises(OptionError, match="intervals of several members"):
            read(members, mean="m_{member}", half_width="h_{member}", coverage=0.9)

    def test_the_models_of_an_ensemble(self, read):
        found = read({"logP": P + 3, "logP_model_0": P, "logP_model_1": P + 1})
        assert found.prediction.members == 2
        np.testing.assert_array_equal(found.prediction.mean[1, :, 0], P + 1)
        np.testing.assert_array_equal(found.y, P + 3)
        assert "name probability='logP_model_{member}'" in found.recognized[0]
        both = {f"{t}_model_{i}": P + i for i in range(2) for t in ("logP", "logS")}
        found = read({**both, "logS": P, "logP": P + 1})
        assert found.prediction.mean.shape == (2, N, 2)
        np.testing.assert_array_equal(found.y, np.stack([P + 1, P], axis=1))
        spread = {f"logP_unc_model_{i}": P + i for i in range(2)}
        found = read({"logP_model_0": P, "logP_model_1": P, **spread, "y": P})
        np.testing.assert_array_equal(found.prediction.variance[1, :, 0], P + 1)
        assert "taken for variances" in found.recognized[0]
        spread |= {f"logS_unc_model_{i}": P for i in range(2)}
        with pytest.raises(FileFormatError, match=r"mean='logP_model_\{member\}' and variance="):
            read({**both, **spread, "y": P})
        with pytest.raises(FileFormatError, match="no prediction is recognized"):
            read({"car_model_3": P, "y": P})

    def test_probabilities_of_several_classes_in_one_text(self, tmp_path):
        draw = np.random.default_rng(0).dirichlet(np.ones(3), 5)
        rows = [
            f'CC,{p.argmax()},"{",".join(f"{v:.6e}" for v in p)}",0.1,{i % 3}'
            for i, p in enumerate(draw)
        ]
        path = text(
            tmp_path, "\n".join(["smiles,kind,kind_prob,kind_unc,truth", *rows]), "preds.csv"
        )
        found = read_predictions(path)
        np.testing.assert_allclose(found.prediction.mean, draw, atol=1e-6)
        assert found.y.tolist() == [0, 1, 2, 0, 1]
        path = text(tmp_path, 'kind,kind_prob,y\n0,"0.1,x",1\n1,"0.2,0.8",0\n', "bad.csv")
        with pytest.raises(InvalidValueError, match="must be numbers"):
            read_predictions(path)

    def test_a_target_is_no_prediction(self, read):
        with pytest.raises(FileFormatError, match="no prediction is recognized"):
            read({"y": P, "y_unc": P})

    def test_an_uncertain_probability_is_no_mean(self, read):
        with pytest.raises(FileFormatError, match="name one with probability='prob'"):
            read({"prob": P, "prob_unc": P, "y": Y})
        found = read({"risk": P, "risk_unc": P, "y": Y})
        assert isinstance(found.prediction, Categorical)
