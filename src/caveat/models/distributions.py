"""Distributions as objects: NGBoost, skpro, torch and GPyTorch, scipy."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from .._arrays import to_numpy
from ..estimators.sklearn_models import join_predictions
from ..exceptions import OptionError
from ..predictions import Categorical, Gaussian, Quantiles
from .fitted import check_fitted
from .table import LEVELS


def from_ngboost(model: Any, X: Any, *, levels: Any = LEVELS) -> Any:
    """Read the distribution that a model predicts."""
    if not model.base_models:
        raise NotFittedError
    return from_ngboost_distribution(model.pred_dist(X), levels=levels)


def from_ngboost_distribution(distribution: Any, *, levels: Any = LEVELS) -> Any:
    """Read what ``pred_dist`` gave."""
    names = _names(distribution)  # attributes that a distribution lacks are None, and no error
    if "ClassificationDistn" in names:
        return Categorical(distribution.class_probs())
    if "MVN" in names:
        return Gaussian(distribution.loc, np.diagonal(distribution.cov, axis1=-2, axis2=-1))
    if "Normal" in names:
        return Gaussian.from_std(distribution.loc, distribution.scale)
    return _read(distribution.ppf, levels)


def from_skpro(model: Any, X: Any, *, levels: Any = LEVELS) -> Any:
    """Read the distribution that a model predicts."""
    check_fitted(model)
    return from_skpro_distribution(model.predict_proba(X), levels=levels)


def from_skpro_distribution(distribution: Any, *, levels: Any = LEVELS) -> Any:
    """Read what ``predict_proba`` gave; targets are called as its columns are."""
    if distribution.ndim == 0:
        raise OptionError("this distribution is of one number; give it an axis of samples")
    parts = [distribution]
    if type(distribution).__name__ == "Mixture" and distribution.weights is None:
        parts = distribution.distributions
    if all(type(part).__name__ == "Normal" for part in parts):
        return join_predictions([Gaussian(part.mean(), part.var()) for part in parts])
    frame = distribution.quantile(list(levels))
    values = frame.to_numpy().reshape(len(frame), -1, len(levels))
    return Quantiles(levels, values, targets=list(distribution.columns), sort=True)


def from_torch(distribution: Any, *, levels: Any = LEVELS) -> Any:
    """Read a distribution of ``torch.distributions``, a batch of which are the samples."""
    import torch

    name = type(distribution).__name__
    if name == "Bernoulli":
        return Categorical.from_binary(distribution.probs)
    if name in ("Categorical", "OneHotCategorical"):
        return Categorical(distribution.probs)
    base = distribution.base_dist if name == "Independent" else distribution
    if _names(base) & {"Normal", "MultivariateNormal", "LowRankMultivariateNormal"}:
        return Gaussian(distribution.mean, distribution.variance)
    try:
        return _read(lambda level: distribution.icdf(torch.tensor(level)), levels)
    except NotImplementedError:
        raise OptionError(
            f"torch has no quantiles of a {name}; keep its mean and "
            "variance, caveat.Gaussian(d.mean, d.variance), or quantiles of draws: "
            "caveat.Quantiles(levels, d.sample((1000,)).quantile(torch.tensor(levels), 0).T)"
        ) from None


def from_gpytorch(posterior: Any) -> Gaussian:
    """Read the posterior of a Gaussian process at some points, one target or several."""
    if len(posterior.batch_shape):
        raise OptionError(
            f"this posterior is a batch of {tuple(posterior.batch_shape)}; pass a list of "
            "posteriors for members, or caveat.Gaussian(mean.T, variance.T) for targets"
        )
    return Gaussian(posterior.mean, posterior.variance)


def from_scipy(distribution: Any, *, levels: Any = LEVELS) -> Any:
    """Read a frozen distribution whose parameters are arrays, one entry for each sample."""
    if not hasattr(distribution, "dist"):  # the classes of SciPy 1.15 and later
        return _read(distribution.icdf, levels)
    if distribution.dist.name == "norm":
        return Gaussian.from_std(distribution.mean(), distribution.std())
    return _read(distribution.ppf, levels)


def _names(distribution: Any) -> set[str]:
    return {kind.__name__ for kind in type(distribution).__mro__}


def _read(quantile: Callable[[float], Any], levels: Any) -> Quantiles:
    """Return the quantiles at the levels, from a function of one level."""
    columns = [to_numpy(quantile(float(level)), "quantiles").array for level in levels]
    return Quantiles(levels, np.stack(columns, axis=-1), sort=True)
