"""The pixels of a map for the script of a page: bytes in planes, compressed.

A plane has one byte for each pixel. Probabilities and layers are whole numbers of steps: hundredths
where the page stays small, otherwise fiftieths or twentieths. If that does not do either, the image
is thinned out: every second line and column, every third, ... What is shown is then still what the
model says of single pixels.
"""

import base64
import zlib
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..charts.palettes import ends_of_layer, stretched
from ..maps.layers import MapLayers
from ..uncertainty import confused_classes

MOST_CHARACTERS = 2_700_000
"""In the pictures and planes of one page."""
MOST_CELLS = 1_500_000
"""Larger images are thinned out before anything is tried."""
PLACES = 6
"""How many classes of a pixel are kept, the most probable ones."""
NONE = 255
LEVELS = (100, 50, 20)
"""Into how many steps probabilities and layers are divided, finest first."""

Plane = NDArray[np.uint8]


def packed(layers: MapLayers, most: int = MOST_CHARACTERS) -> tuple[dict[str, Any], str]:
    """Return what the script must know of the planes, and the planes as text."""
    height, width = layers.pixels.shape
    step, finest = max(1, ceil(sqrt(height * width / MOST_CELLS))), 0
    while True:
        levels = LEVELS[finest]
        planes, facts = _planes(layers, step, levels)
        data = zlib.compress(b"".join(plane.tobytes() for plane in planes.values()), 6)
        text = base64.b64encode(data).decode()
        excess = len(text) / most
        if excess <= 1 or step >= max(height, width):
            break
        # Twenty steps take about two fifths of the room of a hundred.
        if finest + 1 < len(LEVELS) and excess <= 2.5:
            finest += 1
        else:
            step, finest = max(step + 1, int(0.8 * step * sqrt(excess))), 0
    shape = next(iter(planes.values())).shape
    facts |= {
        "height": shape[0], "width": shape[1], "step": step, "levels": levels,
        "planes": list(planes),
    }  # fmt: skip
    return facts, text


def _planes(layers: MapLayers, step: int, levels: int) -> tuple[dict[str, Plane], dict[str, Any]]:
    pixels = layers.pixels
    planes: dict[str, Plane] = {}
    facts: dict[str, Any] = {"places": 0, "layers": []}
    if hasattr(pixels.prediction, "classes"):
        samples = pixels.layer(np.arange(len(pixels.prediction)), -1)[::step, ::step]
        known = samples >= 0  # nowhere, if few pixels of a large image are predicted
        own = _probabilities(pixels.prediction.mean, samples[known], levels)
        facts["places"] = (len(own) - 1) // 3
        for name, values in own.items():
            planes[name] = np.full(samples.shape, NONE, dtype=np.uint8)
            planes[name][known] = values
    for number, (name, layer) in enumerate(layers.numbers.items()):
        low, high = ends_of_layer(layer)
        planes[f"layer{number}"] = _levels(layer[::step, ::step], low, high, levels)
        facts["layers"].append({"name": name.replace("_", " "), "low": low, "high": high})
    if layers.truth is not None:
        planes |= _wide("truth", layers.truth[::step, ::step] + 1)
    kinds = layers.kinds()
    if kinds is not None:
        planes["kind"] = np.where(kinds < 0, NONE, kinds)[::step, ::step].astype(np.uint8)
    if layers.image is not None:
        colors = stretched(layers.image[..., list(layers.channels)])[::step, ::step]
        for channel, name in enumerate(("red", "green", "blue")):
            planes[name] = np.round(255 * colors[..., channel]).astype(np.uint8)
    facts["coordinates"] = [
        [name, _texts(pixels.coordinates[name][::step])] if name in pixels.coordinates else None
        for name in pixels.axes
    ]
    return planes, facts


def _probabilities(mean: Any, rows: Any, levels: int) -> dict[str, Plane]:
    """Return the most probable classes of some samples, and how many are above a random guess."""
    p = mean[rows]
    places = min(p.shape[1], PLACES)
    if p.shape[1] > 4 * places:
        some = np.sort(np.argpartition(-p, places, axis=1)[:, :places], axis=1)
    else:
        some = np.broadcast_to(np.arange(p.shape[1]), p.shape)
    chosen = np.take_along_axis(p, some, axis=1)
    order = np.argsort(-chosen, axis=1, kind="stable")[:, :places]
    codes = np.take_along_axis(some, order, axis=1)
    shares = np.rint(levels * np.take_along_axis(chosen, order, axis=1)).astype(np.uint8)
    codes = np.where(shares > 0, codes, codes[:, :1])  # what is not shown need not take room
    planes: dict[str, Plane] = {}
    for place in range(places):
        planes |= _wide(f"code{place}", codes[:, place])
        planes[f"share{place}"] = shares[:, place]
    planes["confused"] = np.minimum(confused_classes(mean)[rows], NONE).astype(np.uint8)
    return planes


def _wide(name: str, numbers: Any) -> dict[str, Plane]:
    """Return whole numbers as two planes; the second is empty with fewer than 256 classes."""
    return {
        f"{name}low": (numbers & 255).astype(np.uint8),
        f"{name}high": (numbers >> 8).astype(np.uint8),
    }


def _levels(layer: Any, low: float, high: float, levels: int) -> Plane:
    shares = np.clip((layer - low) / ((high - low) or 1.0), 0, 1)
    return np.where(np.isfinite(layer), np.rint(levels * np.nan_to_num(shares)), NONE).astype(
        np.uint8
    )


def _texts(values: Any) -> list[str]:
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return [f"{value:.7g}" for value in array.tolist()]
    return [str(value) for value in array]
