"""What the paper prints agrees with itself where it should, and conclusions with their numbers."""

import itertools

import numpy as np
import pytest

from caveat.studies import _fairness_conclusions as questions
from caveat.studies._fairness_conclusions import (
    above,
    all_of,
    as_printed,
    conclusions,
    opposite,
    side,
)
from caveat.studies._fairness_paper import EXPERIMENTS, ODDS, POINT, RATES, UNCERTAIN
from caveat.studies._fairness_runs import QUANTITIES, Key
from caveat.studies._table import printed_number

PAIRS = [
    (name, attribute)
    for name, experiment in EXPERIMENTS.items()
    for attribute in experiment.attributes
]
IDS = [f"{name}-{attribute.name}" for name, attribute in PAIRS]
BOLD = {
    ("sd1", "group"): {"aleatoric_uncertainty", "predictive_uncertainty"},
    ("sd2", "group"): {"epistemic_uncertainty"},
    ("sd3", "group"): {ODDS, "equal_accuracy"},
    ("compas", "race"): {*POINT, *UNCERTAIN} - {"equal_accuracy"},
    ("compas", "sex"): {*POINT, *UNCERTAIN} - {"equal_accuracy"},
    ("compas", "age"): {*POINT, *UNCERTAIN} - {"equal_accuracy"},
    ("adult", "race"): {"statistical_parity", "epistemic_uncertainty", "predictive_uncertainty"},
    ("adult", "sex"): {
        "statistical_parity",
        ODDS,
        "epistemic_uncertainty",
        "predictive_uncertainty",
    },
}


def ends(text):
    return printed_number(text)[1:]


@pytest.mark.parametrize(("name", "attribute"), PAIRS, ids=IDS)
def test_what_is_bold_in_the_tables_is_what_the_threshold_flags(name, attribute):
    printed = attribute.printed()
    pair = attribute.minority, attribute.majority
    flagged = {m for m in (*POINT, *UNCERTAIN) if side(float(printed[(*pair, m)]))}
    assert flagged == BOLD[name, attribute.name]


@pytest.mark.parametrize(("name", "attribute"), PAIRS, ids=IDS)
def test_printed_ratios_are_those_of_printed_rates(name, attribute):
    """The reading of equal opportunity and of equalized odds, up to the rounding of the rates."""
    printed = attribute.printed()
    pair = attribute.minority, attribute.majority

    def rates(measure, group):
        low, high = ends(printed[group, "", measure])
        return (1 - high, 1 - low) if measure == "false_negative_rate" else (low, high)

    def possible(formula, *measures):
        corners = [rates(m, g) for m in measures for g in pair]
        values = [formula(*corner) for corner in itertools.product(*corners)]
        return min(values), max(values)

    formulas = {
        "equal_accuracy": possible(lambda a, b: a / b, "accuracy"),
        "equal_opportunity": possible(lambda a, b: a / b, "false_negative_rate"),
        ODDS: possible(
            lambda a, b, c, d: (a / b) / (c / d), "false_positive_rate", "false_negative_rate"
        ),
    }
    for measure, (low, high) in formulas.items():
        bottom, top = ends(printed[(*pair, measure)])
        assert low <= top + 1e-9, measure
        assert high >= bottom - 1e-9, measure


def test_slips_are_slips():
    adult = EXPERIMENTS["adult"].attributes[1].printed()
    assert float(adult["Female", "", "predictive_uncertainty"]) < float(
        adult["Female", "", "aleatoric_uncertainty"]
    )
    assert round(0.0001 / 6e-8) == 1667
    women = sum(int(adult["Female", "", f"samples of class {y}"]) for y in (0, 1))
    assert women == 9782 != int(adult["Female", "", "samples"].replace(",", ""))


@pytest.mark.parametrize(
    ("ratio", "expected"), [(0.8, 0), (1.2, 0), (0.79, -1), (1.21, 1), (1.0, 0)]
)
def test_sides_of_the_threshold(ratio, expected):
    assert side(ratio) == expected


def test_a_flag_on_the_other_side_is_not_the_paper_s():
    ratios = np.array([0.5, 1.0, 2.0, np.nan])
    assert as_printed(ratios, 2.65) == [False, False, True, None]
    assert as_printed(ratios, 1.1) == [False, True, False, None]


def test_logic_with_what_cannot_be_decided():
    first, second = [True, True, None, None], [True, False, True, False]
    assert all_of([first, second]) == [True, False, None, False]
    assert all_of([first]) == first
    assert opposite([True, False, None]) == [False, True, None]
    assert above(np.array([2.0, 1.0, np.nan]), np.array([1.0, 1.0, 1.0])) == [True, False, None]


