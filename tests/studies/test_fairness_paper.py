"""The printed tables agree with themselves: each ratio is group 0 over group 1 of the rows above it.

A digit that was copied wrongly, or a ratio the other way round, would not.
"""

import pytest

from caveat.studies._fairness_paper import EXPERIMENTS, ODDS, UNCERTAIN
from caveat.studies._table import printed_number

ATTRIBUTES = [
    (name, attribute)
    for name, experiment in EXPERIMENTS.items()
    for attribute in experiment.attributes
]
CONTRADICTIONS = {("adult", "sex", "epistemic_uncertainty")}
"""Noted in the study."""


def ends(text):
    """What a number was before it was rounded or cut off."""
    found = printed_number(text)
    return found.low, found.high


def over(one, other):
    return one[0] / other[1], one[1] / other[0]


def rest(rate):
    return 1 - rate[1], 1 - rate[0]


@pytest.mark.parametrize(("name", "attribute"), ATTRIBUTES, ids=lambda v: getattr(v, "name", v))
def test_ratios_are_group_0_over_group_1(name, attribute):
    printed = {key: ends(text) for key, text in attribute.printed().items()}
    zero, one = attribute.minority, attribute.majority

    def both(measure):
        return printed[zero, "", measure], printed[one, "", measure]

    caught = over(*map(rest, both("false_negative_rate")))
    expected = {
        "equal_accuracy": over(*both("accuracy")),
        "equal_opportunity": caught,
        ODDS: over(over(*both("false_positive_rate")), caught),
        **{measure: over(*both(measure)) for measure in UNCERTAIN},
    }
    wrong = set()
    for measure, (low, high) in expected.items():
        ratio = printed[zero, one, measure]
        if not (ratio[0] <= high and low <= ratio[1]):
            wrong.add((name, attribute.name, measure))
    assert wrong == {entry for entry in CONTRADICTIONS if entry[:2] == (name, attribute.name)}


@pytest.mark.parametrize(("name", "attribute"), ATTRIBUTES, ids=lambda v: getattr(v, "name", v))
def test_parts_add_up(name, attribute):
    """Predictive uncertainty is the sum of its parts, but in the table of Adult."""
    for group in attribute.groups:
        parts = [
            float(attribute.printed()[group, "", measure])
            for measure in UNCERTAIN
        ]  # fmt: skip
        # Rounded or cut off, three numbers differ by a few units of the last digit.
        adds_up = abs(parts[0] + parts[1] - parts[2]) < 2.5e-4
        assert adds_up == (name != "adult"), group


def test_shares_of_classes_are_whole_tables():
    for _, attribute in ATTRIBUTES:
        for group, both in attribute.labels.items():
            count = int(attribute.sizes[group].replace(",", ""))
            parts = sum(map(int, both.split()))
            assert parts == (9782 if count == 9872 else count)
