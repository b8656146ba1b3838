"""The page of an audit shows its rows, says its reading, and lets no text out of its place."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.charts._svg_parts import SHAPES as _SHAPES
from caveat.charts.marks import Bars, Points
from caveat.charts.svg import render
from caveat.exceptions import OptionError
from caveat.fairness import audit
from caveat.fairness.shown import ratio_rows
from caveat.report import write_report
from caveat.results.judgments import BY_WEIGHT, FINE, Judgment
from caveat.results.words import SHORT

from .pages import read
from .results import HOSTILE, classification, comparison, probabilities
from .test_hostile import check

N = 400
RNG = np.random.default_rng(0)
SEX = RNG.choice(["f", "m"], size=N)
RACE = RNG.choice(["a", "b", "c"], size=N)
X = RNG.normal(size=(N, 2))
MEMBERS = 1 / (1 + np.exp(-(X[:, 0] + RNG.normal(size=(3, N)) * np.where(SEX == "f", 0.9, 0.3))))
PREDICTION = caveat.Categorical.from_binary(MEMBERS, classes=["no", "yes"])
Y = np.where(RNG.random(N) < MEMBERS.mean(axis=0), "yes", "no")


@cache
def result(**options):
    given = {"resamples": 60, "random_state": 0, **options}
    return audit(PREDICTION, Y, {"sex": SEX, "race": RACE}, X=X, **given)


@cache
def plain(resamples=60):
    return audit(PREDICTION, Y, {"sex": SEX}, resamples=resamples, random_state=0)


def written(found, folder, **options):
    return read(write_report(found, folder / "report.html", **options))


def of(chart, kind):
    """The marks of a kind in a chart, by their labels."""
    return {mark.label: mark for mark in chart.marks if isinstance(mark, kind)}


def points(chart):
    """The values, intervals and labels of the points of a chart, by their places."""
    found = {}
    for mark in of(chart, Points).values():
        for i, place in enumerate(mark.y):
            found[place] = (mark.x[i], mark.low[i], mark.high[i], mark.label)
    return [found[place] for place, _ in chart.y.ticks if place in found]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return written(result(), tmp_path_factory.mktemp("audit"))


def test_reading_comes_first(page):
    reading = result().verdict()
    places = [page.text.index(" ".join(reading.summary.split()))]
    places += [page.text.index(f"{part.name}: {part.text}") for part in reading]
    assert places == sorted(places)
    assert places[-1] < page.text.index("Between groups")
    assert f"Gap beyond threshold {reading.summary}" in page.text
    for part in reading:
        assert f"{part.headline} {part.name}: {part.text}" in page.text
    listed = [a["class"].split()[0] for a in page.named("li") if a.get("class")]
    assert listed == [reading.level, *(part.level for part in reading)]


def test_sections_and_contents(page):
    sections = page.sections
    assert sections == ["verdict", "ratios", "groups", "uncertainty", "individuals", "method"]
    assert [a["href"] for a in page.named("a")] == ["#verdict", *(f"#{name}" for name in sections)]
    assert page.text.startswith("Who does the model know less about?")
    assert "400 samples, by sex, race · " in page.text
    assert "95 % intervals" in page.text


def test_ratios_are_the_rows(page):
    chart = charts.ratios(result(), "sex")
    assert page.shows(chart)
    rows = [
        row
        for row in result().select(attribute="sex", kind="ratio")
        if row.statistic in ("", "farther from 1")
    ]
    wanted = [(row.value, row.verdict_low, row.verdict_high) for row in rows]
    assert [found[:3] for found in points(chart)] == [pytest.approx(row) for row in wanted]
    band = chart.marks[0]
    assert (band.label, band.low, band.high) == ("fair band", 0.8, 1.25)
    assert chart.x.log
    assert chart.y.ticks[0][1] == f"Equal accuracy\n{rows[0].group} / {rows[0].reference}"
    said = [text for found in page.data.values() for _, _, text in found]
    for row in rows:
        assert any(
            text.endswith(f", {row.group} / {row.reference}: {row.value:.3g}") for text in said
        )


def test_of_three_groups_the_worst_pair_is_drawn(page):
    chart = charts.ratios(result(), "race")
    assert page.shows(chart)
    assert chart.title == "Ratios between the worst pair of groups by race, class yes"
    rows = [
        row
        for row in result().select(attribute="race", kind="ratio", comparison="worst pair")
        if row.statistic in ("", "farther from 1")
    ]
    assert len(chart.y.ticks) == len(rows)
    every = [row for row in result().select(attribute="race") if row.kind != "group"]
    assert f"All ratios and differences by race ({len(every)})" in page.text


@pytest.mark.parametrize("privileged", [None, "a"])
def test_bars_lie_where_the_verdicts_say(privileged, tmp_path):
    """With several groups the bars must be those that decided: what the caption says of them."""
    rng = np.random.default_rng(1)
    group = np.repeat(list("abcd"), 500)
    up = rng.random(2000) < np.repeat([0.5, 0.55, 0.6, 0.8], 500)
    p = np.where(up, 0.7, 0.3) + rng.uniform(-0.1, 0.1, size=(3, 2000))
    y = np.where(rng.random(2000) < 0.8, up, ~up).astype(int)
    found = audit(
        caveat.Categorical.from_binary(p),
        y,
        {"group": group},
        privileged=privileged,
        resamples=200,
        random_state=0,
    )
    page = written(found, tmp_path)
    chart = charts.ratios(found, "group")
    assert page.shows(chart)
    comparison = "worst pair" if privileged is None else "reference"
    rows = found.select(kind="ratio", comparison=comparison)
    rows = [row for row in rows if row.statistic in ("", "farther from 1")]
    seen = set()
    for (_, low, high, name), row in zip(points(chart), rows, strict=True):
        assert SHORT[row.judgment] == name
        seen.add(name)
        if row.measure != "equalized_odds":
            outside, inside = low > 1.25 or high < 0.8, low >= 0.8 and high <= 1.25
            gap = not low <= 1 <= high
            expected = (row.judgment == Judgment.BEYOND, row.judgment in FINE)
            assert (outside, inside) == expected, row
            assert gap == (row.judgment in (Judgment.BEYOND, Judgment.GAP, Judgment.SMALL)), row
    assert len(seen) > 1
    assert (
        "Bars are intervals that hold for all comparisons at once: a bar that does not reach 1 "
        "shows a gap, and one that lies entirely outside the band shows a gap beyond the "
        "threshold. Equalized odds have a gap if either of their two ratios has."
    ) in page.text
    assert "interval for all comparisons" in page.text


def test_every_verdict_has_a_mark_of_its_own(tmp_path):
    verdicts = dict(
        zip(
            ("equal_accuracy", "statistical_parity", "equal_opportunity", "false_negative_rate",
             "epistemic_uncertainty"),
            BY_WEIGHT,
            strict=True,
        )
    )  # fmt: skip
    rows = tuple(
        replace(row, judgment=verdicts.get(row.measure, row.judgment))
        if row.kind == "ratio"
        else row
        for row in plain()
    )
    chart = charts.ratios(replace(plain(), rows=rows), "sex")
    assert written(replace(plain(), rows=rows), tmp_path).shows(chart)
    marks = {name: (mark.marker, mark.color) for name, mark in of(chart, Points).items()}
    assert {SHORT[verdict] for verdict in BY_WEIGHT} <= set(marks)
    assert len(set(marks.values())) == len(marks)


def test_labels_have_the_class_and_both_groups_in_full(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=(2, 400))
    names = np.array(["a rather low risk", "a moderate risk", "a very high risk"])
    groups = {
        "race": rng.choice(["White, non-Hispanic", "Black <b>"], size=400),
        "sex": rng.choice(["female", "male"], size=400),
    }
    prediction = caveat.Categorical(p, classes=names)
    found = audit(prediction, names[p[0].argmax(axis=1)], groups, intersections=True, resamples=0)
    page = written(found, tmp_path)
    chart = charts.ratios(found, "race x sex")
    assert page.shows(chart)
    rows = [row for row in ratio_rows(found, "race x sex") if row.label == names[2]]
    labels = [" ".join(text.split()) for _, text in chart.y.ticks]
    assert rows
    for row in rows:
        words = f"class {row.label} {row.group} / {row.reference}"
        assert any(label.endswith(words) for label in labels), words
    assert all(len(line) <= 26 for _, text in chart.y.ticks for line in text.split("\n"))
    uncertain = charts.distributions(found, attribute="race x sex")
    assert page.shows(uncertain)
    assert any("sex=female" in text for _, text in uncertain.y.ticks)


LONG = {
    "education": np.array(["some college, no degree", "doctorate or professional school", " "]),
    "marital status": np.array(["married, spouse absent", "married, spouse present", "x" * 300]),
}


def test_labels_of_long_groups_stand_apart_and_end_with_their_size(tmp_path):
    rng = np.random.default_rng(0)
    groups = {name: values[rng.integers(3, size=N)] for name, values in LONG.items()}
    found = audit(PREDICTION, Y, groups, X=X, intersections=True, resamples=0)
    page = written(found, tmp_path)
    both = "education x marital status"
    drawn = [
        *(charts.consistency(found, "prediction", name) for name in ("education", both)),
        *(charts.distributions(found, part, both) for part in ("predictive", "epistemic")),
    ]
    for chart in drawn:
        assert page.shows(chart)
        labels = [text.split("\n") for _, text in chart.y.ticks]
        assert all(re.search(r"\(\d+\)$", lines[-1]) for lines in labels)
        assert len({tuple(lines) for lines in labels if "outcome" not in lines[0]}) >= 3
        # A unit of the axis is a line of text, and there is one between two labels.
        gaps = np.diff([place for place, _ in chart.y.ticks])
        for gap, upper, lower in zip(gaps, labels, labels[1:], strict=False):
            assert gap >= (len(upper) + len(lower)) / 2 + 1
    names = [" ".join(text.split()) for _, text in drawn[1].y.ticks]
    for value in LONG["marital status"][:2]:
        words = f"education=doctorate or professional school, marital status={value}"
        size = sum(
            (groups["education"] == LONG["education"][1]) & (groups["marital status"] == value)
        )
        assert f"{words} ({size})" in names


def test_groups_have_their_numbers_and_intervals(page):
    (row,) = result().select(attribute="sex", group="f", measure="true_positive_rate")
    assert f"{row.value:.3g} {row.low:.3g} to {row.high:.3g}" in page.text
    sizes = [int((value == SEX).sum()) for value in ("f", "m")]
    assert f"Samples How many there are of the group. {sizes[0]} {sizes[1]}" in page.text


def test_distributions_are_the_quantiles(page):
    chart = charts.distributions(result(), "epistemic", "sex")
    assert page.shows(chart)
    split = caveat.decompose(PREDICTION, "variance").epistemic
    far, near, median, mean = chart.marks
    for i, value in enumerate(("f", "m")):
        rows = result().select(
            attribute="sex", group=value, measure="epistemic_uncertainty", kind="group"
        )
        by = {row.quantile: row.value for row in rows}
        assert mean.x[i] == pytest.approx(split[value == SEX].mean())
        assert median.x[i] == pytest.approx(by[0.5])
        assert [far.low[i], far.high[i]] == pytest.approx([by[0.05], by[0.95]])
        assert [near.low[i], near.high[i]] == pytest.approx([by[0.25], by[0.75]])
        assert chart.y.ticks[i][1] == f"{value} ({(value == SEX).sum()})"


def test_consistencies_are_the_rows(page):
    chart = charts.consistency(result(), "epistemic uncertainty", "race")
    assert page.shows(chart)
    alike = result().consistency
    rows = alike.select(quantity="epistemic uncertainty", attribute="race", outcome="")
    bars = of(chart, Bars)
    assert list(bars) == ["all outcomes", "outcome no", "outcome yes"]
    assert bars["all outcomes"].x == pytest.approx([row.scaled for row in rows])
    wanted = alike.select(quantity="epistemic uncertainty")[0].scaled
    assert (chart.marks[-1].label, chart.marks[-1].x) == ("all samples", pytest.approx(wanted))
    assert f"All consistencies, raw and scaled ({len(alike.rows)})" in page.text


def test_every_chart_has_a_table_and_every_measure_a_meaning(page):
    assert len(page.titles) == len(page.named("details", "behind")) == 2 + 6 + 8
    for words in (
        "Epistemic uncertainty F_Epis What the model has not learned",
        "Expected calibration error ece, l1_calibration_error",
        "Consistency 1 less the difference",
    ):
        assert words.split(" ece")[0] in page.text
    assert "5 nearest neighbors (euclidean)" in page.text
    assert "compared with the one that is best off" in page.text


def test_no_number_is_nan_or_infinite(page):
    words = set(page.text.replace(",", " ").replace("(", " ").split())
    assert not words & {"nan", "inf", "-inf", "None"}


def test_by_the_audit_itself(tmp_path):
    path = plain().report(tmp_path / "a.html", title="Mine")
    text = read(path)
    assert text.text.startswith("Mine")
    assert "individuals" not in text.sections
    again = write_report(plain(), tmp_path / "b.html", title="Mine")
    assert path.read_bytes() == again.read_bytes()


def test_privileged(tmp_path):
    page = written(result(privileged=None, threshold=0.1), tmp_path)
    assert "A ratio is within the threshold from 0.9 to 1.11" in page.text
    assert "some gap is claimed in about 5 % of audits of an attribute" in page.text
    found = audit(PREDICTION, Y, {"sex": SEX}, privileged="m", resamples=40, random_state=0)
    assert "Groups are compared with the privileged one (sex: m)." in written(found, tmp_path).text


def test_without_intervals(tmp_path):
    page = written(plain(resamples=0), tmp_path)
    assert "400 samples, by sex" in page.text
    assert "no intervals: nothing here says how sure a number is" in page.text
    assert "Nothing is claimed without intervals" in page.text
    assert list(of(charts.ratios(plain(resamples=0), "sex"), Points)) == ["not judged"]


def test_intervals_without_an_end_and_undefined_ratios(tmp_path):
    changes = {
        "equal_accuracy": {"verdict_low": 0.0, "verdict_high": 0.9, "judgment": Judgment.UNCLEAR},
        "statistical_parity": {
            "high": np.inf,
            "verdict_high": np.inf,
            "judgment": Judgment.UNCLEAR,
        },
        "equal_opportunity": {
            "value": np.nan,
            "low": np.nan,
            "high": np.nan,
            "verdict_low": np.nan,
            "verdict_high": np.nan,
            "flag": None,
            "symmetric_flag": None,
            "judgment": Judgment.UNDEFINED,
            "why": "no positives in sex=f",
        },
        "aleatoric_uncertainty": {"flag": True, "symmetric_flag": False},
        "predictive_uncertainty": {"flag": False, "symmetric_flag": True},
        "epistemic_uncertainty": {"flag": True, "symmetric_flag": True},
    }
    rows = tuple(
        replace(row, **changes.get(row.measure, {})) if row.kind == "ratio" else row
        for row in plain()
    )
    page = written(replace(plain(), rows=rows), tmp_path)
    chart = charts.ratios(replace(plain(), rows=rows), "sex")
    assert page.shows(chart)
    drawing = render(chart).svg
    assert all(_SHAPES[way](4.0) in drawing for way in ("left", "right"))
    (text,) = (mark for mark in chart.marks if isinstance(mark, charts.Text))
    assert (text.text, text.y) == ("undefined", chart.y.ticks[2][0])
    assert "undefined" in page.drawn
    assert "undefined (no positives in sex=f)" in page.text
    for words in ("or more", "by its distance from 1 only", "on the log scale only"):
        assert words in page.text
    assert "inf" not in page.text.replace("information", "").split()


def test_ticks_are_plain_numbers(tmp_path):
    for factor, wanted in ((1.0, "0.8"), (4.0, "3"), (30.0, "2"), (3000.0, "1000")):
        rows = tuple(
            replace(row, value=factor, verdict_low=factor / 1.1, verdict_high=factor * 1.1)
            if row.measure == "epistemic_uncertainty" and row.kind == "ratio"
            else replace(row, verdict_low=0.9, verdict_high=1.1, value=1.0)
            if row.kind == "ratio"
            else row
            for row in plain()
        )
        chart = charts.ratios(replace(plain(), rows=rows), "sex")
        page = written(replace(plain(), rows=rows), tmp_path)
        assert page.shows(chart)
        assert wanted in [text for _, text in chart.x.ticks]
        assert wanted in page.drawn
        assert chart.x.ends[0] < 0.8
        assert chart.x.ends[1] > factor


def test_several_classes_are_named_and_many_ratios_cut(tmp_path):
    p, truth = probabilities(300, 2, 12)
    found = audit(caveat.Categorical(p), truth, np.arange(300) % 2, resamples=0)
    page = written(found, tmp_path)
    chart = charts.ratios(found, "group")
    assert page.shows(chart)
    assert len(chart.y.ticks) == 40
    assert any("class" in text for _, text in chart.y.ticks)
    assert "The 40 ratios farthest from 1 are shown; 12 others are in the table." in page.text
    assert "The first 60 of 90 lines." in page.text


def test_many_groups_show_the_largest(tmp_path):
    rng = np.random.default_rng(0)
    groups = np.where(rng.random(2000) < 0.5, "big", rng.integers(45, size=2000).astype(str))
    p = caveat.Categorical.from_binary(rng.random((2, 2000)), classes=["no", "yes"])
    y = rng.choice(["no", "yes"], size=2000)
    found = audit(p, y, {"site": groups}, X=rng.normal(size=(2000, 2)), resamples=0)
    page = written(found, tmp_path)
    assert "The 10 largest of 46 groups." in page.text
    assert "The 40 most uncertain groups are shown; 6 others are not." in page.text
    assert "The first 300 of " in page.text
    chart = charts.consistency(found, "prediction", "site")
    assert page.shows(chart)
    (bars,) = of(chart, Bars).values()
    assert len(bars.x) == 30


def test_numbers_have_a_chooser_of_targets(tmp_path):
    rng = np.random.default_rng(1)
    mean = rng.normal(size=(2, 120, 2))
    prediction = caveat.Gaussian(mean, np.ones_like(mean), targets=["sbp", "dbp"])
    found = audit(
        prediction,
        rng.normal(size=(120, 2)),
        {"sex": SEX[:120]},
        X=X[:120],
        resamples=40,
        random_state=0,
    )
    page = written(found, tmp_path)
    assert [a["value"] for a in page.named("option")] == ["1", "2"]
    assert "Predictive uncertainty of dbp by sex" in page.titles
    assert "Consistency of prediction sbp by sex" in page.titles
    assert "Mean absolute error of sbp" in page.text
    chart = charts.distributions(found, "epistemic", "sex", "dbp")
    assert page.shows(chart)
    split = caveat.decompose(prediction, "total_variance").epistemic[:, 1]
    assert chart.marks[-1].x[0] == pytest.approx(split[SEX[:120] == "f"].mean())


def test_what_is_constant_has_no_chart(tmp_path):
    found = audit(
        caveat.Categorical.from_binary(np.full(40, 0.9)),
        [1, 0] * 20,
        {"sex": ["f", "m"] * 20},
        X=np.arange(40.0)[:, None],
        sample_weight=[1, 0] * 20,
        resamples=40,
        random_state=0,
    )
    page = written(found, tmp_path)
    assert "All samples have the same prediction, " in page.text
    assert not any(title.startswith("Consistency") for title in page.titles)
    # Without weight a group has no distribution, and no numbers.
    assert "undefined" in page.text


def test_groups_without_any_weight_have_no_distribution(tmp_path):
    rows = tuple(
        replace(row, value=np.nan) if row.measure == "epistemic_uncertainty" else row
        for row in plain()
    )
    page = written(replace(plain(), rows=rows), tmp_path)
    assert "Epistemic uncertainty by sex" not in page.titles
    assert "Aleatoric uncertainty by sex" in page.titles


def test_hostile_names_stay_text(tmp_path):
    rng = np.random.default_rng(0)
    n = 210
    p = rng.dirichlet(np.ones(len(HOSTILE)), size=(2, n))
    classes = np.array(HOSTILE)
    groups = {name: [HOSTILE[(i + j) % 7] for i in range(n)] for j, name in enumerate(HOSTILE[:2])}
    found = audit(
        caveat.Categorical(p, classes=classes),
        classes[np.arange(n) % 7],
        groups,
        X=rng.normal(size=(n, 2)),
        resamples=40,
        random_state=0,
    )
    page = check(write_report(found, tmp_path / "hostile.html", title=HOSTILE[1]))
    assert HOSTILE[0] in page.text
    mean = rng.normal(size=(2, 40, len(HOSTILE)))
    numbers = audit(
        caveat.Gaussian(mean, np.ones_like(mean), targets=HOSTILE),
        rng.normal(size=mean.shape[1:]),
        {HOSTILE[0]: ["a", HOSTILE[1]] * 20},
        resamples=0,
    )
    check(write_report(numbers, tmp_path / "targets.html"))


class TestWithAnEvaluation:
    @staticmethod
    def both():
        evaluation = classification()
        labels = evaluation.prediction.classes[evaluation.truth[:, 0]]
        sex = np.where(np.arange(400) % 2, "f", "m")
        found = audit(evaluation.prediction, labels, {"sex": sex}, resamples=40, random_state=0)
        return evaluation, found

    def test_is_one_section_before_the_notes(self, tmp_path):
        evaluation, found = self.both()
        page = written(evaluation, tmp_path, audit=found)
        assert page.sections[-2:] == ["fairness", "notes"]
        assert page.sections[:-2] == written(evaluation, tmp_path).sections[:-1]
        assert found.verdict().summary in page.text
        assert "Each measure of one group over that of another." in page.text
        assert "nearest neighbors, whatever their group" not in page.text
        assert "Ratios between groups by sex" in page.titles

    def test_of_another_prediction(self, tmp_path):
        with pytest.raises(OptionError) as caught:
            write_report(classification(), tmp_path / "a.html", audit=plain())
        assert str(caught.value).startswith(
            "audit is of another prediction than the evaluation: Categorical: 3 members x 400 "
            "samples x 2 classes"
        )

    def test_what_is_refused(self, tmp_path):
        path = tmp_path / "a.html"
        with pytest.raises(
            OptionError, match=r"^audit must be what caveat.audit returned; got a str$"
        ):
            write_report(classification(), path, audit="audit")
        with pytest.raises(OptionError, match=r"^audit is a section on the page of an evaluation"):
            write_report(comparison(), path, audit=plain())
        with pytest.raises(OptionError, match=r"^audit is a section on the page of an evaluation"):
            write_report(plain(), path, audit=plain())
        policy = caveat.TriagePolicy(risk=0.4, random_state=0).fit(PREDICTION, Y)
        with pytest.raises(OptionError, match=r"^policy belongs to an evaluation"):
            write_report(plain(), path, policy=policy)
        assert not path.exists()
