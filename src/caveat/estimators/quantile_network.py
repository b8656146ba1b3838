"""Quantile regression: one network that predicts several quantiles at once."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from .._constructors import declared
from ._data import Loss
from ._tasks import TargetEstimator, WithPrior


@declared(kw_only=True)
class QuantileNetworkRegressor(WithPrior, TargetEstimator):
    """One network that predicts quantiles, which cannot cross.

    It minimizes the pinball loss, the mean over levels, and assumes no shape of the distribution.
    ``predict`` returns the median: that of the level 0.5, otherwise on a straight line between the
    levels next to it. ``predict_interval`` needs both levels of the interval: 0.05 and 0.95 for a
    coverage of 0.9. A ``module`` must return (samples, targets, levels), as
    `caveat.nn.layers.QuantileHead` does.

    Parameters
    ----------
    levels : sequence of float
        Levels of the quantiles, increasing, between 0 and 1.
    prior_std : float or None
        Standard deviation of a Gaussian prior of all weights, where the loss counts as minus a log
        likelihood; None leaves it out.

    References
    ----------
    Koenker, Bassett: Regression quantiles, 1978.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import QuantileNetworkRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = QuantileNetworkRegressor(epochs=10, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X)
    Quantiles: 1 member x 60 samples x 1 target (0) x 5 levels (0.05, 0.25, 0.5, 0.75, 0.95)
    >>> model.predict_interval(X, coverage=0.5)
    Interval: 60 samples x 1 target (0), coverage 0.5
    """

    levels: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)
    prior_std: float | None = None

    def _head(self) -> tuple[str, dict[str, Any], tuple[int, ...]]:
        from ..nn.layers.heads import check_levels

        levels = check_levels(self.levels)
        row = len(self.y_mean_), len(levels)
        return "quantiles", {"head": "quantiles", "levels": levels}, row

    def _loss(self) -> Loss:
        from ..nn import losses

        return partial(losses.pinball, levels=tuple(self.levels))

    def _constant_losses(self, codes: np.ndarray, held: np.ndarray) -> np.ndarray:
        levels = np.asarray(self.levels)
        residual = held[..., None] - np.quantile(codes, levels, axis=0).T
        return np.maximum(levels * residual, (levels - 1) * residual).mean((1, 2))

    def _finish(self, values: Any) -> Any:
        return self._named(self._in_units(values, 2), "quantiles", list(self.levels))

    def _point(self, prediction: Any) -> np.ndarray:
        return np.asarray(prediction.median())
