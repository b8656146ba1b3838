"""Concrete dropout: Monte-Carlo dropout that learns how much to drop."""

from typing import Any

from .._constructors import declared
from .._defaults import BETA, EPOCHS, LENGTH_SCALE, RANDOM_STEPS, RATE
from .._validation import check_number
from ._choice import AUTO, Settings, short_or_long
from ._tasks import NetworkClassifier, NetworkRegressor
from .mc_dropout import WithRate


@declared(kw_only=True)
class ConcreteDropout(WithRate):
    """A network that learns its dropout rates.

    Parameters
    ----------
    rate : float
        Probability of dropping an input of a layer before training; no effect with ``module``.
    epochs : int or "auto"
        How often the samples are seen. "auto": 100 times, or as often as it takes for 4,000 steps
        if held-out samples speak for it; see ``chosen_``.
    length_scale : float
        Weights have a Gaussian prior whose standard deviation is one over this; no effect with
        ``module``.
    """

    rate: float | str = RATE
    epochs: int | str = EPOCHS
    length_scale: float = LENGTH_SCALE

    _layers = "concrete"

    def _own_training(self) -> dict[str, Any]:
        return {"penalty_weight": "per-sample"}

    def _candidates(self, per_epoch: int) -> list[Settings]:
        return []  # the rate is learned

    def _lengths(self, per_epoch: int) -> list[Settings]:
        return short_or_long(per_epoch, RANDOM_STEPS)

    def _adjust(self, network: Any) -> None:
        from ..nn.layers import stochastic_layers

        length_scale = check_number(self.length_scale, "length_scale", closed="neither")
        for layer in stochastic_layers(network):
            layer.length_scale = length_scale  # type: ignore[assignment]


@declared(kw_only=True)
class ConcreteDropoutClassifier(ConcreteDropout, NetworkClassifier):
    r"""One network for classes with dropout whose rates are learned, one for each layer.

    The objective is the mean of minus the log likelihoods, plus for each random layer

    .. math:: \frac{1}{N} \Big(\frac{l^2 \lVert W \rVert^2}{2 (1 - p)} - K_{in} H(p)\Big)

    with the length scale :math:`l` and the layer's number of inputs :math:`K_{in}`: the rate
    :math:`p` stays high with few data, and falls with more. With ``where="all"`` the inputs of the
    network are dropped, too; layers that are not random have no prior. A ``module`` brings its own
    layers, such as `caveat.nn.layers.ConcreteDropoutLinear`.

    References
    ----------
    Gal, Hron, Kendall: Concrete dropout, 2017.
    """


@declared(kw_only=True)
class ConcreteDropoutRegressor(ConcreteDropout, NetworkRegressor):
    """One network for numbers with learned dropout rates; see `ConcreteDropoutClassifier`.

    Parameters
    ----------
    beta : float or "auto"
        As elsewhere. "auto": 0, or a half for a longer training if held-out samples speak for it,
        which may become too sure of some samples otherwise; see ``chosen_``.
    """

    epochs: int | str = AUTO
    beta: float | str = AUTO

    def _usual(self) -> Settings:
        return {**super()._usual(), "beta": 0.0}

    def _lengths(self, per_epoch: int) -> list[Settings]:
        short, long = super()._lengths(per_epoch)
        if self.epochs != AUTO or short == long:
            return []
        return [{**short, "beta": 0.0}, {**long, "beta": BETA}, {**long, "beta": 0.0}]
