import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.report import write_report

from .pages import read
from .results import comparison, every_prediction, probabilities


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return read(write_report(comparison(), tmp_path_factory.mktemp("page") / "report.html"))


def test_recommendation_comes_first_with_all_cautions(page):
    answer = comparison().recommend("probability")
    text = page.text
    places = [text.index(sentence) for sentence in (answer.verdict, *answer.cautions)]
    assert places == sorted(places)
    assert places[-1] < text.index("Side by side Over all samples")
    assert "Clear choice Use soft" in text
    assert (
        "Decided by negative log likelihood loss (NLL) first, then by expected calibration error "
        "(ECE). Look at smooth calibration error (smECE) as well."
    ) in text


def test_the_first_screen_has_the_numbers_of_the_choice_and_its_next_step(page):
    chosen = comparison().evaluations["soft"]
    row = chosen.select(metric="accuracy_score", group="")[0]
    said = f"{100 * row.value:.1f} % {100 * row.low:.1f} % to {100 * row.high:.1f} %"
    first, _, _ = page.text.partition("Side by side Over all")
    assert f"Accuracy of soft {said}" in first
    assert "Error detection AUROC of soft" in first
    assert f"Next step Use soft. {chosen.verdict().next_step}" in first


def test_headline_numbers_stand_the_way_that_fits(page, tmp_path):
    header = [a for a in page.named("td") if a.get("data-name") in ("raw", "soft")]
    assert header  # more measures than techniques: a row for each measure
    p, truth = probabilities(60)
    predictions = {name: caveat.Categorical(p) for name in "abcdef"}
    _, narrow = compared(tmp_path, predictions=predictions, y=truth, metrics=["ece", "nll"])
    assert {a["data-name"] for a in narrow.named("td")} >= {"ECE ↓", "NLL ↓"}


def test_table_marks_best_and_tied_with_intervals(page):
    for row in comparison().select(group=""):
        if row.metric in ("expected_calibration_error", "accuracy_score"):
            mark = "best " if row.best else "tied " if row.tied else ""
            said = f"{row.value:.3g} {mark}{row.low:.3g} to {row.high:.3g}"
            assert said in page.text
    assert "Accuracy ↑" in page.text
    assert "ECE ↓" in page.text


def test_trade_off_is_the_front_of_the_comparison(page):
    front = comparison().pareto("expected_calibration_error", "negative_log_likelihood_loss")
    assert list(comparison().recommend().pareto) == front
    assert f"Not beaten in both by any other: {', '.join(front)}." in page.text
    chart = charts.trade_off(comparison())
    assert page.shows(chart)
    for name, mark in zip(comparison().techniques, chart.marks, strict=True):
        rows = [
            comparison().select(technique=name, metric=metric, group="")[0]
            for metric in ("expected_calibration_error", "negative_log_likelihood_loss")
        ]
        assert [*mark.x, *mark.y] == pytest.approx([row.value for row in rows])
        assert [*mark.low, *mark.y_high] == pytest.approx([rows[0].low, rows[1].high])
        assert (mark.label, mark.faint[0]) == (name, name not in front)


def test_the_table_says_where_each_technique_stands(tmp_path):
    rng = np.random.default_rng(0)
    z = 2 * rng.normal(size=1500)
    y = (rng.random(1500) < 1 / (1 + np.exp(-z))).astype(int)
    same = np.full(1500, y.mean())
    predictions = {
        "good": caveat.Categorical.from_binary(1 / (1 + np.exp(-1.4 * z))),
        "same number for everyone": caveat.Categorical.from_binary(same),
    }
    result, page = compared(
        tmp_path, predictions=predictions, y=y, resamples=100,
        metrics=["nll", "positive_ece", "auc"],
    )  # fmt: skip
    answer = result.recommend()
    assert answer.technique == "good"
    assert answer.pareto == ("good", "same number for everyone")
    said = [f"{answer.skills[name]:.3g} {answer.values[name]:.3g}" for name in ("good",)]
    assert f"good {said[0]} chosen" in page.text
    assert "clearly worse by the proper score, on the front" in page.text
    assert "Clear choice Use good" in page.text


