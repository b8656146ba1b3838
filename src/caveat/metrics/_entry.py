"""What the registry knows of a metric."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Task = Literal["classification", "regression", "ranking", "detection"]

_MEMBERS_FIRST = frozenset({"means", "variances", "members"})
_SAME_FOR_ALL = frozenset({"levels"})


def take_input(name: str, array: Any, rows: Any) -> Any:
    """Return the input of this name for some of the samples.

    The first axis is the samples, except where members come first, or all samples share it.
    """
    if name in _SAME_FOR_ALL:
        return array
    return array[:, rows] if name in _MEMBERS_FIRST else array[rows]


@dataclass(frozen=True)
class Metric:
    """One line of the table of all metrics.

    Attributes
    ----------
    name : str
        The full name, which is the function's.
    function : callable
        ``function(y_true, *inputs, sample_weight=None, **options) -> float``.
    task : {"classification", "regression", "ranking", "detection"}
    inputs : tuple of str
        What the function takes, in its order and under these names.
    direction : {"lower", "higher", "target"}
        Whether less or more is better, or the optimum is a value in between.
    range : pair of float
        The values that valid input can give.
    optimum : float or None
        The best value; None where the best is not one number (a width, a dispersion).
    locality : {"global", "local"}
        Whether it compares averages over everything, or within bins of predicted uncertainty.
    proper : bool
        Whether the true distribution, and no other, has the best expected value.
    says : str
        What it tells, in one plain sentence.
    cannot_see : str
        What it is blind to, in one plain sentence.
    aliases : tuple of str
        The papers' abbreviations; two tasks may share one.
    curve : callable or None
        The curve behind the number.
    """

    name: str
    function: Callable[..., Any]
    task: Task
    inputs: tuple[str, ...]
    direction: Literal["lower", "higher", "target"]
    range: tuple[float, float]
    optimum: float | None
    locality: Literal["global", "local"]
    proper: bool
    says: str
    cannot_see: str
    aliases: tuple[str, ...] = ()
    curve: Callable[..., Any] | None = None
