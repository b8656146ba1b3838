"""What is odd about a table of molecules, before anything is learned from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import missing_among, to_numpy
from ..exceptions import ShapeError
from .features import as_smiles, need, parsed

__all__ = ["MoleculeReport", "line_of_rows", "molecule_report"]

_KNOWN_ATOMS = frozenset((*range(1, 37), 53))
"""Elements that have a feature of their own; all others share one."""
_ROWS = 5
"""Rows that a line names."""


@dataclass(frozen=True)
class MoleculeReport:
    """What is odd about molecules; rows count from 0.

    Attributes
    ----------
    molecules : int
    invalid : tuple of (int, str)
        Rows that cannot be read, and why.
    mixtures : tuple of int
        Rows of several parts, such as salts: a network sees all of them as one molecule.
    unknown_atoms : tuple of (int, str)
        Rows with elements that share one feature, and these elements.
    single_atoms : tuple of int
        Rows of one atom, with no bond to pass a message along.
    without_scaffold : tuple of int
        Rows without a ring, which share the empty scaffold.
    missing : tuple of int
        Rows without any value.
    duplicates : tuple of tuple of int
        Rows of the same molecule.
    conflicts : tuple of tuple of int
        Those of them that have different values.
    largest_conflict : float
        The largest difference of the values of one molecule; NaN without numbers.
    """

    molecules: int
    invalid: tuple[tuple[int, str], ...]
    mixtures: tuple[int, ...]
    unknown_atoms: tuple[tuple[int, str], ...]
    single_atoms: tuple[int, ...]
    without_scaffold: tuple[int, ...]
    missing: tuple[int, ...]
    duplicates: tuple[tuple[int, ...], ...]
    conflicts: tuple[tuple[int, ...], ...]
    largest_conflict: float = float("nan")

    def lines(self, first: int = 0) -> tuple[str, ...]:
        """Return what is odd, one sentence for each kind.

        Parameters
        ----------
        first : int, default=0
            The number of the first row.
        """
        far = self.largest_conflict
        by = "" if np.isnan(far) else f", by up to {far:.3g}"
        said = (
            (self.invalid, "cannot be read"),
            (self.mixtures, "are of several parts (salts, mixtures), which are read as one"),
            (self.unknown_atoms, "have elements that share one feature"),
            (self.single_atoms, "are single atoms, without a bond"),
            (self.missing, "have no value"),
            (self.duplicates, "molecules are there several times"),
            (self.conflicts, f"of these have different values{by}"),
            (self.without_scaffold, "have no ring: they share the empty scaffold"),
        )
        return tuple(line_of_rows(rows, words, first) for rows, words in said if rows)

    def __str__(self) -> str:
        lines = [f"- {line}" for line in self.lines()]
        return "\n".join([f"{self.molecules} molecules" + ", nothing odd" * (not lines), *lines])


def molecule_report(smiles: Any, y: Any = None, *, column: str | None = None) -> MoleculeReport:
    """Say what is odd about molecules: invalid text, salts, unknown atoms, conflicting values.

    Parameters
    ----------
    y : array of shape (molecules,) or (molecules, targets), optional
        Values or labels; missing ones are NaN or None.

    Examples
    --------
    >>> print(molecule_report(["c1ccccc1", "C1=CC=CC=C1", "oops", "[Na+].[Cl-]"], [1, 2, 3, 4]))
    4 molecules
    - 1 cannot be read: row 2 (not a valid SMILES)
    - 1 are of several parts (salts, mixtures), which are read as one: row 3
    - 1 molecules are there several times: rows 0 and 1
    - 1 of these have different values, by up to 1: rows 0 and 1
    - 1 have no ring: they share the empty scaffold: row 3
    """
    from rdkit import rdBase
    from rdkit.Chem import GetMolFrags, GetPeriodicTable, MolToSmiles

    need()
    texts = as_smiles(smiles, column, missing="")
    molecules = parsed(texts)
    values = _values(y, len(texts))
    gone = None if values is None else missing_among(values)
    symbol = GetPeriodicTable().GetElementSymbol
    mixtures, unknown, single, rings = [], [], [], []
    rows_of: dict[str, list[int]] = {}
    with rdBase.BlockLogs():
        for row, molecule in enumerate(molecules):
            if isinstance(molecule, str):
                continue
            rows_of.setdefault(MolToSmiles(molecule), []).append(row)
            if len(GetMolFrags(molecule)) > 1:
                mixtures.append(row)
            odd = sorted({atom.GetAtomicNum() for atom in molecule.GetAtoms()} - _KNOWN_ATOMS)
            if odd:
                unknown.append((row, ", ".join(symbol(z) if z else "*" for z in odd)))
            if molecule.GetNumAtoms() == 1:
                single.append(row)
            if not molecule.GetRingInfo().NumRings():
                rings.append(row)
    duplicates = [tuple(rows) for rows in rows_of.values() if len(rows) > 1]
    spans = [_span(values[list(rows)]) for rows in duplicates] if values is not None else []
    apart = [span for span in spans if span]
    return MoleculeReport(
        len(texts),
        tuple((row, why) for row, why in enumerate(molecules) if isinstance(why, str)),
        tuple(mixtures), tuple(unknown), tuple(single), tuple(rings),
        () if gone is None else tuple(np.flatnonzero(gone.all(axis=1)).tolist()),
        tuple(duplicates),
        tuple(rows for rows, span in zip(duplicates, spans, strict=False) if span),
        max(apart) if apart and values is not None and values.dtype.kind == "f" else float("nan"),
    )  # fmt: skip


def _values(y: Any, count: int) -> NDArray[Any] | None:
    if y is None:
        return None
    values = np.asarray(to_numpy(y, "y").array)
    if values.shape[:1] != (count,) or values.ndim > 2:
        raise ShapeError(f"y must have shape ({count},) or ({count}, targets); got {values.shape}")
    values = values.reshape(count, -1)
    return values.astype(np.float64) if values.dtype.kind in "fiu" else values.astype(object)


def _span(values: NDArray[Any]) -> float:
    """Return how far the values of one molecule differ; for labels 1 if they do."""
    spans = [0.0]
    for column in values.T:
        there = column[~missing_among(column)]
        if len(there) > 1 and values.dtype.kind == "f":
            spans.append(float(np.ptp(there)))
        elif len({str(value) for value in there}) > 1:
            spans.append(1.0)
    return max(spans)


def line_of_rows(rows: Sequence[Any], words: str, first: int) -> str:
    """Return how many rows there are, what they are, and the first few of them."""
    shown = [_row(row, first) for row in rows[:_ROWS]]
    several = "s" * (len(rows) > 1 or " and " in shown[0])
    more = f" and {len(rows) - _ROWS} more" if len(rows) > _ROWS else ""
    return f"{len(rows)} {words}: row{several} {', '.join(shown)}{more}"


def _row(row: Any, first: int) -> str:
    """Return a row, a row and why, or rows that belong together."""
    if not isinstance(row, tuple):
        return str(row + first)
    if isinstance(row[1], str):
        return f"{row[0] + first} ({row[1]})"
    return " and ".join(str(one + first) for one in row)
