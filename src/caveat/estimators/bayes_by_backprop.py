"""Bayes by backprop: one network, whose weights are Gaussians."""

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._constructors import declared
from .._defaults import EPOCHS, LIKELIHOOD_WEIGHTS, RANDOM_STEPS
from .._validation import check_integer, check_number
from ..exceptions import OptionError
from ._choice import AUTO, LeavesOpen, Settings, enough_epochs
from ._tasks import NetworkClassifier, NetworkRegressor
from .mc_dropout import MonteCarlo

if TYPE_CHECKING:
    from ..nn.layers import Prior


@declared(kw_only=True)
class Variational(MonteCarlo, LeavesOpen):
    r"""A network with Gaussian weights.

    Parameters
    ----------
    epochs : int or "auto"
        How often the samples are seen. "auto": 100 times; from 100 samples on as often as it takes
        for 4,000 steps, if that is more.
    prior : float, three floats or caveat.nn.layers.Prior
        Prior of the weights: a standard deviation, or ``(weight, std1, std2)`` of a mixture of two
        Gaussians. No effect with ``module``.
    initial_mean : float
        Means start from a Gaussian with this standard deviation; by default as torch's weights do.
        No effect with ``module``.
    initial_std : float
        Standard deviation of all weights before training; by default a tenth over the square root
        of a layer's number of inputs. No effect with ``module``.
    likelihood_weight : float or "auto"
        Weight :math:`\lambda` of the mean log likelihood. "auto": 1, or 3 or 10 where held-out
        samples speak against 1; see ``chosen_``. As much as each sample counts more than once, the
        posterior is narrower. With a number as ``divergence_weight`` it is 1.
    divergence_weight : float or "per-sample"
        Weight :math:`\kappa` of the divergence; "per-sample" is one over the number of samples:
        with ``likelihood_weight=1`` the evidence lower bound. A smaller one tempers the posterior.
    draws : int
        Draws of the weights in a step, whose gradients are averaged: less noise, for as many times
        the work.
    """

    epochs: int | str = EPOCHS
    prior: Any = 1.0
    initial_mean: float | None = None
    initial_std: float | None = None
    likelihood_weight: float | str = 1.0
    divergence_weight: float | Literal["per-sample"] = "per-sample"
    draws: int = 1

    _layers = "bayes"

    def _random_layers(self) -> dict[str, Any]:
        return {"stochastic": self._layers, "where": self.where, "prior": as_prior(self.prior)}

    _early_stopping = False  # the posterior is more than its likelihood

    def _usual(self) -> Settings:
        return {**super()._usual(), "likelihood_weight": LIKELIHOOD_WEIGHTS[0]}

    def _candidates(self, per_epoch: int) -> list[Settings]:
        epochs = enough_epochs(per_epoch, RANDOM_STEPS)
        weights = LIKELIHOOD_WEIGHTS if self.divergence_weight == "per-sample" else (1.0,)
        return [{"epochs": epochs, "likelihood_weight": weight} for weight in weights]

    def _own_training(self) -> dict[str, Any]:
        weight = self.divergence_weight
        if weight != "per-sample":
            weight = check_number(weight, "divergence_weight (if not 'per-sample')")
        return {
            "likelihood_weight": check_number(
                self._setting("likelihood_weight"), "likelihood_weight", closed="neither"
            ),
            "penalty_weight": weight,
            "draws": check_integer(self.draws, "draws"),
        }

    def _adjust(self, network: Any) -> None:
        from ..nn.layers import stochastic_layers

        given = {"initial_mean": self.initial_mean, "initial_std": self.initial_std}
        for name, value in given.items():
            if value is None:
                continue
            for layer in stochastic_layers(network):
                setattr(layer, name, check_number(value, name, closed="neither"))
        network.reset_parameters()


def as_prior(prior: Any) -> "Prior":
    """Return a prior: a number is a Gaussian, three are a mixture of two."""
    from ..nn.layers import GaussianPrior, Prior, ScaleMixturePrior

    if isinstance(prior, Prior):
        return prior
    if _is_number(prior):
        return GaussianPrior(float(prior))
    parts = prior.tolist() if isinstance(prior, np.ndarray) else prior
    if isinstance(parts, Sequence) and len(parts) == 3 and all(map(_is_number, parts)):
        return ScaleMixturePrior(*map(float, parts))
    raise OptionError(
        "prior must be a standard deviation, three numbers (weight, std1, std2) of a mixture of "
        f"two Gaussians, or a caveat.nn.layers.Prior; got {prior!r}"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


@declared(kw_only=True)
class BayesByBackpropClassifier(Variational, NetworkClassifier):
    r"""One network for classes, whose every weight is a Gaussian of its own.

    .. math:: \lambda \frac{1}{B} \sum_n -\log p(y_n \mid x_n, w)
        + \kappa\, KL(q \Vert p), \quad w \sim q

    with one draw of the weights for a batch of :math:`B` samples, or the mean over several; a
    prediction draws them again for each pass. Layers that are not random have no prior. A
    ``module`` brings its own layers, such as `caveat.nn.layers.BayesLinear`.

    References
    ----------
    Blundell et al.: Weight uncertainty in neural networks, 2015.
    """


@declared(kw_only=True)
class BayesByBackpropRegressor(Variational, NetworkRegressor):
    """One network for numbers with Gaussian weights; see `BayesByBackpropClassifier`."""

    likelihood_weight: float | str = AUTO
    epochs: int | str = AUTO
