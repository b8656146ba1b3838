"""The nearest training samples of each sample, and how unusual their distance is."""

from typing import Any

import numpy as np

from .._validation import FloatArray, as_floats, check_size
from ..exceptions import OptionError, ShapeError


def nearest_samples(X: Any, X_train: Any, y_train: Any, samples: int, count: int) -> dict[str, Any]:
    """Return the nearest training samples, their labels, and how unusual their distance is."""
    from scipy.spatial import KDTree

    own = features_of(X, "X")
    if len(own) != samples:
        raise ShapeError(f"X has {len(own)} samples, the prediction has {samples}")
    others = own if X_train is None else features_of(X_train, "X_train")
    if others.shape[1] != own.shape[1]:
        raise ShapeError(
            f"X has {own.shape[1]} features, X_train has {others.shape[1]}; pass the same ones"
        )
    least = count + 1
    if len(others) < least:
        raise ShapeError(f"{count} neighbors need {least} samples at least; got {len(others)}")
    if y_train is not None and X_train is None:
        raise OptionError("y_train labels the samples of X_train; pass X_train= too")
    tree = KDTree(others)
    inner = tree.query(others, k=least)
    if X_train is None:
        # The nearest one is the sample itself, or one at the same place.
        away, nearest = inner[0][:, 1:], inner[1][:, 1:]
    else:
        away, nearest = (part.reshape(len(own), count) for part in tree.query(own, k=count))
    usual = np.sort(inner[0][:, 1:].mean(axis=1))
    result = {
        "neighbors": nearest,
        "unlike": np.searchsorted(usual, away.mean(axis=1)) / len(usual),
    }
    if y_train is not None:
        labels = np.asarray(y_train)
        if labels.shape != (len(others),):
            raise ShapeError(
                f"y_train must be one label for each of the {len(others)} samples of X_train; got "
                f"shape {labels.shape}"
            )
        result["neighbor_labels"] = labels[nearest]
    return result


def features_of(X: Any, name: str) -> FloatArray:
    """Return features of shape (samples, features): all axes but the first are one."""
    array, _, _ = as_floats(X, name)
    if array.ndim == 0:
        raise ShapeError(f"{name} must have shape (samples, features); got {array.shape}")
    array = array.reshape(len(array), -1)
    check_size(array, name, ("sample", "feature"))
    return array
