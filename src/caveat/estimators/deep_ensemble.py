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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caveat.estimators import DeepEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DeepEnsembleClassifier(members=3, epochs=10, random_state=0).fit(X, y)
    >>> model.predict_distribution(X)
    Categorical: 3 members x 150 samples x 3 classes (0, 1, 2)
    """


@declared(kw_only=True)
class DeepEnsembleRegressor(DeepEnsemble, NetworkRegressor):
    """Several networks for numbers, trained in lock-step; see `DeepEnsembleClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import DeepEnsembleRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = DeepEnsembleRegressor(members=3, epochs=10, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X)
    Gaussian: 3 members x 60 samples x 1 target (0)
    """
