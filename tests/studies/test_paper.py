"""The printed tables agree with themselves, and with what their papers say of them.

A digit that was copied wrongly, or a ratio the other way round, would not.
"""

import re
from importlib.resources import files

import numpy as np
import pytest

from caveat.experiments.error import TERMS
from caveat.studies import STUDIES
from caveat.studies._fairness_flags import side
from caveat.studies._fairness_rates import ODDS
from caveat.studies.disentanglement import AS_PRINTED, METHODS, SPLITS
from caveat.studies.fairness import POINT, UNCERTAINTIES
from caveat.studies.paper import printed_number

DISENTANGLEMENT, FAIRNESS = (STUDIES[name].paper for name in ("disentanglement", "fairness"))
BCI = "0.803 0.638 0.639 0.737 0.608 0.811 0.448 0.531"
AVERAGE = "0.729 0.564 0.507 0.590 0.460 0.459 0.363 0.434"
BCI_RHO = {
    "aleatoric_orthogonality": "-0.944 0.697 -0.961 -0.964 -0.921 -0.248 -0.918 -0.965",
    "epistemic_consistency": "-0.873 0.194 0.718 -0.403 0.787 -0.893 0.879 0.976",
    "aleatoric_consistency": "0.975 0.968 0.979 0.991 0.976 0.962 0.953 0.996",
    "epistemic_orthogonality": "0.972 0.977 0.985 0.990 0.947 0.915 0.926 0.932",
}
AVERAGE_RHO = {
    "aleatoric_orthogonality": "0.869 0.449 0.714 0.740 0.850 0.498 0.530 0.868",
    "epistemic_consistency": "-0.399 0.440 0.885 0.340 0.877 0.410 0.941 0.964",
    "aleatoric_consistency": "0.970 0.981 0.918 0.979 0.954 0.971 0.864 0.969",
    "epistemic_orthogonality": "0.976 0.987 0.907 0.988 0.586 0.666 0.733 0.626",
}
BCI_AUC = {
    "aleatoric": "0.517 0.510 0.512 0.514 0.512 0.517 0.510 0.523",
    "epistemic": "0.512 0.509 0.514 0.516 0.511 0.510 0.505 0.522",
}
AVERAGE_AUC = {
    "aleatoric": "0.721 0.717 0.692 0.737 0.717 0.724 0.695 0.743",
    "epistemic": "0.721 0.726 0.699 0.755 0.649 0.699 0.659 0.741",
}
KEYS = [(split, method) for split in SPLITS for method in METHODS]
SETS = ("cifar10", "fashion-mnist", "wine")


def averages(source, measure, fourth, absolute=False):
    """Return the printed averages again, from our three data sets and the fourth."""
    table = {
        (name, cell["decomposition"], cell["method"]): float(text)
        for name in SETS
        for cell, text, _ in DISENTANGLEMENT.cells(name)
        if (cell["source"], cell["measure"]) == (source, measure)
    }
    assert len(table) == 24
    found = []
    for key, last in zip(KEYS, fourth.split(), strict=True):
        four = [table[name, *key] for name in SETS] + [float(last)]
        found.append(np.mean(np.abs(four) if absolute else four))
    return np.array(found)


def numbers(text):
    return np.array([float(part) for part in text.split()])


def test_what_was_copied_gives_the_printed_averages():
    # A rounded number is off by half a unit of its last digit.
    np.testing.assert_allclose(averages("table 2", "error", BCI), numbers(AVERAGE), atol=0.0011)
    for part in BCI_AUC:
        np.testing.assert_allclose(
            averages("table 4", part, BCI_AUC[part]), numbers(AVERAGE_AUC[part]), atol=0.0011
        )


@pytest.mark.parametrize("name", BCI_RHO)
def test_copied_correlations_give_the_printed_averages(name):
    absolute = name.endswith("orthogonality")
    source = "table 5" if TERMS[name].sweep == "size" else "table 6"
    found = averages(source, name, BCI_RHO[name], absolute)
    wrong = np.abs(found - numbers(AVERAGE_RHO[name])) > 0.0011
    assert wrong.sum() == 0, np.array(KEYS)[wrong]


def test_the_errors_of_table_3_are_means_of_their_terms():
    table = {}
    for cell, text, _ in DISENTANGLEMENT.cells("any data set"):
        assert (cell["source"], cell["method"]) == ("table 3", "deep-ensemble")
        table.setdefault(cell["decomposition"], {})[cell["measure"]] = float(text)
    assert set(table) == {AS_PRINTED, "bias_variance", "information"}
    for column in table.values():
        terms = [column[name] for name in TERMS]
        assert column["error"] == pytest.approx(np.mean(terms), abs=0.0011)


def test_spreads_are_read():
    cells = [c for c in DISENTANGLEMENT.cells("wine") if c[0]["source"] == "table 2"]
    assert [(text, spread) for _, text, spread in cells][:2] == [
        ("0.778", ".031"),
        ("0.737", ".080"),
    ]
    assert [float(spread) for _, _, spread in cells] == [
        0.031, 0.080, 0.094, 0.054, 0.041, 0.070, 0.045, 0.021,
    ]  # fmt: skip


def test_data_files_travel_with_the_package():
    for name in STUDIES:
        place = files("caveat.studies").joinpath("data", f"{name}.json")
        assert place.is_file()
        for table in STUDIES[name].paper.tables:
            assert {"source", "section", "rows", "columns", "names", "cells"} <= set(table)
            assert re.match("((table|figure|equation)s? |published splits$)", table["source"])


