"""What the data cannot tell against what the model does not know."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..evaluation import Evaluation
from ..metrics._inputs import count
from ._figure import Figure
from ._nested import kept_means
from ._ordered import Ordered
from ._samples import Samples, of_target, samples, split_parts


@dataclass(frozen=True, eq=False)
class Split(Figure):
    """What `split` returns.

    Attributes
    ----------
    aleatoric, epistemic, error, uncertainty : ndarrays of shape (points,)
        Some samples, among which the wrong ones (of numbers: the tenth with the largest errors) are
        up to a half, so that they can be seen.
    ids : ndarray of str of shape (points,)
    deferred : ndarray of shape (101,)
        Shares of all samples, 0, 0.01, ..., 1, that are given away, the most uncertain first.
    error_kept : ndarray of shape (101,)
        The error of the others; where none is left, that of the last ones.
    threshold : ndarray of shape (101,)
        The largest uncertainty that is kept; where none is, the smallest there is.
    unit : str
        What the uncertainty of ``threshold`` is.
    error_label : str
        What ``error_kept`` is.
    title, x_label, y_label : str
    confidence : float
    """

    aleatoric: FloatArray
    epistemic: FloatArray
    error: FloatArray
    uncertainty: FloatArray
    ids: NDArray[np.str_]
    deferred: FloatArray
    error_kept: FloatArray
    threshold: FloatArray
    unit: str
    error_label: str

    _columns: ClassVar[tuple[str, ...]] = ("ids", "aleatoric", "epistemic", "uncertainty", "error")


def split(evaluation: Evaluation, target: Any = None, points: int = 2000) -> Split | None:
    """Return the two parts of the uncertainty, and the error as the most uncertain are deferred.

    Parameters
    ----------
    evaluation : Evaluation
    target : str, optional
        The target, where there are several; by default the first.
    points : int, default=2000
        The most samples that are shown. The curve of deferral is that of all samples.

    Returns
    -------
    Split or None
        None where the prediction has no split, or one of the parts is 0 for every sample: a single
        model has no epistemic part, and members that give points have no aleatoric one.

    Examples
    --------
    >>> import caveat
    >>> from caveat.figures import split
    >>> prediction = caveat.Gaussian.from_members([[0.0, 1.0], [0.0, 3.0]], variance=1.0)
    >>> figure = split(caveat.evaluate(prediction, [0.0, 4.0], resamples=0))
    >>> figure.aleatoric, figure.epistemic
    (array([1., 1.]), array([0., 1.]))
    """
    points = count(points, "points")
    found = samples(evaluation, target)
    parts = split_parts(evaluation, found)
    if parts is None:
        return None
    rows = _shown(found, parts, points)
    key = found.ranks
    ordered = Ordered(key, found.weight)
    kept = np.arange(1, 101) / 100 * ordered.total
    errors = kept_means(ordered, found.error, kept, None).mean[::-1]
    thresholds = [ordered.at(amount) for amount in kept[::-1]]
    unit = "entropy, nats" if found.classes else "variance"
    return Split(
        title=f"Aleatoric and epistemic uncertainty{of_target(evaluation, found)}",
        x_label=f"aleatoric uncertainty ({unit})",
        y_label=f"epistemic uncertainty ({unit})",
        confidence=evaluation.confidence,
        aleatoric=parts[0][rows],
        epistemic=parts[1][rows],
        error=found.error[rows],
        uncertainty=key[rows],
        ids=evaluation.ids[rows].astype(str),
        deferred=np.arange(101) / 100,
        error_kept=np.r_[errors, errors[-1]],
        threshold=np.r_[thresholds, ordered.key[0]],
        unit=found.uncertainty_label,
        error_label=found.error_label,
    )


def _shown(found: Samples, parts: tuple[FloatArray, FloatArray], points: int) -> NDArray[np.intp]:
    """Return the rows to show, in their order: all, or a random half of wrong ones and others."""
    finite = np.isfinite(parts[0]) & np.isfinite(parts[1]) & found.counted
    rows = np.flatnonzero(finite)
    if len(rows) <= points:
        return rows
    error = found.error[rows]
    limit = 0.0 if found.classes else float(np.quantile(error, 0.9))
    wrong, others = rows[error > limit], rows[error <= limit]
    rng = np.random.default_rng(0)
    few = min(len(wrong), max(points // 2, points - len(others)))
    chosen = [rng.permutation(wrong)[:few], rng.permutation(others)[: points - few]]
    return np.sort(np.concatenate(chosen))
