"""How far samples lie from those that a model learned from."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._constructors import declared
from ..exceptions import ShapeError
from . import _data
from ._network import NetworkEstimator, Prepared
from ._problem import Problem
from ._table import count_numbers

_RIDGE = 1e-3
"""Variance of a direction in which the samples do not differ, in units of a column's."""

_SHARE = 0.95
"""Share of the samples to learn from that are closer than 1."""


@declared(kw_only=True)
class RemembersReach(NetworkEstimator):
    """A network of tables that knows how far its samples reach.

    Attributes
    ----------
    reach_ : dict of str to ndarray
        Center, scale and whitening of the inputs to learn from, of which no sample is kept; only
        for tables.
    """

    def _prepare(self, problem: Problem, cache: _data.SampleCache | None = None) -> Prepared:
        prepared = super()._prepare(problem, cache)
        rows = [copy.rows for copy in prepared.copies]
        if isinstance(prepared.X, np.ndarray) and prepared.X.ndim == 2:
            used = slice(None) if rows[0] is None else np.unique(np.concatenate(rows))
            self.reach_ = _reach(self._numbers_of(prepared.X[used]))
        return prepared

    def novelty(self, X: Any) -> np.ndarray:
        r"""Return how far each sample of a table lies from those that the model learned from.

        .. math:: \sqrt{(x - m)^\top S^{-1} (x - m)} \,/\, q_{0.95}

        with mean and covariance of the inputs to learn from, and the 0.95 quantile of their own
        distances: about 5 % of samples like these are above 1. Far above it the model extrapolates,
        and what it says of its own uncertainty there is not backed by data. Gaps among the samples
        are not seen.

        Parameters
        ----------
        X : array of shape (samples, features)

        Returns
        -------
        ndarray of shape (samples,)
        """
        check_is_fitted(self)
        inputs = _data.new_inputs(self, X)
        if not hasattr(self, "reach_"):
            got = "are no array" if self.shape_ is None else f"have shape {self.shape_}"
            raise ShapeError(f"novelty is for tables, (samples, features); samples {got}")
        return _distance(self._numbers_of(inputs), self.reach_)

    def _numbers_of(self, X: np.ndarray) -> np.ndarray:
        """Return the columns of numbers; categories have no distance."""
        columns = getattr(self, "columns_", None)
        return X if columns is None else X[:, : count_numbers(columns)]


def _reach(X: np.ndarray) -> dict[str, np.ndarray]:
    """Return what distances need: the scale is such that the share of the rows is below 1."""
    rows = np.asarray(X, dtype=np.float64)
    spread = rows.std(axis=0)
    reach = {"center": rows.mean(axis=0), "scale": np.where(spread > 0, spread, 1.0)}
    z = (rows - reach["center"]) / reach["scale"]
    values, vectors = np.linalg.eigh(z.T @ z / len(z) + _RIDGE * np.eye(z.shape[1]))
    reach["whiten"] = vectors / np.sqrt(values)
    limit = float(np.quantile(_distance(X, reach), _SHARE))
    reach["whiten"] = reach["whiten"] / (limit or 1.0)
    return reach


def _distance(X: np.ndarray, reach: dict[str, np.ndarray]) -> np.ndarray:
    z = (np.asarray(X, dtype=np.float64) - reach["center"]) / reach["scale"]
    return np.asarray(np.sqrt(np.square(z @ reach["whiten"]).sum(axis=1)))
