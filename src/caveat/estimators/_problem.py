"""What an estimator is to learn from."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Problem:
    """One data set to fit an estimator to.

    Parameters
    ----------
    X : array of shape (samples, ...)
        Problems that share one object X share its memory. Also what else an estimator's ``fit``
        takes.
    y : array of shape (samples,) or (samples, targets), optional
        Labels; None takes those in a data set or loader.
    rows : array of int, or mask of shape (samples,), optional
        The samples to learn from; by default all. Repeated ones count as often as they occur.
    sample_weight : array of shape (samples,), optional
        Weights of all samples, whatever the rows.
    validation : pair (X, y), optional
        Held-out samples that decide which epoch is kept, for estimators that take them in ``fit``.
    random_state : int, optional
        Replaces the estimator's.
    parameters : dict, optional
        Other settings for this problem, such as ``{"epochs": 500}``.
    name : str, default=""
        Used in warnings and errors; by default the number of the problem.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import Problem
    >>> X, y = np.zeros((6, 2)), np.arange(6) % 2
    >>> half = Problem(X, y, rows=np.arange(3), parameters={"epochs": 500})
    >>> half.rows, half.sample_weight is None
    (array([0, 1, 2]), True)
    """

    X: Any
    y: Any = None
    rows: Any = None
    sample_weight: Any = None
    validation: Any = None
    random_state: Any = None
    parameters: dict[str, Any] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", dict(self.parameters or {}))
