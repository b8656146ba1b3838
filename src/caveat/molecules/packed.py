"""Graphs as tensors on a device, from which batches are picked and packed."""

import hashlib
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from .distinct import mixed, offsets_of, pieces, row_keys
from .graphs import GraphBatch, MoleculeGraphs, Sums, ragged, starts

__all__ = ["PackedGraphs"]


@dataclass(frozen=True)
class _Pieces:
    """Numbers of each molecule, one molecule after another, and how many each has."""

    values: Tensor
    counts: Tensor
    starts: Tensor

    @classmethod
    def of(cls, values: np.ndarray, counts: np.ndarray) -> Self:
        arrays = np.ascontiguousarray(values), counts.astype(np.int64), starts(counts)
        return cls(*(torch.from_numpy(array) for array in arrays))

    def to(self, device: Any) -> Self:
        return type(self)(*(getattr(self, field.name).to(device) for field in fields(self)))

    def pick(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the numbers of some molecules, and how many each has."""
        counts = self.counts[rows]
        return self.values[pieces(self.starts[rows], counts)], counts


class PackedGraphs:
    """Graphs of molecules on a device; see `caveat.nn.lockstep.Ragged`.

    Parameters
    ----------
    graphs : MoleculeGraphs
    """

    def __init__(self, graphs: MoleculeGraphs) -> None:
        self._graphs = graphs
        edge_counts = 2 * graphs.bond_counts
        first_atom, first_edge = starts(graphs.atom_counts), starts(edge_counts)
        ends = graphs.ends.astype(np.int64) + np.repeat(first_atom, graphs.bond_counts)[:, None]
        # Each bond is two edges, one behind the other: there and back.
        source, target = ends.reshape(-1), ends[:, ::-1].reshape(-1)
        into = np.bincount(target, minlength=len(graphs.atoms))
        arriving = np.argsort(target, kind="stable")
        # An edge hears all that arrive where it starts, but its own way back.
        heard = arriving[ragged(starts(into)[source], into[source])]
        hearer = np.repeat(np.arange(len(source)), into[source])
        others = heard != hearer ^ 1
        heard, hearer = heard[others], hearer[others]
        molecule = np.repeat(np.arange(len(graphs)), edge_counts)
        own_edge, own_atom = first_edge[molecule], first_atom[molecule]
        messages = np.bincount(molecule[hearer], minlength=len(graphs))
        back = np.argsort(heard, kind="stable")
        edges, heard_by = len(source), np.bincount(heard, minlength=len(source))
        parts: dict[str, tuple[np.ndarray, np.ndarray]] = {
            "atoms": (graphs.atoms, graphs.atom_counts),
            "bonds": (graphs.bonds, graphs.bond_counts),
            "atom_keys": (row_keys(graphs.atoms), graphs.atom_counts),
            "bond_keys": (row_keys(graphs.bonds), graphs.bond_counts),
            "source": (source - own_atom, edge_counts),
            "target": (target - own_atom, edge_counts),
            "arriving": (arriving - own_edge, edge_counts),
            "into": (into, graphs.atom_counts),
            "heard": (heard - own_edge[hearer], messages),
            "hears": (np.bincount(hearer, minlength=edges), edge_counts),
            "heard_back": (hearer[back] - own_edge[heard[back]], messages),
            "heard_by": (heard_by, edge_counts),
        }
        self._tensors = {name: _Pieces.of(*pair) for name, pair in parts.items()}

    def __len__(self) -> int:
        return len(self._graphs)

    @property
    def weight(self) -> float:
        """How many rows of an array a molecule is about worth: its directed bonds."""
        return max(1.0, 2 * len(self._graphs.bonds) / max(1, len(self)))

    def digest(self) -> bytes:
        """Return what tells these molecules from others."""
        digest = hashlib.sha256()
        for field in fields(self._graphs):
            digest.update(np.ascontiguousarray(getattr(self._graphs, field.name)).tobytes())
        return digest.digest()

    def to(self, device: Any) -> "PackedGraphs":
        """Return the graphs on a device."""
        moved = object.__new__(type(self))
        moved._graphs = self._graphs
        moved._tensors = {name: own.to(device) for name, own in self._tensors.items()}
        return moved

    def pick(self, rows: Tensor) -> GraphBatch:
        """Return some molecules as one batch."""
        parts = {name: own.pick(rows) for name, own in self._tensors.items()}
        atoms, atom_counts = parts["atoms"]
        bonds, bond_counts = parts["bonds"]
        first_atom = atom_counts.cumsum(0) - atom_counts
        first_edge = 2 * (bond_counts.cumsum(0) - bond_counts)

        def moved(name: str, first: Tensor) -> Tensor:
            values, counts = parts[name]
            return values + first.repeat_interleave(counts, output_size=len(values))

        source, target = moved("source", first_atom), moved("target", first_atom)
        atom_keys, bond_keys = parts["atom_keys"][0], parts["bond_keys"][0]
        edge_keys = mixed(atom_keys[source] + mixed(bond_keys.repeat_interleave(2)))
        features = torch.cat([atoms[source], bonds.repeat_interleave(2, dim=0)], dim=1)
        every_edge = torch.arange(len(source) + 1, device=rows.device)
        every_atom = torch.arange(len(atoms) + 1, device=rows.device)
        molecule = torch.arange(len(rows), device=rows.device)
        owner = molecule.repeat_interleave(atom_counts, output_size=len(atoms))
        return GraphBatch(
            atoms,
            features,
            Sums(
                moved("heard", first_edge), offsets_of(parts["hears"][0]),
                moved("heard_back", first_edge), offsets_of(parts["heard_by"][0]),
            ),
            Sums(moved("arriving", first_edge), offsets_of(parts["into"][0]), target, every_edge),
            Sums(every_atom[:-1], offsets_of(atom_counts), owner, every_atom),
            atom_counts.to(atoms.dtype),
            atom_keys,
            edge_keys,
        )  # fmt: skip
