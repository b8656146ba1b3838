"""What the intervals of a disentanglement show of its four conditions, before any words."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from ._error import TERMS, is_constant, scale_of
from ._panels import noise_words

if TYPE_CHECKING:
    from ._error import UDE, Term
    from ._result import Curve, Disentanglement

LEAST = 3
"""With fewer repeats an interval over them says nothing."""

TOLERANCE = 0.3
"""An error up to this counts as met: a correlation of 0.7 with one's own cause, of 0.3 at most with
the other's, which is half and a tenth of the variance."""

HOLDS, FAILS, UNCLEAR, NOT_JUDGED = "holds", "fails", "unclear", "not judged"

SEPARATED = "separated"
TRAP = "total uncertainty twice"
LEAK = "leak"
SWAPPED = "swapped"
CONSTANT = "constant"
INCONSISTENT = "inconsistent"

CONSISTENCY = {"aleatoric": "aleatoric_consistency", "epistemic": "epistemic_consistency"}
ORTHOGONALITY = {"aleatoric": "aleatoric_orthogonality", "epistemic": "epistemic_orthogonality"}
_MOVES = {
    "size": "the score moves with the training size",
    "noise": "the score falls with the noise",
}
"""The checks without which a sweep has tested nothing."""

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
    def states(self) -> dict[str, str]:
        """What is known of each condition."""
        return {name: self.state(name) for name in TERMS}

    def term(self, name: str) -> "Term":
        """The error of one condition."""
        return self.error.terms[name]

    def state(self, name: str) -> str:
        """Whether a condition holds or fails over the whole interval of its error."""
        term = self.term(name)
        if self.repeats < LEAST or not np.isfinite([term.low, term.high]).all():
            return NOT_JUDGED
        if self.unmoved(name) or self.infinite(name):
            return UNCLEAR
        if self.by_chance(name) or term.low <= TOLERANCE < term.high:
            return UNCLEAR
        return HOLDS if term.high <= TOLERANCE else FAILS

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
        return _MOVES[sweep] in failed or all(
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
    def pattern(self) -> str:
        """What the four conditions make together."""
        states = self.states
        own = [states[CONSISTENCY[part]] for part in PARTS]
        other = [states[ORTHOGONALITY[part]] for part in PARTS]
        with_other = all(self.term(ORTHOGONALITY[part]).correlation > 0 for part in PARTS)
        if NOT_JUDGED in own + other:
            return NOT_JUDGED
        if self.constant():
            return CONSTANT
        if {*own, *other} == {HOLDS}:
            return SEPARATED
        if {*own} == {HOLDS} and {*other} == {FAILS} and with_other:
            return TRAP
        if {*own} == {FAILS} and {*other} == {FAILS} and with_other:
            return SWAPPED
        if FAILS in own:
            return INCONSISTENT
        return LEAK if FAILS in other else UNCLEAR


def _flat(curve: "Curve", part: str) -> bool:
    """Whether a part is constant in every repeat, but for rounding beside the other part."""
    values = getattr(curve, part)
    if not np.isfinite(values).all():
        return False
    scale = scale_of(curve)
    return all(is_constant(row, scale) for row in values)
