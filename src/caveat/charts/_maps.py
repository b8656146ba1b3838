"""Maps: the most probable classes, measures of uncertainty, the truth, and false colors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._validation import FloatArray, as_floats
from ..confusion import Confusion
from ..confusion.measures import CONFUSED
from ..exceptions import OptionError, ShapeError
from ..maps import PredictionMap
from ..maps.layers import HOMOPHILY, MEASURED, checked_image, map_layers, true_codes
from ..uncertainty import MEASURES
from .chart import Chart
from .entry import Entry, expect
from .marks import Axis, Image, Mark, Text
from .palettes import KINDS, ends_of_channels, ends_of_layer, label_colors, shaded, stretched

MOST_PIXELS = 400
"""Along one axis of a drawing; larger images are averaged, or thinned out, to that."""
_LINE, _LETTER = 0.12, 0.04
"""About the height of a name and the width of a letter in a small map, as shares of it: names must
not overlap, also where those near an end of the map are moved inside."""
_LONGEST = 16
"""Letters of a name; longer ones lose their middle, as their ends often differ."""


def class_map(pixels: PredictionMap, truth: Any = None, missing: Any = None) -> Chart:
    """Return the most probable class of each pixel, or the true one, as a map.

    Parameters
    ----------
    truth : array of labels of the shape of the image, optional
        True classes to show in place of the predicted ones.
    missing : label, optional
        What ``truth`` is where a pixel has no label; NaN and None always are.

    Returns
    -------
    Names stand in the map, so that it can be read without colors. Its numbers are how many pixels
    each class has.
    """
    _check(pixels)
    codes = pixels.classes() if truth is None else true_codes(pixels, truth, missing)
    what = "Most probable classes" if truth is None else "True classes"
    return label_map(codes, pixels.prediction.classes, what)


def kind_map(pixels: PredictionMap, distances: Any = None) -> Chart:
    """Return the kind of uncertainty of each pixel as a map.

    Parameters
    ----------
    distances : array of shape (classes, classes), optional
        Distances between the classes, which it needs; see `caveat.explain_uncertainty`.

    Returns
    -------
    Chart
        Its numbers are how many pixels are of each kind.
    """
    _check(pixels)
    if distances is None:
        raise OptionError(
            "kinds of uncertainty need distances between the classes; pass distances="
        )
    codes = map_layers(pixels, measures=[], distances=distances).kinds()
    return label_map(codes, [str(kind.value) for kind in Confusion], "Kinds of uncertainty", KINDS)


def label_map(
    codes: Any, names: Any, title: str = "Classes", colors: Sequence[str] | None = None
) -> Chart:
    """Return the class of each pixel as a map.

    Parameters
    ----------
    codes : array of int of shape (height, width)
        Positions in ``names``; -1 is no class.
    names : sequence
        The names of the classes.
    title : str, default="Classes"
    colors : sequence of str, optional
        A code such as ``"#d55e00"`` for each class; by default colors that differ.

    Returns
    -------
    Chart
        Names stand in the map, the largest classes first and as many as do not overlap, so that it
        can be read without colors. Its numbers are how many pixels each class has.

    Examples
    --------
    >>> from caveat.charts import label_map
    >>> label_map([[0, 0, 1], [0, 1, -1]], ["oak", "road"]).numbers["pixels"].tolist()
    [3, 2]
    """
    _check_title(title)
    array = to_numpy(codes, "codes").array
    texts = [str(name) for name in to_numpy(names, "names").array.ravel().tolist()]
    if array.ndim != 2 or array.dtype.kind not in "iu" or array.size == 0:
        raise ShapeError(
            f"codes must be whole numbers of shape (height, width); got {array.dtype} of shape "
            f"{array.shape}"
        )
    if int(array.max()) >= len(texts) or int(array.min()) < -1:
        raise OptionError(
            f"codes must be positions of the {len(texts)} classes, or -1 for none; got "
            f"{int(array.min())} to {int(array.max())}"
        )
    palette = np.vstack([label_colors(len(texts), colors), np.ones((1, 3))])
    counts = np.bincount(array[array >= 0], minlength=len(texts))
    step = -(-max(array.shape) // MOST_PIXELS)
    shown = array[::step, ::step]
    marks: list[Mark] = [_image(palette[shown], array.shape)]
    places: list[tuple[float, float, int]] = []
    for code in np.argsort(-counts, kind="stable"):
        if not (shown == code).any():
            continue
        y, x = _inside(shown == code)
        text = _shortened(texts[code])
        apart = [
            abs(y - v) > _LINE * shown.shape[0]
            or abs(x - u) > _LETTER * (len(text) + letters) * shown.shape[1]
            for v, u, letters in places
        ]
        if all(apart):
            places.append((y, x, len(text)))
            marks.append(Text(x=step * x, y=step * y, text=text, color="ink"))
    return _chart(
        array.shape, title, "Names stand in the middle of the widest part of each class.", marks,
        {"class": texts, "pixels": counts, "share": counts / max(1, counts.sum())},
    )  # fmt: skip


def layer_map(
    pixels: PredictionMap, measure: str = "gini_impurity", distances: Any = None
) -> Chart:
    """Return a measure of uncertainty of each pixel as a map.

    Parameters
    ----------
    measure : str, default="gini_impurity"
        A name in ``caveat.uncertainty.MEASURES``.
    distances : array of shape (classes, classes), optional
        Distances between the classes, for the homophily-based uncertainty.

    Returns
    -------
    Colors go from 0 to 1 for all measures, so that maps can be compared. Its numbers are quantiles
    of the measure.
    """
    _check(pixels)
    name = MEASURES[measure].name
    if name == HOMOPHILY:
        layer = map_layers(pixels, measures=[name], distances=distances).numbers[name]
    else:
        layer = pixels.measure(name)
    zero = "" if name == CONFUSED else " (certain)"  # no confused class is a random guess
    return _shades(layer, name.replace("_", " ").capitalize(), None, zero)


def number_map(values: Any, title: str = "Layer", ends: tuple[float, float] | None = None) -> Chart:
    """Return one number for each pixel as a map.

    Parameters
    ----------
    values : array of shape (height, width)
        NaN where there is none.
    title : str, default="Layer"
    ends : pair of float, optional
        Where colors begin and end; by default 0 and 1 if all numbers are between, or else the least
        and the largest number.

    Returns
    -------
    Chart
        Its numbers are quantiles of the values.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.charts import number_map
    >>> number_map(np.arange(12.0).reshape(3, 4), "Height in meters")
    <Chart: Height in meters, 5 rows>
    """
    _check_title(title)
    return _shades(values, title, ends, "")


def _shades(values: Any, title: str, ends: tuple[float, float] | None, zero: str) -> Chart:
    """Return numbers as a map; ``zero`` says what 0 means where colors go from 0 to 1."""
    layer, _, _ = as_floats(values, "values")
    known = layer[np.isfinite(layer)]
    if layer.ndim != 2 or not known.size:
        raise ShapeError(
            f"values must be numbers of shape (height, width), one of them finite at least; got "
            f"shape {layer.shape}"
        )
    low, high = ends_of_layer(layer) if ends is None else _checked_ends(ends)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    quantiles = np.quantile(known, levels)
    shares = (_averaged(layer) - low) / ((high - low) or 1.0)
    marks: list[Mark] = [_image(shaded(shares), layer.shape)]
    said = zero if (low, high) == (0, 1) else ""
    return _chart(
        layer.shape, title, f"Dark blue is {low:.3g}{said}, yellow {high:.3g}; white has no "
        f"prediction. At least half of the pixels have {quantiles[2]:.2g} or more.", marks,
        {"share of pixels": levels, "at most": quantiles},
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
    values, chosen = checked_image(image, channels)
    colors = stretched(values[..., list(chosen)])
    low, high = ends_of_channels(values[..., list(chosen)])
    shape = (values.shape[0], values.shape[1])
    return _chart(
        shape, "False colors", f"Red, green and blue are the channels {list(chosen)}.",
        [_image(_averaged(colors), shape)], {"channel": list(chosen), "low": low, "high": high},
    )  # fmt: skip


def _shortened(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 7].rstrip()}…{name[-6:].lstrip()}"


def _averaged(layer: FloatArray) -> FloatArray:
    """Return means over squares of pixels, so that no axis has more than can be drawn."""
    step = -(-max(layer.shape[:2]) // MOST_PIXELS)
    if step == 1:
        return layer
    known = np.isfinite(layer)
    total, count = np.where(known, layer, 0.0), known.astype(np.float64)
    for axis, length in enumerate(layer.shape[:2]):
        squares = -(-length // step)
        starts = np.arange(squares) * length // squares
        total, count = (np.add.reduceat(part, starts, axis=axis) for part in (total, count))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


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


def _check_title(title: Any) -> None:
    if not isinstance(title, str):
        raise OptionError(f"title must be text; got {title!r}")


def _checked_ends(ends: Any) -> tuple[float, float]:
    """Return where colors begin and end: two finite numbers, the first below the second."""
    pair = np.asarray(ends if isinstance(ends, tuple | list) else [], dtype=object)
    numbers = [one for one in pair if isinstance(one, int | float | np.number)]
    if pair.shape != (2,) or len(numbers) != 2 or not -np.inf < numbers[0] < numbers[1] < np.inf:
        raise OptionError(f"ends must be two numbers, the first below the second; got {ends!r}")
    return float(numbers[0]), float(numbers[1])


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
    views=lambda _: [{"measure": name} for name in MEASURED],
)  # fmt: skip
KINDS_MAP = Entry(
    "kind_map", kind_map, of=PredictionMap, overlays=False, applies=CLASSES.applies,
    views=lambda _: [],
)  # fmt: skip
