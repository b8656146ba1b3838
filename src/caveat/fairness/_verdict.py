"""The verdict on an audit, in plain words."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
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
from ._steps import next_step
from .measures import LEAST, UNCERTAINTIES

if TYPE_CHECKING:
    from ._result import FairnessAudit

States = dict[str, Judgment]
"""The judgment of each measure."""

_NO_INTERVALS = "Nothing is claimed without intervals; run the audit with resamples."
_GAPS = {
    "epistemic_uncertainty": GapPattern.EPISTEMIC_GAP,
    "aleatoric_uncertainty": GapPattern.ALEATORIC_GAP,
    "predictive_uncertainty": GapPattern.PREDICTIVE_GAP,
    **dict.fromkeys(POINT_NAMES, GapPattern.POINT_GAP),
}
"""The gaps in the order in which they are said: first what more data or measurement can change."""

_BEYOND, _SOME_GAP = "Gap beyond threshold", "Gap, size unclear"
_UNCLEAR, _WITHIN = "Unclear", "Within threshold"


@dataclass(frozen=True)
class Paragraph:
    """What the verdict says about one attribute, or about individuals.

    Attributes
    ----------
    attribute : str
        Empty for individuals.
    patterns : tuple of str
        For gaps beyond the threshold: "epistemic gap", "aleatoric gap", "predictive gap", "point
        gap", "point gap without uncertainty gap", "uncertainty gap without point gap"; "gap of
        unclear size", which may or may not exceed it; "no gap beyond the threshold", and "gap
        within the threshold" if there is one; "unclear", "too few samples", "not all compared" if
        some measure is undefined, or "not judged" without intervals. For individuals "individual
        gap", "gap of unclear size", "no individual gap", "unclear" or "not judged".
    text : str
        The sentences. Names of groups and classes are not escaped for HTML.
    rows : tuple of FairnessRow, or of ConsistencyRow
        The rows that the text rests on.
    """

    attribute: str
    patterns: tuple[GapPattern, ...]
    text: str
    rows: tuple[FairnessRow, ...] | tuple[ConsistencyRow, ...]

    @property
    def name(self) -> str:
        """The attribute, or "Individuals"."""
        return self.attribute or "Individuals"

    @property
    def level(self) -> Level:
        """Return "bad" for a gap beyond the threshold, "good" if there is none, else "unsure"."""
        patterns = {*self.patterns}
        if patterns & {*_GAPS.values(), GapPattern.INDIVIDUAL_GAP}:
            return "bad"
        shown = patterns & {GapPattern.NO_GAP, GapPattern.NO_INDIVIDUAL_GAP}
        return "good" if shown else "unsure"

    @property
    def headline(self) -> str:
        """The paragraph in a few words."""
        other = _SOME_GAP if GapPattern.UNCLEAR_SIZE in self.patterns else _UNCLEAR
        return {"bad": _BEYOND, "good": _WITHIN}.get(self.level, other)


@dataclass(frozen=True, repr=False)
class AuditVerdict:
    """What `FairnessAudit.verdict` returns: plain sentences.

    Attributes
    ----------
    paragraphs : tuple of Paragraph
        One for each attribute, and one for individuals if the audit has features.
    next_step : str
        What to do next.
    """

    paragraphs: tuple[Paragraph, ...]
    next_step: str = field(default="", kw_only=True)

    def __iter__(self) -> Iterator[Paragraph]:
        return iter(self.paragraphs)

    def __len__(self) -> int:
        return len(self.paragraphs)

    def __str__(self) -> str:
        said = [f"{part.name}: {part.text}" for part in self.paragraphs]
        return "\n\n".join([*said, f"Next: {self.next_step}"])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        said = "".join(
            f"<p><strong>{escape(part.name)}</strong>: {escape(part.text)}</p>"
            for part in self.paragraphs
        )
        return f"{said}<p>Next: {escape(self.next_step)}</p>"

    @property
    def level(self) -> Level:
        """The worst level of the paragraphs: "bad", "unsure" or "good"."""
        levels = [part.level for part in self.paragraphs]
        return "bad" if "bad" in levels else "unsure" if "unsure" in levels else "good"

    @property
    def headline(self) -> str:
        """The headline of the weightiest paragraph."""
        result = {part.headline for part in self.paragraphs}
        order = (_BEYOND, _SOME_GAP, _UNCLEAR, _WITHIN)
        return next(words for words in order if words in result)

    @property
    def summary(self) -> str:
        """The whole verdict in one sentence."""
        return _summary(self.paragraphs)

    def to_json(self) -> str:
        """Return the paragraphs as JSON: attribute, patterns, text and rows."""
        return json.dumps(
            [
                {**asdict(part), "rows": [plain_row(row) for row in part.rows]}
                for part in self.paragraphs
            ]
        )


def read(audit: "FairnessAudit") -> AuditVerdict:
    """Return what an audit shows about each attribute, and about individuals."""
    # Where there are resamples and yet no interval, a note says why.
    if any(row.judgment is Judgment.NOT_JUDGED and not row.note for row in audit.rows):
        names = [*audit.attributes, *([] if audit.consistency is None else [""])]
        nothing = (GapPattern.NOTHING,), _NO_INTERVALS, ()
        return _made(audit, [Paragraph(name, *nothing) for name in names])
    paragraphs = [_paragraph(audit, name) for name in audit.attributes]
    if audit.consistency is not None:
        paragraphs.append(Paragraph("", *individuals(audit, audit.consistency)))
    return _made(audit, paragraphs)


def _made(audit: "FairnessAudit", paragraphs: list[Paragraph]) -> AuditVerdict:
    return AuditVerdict(tuple(paragraphs), next_step=next_step(audit, paragraphs))


_SUMMARIES = {
    _BEYOND: "there are gaps beyond the threshold between groups of {names}",
    _SOME_GAP: "groups of {names} differ, and the data cannot show whether the gap exceeds the "
    "threshold",
    _WITHIN: "groups of {names} show no gap beyond the threshold",
    _UNCLEAR: "this audit cannot show whether there is a gap beyond the threshold between groups "
    "of {names}",
}


def _summary(paragraphs: Sequence[Paragraph]) -> str:
    """Return which attributes show a gap, which show none, and which are undecided."""
    named: dict[str, list[str]] = {}
    for part in paragraphs:
        if part.attribute:
            named.setdefault(part.headline, []).append(part.attribute)
    parts = [
        text.format(names=listed(named[headline]))
        for headline, text in _SUMMARIES.items()
        if headline in named
    ]
    for part in paragraphs:
        less = "samples of some groups are treated less like their neighbors than those of others"
        if not part.attribute and part.level == "bad":
            parts.append(f"{less}, beyond the threshold")
        elif not part.attribute and GapPattern.UNCLEAR_SIZE in part.patterns:
            parts.append(f"{less}, by a gap which may or may not exceed the threshold")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _paragraph(audit: "FairnessAudit", attribute: str) -> Paragraph:
    wanted = {"comparison": Pairing.REFERENCE} if attribute in audit.privileged else {}
    rows = audit.matching(attribute=attribute, kind="ratio", **wanted)
    spoken = [row for row in rows if row.samples >= LEAST]
    sizes = audit.matching(attribute=attribute, measure="samples")
    small = [row.group_name for row in sizes if row.samples < LEAST]
    if len(sizes) - len(small) < 2:
        counts = listed(f"{row.samples} of {row.group_name}" for row in sizes)
        why = f"{counts}; at least two groups must have {LEAST} samples or more"
    elif not spoken:
        few = f"fewer than {LEAST} samples ({listed(small)})"
        why = f"all comparisons are with groups of {few}"
    else:
        other = audit.matching(attribute=attribute, kind="difference")
        return _said(attribute, Findings(audit, spoken, {place(row): row for row in other}, small))
    text = f"There are too few samples to say anything: {why}."
    return Paragraph(attribute, (GapPattern.TOO_FEW,), text, ())


def _said(attribute: str, findings: Findings) -> Paragraph:
    point = findings.states(tuple(POINT_NAMES))
    uncertain = findings.states(UNCERTAINTIES)
    states = point | uncertain
    patterns: list[GapPattern] = []
    sentences: list[str] = []
    behind: list[FairnessRow] = []
    explained: set[str] = set()
    for size in (Judgment.BEYOND, Judgment.GAP):
        for name, gap_pattern in _GAPS.items():
            result = findings.shown(name, size) if states.get(name) == size else []
            if name == "predictive_uncertainty":  # the sum of the others
                result = [gap for gap in result if gap.ratio.label not in explained]
            if not result:
                continue
            if name in UNCERTAINTIES:
                explained |= {gap.ratio.label for gap in result}
            patterns.append(gap_pattern if size is Judgment.BEYOND else GapPattern.UNCLEAR_SIZE)
            behind += [gap.row for gap in result]
            sentences += gap_sentences(result, findings.audit, first=not sentences)
    patterns = list(dict.fromkeys(patterns))
    patterns += _beside(findings, point, uncertain, patterns)
    sentences += _rest(findings, point, uncertain, patterns)
    behind = behind or list(findings.rows)
    return Paragraph(attribute, tuple(patterns), " ".join(sentences), tuple(behind))


def _beside(
    findings: Findings, point: States, uncertain: States, patterns: list[GapPattern]
) -> list[GapPattern]:
    """Return the patterns of the gaps and of the measures without a gap taken together."""
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
        small = [GapPattern.SMALL_GAP] if Judgment.SMALL in states else []
        return [GapPattern.NO_GAP, *small]
    if Judgment.UNCLEAR in states:
        return [GapPattern.UNKNOWN]
    return [GapPattern.NOT_ALL if states & {*FINE} else GapPattern.NOTHING]


def _rest(
    findings: Findings, point: States, uncertain: States, patterns: list[GapPattern]
) -> Iterator[str]:
    """Yield the measures without a shown gap: within the threshold, unclear, undefined."""
    no_point_gap, no_gap = _named(point, *FINE), _named(uncertain, *FINE)
    low, high = findings.audit.fair_band
    band = f"within {amount(low)} and {amount(high)} times each other"
    beyond = Paragraph("", tuple(patterns), "", ()).level == "bad"
    unclear = [name for name, state in (point | uncertain).items() if state is Judgment.UNCLEAR]
    if GapPattern.NO_GAP in patterns:
        yield f"No gap beyond the threshold: {joined(no_point_gap + no_gap)} are {band}."
    elif GapPattern.NOTHING in patterns:
        yield "Nothing could be compared."
    elif GapPattern.UNCERTAINTY_ONLY in patterns:
        yield f"Point measures miss this: {joined(no_point_gap)} are {band}."
    elif GapPattern.POINT_ONLY in patterns:
        yield f"The uncertainties do not show it: {joined(no_gap)} are {band}."
    elif beyond and GapPattern.POINT_GAP not in patterns:
        yield _NO_PROOF.format(which="point measure")
    elif beyond and not {_GAPS[name] for name in UNCERTAINTIES} & {*patterns}:
        yield _NO_PROOF.format(which="uncertainty")
    elif GapPattern.NOT_ALL in patterns:
        yield "Not all could be compared."
    if unclear:
        yield _unclear(findings, unclear)
    told = {GapPattern.NO_GAP, GapPattern.UNCERTAINTY_ONLY, GapPattern.POINT_ONLY} & {*patterns}
    if no_point_gap + no_gap and not told and not beyond:
        yield f"No gap beyond the threshold in {joined(no_point_gap + no_gap)}."
    yield from _small(findings, point | uncertain)
    yield from _gaps_in_the_data(findings)


_NO_PROOF = "No {which} shows a gap beyond the threshold, which does not mean that there is none."


def _small(findings: Findings, states: States) -> Iterator[str]:
    """Yield the gaps within the threshold: the largest one of each measure."""
    parts = []
    for name, state in states.items():
        if state == Judgment.SMALL:
            row = findings.shown(name, Judgment.SMALL)[0].ratio
            group, reference = names_of(row)
            parts.append(f"{measure_name(name)} ({group} {amount(row.value)} times {reference})")
    if parts:
        yield f"There is a gap, but within the threshold, in {joined(parts)}."


def _unclear(findings: Findings, names: list[str]) -> str:
    """Return which measures are unclear, with the widest interval among them."""
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
    row, name = max(
        rows, key=lambda r: r[0].verdict_high / r[0].verdict_low if r[0].verdict_low else np.inf
    )
    low, high = row.verdict_low, row.verdict_high
    reach = f"anything from {amount(low)} to {amount(high)}" if low else f"{amount(high)} or less"
    if not np.isfinite(high):
        reach = f"{amount(low)} or more" if low else "anything"
    group, reference = names_of(row)
    several = len({other.label for other in findings.of(name)}) > 1
    kind = "target" if row.one_class is None else "class"
    of = f" ({kind} {row.label})" if several else ""
    return (
        f"{words}; the ratio of {measure_name(name)}{of} of {group} to {reference} may be {reach} "
        f"({interval_name(row, findings.audit.confidence)})."
    )


def _gaps_in_the_data(findings: Findings) -> Iterator[str]:
    """Yield the measures that the audit could not compute or judge, and why."""
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
