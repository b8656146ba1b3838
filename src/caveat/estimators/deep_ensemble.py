"""Deep ensembles: several networks that differ in their initial weights and batches."""

import numpy as np

from ._data import whole
from ._network import ESTIMATOR
from ._tasks import NetworkClassifier, NetworkRegressor, WithPrior


@ESTIMATOR
class DeepEnsemble(WithPrior):
    """What the deep ensembles share."""

    members: int = 10
    # A prior with one center pulls all members to the same place, and hides what they do not know.
    prior_std: float | None = None

    def _members(self, rows: np.ndarray, draw: np.random.Generator) -> list[np.ndarray]:
        return [rows] * whole(self.members, "members")


@ESTIMATOR
class DeepEnsembleClassifier(DeepEnsemble, NetworkClassifier):
    """Several networks for classes, trained in lock-step on the same samples.

    They differ in their initial weights and in the order of their samples; where they disagree,
    the model does not know.

    Parameters
    ----------
    members : int, default=10
        How many networks.
    head : {"softmax", "gaussian-logits"}, default="softmax"
        Whether the logits are numbers or Gaussians with a learned standard deviation.
    prior_std : float or None, default=None
        The standard deviation of a Gaussian prior of all weights; None leaves it out, as a prior
        that members share makes them agree.
    **settings
        The others are those of `caveat.estimators.NetworkEstimator`, and so are the attributes.

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


@ESTIMATOR
class DeepEnsembleRegressor(DeepEnsemble, NetworkRegressor):
    """Several networks for numbers, trained in lock-step on the same samples.

    Parameters
    ----------
    members : int, default=10
        How many networks.
    head : {"mean-std", "mean"}, default="mean-std"
        Whether a standard deviation is learned, which may differ between samples.
    prior_std : float or None, default=None
        The standard deviation of a Gaussian prior of all weights; None leaves it out, as a prior
        that members share makes them agree.
    **settings
        The others are those of `caveat.estimators.NetworkEstimator`, and so are the attributes.

    References
    ----------
    As for `DeepEnsembleClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import DeepEnsembleRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = DeepEnsembleRegressor(members=3, epochs=10, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X)
    Gaussian: 3 members x 60 samples x 1 target (0)
    """
