"""Signatures of classes: the usual course of their channels, and a sample in question."""

from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._validation import (
    FloatArray,
    as_floats,
    as_labels,
    check_fraction,
    check_size,
    encode_labels,
)
from ..exceptions import OptionError, ShapeError
from .chart import Chart
from .layout import literal
from .marks import Axis, Band, Line, Mark, style_of

_NEIGHBORS = 5
_FAINTEST, _DENSEST = 0.03, 0.5
"""The opacity of the bands of classes whose probability is 0, and 1."""


def signatures(
    X: Any,
    y: Any,
    sample: Any = None,
    probabilities: Any = None,
    *,
    dense: float = 0.75,
    channels: Any = None,
) -> Chart:
    """Return the mean of each class over the channels, with its spread, and a sample beside it.

    Parameters
    ----------
    X : array of shape (samples, channels)
        Training samples.
    y : array of shape (samples,)
        Their classes.
    sample : array of shape (channels,), optional
        The sample in question.
    probabilities : array of shape (classes,), optional
        What a model says of that sample, for the classes in sorted order: the more probable a class
        is, the more opaque is its band, and the thicker its line.
    dense : float, default=0.75
        The share of each class that is used: the samples that are nearest to their five nearest
        neighbors of the class, so that outliers do not count.
    channels : array of shape (channels,), optional
        What is along the axis, such as wavelengths; by default the number of the channel.

    Returns
    -------
    Its numbers are the channels and the mean of each class.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["oak", "road"], 50)
    >>> X = rng.normal(size=(100, 8)) + np.where(y == "oak", 0.0, 3.0)[:, None]
    >>> signatures(X, y, X[0], [0.9, 0.1])
    <Chart: Signatures of the classes, 8 rows>
    """
    values, _, _ = as_floats(X, "X")
    if values.ndim != 2:
        raise ShapeError(f"X must have shape (samples, channels); got {values.shape}")
    check_size(values, "X", ("sample", "channel"))
    share = 1.0 if dense == 1 else check_fraction(dense, "dense")
    known = np.unique(to_numpy(y, "y").array)
    labels = as_labels(known, "labels of y", len(known), "class")
    codes = encode_labels(y, labels)
    if len(codes) != len(values):
        raise ShapeError(f"y has {len(codes)} labels, X has {len(values)} samples")
    place = (
        np.arange(values.shape[1]) if channels is None else _vector(channels, values, "channels")
    )
    weight = np.full(len(labels), 1.0)
    if probabilities is not None:
        given, _, _ = as_floats(probabilities, "probabilities")
        if given.shape != (len(labels),) or not (given.min() >= 0 and given.max() <= 1):
            raise OptionError(
                f"probabilities must be {len(labels)} numbers from 0 to 1, one for each class"
            )
        weight = given
    marks: list[Mark] = []
    numbers: dict[str, Any] = {"channel": place}
    for code, label in enumerate(labels.tolist()):
        own = _dense(values[codes == code], share)
        mean, spread = own.mean(axis=0), own.std(axis=0)
        style = style_of(code)
        numbers[str(label)] = mean
        opaque = (
            None if probabilities is None else _FAINTEST + (_DENSEST - _FAINTEST) * weight[code]
        )
        marks.append(
            Band(x=place, low=mean - spread, high=mean + spread, color=style.color, opacity=opaque)
        )
        said = "" if probabilities is None else f" ({weight[code]:.0%})"
        marks.append(
            Line(
                x=place, y=mean, label=f"{label}{said}", color=style.color, dash=style.dash,
                marker=None, main=True, width=0.8 + 2.4 * float(weight[code]),
                opacity=0.3 + 0.7 * float(weight[code]),
                says=literal(str(label)) + ": {y:.3g}",
            )
        )  # fmt: skip
    if sample is not None:
        one = _vector(sample, values, "sample")
        marks.append(
            Line(
                x=place, y=one, label="sample in question", color="ink", dash="dash", marker=None,
                width=2.0, says="sample: {y:.3g}",
            )
        )  # fmt: skip
    return Chart(
        title="Signatures of the classes",
        read="Lines are means, bands one standard deviation, of the samples in dense places of "
        "each class. A sample that leaves all bands may be an outlier, or of another class.",
        x=Axis(label="channel"),
        y=Axis(label="value"),
        marks=tuple(marks),
        numbers=numbers,
    )


def _vector(given: Any, values: FloatArray, name: str) -> FloatArray:
    vector, _, _ = as_floats(given, name)
    if vector.shape != (values.shape[1],):
        raise ShapeError(
            f"{name} must have one number for each of {values.shape[1]} channels; got "
            f"{vector.shape}"
        )
    check_size(vector, name, ("channel",))
    return vector


def _dense(samples: FloatArray, share: float) -> FloatArray:
    """Return the samples of a class that are nearest to their neighbors."""
    keep = max(1, int(np.ceil(share * len(samples))))
    if keep == len(samples):
        return samples
    from scipy.spatial import KDTree

    count = min(_NEIGHBORS + 1, len(samples))
    away = KDTree(samples).query(samples, k=count)[0].mean(axis=1)
    return samples[np.argsort(away, kind="stable")[:keep]]
