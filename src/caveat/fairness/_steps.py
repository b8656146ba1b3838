"""What to do after an audit."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..resampling.planning import rounded_up, samples_factor
from ..resampling.spread import score
from ..results.judgments import GapPattern, Judgment
from ..results.words import amount, listed, more_in_all
from .measures import LEAST

if TYPE_CHECKING:
    from ._result import FairnessAudit
    from ._verdict import Paragraph

_UNDECIDED = {GapPattern.UNKNOWN, GapPattern.UNCLEAR_SIZE}


def next_step(audit: "FairnessAudit", paragraphs: Sequence["Paragraph"]) -> str:
    """Return what to do: about gaps first, then about what is open."""
    patterns = {pattern for part in paragraphs for pattern in part.patterns}
    if patterns == {GapPattern.NOTHING}:
        return "Audit again with intervals (resamples=1000): without them nothing can be claimed."
    steps = [*_gaps(audit, paragraphs), *_open(audit, paragraphs)]
    if GapPattern.TOO_FEW in patterns:
        names = listed(p.attribute for p in paragraphs if GapPattern.TOO_FEW in p.patterns)
        steps.append(
            f"Label more samples of the groups of {names}: each needs at least {LEAST}, and some "
            "hundreds for a verdict on small gaps."
        )
    return " ".join(steps) or (
        "Nothing has to be done for these groups; audit again when the model or the samples change."
    )


def _gaps(audit: "FairnessAudit", paragraphs: Sequence["Paragraph"]) -> Iterator[str]:
    """Yield what to do about gaps beyond the threshold."""
    for pattern, step in _STEPS.items():
        names = [
            part.attribute for part in paragraphs if part.attribute and pattern in part.patterns
        ]
        if names:
            yield step.format(names=listed(names))
    if any(GapPattern.INDIVIDUAL_GAP in part.patterns for part in paragraphs):
        yield "Look at the samples that differ most from their neighbors: the page lists them."


_STEPS = {
    GapPattern.POINT_GAP: "Do not decide by its predictions alone between groups of {names}: "
    "evaluate with the same groups, and where the probabilities are off for one of them, repair by "
    "group (caveat.repair with groups=); where they are not, the difference is in the data.",
    GapPattern.EPISTEMIC_GAP: "Collect training data of the groups of {names} that the model knows "
    "less about.",
    GapPattern.ALEATORIC_GAP: "Look at how labels and features of the noisier groups of {names} "
    "are measured.",
    GapPattern.PREDICTIVE_GAP: "Hand over the uncertain predictions rather than all of a group of "
    "{names}, or train an ensemble to see what causes the uncertainty.",
}


def _open(audit: "FairnessAudit", paragraphs: Sequence["Paragraph"]) -> Iterator[str]:
    """Yield how many samples would show that there is no gap, where that is open."""
    names = [
        p.attribute
        for p in paragraphs
        if p.attribute and p.level != "bad" and _UNDECIDED & {*p.patterns}
    ]
    if not names:
        return
    needed = samples_needed(audit, names)
    if needed is None:
        yield f"Label more samples of the groups of {listed(names)}, and audit again."
        return
    low, high = (amount(end) for end in audit.fair_band)
    yield (
        f"Label {more_in_all(audit.samples, rounded_up(needed), 'samples like these')}: enough to "
        f"show of {listed(names)} that there is no gap beyond the threshold, if there is none. "
        f"Close to the limits themselves, {low} and {high}, no number of samples decides."
    )


def samples_needed(audit: "FairnessAudit", attributes: Sequence[str]) -> float | None:
    """Return how many samples show in most repetitions that equal groups are within the threshold.

    None if no interval is finite.
    """
    bottom, top = np.log(audit.fair_band)
    factors = []
    for row in audit.matching(kind="ratio"):
        ends = row.verdict_low, row.verdict_high
        open_ = row.judgment in (Judgment.UNCLEAR, Judgment.GAP) and row.samples >= LEAST
        if row.attribute in attributes and open_ and 0 < ends[0] < row.value < ends[1] < np.inf:
            low, center, high = np.log([ends[0], row.value, ends[1]])
            factors.append(
                samples_factor(
                    (low - center, 0.0, high - center),
                    lambda low, high: low >= bottom and high <= top,
                    score(audit.confidence),
                    unsure=0.0,
                )
            )
    return max(factors) * audit.samples if factors else None
