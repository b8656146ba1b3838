"""The verdict on an evaluation in plain words: what is reliable, what is not, and for whom."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape

from ..results.tables import plain_row
from ..results.words import Level, Statement, listed, lowered
from ._verdict_classes import class_findings, set_findings
from ._verdict_evidence import (
    MAIN,
    UNRELIABLE,
    Evidence,
    Finding,
    names_in,
    summary_level,
    unique_rows,
    worst,
)
from ._verdict_groups import group_findings
from ._verdict_numbers import number_findings
from ._verdict_steps import next_step
from ._verdict_uncertainty import source_findings, warning_findings
from .result import Evaluation

__all__ = ["Statement", "Verdict", "verdict"]

_MARKS = {"good": "+", "bad": "!", "unsure": "?", "info": " "}
_WORDS = {"good": "good", "bad": "bad", "unsure": "cannot tell", "info": "note"}


@dataclass(frozen=True, repr=False)
class Verdict:
    """What `verdict` returns.

    Attributes
    ----------
    statements : tuple of Statement
        The first one is the summary.
    next_step : str
        What to do next.
    """

    statements: tuple[Statement, ...]
    next_step: str = field(default="", kw_only=True)

    def __iter__(self) -> Iterator[Statement]:
        return iter(self.statements)

    def __len__(self) -> int:
        return len(self.statements)

    def __repr__(self) -> str:
        summary, *others = self.statements
        then = [f"Next: {self.next_step}"] if self.next_step else []
        return "\n".join([summary.text, *(f"{_MARKS[s.level]} {s.text}" for s in others), *then])

    def _repr_html_(self) -> str:
        summary, *others = self.statements
        items = "".join(
            f'<li class="caveat-{s.level}"><b>{_WORDS[s.level]}</b>: {escape(s.text)}</li>'
            for s in others
        )
        then = f"<p>Next: {escape(self.next_step)}</p>" if self.next_step else ""
        return f"<p><strong>{escape(summary.text)}</strong></p><ul>{items}</ul>{then}"

    def to_json(self) -> str:
        """Return the statements as JSON: level, text and rows."""
        return json.dumps(
            [
                {"level": s.level, "text": s.text, "rows": [plain_row(row) for row in s.rows]}
                for s in self.statements
            ]
        )


def verdict(evaluation: Evaluation) -> Verdict:
    """Say in plain words what an evaluation has shown, and no more than that.

    Parameters
    ----------
    evaluation : Evaluation
        With intervals; without them (``resamples=0``) nothing is claimed.

    Returns
    -------
    Verdict

    Notes
    -----
    **Two classes.** The probability of the second class is judged by its positive calibration
    error. It is called right if the interval of the error ends below 2 percentage points, nearly
    right below 5, and wrong if the interval begins above 2, or if a rare class is predicted 1.2
    times as often as it occurs, or as rarely. Of a class below 10 % it must also be shown that its
    frequency is at most 1.5 times the prediction, and at least a 1.5th of it. Otherwise, and below
    50 samples, there are too few samples to decide. Probabilities that rank the samples in reverse
    (an area under the ROC curve below one half) may be those of the other class. A direction is
    claimed if it is significant: the mean prediction differs from the frequency ("predicts
    class=ill too often"), the mean confidence differs from the accuracy ("overconfident"), or high
    probabilities are too high and low ones too low, or the reverse.

    **More classes.** The same limits hold for the confidence in the most probable class (expected
    calibration error), and for half the sum over classes of the classwise calibration error, which
    is the least share of the probability that is given to wrong classes. Classes are named that are
    predicted too often or too rarely by 2 points or by a factor of 1.2, at a confidence that holds
    for all classes at once.

    **Numbers.** Intervals are called too narrow or too wide by how often they contain the truth; at
    95 % nominal coverage, half and twice the misses are tolerable. If the widest are right and
    others are not, the shape of the distribution is wrong. Predictions are called too high or too
    low if their mean is off by more than a tenth of the standard deviation they state. Quantiles
    are called too low or too high by how often the truth is at or below them, at a confidence that
    holds for all levels.

    **Bias.** A binned error is above 0 by chance alone. The text gives the estimate without this
    bias, and the value in these samples if the two differ.

    **Groups.** A group is named if it differs from the best one and is bad in itself. The decision
    uses intervals that are widened to hold for all groups, and all pairs of groups, at once
    (Bonferroni, for each question). True classes are compared by the coverage of sets and by
    accuracy, not by calibration: even perfect probabilities are off among samples that were
    selected by their true class.

    **The split** into aleatoric and epistemic parts is the model's own.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> from caveat.evaluation.verdict import verdict
    >>> rng = np.random.default_rng(0)
    >>> z = 2 * rng.normal(size=2000)
    >>> y = (rng.random(2000) < 1 / (1 + np.exp(-z))).astype(int)
    >>> sure = caveat.Categorical.from_binary(1 / (1 + np.exp(-3 * z)))
    >>> result = caveat.evaluate(sure, y, metrics=["positive_ece"], random_state=0)
    >>> print(verdict(result).statements[0].text)  # doctest: +NORMALIZE_WHITESPACE
    Its probabilities cannot be taken at face value: it is overconfident (high risks are too high,
    low ones too low).
    """
    evidence = Evidence(evaluation)
    if hasattr(evaluation.prediction, "membership"):
        findings = set_findings(evidence)
    elif hasattr(evaluation.prediction, "classes"):
        findings = class_findings(evidence)
    else:
        findings = number_findings(evidence)
    if evidence.samples < 2:
        return Verdict((_summary(evidence, findings),), next_step=next_step(evidence, findings))
    findings += warning_findings(evidence) + group_findings(evidence) + source_findings(evidence)
    if not evidence.measured:
        findings = [_only_described(finding) for finding in findings]
    statements = (_summary(evidence, findings), *(f.statement for f in findings))
    return Verdict(statements, next_step=next_step(evidence, findings))


def _only_described(finding: Finding) -> Finding:
    """Return the finding without a judgment, as there are no intervals."""
    level: Level = "unsure" if finding.statement.level == "unsure" else "info"
    statement = Statement(level, finding.statement.text, finding.statement.rows)
    return replace(finding, statement=statement)


_UNDEFINED = "How far it can be trusted is unknown, as too few resamples gave a number"
_INCLUDED = ("group accuracy", "also")
"""Topics that the summary speaks of, beside its own."""


def _summary(evidence: Evidence, findings: list[Finding]) -> Statement:
    main = [f for f in findings if f.topic in MAIN]
    if evidence.samples < 2:
        return Statement("unsure", "One sample says nothing of how far a model can be trusted.")
    if not evidence.measured:
        text = "How sure the numbers are was not measured, so nothing is claimed of them."
        return Statement("unsure", text, tuple(r for f in main for r in f.statement.rows))
    if not main:
        text = "Nothing was measured that says whether its uncertainty can be taken at face value."
        return Statement("unsure", text)
    parts = [_main(finding, len(main) > 1) for finding in main]
    text = "; ".join([parts[0], *map(lowered, parts[1:])])
    level = worst([summary_level(finding) for finding in main])
    bad = names_in(findings, *UNRELIABLE)
    if bad:
        they = "it is" if any(finding.singular for finding in main) else "they are"
        text += {
            "good": f", but not for {bad}",
            "unsure": f"; for {bad} {they} not to be relied on",
            "bad": f"; {they} furthest off for {bad}",
        }[level]
        level = "bad"
    less = names_in(findings, "group accuracy")
    if less:
        text += "; it is right less often " + ("there" if less == bad else f"for {less}")
    used = [f for f in findings if f in main or f.topic in (*UNRELIABLE, *_INCLUDED)]
    rows = unique_rows([row for finding in used for row in finding.statement.rows])
    return Statement(level, f"{text}.", rows)


def _main(finding: Finding, several: bool) -> str:
    text = finding.summary or _UNDEFINED
    if several and finding.names:
        return f"For {listed(finding.names)}, {lowered(text)}"
    return text
