"""What runs give: a mean with its interval, the range of one more run, and what most runs show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..resampling.student import student_interval
from ..results.judgments import Support

NAN = float("nan")


@dataclass(frozen=True)
class Summary:
    """What runs gave: their mean with its interval, and the range of one more run."""

    mean: float
    mean_low: float = NAN
    mean_high: float = NAN
    spread: float = NAN
    low: float = NAN
    high: float = NAN
    runs: int = 1

    @classmethod
    def of(
        cls, values: FloatArray, confidence: float, limits: tuple[float, float] = (-np.inf, np.inf)
    ) -> "Summary":
        """Return the summary of the defined values; intervals end at the possible limits."""
        known = np.sort(values[np.isfinite(values)])
        runs = len(known)
        if runs < 2:
            return cls(float(known[0]) if runs else NAN, runs=runs)
        spread, mean_low, mean_high = student_interval(known, confidence, limits)
        rank = range_rank(runs, confidence)
        low, high = float(known[rank - 1]), float(known[-rank])
        return cls(float(known.mean()), mean_low, mean_high, spread, low, high, runs)


class Count(Summary):
    """A count, which does not vary between runs, and is printed without rounding."""

    @classmethod
    def exactly(cls, value: int) -> "Count":
        """Return the count."""
        return cls(value, value, value, 0.0, value, value)


def range_rank(runs: int, confidence: float) -> int:
    """Return the rank, from either end, of the run at which the range of one more run ends."""
    return max(1, int((runs + 1) * (1 - confidence) / 2 + 1e-9))


def range_coverage(runs: int, confidence: float) -> float:
    r"""Return the probability that one more run lies in the range of these.

    Between the k-th smallest and the k-th largest of n runs it is :math:`1 - 2 k / (n + 1)`,
    whatever the distribution; k is the largest for which that is at least the confidence, or 1.
    """
    return max(0.0, 1 - 2 * range_rank(runs, confidence) / (runs + 1))


def majority(holds: int, runs: int, confidence: float) -> Support:
    """Return whether most runs agree, by the exact interval of Clopper and Pearson."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    if holds and betaincinv(holds, runs - holds + 1, tail) > 0.5:
        return Support.SURVIVES
    if holds < runs and betaincinv(holds + 1, runs - holds, 1 - tail) < 0.5:
        return Support.FAILS
    return Support.OPEN


@dataclass(frozen=True)
class Conclusion:
    """A published statement, and in how many of our runs it holds.

    Attributes
    ----------
    source, text : str
        Where it is printed, and the statement.
    holds, runs : int
        In how many runs it is true, of all in which it can be decided.
    support : {"survives", "does not survive", "open"}
        Whether it holds in most runs: the exact interval of that share is above or below one half.
    name : str
        The predicate that decides it.

    Examples
    --------
    >>> from caveat.studies import Conclusion
    >>> str(Conclusion("table 1", "the groups are equally accurate", 9, 10, "survives"))
    'table 1: the groups are equally accurate: survives (9 of 10 runs)'
    """

    source: str
    text: str
    holds: int
    runs: int
    support: Support
    name: str = ""

    def __str__(self) -> str:
        return f"{self.source}: {self.text}: {self.support} ({self.holds} of {self.runs} runs)"


def conclude(
    source: str, text: str, outcomes: Any, confidence: float = 0.95, name: str = ""
) -> Conclusion:
    """Return the conclusion from what each run shows; NaN where it cannot be decided."""
    values = np.asarray(outcomes, dtype=np.float64).ravel()
    known = values[~np.isnan(values)]
    holds, runs = int(known.sum()), len(known)
    return Conclusion(source, text, holds, runs, majority(holds, runs, confidence), name)


# Predicates of runs: 1 where a statement is true, 0 where it is false, NaN where it is undecided.


def above(first: Any, second: Any) -> FloatArray:
    """Return whether the first is larger; undecided where one of them is undefined."""
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    return np.where(np.isnan(a) | np.isnan(b), NAN, a > b)


def all_of(parts: Sequence[Any]) -> FloatArray:
    """Return whether all statements are true; a single false one decides."""
    stacked = np.array(parts, dtype=np.float64)
    return np.where((stacked == 0).any(axis=0), 0.0, stacked.min(axis=0))


def equal(first: Any, second: Any) -> FloatArray:
    """Return whether two statements are both true or both false."""
    return 1 - np.abs(np.asarray(first) - np.asarray(second))
