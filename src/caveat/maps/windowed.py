"""Images larger than memory: measured window by window."""

import os
from collections.abc import Iterator
from threading import Lock, local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._parallel import map_threads
from .._validation import check_integer
from ..exceptions import InvalidValueError, OptionError, ShapeError
from ..uncertainty import measure
from ..uncertainty.blockwise import Blockwise, Workspace

WINDOW = 1 << 18
"""Pixels of one window."""


def check_memory(size: int) -> None:
    """Raise if an array of so many bytes does not fit into memory together with its copy."""
    if 2 * size > available():
        raise OptionError(
            f"the array has {size / 2**30:.1f} GiB, more than fits into memory with the work on "
            "it; use caveat.maps.measure_windows, which reads it window by window"
        )


def available() -> int:
    """Return the bytes of memory of this computer."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # pragma: no cover
        return 2**62  # not known on this system


def windows(height: int, width: int, pixels: int = WINDOW) -> Iterator[tuple[slice, slice]]:
    """Yield slices of lines that cover an image, some pixels at a time.

    Parameters
    ----------
    height, width : int
    pixels : int, default=262144

    Examples
    --------
    >>> [(rows.start, rows.stop) for rows, _ in windows(10, 100, 400)]
    [(0, 4), (4, 8), (8, 10)]
    """
    height, width = check_integer(height, "height"), check_integer(width, "width")
    step = max(1, check_integer(pixels, "pixels") // width)
    for start in range(0, height, step):
        yield slice(start, min(start + step, height)), slice(0, width)


def measure_windows(
    source: Any,
    name: str,
    *,
    out: Any = None,
    axes: str = "class y x",
    pixels: int = WINDOW,
    logits: bool = False,
    **options: Any,
) -> Any:
    """Return a measure of uncertainty of an image that need not fit into memory.

    Windows are worked on by threads, one for each core (fewer by ``OMP_NUM_THREADS``), while the
    next is read; reading and writing is done by one thread at a time.

    Where neither ``source`` nor ``out`` is more precise than single precision, measures of up to
    100 classes are computed in it. They then differ by less than 1e-5 from double precision; that
    is how far rows in single precision may be from a sum of 1. Pass an ``out`` of float64 for
    double precision.

    Parameters
    ----------
    source : array-like of three axes
        Probabilities: a ``numpy.memmap``, an array of zarr or h5py, a lazy DataArray, or anything
        with ``shape`` whose slices become arrays of numpy.
    name : str
        The measure; see `caveat.measure`.
    out : array of shape (height, width), optional
        Where to write, a ``numpy.memmap`` opened for writing for instance; by default a new array
        in single precision.
    axes : {"class y x", "y x class"}, default="class y x"
    pixels : int, default=262144
        Pixels of one window.
    logits : bool, default=False
        Whether the numbers are logits.
    **options
        Options of the measure.

    Returns
    -------
    array of shape (height, width)
        ``out`` if it was given.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.moveaxis(np.random.default_rng(0).dirichlet(np.ones(3), (50, 40)), -1, 0)
    >>> measure_windows(p, "gini", pixels=400).shape
    (50, 40)
    """
    if axes not in ("class y x", "y x class"):
        raise OptionError(f"axes must be 'class y x' or 'y x class'; got {axes!r}")
    shape = tuple(getattr(source, "shape", ()))
    if len(shape) != 3:
        raise ShapeError(f"source must have three axes, {axes}; got shape {shape}")
    first = axes == "class y x"
    height, width = shape[1:] if first else shape[:2]
    if out is None:
        out = np.empty((height, width), dtype=np.float32)
    else:
        _check_out(out, (height, width))
    if name in ("homophily", "hu", "homophily_uncertainty") and "maximum" not in options:
        from ..uncertainty import homophily_maximum

        options = {**options, "maximum": homophily_maximum(options.get("H"))}
    single = getattr(out, "dtype", None) == np.float32
    files = Lock()  # readers of files need not be safe to call from two threads
    own = _Own()

    def one(window: tuple[slice, slice]) -> None:
        rows, columns = window
        with files:
            part = source[:, rows, columns] if first else source[rows, columns, :]
            part = _read(part, own.workspace)
        flat = part.reshape(part.shape[0], -1).T if first else part.reshape(-1, part.shape[2])
        try:
            given = Blockwise.of(flat, logits=logits, single=single, workspace=own.workspace)
            values = measure(given, name, **options)
        except InvalidValueError as error:
            where = f"lines {rows.start} to {rows.stop - 1}, each of {width} samples"
            raise InvalidValueError(f"{where}: {error}") from error
        with files:
            out[rows, columns] = values.reshape(rows.stop - rows.start, -1)

    map_threads(one, windows(height, width, pixels))
    return out


def _check_out(out: Any, shape: tuple[int, int]) -> None:
    kind = getattr(out, "dtype", None)
    if not isinstance(kind, np.dtype) or kind.kind != "f":
        raise OptionError(
            "out must be an array of floating point numbers, of numpy, zarr or h5py; got "
            f"{type(out).__name__ if kind is None else kind}"
        )
    if tuple(out.shape) != shape:
        raise ShapeError(f"out must have the size of the image, {shape}; got {out.shape}")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise OptionError("out is read-only; pass an array that can be written to")


class _Own(local):
    """What each thread has for itself."""

    def __init__(self) -> None:
        self.workspace = Workspace()


def _read(part: Any, workspace: Workspace) -> NDArray[Any]:
    """Return a window as an array in memory."""
    if not isinstance(part, np.memmap):
        return to_numpy(part, "source").array
    # A mapped file is read now and line after line: what is read as it is used, a little of each
    # class at a time, comes from the disk in small pieces.
    window = workspace.array("window", part.shape, part.dtype)
    np.copyto(window, part)
    return window
