"""The models that are tried, from cheap to expensive: each a name and a function that makes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import BayesianRidge

from .._registry import Registry
from ..estimators import (
    DeepEnsembleClassifier,
    DeepEnsembleRegressor,
    MCDropoutClassifier,
    MCDropoutRegressor,
    Wrapped,
)
from ..exceptions import OptionError
from .encoding import after

LEVELS = tuple((2 * k + 1) / 20 for k in range(10))
"""Levels of the quantiles of boosted trees: each stands for a tenth of the distribution."""

TREES = 200


@dataclass(frozen=True)
class Candidate:
    """A model to try.

    Attributes
    ----------
    name : str
    classifier, regressor : callable
        Make an estimator that is not fitted.
    package : str
        What must be installed; empty if caveat needs it itself.
    usual : bool
        Whether it is tried by default.
    aliases : tuple of str

    Examples
    --------
    >>> from caveat.selection import CANDIDATES
    >>> [name for name, candidate in CANDIDATES.items() if candidate.usual]
    ['linear', 'forest', 'boosting', 'catboost', 'deep-ensemble', 'mc-dropout']
    """

    name: str
    classifier: Callable[[], Any]
    regressor: Callable[[], Any]
    package: str = ""
    usual: bool = True
    aliases: tuple[str, ...] = ()

    def make(self, numbers: bool) -> Any:
        """Return an estimator of numbers or of classes; raise if its package is not installed."""
        if self.package and find_spec(self.package) is None:
            raise OptionError(f"the package {self.package} is not installed")
        return self.regressor() if numbers else self.classifier()


class ScaledRidge(BayesianRidge):
    """`sklearn.linear_model.BayesianRidge` whose priors do not depend on the unit of the target."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to the target divided by its standard deviation; attributes are in its own unit.

        Parameters
        ----------
        X : array of shape (samples, features)
        y : array of shape (samples,)
        sample_weight : array of shape (samples,), optional
        """
        y = np.asarray(y, dtype=np.float64)
        centered = y - np.average(y, weights=sample_weight)
        scale = float(np.sqrt(np.average(centered**2, weights=sample_weight)))
        if scale <= 1e-12 * float(np.abs(y).max()):  # rounding of one value
            scale = 1.0
        super().fit(X, y / scale, sample_weight)
        powers = {"coef_": 1, "intercept_": 1, "sigma_": 2, "alpha_": -2, "lambda_": -2}
        for name, power in powers.items():
            setattr(self, name, getattr(self, name) * scale**power)
        return self


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    return after(StandardScaler(), LogisticRegression(max_iter=1000))


def _ridge() -> Any:
    from sklearn.preprocessing import StandardScaler

    return after(StandardScaler(), ScaledRidge())


def _forest_of_classes() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(TREES, min_samples_leaf=3)


def _forest_of_numbers() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    # Trees that end in single samples differ by the noise of the data as well.
    return RandomForestRegressor(TREES, max_features=1 / 3)


def _boosted_classes() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(early_stopping=True)


def _boosted_quantiles() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return Wrapped({
        level: HistGradientBoostingRegressor(loss="quantile", quantile=level, early_stopping=True)
        for level in LEVELS
    })  # fmt: skip


def _lightgbm_classes() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1)


def _lightgbm_quantiles() -> Any:
    from lightgbm import LGBMRegressor

    return Wrapped(
        {level: LGBMRegressor(objective="quantile", alpha=level, verbose=-1) for level in LEVELS}
    )


_CATBOOST: dict[str, Any] = {
    "posterior_sampling": True, "verbose": False, "allow_writing_files": False,
}  # fmt: skip


def _catboost_classes() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(**_CATBOOST)


def _catboost_numbers() -> Any:
    from catboost import CatBoostRegressor

    return CatBoostRegressor(loss_function="RMSEWithUncertainty", **_CATBOOST)


def _no_classes() -> Any:
    raise OptionError("a quantile forest predicts numbers, not classes")


def _quantile_forest() -> Any:
    from quantile_forest import RandomForestQuantileRegressor

    return RandomForestQuantileRegressor(TREES, default_quantiles=list(LEVELS), min_samples_leaf=5)


CANDIDATES: Registry[Candidate] = Registry(
    "candidate",
    [
        Candidate("linear", _logistic, _ridge),
        Candidate("forest", _forest_of_classes, _forest_of_numbers),
        Candidate("boosting", _boosted_classes, _boosted_quantiles),
        Candidate("lightgbm", _lightgbm_classes, _lightgbm_quantiles, "lightgbm", usual=False),
        Candidate("quantile-forest", _no_classes, _quantile_forest, "quantile_forest", usual=False),
        Candidate("catboost", _catboost_classes, _catboost_numbers, "catboost"),
        Candidate("deep-ensemble", DeepEnsembleClassifier, DeepEnsembleRegressor),
        # For numbers it tries several rates, and takes many more steps than a deep ensemble.
        Candidate("mc-dropout", MCDropoutClassifier, MCDropoutRegressor),
    ],
)
"""The models that `AutoClassifier` and `AutoRegressor` know by name, from cheap to expensive."""


def makers_of(given: Any, numbers: bool) -> dict[str, Callable[[], Any]]:
    """Return what makes each candidate, by name, in order."""
    if given is None:
        given = [name for name, candidate in CANDIDATES.items() if candidate.usual]
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, Sequence) and not isinstance(given, str):
        pairs = [(name, None) for name in given]
    else:
        pairs = []
    if not pairs:
        raise OptionError(
            "candidates must be a list of names, or a dict of name to estimator, from cheap to "
            f"expensive; got {given!r}"
        )
    result: dict[str, Callable[[], Any]] = {}
    for name, estimator in pairs:
        if not isinstance(name, str) or not name:
            raise OptionError(f"the name of a candidate must be text; got {name!r}")
        if estimator is None:
            entry = CANDIDATES[name]
            result[entry.name] = partial(entry.make, numbers)
        else:
            result[name] = _given(name, estimator, numbers)
    return result


def _given(name: str, estimator: Any, numbers: bool) -> Callable[[], Any]:
    fits, kind = (is_regressor, "regressor") if numbers else (is_classifier, "classifier")
    if isinstance(estimator, type) or not hasattr(estimator, "get_params") or not fits(estimator):
        raise OptionError(f"candidate {name!r} must be a {kind}; got {estimator!r}")
    return lambda: estimator
