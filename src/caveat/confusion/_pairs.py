"""Kinds of uncertainty, and the pairs of classes that predictions hesitate between."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, LabelArray


class Confusion(StrEnum):
    """The kind of uncertainty of one prediction."""

    SURE = "sure"
    NEAR = "close classes"
    DISTANT = "distant classes"
    CANDIDATE = "candidate"


@dataclass(frozen=True)
class PairRow:
    """Predictions whose two most probable classes are these.

    Attributes
    ----------
    first, second : str
        The classes, the more probable first.
    distance : float
        Between the two, divided by the largest distance.
    samples : int
        How many predictions hesitate between them: those that are not sure.
    candidates : int
    geometric, homophily : float
        Means over these samples.
    """

    first: str
    second: str
    distance: float
    samples: int
    candidates: int
    geometric: float
    homophily: float


def pair_rows(
    between: NDArray[np.intp],
    unsure: NDArray[np.bool_],
    kinds: NDArray[Any],
    geometric: FloatArray,
    homophily: FloatArray,
    H: FloatArray,
    classes: LabelArray,
) -> list[PairRow]:
    """Return the pairs of classes that predictions hesitate between, the most frequent first."""
    size, largest = len(classes), float(H.max()) or 1.0
    codes = between[:, 0] * size + between[:, 1]
    samples = np.bincount(codes[unsure], minlength=size**2)
    sums = [
        np.bincount(codes[unsure], values[unsure], size**2)
        for values in (kinds == Confusion.CANDIDATE.value, geometric, homophily)
    ]
    rows = []
    for code in np.argsort(-samples, kind="stable")[: np.count_nonzero(samples)]:
        first, second = divmod(int(code), size)
        count = int(samples[code])
        rows.append(
            PairRow(
                str(classes[first]), str(classes[second]), float(H[first, second]) / largest,
                count, int(sums[0][code]), float(sums[1][code]) / count,
                float(sums[2][code]) / count,
            )
        )  # fmt: skip
    return rows
