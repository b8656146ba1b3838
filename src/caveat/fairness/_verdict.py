"""What an audit shows, in plain words, and never more than its intervals do."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..results.judgments import FINE, GapPattern, Judgment, Pairing
from ..results.rows import FairnessRow
from ..results.tables import plain_row
from ..results.words import Level, amount, joined, listed
from ._consistency_result import ConsistencyRow
from ._findings import Findings, place
from ._individuals import individuals
from ._sentences import POINT_NAMES, gap_sentences, interval_name, measure_name, names_of
from .measures import LEAST, UNCERTAINTIES

if TYPE_CHECKING:
    from ._result import FairnessAudit

States = dict[str, Judgment]
"""What is known of each measure."""

_NO_INTERVALS = "Nothing is claimed without intervals; run the audit with resamples."
_GAPS = dict(
    zip(
        UNCERTAINTIES,
        (GapPattern.ALEATORIC_GAP, GapPattern.EPISTEMIC_GAP, GapPattern.PREDICTIVE_GAP),
        strict=True,
    )
)
_SOME_GAP = "Gap, size unclear"
_HEADLINES = {"bad": "Gap beyond threshold", "good": "Within threshold"}
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
        For gaps beyond the threshold: "epistemic gap", "aleatoric gap", "predictive gap", "point
        gap", "point gap without uncertainty gap", "uncertainty gap without point gap"; "gap of
        unclear size", which may or may not exceed it; "no gap beyond the threshold", and "gap
        within the threshold" if there is one; "unclear", "too few samples", "not all compared" if
        some measure is undefined, or "not judged" without intervals. Of individuals "individual
        gap", "gap of unclear size", "no individual gap", "unclear" or "not judged".
    text : str
        Names of groups and classes are as they came: escape them in HTML.
    rows : tuple of FairnessRow, or of ConsistencyRow
        What it rests on.
    """

    attribute: str
    patterns: tuple[GapPattern, ...]
    text: str
    rows: tuple[FairnessRow, ...] | tuple[ConsistencyRow, ...]

    @property
    def name(self) -> str:
        """What it is of: the attribute, or individuals."""
        return self.attribute or "Individuals"

    @property
    def level(self) -> Level:
        """Whether a gap beyond the threshold was shown ("bad"), or shown not to be there ("good").

        Otherwise "unsure", also where there is a gap of unclear size.
        """
        if {*_GAPS.values(), GapPattern.POINT_GAP, GapPattern.INDIVIDUAL_GAP} & {*self.patterns}:
            return "bad"
        return (
            "good"
            if {GapPattern.NO_GAP, GapPattern.NO_INDIVIDUAL_GAP} & {*self.patterns}
            else "unsure"
        )

    @property
    def headline(self) -> str:
        """What it says in a few words."""
        other = _SOME_GAP if GapPattern.UNCLEAR_SIZE in self.patterns else "Unclear"
        return _HEADLINES.get(self.level, other)


@dataclass(frozen=True, repr=False)
class AuditVerdict:
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
    def headline(self) -> str:
        """What the weightiest of its paragraphs says in a few words."""
        result = {part.headline for part in self.paragraphs}
        order = (_HEADLINES["bad"], _SOME_GAP, "Unclear", _HEADLINES["good"])
        return next(words for words in order if words in result)

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


def read(audit: "FairnessAudit") -> AuditVerdict:
    """Say in plain words what an audit has shown of each attribute, and of individuals."""
    paragraphs = [_paragraph(audit, name) for name in audit.attributes]
    if audit.consistency is not None:
        known = _resampled(audit)
        said = (
            individuals(audit, audit.consistency)
            if known
            else ((GapPattern.NOTHING,), _NO_INTERVALS, ())
        )
        paragraphs.append(Paragraph("", *said))
    return AuditVerdict(tuple(paragraphs))


def _summary(paragraphs: Sequence[Paragraph]) -> str:
    """Return which attributes show a gap, which show none, and which are undecided."""
    named: dict[str, list[str]] = {"bad": [], "gap": [], "good": [], "unsure": []}
    for part in paragraphs:
        gap = part.level == "unsure" and GapPattern.UNCLEAR_SIZE in part.patterns
        if part.attribute:
            named["gap" if gap else part.level].append(part.attribute)
    words = {
        "bad": "there are gaps beyond the threshold between groups of {names}",
        "gap": "groups of {names} differ, and the data cannot show whether the gap exceeds the "
        "threshold",
        "good": "groups of {names} show no gap beyond the threshold",
        "unsure": "this audit cannot show whether there is a gap beyond the threshold between "
        "groups of {names}",
    }
    parts = [
        text.format(names=listed(named[level])) for level, text in words.items() if named[level]
    ]
    for part in paragraphs:
        less = "samples of some groups are treated less like their neighbors than those of others"
        if not part.attribute and part.level == "bad":
            parts.append(f"{less}, beyond the threshold")
        elif not part.attribute and GapPattern.UNCLEAR_SIZE in part.patterns:
            parts.append(f"{less}, by a gap which may or may not exceed the threshold")
    return _sentence("; ".join(parts)) + "."


