"""Whether a split into aleatoric and epistemic is real, in plain words; no surer than intervals."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation.verdict import Verdict
from ..resampling.planning import rounded_up, samples_factor
from ..resampling.spread import score
from ..results.judgments import ConditionState, Pattern
from ..results.words import Level, Statement, counted, joined, more_in_all, nominal
from .error import TERMS
from .evidence import CONSISTENCY, LEAST, ORTHOGONALITY, PARTS, TOLERANCE, Evidence

if TYPE_CHECKING:
    from ._result import Disentanglement

_PASSED = "Each part does follow its own cause, so a test of that alone would have passed it."


@dataclass(frozen=True, repr=False)
class DisentanglementVerdict(Verdict):
    """What a disentanglement says in plain words: statements, the first of which sums up.

    Attributes
    ----------
    statements : tuple of Statement
    decomposition : str
    pattern : str
        "separated", "total uncertainty twice" (the trap: consistent but not orthogonal), "leak",
        "swapped", "constant", "inconsistent", "unclear", or "not judged".
    states : mapping of str to str
        For each of the four conditions "holds", "fails", "unclear" or "not judged".
    next_step : str

    Examples
    --------
    >>> from caveat.experiments import Curve, Disentanglement
    >>> score, rising = [[0.5, 0.7, 0.9]] * 3, [[5, 3, 1]] * 3
    >>> size = Curve("size", "information", [0.1, 0.5, 1], score, rising, rising)
    >>> noise = Curve("noise", "information", [0, 0.5, 1], score, rising, rising)
    >>> verdict = Disentanglement(curves=(size, noise)).verdict()
    >>> verdict.pattern, verdict.states["aleatoric_orthogonality"]
    ('total uncertainty twice', 'fails')
    """

    decomposition: str
    pattern: Pattern
    states: Mapping[str, ConditionState]

    def to_json(self) -> str:
        """Return decomposition, pattern, the states of the conditions and the statements."""
        return json.dumps(
            {
                "decomposition": self.decomposition,
                "pattern": self.pattern,
                "states": dict(self.states),
                "statements": [{"level": s.level, "text": s.text} for s in self.statements],
            }
        )


def verdict(
    result: "Disentanglement", decomposition: str | None = None, correlation: str = "pearson"
) -> DisentanglementVerdict:
    """Say in plain words whether a split is real, as far as the repeats show it.

    Parameters
    ----------
    result : Disentanglement
    decomposition : str, optional
        By default the first.
    correlation : {"pearson", "spearman"}, default="pearson"

    Notes
    -----
    A condition holds if the interval of its error ends at 0.3 or below, and fails if it begins
    above. That a part follows something, its own cause or the other's, is only said if the mean
    correlation over repeats is also larger than that of values in a random order, which is far from
    0 with a handful of levels. With fewer than 3 repeats nothing is claimed.
    """
    error = result.error(correlation, decomposition=decomposition)
    evidence = Evidence(result, error.decomposition, error)
    pattern = evidence.pattern
    statements = (
        _summary(evidence, pattern),
        *_by_itself(evidence),
        *(_condition(evidence, term) for term in TERMS),
        _error(evidence),
        *(Statement("info", sentence(note)) for note in error.notes),
        *remarks(result),
    )
    return DisentanglementVerdict(
        statements, error.decomposition, pattern, evidence.states,
        next_step=_next_step(evidence, pattern),
    )  # fmt: skip


def _next_step(evidence: Evidence, pattern: Pattern) -> str:
    """Return what to do: use the parts, do not, or repeat the experiment."""
    if any(not check.passed for check in evidence.result.checks):
        return "Repair the experiment first: a check failed, and says why."
    if pattern is Pattern.SEPARATED:
        return "Use each part for its own question on data like these."
    if pattern in _WRONG:
        kept = [part for part in PARTS if _by_itself_real(evidence, part)]
        if len(kept) == 1:
            (other,) = [part for part in PARTS if part not in kept]
            return f"Use the {kept[0]} part by itself, and do not use the {other} part."
        return (
            "Do not use the two parts for different questions: use the total uncertainty, or try "
            "another decomposition or model."
        )
    if pattern is Pattern.NOT_JUDGED:
        return f"Repeat the experiment: at least {LEAST} repeats, 5 are usual."
    needed = repeats_needed(evidence)
    if needed is None:
        return (
            "Repeat the experiment with more levels, and a wider range of them: more repeats alone "
            "will not decide."
        )
    return f"Run {more_in_all(evidence.repeats, rounded_up(needed), 'repeats')}."


def repeats_needed(evidence: Evidence) -> float | None:
    """Return how many repeats decide the open conditions in most cases, if any number does.

    The errors are taken as they are; one at the limit is never decided.
    """
    factors = []
    for name, state in evidence.states.items():
        if state is not ConditionState.UNCLEAR:
            continue
        term = evidence.term(name)
        if evidence.unmoved(name) or evidence.infinite(name) or evidence.by_chance(name):
            return None
        factors.append(
            samples_factor(
                (term.low, term.value, term.high),
                lambda low, high: low > TOLERANCE or high <= TOLERANCE,
                score(evidence.result.confidence),
                unsure=0.0,
            )
        )
    result = max(factors) * evidence.repeats
    return result if result <= _MOST_REPEATS else None


_MOST_REPEATS = 1000
"""Nobody trains so often: the error is at the limit."""


def _summary(evidence: Evidence, pattern: Pattern) -> Statement:
    level, summary = _LEVELS.get(pattern, "unsure"), _SUMMARIES[pattern]
    if isinstance(summary, str):
        repeats = counted(evidence.repeats, "repeat")
        text = summary.format(noise=evidence.noise, repeats=repeats)
    else:
        text = summary(evidence)
    failed = sum(not check.passed for check in evidence.result.checks)
    if not failed:
        return Statement(level, text)
    # A split is not praised for an experiment that did not do what it should.
    caution = f"{text} But the experiment failed {counted(failed, 'check')}; see below."
    return Statement("unsure" if level == "good" else level, caution)


def _leak(evidence: Evidence) -> str:
    states = evidence.states
    leaks = [
        _leaking(evidence, p) for p in PARTS if states[ORTHOGONALITY[p]] == ConditionState.FAILS
    ]
    text = f"The split is not clean: {joined(leaks)}."
    passed = all(states[CONSISTENCY[part]] == ConditionState.HOLDS for part in PARTS)
    return f"{text} {_PASSED}" if passed else text


def _leaking(evidence: Evidence, part: str) -> str:
    up = evidence.term(ORTHOGONALITY[part]).correlation > 0
    if part == "aleatoric":
        return f"the aleatoric part also {'rises with missing' if up else 'grows with more'} data"
    return f"the epistemic part also {'rises' if up else 'falls'} with {evidence.noise}"


def _inconsistent(evidence: Evidence) -> str:
    states = evidence.states
    wrong = [
        f"the {part} part does not follow {_cause(evidence, part)}"
        for part in PARTS
        if states[CONSISTENCY[part]] == ConditionState.FAILS
    ]
    return f"The split is not what it says: {joined(wrong)}."


def _constant_part(evidence: Evidence) -> str:
    result = evidence.constant()
    if len(result) == 2:
        return "The split says nothing: both parts are the same whatever is done to the data."
    return (
        f"The split is empty: the {result[0]} part is the same whatever is done to the data, so "
        "it tells nothing about it."
    )


def _unclear(evidence: Evidence) -> str:
    states = evidence.states
    open_ones = [
        TERMS[name].symbol for name, state in states.items() if state == ConditionState.UNCLEAR
    ]
    met = [TERMS[name].symbol for name, state in states.items() if state == ConditionState.HOLDS]
    text = f"Whether the split is real cannot be told: {joined(open_ones)} may hold or fail"
    return f"{text}, {joined(met)} {'holds' if len(met) == 1 else 'hold'}." if met else f"{text}."


_SUMMARIES: dict[Pattern, str | Callable[[Evidence], str]] = {
    Pattern.SEPARATED: "The split can be relied on here: each part follows its own cause, and "
    "neither follows that of the other.",
    Pattern.TRAP: "The split is not real: both parts rise with missing data and with {noise} "
    f"alike, as the total uncertainty under two names would. {_PASSED}",
    Pattern.LEAK: _leak,
    Pattern.SWAPPED: "The two parts are swapped: the aleatoric part follows missing data, and the "
    "epistemic part follows {noise}.",
    Pattern.CONSTANT: _constant_part,
    Pattern.INCONSISTENT: _inconsistent,
    Pattern.UNCLEAR: _unclear,
    Pattern.NOT_JUDGED: "Nothing is claimed from {repeats}: how much the numbers below vary is not "
    f"known. Run at least {LEAST}; 5 are usual, 10 better on few samples.",
}
_WRONG = (Pattern.TRAP, Pattern.LEAK, Pattern.SWAPPED, Pattern.CONSTANT, Pattern.INCONSISTENT)
_LEVELS: dict[Pattern, Level] = {Pattern.SEPARATED: "good", **dict.fromkeys(_WRONG, "bad")}
_STATE_LEVELS: dict[ConditionState, Level] = {
    ConditionState.HOLDS: "good",
    ConditionState.FAILS: "bad",
    ConditionState.UNCLEAR: "unsure",
}


def _cause(evidence: Evidence, part: str) -> str:
    return evidence.noise if part == "aleatoric" else "missing data"


def _by_itself_real(evidence: Evidence, part: str) -> bool:
    states = evidence.states
    return states[CONSISTENCY[part]] == states[ORTHOGONALITY[part]] == ConditionState.HOLDS


def _by_itself(evidence: Evidence) -> Iterator[Statement]:
    """Yield a statement for a part that meets both of its conditions if the split does not."""
    if evidence.pattern == Pattern.SEPARATED:
        return
    for part in PARTS:
        if _by_itself_real(evidence, part):
            other = _cause(evidence, PARTS[part == "aleatoric"])
            yield Statement(
                "good",
                f"The {part} part can be relied on by itself: it follows "
                f"{_cause(evidence, part)}, and not {other}.",
            )


def _condition(evidence: Evidence, name: str) -> Statement:
    part = TERMS[name].uncertainty
    state = evidence.state(name)
    words = _own(evidence, part, state) if name in CONSISTENCY.values() else _other(evidence, part)
    text = f"{TERMS[name].symbol}: {words}; {_numbers(evidence, name)}"
    if evidence.unmoved(name):
        text += f"; the {evidence.result.score_name} hardly changes, so nothing was put to the test"
    elif evidence.infinite(name):
        text += "; it is infinite somewhere, which no correlation but that of ranks can take"
    elif state == ConditionState.UNCLEAR and evidence.scattered(name):
        text += "; the repeats point in different directions, as chance alone would"
    elif state == ConditionState.UNCLEAR and evidence.by_chance(name):
        text += "; with so few levels and repeats chance alone could do this"
    # A part that never moves is not praised for keeping still.
    empty = state == ConditionState.HOLDS and part in evidence.constant()
    return Statement("info" if empty else _STATE_LEVELS.get(state, "info"), f"{text}.")


def _own(evidence: Evidence, part: str, state: ConditionState) -> str:
    cause = _cause(evidence, part)
    if state == ConditionState.FAILS:
        loosely = evidence.term(CONSISTENCY[part]).correlation > 0.5
        how = "follows {} only loosely" if loosely else "does not follow {}"
        return f"the {part} part {how.format(cause)}"
    return {
        ConditionState.HOLDS: f"the {part} part follows {cause}",
        ConditionState.UNCLEAR: f"whether the {part} part follows {cause} cannot be told",
    }.get(state, f"the {part} part beside {cause}")


def _other(evidence: Evidence, part: str) -> str:
    """Return words for how a part responds to what is not its cause."""
    name = ORTHOGONALITY[part]
    state, up = evidence.state(name), evidence.term(name).correlation > 0
    aleatoric = part == "aleatoric"
    kept = "the amount of training data" if aleatoric else evidence.noise
    if state == ConditionState.FAILS:
        way = ("rises with less" if up else "grows with more") if aleatoric else ""
        moved = f"{way} training data" if aleatoric else f"{'rises' if up else 'falls'} with {kept}"
        return f"the {part} part {moved}, and should not"
    never = ", nor by anything else" if part in evidence.constant() else ""
    return {
        ConditionState.HOLDS: f"the {part} part is not moved by {kept}{never}",
        ConditionState.UNCLEAR: f"whether the {part} part is moved by {kept} cannot be told",
    }.get(state, f"the {part} part beside {kept}, which should not move it")


def _numbers(evidence: Evidence, name: str) -> str:
    """Return the correlation and the error, with the interval where it can be trusted."""
    term = evidence.term(name)
    wanted = "1" if name in CONSISTENCY.values() else "0"
    text = f"correlation {term.correlation:z.2f} where {wanted} is ideal, an error of "
    return text + _with_interval(evidence, term)


def _with_interval(evidence: Evidence, of: Any) -> str:
    if evidence.repeats < LEAST or not np.isfinite([of.low, of.high]).all():
        return f"{of.value:z.2f}"
    sure = nominal(evidence.result.confidence)
    return f"{of.value:z.2f} ({sure} interval {of.low:z.2f} to {of.high:z.2f})"


def _error(evidence: Evidence) -> Statement:
    return Statement(
        "info",
        "The uncertainty disentanglement error (UDE), the mean of the four, is "
        f"{_with_interval(evidence, evidence.error)}; 0 is ideal, and the total uncertainty under "
        "two names gets up to 0.5.",
    )


def remarks(result: "Disentanglement") -> list[Statement]:
    """Return remarks on the experiment that hold for every decomposition."""
    failed = [Statement("unsure", sentence(c.text)) for c in result.checks if not c.passed]
    return [*failed, *(Statement("info", sentence(note)) for note in result.notes)]


def sentence(text: str) -> str:
    """Return a remark as a sentence.

    Examples
    --------
    >>> sentence("one repeat shows no spread")
    'One repeat shows no spread.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
