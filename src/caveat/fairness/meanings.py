"""The title of each measure of an audit, what it says, and what it cannot see."""

from ..metrics import METRICS

_WORDS = {
    "samples": ("How many there are of the group.", "How alike they are."),
    "base_rate": (
        "The share that truly belongs to the class, by the labels.",
        "Whether the labels are fair themselves.",
    ),
    "selection_rate": (
        "The share that is predicted to belong to the class.",
        "Whether that is right.",
    ),
    "accuracy": (
        "The share of predictions that are right.",
        "Which way the others are wrong, and whom that harms.",
    ),
    "positive_predictive_value": (
        "How many of those predicted to belong to the class do.",
        "Those that were not found.",
    ),
    "negative_predictive_value": (
        "How many of those predicted not to belong to the class do not.",
        "Those that were wrongly assigned to it.",
    ),
    "true_positive_rate": (
        "How many of those that belong to the class are found.",
        "How many others are assigned to it.",
    ),
    "false_positive_rate": (
        "How many of those that do not belong to the class are assigned to it.",
        "How many that belong to it are missed.",
    ),
    "mean_probability": (
        "The mean of the predicted probability of the class.",
        "Whether the class is as frequent.",
    ),
    "observed_over_predicted": (
        "How often the class occurs, over its mean probability: above 1 it is underestimated.",
        "Errors that cancel within the group.",
    ),
    "equal_calibration": (
        "Whether predicted probabilities are right on average to the same degree in every group.",
        "Errors that cancel within a group.",
    ),
    "statistical_parity": (
        "Whether groups are predicted to belong to the class as often.",
        "Whether they do belong to it as often.",
    ),
    "equal_opportunity": (
        "Whether those who belong to the class are found as often in every group.",
        "Those who do not belong to it.",
    ),
    "false_negative_rate": (
        "How many of those that belong to the class are missed.",
        "Those that do not belong to it.",
    ),
    "equalized_odds": (
        "Two ratios, of true and of false positive rates; as one number the one farther from 1.",
        "How many people are behind either rate.",
    ),
    "equal_accuracy": (
        "Whether predictions are right as often in every group.",
        "Whether errors harm one group and favor another.",
    ),
    "mean_absolute_error": (
        "How far predicted numbers are from the truth.",
        "Whether they are too high for one group and too low for another.",
    ),
    "aleatoric_uncertainty": (
        "How noisy the data of the group is, by the model's account; more of it will not help.",
        "Whether the model is right about that.",
    ),
    "epistemic_uncertainty": (
        "What the model has not learned of the group; more or better data would reduce it.",
        "What no member of the model knows.",
    ),
    "predictive_uncertainty": ("Both together.", "Which of the two it is."),
    "consistency": (
        "1 less the difference from the mean of the nearest neighbors, in standard deviations of "
        "the quantity: whether those who are alike are treated alike.",
        "Whether the features say who is alike; and a small group has neighbors farther away.",
    ),
}
MEANINGS = {
    name: (name.replace("_", " ").capitalize(), says, blind)
    for name, (says, blind) in _WORDS.items()
}


def measure_words(measure: str) -> str:
    """Return the title of a measure.

    Examples
    --------
    >>> measure_words("equalized_odds"), measure_words("expected_calibration_error")
    ('Equalized odds', 'Expected calibration error')
    """
    return MEANINGS[measure][0] if measure in MEANINGS else METRICS[measure].title


def measure_says(measure: str) -> str:
    """Return what a measure says, in one sentence."""
    return MEANINGS[measure][1] if measure in MEANINGS else METRICS[measure].says
