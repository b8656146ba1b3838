"""Monte-Carlo dropout: one network, whose units are dropped in prediction too."""

from collections.abc import Callable
from typing import Any

from .._constructors import declared
from .._defaults import EPOCHS, PASSES, RANDOM_SCHEDULER, RANDOM_STEPS, RATE, RATES, WHERE
from .._validation import check_integer
from ._choice import AUTO, LeavesOpen, Settings, enough_epochs
from ._network import NetworkEstimator
from ._tasks import NetworkClassifier, NetworkRegressor, WithPrior


@declared(kw_only=True)
class MonteCarlo(NetworkEstimator):
    """A network that predicts by random passes.

    Parameters
    ----------
    where : {"all", "last"}
        Which layers are random: all, or the last hidden one only, which makes passes cheap. A
        ``module`` brings its own random layers, and this has no effect.
    passes : int
        Sampled networks in a prediction, one member each.
    """

    where: str = WHERE
    passes: int = PASSES
    scheduler: str | Callable[..., Any] = RANDOM_SCHEDULER

    def _pass_count(self) -> int:
        return check_integer(self.passes, "passes")


@declared(kw_only=True)
class WithRate(MonteCarlo, LeavesOpen):
    """A network in which something is dropped.

    Parameters
    ----------
    rate : float or "auto"
        Probability of dropping a unit or a weight; no effect with ``module``. "auto": from 100
        samples on the one of several that held-out samples speak for; see ``chosen_``.
    epochs : int or "auto"
        How often the samples are seen. "auto": 100 times; from 100 samples on as often as it takes
        for 4,000 steps, if that is more.
    """

    rate: float | str = RATE
    epochs: int | str = EPOCHS

    _layers = "dropout"
    _usual_rate = RATE
    _rates = RATES

    def _usual(self) -> Settings:
        return {**super()._usual(), "rate": self._usual_rate}

    def _candidates(self, per_epoch: int) -> list[Settings]:
        epochs = enough_epochs(per_epoch, RANDOM_STEPS)
        return [{"epochs": epochs, "rate": rate} for rate in self._rates]

    def _random_layers(self) -> dict[str, Any]:
        return {"stochastic": self._layers, "where": self.where, "rate": self._setting("rate")}


@declared(kw_only=True)
class MCDropoutClassifier(WithRate, WithPrior, NetworkClassifier):
    """One network for classes, whose hidden units are dropped at random, also in prediction.

    One pass is one sampled network: all rows share its mask, so the prediction of a row does not
    depend on its neighbors. The rate is not learned; `ConcreteDropoutClassifier` learns it. A
    ``module`` brings its own dropout, ours or torch's.

    References
    ----------
    Gal, Ghahramani: Dropout as a Bayesian approximation, 2016.
    """


@declared(kw_only=True)
class MCDropoutRegressor(WithRate, WithPrior, NetworkRegressor):
    """One network for numbers, whose hidden units are dropped; see `MCDropoutClassifier`."""

    rate: float | str = AUTO
    epochs: int | str = AUTO