def test_the_less_reliable_of_two_of_like_skill(tmp_path):
    answer = caveat.evaluation.recommend.Recommendation(
        "a", ("a",), "expected_calibration_error", ("brier_loss",), {"a": 0.1, "b": 0.3}, {}, (),
        "Use a.", "brier_loss", {"a": 0.2, "b": 0.2},
    )  # fmt: skip
    from caveat.report._comparison import _standing

    assert [_standing(name, answer) for name in "ab"] == ["chosen", "clearly less reliable"]


def test_curves_lie_over_one_another(page):
    for kind in (charts.reliability, charts.confidence_curve):
        found = {name: kind(of) for name, of in comparison().evaluations.items()}
        chart = charts.overlay(found, next(iter(found.values())).read)
        assert page.shows(chart)
        lines = {mark.label: mark for mark in chart.marks if mark.label in found}
        for name, line in lines.items():
            columns = list(found[name].numbers.values())
            assert line.x == pytest.approx(columns[0])
            assert line.y == pytest.approx(columns[1])
        looks = [(line.color, line.dash) for line in lines.values()]
        assert looks == [("blue", "solid"), ("orange", "dash")]
    assert "Bands are left out here" in page.text


def test_each_technique_is_folded_away_whole(page):
    assert len(page.named("details", "technique card wide")) == 2
    assert not any("open" in a for a in page.named("details"))
    assert page.sections[:4] == ["verdict", "numbers", "trade-off", "curves"]
    assert {"t0-verdict", "t0-calibration", "t1-verdict", "t1-notes"} <= set(page.sections)


def compared(tmp_path, **options):
    result = caveat.compare(**{"resamples": 20, "random_state": 0} | options)
    return result, read(write_report(result, tmp_path / "report.html"))


