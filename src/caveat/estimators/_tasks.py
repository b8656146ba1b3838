"""Networks that predict classes, and networks that predict numbers."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from .._constructors import declared
from .._defaults import HELD_LEAST_CLASSES, MAX_STD
from .._validation import check_number
from ..exceptions import InvalidValueError, LabelError, OptionError
from ._data import Loss, mean_and_scale
from ._network import NetworkEstimator
from ._novelty import RemembersReach
from .interface import PredictsClasses, PredictsIntervals, target_names

__all__ = ["NetworkClassifier", "NetworkRegressor", "WithPrior"]


@declared(kw_only=True)
class NetworkClassifier(ClassifierMixin, NetworkEstimator, PredictsClasses):
    """A network that predicts probabilities of classes.

    Parameters
    ----------
    head : {"softmax", "gaussian-logits"}
        Whether the logits are numbers or Gaussians with a learned standard deviation.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        The labels, in the order of the probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caveat.estimators import {name}
    >>> X, y = load_iris(return_X_y=True)
    >>> model = {name}(epochs=10, random_state=0).fit(X, y)
    >>> prediction = model.predict_distribution(X)
    >>> len(prediction), prediction.classes.tolist()
    (150, [0, 1, 2])
    >>> model.predict_proba(X).shape
    (150, 3)
    """

    head: str = "softmax"

    def _encode(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise LabelError(
                f"y has one class, {self.classes_.tolist()[0]!r}; a classifier cannot learn from "
                "data with fewer than two classes"
            )
        return codes

    def _codes(self, y: np.ndarray, *, known: bool) -> np.ndarray:
        codes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        if known and (self.classes_[codes] != y).any():
            strange = np.unique(y[self.classes_[codes] != y])
            raise LabelError(
                f"validation has classes that are not among those to learn from: "
                f"{', '.join(map(repr, strange[:5].tolist()))}; leave these samples out"
            )
        return codes.astype(np.int64)

    def _strata(self, codes: np.ndarray) -> np.ndarray:
        counts = np.bincount(codes)
        if counts.min() < 2:
            rare = self.classes_.tolist()[counts.argmin()]
            raise LabelError(
                f"class {rare!r} has one sample (a repeated one counts once), so it cannot be in "
                "both parts; pass validation= or leave validation_fraction out"
            )
        return codes

    def _held_least(self) -> int:
        return HELD_LEAST_CLASSES

    def _rarest(self, codes: np.ndarray) -> float:
        return float(np.bincount(codes).min())

    def _head(self) -> tuple[str, dict[str, Any], tuple[int, ...]]:
        if self.head not in ("softmax", "gaussian-logits"):
            raise OptionError(f"head must be 'softmax' or 'gaussian-logits'; got {self.head!r}")
        classes = len(self.classes_)
        if self.head == "softmax":
            return "logits", {}, (classes,)
        return "gaussian-logits", {"head": "gaussian-logits"}, (2, classes)

    def _loss(self) -> Loss:
        from ..nn import losses

        return losses.nll if self.head == "softmax" else losses.sampled_softmax_nll

    def _constant_losses(self, codes: np.ndarray, held: np.ndarray) -> np.ndarray:
        counts = np.bincount(codes, minlength=len(self.classes_))
        return -np.log(np.maximum(counts, 0.5) / counts.sum())[held]

    def _finish(self, values: Any) -> Any:
        from ..nn._outputs import to_prediction

        name = self._head()[0]
        return to_prediction(values, name, classes=self.classes_, targets=None, levels=None)


@declared(kw_only=True)
class TargetEstimator(RegressorMixin, RemembersReach, PredictsIntervals):
    """A network that learns numbers.

    Parameters
    ----------
    scale_targets : bool
        Whether the targets are learned with mean 0 and variance 1. With False the outputs of the
        network are in units of the targets, as those of a pretrained ``module`` may be.

    Attributes
    ----------
    targets_ : ndarray of shape (targets,)
        Names of the targets, where ``y`` was a frame or a series with a name.
    """

    scale_targets: bool = True

    _numbers = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _encode(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        columns = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        self.one_target_ = y.ndim == 1
        rounding = np.finfo(np.float64).eps
        size = np.abs(columns).max(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            self.y_mean_, self.y_scale_ = mean_and_scale(columns, weight, size, rounding)
        if not np.isfinite(self.y_scale_).all():
            raise InvalidValueError(
                f"y goes up to {size.max():g}, whose squares are too large to add up; scale y down"
            )
        if (self.y_scale_ == 0).any():
            target = int(np.flatnonzero(self.y_scale_ == 0)[0])
            which = "" if self.one_target_ else f" in target {target}"
            raise InvalidValueError(
                f"y is {columns[0, target]:g} in all {len(y)} samples{which}; a constant target "
                "has no spread to learn"
            )
        if not self.scale_targets:
            self.y_mean_, self.y_scale_ = np.zeros_like(self.y_mean_), np.ones_like(self.y_scale_)
        return columns

    def _read_names(self, y: Any) -> None:
        names = target_names(y, len(self.y_mean_))
        if names is not None:
            self.targets_ = names

    def _named(self, values: Any, head: str, levels: list[float] | None = None) -> Any:
        """Return the prediction, whose targets have the names that they had in fit."""
        from ..nn._outputs import to_prediction

        names = getattr(self, "targets_", None)
        return to_prediction(values, head, classes=None, targets=names, levels=levels)

    def _codes(self, y: np.ndarray, *, known: bool) -> np.ndarray:
        columns = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        if known and columns.shape[1] != len(self.y_mean_):
            raise LabelError(
                f"validation has {columns.shape[1]} targets, y has {len(self.y_mean_)}"
            )
        return ((columns - self.y_mean_) / self.y_scale_).astype(np.float32)

    def _in_units(self, values: Any, axis: int) -> Any:
        """Return standardized outputs in the units of the targets, which lie along an axis."""
        import torch

        shape = [1] * values.ndim
        shape[axis] = -1
        mean, scale = (torch.from_numpy(v).reshape(shape) for v in (self.y_mean_, self.y_scale_))
        return values.double() * scale + mean

    def _point(self, prediction: Any) -> np.ndarray:
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Return one number for each sample, or for each target: (samples,) or (samples, targets).

        It is the mean of the predicted distribution; for quantiles the median.
        """
        point = self._point(self.predict_distribution(X))
        return point[:, 0] if self.one_target_ else point


