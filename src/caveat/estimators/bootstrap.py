"""Bootstrap: several networks, each on its own resample of the data."""

import numpy as np

from ._network import ESTIMATOR
from ._tasks import NetworkClassifier, NetworkRegressor
from .deep_ensemble import DeepEnsemble


@ESTIMATOR
class _Bootstrap(DeepEnsemble):
    def _members(self, rows: np.ndarray, draw: np.random.Generator) -> list[np.ndarray]:
        count = len(super()._members(rows, draw))
        return [rows[draw.integers(len(rows), size=len(rows))] for _ in range(count)]


@ESTIMATOR
class BootstrapClassifier(_Bootstrap, NetworkClassifier):
    """Several networks for classes, each on as many samples, drawn with replacement.

    A resample of N samples holds some 63 % of them, those more than once that it draws more than
    once. Weights go along with their samples. Scaling and samples held out to check by are the same
    for all members.

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
    Breiman: Bagging predictors, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caveat.estimators import BootstrapClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BootstrapClassifier(members=3, epochs=10, random_state=0).fit(X, y)
    >>> model.predict_distribution(X)
    Categorical: 3 members x 150 samples x 3 classes (0, 1, 2)
    """


@ESTIMATOR
class BootstrapRegressor(_Bootstrap, NetworkRegressor):
    """Several networks for numbers, each on as many samples, drawn with replacement.

    See `BootstrapClassifier`.

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
    As for `BootstrapClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import BootstrapRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = BootstrapRegressor(members=3, epochs=10, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X)
    Gaussian: 3 members x 60 samples x 1 target (0)
    """
