"""Pixels with their labels and blocks, and the evaluation of a map."""

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import missing_among
from ..evaluation import Evaluation, Verdict
from ..exceptions import LabelError, ShapeError, UnsupportedPredictionError
from ..predictions import Categorical, Gaussian
from ..results.words import counted
from ._grid import on_grid
from .blocks import BlockSize, block_codes, choose_block

if TYPE_CHECKING:
    from .prediction_map import PredictionMap


@dataclass(frozen=True, eq=False)
class LabeledPixels:
    """The pixels of a map that have a label.

    Attributes
    ----------
    prediction : Categorical, Gaussian or another prediction
        One sample for each of them.
    y : ndarray of shape (samples,)
        Their labels.
    cluster : ndarray of int of shape (samples,)
        The block of each.
    positions : ndarray of int of shape (samples,)
        Their places among all pixels of the grid, line by line.
    block : BlockSize
    unlabeled : int
        Pixels without a label, which were left out.
    """

    prediction: Any
    y: NDArray[Any]
    cluster: NDArray[np.intp]
    positions: NDArray[np.intp]
    block: BlockSize
    unlabeled: int


def labeled_pixels(pixels: "PredictionMap", y: Any, block: Any, missing: Any) -> LabeledPixels:
    """Return the pixels that have a label, with blocks of neighbors as clusters."""
    positions, kept, flat, unlabeled = with_label(pixels, y, missing)
    prediction = pixels.prediction.take(kept)
    if block is None:
        size = _chosen(pixels.shape, prediction, flat, positions)
    else:
        codes = block_codes(pixels.shape, block)[positions]
        sides = [block] * len(pixels.shape) if np.ndim(block) == 0 else block
        size = BlockSize(tuple(map(int, sides)), len(np.unique(codes)))
    cluster = block_codes(pixels.shape, size.side)[positions]
    return LabeledPixels(prediction, flat, cluster, positions, size, unlabeled)


def with_label(
    pixels: "PredictionMap", y: Any, missing: Any, name: str = "y"
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any], int]:
    """Return which pixels have a label: places in the grid, samples, labels, how many have none."""
    truth = on_grid(y, name, pixels.axes, pixels.coordinates)
    if truth.shape != pixels.shape:
        raise ShapeError(
            f"{name} must have the size of the image, {pixels.shape}; got {truth.shape}"
        )
    flat = truth.ravel() if pixels.valid is None else truth.ravel()[pixels.valid]
    empty = missing_among(flat)
    if missing is not None:
        empty = empty | (flat == missing)
    if empty.all():
        raise LabelError("no pixel has a label")
    kept = np.flatnonzero(~empty)
    flat = flat[kept]
    if flat.dtype.kind == "f" and isinstance(pixels.prediction, Categorical):
        whole = flat.astype(np.int64)  # labels beside NaN come as floats
        of_numbers = pixels.prediction.classes.dtype.kind in "iu"
        flat = whole if of_numbers and (whole == flat).all() else flat
    positions = np.flatnonzero(pixels.valid)[kept] if pixels.valid is not None else kept
    return positions, kept, flat, int(empty.sum())


def _chosen(shape: tuple[int, ...], prediction: Any, y: Any, positions: Any) -> BlockSize:
    """Choose blocks by how far the errors are correlated."""
    if isinstance(prediction, Categorical):
        errors = (prediction.mean.argmax(axis=1) != prediction.align(y)).astype(np.float64)
    elif isinstance(prediction, Gaussian):
        errors = np.asarray(y, dtype=np.float64) - prediction.moments()[0][:, 0]
    else:
        raise UnsupportedPredictionError(
            f"blocks cannot be chosen for a {type(prediction).__name__}; pass block="
        )
    grid, mask = np.zeros(prod(shape)), np.zeros(prod(shape), dtype=bool)
    grid[positions], mask[positions] = errors, True
    return choose_block(grid.reshape(shape), mask.reshape(shape))


@dataclass(frozen=True, repr=False, eq=False)
class MapEvaluation:
    """The evaluation of a map, with the blocks that its intervals rest on.

    Attributes
    ----------
    evaluation : Evaluation
    block : BlockSize
    unlabeled : int
        Pixels without a label, which were left out.
    """

    evaluation: Evaluation
    block: BlockSize
    unlabeled: int

    @property
    def remark(self) -> str:
        """What intervals rest on, in one line."""
        unlabeled = counted(self.unlabeled, "pixel")
        left = f"; {unlabeled} without label left out" if self.unlabeled else ""
        return f"Intervals from {self.block}{left}."

    def verdict(self) -> Verdict:
        """Return the verdict on the evaluation."""
        return self.evaluation.verdict()

    def report(self, path: Any, *, source: str = "", **options: Any) -> Any:
        """Write the page of the evaluation, with the size of the blocks below its title.

        Parameters
        ----------
        path : str or path
        source : str, default=""
            What stands below the title too: the file, the model, ...
        **options
            Those of `caveat.report.write_report`.
        """
        said = " · ".join(part for part in (source, self.remark.rstrip(".")) if part)
        return self.evaluation.report(path, source=said, **options)

    def __repr__(self) -> str:
        return f"{self.evaluation!r}\n{self.remark}\n"
