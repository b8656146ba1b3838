"""How molecules are split: at random, by scaffold, by cluster or in time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, generator
from .._validation import as_column, as_times, check_choice, check_fraction, check_number
from ..exceptions import OptionError
from .features import as_smiles, read_molecules

__all__ = ["LeakageReport", "Split", "leakage", "scaffolds", "split_molecules"]

KINDS = ("scaffold", "scaffold-balanced", "cluster", "random", "time")

_MOST = 10_000


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of molecules to learn from, to check with, and to test on.

    Attributes
    ----------
    train, validation, test : ndarray of int
    """

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]

    def __iter__(self) -> Any:
        return iter((self.train, self.validation, self.test))


def split_molecules(
    smiles: Any,
    kind: str = "scaffold",
    *,
    sizes: Sequence[float] = (0.8, 0.1, 0.1),
    column: str | None = None,
    time: Any = None,
    threshold: float = 0.4,
    groups: Any = None,
    random_state: RandomState = None,
) -> Split:
    """Split molecules into those to learn from, to check with, and to test on.

    A part of which the share is above 0 and that comes out empty is an error.

    Parameters
    ----------
    kind : {"scaffold", "scaffold-balanced", "cluster", "random", "time"}, default="scaffold"
        "scaffold": whole Murcko scaffolds, the rarest in the test, then in the validation; it draws
        nothing. "scaffold-balanced": scaffolds that fit into the test or the validation go there in
        random order; with the same seed it is chemprop's split. "cluster": the same with clusters
        of similar molecules (Butina). "time": the oldest to learn from.
    sizes : three floats, default=(0.8, 0.1, 0.1)
        Shares of the three parts, which add up to 1.
    time : array of shape (molecules,), optional
        When each molecule was measured, as numbers or dates, for ``kind="time"``.
    threshold : float, default=0.4
        The Tanimoto distance within which molecules belong to a cluster.
    groups : array of shape (molecules,), optional
        Scaffolds or clusters that are known already: nothing is read from the SMILES.

    Examples
    --------
    >>> smiles = ["c1ccccc1C", "c1ccccc1CC", "c1ccccc1O", "C1CCCCC1C", "CCO"]
    >>> train, validation, test = split_molecules(smiles, sizes=(0.6, 0.2, 0.2))
    >>> train.tolist(), test.tolist()
    ([0, 1, 2], [3])
    """
    check_choice(kind, "kind", KINDS)
    shares = [check_number(size, "sizes", 0, 1) for size in sizes]
    if len(shares) != 3 or abs(sum(shares) - 1) > 1e-9:
        raise OptionError(f"sizes must be three shares that add up to 1; got {tuple(sizes)}")
    texts = as_smiles(smiles, column)
    count = len(texts)
    if (time is not None) != (kind == "time"):
        raise OptionError('time= goes with kind="time", and kind="time" needs it')
    if groups is not None and kind in ("time", "random"):
        raise OptionError(f"groups= goes with scaffolds or clusters; kind is {kind!r}")
    if kind == "time":
        order = np.argsort(as_times(time, count), kind="stable")
        return _filled(_cut(order, shares), shares, kind)
    draw = generator(random_state)
    if kind == "random":
        return _filled(_cut(draw.permutation(count), shares), shares, kind)
    if groups is not None:
        names = as_column(groups, "groups", count)
    else:
        names = clusters(texts, threshold) if kind == "cluster" else scaffolds(texts)
    numbers = np.unique(names, return_inverse=True)[1]
    return _filled(_whole(numbers, shares, None if kind == "scaffold" else draw), shares, kind)


def scaffolds(smiles: Any, *, column: str | None = None) -> NDArray[Any]:
    """Return the Murcko scaffold of each molecule; empty for molecules without rings.

    Parameters
    ----------
    column : str, optional

    Examples
    --------
    >>> scaffolds(["c1ccccc1CC", "CCO"]).tolist()
    ['c1ccccc1', '']
    """
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    molecules = _molecules(as_smiles(smiles, column))
    return np.array([MurckoScaffoldSmiles(mol=molecule) for molecule in molecules], dtype=np.str_)


