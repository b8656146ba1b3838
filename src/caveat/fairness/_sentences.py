"""Single sentences about ratios between two groups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..evaluation._verdict_words import amount, counted, listed, nominal, percent
from ._rows import FairnessRow, group_name

if TYPE_CHECKING:
    from ._result import FairnessAudit

POINT_NAMES = {
    "statistical_parity": "statistical parity",
    "equal_opportunity": "equal opportunity",
    "false_negative_rate": "false negative rates",
    "equalised_odds": "false positive rates",
    "equal_accuracy": "accuracy",
    "mean_absolute_error": "mean absolute error",
}
"""The point measures, as lists name them; of equalised odds, what equal opportunity leaves."""

_ADVICE = {
    "epistemic_uncertainty": (
        "The model knows less about {worse}",
        "It is what more or better data of this group would reduce.",
    ),
    "aleatoric_uncertainty": (
        "By the model's account the data of {worse} is noisier",
        "More of the same data will not help: look at how its labels and features are measured.",
    ),
    "predictive_uncertainty": (
        "Predictions for {worse} are less certain",
        "How much of that is noise in the data and how much the model's ignorance cannot be told.",
    ),
}


def uncertainty_sentence(rows: Sequence[FairnessRow], confidence: float, *, first: bool) -> str:
    """Say whose uncertainty is larger, by how much, and what would help."""
    row = rows[0]
    opening, advice = _ADVICE[row.measure]
    worse, better, value, low, high = _upward(row)
    name = row.measure.replace("_", " ")
    target = f" of {row.label}" if row.label else ""
    others = _others([_upward(other)[0] for other in rows[1:]], worse)
    return (
        f"{opening.format(worse=worse)}: its {name}{target} is {amount(value)} times that of "
        f"{better}{_interval(low, high, confidence, first)}{others}. {advice}"
    )


def point_sentence(rows: Sequence[FairnessRow], audit: "FairnessAudit", *, first: bool) -> str:
    """Say what is predicted less often, less well, or with larger errors of which group."""
    row = rows[0]
    group, reference = _names(row)
    times = f"{amount(row.value)} times"
    ends = _interval(row.low, row.high, audit.confidence, first)
    label = f"class {row.label}"
    text = {
        "statistical_parity": f"{label} is predicted {times} as often for {group} as for "
        f"{reference}{ends}{_base_rates(row, audit)}",
        "equal_opportunity": f"Samples of {label} are recognised {times} as often in {group} as in "
        f"{reference}{ends}",
        "false_negative_rate": f"Samples of {label} are missed {times} as often in {group} as in "
        f"{reference}{ends}",
        "equalised_odds": f"Samples that are not of {label} are taken for it {times} as often in "
        f"{group} as in {reference}{ends}",
        "equal_accuracy": f"Predictions are right {times} as often for {group} as for "
        f"{reference}{ends}",
        "mean_absolute_error": f"Errors{f' of {row.label}' if row.label else ''} are {times} as "
        f"large for {group} as for {reference}{ends}",
    }[row.measure]
    names = [_names(other)[0] for other in rows[1:] if other.label == row.label]
    labels = len({other.label for other in rows} - {row.label})
    more = f"; so it is with {counted(labels, 'other')} of the classes or targets" if labels else ""
    return f"{text[0].upper()}{text[1:]}{_others(names, group)}{more}."


def _base_rates(row: FairnessRow, audit: "FairnessAudit") -> str:
    """What is true of the groups, beside what is predicted of them."""
    if row.measure != "statistical_parity":
        return ""
    shares = [
        audit.select(attribute=row.attribute, measure="base_rate", label=row.label, group=group)
        for group in (row.group, row.reference)
    ]
    return (
        f", where {percent(shares[0][0].value)} against {percent(shares[1][0].value)} truly "
        "belong to it"
    )


def _names(row: FairnessRow) -> tuple[str, str]:
    return group_name(row.attribute, row.group), group_name(row.attribute, row.reference)


def _upward(row: FairnessRow) -> tuple[str, str, float, float, float]:
    """Return the worse group, the better one, and the ratio above 1 with its interval."""
    group, reference = _names(row)
    if row.value >= 1:
        return group, reference, row.value, row.low, row.high
    low = 1 / row.high
    high = 1 / row.low if row.low > 0 else np.inf
    return reference, group, 1 / row.value, low, high


def _interval(low: float, high: float, confidence: float, first: bool) -> str:
    name = f"{nominal(confidence)} interval " if first else ""
    if not np.isfinite(high):
        return f" ({name}{amount(low)} or more)"
    return f" ({name}{amount(low)} to {amount(high)})"


def _others(names: Sequence[str], said: str) -> str:
    others = [name for name in dict.fromkeys(names) if name != said]
    return f"; likewise for {listed(others)}" if others else ""
