"""What an audit shows, in plain words, and never more than its intervals do."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..evaluation._table import plain_row
from ..evaluation._verdict_words import Level, amount, joined, listed, nominal
from ._consistency_result import ConsistencyRow
from ._individuals import INDIVIDUAL_GAP, NO_INDIVIDUAL_GAP, individuals
from ._rows import FAIR, LEAST, NOT_JUDGED, UNCERTAINTIES, UNCLEAR, UNFAIR, FairnessRow, group_name
from ._sentences import POINT_NAMES, point_sentence, uncertainty_sentence

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
NOTHING = "not judged"

UNDEFINED = "undefined"
_NO_INTERVALS = "Nothing is claimed without intervals; run the audit with resamples."
_GAPS = dict(zip(UNCERTAINTIES, (ALEATORIC_GAP, EPISTEMIC_GAP, PREDICTIVE_GAP), strict=True))


@dataclass(frozen=True)
class Paragraph:
    """What is said of one attribute, or of individuals.

    Attributes
    ----------
    attribute : str
        Empty for individuals.
    patterns : tuple of str
        "epistemic gap", "aleatoric gap", "predictive gap", "point gap", "point gap without
        uncertainty gap", "uncertainty gap without point gap", "no gap", "too few samples", or "not
        judged" without intervals; of individuals "individual gap", "no individual gap", "too few
        samples" or "not judged".
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
        if {TOO_FEW, NOTHING} & {*self.patterns}:
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
        unknown = any(part.patterns == (NOTHING,) for part in paragraphs)
        said = ((NOTHING,), _NO_INTERVALS, ()) if unknown else individuals(audit, audit.consistency)
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


@dataclass(frozen=True)
class _Findings:
    """The rows of one attribute that can be spoken of, and what they show."""

    audit: "FairnessAudit"
    rows: Sequence[FairnessRow]
    small: Sequence[str]

    def of(self, name: str) -> list[FairnessRow]:
        """The ratios of a measure; of equalised odds those of the false positive rate."""
        statistic = "y=0" if name == "equalised_odds" else ""
        return [row for row in self.rows if (row.measure, row.statistic) == (name, statistic)]

    def state(self, name: str) -> str:
        """What is known of a measure: unfair somewhere, fair everywhere, undefined, or unclear."""
        verdicts = [row.verdict for row in self.of(name)]
        for state in (UNFAIR, UNCLEAR):
            if state in verdicts:
                return state
        if FAIR not in verdicts:
            return UNDEFINED
        return FAIR if set(verdicts) == {FAIR} else UNCLEAR

    def states(self, names: Sequence[str]) -> dict[str, str]:
        """The state of each measure that the audit has."""
        return {name: self.state(name) for name in names if self.of(name)}

    def unfair(self, name: str) -> list[FairnessRow]:
        """The unfair ratios of a measure, the farthest from 1 first."""
        rows = [row for row in self.of(name) if row.verdict == UNFAIR]
        return sorted(rows, key=lambda row: -abs(float(np.log(row.value))))


def _paragraph(audit: "FairnessAudit", attribute: str) -> Paragraph:
    rows = audit.select(attribute=attribute, kind="ratio")
    if any(row.verdict == NOT_JUDGED for row in rows):
        return Paragraph(attribute, (NOTHING,), _NO_INTERVALS, ())
    sizes = {row.group: row.samples for row in audit.select(attribute=attribute, measure="samples")}
    small = [group for group, size in sizes.items() if size < LEAST]
    if len(sizes) - len(small) < 2:
        return Paragraph(attribute, (TOO_FEW,), _all_small(attribute, sizes), ())
    spoken = [row for row in rows if row.samples >= LEAST]
    findings = _Findings(audit, spoken, [group_name(attribute, group) for group in small])
    return _said(attribute, findings)


def _all_small(attribute: str, sizes: dict[str, int]) -> str:
    counts = listed(f"{size} of {group_name(attribute, group)}" for group, size in sizes.items())
    return (
        f"There are too few samples to say anything: {counts}; at least two groups must have "
        f"{LEAST} samples or more."
    )


def _said(attribute: str, findings: _Findings) -> Paragraph:
    point = findings.states(tuple(POINT_NAMES))
    uncertain = findings.states(UNCERTAINTIES)
    point_gaps = [name for name, state in point.items() if state == UNFAIR]
    gaps = [name for name in UNCERTAINTIES if uncertain[name] == UNFAIR]
    if {*UNCERTAINTIES[:2]} & {*gaps}:
        gaps = [name for name in gaps if name != "predictive_uncertainty"]  # it is their sum
    audit = findings.audit
    patterns: list[str] = []
    sentences: list[str] = []
    behind: list[FairnessRow] = []
    # What can be acted on comes first: more data, then better measurement.
    for name in sorted(gaps, key=lambda name: name != "epistemic_uncertainty"):
        patterns.append(_GAPS[name])
        found = findings.unfair(name)
        behind += found
        sentences.append(uncertainty_sentence(found, audit.confidence, first=not sentences))
    for name in point_gaps:
        found = findings.unfair(name)
        behind += found
        sentences.append(point_sentence(found, audit, first=not sentences))
    if point_gaps:
        patterns.append(POINT_GAP)
    patterns += _beside(point, uncertain, gaps, point_gaps)
    sentences += _rest(findings, point, uncertain, gaps, point_gaps, patterns)
    behind = behind or list(findings.rows)
    return Paragraph(attribute, tuple(patterns), " ".join(sentences), tuple(behind))


