from dataclasses import replace

import numpy as np
import pytest

from caveat import charts
from caveat.exceptions import OptionError
from caveat.experiments import Check, Cost, Curve
from caveat.report import write_report

from .disentanglements import constant, made, result, two_decompositions
from .pages import read
from .results import HOSTILE
from .test_hostile import check


@pytest.fixture(scope="module")
def leak(tmp_path_factory):
    given = result("leak")
    return given, read(given.report(tmp_path_factory.mktemp("report") / "leak.html"))


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    given = two_decompositions()
    return given, read(given.report(tmp_path_factory.mktemp("report") / "several.html"))


def test_the_verdict_comes_first_and_is_that_of_the_result(leak):
    given, page = leak
    assert page.sections == ["verdict", "numbers", "sweeps", "method"]
    place = 0
    for statement in given.verdict():
        place = page.text.index(statement.text, place)
    assert place < page.text.index("The four conditions")
    assert page.text.startswith("Is the split into aleatoric and epistemic real?")
    assert "Disentanglement of DeepEnsembleClassifier, 400 samples" in page.text


def test_the_table_has_the_terms_with_intervals(leak):
    given, page = leak
    error = given.error()
    for name, words in (
        ("aleatoric_consistency", "Aleatoric uncertainty follows noise C1"),
        ("aleatoric_orthogonality", "is not moved by the amount of data O1"),
    ):
        term = error.terms[name]
        assert words in page.text
        said = (
            f"{term.value:.3f} {term.low:.3f} to {term.high:.3f} {term.correlation:z.3f} ideal "
            f"{1 if 'consistency' in name else 0} {term.std:.3f} {term.of_mean_curves:z.3f}"
        )
        assert said in page.text
    assert f"UDE {error.value:.3f} {error.low:.3f} to {error.high:.3f}" in page.text
    leaked = error.terms["aleatoric_orthogonality"].value
    assert f"with what missing data cost. fails {leaked:.3f}" in page.text


def test_the_sweeps_are_on_the_page(leak):
    given, page = leak
    for chart in charts.sweeps(given):
        assert page.shows(chart)
        assert " ".join(chart.note.split()) in page.text
    size, noise = charts.sweeps(given)
    assert size.x.log
    assert [text for _, text in size.x.ticks] == ["1", "5", "10", "25", "50", "100"]
    assert not noise.x.log
    raw = given.curve("size").epistemic.mean(axis=0)
    assert f"{raw[0]:.3g}" in page.text
    assert (
        "Correlation with the loss of accuracy: epistemic 1.00 (1 is ideal), aleatoric -1.00 (0 is "
        "ideal)"
    ) in page.text
    assert "epistemic uncertainty should fall with it, and aleatoric uncertainty should stay" in (
        page.text
    )


def test_the_chart_of_the_terms(several):
    given, page = several
    chart = charts.terms(given)
    assert page.shows(chart)
    rule, *bars = chart.marks
    assert (rule.x, rule.label) == (0.3, "counts as met")
    ends = [text.split()[-1] for _, text in chart.y.ticks]
    assert ends == ["(C1)", "(C2)", "(O1)", "(O2)", "four"]
    for name, bar in zip(given.decompositions, bars, strict=True):
        error = given.error(decomposition=name)
        values = [*(term.value for term in error.terms.values()), error.value]
        assert bar.label == name.replace("_", " ")
        assert bar.x == pytest.approx(values, abs=1e-9)
    assert np.all(bars[0].y < bars[1].y)


def test_several_decompositions_have_a_section_each_and_a_chooser(several):
    given, page = several
    assert page.sections == [
        "verdict", "split-1", "split-2", "numbers", "sweeps", "checks", "method",
    ]  # fmt: skip
    for name in given.decompositions:
        first = given.verdict(name).statements[0].text
        assert f"By {name.replace('_', ' ')}: {first}" in page.text
        for chart in charts.sweeps(given, name):
            title = f"{chart.title} (split by {name.replace('_', ' ')})"
            assert page.shows(replace(chart, title=title))
    (chooser,) = page.named("select")
    assert chooser["data-chooses"] == "target"
    assert [a["value"] for a in page.named("option")] == ["1", "2"]
    assert {a["data-target"] for _, a in page.elements if "data-target" in a} == {"1", "2"}
    # What holds for both is said once in the verdict, and again only in the method.
    assert page.text.count("A note of the run.") == 2
    assert page.text.count("At 1 % the model underfits; train longer.") == 2
    assert "Split by pairwise kl" in page.text