def _resampled(audit: "FairnessAudit") -> bool:
    """Whether there are resamples: where a single number has no interval, a note says why."""
    return not any(row.judgment is Judgment.NOT_JUDGED and not row.note for row in audit.rows)


def _paragraph(audit: "FairnessAudit", attribute: str) -> Paragraph:
    wanted = {"comparison": Pairing.REFERENCE} if attribute in audit.privileged else {}
    rows = audit.matching(attribute=attribute, kind="ratio", **wanted)
    if not _resampled(audit):
        return Paragraph(attribute, (GapPattern.NOTHING,), _NO_INTERVALS, ())
    sizes = {
        row.group_name: row.samples
        for row in audit.matching(attribute=attribute, measure="samples")
    }
    names = [group for group, size in sizes.items() if size < LEAST]
    if len(sizes) - len(names) < 2:
        return Paragraph(attribute, (GapPattern.TOO_FEW,), _all_small(sizes), ())
    spoken = [row for row in rows if row.samples >= LEAST]
    if not spoken:
        text = (
            "There are too few samples to say anything: all comparisons are with groups of fewer "
            f"than {LEAST} samples ({listed(names)})."
        )
        return Paragraph(attribute, (GapPattern.TOO_FEW,), text, ())
    differences = {
        place(row): row for row in audit.matching(attribute=attribute, kind="difference")
    }
    return _said(attribute, Findings(audit, spoken, differences, names))


def _all_small(sizes: dict[str, int]) -> str:
    counts = listed(f"{size} of {group}" for group, size in sizes.items())
    return (
        f"There are too few samples to say anything: {counts}; at least two groups must have "
        f"{LEAST} samples or more."
    )


def _said(attribute: str, findings: Findings) -> Paragraph:
    point = findings.states(tuple(POINT_NAMES))
    uncertain = findings.states(UNCERTAINTIES)
    states = point | uncertain
    patterns: list[GapPattern] = []
    sentences: list[str] = []
    behind: list[FairnessRow] = []
    explained: set[str] = set()
    # What can be acted on comes first: more data, then better measurement.
    for size in (Judgment.BEYOND, Judgment.GAP):
        for name in _IN_ORDER:
            result = findings.shown(name, size) if states.get(name) == size else []
            if name == "predictive_uncertainty":  # the sum of the others
                result = [gap for gap in result if gap.ratio.label not in explained]
            if not result:
                continue
            if name in UNCERTAINTIES:
                explained |= {gap.ratio.label for gap in result}
            pattern = (
                _GAPS.get(name, GapPattern.POINT_GAP)
                if size == Judgment.BEYOND
                else GapPattern.UNCLEAR_SIZE
            )
            patterns += [pattern] if pattern not in patterns else []
            behind += [gap.row for gap in result]
            sentences += gap_sentences(result, findings.audit, first=not sentences)
    patterns += _beside(findings, point, uncertain, patterns)
    sentences += _rest(findings, point, uncertain, patterns)
    behind = behind or list(findings.rows)
    return Paragraph(attribute, tuple(patterns), " ".join(sentences), tuple(behind))


def _beside(
    findings: Findings,
    point: States,
    uncertain: States,
    patterns: list[GapPattern],
) -> list[GapPattern]:
    """Return what the gaps found, and those shown not to be there, make together."""
    no_point, no_uncertainty = findings.none_beyond(point), findings.none_beyond(uncertain)
    beyond = [pattern for pattern in patterns if pattern != GapPattern.UNCLEAR_SIZE]
    if beyond and no_point:
        return [GapPattern.UNCERTAINTY_ONLY]
    if beyond == [GapPattern.POINT_GAP] and no_uncertainty:
        return [GapPattern.POINT_ONLY]
    if patterns:
        return []
    states = {*point.values(), *uncertain.values()}
    if no_point and no_uncertainty:
        return (
            [GapPattern.NO_GAP, GapPattern.SMALL_GAP]
            if Judgment.SMALL in states
            else [GapPattern.NO_GAP]
        )
    if Judgment.UNCLEAR in states:
        return [GapPattern.UNKNOWN]
    return [GapPattern.NOT_ALL if states & {*FINE} else GapPattern.NOTHING]