@declared(kw_only=True)
class NetworkRegressor(TargetEstimator):
    """A network that predicts numbers, with or without a spread.

    Parameters
    ----------
    head : {"mean-std", "mean"}
        Whether a standard deviation is learned, which may differ between samples.
    max_std : float or None
        Bound of the standard deviation, in units of that of the targets: a sample far from all
        others cannot be called noise without end. None leaves it out; no effect with ``module``.
    beta : float
        Each sample's likelihood is weighted by its predicted variance to this power, from 0 to 1:
        at 0 not at all, at 1 the mean learns as under a squared error; see
        `caveat.nn.losses.beta_nll`.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import {name}
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = {name}(epochs=10, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X).mean.shape[1:]
    (60, 1)
    >>> model.predict_interval(X, coverage=0.9)
    Interval: 60 samples x 1 target (0), coverage 0.9
    """

    head: str = "mean-std"
    max_std: float | None = MAX_STD
    beta: float | str = 0.0

    def _head(self) -> tuple[str, dict[str, Any], tuple[int, ...]]:
        if self.head not in ("mean-std", "mean"):
            raise OptionError(f"head must be 'mean-std' or 'mean'; got {self.head!r}")
        targets = len(self.y_mean_)
        if self.head == "mean":
            return "mean", {}, (targets,)
        return "mean-std", {"head": "mean-std"}, (2, targets)

    def _loss(self) -> Loss:
        from ..nn import losses

        beta = check_number(self._setting("beta"), "beta", 0, 1)
        plain = self._likelihood()
        return partial(losses.beta_nll, beta=beta) if beta and self.head != "mean" else plain

    def _likelihood(self) -> Loss:
        from ..nn import losses

        return losses.squared_error if self.head == "mean" else losses.gaussian_nll

    def _constant_losses(self, codes: np.ndarray, held: np.ndarray) -> np.ndarray:
        # Standardized targets have mean 0 and variance 1.
        mean, variance = np.zeros(held.shape[1]), np.ones(held.shape[1])
        if not self.scale_targets:
            mean, variance = codes.mean(axis=0), codes.var(axis=0)
        squares = np.square(held - mean, dtype=np.float64)
        if self.head == "mean":
            return squares.sum(axis=1)
        return (squares / variance + np.log(2 * np.pi * variance)).sum(axis=1) / 2

    def _bound(self, head: Any) -> None:
        if self.head == "mean-std" and self.max_std is not None:
            head.cap = check_number(self.max_std, "max_std", closed="neither")

    def _finish(self, values: Any) -> Any:
        import torch

        name = self._head()[0]
        if name == "mean-std":
            spread = values[:, :, 1].double() * torch.from_numpy(self.y_scale_)
            values = torch.stack([self._in_units(values[:, :, 0], 2), spread], dim=2)
        else:
            values = self._in_units(values, 2)
        return self._named(values, name)

    def _point(self, prediction: Any) -> np.ndarray:
        return np.asarray(prediction.moments()[0])


@declared(kw_only=True)
class WithPrior(NetworkEstimator):
    """A network whose weights have a Gaussian prior around 0.

    Parameters
    ----------
    prior_std : float or None
        Standard deviation of a Gaussian prior of all weights; None leaves it out.
    """

    prior_std: float | None = 0.5

    def _own_training(self) -> dict[str, Any]:
        if self.prior_std is None:
            return {}
        return {"anchor": "zero", "anchor_strength": self._strength(self.prior_std)}

    def _strength(self, prior_std: float, noise_std: float = 1.0) -> float:
        """Return the weight of the squared distance from the prior's mean, times N.

        Minus the log posterior over N is the mean of minus the log likelihoods, plus the squared
        distance over 2 N variances. A squared error is twice the noise's variance times such a
        likelihood, up to a constant, and so the prior's part is multiplied by the same.
        """
        prior_std = check_number(prior_std, "prior_std", closed="neither")
        if getattr(self, "head", None) == "mean":
            return float(noise_std**2 / prior_std**2)
        return float(1 / (2 * prior_std**2))