def test_checks_protocol_and_cost(several):
    _, page = several
    for words in (
        "small training sets are fitted failed At 1 % the model underfits",
        "the score moves with the training size passed The score is 0.96 and 0.50.",
        "Protocol: the model was trained anew on 1, 5, 10, 25, 50, 75, 100 % of the training "
        "samples, and on all of them with 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100 % of the "
        "labels permuted among themselves, in the training and in the test samples; all "
        "of it 5 times, with other subsets, noise and seeds. Length of training: inverse-epochs.",
        "Cost: 900 trainings, 806,000 steps of the optimizer, 75.0 seconds.",
        "The first two alone are a trap",
        "Uncertainty disentanglement error UDE The mean of the four errors",
    ):
        assert words in page.text


def test_one_repeat_claims_nothing_and_has_no_bands(tmp_path):
    given = result("trap", repeats=1, cost=Cost(18, None, 2.0))
    page = read(given.report(tmp_path / "one.html"))
    assert "Nothing is claimed from 1 repeat" in page.text
    assert "not judged" in page.text
    for chart in charts.sweeps(given):
        assert page.shows(chart)
        assert {type(mark).__name__ for mark in chart.marks} == {"Line"}
    assert "Cost: 18 trainings, 2.0 seconds." in page.text
    assert "in the test samples; all of it once. Length" in page.text
    assert "nan" not in page.text.lower().split()


def test_a_constant_part_and_an_infinite_one(tmp_path):
    page = read(constant("epistemic").report(tmp_path / "constant.html"))
    assert "The split is empty: the epistemic part is the same" in page.text
    size, noise = result("good").curves
    endless = np.full_like(noise.epistemic, np.inf)
    curves = (
        size,
        Curve("noise", "information", noise.levels, noise.score, noise.aleatoric, endless),
    )
    page = read(made(curves).report(tmp_path / "infinite.html"))
    (line,) = (m for m in charts.sweeps(made(curves))[1].marks if m.label.startswith("epistemic"))
    assert not np.isfinite(line.y).any()
    said = [text for points in page.data.values() for _, _, text in points]
    assert not any(text.endswith(("inf %", "nan %", ": inf", ": nan")) for text in said)
    assert "inf" not in page.text.split()
    assert "it is infinite somewhere" in page.text


def test_regression_speaks_of_targets(tmp_path):
    given = result("good", task="regression", score_name="1 - standardized MAE")
    page = read(given.report(tmp_path / "r.html"))
    assert "With permuted targets the noise grows" in page.text
    assert "From left to right more targets are wrong: the 1 - standardized MAE should" in page.text


@pytest.mark.parametrize("evil", HOSTILE)
def test_text_is_text(evil, tmp_path):
    checks = (Check(evil, False, evil),)
    given = result("good", model=evil, score_name=evil, notes=(evil,), checks=checks)
    page = check(given.report(tmp_path / "evil.html", title=evil))
    assert page.text.count(" ".join(evil.split())) > 5
    said = [text for points in page.data.values() for _, _, text in points]
    assert any(text.startswith(f"{evil} at ") for text in said)


def test_the_same_result_gives_the_same_bytes_and_a_policy_is_refused(tmp_path):
    import caveat

    given = two_decompositions()
    first = given.report(tmp_path / "a.html").read_bytes()
    assert write_report(given, tmp_path / "b.html").read_bytes() == first
    with pytest.raises(OptionError) as caught:
        write_report(given, tmp_path / "a.html", policy=caveat.TriagePolicy(risk=0.1))
    assert str(caught.value) == "policy decides on predictions: pass it with an evaluation"
