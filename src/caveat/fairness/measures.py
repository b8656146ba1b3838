"""The measures of an audit."""

from dataclasses import dataclass
from typing import Any, Literal

from ..results.judgments import MeasurePart

UNCERTAINTIES = ("aleatoric_uncertainty", "epistemic_uncertainty", "predictive_uncertainty")
MEAN_PROBABILITY = "mean_probability"
"""The name of the mean probability of one of two classes."""

SAME = "the same in every resample, so that its spread does not show"
LEAST = 10
"""There is no verdict for fewer independent samples."""


@dataclass(frozen=True)
class Measure:
    """A measure of fairness: the rate that is compared, and whether more of it is better."""

    name: str
    of: str
    """The rate or mean of each group."""
    symbol: str
    better: Literal["higher", "lower", "one"]
    """What is best; "one" is a rate of 1."""


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("statistical_parity", "selection_rate", "F_SP", "higher"),
        Measure("equal_opportunity", "true_positive_rate", "F_EOpp", "higher"),
        Measure("false_negative_rate", "false_negative_rate", "F_FNR", "lower"),
        Measure("equalized_odds", "true_positive_rate", "F_EOdd", "higher"),
        Measure("equal_accuracy", "accuracy", "F_EAcc", "higher"),
        Measure("equal_calibration", "observed_over_predicted", "F_Cal", "one"),
        Measure("mean_absolute_error", "mean_absolute_error", "F_MAE", "lower"),
        Measure("aleatoric_uncertainty", "aleatoric_uncertainty", "F_Alea", "lower"),
        Measure("epistemic_uncertainty", "epistemic_uncertainty", "F_Epis", "lower"),
        Measure("predictive_uncertainty", "predictive_uncertainty", "F_Pred", "lower"),
    )
}

ODDS = (
    (MeasurePart.Y1, Measure("equalized_odds", "true_positive_rate", "F_EOdd, y=1", "higher")),
    (MeasurePart.Y0, Measure("equalized_odds", "false_positive_rate", "F_EOdd, y=0", "lower")),
)
"""Equalized odds are two ratios, one for each true class."""

_OF_TARGETS = {
    *UNCERTAINTIES,
    "mean_absolute_error",
    "expected_calibration_error",
    "expected_normalized_calibration_error",
}


def whose(measure: str, label: str) -> dict[str, Any]:
    """Return the field of a row for a label: its target or its class."""
    return {"target": label} if measure in _OF_TARGETS else {"one_class": label or None}