def clusters(texts: list[str], threshold: float) -> NDArray[np.int64]:
    """Return the number of the cluster of each molecule, by Butina's method."""
    from rdkit.DataStructs import BulkTanimotoSimilarity
    from rdkit.ML.Cluster import Butina

    check_fraction(threshold, "threshold")
    if len(texts) > _MOST:
        raise OptionError(
            f'kind="cluster" compares all pairs, so it takes at most {_MOST:,} molecules; got '
            f'{len(texts):,}. Use kind="scaffold"'
        )
    prints = fingerprints(texts)
    distances: list[float] = []
    for i in range(1, len(prints)):
        distances += [1 - s for s in BulkTanimotoSimilarity(prints[i], prints[:i])]
    number = np.zeros(len(texts), dtype=np.int64)
    for k, members in enumerate(
        Butina.ClusterData(distances, len(prints), threshold, isDistData=True)
    ):
        number[list(members)] = k
    return number


def fingerprints(texts: list[str]) -> list[Any]:
    """Return Morgan fingerprints of radius 2 and 2,048 bits, as rdkit's bit vectors."""
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    make = GetMorganGenerator(radius=2, fpSize=2048)
    return [make.GetFingerprint(molecule) for molecule in _molecules(texts)]


def fingerprint_bits(texts: list[str]) -> NDArray[np.uint8]:
    """Return the same fingerprints as zeros and ones, (molecules, 2048)."""
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    make = GetMorganGenerator(radius=2, fpSize=2048)
    return np.array([make.GetFingerprintAsNumPy(one) for one in _molecules(texts)], np.uint8)


def _molecules(texts: list[str]) -> list[Any]:
    return read_molecules(
        texts, "leave them out: featurize(..., on_error='drop').rows are the valid ones"
    )


def _cut(order: NDArray[np.int64], shares: Sequence[float]) -> Split:
    count = len(order)
    first = int(np.floor(shares[0] * count + 1e-9))
    second = first + int(np.floor(shares[1] * count + 1e-9))
    if not shares[2]:
        second = count
    return Split(*(np.sort(part) for part in np.split(order, [first, second])))


def _whole(
    groups: NDArray[np.int64], shares: Sequence[float], draw: np.random.Generator | None
) -> Split:
    """Fill the test, then the validation with whole groups, small ones first; learn from the rest.

    Groups that fit into either are drawn in random order, if any.
    """
    _, start, size = np.unique(groups, return_index=True, return_counts=True)
    most = [int(np.floor(share * len(groups) + 1e-9)) for share in shares]
    order = np.lexsort((start, size)).tolist()
    if draw is not None:
        fits = min(most[1:]) if most[1] else min(most[0], most[2])
        small = [k for k in order if size[k] <= fits]
        large = [k for k in order if size[k] > fits]
        draw.shuffle(small)
        order = small + large
    filled = [0, 0, 0]
    part = np.zeros(len(size), dtype=np.int64)
    for k in order:
        part[k] = next((i for i in (2, 1) if filled[i] + size[k] <= most[i]), 0)
        filled[part[k]] += size[k]
    return Split(*(np.flatnonzero(part[groups] == i) for i in range(3)))


def _filled(split: Split, shares: Sequence[float], kind: str) -> Split:
    """Return a split; raise if a part is empty that was to have a share."""
    for name, share, rows in zip(("train", "validation", "test"), shares, split, strict=True):
        if share and not len(rows):
            count, whole = sum(map(len, split)), kind not in ("random", "time")
            raise OptionError(
                f"the {name} part of the split is empty: its share of {count} molecules is "
                f"{share * count:.3g}"
                + ", and no scaffold or cluster that is left is small enough" * whole
                + "; use more molecules, a larger share in sizes="
                + ", or kind='random'" * whole
            )
    return split


