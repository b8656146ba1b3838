"""What the measures of an audit say, what they cannot see, and how the audit was made."""

from ..fairness import FairnessAudit
from ..fairness.meanings import MEANINGS
from ..fairness.measures import MEASURES
from ._words import definition
from .content import Definition


def definitions_of(audit: FairnessAudit) -> list[Definition]:
    """Return the definition of every measure that the audit has."""
    names = dict.fromkeys(row.measure for row in audit.rows)
    result = [_definition(name) for name in names]
    return [*result, _definition("consistency")] if audit.consistency is not None else result


def _definition(name: str) -> Definition:
    if name not in MEANINGS:
        return definition(name)
    title, says, blind = MEANINGS[name]
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
