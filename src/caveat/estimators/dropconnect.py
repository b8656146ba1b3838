"""DropConnect: one network, whose single weights are dropped in prediction too."""

from .._constructors import declared
from ._tasks import NetworkClassifier, NetworkRegressor, WithPrior
from .mc_dropout import WithRate


@declared(kw_only=True)
class DropConnect(WithPrior, WithRate):
    """A network whose weights are dropped."""

    _layers = "dropconnect"


@declared(kw_only=True)
class DropConnectClassifier(DropConnect, NetworkClassifier):
    """One network for classes, whose weights are set to 0 at random, also in prediction.

    A mask of weights serves a whole batch in training, and all rows of a pass in prediction. With
    ``where="all"`` the weights of the output layer are dropped, too.

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


@declared(kw_only=True)
class DropConnectRegressor(DropConnect, NetworkRegressor):
    """One network for numbers, whose weights are dropped; see `DropConnectClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import DropConnectRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = DropConnectRegressor(epochs=10, passes=20, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X)
    Gaussian: 20 members x 60 samples x 1 target (0)
    """
