"""What the intervals of a disentanglement show of its four conditions, before any words."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from ..results.judgments import ConditionState, Pattern
from .error import TERMS, is_constant, scale_of
from .protocol import noise_words

if TYPE_CHECKING:
    from ._result import Curve, Disentanglement
    from .error import UDE, Term

LEAST = 3
"""With fewer repeats an interval over them is too uncertain to judge by."""

TOLERANCE = 0.3
"""A condition counts as met up to this error: a correlation of at least 0.7 with the part's own
cause, of at most 0.3 with the other's, which are half and a tenth of the variance."""

CONSISTENCY = {"aleatoric": "aleatoric_consistency", "epistemic": "epistemic_consistency"}
ORTHOGONALITY = {"aleatoric": "aleatoric_orthogonality", "epistemic": "epistemic_orthogonality"}
MOVES = {
    "size": "the score moves with the training size",
    "noise": "the score falls with the noise",
}
"""The names of the checks without which a sweep has tested nothing."""

PARTS = ("aleatoric", "epistemic")


@dataclass(frozen=True)
class Evidence:
    """One decomposition of a result, and what can be said of its four conditions."""

    result: "Disentanglement"
    name: str
    error: "UDE"

    @property
    def repeats(self) -> int:
        """How often both sweeps were run."""
        return self.result.repeats

    @property
    def noise(self) -> str:
        """What was added in the one sweep."""
        return f"noise in the {noise_words(self.result.task)}"

    @property
    def states(self) -> dict[str, ConditionState]:
        """What is known of each condition."""
        return {name: self.state(name) for name in TERMS}

    def term(self, name: str) -> "Term":
        """The error of one condition."""
        return self.error.terms[name]

    def state(self, name: str) -> ConditionState:
        """Whether a condition holds or fails over the whole interval of its error."""
        term = self.term(name)
        if self.repeats < LEAST or not np.isfinite([term.low, term.high]).all():
            return ConditionState.NOT_JUDGED
        if self.unmoved(name) or self.infinite(name):
            return ConditionState.UNCLEAR
        if self.by_chance(name) or term.low <= TOLERANCE < term.high:
            return ConditionState.UNCLEAR
        return ConditionState.HOLDS if term.high <= TOLERANCE else ConditionState.FAILS

    def scattered(self, name: str) -> bool:
        """Whether the correlations with the other's cause are large, but cancel over repeats."""
        term = self.term(name)
        return name in ORTHOGONALITY.values() and abs(term.correlation) <= TOLERANCE < term.low

    def by_chance(self, name: str) -> bool:
        """Whether values in any order could correlate as much as is to be claimed.

        In a random order of the levels a correlation has mean 0 and variance 1 / (levels - 1).
        """
        term = self.term(name)
        own = name in CONSISTENCY.values()
        if not (term.high <= TOLERANCE if own else term.low > TOLERANCE):
            return False
        levels = len(self.result.curve(TERMS[name].sweep, self.name).levels)
        most = NormalDist().inv_cdf((1 + self.result.confidence) / 2)
        most /= np.sqrt(self.repeats * (levels - 1))
        seen = term.correlation if own else abs(term.correlation)
        return self.scattered(name) or bool(seen <= most)

    def unmoved(self, name: str) -> bool:
        """Whether the score hardly changes along the sweep, so that nothing was tested."""
        sweep = TERMS[name].sweep
        score = self.result.curve(sweep, self.name).score
        failed = [check.name for check in self.result.checks if not check.passed]
        return MOVES[sweep] in failed or all(
            is_constant(row, float(np.abs(row).max())) for row in score
        )

    def infinite(self, name: str) -> bool:
        """Whether a part is infinite somewhere, so that it has no correlation but that of ranks."""
        kind = TERMS[name]
        values = getattr(self.result.curve(kind.sweep, self.name), kind.uncertainty)
        return self.error.correlation == "pearson" and not np.isfinite(values).all()

    def constant(self) -> list[str]:
        """The parts that are the same whatever is done to the data."""
        curves = [self.result.curve(kind, self.name) for kind in ("size", "noise")]
        return [part for part in PARTS if all(_flat(curve, part) for curve in curves)]

    @property
    def pattern(self) -> Pattern:
        """What the four conditions make together."""
        states = self.states
        own = [states[CONSISTENCY[part]] for part in PARTS]
        other = [states[ORTHOGONALITY[part]] for part in PARTS]
        with_other = all(self.term(ORTHOGONALITY[part]).correlation > 0 for part in PARTS)
        if ConditionState.NOT_JUDGED in own + other:
            return Pattern.NOT_JUDGED
        if self.constant():
            return Pattern.CONSTANT
        if {*own, *other} == {ConditionState.HOLDS}:
            return Pattern.SEPARATED
        if {*own} == {ConditionState.HOLDS} and {*other} == {ConditionState.FAILS} and with_other:
            return Pattern.TRAP
        if {*own} == {ConditionState.FAILS} and {*other} == {ConditionState.FAILS} and with_other:
            return Pattern.SWAPPED
        if ConditionState.FAILS in own:
            return Pattern.INCONSISTENT
        return Pattern.LEAK if ConditionState.FAILS in other else Pattern.UNCLEAR


def _flat(curve: "Curve", part: str) -> bool:
    """Whether a part is constant in every repeat, but for rounding beside the other part."""
    values = getattr(curve, part)
    if not np.isfinite(values).all():
        return False
    scale = scale_of(curve)
    return all(is_constant(row, scale) for row in values)
