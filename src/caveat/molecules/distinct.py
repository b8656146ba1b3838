"""What a network has to compute once for a batch: messages and atoms that are alike have one row.

Directed bonds with equal features send equal messages, and go on doing so while what they hear is
equal: the message of step t knows the surroundings of its bond up to t bonds away. A batch of 50
molecules of ESOL has some 1,450 directed bonds, but 65 kinds of them, 320 with their neighbors and
570 with the neighbors of these.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .graphs import Sums

if TYPE_CHECKING:
    from .graphs import GraphBatch

__all__ = ["Distinct", "Step", "distinct", "mixed", "offsets_of", "pieces", "row_keys"]

_GOLDEN, _ONCE, _TWICE = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""The constants of splitmix64."""


class Step(NamedTuple):
    """One time that messages are passed.

    Attributes
    ----------
    heard : Sums
        The rows of the messages before that make each different sum.
    joined : Sums or None
        For each different message the row of its own features and, behind all of these, that of
        its sum. None: all three have the same rows.
    """

    heard: Sums
    joined: Sums | None


class Distinct(NamedTuple):
    """The different rows of a batch.

    Attributes
    ----------
    edges : Tensor of shape (different edges, features)
    steps : tuple of Step
    atoms : Tensor of shape (different atoms, features)
    arriving : Sums
        The rows of the last messages that arrive in each different atom.
    pooled : Sums
        The rows of the atoms of each molecule.
    """

    edges: Tensor
    steps: tuple[Step, ...]
    atoms: Tensor
    arriving: Sums
    pooled: Sums


def distinct(batch: "GraphBatch", depth: int, alike: int) -> Distinct:
    """Return the different rows of a batch.

    Rows are told apart by hashes of 64 bits: among 1,000 different ones, some two have the same
    hash with a probability of 3 x 10^-14.

    Parameters
    ----------
    batch : GraphBatch
    depth : int
        How often messages are passed, counting the first.
    alike : int
        In how many steps from the first on equal surroundings give equal messages; a layer that
        draws noise for each bond ends this. Beyond the depth, atoms are alike, too.
    """
    if not alike:
        steps = (Step(batch.messages, None),) * (depth - 1)
        return Distinct(batch.edges, steps, batch.atoms, batch.arriving, batch.pooled)
    every = torch.arange(len(batch.edges), device=batch.edges.device)
    key = batch.edge_keys
    features, own = _rows(key)
    steps, place, rows = (), own, len(features)
    for step in range(1, depth):
        heard = whose = kept = every
        place_before, rows_before = place, rows
        if step <= alike:
            sounds = _hashed(key, batch.messages)
            heard, whose = _rows(sounds)
        place = every
        if step < alike:
            key = mixed(batch.edge_keys + sounds)
            kept, place = _rows(key)
        rows = len(kept)
        pairs = torch.stack([own[kept], len(features) + whose[kept]], dim=1).reshape(-1)
        ends = 2 * torch.arange(rows + 1, device=every.device)
        steps += (
            Step(
                _chosen(batch.messages, heard, place_before, rows_before),
                _lists(pairs, ends, len(features) + len(heard)),
            ),
        )
    atoms = where = torch.arange(len(batch.atoms), device=every.device)
    if alike > depth:
        atoms, where = _rows(mixed(batch.atom_keys + _hashed(key, batch.arriving)))
    return Distinct(
        batch.edges[features], steps, batch.atoms[atoms],
        _chosen(batch.arriving, atoms, place, rows),
        _lists(where[batch.pooled.values], batch.pooled.offsets, len(atoms)),
    )  # fmt: skip


def _rows(keys: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first row of each different key, and for each row the number of its key."""
    different, place = torch.unique(keys, return_inverse=True)
    first = torch.full_like(different, len(keys))
    rows = torch.arange(len(keys), device=keys.device)
    return first.scatter_reduce_(0, place, rows, "amin"), place


def _hashed(keys: Tensor, lists: Sums) -> Tensor:
    """Return a hash of the keys in each list, whatever their order."""
    total = torch.cat([keys.new_zeros(1), mixed(keys)[lists.values].cumsum(0)])
    return mixed(total[lists.offsets[1:]] - total[lists.offsets[:-1]])


def _chosen(lists: Sums, chosen: Tensor, place: Tensor, rows: int) -> Sums:
    """Return some of the lists, of values that have other places among so many rows."""
    begun = lists.offsets[:-1]
    counts = (lists.offsets[1:] - begun)[chosen]
    values = lists.values[pieces(begun[chosen], counts)]
    return _lists(place[values], offsets_of(counts), rows)


def _lists(values: Tensor, offsets: Tensor, rows: int) -> Sums:
    """Return lists together with the way back from each of the rows."""
    groups = torch.arange(len(offsets) - 1, device=values.device)
    owner = groups.repeat_interleave(offsets[1:] - offsets[:-1], output_size=len(values))
    back = values.argsort(stable=True)
    return Sums(values, offsets, owner[back], offsets_of(values.bincount(minlength=rows)))


def offsets_of(counts: Tensor) -> Tensor:
    """Return where each of several lists begins, and where the last one ends."""
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def pieces(start: Tensor, length: Tensor) -> Tensor:
    """Return start, start + 1, ... of each piece, one piece after another."""
    total = int(length.sum())
    shift = start - (length.cumsum(0) - length)
    return torch.arange(total, device=start.device) + shift.repeat_interleave(
        length, output_size=total
    )


def mixed(keys: Tensor) -> Tensor:
    """Return hashes of whole numbers: the last steps of splitmix64, and its constant added."""
    keys = keys + (_GOLDEN - 2**64)
    # Numbers are signed, so that a shift brings in copies of the sign, which are masked.
    keys = (keys ^ ((keys >> 30) & (2**34 - 1))) * (_ONCE - 2**64)
    keys = (keys ^ ((keys >> 27) & (2**37 - 1))) * (_TWICE - 2**64)
    return keys ^ ((keys >> 31) & (2**33 - 1))


def row_keys(rows: np.ndarray) -> np.ndarray:
    """Return a hash of each row of an array in single precision."""
    bits = np.ascontiguousarray(rows, dtype=np.float32).view(np.uint32)
    keys = np.zeros(len(rows), dtype=np.uint64)
    for first in range(0, bits.shape[1], 2):
        pair = bits[:, first : first + 2].astype(np.uint64)
        keys ^= pair[:, 0] + (pair[:, -1] << np.uint64(32))
        keys *= np.uint64(_ONCE)
        keys ^= keys >> np.uint64(29)
    return keys.view(np.int64)
