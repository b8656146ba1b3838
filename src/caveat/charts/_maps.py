"""Maps: the most probable classes, measures of uncertainty, the truth, and false colors."""

from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._validation import FloatArray, as_floats, check_integer
from ..exceptions import OptionError, ShapeError
from ..maps import PredictionMap
from .chart import Chart
from .entry import Entry, expect
from .marks import COLORS, Axis, Image, Mark, Text

MOST_PIXELS = 400
"""Along one axis of a drawing; larger images are averaged, or thinned out, to that."""
_LAYERS = ("gini_impurity", "shannon_entropy", "margin")
_SHADES = (0.45, 0.75, 0.15)
"""How much of the color of a class is left beside white, once all colors are taken."""


def class_map(pixels: PredictionMap, truth: Any = None) -> Chart:
    """Return the most probable class of each pixel, or the true one, as a map.

    Parameters
    ----------
    pixels : PredictionMap
        The prediction, of two axes.
    truth : array of int of the shape of the image, optional
        Positions of classes to show in place of the predicted ones; -1 is no class.

    Returns
    -------
    Names stand in the map, so that it can be read without colors. Its numbers are how many pixels
    each class has.
    """
    _check(pixels)
    codes = pixels.classes()
    if truth is not None:
        codes = to_numpy(truth, "truth").array
        if codes.shape != pixels.shape or codes.dtype.kind not in "iu":
            raise ShapeError(f"truth must be whole numbers of the shape {pixels.shape}")
    names = [str(label) for label in pixels.prediction.classes.tolist()]
    if int(codes.max()) >= len(names) or int(codes.min()) < -1:
        raise OptionError(f"truth must be positions of the {len(names)} classes, or -1 for none")
    palette = np.vstack([class_colors(len(names)), np.ones((1, 3))])
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    step = -(-max(codes.shape) // MOST_PIXELS)
    shown = codes[::step, ::step]
    marks: list[Mark] = [_image(palette[shown], pixels.shape)]
    for code in np.unique(shown[shown >= 0]):
        y, x = _inside(shown == code)
        marks.append(Text(x=step * x, y=step * y, text=names[code][:16], color="ink"))
    what = "Most probable classes" if truth is None else "True classes"
    return _chart(
        pixels.shape, what, "Names stand in the middle of the widest part of each class.", marks,
        {"class": names, "pixels": counts, "share": counts / max(1, counts.sum())},
    )  # fmt: skip


def layer_map(pixels: PredictionMap, measure: str = "gini_impurity", H: Any = None) -> Chart:
    """Return a measure of uncertainty of each pixel as a map.

    Parameters
    ----------
    pixels : PredictionMap
        The prediction, of two axes.
    measure : str, default="gini_impurity"
        A name in ``caveat.uncertainty.MEASURES``.
    H : array of shape (classes, classes), optional
        Distances between the classes, for the homophily-based uncertainty.

    Returns
    -------
    Colors go from 0 to 1 for all measures, so that maps can be compared. Its numbers are quantiles
    of the measure.
    """
    _check(pixels)
    layer = pixels.measure(measure, **({} if H is None else {"H": H}))
    name = measure.replace("_", " ").capitalize()
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    values = np.quantile(layer[np.isfinite(layer)], levels)
    marks: list[Mark] = [_image(shaded(_averaged(layer)), pixels.shape)]
    return _chart(
        pixels.shape, name, "Dark blue is 0 (certain), gray one half, yellow 1; white has no "
        f"prediction. Half of the pixels are above {values[2]:.2g}.", marks,
        {"share of pixels": levels, "at most": values},
    )  # fmt: skip


def false_color(image: Any, channels: tuple[int, int, int] = (0, 1, 2)) -> Chart:
    """Return three channels of an image as red, green and blue.

    Parameters
    ----------
    image : array of shape (height, width, channels)
    channels : three int, default=(0, 1, 2)
        Each is stretched from its 2nd to its 98th percentile.

    Examples
    --------
    >>> import numpy as np
    >>> false_color(np.random.default_rng(0).normal(size=(20, 30, 5)), (4, 2, 0))
    <Chart: False colors, 3 rows>
    """
    values, _, _ = as_floats(image, "image")
    if values.ndim != 3 or len(channels) != 3:
        raise ShapeError(
            f"image must have shape (height, width, channels) with three channels to show; got "
            f"{values.shape}"
        )
    chosen = [check_integer(k, "channels", 0, values.shape[2] - 1) for k in channels]
    part = values[..., chosen]
    low, high = np.percentile(part, [2, 98], axis=(0, 1))
    colors = np.clip((part - low) / np.where(high > low, high - low, 1.0), 0, 1)
    shape = (values.shape[0], values.shape[1])
    return _chart(
        shape, "False colors", f"Red, green and blue are the channels {chosen}.",
        [_image(_averaged(colors), shape)], {"channel": chosen, "low": low, "high": high},
    )  # fmt: skip


def class_colors(count: int) -> FloatArray:
    """Return pale colors by Okabe and Ito, in three shades, on which black text can be read."""
    names = [name for name in COLORS if name != "ink"]
    base = np.array([[int(COLORS[n][k : k + 2], 16) / 255 for k in (1, 3, 5)] for n in names])
    shades = [1 - share * (1 - base) for share in _SHADES]
    return np.resize(np.vstack(shades), (count, 3))


def shaded(values: FloatArray) -> FloatArray:
    """Return the colors of numbers from 0 to 1, from blue to yellow; NaN is white."""
    from matplotlib import colormaps

    colors = colormaps["cividis"](np.nan_to_num(np.clip(values, 0, 1)))[..., :3]
    return np.where(np.isnan(values)[..., None], 1.0, colors)


def _averaged(layer: FloatArray) -> FloatArray:
    """Return means over squares of pixels, so that no axis has more than can be drawn."""
    step = -(-max(layer.shape[:2]) // MOST_PIXELS)
    if step == 1:
        return layer
    height, width = (length // step for length in layer.shape[:2])
    cut = layer[: height * step, : width * step]
    squares = cut.reshape(height, step, width, step, -1)
    known = np.isfinite(squares)
    total, count = np.where(known, squares, 0.0).sum(axis=(1, 3)), known.sum(axis=(1, 3))
    means = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means.reshape(height, width, *layer.shape[2:])


def _inside(mask: Any) -> tuple[float, float]:
    """Return the place that is farthest from the border of its class, for the name."""
    from scipy.ndimage import distance_transform_edt

    depth = distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1]
    y, x = np.unravel_index(int(depth.argmax()), mask.shape)
    return float(y) + 0.5, float(x) + 0.5


def _image(colors: FloatArray, shape: tuple[int, ...]) -> Image:
    values = np.round(colors * 255).astype(np.uint8)
    # The first line is at the top.
    return Image(values=values, x=(0.0, float(shape[1])), y=(float(shape[0]), 0.0))


def _chart(
    shape: tuple[int, ...], title: str, read: str, marks: list[Mark], numbers: dict[str, Any]
) -> Chart:
    return Chart(
        title=title, read=read, x=Axis(label="column", ends=(0.0, float(shape[1]))),
        y=Axis(label="line", ends=(float(shape[0]), 0.0)), marks=tuple(marks), numbers=numbers,
        square=True, legend=False,
    )  # fmt: skip


def _check(pixels: Any) -> None:
    expect(pixels, PredictionMap, "pixels")
    if len(pixels.shape) != 2:
        raise ShapeError("a map has two axes; take one slice of a volume, and make a map of it")


CLASSES = Entry(
    "class_map", class_map, of=PredictionMap, overlays=False,
    applies=lambda pixels: hasattr(pixels.prediction, "classes") and len(pixels.shape) == 2,
)  # fmt: skip
LAYER = Entry(
    "layer_map", layer_map, of=PredictionMap, overlays=False, applies=CLASSES.applies,
    views=lambda _: [{"measure": name} for name in _LAYERS],
)  # fmt: skip
