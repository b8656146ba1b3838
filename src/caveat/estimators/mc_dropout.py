"""Monte-Carlo dropout: one network, whose units are dropped in prediction too."""

from typing import Any

from ._data import whole
from ._network import ESTIMATOR, NetworkEstimator
from ._tasks import NetworkClassifier, NetworkRegressor, WithPrior


@ESTIMATOR
class MonteCarlo(NetworkEstimator):
    """What methods share that predict by random passes."""

    where: str = "all"
    passes: int = 50

    def _pass_count(self) -> int:
        return whole(self.passes, "passes")


@ESTIMATOR
class _MCDropout(WithPrior, MonteCarlo):
    rate: float = 0.1

    def _random_layers(self) -> dict[str, Any]:
        return {"stochastic": "dropout", "where": self.where, "rate": self.rate}


@ESTIMATOR
class MCDropoutClassifier(_MCDropout, NetworkClassifier):
    """One network for classes, whose hidden units are dropped at random, also in prediction.

    One pass is one sampled network: all rows share its mask, so the prediction of a row does not
    depend on its neighbors.

    Parameters
    ----------
    rate : float, default=0.1
        The probability of dropping a unit. It is no outcome of the training: `ConcreteDropout`
        learns it.
    where : {"all", "last"}, default="all"
        Whether units of every hidden layer are dropped or of the last alone, which makes passes
        cheap.
    passes : int, default=50
        Sampled networks in a prediction, one member each.
    head : {"softmax", "gaussian-logits"}, default="softmax"
        Whether the logits are numbers or Gaussians with a learned standard deviation.
    prior_std : float or None, default=0.5
        The standard deviation of a Gaussian prior of all weights; None leaves it out.
    **settings
        The others are those of `caveat.estimators.NetworkEstimator`, and so are the attributes. A
        ``module`` brings its own dropout, ours or torch's; ``rate`` and ``where`` are then without
        effect.

    References
    ----------
    Gal, Ghahramani: Dropout as a Bayesian approximation, 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caveat.estimators import MCDropoutClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MCDropoutClassifier(epochs=10, passes=20, random_state=0).fit(X, y)
    >>> model.predict_distribution(X)
    Categorical: 20 members x 150 samples x 3 classes (0, 1, 2)
    """


@ESTIMATOR
class MCDropoutRegressor(_MCDropout, NetworkRegressor):
    """One network for numbers, whose hidden units are dropped at random, also in prediction.

    Parameters
    ----------
    rate : float, default=0.1
        The probability of dropping a unit.
    where : {"all", "last"}, default="all"
        Whether units of every hidden layer are dropped or of the last alone.
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
    As for `MCDropoutClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import MCDropoutRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = MCDropoutRegressor(epochs=10, passes=20, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X)
    Gaussian: 20 members x 60 samples x 1 target (0)
    """
