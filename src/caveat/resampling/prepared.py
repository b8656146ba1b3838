"""The rows that metrics are resampled over, with results that several metrics need."""

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import as_weights
from ..exceptions import ShapeError
from ..metrics.batch import Batch
from ..metrics.entry import take_input
from .plan import Plan

__all__ = ["Prepared"]


class Prepared(Batch):
    """One truth and its inputs under a plan, with results that several metrics need.

    Pass the same object to `replicates` for every metric of the same truth, inputs and rows: labels
    are then checked once and keys cut into cells once.

    Parameters
    ----------
    truth : array of shape (samples,)
    inputs : dict of str to array
        As the metrics take them. The first axis is the samples, except of ``means``, ``variances``
        and ``members`` (the second) and of ``levels`` (none).
    plan : Plan
    sample_weight : array of shape (samples,), optional
        Weight of each row, multiplied by how often it is drawn.
    rows : array of bool or int, optional
        The rows of one group; all by default.
    """

    def __init__(
        self,
        truth: Any,
        inputs: Mapping[str, Any],
        plan: Plan,
        *,
        sample_weight: Any = None,
        rows: Any = None,
    ) -> None:
        array = np.asarray(truth)
        if len(array) != len(plan):
            raise ShapeError(f"truth has {len(array)} samples, plan has {len(plan)}")
        weight = as_weights(sample_weight, len(plan))
        chosen = None if rows is None else _positions(rows, len(plan))
        super().__init__(
            array if chosen is None else array[chosen],
            {name: _take(name, value, chosen) for name, value in inputs.items()},
            weight if weight is None or chosen is None else weight[chosen],
            plan.unit if chosen is None else plan.unit[chosen],
            plan.units,
        )
        self.plan = plan
        self.cluster = plan.cluster
        if self.cluster is not None and chosen is not None:
            self.cluster = self.cluster[chosen]
        # Kish's effective number, of samples or of clusters.
        each = self.weight if self.cluster is None else np.bincount(self.cluster, self.weight)
        if each is not None:
            self.independent = _kish(each)

    @property
    def counted_units(self) -> int:
        """The number of units with weight.

        With weights of rows at most Kish's effective number of units.
        """
        return self.kept("units", self._counted)

    def _counted(self) -> int:
        mass = np.bincount(self.unit, self.weight)
        number = int(np.count_nonzero(mass))
        if number == 0 or self.weight is None or self.cluster is not None:
            return number
        return min(number, max(1, round(_kish(mass))))

    def extended(self, truth: Any, rows: NDArray[np.intp], plan: Plan, weight: Any) -> "Prepared":
        """Return some of the rows, any number of times, with other truths, weights and plan.

        Parameters
        ----------
        truth : array of shape (rows,)
        rows : array of int
        plan : Plan
            Its units are those of these rows.
        weight : array of shape (rows,) or None
        """
        other = copy(self)
        other.truth, other.plan, other.weight = truth, plan, weight
        other.unit, other.units = plan.unit, plan.units
        other.inputs = {name: _take(name, value, rows) for name, value in self.inputs.items()}
        other.cluster = None
        other._kept = {}
        return other


def _kish(weight: NDArray[Any]) -> float:
    square = np.square(weight).sum()
    return float(weight.sum() ** 2 / square) if square > 0 else 0.0


def _positions(rows: Any, samples: int) -> NDArray[np.intp]:
    array = np.asarray(rows)
    if array.dtype == bool:
        if array.shape != (samples,):
            raise ShapeError(
                f"rows must be one bool for each of {samples} samples, or positions; got shape "
                f"{array.shape}"
            )
        array = np.flatnonzero(array)
    if not len(array):
        raise ShapeError("rows is empty: a group needs a sample at least")
    return array.astype(np.intp)


def _take(name: str, value: Any, rows: NDArray[np.intp] | None) -> Any:
    return value if rows is None else take_input(name, np.asarray(value), rows)
