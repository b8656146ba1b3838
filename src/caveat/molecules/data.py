"""Molecules prepared once: graphs, property, scaffolds and fingerprints in one file."""

from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState
from .._validation import FloatArray, as_column, check_choice
from ..exceptions import FileFormatError, InvalidValueError, OptionError, ShapeError
from .domain import Applicability, nearest_known
from .features import as_smiles, featurize
from .graphs import MoleculeGraphs
from .splits import KINDS, Split, fingerprint_bits, scaffolds, split_molecules

__all__ = ["MoleculeData"]


@dataclass(frozen=True, eq=False)
class MoleculeData:
    """Molecules with one property, and all that a study of them needs of rdkit.

    `make` reads SMILES with rdkit and chemprop; `save` writes one file, from which another machine
    splits, trains, predicts and compares with torch alone.

    Attributes
    ----------
    graphs : MoleculeGraphs
    y : ndarray of shape (molecules,)
    scaffolds : ndarray of int of shape (molecules,)
        The number of the Murcko scaffold of each.
    fingerprints : uint8 ndarray of shape (molecules, 256)
        Morgan fingerprints of radius 2, eight bits in a byte.
    name, unit, description : str

    Examples
    --------
    >>> from caveat.molecules import MoleculeData
    >>> data = MoleculeData.make(["CCO", "c1ccccc1", "c1ccccc1C"], [0.1, 0.2, 0.3])
    >>> data, data.scaffolds.tolist()
    (MoleculeData: 3 molecules, 2 scaffolds, [0, 1, 1])
    """

    graphs: MoleculeGraphs
    y: FloatArray
    scaffolds: NDArray[np.int64]
    fingerprints: NDArray[np.uint8]
    name: str = ""
    unit: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        for name in _OWN:
            if len(getattr(self, name)) != len(self.graphs):
                raise ShapeError(
                    f"{name} has {len(getattr(self, name))} entries for {len(self.graphs)} "
                    "molecules"
                )

    @classmethod
    def make(
        cls,
        smiles: Any,
        y: Any,
        *,
        column: str | None = None,
        on_error: str = "raise",
        cache: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        name: str = "",
        unit: str = "",
        description: str = "",
    ) -> Self:
        """Read molecules.

        Parameters
        ----------
        y : array of shape (molecules,)
        column : str, optional
            As in `featurize`, like the three that follow.
        on_error : {"raise", "drop"}, default="raise"
        cache : path, optional
        n_jobs : int, optional
        name : str, default=""
        unit : str, default=""
        description : str, default=""
        """
        texts = as_smiles(smiles, column)
        values = np.asarray(as_column(y, "y", len(texts)), dtype=np.float64)
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InvalidValueError(f"y of molecule {row} is {values[row]}; leave it out")
        graphs = featurize(texts, on_error=on_error, cache=cache, n_jobs=n_jobs)
        kept = graphs.smiles.tolist()
        blocks = [kept[start : start + _BLOCK] for start in range(0, len(kept), _BLOCK)]
        names = np.concatenate([scaffolds(block) for block in blocks])
        numbers = np.unique(names, return_inverse=True)[1]
        bits = np.concatenate([np.packbits(fingerprint_bits(one), axis=1) for one in blocks])
        return cls(
            graphs, values[graphs.rows], numbers.astype(np.int64), bits, name, unit, description
        )

    def __len__(self) -> int:
        return len(self.graphs)

    def __repr__(self) -> str:
        count = len(np.unique(self.scaffolds))
        return f"MoleculeData: {len(self)} molecules, {count} scaffolds"

    def __getitem__(self, rows: Any) -> Self:
        """Return some molecules: a slice, a mask or numbers."""
        words = (self.name, self.unit, self.description)
        return type(self)(
            self.graphs[rows], self.y[rows], self.scaffolds[rows], self.fingerprints[rows], *words
        )

    def split(
        self, kind: str, *, sizes: Any = (0.8, 0.1, 0.1), random_state: RandomState = None
    ) -> Split:
        """Split the molecules; see `split_molecules`.

        Parameters
        ----------
        kind : {"random", "scaffold", "scaffold-balanced", "cluster"}
            Clusters are made by rdkit; the others need it no more.
        sizes : three floats, default=(0.8, 0.1, 0.1)
        """
        check_choice(kind, "kind", [name for name in KINDS if name != "time"])
        groups = self.scaffolds if kind.startswith("scaffold") else None
        made = split_molecules(
            self.graphs.smiles, kind, sizes=sizes, groups=groups, random_state=random_state
        )
        if not (len(made.train) and len(made.test)):
            raise OptionError(
                f"sizes must have a share to learn from and one to test on; got {tuple(sizes)}"
            )
        return made

    def applicability(self, known: Any, rows: Any) -> Applicability:
        """Compare some molecules with known ones; see `applicability`.

        Parameters
        ----------
        known, rows : arrays of int
        """
        bits, numbers = self.fingerprints, self.scaffolds
        similarity, nearest = nearest_known(
            np.unpackbits(bits[known], axis=1), np.unpackbits(bits[rows], axis=1)
        )
        return Applicability(similarity, nearest, np.isin(numbers[rows], numbers[known]))

    def save(self, path: str | PathLike[str]) -> None:
        """Write all to one file."""
        arrays = {field.name: getattr(self.graphs, field.name) for field in fields(self.graphs)}
        arrays["smiles"] = np.asarray(self.graphs.smiles, dtype=np.str_)
        words = np.array([self.name, self.unit, self.description])
        own = {name: getattr(self, name) for name in _OWN}
        with open(path, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, words=words, **own, **arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read what `save` wrote; loading runs no code."""
        graphs = MoleculeGraphs.load(path)
        with np.load(path, allow_pickle=False) as file:
            if not {*_OWN, "words"} <= {*file}:
                raise FileFormatError(
                    f"{path} has graphs alone; MoleculeData.make(...).save(path) writes the file "
                    "with property, scaffolds and fingerprints"
                )
            own = {name: file[name] for name in _OWN}
            return cls(graphs, *own.values(), *file["words"].tolist())


_BLOCK = 2000
"""Molecules that are read at a time."""

_OWN = ("y", "scaffolds", "fingerprints")
