"""Flipout: Gaussian weights, whose noise has other signs in every row of a batch."""

from .._constructors import declared
from ._tasks import NetworkClassifier, NetworkRegressor
from .bayes_by_backprop import Variational


@declared(kw_only=True)
class Flipout(Variational):
    """Gaussian weights with row-wise signs."""

    _layers = "flipout"


@declared(kw_only=True)
class FlipoutClassifier(Flipout, NetworkClassifier):
    """One network for classes with Gaussian weights, trained with less noise in its gradients.

    The posterior and the objective are those of `BayesByBackpropClassifier`; only in training the
    noise of the weights has other random signs in each row of a batch, so that it partly cancels.
    Published experiments also use the prior ``(0.5, 5.0, 2.0)``, an even mixture of two wide
    Gaussians; see `preset`. A ``module`` brings its own layers, such as
    `caveat.nn.layers.FlipoutLinear`.

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


@declared(kw_only=True)
class FlipoutRegressor(Flipout, NetworkRegressor):
    """One network for numbers with Gaussian weights and Flipout; see `FlipoutClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import FlipoutRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = FlipoutRegressor(epochs=10, passes=20, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X)
    Gaussian: 20 members x 60 samples x 1 target (0)
    """