@dataclass(frozen=True)
class LeakageReport:
    """Molecules that are, or nearly are, in an earlier part of a split as well.

    The test is compared with the molecules to learn from and to check with, and these with each
    other.

    Attributes
    ----------
    duplicates, stereo, tautomers : tuple of (int, int)
        Pairs (row of the test, row of an earlier part): the same molecule, the same but for
        stereochemistry, the same but for hydrogens that move.
    tested : int
    validation : tuple of (int, int)
        Pairs (row to check with, row to learn from) of all three kinds.
    validated : int
        Molecules to check with.
    """

    duplicates: tuple[tuple[int, int], ...]
    stereo: tuple[tuple[int, int], ...]
    tautomers: tuple[tuple[int, int], ...]
    tested: int
    validation: tuple[tuple[int, int], ...] = ()
    validated: int = 0

    def __str__(self) -> str:
        parts = [
            f"{len(pairs)} {name}"
            for name, pairs in (
                ("the same", self.duplicates),
                ("the same but for stereochemistry", self.stereo),
                ("tautomers", self.tautomers),
            )
            if pairs
        ]
        known = "those to learn from" + " or to check with" * bool(self.validated)
        if parts:
            text = f"of {self.tested} tested molecules among {known}: {', '.join(parts)}"
        else:
            text = f"none of {self.tested} tested molecules is among {known}"
        if not self.validation:
            return text
        return (
            f"{text}; {len(self.validation)} of {self.validated} to check with are among those to "
            "learn from"
        )


def leakage(smiles: Any, split: Split, *, column: str | None = None) -> LeakageReport:
    """Find molecules of the test, and of the validation, that are in an earlier part as well.

    Parameters
    ----------
    split : Split
        Or three lists of rows: train, validation and test.
    column : str, optional

    Examples
    --------
    >>> from caveat.molecules import Split, leakage
    >>> print(leakage(["CCO", "OCC"], Split([0], [], [1])))
    of 1 tested molecules among those to learn from: 1 the same
    """
    from rdkit import rdBase
    from rdkit.Chem import MolToSmiles
    from rdkit.Chem.MolStandardize.rdMolStandardize import TautomerEnumerator

    texts = as_smiles(smiles, column)
    train, validation, test = _three_parts(split, len(texts))
    tautomers = TautomerEnumerator()
    exact, flat, canonical = [], [], []
    with rdBase.BlockLogs():
        for molecule in _molecules(texts):
            exact.append(MolToSmiles(molecule))
            flat.append(MolToSmiles(molecule, isomericSmiles=False))
            canonical.append(MolToSmiles(tautomers.Canonicalize(molecule), isomericSmiles=False))
    names = exact, flat, canonical
    tested = _shared(names, np.concatenate([train, validation]), test)
    checked = _shared(names, train, validation)
    return LeakageReport(*tested, len(test), sum(checked, ()), len(validation))


def _three_parts(split: Any, count: int) -> Split:
    try:
        return Split(*(rows_of(part, count) for part in split))
    except (TypeError, ValueError, IndexError) as error:
        raise OptionError(
            f"split must be a Split, or three lists of rows among {count} molecules: train, "
            f"validation and test; got {split!r}"
        ) from error


def rows_of(given: Any, count: int) -> NDArray[np.int64]:
    """Return rows from their numbers or a mask; raise IndexError where there are none such."""
    array = np.asarray(given)
    return np.arange(count)[array if array.size else array.astype(np.int64)]


_Pairs = tuple[tuple[int, int], ...]


def _shared(
    names: tuple[list[str], ...], known: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[_Pairs, _Pairs, _Pairs]:
    """Return the rows whose name is known, each for the first kind of names, with the row."""
    left, pairs = rows.tolist(), []
    for kind in names:
        first: dict[str, int] = {}
        for row in known.tolist():
            first.setdefault(kind[row], row)
        pairs.append(tuple((row, first[kind[row]]) for row in left if kind[row] in first))
        left = [row for row in left if kind[row] not in first]
    return pairs[0], pairs[1], pairs[2]
