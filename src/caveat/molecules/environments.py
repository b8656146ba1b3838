"""Which atoms of a molecule have a neighborhood that a model has not seen."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import check_integer
from .features import as_smiles, read_molecules

__all__ = ["unseen_atoms"]

RADIUS = 1
"""Bonds around an atom that count as its neighborhood, in drawings and by default."""


def unseen_atoms(
    known: Any, smiles: Any, *, radius: int = RADIUS, column: str | None = None
) -> list[NDArray[np.bool_]]:
    """Return the atoms whose neighborhood occurs in no known molecule.

    A neighborhood is an atom with everything up to ``radius`` bonds away, as in a Morgan
    fingerprint: elements, numbers of neighbors and of hydrogens, charges, isotopes, rings, and
    types of bonds. This asks the molecules, not a model: an atom with a known neighborhood may
    still be predicted badly.

    Parameters
    ----------
    known : list of str, Series, array, or frame with ``column``
        The molecules that a model learned from.
    radius : int, default=1
        0 compares the atoms themselves; with 2 about a fifth of the atoms of new molecules are
        unseen in a data set of a thousand.
    column : str, optional
        The column of frames that holds the SMILES.

    Returns
    -------
    list of ndarray of bool
        For each molecule an array of shape (atoms,), in the order of the SMILES.

    Examples
    --------
    >>> unseen_atoms(["CCO", "CCN"], ["CCCO", "CCCl"])[1].tolist()
    [False, True, True]
    """
    check_integer(radius, "radius", least=0)
    seen = environments(as_smiles(known, column), radius)
    return unseen_in(seen, as_smiles(smiles, column), radius)


def environments(texts: Iterable[str], radius: int) -> frozenset[int]:
    """Return the numbers of all neighborhoods up to a radius, as rdkit hashes them."""
    make = _generator(radius)
    numbers: set[int] = set()
    for molecule in read_molecules(list(texts)):
        numbers.update(make.GetSparseCountFingerprint(molecule).GetNonzeroElements())
    return frozenset(numbers)


def unseen_in(seen: frozenset[int], texts: Iterable[str], radius: int) -> list[NDArray[np.bool_]]:
    """Return which atoms have a neighborhood that is not among some numbers."""
    from rdkit.Chem.rdFingerprintGenerator import AdditionalOutput

    make, marks = _generator(radius), []
    for molecule in read_molecules(list(texts)):
        output: Any = AdditionalOutput()
        output.AllocateAtomToBits()
        make.GetSparseCountFingerprint(molecule, additionalOutput=output)
        # The last of an atom is the largest; an atom without bonds has itself alone.
        marks.append(np.array([numbers[-1] not in seen for numbers in output.GetAtomToBits()]))
    return marks


def _generator(radius: int) -> Any:
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    # Two atoms may have the same bonds around them: both count.
    return GetMorganGenerator(radius=radius, includeRedundantEnvironments=True)
