"""Bootstrap: several networks, each on its own resample of the data."""

import numpy as np

from .._constructors import declared
from ._tasks import NetworkClassifier, NetworkRegressor
from .deep_ensemble import DeepEnsemble


@declared(kw_only=True)
class Bootstrap(DeepEnsemble):
    """Several networks, each on a resample."""

    def _members(self, rows: np.ndarray, draw: np.random.Generator) -> list[np.ndarray]:
        count = len(super()._members(rows, draw))
        return [rows[draw.integers(len(rows), size=len(rows))] for _ in range(count)]


@declared(kw_only=True)
class BootstrapClassifier(Bootstrap, NetworkClassifier):
    """Several networks for classes, each on as many samples, drawn with replacement.

    A resample of N samples holds some 63 % of them; those that are drawn more than once count more
    than once. Samples keep their weights. The scaling is the same for all members; what is held out
    of a resample is not in it.

    References
    ----------
    Breiman: Bagging predictors, 1996.
    """


@declared(kw_only=True)
class BootstrapRegressor(Bootstrap, NetworkRegressor):
    """Several networks for numbers, each on a resample; see `BootstrapClassifier`."""
