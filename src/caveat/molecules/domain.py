"""How near molecules are to those a model learned from, and which to measure next."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, as_column, check_integer, check_number
from ..exceptions import InvalidValueError, OptionError
from .features import as_smiles
from .splits import fingerprint_bits, scaffolds

__all__ = ["Applicability", "acquire", "applicability"]

_BLOCK = 4096
"""Molecules that are compared at a time."""

LEVELS = (0.4, 0.6, 0.8)
"""Similarities between which groups lie."""


@dataclass(frozen=True, eq=False)
class Applicability:
    """Where molecules lie relative to those that a model learned from.

    Attributes
    ----------
    similarity : ndarray of shape (molecules,)
        Tanimoto similarity to the most similar of these (Morgan fingerprints, radius 2).
    nearest : ndarray of int of shape (molecules,)
        The row of that one.
    known_scaffold : ndarray of bool of shape (molecules,)
        Whether its Murcko scaffold is among theirs.
    """

    similarity: FloatArray
    nearest: NDArray[np.int64]
    known_scaffold: NDArray[np.bool_]

    @property
    def uncertainty(self) -> FloatArray:
        """One minus the similarity: a baseline that an uncertainty has to beat."""
        return 1 - self.similarity

    def groups(self) -> dict[str, NDArray[Any]]:
        """Return groups for `caveat.evaluate` and `caveat.audit`."""
        words = [
            f"below {LEVELS[0]}",
            *(f"{low} to {high}" for low, high in pairwise(LEVELS)),
            f"above {LEVELS[-1]}",
        ]
        level = np.searchsorted(LEVELS, self.similarity, side="right")
        return {
            "similarity": np.array(words)[level],
            "scaffold": np.where(self.known_scaffold, "known", "new"),
        }


def applicability(known: Any, smiles: Any, *, column: str | None = None) -> Applicability:
    """Compare molecules with those that a model learned from.

    Parameters
    ----------
    known : list of str, Series, array, or frame with ``column``
        The molecules that a model learned from.
    column : str, optional
        The column of frames that holds the SMILES.

    Examples
    --------
    >>> near = applicability(["CCO", "c1ccccc1"], ["CCO", "c1ccccc1CC"])
    >>> near.similarity[0], near.nearest.tolist(), near.known_scaffold.tolist()
    (np.float64(1.0), [0, 1], [True, True])
    """
    theirs, texts = as_smiles(known, column), as_smiles(smiles, column)
    similar, nearest = nearest_known(fingerprint_bits(theirs), fingerprint_bits(texts))
    return Applicability(similar, nearest, np.isin(scaffolds(texts), scaffolds(theirs)))


def nearest_known(
    known: NDArray[np.uint8], bits: NDArray[np.uint8]
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return Tanimoto similarities to the most similar known molecules, and their rows.

    From arrays of zeros and ones, a row for each molecule.
    """
    similar, nearest = np.full(len(bits), -1.0), np.zeros(len(bits), dtype=np.int64)
    for first in range(0, len(known), _BLOCK):
        theirs = known[first : first + _BLOCK].astype(np.float32)
        their_bits = theirs.sum(axis=1)
        for start in range(0, len(bits), _BLOCK):
            rows = slice(start, start + _BLOCK)
            ours = bits[rows].astype(np.float32)
            common = ours @ theirs.T
            either = ours.sum(axis=1)[:, None] + their_bits - common
            # Molecules without any bit are the same as each other.
            values = np.where(either > 0, common / np.maximum(either, 1), 1.0)
            best = values.argmax(axis=1)
            value = values[np.arange(len(best)), best]
            better = value > similar[rows]
            nearest[rows] = np.where(better, first + best, nearest[rows])
            similar[rows] = np.where(better, value, similar[rows])
    return similar, nearest


def acquire(
    smiles: Any,
    uncertainty: Any,
    count: int,
    *,
    diversity: float = 0.5,
    column: str | None = None,
) -> NDArray[np.int64]:
    """Choose the molecules to measure next: uncertain ones, and not all alike.

    One after another, the molecule is taken with the largest rank of its uncertainty (0 to 1)
    minus ``diversity`` times its similarity to the most similar one taken before.

    Parameters
    ----------
    smiles : list of str, Series, array, or frame with ``column``
        The pool.
    uncertainty : array of shape (molecules,)
        Epistemic uncertainty, such as ``prediction.decompose().epistemic``.
    count : int
        How many.
    diversity : float, default=0.5
        0 takes the most uncertain ones, however similar.

    Returns
    -------
    ndarray of int of shape (count,)
        Rows of the pool, the first choice first.

    Examples
    --------
    >>> acquire(["CCCCCO", "CCCCCCO", "c1ccccc1"], [0.9, 0.8, 0.5], 2, diversity=2).tolist()
    [0, 2]
    """
    texts = as_smiles(smiles, column)
    values = np.asarray(as_column(uncertainty, "uncertainty", len(texts)), dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InvalidValueError(f"uncertainty of molecule {row} is {values[row]}")
    check_integer(count, "count")
    check_number(diversity, "diversity")
    if count > len(texts):
        raise OptionError(f"count is {count}, but the pool has {len(texts)} molecules")
    return chosen_by(fingerprint_bits(texts), values, count, diversity)


def chosen_by(
    bits: NDArray[np.uint8], uncertainty: FloatArray, count: int, diversity: float
) -> NDArray[np.int64]:
    """Return the rows that `acquire` chooses, from fingerprints as zeros and ones."""
    from scipy.stats import rankdata

    prints = bits.astype(np.float32)
    sizes = prints.sum(axis=1)
    worth = (rankdata(uncertainty) - 1) / max(1, len(uncertainty) - 1)
    taken_similarity = np.zeros(len(bits))
    chosen: list[int] = []
    for _ in range(count):
        worth_now = worth - diversity * taken_similarity
        worth_now[chosen] = -np.inf
        best = int(worth_now.argmax())
        chosen.append(best)
        common = prints @ prints[best]
        similar = common / np.maximum(sizes + sizes[best] - common, 1)
        taken_similarity = np.maximum(taken_similarity, similar)
    return np.array(chosen, dtype=np.int64)