def test_gaussians_are_chosen_by_their_variance(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.normal(size=(200, 2)) * [1, 5]
    zero = np.zeros((200, 2))
    predictions = {
        "right": caveat.Gaussian(zero, np.broadcast_to([1.0, 25.0], (200, 2))),
        "wide": caveat.Gaussian(zero, np.broadcast_to([9.0, 225.0], (200, 2))),
    }
    result, page = compared(tmp_path, predictions=predictions, y=y)
    assert result.recommend("variance").verdict in page.text
    assert {a["data-target"] for _, a in page.elements if "data-target" in a} == {"1", "2"}
    assert "further down is better" in page.text
    assert "Coverage of 1" in page.text


def test_calibration_of_each_class_is_among_all_numbers_only(tmp_path):
    p, truth = probabilities(100)
    predictions = {"one": caveat.Categorical(p), "other": caveat.Categorical(p[::-1])}
    metrics = ["positive_ece", "ece", "nll"]
    _, page = compared(tmp_path, predictions=predictions, y=truth, metrics=metrics)
    assert "NLL ↓" in page.text
    assert "class=0 ↓" not in page.text
    assert "Calibration error of class=0 against the rest" in page.text
    assert "over all samples: each class against the rest" in page.text


def test_a_target_without_a_spread_has_no_trade_off(tmp_path):
    rng = np.random.default_rng(0)
    y, mean = rng.normal(size=(2, 200, 2))
    variance = np.ones((200, 2))
    variance[0, 1] = 0
    predictions = {
        name: caveat.Gaussian(mean, scale * variance, targets=["a", "b"])
        for name, scale in (("one", 1.0), ("two", 2.0))
    }
    result, page = compared(tmp_path, predictions=predictions, y=y)
    assert result.recommend("variance").verdict in page.text
    assert page.shows(charts.trade_off(result, "a"))
    assert page.titles.count(charts.trade_off(result, "a").title) == 1


def test_intervals_are_chosen_by_their_coverage(tmp_path):
    quantiles, y = every_prediction()["Quantiles"]
    gaussian = every_prediction()["Gaussian"][0]
    predictions = {"quantiles": quantiles, "gaussian": gaussian.to_quantiles(quantiles.levels)}
    result, page = compared(tmp_path, predictions=predictions, y=y)
    assert result.recommend("interval").verdict in page.text
    predictions = {"quantiles": quantiles, "gaussian": gaussian}
    _, page = compared(tmp_path, predictions=predictions, y=y)
    assert "Unsure No recommendation: " in page.text  # nothing was asked of both alike


def test_sets_have_no_recommendation(tmp_path):
    p, truth = probabilities(60)
    predictions = {
        name: caveat.PredictionSet(p[0] > level, coverage=0.9)
        for name, level in (("small", 0.4), ("large", 0.1))
    }
    _, page = compared(tmp_path, predictions=predictions, y=truth)
    assert "Unsure No recommendation: " in page.text
    assert "trade-off" not in page.sections
    assert len(page.named("p", "step")) == 3  # those of the techniques, and one above
    assert "Choose by the metrics in the table that matter to you." in page.text


def test_techniques_that_cannot_be_told_apart(tmp_path):
    p, truth = probabilities(60)
    predictions = {"one": caveat.Categorical(p), "other": caveat.Categorical(p)}
    metrics = ["ece", "mce", "accuracy", "nll"]
    result, page = compared(tmp_path, predictions=predictions, y=truth, metrics=metrics)
    assert f"No clear one {result.recommend('probability').verdict}" in page.text
    assert (
        "Next step Take the simpler or cheaper of one or other, or evaluate more samples: 60 are too "
        "few to distinguish them."
    ) in page.text


def test_a_measure_that_one_technique_lacks(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    predictions = {
        "points": caveat.Gaussian(np.zeros(60), np.zeros(60)),
        "spread": caveat.Gaussian(np.zeros(60), np.ones(60)),
    }
    _, page = compared(tmp_path, predictions=predictions, y=y)
    assert "CRPS ↓" in page.text or "Gaussian CRPS loss ↓" in page.text


def test_without_headline_numbers_all_are_shown(tmp_path):
    p, truth = probabilities(60)
    predictions = {"one": caveat.Categorical(p), "two": caveat.Categorical(p**2, normalize=True)}
    _, page = compared(tmp_path, predictions=predictions, y=truth, metrics=["mce"])
    assert "All 1 measures" in page.text
    assert "Accuracy" not in page.text


def test_a_target_without_the_deciding_measure_has_no_trade_off(tmp_path):
    # Without a variance, a target has no calibration error; the page is about the others then.
    variance = np.array([[0.0, 1.0, 1.0]] * 2)
    mean = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0]])
    names = ["none", "some", "more"]
    result = caveat.compare(
        {
            "a": caveat.Gaussian(mean, variance, targets=names),
            "b": caveat.Gaussian(mean + 0.5, variance, targets=names),
        },
        mean[::-1],
        resamples=0,
    )
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Reliable and good?" in page
    bare = caveat.compare(
        {
            "a": caveat.Gaussian(mean, variance[:, ::-1] * [1, 1, 0], targets=names),
            "b": caveat.Gaussian(mean + 0.5, 0.0, targets=names),
        },
        mean[::-1],
        resamples=0,
    )
    assert bare.report(tmp_path / "bare.html").exists()


def test_a_coverage_ratio_is_decided_by_its_distance(tmp_path):
    y = np.random.default_rng(0).normal(size=200)
    predictions = {
        name: caveat.Interval(np.full(200, -end), np.full(200, end), coverage=0.9)
        for name, end in (("wide", 2.0), ("narrow", 0.5))
    }
    _, page = compared(tmp_path, predictions=predictions, y=y, metrics=None)
    assert "distance of coverage ratio from 1" in page.text
    assert "Decided by interval loss first, then by coverage ratio (PICP)." in page.text
    assert "(ENCE)" not in page.text  # intervals do not have it


def test_weeks_are_no_techniques(tmp_path):
    weeks = {}
    for seed, name in enumerate(("week 1", "week 2")):
        rng = np.random.default_rng(seed)
        p = rng.random(200)
        weeks[name] = caveat.summarize(p, (rng.random(200) < p).astype(int))
    result = caveat.compare(weeks, resamples=50, random_state=0)
    caveat.write_report(result, tmp_path / "weeks.html")
    page = (tmp_path / "weeks.html").read_text()
    assert "No recommendation: these are different samples, such as weeks or sites" in page
    assert "95 % intervals, different samples" in page
    assert "See what changed between the samples: caveat drift." in page
