"""The rows of an audit, and the measures that they hold."""

from dataclasses import dataclass
from typing import Literal

BEYOND = "a gap beyond the threshold"
GAP = "a gap, which may or may not exceed the threshold"
SMALL = "a gap, but within the threshold"
WITHIN = "within the threshold"
UNCLEAR = "the data cannot show whether there is a gap beyond the threshold"
DIFFERENT = "different"
EQUAL = "the data cannot show whether there is a difference"
NOT_JUDGED = "not judged without intervals"

BY_WEIGHT = (BEYOND, GAP, UNCLEAR, SMALL, WITHIN)
"""What can be said of a ratio; of several ratios the first of these that holds is said."""

FINE = (SMALL, WITHIN)
"""What shows that there is no gap beyond the threshold."""

SHORT = {
    BEYOND: "gap beyond threshold",
    GAP: "gap, size unclear",
    SMALL: "gap within threshold",
    WITHIN: "within threshold",
    UNCLEAR: "unclear",
    NOT_JUDGED: "not judged",
}
"""Verdicts in legends and narrow tables."""

UNCERTAINTIES = ("aleatoric_uncertainty", "epistemic_uncertainty", "predictive_uncertainty")
NAN = float("nan")
SAME = "the same in every resample, so that its spread does not show"
LEAST = 10
"""Nothing is claimed of fewer independent samples than these."""


@dataclass(frozen=True)
class Measure:
    """A measure of fairness: what of each group is compared, and which groups are well off."""

    name: str
    of: str
    """The rate or mean of a group that is compared."""
    symbol: str
    better: Literal["higher", "lower"]


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("statistical_parity", "selection_rate", "F_SP", "higher"),
        Measure("equal_opportunity", "true_positive_rate", "F_EOpp", "higher"),
        Measure("false_negative_rate", "false_negative_rate", "F_FNR", "lower"),
        Measure("equalised_odds", "true_positive_rate", "F_EOdd", "higher"),
        Measure("equal_accuracy", "accuracy", "F_EAcc", "higher"),
        Measure("mean_absolute_error", "mean_absolute_error", "F_MAE", "lower"),
        Measure("aleatoric_uncertainty", "aleatoric_uncertainty", "F_Alea", "lower"),
        Measure("epistemic_uncertainty", "epistemic_uncertainty", "F_Epis", "lower"),
        Measure("predictive_uncertainty", "predictive_uncertainty", "F_Pred", "lower"),
    )
}

ODDS = (
    ("y=1", Measure("equalised_odds", "true_positive_rate", "F_EOdd, y=1", "higher")),
    ("y=0", Measure("equalised_odds", "false_positive_rate", "F_EOdd, y=0", "lower")),
)
"""Equalised odds are two ratios, one for each truth."""


@dataclass(frozen=True)
class FairnessRow:
    r"""One number of an audit: of a group, or between two.

    Attributes
    ----------
    attribute : str
    kind : {"group", "ratio", "difference"}
    measure : str
    statistic : str
        "mean" or "quantile=0.95" of an uncertainty; "y=0", "y=1" or "farther from 1" of equalised
        odds; otherwise empty.
    label : str
        The class that is compared with the rest, or the target; empty where all are meant.
    group : str
    reference : str
        The group that ``group`` is compared with; empty in the rows of single groups.
    comparison : {"", "reference", "worst pair"}
    value, low, high : float
        The value and its confidence interval; NaN where there is none. Where the data chose which
        groups (or, of "farther from 1", which rate) are compared, it allows for that choice.
    estimate : float
        Of calibration errors, which chance alone makes positive: the value freed of that bias.
    samples : int
        Of the group; between two, of the smaller one.
    flag : bool or None
        Of a ratio F: whether :math:`|F - 1|` is above the threshold.
    symmetric_flag : bool or None
        Of a ratio F: whether :math:`|\log F|` is above :math:`-\log(1 - \text{threshold})`.
    verdict : str
        Of a ratio "a gap beyond the threshold", "a gap, which may or may not exceed the threshold",
        "a gap, but within the threshold", "within the threshold" or "the data cannot show whether
        there is a gap beyond the threshold"; of a difference "different" or "the data cannot show
        whether there is a difference"; of either "undefined", with the reason, or "not judged
        without intervals".
    verdict_low, verdict_high : float
        The interval that the verdict rests on, which holds for all comparisons of the attribute at
        once.
    note : str
    """

    attribute: str
    kind: str
    measure: str
    statistic: str
    label: str
    group: str
    reference: str
    comparison: str
    value: float
    low: float
    high: float
    estimate: float
    samples: int
    flag: bool | None
    symmetric_flag: bool | None
    verdict: str
    verdict_low: float
    verdict_high: float
    note: str


def group_name(attribute: str, value: str) -> str:
    """Return how a group is called: ``sex=f``; a combination has its attributes' names in it."""
    combination = " x " in attribute and value.startswith(f"{attribute.split(' x ')[0]}=")
    return value if combination else f"{attribute}={value}"
