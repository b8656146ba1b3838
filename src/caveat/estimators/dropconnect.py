"""DropConnect: one network, whose single weights are dropped in prediction too."""

from typing import Any

from ._network import ESTIMATOR
from ._tasks import NetworkClassifier, NetworkRegressor, WithPrior
from .mc_dropout import MonteCarlo


@ESTIMATOR
class _DropConnect(WithPrior, MonteCarlo):
    rate: float = 0.1

    def _random_layers(self) -> dict[str, Any]:
        return {"stochastic": "dropconnect", "where": self.where, "rate": self.rate}


@ESTIMATOR
class DropConnectClassifier(_DropConnect, NetworkClassifier):
    """One network for classes, whose weights are set to 0 at random, also in prediction.

    A mask of weights serves a whole batch in training, and all rows of a pass in prediction.

    Parameters
    ----------
    rate : float, default=0.1
        The probability of dropping a weight.
    where : {"all", "last"}, default="all"
        Whether weights of every layer are dropped, the output's too, or those of the last hidden
        one alone, which makes passes cheap.
    passes : int, default=50
        Sampled networks in a prediction, one member each.
    head : {"softmax", "gaussian-logits"}, default="softmax"
        Whether the logits are numbers or Gaussians with a learned standard deviation.
    prior_std : float or None, default=0.5
        The standard deviation of a Gaussian prior of all weights; None leaves it out.
    **settings
        The others are those of `caveat.estimators.NetworkEstimator`, and so are the attributes. A
        ``module`` brings its own random layers; ``rate`` and ``where`` are then without effect.

    References
    ----------
    Mobiny et al.: DropConnect is effective in modeling uncertainty of Bayesian deep networks, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caveat.estimators import DropConnectClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DropConnectClassifier(epochs=10, passes=20, random_state=0).fit(X, y)
    >>> model.predict_distribution(X)
    Categorical: 20 members x 150 samples x 3 classes (0, 1, 2)
    """


@ESTIMATOR
class DropConnectRegressor(_DropConnect, NetworkRegressor):
    """One network for numbers, whose weights are set to 0 at random, also in prediction.

    Parameters
    ----------
    rate : float, default=0.1
        The probability of dropping a weight.
    where : {"all", "last"}, default="all"
        Whether weights of every layer are dropped, the output's too, or those of the last hidden
        one alone.
    passes : int, default=50
        Sampled networks in a prediction, one member each.
    head : {"mean-std", "mean"}, default="mean-std"
        Whether a standard deviation is learned, which may differ between samples.
    prior_std : float or None, default=0.5
        The standard deviation of a Gaussian prior of all weights; None leaves it out.
    **settings
        The others are those of `caveat.estimators.NetworkEstimator`, and so are the attributes.

    References
    ----------
    As for `DropConnectClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import DropConnectRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = DropConnectRegressor(epochs=10, passes=20, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X)
    Gaussian: 20 members x 60 samples x 1 target (0)
    """
