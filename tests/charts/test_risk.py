"""Charts of a risk: decision curves, and curves of each group."""

import numpy as np
import pytest

import caveat
from caveat import charts, metrics
from caveat.exceptions import OptionError, UnsupportedPredictionError
from tests.charts import examples
from tests.charts.drawn import labels
from tests.charts.vectors import parsed

RISKS = examples.risks()
P, Y = RISKS.prediction.mean[:, 1], (RISKS.truth[:, 0] == 1).astype(int)
SEX = np.where(np.arange(examples.N) % 3, "f", "m")


def lines(chart):
    return [mark for mark in chart.marks if isinstance(mark, charts.Line) and mark.main]


class TestDecisionCurve:
    def test_is_the_curve_of_the_metric(self):
        chart = charts.decision_curve(RISKS)
        curve = metrics.net_benefit_curve(Y, P, sample_weight=RISKS.sample_weight)
        np.testing.assert_allclose(chart.numbers["model"], curve.model)
        np.testing.assert_allclose(chart.numbers["treat all"], curve.treat_all)
        assert (chart.numbers["low"] <= curve.model).all()
        assert (curve.model <= chart.numbers["high"]).all()
        assert chart.title == "Decision curve of class=ill"
        assert [mark.label for mark in chart.marks] == [
            "treat none", "treat all", "by the model", "95 % band",
        ]  # fmt: skip

    def test_the_band_is_that_of_a_mean(self):
        """Samples of equal weight: Student's interval of the mean."""
        result = caveat.evaluate(RISKS.prediction, RISKS.prediction.classes[Y], resamples=0)
        chart = charts.decision_curve(result, thresholds=[0.2])
        score = np.where(P >= 0.2, np.where(Y == 1, 1.0, -0.25), 0.0)
        half = 1.9659 * score.std(ddof=1) / np.sqrt(len(score))  # t with 399 degrees of freedom
        assert chart.numbers["model"][0] == pytest.approx(score.mean())
        assert chart.numbers["low"][0] == pytest.approx(score.mean() - half, rel=1e-4)
        assert chart.numbers["high"][0] == pytest.approx(score.mean() + half, rel=1e-4)

    def test_marks_stay_in_the_chart(self):
        bad = caveat.evaluate(caveat.Categorical.from_binary(1 - P), Y, resamples=0)
        chart = charts.decision_curve(bad)
        bottom = chart.y.ends[0]
        assert chart.numbers["model"].min() < bottom
        for mark in chart.marks:
            for name in ("y", "low", "high"):
                assert np.min(getattr(mark, name, 0.0)) >= bottom

    def test_thresholds_at_which_treating_all_is_far_below(self):
        chart = charts.decision_curve(RISKS, thresholds=[0.97, 0.98])
        assert len(chart.marks[1].x) == 0
        assert parsed(chart.svg()) is not None
        assert chart.plot().get_ylabel() == "net benefit"

    def test_of_each_group(self):
        chart = charts.decision_curve(RISKS, group="sex")
        frame = chart.to_frame()
        for i, sex in enumerate("fm"):
            some = sex == SEX
            curve = metrics.net_benefit_curve(
                Y[some], P[some], sample_weight=RISKS.sample_weight[some]
            )
            own = frame[frame.group == sex]
            np.testing.assert_allclose(own.model, curve.model)
            np.testing.assert_allclose(own["treat all"], curve.treat_all)
            assert lines(chart)[i].label == sex
        assert chart.title == "Decision curve of class=ill by sex"
        assert [mark.label for mark in chart.marks[:3]] == [
            "treat none", "treat all of f", "treat all of m",
        ]  # fmt: skip
        assert "f" in labels(chart.plot())
        assert "treat all of m" in chart.svg()

    def test_for_two_classes(self):
        with pytest.raises(UnsupportedPredictionError, match="needs probabilities of two classes"):
            charts.decision_curve(examples.classes())
        assert caveat.plot(RISKS, "net_benefit").get_title() == "Decision curve of class=ill"

    def test_techniques_share_the_axes(self):
        both = {
            "one": RISKS.prediction,
            "two": caveat.Categorical.from_binary(P**2, classes=["well", "ill"]),
        }
        comparison = caveat.compare(
            both, RISKS.prediction.classes[Y], metrics=["auc"], resamples=20, random_state=0
        )
        ax = caveat.plot(comparison, "decision_curve")
        assert labels(ax) == ["treat none", "treat all", "one", "two"]

    def test_on_the_page_of_two_classes_alone(self, tmp_path):
        for result, there in ((RISKS, True), (examples.classes(), False)):
            result.report(tmp_path / "page.html")
            page = (tmp_path / "page.html").read_text(encoding="utf-8")
            assert ("Decision curve of" in page) == there
            assert ("Reliability of the probability of class=ill by sex" in page) == there


class TestReliabilityOfGroups:
    @pytest.mark.parametrize("view", [None, "class", "confidence"])
    def test_is_that_of_the_group_alone(self, view):
        chart = charts.reliability(RISKS, view, group="sex")
        frame = chart.to_frame()
        for sex in "fm":
            some = np.flatnonzero(sex == SEX)
            alone = caveat.evaluate(
                RISKS.prediction.take(some), RISKS.prediction.classes[Y[some]], resamples=0,
                sample_weight=RISKS.sample_weight[some], cluster=RISKS.cluster[some],
            )  # fmt: skip
            wanted = charts.reliability(alone, view).to_frame()
            own = frame[frame.group == sex].drop(columns="group").reset_index(drop=True)
            for name in ("predicted", "observed", "low", "high"):
                np.testing.assert_allclose(own[name], wanted[name])

    def test_lines_and_bands_of_two_groups(self):
        chart = charts.reliability(RISKS, group="sex")
        assert chart.title == "Reliability of the probability of class=ill by sex"
        assert [line.label for line in lines(chart)] == ["f", "m"]
        bands = [mark for mark in chart.marks if isinstance(mark, charts.Band)]
        assert [band.color for band in bands] == [line.color for line in lines(chart)]
        ax = caveat.plot(RISKS, "reliability", group="sex")
        assert labels(ax) == ["perfectly calibrated", "f", "m"]
        svg = chart.svg()
        parsed(svg)
        assert ">f<" in svg
        assert ">m<" in svg

    def test_many_groups(self):
        chart = charts.reliability(RISKS, group="ward")
        assert len(lines(chart)) == 7
        assert not [mark for mark in chart.marks if isinstance(mark, charts.Band)]
        assert chart.note == "The 7 largest groups; 2 more are left out."

    @pytest.mark.parametrize(
        ("make", "options", "message"),
        [
            (examples.risks, {"group": "age"},
             "the evaluation has no group 'age'; its groups are 'sex', 'ward'"),
            (examples.risks, {"group": "class"},
             "the evaluation has no group 'class'; its groups are 'sex', 'ward'"),
            (examples.probability_intervals, {"group": "sex"},
             "the evaluation has no group 'sex'; it has none; pass groups= to evaluate"),
            (examples.risks, {"group": "sex", "view": "entropy"},
             "group is for view 'class' and 'confidence'; got 'sex' for 'entropy'"),
        ],
    )  # fmt: skip
    def test_messages(self, make, options, message):
        with pytest.raises(OptionError) as error:
            charts.reliability(make(), **options)
        assert str(error.value) == message
