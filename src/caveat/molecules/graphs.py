"""Molecules as graphs: packed arrays for all, and packed tensors for a batch of them."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FileFormatError, ShapeError

if TYPE_CHECKING:
    from torch import Tensor

    from .distinct import Distinct

__all__ = ["GraphBatch", "MoleculeGraphs", "Sums"]


@dataclass(frozen=True, eq=False)
class MoleculeGraphs:
    """The graphs of molecules, one after another in a few arrays.

    Parameters
    ----------
    smiles : array of str of shape (molecules,)
    atoms : float32 array of shape (atoms of all molecules, atom features)
    bonds : float32 array of shape (bonds of all molecules, bond features)
    ends : int32 array of shape (bonds of all molecules, 2)
        The two atoms of each bond, numbered within their molecule.
    atom_counts, bond_counts : int32 arrays of shape (molecules,)
    rows : int64 array of shape (molecules,)
        The place of each molecule in what was read; invalid ones may have been left out.

    Examples
    --------
    >>> from caveat.molecules import featurize  # doctest: +SKIP
    >>> graphs = featurize(["CCO", "c1ccccc1"])  # doctest: +SKIP
    >>> len(graphs), graphs.atom_counts.tolist()  # doctest: +SKIP
    (2, [3, 6])
    """

    smiles: NDArray[Any]
    atoms: NDArray[np.float32]
    bonds: NDArray[np.float32]
    ends: NDArray[np.int32]
    atom_counts: NDArray[np.int32]
    bond_counts: NDArray[np.int32]
    rows: NDArray[np.int64]

    def __post_init__(self) -> None:
        molecules = len(self.smiles)
        sizes = (
            ("atom_counts", molecules),
            ("bond_counts", molecules),
            ("rows", molecules),
            ("atoms", int(self.atom_counts.sum())),
            ("bonds", int(self.bond_counts.sum())),
            ("ends", int(self.bond_counts.sum())),
        )
        for name, size in sizes:
            if len(getattr(self, name)) != size:
                raise ShapeError(f"{name} has {len(getattr(self, name))} entries; expected {size}")
        owner = np.repeat(self.atom_counts, self.bond_counts)
        if len(self.ends) and not ((self.ends >= 0) & (self.ends < owner[:, None])).all():
            raise ShapeError("ends names atoms that are not in their molecule")

    def __len__(self) -> int:
        return len(self.smiles)

    def __repr__(self) -> str:
        return f"MoleculeGraphs: {len(self)} molecules, {len(self.atoms)} atoms"

    def __getitem__(self, rows: Any) -> Self:
        """Return some molecules: a slice, a mask or numbers."""
        chosen = np.arange(len(self))[rows]
        if chosen.ndim != 1:
            raise ShapeError("index molecules with a slice, a mask or a list of numbers")
        atom = ragged(starts(self.atom_counts)[chosen], self.atom_counts[chosen])
        bond = ragged(starts(self.bond_counts)[chosen], self.bond_counts[chosen])
        return type(self)(
            self.smiles[chosen], self.atoms[atom], self.bonds[bond], self.ends[bond],
            self.atom_counts[chosen], self.bond_counts[chosen], self.rows[chosen],
        )  # fmt: skip

    @classmethod
    def concat(cls, parts: Sequence["MoleculeGraphs"]) -> "MoleculeGraphs":
        """Join molecules, one after another."""
        return cls(
            *(np.concatenate([getattr(one, field.name) for one in parts]) for field in fields(cls))
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the graphs to a file, from which a network trains without a featurizer."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays["smiles"] = np.asarray(self.smiles, dtype=np.str_)
        with open(path, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "MoleculeGraphs":
        """Read graphs that `save` wrote; loading runs no code."""
        try:
            with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {field.name: file[field.name] for field in fields(cls)}
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no file {path}") from None
        except (
            KeyError, ValueError, TypeError, EOFError, OSError, BadZipFile, zlib.error
        ) as error:  # fmt: skip
            raise FileFormatError(f"{path} is not a file of molecular graphs: {error}") from error
        return cls(**arrays)

    def batch(self, device: Any = "cpu") -> "GraphBatch":
        """Return all graphs as the tensors that a network reads."""
        import torch

        from .packed import PackedGraphs

        packed = PackedGraphs(self).to(device)
        return packed.pick(torch.arange(len(self), device=device))


class Sums(NamedTuple):
    """Which rows are summed into which, and the way back for gradients, as lists with offsets."""

    values: "Tensor"
    offsets: "Tensor"
    values_back: "Tensor"
    offsets_back: "Tensor"


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """Molecules as tensors.

    Attributes
    ----------
    atoms : Tensor of shape (atoms, atom features)
    edges : Tensor of shape (edges, atom features + bond features)
        Features of the atom where a directed bond begins, and of the bond.
    messages : Sums
        The edges that an edge hears.
    arriving : Sums
        The edges that end in an atom.
    pooled : Sums
        The atoms of a molecule.
    sizes : Tensor of shape (molecules,)
        Numbers of atoms.
    atom_keys, edge_keys : int64 Tensors of shapes (atoms,) and (edges,)
        Hashes of the features.
    """

    atoms: "Tensor"
    edges: "Tensor"
    messages: Sums
    arriving: Sums
    pooled: Sums
    sizes: "Tensor"
    atom_keys: "Tensor"
    edge_keys: "Tensor"
    _kept: dict[tuple[int, int], "Distinct"] = field(default_factory=dict, repr=False)

    def distinct(self, depth: int, alike: int) -> "Distinct":
        """Return the rows that a network has to compute.

        Parameters
        ----------
        depth : int
            How often messages are passed, counting the first.
        alike : int
            In how many steps from the first on equal surroundings give equal messages.
        """
        from .distinct import distinct

        if (depth, alike) not in self._kept:
            self._kept[depth, alike] = distinct(self, depth, alike)
        return self._kept[depth, alike]


def starts(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where each of several pieces begins that lie one after another."""
    return np.asarray(np.cumsum(counts, dtype=np.int64) - counts)


def ragged(start: NDArray[np.integer], length: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return start, start + 1, ... of each piece, one piece after another."""
    total = int(length.sum())
    before = np.repeat(np.cumsum(length) - length, length)
    return np.arange(total) - before + np.repeat(start.astype(np.int64), length)
