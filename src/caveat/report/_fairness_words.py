"""What the measures of an audit say, what they cannot see, and how the audit was made."""

from ..fairness import FairnessAudit
from ..fairness.measures import MEASURES
from ..metrics import METRICS
from ._words import definition
from .content import Definition

_MEANINGS = {
    "samples": ("Samples", "How many there are of the group.", "How alike they are."),
    "base_rate": (
        "Base rate",
        "The share that truly belongs to the class, by the labels.",
        "Whether the labels are fair themselves.",
    ),
    "selection_rate": (
        "Selection rate",
        "The share that is predicted to belong to the class.",
        "Whether that is right.",
    ),
    "accuracy": (
        "Accuracy",
        "The share of predictions that are right.",
        "Which way the others are wrong, and whom that harms.",
    ),
    "positive_predictive_value": (
        "Positive predictive value",
        "How many of those predicted to belong to the class do.",
        "Those that were not found.",
    ),
    "negative_predictive_value": (
        "Negative predictive value",
        "How many of those predicted not to belong to the class do not.",
        "Those that were wrongly taken for it.",
    ),
    "true_positive_rate": (
        "True positive rate",
        "How many of those that belong to the class are found.",
        "How many others are taken for it.",
    ),
    "false_positive_rate": (
        "False positive rate",
        "How many of those that do not belong to the class are taken for it.",
        "How many that belong to it are missed.",
    ),
    "statistical_parity": (
        "Statistical parity",
        "Whether groups are predicted to belong to the class as often.",
        "Whether they do belong to it as often.",
    ),
    "equal_opportunity": (
        "Equal opportunity",
        "Whether those who belong to the class are found as often in every group.",
        "Those who do not belong to it.",
    ),
    "false_negative_rate": (
        "False negative rate",
        "How many of those that belong to the class are missed.",
        "Those that do not belong to it.",
    ),
    "equalized_odds": (
        "Equalized odds",
        "Two ratios, of true and of false positive rates; as one number the one farther from 1.",
        "How many people are behind either rate.",
    ),
    "equal_accuracy": (
        "Equal accuracy",
        "Whether predictions are right as often in every group.",
        "Whether errors harm one group and favor another.",
    ),
    "mean_absolute_error": (
        "Mean absolute error",
        "How far predicted numbers are from the truth.",
        "Whether they are too high for one group and too low for another.",
    ),
    "aleatoric_uncertainty": (
        "Aleatoric uncertainty",
        "How noisy the data of the group is, by the model's account; more of it will not help.",
        "Whether the model is right about that.",
    ),
    "epistemic_uncertainty": (
        "Epistemic uncertainty",
        "What the model has not learned of the group; more or better data would reduce it.",
        "What no member of the model knows.",
    ),
    "predictive_uncertainty": (
        "Predictive uncertainty",
        "Both together.",
        "Which of the two it is.",
    ),
    "consistency": (
        "Consistency",
        "1 less the difference from the mean of the nearest neighbors, in standard deviations of "
        "the quantity: whether those who are alike are treated alike.",
        "Whether the features say who is alike; and a small group has neighbors farther away.",
    ),
}


def measure_words(measure: str) -> str:
    """Return the name of a measure of an audit for a reader.

    Examples
    --------
    >>> measure_words("equalized_odds"), measure_words("expected_calibration_error")
    ('Equalized odds', 'Expected calibration error')
    """
    return _MEANINGS[measure][0] if measure in _MEANINGS else METRICS[measure].title


def measure_says(measure: str) -> str:
    """Return what a measure tells, in one sentence."""
    return _MEANINGS[measure][1] if measure in _MEANINGS else METRICS[measure].says


def definitions_of(audit: FairnessAudit) -> list[Definition]:
    """Return the definition of every measure that the audit has."""
    names = dict.fromkeys(row.measure for row in audit.rows)
    found = [_definition(name) for name in names]
    return [*found, _definition("consistency")] if audit.consistency is not None else found


def _definition(name: str) -> Definition:
    if name not in _MEANINGS:
        return definition(name)
    title, says, blind = _MEANINGS[name]
    return Definition(title, MEASURES[name].symbol if name in MEASURES else "", says, blind)


def method_notes(audit: FairnessAudit) -> list[str]:
    """Return how the audit was made, and how far it can be relied upon."""
    low, high = audit.fair_band
    notes = [
        f"Audited: {audit.description}. Uncertainty is split by the method "
        f"{audit.decomposition!r} of caveat.decompose.",
        f"A ratio is within the threshold from {low:.3g} to {high:.3g}, which is the same "
        "whichever group is on top. There is a gap if its interval does not hold 1; the gap is "
        "beyond the threshold if the whole interval lies outside, and within if it lies inside. "
        "Otherwise the data cannot show it.",
        "The interval that decides holds for all comparisons of an attribute at once: all pairs "
        "of groups in all measures, or those with the privileged group. Of equal groups, some gap "
        f"is claimed in about {100 * (1 - audit.confidence):.3g} % of audits of an attribute.",
        _references(audit),
        "Intervals come from resampling the samples, or whole clusters of them. Nothing is said of "
        "fewer than 10 independent samples.",
        "The split into aleatoric and epistemic uncertainty is the model's own account: an "
        "over-confident model is over-confident about it too. Look at the calibration error of "
        "each group first.",
        "Where base rates differ, not all measures of fairness can be equal at once. Which of them "
        "matters is for people to decide.",
    ]
    if audit.consistency is not None:
        notes.append(f"{audit.consistency.description}. In these means every sample counts alike.")
    return notes


def _references(audit: FairnessAudit) -> str:
    if not audit.privileged:
        return (
            "Groups are compared with the one that is best off by each measure: the highest share, "
            "accuracy or true positive rate, the lowest error or uncertainty. A group in which a "
            "rate is 0 is left out of that choice where there are others."
        )
    named = ", ".join(f"{name}: {value}" for name, value in audit.privileged.items())
    return f"Groups are compared with the privileged one ({named})."
