"""From SMILES to graphs, with chemprop's features of atoms and bonds."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import is_missing, to_numpy
from .._parallel import check_jobs, run_tasks
from .._validation import check_choice, check_integer
from .._writing import replacing
from ..exceptions import CaveatError, InvalidValueError, OptionError
from .graphs import MoleculeGraphs, starts

__all__ = ["as_smiles", "featurize", "need", "parsed", "read_molecules"]

ATOM_FEATURES, BOND_FEATURES = 72, 14
_AROMATIC, _CONJUGATED = 4, 5
_ATOM_CLASSES = [
    "atomic-number-common", "total-degree", "formal-charge", "chirality", "num-hydrogens",
    "hybridization-expanded",
]  # fmt: skip
_BOND_CLASSES = ["is-null", "bond-type-onehot", "conjugated", "in-ring", "stereo"]
_BLOCK = 2000
"""Molecules that are read at a time."""

MOST_ATOMS = 1000
"""Larger molecules count as errors: some steps of rdkit take minutes for 10,000 atoms, and end the
process for 100,000."""
_ATOM = re.compile(r"\[[^\]]*\]|Br|Cl|[BCNOPSFIbcnops*]")
_FOREIGN = re.compile(r"[^\t -~]")
"""What no SMILES has: rdkit stops reading there, and says nothing."""
_HYDROGENS = 4
"""Hydrogens that may be written for each of the other atoms; reading a molecule removes them."""

_VERSION = "chemprop-v2-1"
"""What is in the name of a cached file; another set of features needs another."""


def featurize(
    smiles: Any,
    *,
    column: str | None = None,
    on_error: str = "raise",
    most_atoms: int = MOST_ATOMS,
    cache: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> MoleculeGraphs:
    """Make the graphs of molecules.

    Atoms and bonds have the features of chemprop 2. A network then trains and predicts without
    rdkit or chemprop: `MoleculeGraphs.save` takes them to another machine.

    Parameters
    ----------
    on_error : {"raise", "drop"}, default="raise"
        What to do with text that is not a molecule; ``rows`` of the result says what was kept.
    most_atoms : int, default=1000
        Molecules with more atoms count as errors.
    cache : path, optional
        A folder in which graphs are kept by content, so that the same molecules are read once.
    n_jobs : int, optional
        Processes; None is one, -1 all cores.

    Examples
    --------
    >>> featurize(["CCO", "c1ccccc1", "not a molecule"], on_error="drop").rows.tolist()
    [0, 1]
    """
    check_choice(on_error, "on_error", ("raise", "drop"))
    check_integer(most_atoms, "most_atoms")
    check_jobs(n_jobs)
    texts = as_smiles(smiles, column, "" if on_error == "drop" else None)
    path = None
    if cache is not None:
        key = "\0".join([_VERSION, on_error, str(most_atoms), *texts]).encode()
        path = Path(cache) / f"molecules-{hashlib.sha256(key).hexdigest()[:32]}.npz"
        if path.is_file():
            with suppress(CaveatError):  # what cannot be read is made anew
                return MoleculeGraphs.load(path)
    need()
    blocks = [texts[start : start + _BLOCK] for start in range(0, len(texts), _BLOCK)]
    results = run_tasks(_graphs, [most_atoms], [[block] for block in blocks], n_jobs)
    if progress:
        from rich.console import Console
        from rich.progress import track

        bar = Console(stderr=True)
        results = iter(track(results, "reading molecules", len(blocks), console=bar))
    made = dict(results)
    parts, bad = [], []
    for number in range(len(blocks)):
        graphs, wrong = made[number]
        parts.append(replace(graphs, rows=graphs.rows + number * _BLOCK))
        bad += [(row + number * _BLOCK, why) for row, why in wrong]
    if bad and (on_error == "raise" or len(bad) == len(texts)):
        advice = "mend them, or leave them out with on_error='drop'"
        raise InvalidValueError(_complaint(bad, texts, advice))
    graphs = MoleculeGraphs.concat(parts)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as beside:
            graphs.save(beside)
    return graphs


def as_smiles(smiles: Any, column: str | None = None, missing: str | None = None) -> list[str]:
    """Return SMILES as a list of text.

    Parameters
    ----------
    smiles : list of str, Series, array, generator, or frame with ``column``
    column : str, optional
    missing : str, optional
        What stands for None, NaN and NA; by default they are errors.
    """
    if column is not None:
        if not hasattr(smiles, "columns"):
            raise OptionError(f"column={column!r} needs a frame; got a {type(smiles).__name__}")
        if column not in list(smiles.columns):
            names = ", ".join(map(repr, list(smiles.columns)[:8]))
            raise OptionError(f"there is no column {column!r}; the frame has {names}")
        smiles = smiles[column]
    elif hasattr(smiles, "columns"):
        raise OptionError("a frame needs column=, the name of the column that holds the SMILES")
    if isinstance(smiles, str):
        raise InvalidValueError(f"smiles must be a list of SMILES; got the text {smiles!r}")
    if isinstance(smiles, Iterator):
        smiles = list(smiles)
    array = smiles if isinstance(smiles, list | tuple) else to_numpy(smiles, "smiles").array
    if not isinstance(array, list | tuple) and array.ndim != 1:
        raise InvalidValueError(
            "smiles must be texts in an order, as a list, a Series or an array of one axis; got a "
            f"{type(smiles).__name__}"
        )
    texts = list(array)
    if not texts:
        raise InvalidValueError("smiles is empty; expected one SMILES for each molecule")
    if missing is not None:
        texts = [missing if is_missing(text) else text for text in texts]
    wrong = [row for row, text in enumerate(texts) if not isinstance(text, str)]
    if wrong:
        raise InvalidValueError(
            f"smiles of row {wrong[0]} is {texts[wrong[0]]!r}; expected text"
            + (f" (and {len(wrong) - 1} more rows)" if len(wrong) > 1 else "")
        )
    return [str(text) for text in texts]


def need() -> None:
    """Raise if rdkit or chemprop is missing."""
    try:
        import cuik_molmaker  # noqa: F401  # chemprop brings it
        import rdkit  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"molecules need rdkit and chemprop ({error}); pip install 'caveat[molecules]'"
        ) from error


def parsed(texts: Sequence[str], most_atoms: int = MOST_ATOMS) -> list[Any]:
    """Return an rdkit molecule for each SMILES, or why there is none, without its log."""
    from rdkit import Chem, rdBase

    molecules: list[Any] = []
    with rdBase.BlockLogs():
        for text in texts:
            # Counted before anything native sees the text: what is too long can end the process.
            atoms = _ATOM.findall(text) if len(text) > most_atoms else ()
            large = len(atoms) - atoms.count("[H]")
            if max(large, len(atoms) / (1 + _HYDROGENS), len(text) / 50) > most_atoms:
                size = f"{large} atoms" if large > most_atoms else f"{len(text)} characters"
                molecules.append(f"{size}; most_atoms={most_atoms}")
                continue
            foreign = _FOREIGN.search(text.strip())
            molecule = None if foreign else Chem.MolFromSmiles(text)
            if foreign:
                molecules.append(f"not a valid SMILES: it has {foreign[0]!r}")
            elif molecule is None:
                molecules.append("not a valid SMILES")
            elif not molecule.GetNumAtoms():
                molecules.append("no atoms")
            elif molecule.GetNumAtoms() > most_atoms:
                molecules.append(f"{molecule.GetNumAtoms()} atoms; most_atoms={most_atoms}")
            else:
                molecules.append(molecule)
    return molecules


def read_molecules(texts: Sequence[str], advice: str = "mend them, or leave them out") -> list[Any]:
    """Return an rdkit molecule for each SMILES; raise if some have none.

    Parameters
    ----------
    texts : list of str
    advice : str
        What the message says to do.
    """
    need()
    molecules = parsed(texts)
    bad = [(row, why) for row, why in enumerate(molecules) if isinstance(why, str)]
    if bad:
        raise InvalidValueError(_complaint(bad, list(texts), advice))
    return molecules


def _graphs(most_atoms: int, texts: list[str]) -> tuple[MoleculeGraphs, list[tuple[int, str]]]:
    """Return the graphs of valid molecules, and what is wrong with the others."""
    molecules = parsed(texts, most_atoms)
    wrong = [(row, why) for row, why in enumerate(molecules) if isinstance(why, str)]
    rows = [row for row, why in enumerate(molecules) if not isinstance(why, str)]
    made = _featurized([texts[row] for row in rows]) if rows else None
    if made is None:
        empty = np.zeros(0, dtype=np.int32)
        return MoleculeGraphs(
            np.zeros(0, dtype=np.str_), np.zeros((0, ATOM_FEATURES), np.float32),
            np.zeros((0, BOND_FEATURES), np.float32), empty.reshape(0, 2), empty, empty,
            np.zeros(0, dtype=np.int64),
        ), wrong  # fmt: skip
    atoms, bonds, edges, owner = made
    atom_counts = np.bincount(owner, minlength=len(rows)).astype(np.int32)
    # Every bond is two edges behind each other, there and back; one of them says it.
    ends, bonds = edges[:, ::2].T, bonds[::2]
    bond_counts = np.bincount(owner[ends[:, 0]], minlength=len(rows)).astype(np.int32)
    ends = (ends - np.repeat(starts(atom_counts), bond_counts)[:, None]).astype(np.int32)
    return MoleculeGraphs(
        np.array([texts[row] for row in rows]), atoms, bonds, ends, atom_counts, bond_counts,
        np.array(rows, dtype=np.int64),
    ), wrong  # fmt: skip


def _featurized(texts: list[str]) -> tuple[Any, Any, Any, Any]:
    """Return features of atoms and of edges, the ends of edges, and the molecule of each atom.

    By the engine of chemprop itself: importing all of chemprop takes seconds and a gigabyte, in
    every process.
    """
    import cuik_molmaker
    from rdkit import rdBase

    with rdBase.BlockLogs():
        atoms, bonds, edges, _, owner = cuik_molmaker.batch_mol_featurizer(
            texts,
            cuik_molmaker.atom_onehot_feature_names_to_array(_ATOM_CLASSES),
            cuik_molmaker.atom_float_feature_names_to_array(["aromatic", "mass"]),
            cuik_molmaker.bond_feature_names_to_array(_BOND_CLASSES),
            *(False, False, True, False),  # no hydrogens, no offset; both directions, no loops
        )
    # The engine calls every bond aromatic that is not single, double or triple; chemprop does not.
    # Aromatic bonds are conjugated, dative, quadruple and unspecified ones are not.
    bonds[:, _AROMATIC] *= bonds[:, _CONJUGATED]
    return atoms.astype(np.float32), bonds.astype(np.float32), edges, owner


def _complaint(bad: list[tuple[int, str]], texts: list[str], advice: str) -> str:
    shown = "; ".join(f"row {row} ({_short(texts[row])!r}): {why}" for row, why in bad[:5])
    more = f"; and {len(bad) - 5} more" if len(bad) > 5 else ""
    if len(bad) == len(texts):
        advice = "is this the column of the SMILES?"
    return f"{len(bad)} of {len(texts)} molecules cannot be read: {shown}{more}; {advice}"


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
