"""Concrete dropout: Monte-Carlo dropout that learns how much to drop."""

from typing import Any

from ._data import real
from ._network import ESTIMATOR
from ._tasks import NetworkClassifier, NetworkRegressor
from .mc_dropout import MonteCarlo


@ESTIMATOR
class _ConcreteDropout(MonteCarlo):
    rate: float = 0.1
    length_scale: float = 1.0

    def _random_layers(self) -> dict[str, Any]:
        return {"stochastic": "concrete", "where": self.where, "rate": self.rate}

    def _own_training(self) -> dict[str, Any]:
        return {"penalty_weight": "per-sample"}

    def _adjust(self, network: Any) -> None:
        from ..nn.layers import stochastic_layers

        length_scale = real(self.length_scale, "length_scale")
        for layer in stochastic_layers(network):
            layer.length_scale = length_scale  # type: ignore[assignment]


@ESTIMATOR
class ConcreteDropoutClassifier(_ConcreteDropout, NetworkClassifier):
    r"""One network for classes with dropout whose rates are learned, one for each layer.

    The objective is the mean of minus the log likelihoods, plus for each random layer

    .. math:: \frac{1}{N} \Big(\frac{l^2 \lVert W \rVert^2}{2 (1 - p)} - K_{in} H(p)\Big)

    with the layer's number of inputs :math:`K_{in}`: little data leave the rate :math:`p` high, and
    with more data it falls.

    Parameters
    ----------
    rate : float, default=0.1
        The probability of dropping an input of a layer, at the start.
    length_scale : float, default=1.0
        :math:`l`: weights have the prior :math:`N(0, l^{-2})`.
    where : {"all", "last"}, default="all"
        Whether inputs of every layer are dropped, those of the network too, or those of the last
        hidden one alone, which makes passes cheap. Layers that are not random have no prior.
    passes : int, default=50
        Sampled networks in a prediction, one member each.
    head : {"softmax", "gaussian-logits"}, default="softmax"
        Whether the logits are numbers or Gaussians with a learned standard deviation.
    **settings
        The others are those of `caveat.estimators.NetworkEstimator`, and so are the attributes. A
        ``module`` brings its own layers, such as `caveat.nn.layers.ConcreteDropoutLinear`;
        ``rate``, ``length_scale`` and ``where`` are then without effect.

    References
    ----------
    Gal, Hron, Kendall: Concrete dropout, 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caveat.estimators import ConcreteDropoutClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConcreteDropoutClassifier(epochs=10, passes=20, random_state=0).fit(X, y)
    >>> model.predict_distribution(X)
    Categorical: 20 members x 150 samples x 3 classes (0, 1, 2)
    """


@ESTIMATOR
class ConcreteDropoutRegressor(_ConcreteDropout, NetworkRegressor):
    """One network for numbers with dropout whose rates are learned, one for each layer.

    See `ConcreteDropoutClassifier`.

    Parameters
    ----------
    rate : float, default=0.1
        The probability of dropping an input of a layer, at the start.
    length_scale : float, default=1.0
        Weights have a Gaussian prior whose standard deviation is one over this.
    where : {"all", "last"}, default="all"
        Whether inputs of every layer are dropped, those of the network too, or those of the last
        hidden one alone.
    passes : int, default=50
        Sampled networks in a prediction, one member each.
    head : {"mean-std", "mean"}, default="mean-std"
        Whether a standard deviation is learned, which may differ between samples.
    **settings
        The others are those of `caveat.estimators.NetworkEstimator`, and so are the attributes.

    References
    ----------
    As for `ConcreteDropoutClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import ConcreteDropoutRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = ConcreteDropoutRegressor(epochs=10, passes=20, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X)
    Gaussian: 20 members x 60 samples x 1 target (0)
    """