def as_in_the_paper(name, part="test", runs=10):
    values = {}
    for attribute in EXPERIMENTS[name].attributes:
        for (group, reference, measure), text in attribute.printed().items():
            if not measure.startswith("samples"):
                number = printed_number(text).value
                values[Key(part, attribute.name, group, reference, measure)] = np.full(runs, number)
    return values


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_runs_that_give_the_printed_numbers_support_every_table(name):
    found = conclusions(name, as_in_the_paper(name), 0.95)
    assert len(found) == 2 * len(EXPERIMENTS[name].attributes)
    assert {conclusion.verdict for conclusion in found} == {"survives"}
    fair = conclusions(
        name, {key: np.ones_like(v) for key, v in as_in_the_paper(name).items()}, 0.95
    )
    assert "does not survive" in {conclusion.verdict for conclusion in fair}


def test_sentences():
    texts = {
        name: [conclusion.text for conclusion in conclusions(name, as_in_the_paper(name), 0.95)]
        for name in EXPERIMENTS
    }
    assert texts["sd1"][0] == "fair by statistical parity, equal opportunity and accuracy"
    assert texts["sd2"][1] == (
        "of the uncertainty-based measures unfair by epistemic uncertainty alone"
    )
    assert texts["compas"][1] == (
        "race: unfair by epistemic uncertainty, aleatoric uncertainty and predictive uncertainty"
    )


def test_expectations_are_told_apart():
    (first, _) = conclusions("sd1", as_in_the_paper("sd1", "expectation"), 0.95)
    assert first.source == "table 1, in expectation"


def figure(name, numbers, runs=8):
    """Return consistencies: what ``numbers`` says of (group, outcome, measure), or else 0.9."""
    values = as_in_the_paper(name, runs=runs)
    for attribute in EXPERIMENTS[name].attributes[:2]:
        for group in (attribute.minority, attribute.majority):
            for outcome in ("0", "1"):
                for measure in QUANTITIES:
                    key = Key("scaled consistency", attribute.name, group, "", measure, outcome)
                    value = numbers.get((group, outcome, measure), 0.9)
                    values[key] = np.full(runs, value)
    return [
        conclusion.verdict == "survives"
        for conclusion in conclusions(name, values, 0.95)
        if conclusion.source.startswith("figure")
    ]


ALEATORIC, EPISTEMIC = "aleatoric_uncertainty", "epistemic_uncertainty"


def test_figure_4():
    black = "African-American"
    paper = {
        (black, "1", ALEATORIC): 0.5,
        (black, "0", ALEATORIC): 0.7,
        (black, "0", EPISTEMIC): 0.7,
        (black, "1", EPISTEMIC): 0.5,
        ("Male", "1", EPISTEMIC): 0.6,
    }
    assert figure("compas", paper) == [True, True, True]
    assert figure("compas", {**paper, ("Caucasian", "1", ALEATORIC): 0.4}) == [False, True, True]
    assert figure("compas", {**paper, (black, "0", "prediction"): 0.5}) == [True, False, True]
    assert figure("compas", {**paper, ("Male", "0", EPISTEMIC): 0.5}) == [True, True, False]


def test_figure_5():
    groups = ("Black", "White", "Female", "Male")
    paper = {(g, "1", m): 0.99 for g in groups for m in ("prediction", ALEATORIC)}
    paper |= {("Black", "0", EPISTEMIC): 0.8, ("Female", "0", EPISTEMIC): 0.8}
    assert figure("adult", paper) == [True, True]
    assert figure("adult", {**paper, ("Male", "1", ALEATORIC): 0.5}) == [False, True]
    assert figure("adult", {**paper, ("White", "0", EPISTEMIC): 0.7}) == [True, False]


def capacity(change=None, widths=(10, 100, 200), runs=8):
    values = {}
    for attribute in EXPERIMENTS["compas"].attributes[:2]:
        for group, low in ((attribute.minority, 0.2), (attribute.majority, 0.3)):
            for width in widths:
                for measure in RATES[:1] + UNCERTAIN:
                    key = Key("capacity", attribute.name, group, "", measure, "", width)
                    values[key] = np.full(runs, low)
    values |= {key: np.full(runs, number) for key, number in (change or {}).items()}
    found = questions._figure_6(EXPERIMENTS["compas"].attributes[:2], values)
    return [all(outcomes) for _, _, outcomes in found]


def test_figure_6():
    assert capacity() == [True, True, True]
    place = "capacity", "sex", "Female", ""
    assert capacity({Key(*place, ALEATORIC, "", 10): 0.9}) == [False, True, True]
    assert capacity({Key(*place, EPISTEMIC, "", 200): np.nan}) == [True, False, True]
    assert capacity({Key(*place, "accuracy", "", 200): 0.22}) == [True, True, False]
    assert capacity({Key(*place, "accuracy", "", 200): 0.205}) == [True, True, True]
    assert capacity(widths=(10, 100)) == [True, True]
    assert capacity(widths=(100,)) == []
    assert capacity(widths=(10, 50, 200)) == [True, True]
