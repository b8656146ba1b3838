"""Features as checked numbers on a common scale."""

from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._validation import FloatArray, as_floats, check_finite, check_not_negative
from ..exceptions import InvalidValueError, OptionError, ShapeError
from ._neighbors import Distance, within_one

_AXES = ("sample", "feature")


def check_distance(distance: Distance) -> None:
    """Raise if the name is not that of a metric."""
    if callable(distance) or distance == "precomputed":
        return
    from sklearn.neighbors import VALID_METRICS

    known = sorted({name for names in VALID_METRICS.values() for name in names})
    if not isinstance(distance, str) or distance not in known:
        raise OptionError(
            f"distance must be a function of two rows or one of {', '.join(known)}; got "
            f"{distance!r}"
        )


def as_features(X: Any, distance: Distance) -> FloatArray:
    """Return ``X`` as numbers; raise with the name of a column that is not numeric."""
    for name, dtype in zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False):
        if str(dtype).lower().startswith("categor"):  # numbers that are but names
            raise _not_numeric(name)
    array, names, _ = to_numpy(X, "X")
    if array.ndim != 2:
        raise ShapeError(f"X must be of shape (samples, features); got shape {array.shape}")
    if array.dtype.kind not in "fiub":
        for i in range(array.shape[1]):
            if not _numeric(array[:, i]):
                raise _not_numeric(i if names is None else names[i])
    features, _, _ = as_floats(array, "X")
    check_finite(features, "X", _AXES)
    if isinstance(distance, str) and distance == "precomputed":
        if features.shape[0] != features.shape[1]:
            raise ShapeError(
                'X must be the square matrix of distances with distance="precomputed"; got shape '
                f"{features.shape}"
            )
        check_not_negative(features, "X", _AXES, "a distance is 0 or more")
    return features


def _numeric(column: Any) -> bool:
    return all(isinstance(value, int | float | np.number | np.bool_) for value in column)


def _not_numeric(name: Any) -> InvalidValueError:
    return InvalidValueError(
        f"column {name!r} of X is not numeric; encode it first, with pandas.get_dummies or "
        "sklearn.preprocessing.OneHotEncoder for example, or leave it out"
    )


def scaled_features(X: FloatArray, scale: Any, distance: Distance) -> FloatArray:
    """Return the features divided by their scale; precomputed distances are not scaled."""
    if (isinstance(distance, str) and distance == "precomputed") or scale is None:
        return X
    if isinstance(scale, str):
        if scale != "standard":
            raise OptionError(
                f'scale must be "standard", None or one number for each feature; got {scale!r}'
            )
        X = within_one(X, 0)
        centered = X - X.mean(axis=0)
        spread = centered.std(axis=0)
        # A column of equal numbers has a spread of rounding at most.
        constant = spread <= 1e-12 * np.abs(X).max(axis=0)
        return np.where(constant, 0.0, centered / np.where(constant, 1.0, spread))
    by, _, _ = as_floats(scale, "scale")
    if by.shape != (X.shape[1],):
        raise ShapeError(
            f"scale must be one number for each of {X.shape[1]} features; got shape {by.shape}"
        )
    if not (np.isfinite(by) & (by > 0)).all():
        raise InvalidValueError("scale must be finite and above 0 for every feature")
    return X / by