def _beside(
    point: dict[str, str], uncertain: dict[str, str], gaps: list[str], point_gaps: list[str]
) -> list[str]:
    """Return what the gaps found, and those shown not to be there, make together."""
    no_point, no_uncertainty = _all_fair(point), _all_fair(uncertain)
    if gaps and no_point:
        return [UNCERTAINTY_ONLY]
    if point_gaps and no_uncertainty:
        return [POINT_ONLY]
    if gaps or point_gaps:
        return []
    return [NO_GAP if no_point and no_uncertainty else TOO_FEW]


def _all_fair(states: dict[str, str]) -> bool:
    return FAIR in states.values() and set(states.values()) <= {FAIR, UNDEFINED}


def _rest(
    findings: _Findings,
    point: dict[str, str],
    uncertain: dict[str, str],
    gaps: list[str],
    point_gaps: list[str],
    patterns: list[str],
) -> Iterator[str]:
    """Yield what stands beside the gaps: what is fair, what cannot be told, what is undefined."""
    no_point_gap, unclear_point = _named(point, FAIR), _named(point, UNCLEAR)
    no_gap, unclear = _named(uncertain, FAIR), _named(uncertain, UNCLEAR)
    band = _band(findings.audit.threshold)
    if NO_GAP in patterns:
        yield f"No gap beyond the threshold: {joined(no_point_gap + no_gap)} are {band}."
    elif TOO_FEW in patterns:
        yield "There are too few samples to say whether the groups are treated alike."
        if unclear_point + unclear:
            yield _widest(findings, unclear_point + unclear)
        if no_point_gap + no_gap:
            yield f"No gap beyond the threshold in {joined(no_point_gap + no_gap)}."
    else:
        if UNCERTAINTY_ONLY in patterns:
            yield f"Point measures miss this: {joined(no_point_gap)} are {band}."
        elif POINT_ONLY in patterns:
            yield f"The uncertainties do not show it: {joined(no_gap)} are {band}."
        elif not point_gaps and unclear_point:
            yield "No point measure shows a gap, which is not to say that there is none."
        elif not gaps and unclear:
            yield "The uncertainties show no gap, which is not to say that there is none."
        if unclear_point + unclear:
            names = joined(unclear_point + unclear)
            yield f"{_sentence(names)} cannot be told from fair at this sample size."
    yield from _gaps_in_the_data(findings)


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _widest(findings: _Findings, unclear: list[str]) -> str:
    """Say of the measure that is least known how far its interval reaches."""
    words = f"{_sentence(joined(unclear))} cannot be told from fair"
    finite = [
        (row, name)
        for name in (*POINT_NAMES, *UNCERTAINTIES)
        for row in findings.of(name)
        if row.verdict == UNCLEAR and row.low > 0 and np.isfinite(row.high)
    ]
    if not finite:
        return f"{words}."
    row, name = max(finite, key=lambda found: found[0].high / found[0].low)
    return (
        f"{words}; the ratio of {_word(name)} of {group_name(row.attribute, row.group)} to "
        f"{group_name(row.attribute, row.reference)} may be anything from {amount(row.low)} to "
        f"{amount(row.high)} ({nominal(findings.audit.confidence)} interval)."
    )


def _gaps_in_the_data(findings: _Findings) -> Iterator[str]:
    """Yield what the audit could not measure."""
    if (
        findings.of("epistemic_uncertainty")
        and findings.state("epistemic_uncertainty") == UNDEFINED
    ):
        yield "Whether the model knows less about one group cannot be seen from it."
    reasons: dict[tuple[str, ...], list[str]] = {}
    for name in (*POINT_NAMES, *UNCERTAINTIES):
        whys = tuple(sorted({_why(row) for row in findings.of(name) if np.isnan(row.value)}))
        if whys:
            reasons.setdefault(whys, []).append(_word(name))
    for whys, names in reasons.items():
        yield f"There is no ratio of {joined(names)}: {listed(whys)}."
    if findings.small:
        yield f"Nothing is said of {listed(findings.small)}: fewer than {LEAST} samples."


def _why(row: FairnessRow) -> str:
    return row.verdict.removeprefix("undefined (").removesuffix(")")


def _word(name: str) -> str:
    return POINT_NAMES.get(name) or name.replace("_", " ")


def _named(states: dict[str, str], wanted: str) -> list[str]:
    return [_word(name) for name, state in states.items() if state == wanted]


def _band(threshold: float) -> str:
    return f"within {amount(1 - threshold)} and {amount(1 / (1 - threshold))} times each other"
