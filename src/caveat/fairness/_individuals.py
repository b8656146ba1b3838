"""What an audit shows about individuals, in plain words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..resampling.pairs import combined
from ..results.judgments import BY_WEIGHT, FINE, GapPattern, Judgment
from ..results.words import amount, joined, listed, nominal, percent
from ._consistency_result import Consistency, ConsistencyRow
from ._family import bonferroni
from ._ratios import Number, judged
from ._sentences import ALL, SIZES, ends_words
from .measures import LEAST

if TYPE_CHECKING:
    from ._result import FairnessAudit


@dataclass(frozen=True)
class Gap:
    """How much farther the samples of one group are from their neighbors than those of another.

    Attributes
    ----------
    quantity : str
    group, reference : ConsistencyRow
    ratio : Number
        The ratio of the mean differences from the neighbors, in which the scale of the quantity
        cancels. Its interval holds for all comparisons at once.
    comparisons : int
        The number of pairs of groups, times the number of quantities.
    verdict : Judgment
    """

    quantity: str
    group: ConsistencyRow
    reference: ConsistencyRow
    ratio: Number
    comparisons: int
    verdict: Judgment


def compared(
    audit: "FairnessAudit", alike: Consistency, attribute: str, quantity: str
) -> list[Gap]:
    """Compare the groups of an attribute with the privileged or the most consistent one."""
    rows = _groups(alike, attribute, quantity)
    judgeable = [row for row in rows if row.units >= LEAST and not np.isnan(row.low)]
    if len(judgeable) < 2:
        return []
    privileged = [row for row in judgeable if row.group == audit.privileged.get(attribute)]
    reference = (privileged or sorted(judgeable, key=lambda row: -row.consistency))[0]
    number = len(judgeable)
    pairs = number - 1 if privileged else number * (number - 1) // 2
    comparisons = pairs * len(alike.differences)
    level = bonferroni(audit.confidence, comparisons)
    gaps = []
    for row in judgeable:
        ratio = _ratio(row, reference)
        if row is reference or np.isnan(ratio.value):  # neither group has any difference
            continue
        low, high = ratio.at(level, audit.confidence, ratio=True)
        verdict = judged(ratio, (low, high), audit.threshold, ratio=True)[0]
        decides = replace(ratio, low=low, high=high)
        gaps.append(Gap(quantity, row, reference, decides, comparisons, verdict))
    return gaps


def _groups(alike: Consistency, attribute: str, quantity: str) -> list[ConsistencyRow]:
    return alike.matching(quantity=quantity, attribute=attribute, outcome="")


def _ratio(row: ConsistencyRow, reference: ConsistencyRow) -> Number:
    """Return the ratio of two mean differences, with the interval of independent groups."""
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (
            np.log([max(1 - r.high, 0.0), 1 - r.consistency, 1 - r.low]) for r in (row, reference)
        )
        low, value, high = np.exp(combined(one, other))
        if np.isinf(
            [one[1], other[1]]
        ).any():  # a group without any difference: only its ends count
            low, high = np.exp([one[0] - other[2], one[2] - other[0]])
            low, high = np.where(np.isnan([low, high]), [0.0, np.inf], [low, high])
    return Number(float(value), float(low), float(high), min(row.units, reference.units))


def individuals(
    audit: "FairnessAudit", alike: Consistency
) -> tuple[tuple[GapPattern, ...], str, tuple[ConsistencyRow, ...]]:
    """Return the patterns, the text, and the rows that the text rests on."""
    quantities = tuple(alike.differences)
    predictions = _predictions(audit)
    words = {name: predictions.get(name, name) for name in quantities}
    sentences = list(_overall(audit, alike, words))
    states: list[Judgment] = []
    behind = [alike.matching(quantity=name)[0] for name in quantities]
    gaps_said = False
    for attribute in audit.attributes:
        result = {name: compared(audit, alike, attribute, name) for name in quantities}
        of_attribute = {name: _state(gaps) for name, gaps in result.items()}
        shown = [
            gaps
            for size in (Judgment.BEYOND, Judgment.GAP)
            for name in quantities
            if of_attribute[name] == size
            for gaps in _sides(result[name], size)
        ]
        behind += [row for gaps in shown for gap in gaps for row in (gap.group, gap.reference)]
        for same_groups in _by_groups(shown):
            sentences.append(
                _gap_sentence(same_groups, words, audit.confidence, first=not gaps_said)
            )
            gaps_said = True
        sentences += _rest(alike, attribute, of_attribute, words)
        states += of_attribute.values()
    if gaps_said:
        sentences.append(
            "A group with fewer samples has neighbors farther away, and one with larger "
            "uncertainties larger differences: either alone makes it less consistent."
        )
    return _patterns(states), " ".join(sentences), tuple(dict.fromkeys(behind))


def _patterns(states: Sequence[Judgment]) -> tuple[GapPattern, ...]:
    if Judgment.BEYOND in states:
        return (GapPattern.INDIVIDUAL_GAP,)
    if Judgment.GAP in states:
        return (GapPattern.UNCLEAR_SIZE,)
    return (GapPattern.NO_INDIVIDUAL_GAP,) if set(states) <= {*FINE} else (GapPattern.UNKNOWN,)


def _state(gaps: Sequence[Gap]) -> Judgment:
    verdicts = [gap.verdict for gap in gaps]
    return next((state for state in BY_WEIGHT if state in verdicts), Judgment.UNDEFINED)


def _sides(gaps: Sequence[Gap], verdict: Judgment) -> list[list[Gap]]:
    """Return the gaps of one size, those above 1 and those below separately, the largest first."""
    shown = [gap for gap in gaps if gap.verdict == verdict]
    shown.sort(key=lambda gap: -gap.ratio.distance)
    sides = [[gap for gap in shown if (gap.ratio.value > 1) == upward] for upward in (True, False)]
    return [side for side in sides if side]


def _overall(audit: "FairnessAudit", alike: Consistency, words: Mapping[str, str]) -> Iterator[str]:
    """Yield how far predictions are from those of their neighbors, over all samples."""
    classes = not audit.matching(measure="mean_absolute_error")
    several = alike.neighbors > 1
    for name in (name for name in words if name in _predictions(audit)):
        whole = alike.matching(quantity=name)[0]
        if classes:
            ends = _ends(audit, whole, percent(whole.low), percent(whole.high))
            share = percent(whole.consistency)
            yield (
                f"On average {share} of a sample's {alike.neighbors} nearest neighbors have its "
                f"predicted class{ends}."
                if several
                else f"The nearest neighbor of {share} of the samples has their predicted "
                f"class{ends}."
            )
        elif np.isnan(whole.scaled):
            yield f"All samples have the same {words[name]}."
        else:
            low, high = (amount(abs(1 - end)) for end in (whole.scaled_high, whole.scaled_low))
            near = "that of the nearest neighbor"
            if several:
                near = f"the mean of the {alike.neighbors} nearest neighbors"
            yield (
                f"The {words[name]} is on average {amount(1 - whole.scaled)} standard deviations "
                f"from {near}{_ends(audit, whole, low, high)}."
            )


def _ends(audit: "FairnessAudit", row: ConsistencyRow, low: str, high: str) -> str:
    if np.isnan(row.low):
        return ""
    return f" ({nominal(audit.confidence)} interval {low} to {high})"


def prediction_name(target: str) -> str:
    """Return how the prediction of a target is called among the quantities."""
    return f"prediction {target}" if target else "prediction"


def _predictions(audit: "FairnessAudit") -> dict[str, str]:
    """Return the quantities that are predictions, with their names in sentences."""
    targets = dict.fromkeys(row.target for row in audit.matching(measure="mean_absolute_error"))
    return {
        prediction_name(target): f"prediction of {target}" if target else "prediction"
        for target in targets or [""]
    }


def _by_groups(shown: Sequence[Sequence[Gap]]) -> list[list[Sequence[Gap]]]:
    """Collect the quantities whose gaps are between the same groups and of the same size."""
    result: dict[tuple[tuple[str, ...], ...], list[Sequence[Gap]]] = {}
    for gaps in shown:
        names = ((*_upward(gap)[:2], gap.verdict) for gap in gaps)
        result.setdefault(tuple(names), []).append(gaps)
    return list(result.values())


def _gap_sentence(
    shown: Sequence[Sequence[Gap]], of: Mapping[str, str], confidence: float, *, first: bool
) -> str:
    """Return a sentence on a group whose samples differ more from their neighbors."""
    worse, better, _ = _upward(shown[0][0])
    others = [_upward(gap)[:2] for gap in shown[0][1:]]
    likewise = ""
    if others and others[0][0] == worse:
        likewise = f"; they are less so than those of {listed(name for _, name in others)} too"
    elif others:
        likewise = f"; likewise for {listed(name for name, _ in others)}"
    parts: list[str] = []
    for gaps in shown:
        ratio = _upward(gaps[0])[2]
        several = ALL if gaps[0].comparisons > 1 else ""
        name = f"{nominal(confidence)} interval{several} " if first and not parts else ""
        times = f"{amount(ratio.value)} times as much ({name}{ends_words(ratio.low, ratio.high)})"
        differs = "" if parts else "differs from that of the neighbors "
        parts.append(f"{of[gaps[0].quantity]} {differs}{times}")
    return (
        f"Samples of {worse} are treated less like their neighbors than those of {better}: their "
        f"{joined(parts)}{SIZES[shown[0][0].verdict]}{likewise}."
    )


def _upward(gap: Gap) -> tuple[str, str, Number]:
    """Return the less consistent group, the other, and the ratio above 1."""
    names = [row.group_name for row in (gap.group, gap.reference)]
    ratio = gap.ratio
    if ratio.value >= 1:
        return names[0], names[1], ratio
    high = 1 / ratio.low if ratio.low > 0 else np.inf
    return names[1], names[0], Number(1 / ratio.value, 1 / ratio.high, high, ratio.units)


def _rest(
    alike: Consistency, attribute: str, states: dict[str, Judgment], words: Mapping[str, str]
) -> Iterator[str]:
    """Yield the quantities without a shown gap: none, within, unclear, or not compared."""
    fine, small, unclear = (
        [words[name] for name, state in states.items() if state in wanted]
        for wanted in (FINE, (Judgment.SMALL,), (Judgment.UNCLEAR,))
    )
    nothing = [name for name, state in states.items() if state == Judgment.UNDEFINED]
    if fine:
        yield (
            f"Between groups of {attribute} there is no gap beyond the threshold in the "
            f"consistency of {joined(fine)}."
        )
    if small:
        yield f"In that of {joined(small)} there is a gap, but within the threshold."
    if unclear:
        yield (
            f"The data cannot show whether there is a gap beyond the threshold between groups of "
            f"{attribute} in the consistency of {joined(unclear, 'or')}."
        )
    reasons: dict[str, list[str]] = {}
    for name in nothing:
        reasons.setdefault(_why(alike, attribute, name), []).append(words[name])
    for why, names in reasons.items():
        yield f"The consistency of {joined(names)} is not compared by {attribute}: {why}."
    left = _left_out(alike, attribute, [name for name in states if name not in nothing])
    if left:
        yield f"Nothing is said of the individuals of {listed(left)}: too few, or no interval."


def _why(alike: Consistency, attribute: str, quantity: str) -> str:
    """Return why there are not two groups to compare."""
    rows = _groups(alike, attribute, quantity)
    if sum(row.units >= LEAST for row in rows) < 2:
        return f"fewer than two groups have {LEAST} samples or more"
    names = [row.group_name for row in rows if row.units >= LEAST and np.isnan(row.low)]
    if not names:
        return "no sample of any group differs from its neighbors"
    return f"no interval for {listed(names)}, whose samples are all as far from their neighbors"


def _left_out(alike: Consistency, attribute: str, quantities: Sequence[str]) -> list[str]:
    """Return the groups that some comparison had to leave out."""
    rows = (row for name in quantities for row in _groups(alike, attribute, name))
    small = (row.group_name for row in rows if row.units < LEAST or np.isnan(row.low))
    return list(dict.fromkeys(small))