def test_every_claim_and_chart_names_what_the_study_has():
    for study in STUDIES.values():
        known = {"source", "measure", "run", *study.row.factors}
        for claim in study.paper.claims:
            across = claim.get("across", [])
            named = {*claim["where"], *([across] if isinstance(across, str) else across)}
            assert named <= known, claim["name"]
            assert claim.get("each", "source") in known
        for chart in study.paper.charts:
            named = {*chart.get("where", {}), *chart.get("each", ())}
            assert named <= known | {"kind"}, chart["name"]


def test_words_depend_on_the_table():
    assert DISENTANGLEMENT.word("epistemic_consistency", "table 5") == "rho(u_e, U_e)"
    assert DISENTANGLEMENT.word("epistemic_consistency") == "C2 epistemic consistency"
    assert DISENTANGLEMENT.word("some_other") == "some other"


def fairness_tables():
    """Return printed numbers by data set and attribute: group, reference and measure.

    D-Vlog has three tables for one attribute; see test_d_vlog.py.
    """
    found = {}
    for name in [name for name in FAIRNESS.datasets if name != "d-vlog"]:
        for cell, text, _ in FAIRNESS.cells(name):
            place = cell["group"], cell.get("reference", ""), cell["measure"]
            if text:
                found.setdefault((name, cell["attribute"]), {})[place] = text
    return found


TABLES = fairness_tables()
PAIRS = {key: FAIRNESS.datasets[key[0]]["attributes"][key[1]] for key in TABLES}
IDS = [f"{name}-{attribute}" for name, attribute in TABLES]
CONTRADICTIONS = {("adult", "sex", "epistemic_uncertainty")}
"""Noted in the study."""
RATIOS = (*POINT, ODDS, *UNCERTAINTIES)
BOLD = {
    ("sd1", "group"): {"aleatoric_uncertainty", "predictive_uncertainty"},
    ("sd2", "group"): {"epistemic_uncertainty"},
    ("sd3", "group"): {ODDS, "equal_accuracy"},
    ("compas", "race"): {*RATIOS} - {"equal_accuracy"},
    ("compas", "sex"): {*RATIOS} - {"equal_accuracy"},
    ("compas", "age"): {*RATIOS} - {"equal_accuracy"},
    ("adult", "race"): {"statistical_parity", "epistemic_uncertainty", "predictive_uncertainty"},
    ("adult", "sex"): {
        "statistical_parity",
        ODDS,
        "epistemic_uncertainty",
        "predictive_uncertainty",
    },
}


def ends(text):
    """What a number was before it was rounded or cut off."""
    found = printed_number(text)
    return found.low, found.high


def over(one, other):
    return one[0] / other[1], one[1] / other[0]


def rest(rate):
    return 1 - rate[1], 1 - rate[0]


@pytest.mark.parametrize("key", TABLES, ids=IDS)
def test_what_is_bold_in_the_tables_is_what_the_threshold_flags(key):
    flagged = {m for m in RATIOS if side(float(TABLES[key][(*PAIRS[key], m)]))}
    assert flagged == BOLD[key]


@pytest.mark.parametrize("key", TABLES, ids=IDS)
def test_ratios_are_group_0_over_group_1(key):
    printed = {place: ends(text) for place, text in TABLES[key].items()}
    zero, one = PAIRS[key]

    def both(measure):
        return printed[zero, "", measure], printed[one, "", measure]

    caught = over(*map(rest, both("false_negative_rate")))
    expected = {
        "equal_accuracy": over(*both("accuracy")),
        "equal_opportunity": caught,
        ODDS: over(over(*both("false_positive_rate")), caught),
        **{measure: over(*both(measure)) for measure in UNCERTAINTIES},
    }
    wrong = set()
    for measure, (low, high) in expected.items():
        ratio = printed[zero, one, measure]
        if not (ratio[0] <= high and low <= ratio[1]):
            wrong.add((*key, measure))
    assert wrong == {entry for entry in CONTRADICTIONS if entry[:2] == key}


@pytest.mark.parametrize("key", TABLES, ids=IDS)
def test_parts_add_up(key):
    """Predictive uncertainty is the sum of its parts, but in the table of Adult."""
    groups = {group for group, reference, _ in TABLES[key] if not reference}
    for group in groups:
        parts = [float(TABLES[key][group, "", measure]) for measure in UNCERTAINTIES]
        # Rounded or cut off, three numbers differ by a few units of the last digit.
        adds_up = abs(parts[0] + parts[1] - parts[2]) < 2.5e-4
        assert adds_up == (key[0] != "adult"), group


def test_shares_of_classes_are_whole_tables():
    seen = 0
    for table in TABLES.values():
        for group, reference, measure in list(table):
            if measure == "samples of class 0":
                count = int(table[group, reference, "samples"].replace(",", ""))
                parts = sum(int(table[group, "", f"samples of class {y}"]) for y in (0, 1))
                assert parts == (9782 if count == 9872 else count)
                seen += 1
    assert seen == 8


def test_slips_are_slips():
    adult = TABLES["adult", "sex"]
    assert float(adult["Female", "", "predictive_uncertainty"]) < float(
        adult["Female", "", "aleatoric_uncertainty"]
    )
    assert round(0.0001 / 6e-8) == 1667