def _rest(
    findings: Findings,
    point: States,
    uncertain: States,
    patterns: list[GapPattern],
) -> Iterator[str]:
    """Yield what stands beside the gaps: what is within, what is unclear, what is undefined."""
    no_point_gap, no_gap = _named(point, *FINE), _named(uncertain, *FINE)
    band, beyond = _band(findings.audit.threshold), Paragraph("", tuple(patterns), "", ())
    unclear = [name for name, state in (point | uncertain).items() if state is Judgment.UNCLEAR]
    if GapPattern.NO_GAP in patterns:
        yield f"No gap beyond the threshold: {joined(no_point_gap + no_gap)} are {band}."
    elif GapPattern.NOTHING in patterns:
        yield "Nothing could be compared."
    elif GapPattern.UNCERTAINTY_ONLY in patterns:
        yield f"Point measures miss this: {joined(no_point_gap)} are {band}."
    elif GapPattern.POINT_ONLY in patterns:
        yield f"The uncertainties do not show it: {joined(no_gap)} are {band}."
    elif beyond.level == "bad" and GapPattern.POINT_GAP not in patterns:
        yield _NO_PROOF.format(which="point measure")
    elif beyond.level == "bad" and not {*_GAPS.values()} & {*patterns}:
        yield _NO_PROOF.format(which="uncertainty")
    elif GapPattern.NOT_ALL in patterns:
        yield "Not all could be compared."
    if unclear:
        yield _unclear(findings, unclear)
    told = {GapPattern.NO_GAP, GapPattern.UNCERTAINTY_ONLY, GapPattern.POINT_ONLY} & {*patterns}
    if no_point_gap + no_gap and not told and beyond.level != "bad":
        yield f"No gap beyond the threshold in {joined(no_point_gap + no_gap)}."
    yield from _small(findings, point | uncertain)
    yield from _gaps_in_the_data(findings)


_NO_PROOF = "No {which} shows a gap beyond the threshold, which does not mean that there is none."


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _small(findings: Findings, states: States) -> Iterator[str]:
    """Yield the gaps that are within the threshold, the farthest of each measure."""
    parts = []
    for name, state in states.items():
        if state == Judgment.SMALL:
            row = findings.shown(name, Judgment.SMALL)[0].ratio
            group, reference = names_of(row)
            parts.append(f"{measure_name(name)} ({group} {amount(row.value)} times {reference})")
    if parts:
        yield f"There is a gap, but within the threshold, in {joined(parts)}."


def _unclear(findings: Findings, names: list[str]) -> str:
    """Say which measures are unclear, and of the least known how far its interval reaches."""
    said = [measure_name(name) for name in names]
    rows = [
        (row, name)
        for name in names
        for row in findings.of(name)
        if row.judgment is Judgment.UNCLEAR
    ]
    words = (
        f"The data cannot show whether there is a gap beyond the threshold in {joined(said, 'or')}"
    )
    if not rows:
        return f"{words}."
    row, name = max(rows, key=lambda result: _width(result[0]))
    low, high = row.verdict_low, row.verdict_high
    reach = f"anything from {amount(low)} to {amount(high)}" if low else f"{amount(high)} or less"
    if not np.isfinite(high):
        reach = f"{amount(low)} or more" if low else "anything"
    group, reference = names_of(row)
    return (
        f"{words}; the ratio of {measure_name(name)} of {group} to {reference} may be {reach} "
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
        undefined = sorted({row.why for row in rows if np.isnan(row.value)})
        still = sorted({row.note for row in rows if row.judgment is Judgment.NOT_JUDGED})
        for what, whys in (("ratio", undefined), ("interval", still)):
            if whys:
                reasons.setdefault((what, tuple(whys)), []).append(measure_name(name))
    for (what, why), names in reasons.items():
        yield f"There is no {what} of {joined(names)}: {listed(why)}."
    if findings.small:
        yield f"Nothing is said of {listed(findings.small)}: fewer than {LEAST} samples."


def _named(states: States, *wanted: Judgment) -> list[str]:
    return [measure_name(name) for name, state in states.items() if state in wanted]


def _band(threshold: float) -> str:
    return f"within {amount(1 - threshold)} and {amount(1 / (1 - threshold))} times each other"
