"""Deep ensembles: several networks that differ in their initial weights and batches."""

import numpy as np

from .._constructors import declared
from .._defaults import MEMBERS
from .._validation import check_integer
from ._tasks import NetworkClassifier, NetworkRegressor, WithPrior


@declared(kw_only=True)
class DeepEnsemble(WithPrior):
    """Several networks on the same samples.

    Parameters
    ----------
    members : int
        Number of networks.
    prior_std : float or None
        Standard deviation of a Gaussian prior of all weights; None leaves it out, since a prior
        that all members share pulls them to the same place and hides what they do not know.
    """

    members: int = MEMBERS
    prior_std: float | None = None

    def _members(self, rows: np.ndarray, draw: np.random.Generator) -> list[np.ndarray]:
        return [rows] * check_integer(self.members, "members")


@declared(kw_only=True)
class DeepEnsembleClassifier(DeepEnsemble, NetworkClassifier):
    """Several networks for classes, trained in lock-step on the same samples.

    They differ in their initial weights and in the order of their samples; where they disagree,
    the model does not know.

    References
    ----------
    Lakshminarayanan, Pritzel, Blundell: Simple and scalable predictive uncertainty estimation using
    deep ensembles, 2017.
    """


@declared(kw_only=True)
class DeepEnsembleRegressor(DeepEnsemble, NetworkRegressor):
    """Several networks for numbers, trained in lock-step; see `DeepEnsembleClassifier`."""
