"""Grids: their lengths, the names of their axes, coordinates, and regions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._validation import check_integer
from ..exceptions import OptionError, ShapeError

NAMES = {"class": "class", "classes": "class", "band": "class", "member": "member"}
"""Names of the axes that are no axes of the image, and what they mean."""


@dataclass(frozen=True)
class Grid:
    """The lengths of a grid with the names of its axes and what is known of its place."""

    lengths: tuple[int, ...]
    axes: tuple[str, ...] = ()
    coordinates: Mapping[str, NDArray[Any]] | None = None
    reference: Any = None


def is_labeled(array: Any) -> bool:
    """Whether something has named dimensions and coordinates, as objects of xarray do."""
    return hasattr(array, "dims") and hasattr(array, "coords") and hasattr(array, "sizes")


def grid_of(given: Any) -> Grid:
    """Return a grid from lengths, or from the dimensions of an object of xarray."""
    if not is_labeled(given):
        lengths = tuple(check_integer(length, "grid") for length in np.atleast_1d(given))
        return Grid(lengths)
    spatial = [name for name in given.sizes if str(name) not in NAMES]
    return Grid(
        tuple(int(given.sizes[name]) for name in spatial),
        tuple(map(str, spatial)),
        coordinates_of(given, spatial),
        reference_of(given),
    )


def coordinates_of(labeled: Any, names: Any) -> dict[str, NDArray[Any]]:
    """Return the coordinates along some dimensions, where there are any."""
    return {
        str(name): np.asarray(labeled.coords[name].values)
        for name in names
        if name in labeled.coords
    }


def on_grid(given: Any, name: str, axes: Sequence[str], coordinates: Mapping[str, Any]) -> Any:
    """Return values as an array whose axes are in the order of the map's, if they have names."""
    if not is_labeled(given) or sorted(map(str, given.dims)) != sorted(axes):
        return to_numpy(given, name).array
    order = {str(dim): dim for dim in given.dims}
    given = given.transpose(*(order[axis] for axis in axes))
    for axis, own in coordinates_of(given, given.dims).items():
        there = np.asarray(coordinates.get(axis, own))
        if not np.array_equal(own, there) and np.array_equal(own[::-1], there):
            raise ShapeError(
                f"{name} runs along {axis!r} from {own[0]} to {own[-1]}, the map from {there[0]} "
                f"to {there[-1]}; turn it over with sortby({axis!r}, ascending=...)"
            )
    return to_numpy(given, name).array


def reference_of(labeled: Any) -> Any:
    """Return the coordinate reference system that rioxarray knows of; None without any."""
    return getattr(getattr(labeled, "rio", None), "crs", None)


def axis_names(axes: Any) -> list[str]:
    """Return the names of the axes of an array, "class y x" by default."""
    if axes is None:
        return ["class", "y", "x"]
    return axes.split() if isinstance(axes, str) else [str(name) for name in axes]


def region_of(region: Any, shape: tuple[int, ...]) -> tuple[slice | int, ...]:
    """Return one slice, or one position, for each axis; two axes at least stay."""
    parts = region if isinstance(region, tuple) else (region,)
    parts = (*parts, *[slice(None)] * (len(shape) - len(parts)))
    known = all(isinstance(one, slice | int | np.integer) for one in parts)
    if len(parts) > len(shape) or not known or sum(isinstance(one, slice) for one in parts) < 2:
        raise OptionError(
            f"a region is one slice for each of {len(shape)} axes, as in pixels[100:200, :50], or "
            "one position of a volume, as in volume[3]"
        )
    for one, length in zip(parts, shape, strict=True):
        if not isinstance(one, slice) and not -length <= one < length:
            raise ShapeError(f"the region is at position {one} of an axis of {length} pixels")
    return parts


def slice_between(values: NDArray[Any], ends: Any, axis: str) -> slice:
    """Return the slice of an axis whose coordinates lie between two ends, both included."""
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise OptionError(
            f"{axis} must be a pair, the least and the largest coordinate; got {ends!r}"
        )
    low, high = ends
    inside = np.flatnonzero((values >= low) & (values <= high))
    if not len(inside):
        raise ShapeError(f"no pixel has {axis} from {low} to {high}; the map has {values.min()} to "
                         f"{values.max()}")  # fmt: skip
    return slice(int(inside[0]), int(inside[-1]) + 1)
