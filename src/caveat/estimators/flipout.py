"""Flipout: Gaussian weights, whose noise has other signs in every row of a batch."""

from ._network import ESTIMATOR
from ._tasks import NetworkClassifier, NetworkRegressor
from .bayes_by_backprop import Variational


@ESTIMATOR
class _Flipout(Variational):
    _layers = "flipout"


@ESTIMATOR
class FlipoutClassifier(_Flipout, NetworkClassifier):
    """One network for classes with Gaussian weights, trained with less noise in its gradients.

    The posterior and the objective are those of `BayesByBackpropClassifier`; only in training the
    noise of the weights has other random signs in each row of a batch, so that it partly cancels.
    The settings that are named here are described there.

    Parameters
    ----------
    prior : float, three floats or caveat.nn.layers.Prior, default=1.0
        Published experiments also use ``(0.5, 5.0, 2.0)``, an even mixture of two wide Gaussians;
        see `preset`.
    initial_mean, initial_std : float, optional
    likelihood_weight : float, default=1.0
    divergence_weight : float or "per-sample", default="per-sample"
    draws : int, default=1
    where : {"all", "last"}, default="all"
    passes : int, default=50
    head : {"softmax", "gaussian-logits"}, default="softmax"
        Whether the logits are numbers or Gaussians with a learned standard deviation.
    **settings
        The others are those of `caveat.estimators.NetworkEstimator`, and so are the attributes. A
        ``module`` brings its own layers, such as `caveat.nn.layers.FlipoutLinear`.

    References
    ----------
    Wen et al.: Flipout: efficient pseudo-independent weight perturbations on mini-batches, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caveat.estimators import FlipoutClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FlipoutClassifier(epochs=10, passes=20, random_state=0).fit(X, y)
    >>> model.predict_distribution(X)
    Categorical: 20 members x 150 samples x 3 classes (0, 1, 2)
    """


@ESTIMATOR
class FlipoutRegressor(_Flipout, NetworkRegressor):
    """One network for numbers with Gaussian weights, trained with less noise in its gradients.

    See `FlipoutClassifier`; the settings that are named here are described for
    `BayesByBackpropClassifier`.

    Parameters
    ----------
    prior : float, three floats or caveat.nn.layers.Prior, default=1.0
    initial_mean, initial_std : float, optional
    likelihood_weight : float, default=1.0
    divergence_weight : float or "per-sample", default="per-sample"
    draws : int, default=1
    where : {"all", "last"}, default="all"
    passes : int, default=50
    head : {"mean-std", "mean"}, default="mean-std"
        Whether a standard deviation is learned, which may differ between samples.
    **settings
        The others are those of `caveat.estimators.NetworkEstimator`, and so are the attributes.

    References
    ----------
    As for `FlipoutClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import FlipoutRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = FlipoutRegressor(epochs=10, passes=20, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X)
    Gaussian: 20 members x 60 samples x 1 target (0)
    """
