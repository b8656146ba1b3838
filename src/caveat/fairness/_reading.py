"""What an audit shows, in plain words, and never more than its intervals do."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..evaluation._table import plain_row
from ..evaluation._verdict_words import Level, amount, joined, listed
from ._consistency_result import ConsistencyRow
from ._findings import Findings, place
from ._individuals import INDIVIDUAL_GAP, NO_INDIVIDUAL_GAP, individuals
from ._rows import FAIR, LEAST, NOT_JUDGED, UNCERTAINTIES, UNCLEAR, FairnessRow, group_name
from ._sentences import POINT_NAMES, gap_sentences, interval_name, measure_name

if TYPE_CHECKING:
    from ._result import FairnessAudit

EPISTEMIC_GAP = "epistemic gap"
ALEATORIC_GAP = "aleatoric gap"
PREDICTIVE_GAP = "predictive gap"
POINT_GAP = "point gap"
POINT_ONLY = "point gap without uncertainty gap"
UNCERTAINTY_ONLY = "uncertainty gap without point gap"
NO_GAP = "no gap"
TOO_FEW = "too few samples"
NOT_ALL = "not all compared"
NOTHING = "not judged"

_NO_INTERVALS = "Nothing is claimed without intervals; run the audit with resamples."
_GAPS = dict(zip(UNCERTAINTIES, (ALEATORIC_GAP, EPISTEMIC_GAP, PREDICTIVE_GAP), strict=True))
_IN_ORDER = (
    "epistemic_uncertainty",
    "aleatoric_uncertainty",
    "predictive_uncertainty",
    *POINT_NAMES,
)


@dataclass(frozen=True)
class Paragraph:
    """What is said of one attribute, or of individuals.

    Attributes
    ----------
    attribute : str
        Empty for individuals.
    patterns : tuple of str
        "epistemic gap", "aleatoric gap", "predictive gap", "point gap", "point gap without
        uncertainty gap", "uncertainty gap without point gap", "no gap", "too few samples", "not all
        compared" if no gap was shown and some measure is undefined, or "not judged" without
        intervals; of individuals "individual gap", "no individual gap", "too few samples" or "not
        judged".
    text : str
        Names of groups and classes are as they came: escape them in HTML.
    rows : tuple of FairnessRow, or of ConsistencyRow
        What it rests on.
    """

    attribute: str
    patterns: tuple[str, ...]
    text: str
    rows: tuple[FairnessRow, ...] | tuple[ConsistencyRow, ...]

    @property
    def name(self) -> str:
        """What it is of: the attribute, or individuals."""
        return self.attribute or "Individuals"

    @property
    def level(self) -> Level:
        """Whether a gap was shown ("bad"), shown not to be there ("good"), or neither."""
        if {TOO_FEW, NOT_ALL, NOTHING} & {*self.patterns}:
            return "unsure"
        return "good" if {NO_GAP, NO_INDIVIDUAL_GAP} & {*self.patterns} else "bad"


@dataclass(frozen=True, repr=False)
class Reading:
    """What an audit says in plain words: of each attribute, and of individuals if it looked."""

    paragraphs: tuple[Paragraph, ...]

    def __iter__(self) -> Iterator[Paragraph]:
        return iter(self.paragraphs)

    def __len__(self) -> int:
        return len(self.paragraphs)

    def __str__(self) -> str:
        return "\n\n".join(f"{part.name}: {part.text}" for part in self.paragraphs)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join(
            f"<p><strong>{escape(part.name)}</strong>: {escape(part.text)}</p>"
            for part in self.paragraphs
        )

    @property
    def level(self) -> Level:
        """Of all paragraphs: "bad" if one is, else "unsure" if one is, else "good"."""
        levels = [part.level for part in self.paragraphs]
        return "bad" if "bad" in levels else "unsure" if "unsure" in levels else "good"

    @property
    def summary(self) -> str:
        """All of it in one sentence."""
        return _summary(self.paragraphs)

    def to_json(self) -> str:
        """Return the paragraphs as JSON: attribute, patterns, text, and the rows behind."""
        return json.dumps(
            [
                {
                    **asdict(part),
                    "rows": [plain_row(row) for row in part.rows],
                }
                for part in self.paragraphs
            ]
        )


def read(audit: "FairnessAudit") -> Reading:
    """Say in plain words what an audit has shown of each attribute, and of individuals."""
    paragraphs = [_paragraph(audit, name) for name in audit.attributes]
    if audit.consistency is not None:
        known = _resampled(audit)
        said = individuals(audit, audit.consistency) if known else ((NOTHING,), _NO_INTERVALS, ())
        paragraphs.append(Paragraph("", *said))
    return Reading(tuple(paragraphs))


def _summary(paragraphs: Sequence[Paragraph]) -> str:
    """Return which attributes show a gap, which show none, and of which nothing can be told."""
    named = {
        level: [part.attribute for part in paragraphs if part.attribute and part.level == level]
        for level in ("bad", "good", "unsure")
    }
    parts = []
    if named["bad"]:
        parts.append(
            f"there are gaps beyond the threshold between groups of {listed(named['bad'])}"
        )
    if named["good"]:
        parts.append(f"groups of {listed(named['good'])} show no gap beyond the threshold")
    if named["unsure"]:
        parts.append(
            f"whether groups of {listed(named['unsure'])} are treated alike cannot be told from "
            "this audit"
        )
    of_individuals = [part.patterns for part in paragraphs if not part.attribute]
    if (INDIVIDUAL_GAP,) in of_individuals:
        parts.append(
            "samples of some groups are treated less like their neighbours than those of others"
        )
    return _sentence("; ".join(parts)) + "."


def _resampled(audit: "FairnessAudit") -> bool:
    """Whether there are resamples: where a single number has no interval, a note says why."""
    return not any(row.verdict == NOT_JUDGED and not row.note for row in audit.rows)


def _paragraph(audit: "FairnessAudit", attribute: str) -> Paragraph:
    rows = audit.matching(attribute=attribute, kind="ratio")
    if not _resampled(audit):
        return Paragraph(attribute, (NOTHING,), _NO_INTERVALS, ())
    sizes = {
        row.group: row.samples for row in audit.matching(attribute=attribute, measure="samples")
    }
    small = [group for group, size in sizes.items() if size < LEAST]
    if len(sizes) - len(small) < 2:
        return Paragraph(attribute, (TOO_FEW,), _all_small(attribute, sizes), ())
    spoken = [row for row in rows if row.samples >= LEAST]
    names = [group_name(attribute, group) for group in small]
    if not spoken:
        text = (
            "There are too few samples to say anything: all comparisons are with groups of fewer "
            f"than {LEAST} samples ({listed(names)})."
        )
        return Paragraph(attribute, (TOO_FEW,), text, ())
    differences = {
        place(row): row for row in audit.matching(attribute=attribute, kind="difference")
    }
    return _said(attribute, Findings(audit, spoken, differences, names))


def _all_small(attribute: str, sizes: dict[str, int]) -> str:
    counts = listed(f"{size} of {group_name(attribute, group)}" for group, size in sizes.items())
    return (
        f"There are too few samples to say anything: {counts}; at least two groups must have "
        f"{LEAST} samples or more."
    )


def _said(attribute: str, findings: Findings) -> Paragraph:
    point = findings.states(tuple(POINT_NAMES))
    uncertain = findings.states(UNCERTAINTIES)
    patterns: list[str] = []
    sentences: list[str] = []
    behind: list[FairnessRow] = []
    explained: set[str] = set()
    # What can be acted on comes first: more data, then better measurement.
    for name in _IN_ORDER:
        found = findings.shown(name)
        if name == "predictive_uncertainty":  # the sum of the others
            found = [gap for gap in found if gap.ratio.label not in explained]
        if not found:
            continue
        if name in UNCERTAINTIES:
            explained |= {gap.ratio.label for gap in found}
        pattern = _GAPS.get(name, POINT_GAP)
        patterns += [pattern] if pattern not in patterns else []
        behind += [gap.row for gap in found]
        sentences += gap_sentences(found, findings.audit, first=not sentences)
    patterns += _beside(findings, point, uncertain, patterns)
    sentences += _rest(findings, point, uncertain, patterns)
    behind = behind or list(findings.rows)
    return Paragraph(attribute, tuple(patterns), " ".join(sentences), tuple(behind))


def _beside(
    findings: Findings, point: dict[str, str], uncertain: dict[str, str], gaps: list[str]
) -> list[str]:
    """Return what the gaps found, and those shown not to be there, make together."""
    no_point, no_uncertainty = findings.all_fair(point), findings.all_fair(uncertain)
    if gaps and no_point:
        return [UNCERTAINTY_ONLY]
    if gaps == [POINT_GAP] and no_uncertainty:
        return [POINT_ONLY]
    if gaps:
        return []
    if no_point and no_uncertainty:
        return [NO_GAP]
    states = {*point.values(), *uncertain.values()}
    if UNCLEAR in states:
        return [TOO_FEW]
    return [NOT_ALL if FAIR in states else NOTHING]


def _rest(
    findings: Findings, point: dict[str, str], uncertain: dict[str, str], patterns: list[str]
) -> Iterator[str]:
    """Yield what stands beside the gaps: what is fair, what cannot be told, what is undefined."""
    no_point_gap, unclear_point = _named(point, FAIR), _named(point, UNCLEAR)
    no_gap, unclear = _named(uncertain, FAIR), _named(uncertain, UNCLEAR)
    band = _band(findings.audit.threshold)
    if NO_GAP in patterns:
        yield f"No gap beyond the threshold: {joined(no_point_gap + no_gap)} are {band}."
    elif TOO_FEW in patterns:
        yield "There are too few samples to say whether the groups are treated alike."
        yield _widest(findings, unclear_point + unclear)
        if no_point_gap + no_gap:
            yield f"No gap beyond the threshold in {joined(no_point_gap + no_gap)}."
    elif NOT_ALL in patterns:
        yield "Whether the groups are treated alike cannot be told: not all could be compared."
        yield f"No gap beyond the threshold in {joined(no_point_gap + no_gap)}."
    elif NOTHING in patterns:
        yield "Nothing could be compared."
    else:
        if UNCERTAINTY_ONLY in patterns:
            yield f"Point measures miss this: {joined(no_point_gap)} are {band}."
        elif POINT_ONLY in patterns:
            yield f"The uncertainties do not show it: {joined(no_gap)} are {band}."
        elif POINT_GAP not in patterns:
            yield "No point measure shows a gap, which is not to say that there is none."
        elif patterns == [POINT_GAP]:
            yield "The uncertainties show no gap, which is not to say that there is none."
        if unclear_point + unclear:
            names = joined(unclear_point + unclear)
            yield f"{_sentence(names)} cannot be told from fair at this sample size."
    yield from _gaps_in_the_data(findings)


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _widest(findings: Findings, unclear: list[str]) -> str:
    """Say of the measure that is least known how far the interval that decides reaches."""
    rows = [
        (row, name)
        for name in (*POINT_NAMES, *UNCERTAINTIES)
        for row in findings.of(name)
        if row.verdict == UNCLEAR
    ]
    words = f"{_sentence(joined(unclear))} cannot be told from fair"
    if not rows:
        return f"{words}."
    row, name = max(rows, key=lambda found: _width(found[0]))
    low, high = row.verdict_low, row.verdict_high
    reach = f"anything from {amount(low)} to {amount(high)}" if low else f"{amount(high)} or less"
    if not np.isfinite(high):
        reach = f"{amount(low)} or more" if low else "anything"
    return (
        f"{words}; the ratio of {measure_name(name)} of {group_name(row.attribute, row.group)} to "
        f"{group_name(row.attribute, row.reference)} may be {reach} "
        f"({interval_name(row, findings.audit.confidence)})."
    )


def _width(row: FairnessRow) -> float:
    """Return the width of the interval that decides; without an end it is infinite."""
    return row.verdict_high / row.verdict_low if row.verdict_low else np.inf


def _gaps_in_the_data(findings: Findings) -> Iterator[str]:
    """Yield what the audit could not measure, or gave no interval."""
    if findings.uniform("epistemic_uncertainty"):
        yield "Whether the model knows less about one group cannot be seen from it."
    reasons: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name in (*POINT_NAMES, *UNCERTAINTIES):
        rows = [row for row in findings.of(name) if not findings.gap(row)]
        undefined = sorted({_why(row) for row in rows if np.isnan(row.value)})
        still = sorted({row.note for row in rows if row.verdict == NOT_JUDGED})
        for what, whys in (("ratio", undefined), ("interval", still)):
            if whys:
                reasons.setdefault((what, tuple(whys)), []).append(measure_name(name))
    for (what, why), names in reasons.items():
        yield f"There is no {what} of {joined(names)}: {listed(why)}."
    if findings.small:
        yield f"Nothing is said of {listed(findings.small)}: fewer than {LEAST} samples."


def _why(row: FairnessRow) -> str:
    return row.verdict.removeprefix("undefined (").removesuffix(")")


def _named(states: dict[str, str], wanted: str) -> list[str]:
    return [measure_name(name) for name, state in states.items() if state == wanted]


def _band(threshold: float) -> str:
    return f"within {amount(1 - threshold)} and {amount(1 / (1 - threshold))} times each other"
