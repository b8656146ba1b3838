"""Batch ensembles: members that share most of their weights."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from .._constructors import declared
from .._validation import check_integer
from ._data import Loss
from ._tasks import NetworkClassifier, NetworkRegressor, WithPrior

_ROWS = 2**16
"""Rows of all members that are passed at a time."""


@declared(kw_only=True)
class BatchEnsemble(WithPrior):
    """Members that share the weights of the hidden layers.

    Parameters
    ----------
    hidden : int or sequence of int
        Widths of the hidden layers, a number for a single one; only used without ``module``. They
        are shared, and so wider than those of other methods.
    members : int
        Number of members.
    adapters : {"all", "first"}
        What a member has of its own beside its last layer: numbers that scale inputs and outputs of
        each hidden layer, or those of the first inputs alone. No effect with ``module``.
    prior_std : float or None
        Standard deviation of a Gaussian prior of all weights; None leaves it out.
    """

    hidden: int | Sequence[int] = (128, 128)
    members: int = 16
    adapters: str = "all"
    prior_std: float | None = None

    _several_in_one = True

    def _random_layers(self) -> dict[str, Any]:
        return {"members": check_integer(self.members, "members"), "adapters": self.adapters}

    def _head(self) -> tuple[str, dict[str, Any], tuple[int, ...]]:
        name, options, row = super()._head()
        return name, options, (check_integer(self.members, "members"), *row)

    def _loss(self) -> Loss:
        from ..nn import losses

        return partial(losses.over_members, loss=super()._loss())

    def _values(self, X: np.ndarray) -> Any:
        import torch

        trained = self._trained()
        if not isinstance(X, np.ndarray):
            return torch.from_numpy(trained.outputs(X, device=self.device)[0].swapaxes(0, 1))
        size = max(1, _ROWS // self.members)
        parts = [
            trained.outputs(X[i : i + size], device=self.device)[0] for i in range(0, len(X), size)
        ]
        return torch.from_numpy(np.concatenate(parts).swapaxes(0, 1))


@declared(kw_only=True)
class BatchEnsembleClassifier(BatchEnsemble, NetworkClassifier):
    r"""Many members for classes in one network, which share the weights of the hidden layers.

    Member :math:`m` has the weights :math:`W \odot s_m r_m^\top` in a hidden layer, where all share
    :math:`W`, a bias and a last layer of its own. The first :math:`r_m` start as random signs, by
    which the members differ; all other scales start at 1. Every member is trained on every batch by
    its own loss. A ``module`` must return (samples, members, ...); see `caveat.nn.MLP` and
    `caveat.nn.layers.MemberScale`.

    References
    ----------
    Wen, Tran, Ba: BatchEnsemble: an alternative approach to efficient ensemble and lifelong
    learning, 2020. Gorishniy, Kotelnikov, Babenko: TabM: advancing tabular deep learning with
    parameter-efficient ensembling, 2024.
    """


@declared(kw_only=True)
class BatchEnsembleRegressor(BatchEnsemble, NetworkRegressor):
    """Many members for numbers in one network; see `BatchEnsembleClassifier`."""
