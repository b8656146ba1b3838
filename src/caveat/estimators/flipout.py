"""Flipout: Gaussian weights, whose noise has other signs in every row of a batch."""

from .._constructors import declared
from ._choice import AUTO
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
    """


@declared(kw_only=True)
class FlipoutRegressor(Flipout, NetworkRegressor):
    """One network for numbers with Gaussian weights and Flipout; see `FlipoutClassifier`."""

    likelihood_weight: float | str = AUTO
    epochs: int | str = AUTO
