"""DropConnect: one network, whose single weights are dropped in prediction too."""

from .._constructors import declared
from .._defaults import CONNECTION_RATE, CONNECTION_RATES
from ._choice import AUTO
from ._tasks import NetworkClassifier, NetworkRegressor, WithPrior
from .mc_dropout import WithRate


@declared(kw_only=True)
class DropConnect(WithRate, WithPrior):
    """A network whose weights are dropped."""

    rate: float | str = CONNECTION_RATE

    _layers = "dropconnect"
    _usual_rate = CONNECTION_RATE
    _rates = CONNECTION_RATES


@declared(kw_only=True)
class DropConnectClassifier(DropConnect, NetworkClassifier):
    """One network for classes, whose weights are set to 0 at random, also in prediction.

    A mask of weights serves a whole batch in training, and all rows of a pass in prediction. With
    ``where="all"`` the weights of the output layer are dropped, too.

    References
    ----------
    Mobiny et al.: DropConnect is effective in modeling uncertainty of Bayesian deep networks, 2021.
    """


@declared(kw_only=True)
class DropConnectRegressor(DropConnect, NetworkRegressor):
    """One network for numbers, whose weights are dropped; see `DropConnectClassifier`."""

    rate: float | str = AUTO
    epochs: int | str = AUTO
