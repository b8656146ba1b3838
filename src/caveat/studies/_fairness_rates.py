"""Rates and uncertainties of groups, and the ratios between them, as the tables have them."""

from collections.abc import Mapping
from typing import Any

from ..fairness import audit
from ..results.judgments import MeasurePart, Pairing
from .summary import NAN

ODDS = "equalized_odds_as_printed"
"""No measure of fairness, and undefined in most runs on few samples: no conclusion rests on it."""

Place = tuple[str, str, str, str]
"""An attribute, a group, the group it is compared with, if any, and a measure."""


def audited(
    prediction: Any, y: Any, groups: Mapping[str, Any], pairs: Mapping[str, tuple[str, str]]
) -> tuple[dict[Place, float], dict[Place, float]]:
    """Return the rates of all groups; and the same together with the ratios of the pairs."""
    own = {attribute: groups[attribute] for attribute in pairs}
    privileged = {attribute: pair[1] for attribute, pair in pairs.items()}
    result = audit(prediction, y, own, privileged=privileged, resamples=0)
    rates = {
        (row.attribute, row.group, "", row.measure): row.value
        for row in result
        if row.kind == "group" and row.part in (MeasurePart.WHOLE, MeasurePart.MEAN)
    }
    ratios = {
        (row.attribute, row.group, row.reference, row.measure): row.value
        for row in result
        if row.kind == "ratio" and row.comparison is Pairing.REFERENCE
        and row.part in (MeasurePart.WHOLE, MeasurePart.FARTHER)
    }  # fmt: skip
    for attribute, pair in pairs.items():
        ratios[attribute, *pair, ODDS] = printed_odds(rates, attribute, *pair)
    return rates, ratios | rates


def printed_odds(rates: Mapping[Any, float], attribute: str, minority: str, majority: str) -> float:
    """Return (FPR0 / FPR1) / (TPR0 / TPR1), the number that the tables print as equalized odds."""
    fpr0, fpr1, tpr0, tpr1 = (
        rates.get((attribute, group, "", f"{name}_positive_rate"), NAN)
        for name in ("false", "true")
        for group in (minority, majority)
    )
    if not all(rate > 0 for rate in (fpr0, fpr1, tpr0, tpr1)):
        return NAN
    return (fpr0 / fpr1) / (tpr0 / tpr1)
