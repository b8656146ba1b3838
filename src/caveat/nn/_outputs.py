"""Predictions from the outputs (passes, rows, ...) of a module."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..exceptions import InvalidValueError, OptionError, ShapeError, UnknownNameError
from ..predictions import Categorical, Gaussian, GaussianLogits, Quantiles
from .layers.heads import GaussianLogitsHead, MeanVarianceHead, QuantileHead

Prediction = Categorical | Gaussian | GaussianLogits | Quantiles


@dataclass(frozen=True)
class Head:
    """A meaning of outputs."""

    shape: str
    """What the module must return, in words."""
    fits: Callable[[tuple[int, ...]], bool]
    """Whether the shape of one row is right."""
    convert: Callable[..., Prediction]
    """Makes a prediction from (passes, rows, ...) and names."""
    options: tuple[str, ...]
    """The arguments of `predict` that it uses."""
    sound: Callable[[Tensor], Any] = lambda values: False
    """Whether finite outputs are certain to make a prediction."""


def _logits(values: Tensor, classes: Any) -> Categorical:
    if _is_single(values):
        p = torch.sigmoid(values.double()).reshape(values.shape[:2])
        return Categorical.from_binary(p, **_given(classes=classes))
    # On the device: a GPU computes it faster than the outputs could be fetched.
    return Categorical(values.double().softmax(-1), classes=classes)


def _probabilities(values: Tensor, classes: Any) -> Categorical:
    if _is_single(values):
        p = values.reshape(values.shape[:2])
        return Categorical.from_binary(p, **_given(classes=classes))
    return Categorical(values, classes=classes)


def _gaussian_logits(values: Tensor, classes: Any) -> GaussianLogits:
    return GaussianLogits.from_std(values[:, :, 0], values[:, :, 1], classes=classes)


def _mean_std(values: Tensor, targets: Any) -> Gaussian:
    mean, std = _pair(values)
    return Gaussian.from_std(mean, std, targets=targets)


def _mean_variance(values: Tensor, targets: Any) -> Gaussian:
    mean, variance = _pair(values)
    return Gaussian(mean, variance, targets=targets)


def _mean(values: Tensor, targets: Any) -> Gaussian:
    return Gaussian.from_members(values, targets=targets)


def _quantiles(values: Tensor, targets: Any, levels: Any) -> Quantiles:
    if levels is None:
        raise OptionError('head="quantiles" needs levels=, the level of each column of the output')
    values = values[:, :, None] if values.dim() == 3 else values
    return Quantiles(levels, values, targets=targets)


def _pair(values: Tensor) -> tuple[Tensor, Tensor]:
    values = values[..., None] if values.dim() == 3 else values
    return values[:, :, 0], values[:, :, 1]


def _spreads_are_positive(values: Tensor) -> Tensor:
    spreads = _pair(values)[1]
    variances = spreads.double().square()
    return ((spreads > 0) & (variances > 0) & torch.isfinite(variances)).all()


def _is_single(values: Tensor) -> bool:
    return values.dim() == 2 or values.shape[2] == 1


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


_CLASSES = "(rows, classes), or (rows,) or (rows, 1) for the second of two classes"

HEADS = {
    "logits": Head(_CLASSES, lambda row: len(row) <= 1, _logits, ("classes",), lambda values: True),
    "probabilities": Head(_CLASSES, lambda row: len(row) <= 1, _probabilities, ("classes",)),
    "gaussian-logits": Head(
        "(rows, 2, classes): means and standard deviations of the logits",
        lambda row: len(row) == 2 and row[0] == 2,
        _gaussian_logits,
        ("classes",),
        _spreads_are_positive,
    ),
    "mean-std": Head(
        "(rows, 2, targets), or (rows, 2) for one target: means and standard deviations",
        lambda row: len(row) in (1, 2) and row[0] == 2,
        _mean_std,
        ("targets",),
        _spreads_are_positive,
    ),
    "mean-variance": Head(
        "(rows, 2, targets), or (rows, 2) for one target: means and variances",
        lambda row: len(row) in (1, 2) and row[0] == 2,
        _mean_variance,
        ("targets",),
    ),
    "mean": Head(
        "(rows, targets), or (rows,) for one target",
        lambda row: len(row) <= 1,
        _mean,
        ("targets",),
        lambda values: True,
    ),
    "quantiles": Head(
        "(rows, targets, levels), or (rows, levels) for one target",
        lambda row: len(row) in (1, 2),
        _quantiles,
        ("targets", "levels"),
    ),
}

_KNOWN: list[tuple[type[nn.Module], str]] = [
    (GaussianLogitsHead, "gaussian-logits"),
    (MeanVarianceHead, "mean-std"),
    (QuantileHead, "quantiles"),
]


def choose_head(head: str, last: nn.Module | None, levels: Any) -> tuple[str, Any]:
    """Return the name of a head and its levels; "auto" knows the last layers of caveat."""
    names = ", ".join(f'"{name}"' for name in HEADS)
    if head == "auto":
        for kind, name in _KNOWN:
            if isinstance(last, kind):
                return name, getattr(last, "levels", None) if levels is None else levels
        raise OptionError(
            "the meaning of the module's output is unknown, since its last layer is no head of "
            f"caveat.nn.layers; pass head=, one of {names}"
        )
    if head not in HEADS:
        raise UnknownNameError(f'head must be "auto" or one of {names}; got {head!r}')
    return head, levels


def to_prediction(values: Tensor, head: str, **options: Any) -> Prediction:
    """Return the prediction from outputs (passes, rows, ...) of the head of that name."""
    meaning = HEADS[head]
    for name in set(_given(**options)) - set(meaning.options):
        raise OptionError(f'head="{head}" has no use for {name}=; leave it out')
    if not meaning.fits(tuple(values.shape[2:])):
        got = ", ".join(["rows", *map(str, values.shape[2:])])
        raise ShapeError(
            f'head="{head}" needs a module that returns {meaning.shape}; it returns ({got})'
        )
    _check_finite(values)
    convert = partial(meaning.convert, **{name: options[name] for name in meaning.options})
    if values.device.type == "cpu" or not meaning.sound(values):
        return convert(values)
    return later(values, convert)


def later(values: Tensor, convert: Callable[[Tensor], Prediction]) -> Prediction:
    """Return a prediction that leaves its outputs on their device until they are asked for."""
    first = convert(values[:, :1])  # names that do not fit show here
    shared = {name: getattr(first, name) for name in first._shared}
    return type(first)._deferred(shared, lambda: convert(values))


def _check_finite(values: Tensor) -> None:
    bad = ~torch.isfinite(values)
    if bad.any():
        index = [int(i) for i in bad.nonzero()[0]]
        worst = np.float64(values[tuple(index)].item())
        raise InvalidValueError(
            f"the module's output for row {index[1]} is {worst} in member {index[0]}; check that "
            "row of X, and the module's parameters if it happens to many rows"
        )
