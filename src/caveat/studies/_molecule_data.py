"""Molecules of the study: public data sets, prepared files and tables."""

from pathlib import Path

import numpy as np

from ..datasets import load_molecules
from ..exceptions import FileFormatError, OptionError
from ..molecules import MoleculeData
from .study import Task

MOLECULES = ("qm9", "esol", "freesolv", "qm8")


def prepare(name: str, *, target: str | None = None, n_jobs: int | None = None) -> MoleculeData:
    """Read a public data set, so that the study of it runs where rdkit is not installed.

    ``prepare("qm9").save("qm9.npz")`` writes one file; ``run_study("molecules", "qm9.npz")`` then
    needs torch alone.

    Parameters
    ----------
    name : {"qm9", "esol", "freesolv", "qm8"}
    target : str, optional
        Another column of numbers.
    n_jobs : int, optional
        Processes that read molecules.

    Examples
    --------
    >>> from caveat.studies.molecules import prepare
    >>> prepare("esol")  # doctest: +SKIP
    MoleculeData: 1128 molecules, 269 scaffolds
    """
    table = load_molecules(name, target=target)
    known = np.isfinite(table.y)
    smiles = [text for text, there in zip(table.smiles, known, strict=True) if there]
    return MoleculeData.make(
        smiles, table.y[known], on_error="drop", n_jobs=n_jobs, name=name, unit=table.unit,
        description=table.description,
    )  # fmt: skip


def take_molecules(task: Task) -> MoleculeData:
    """Return the molecules of a data set by name, of a prepared file, or of a table file."""
    smiles, target = task.options["smiles"], task.options["target"]
    if task.dataset in MOLECULES:
        return prepare(task.dataset, target=target)
    path = Path(task.dataset)
    if path.suffix == ".npz":
        return MoleculeData.load(path)
    if target is None:
        raise OptionError(f"target must name the column of {path.name} that is to be predicted")
    return _from_table(path, smiles, target)


def _from_table(path: Path, smiles: str, target: str) -> MoleculeData:
    import pandas as pd

    try:
        frame = pd.read_csv(path, keep_default_na=False, na_values={target: ["", "NA", "nan"]})
    except (ValueError, OSError) as error:
        raise FileFormatError(f"{path} cannot be read as a table: {error}") from error
    for option, column in (("smiles", smiles), ("target", target)):
        if column not in frame:
            names = ", ".join(map(repr, frame.columns[:8]))
            raise OptionError(f"{option}: {path.name} has no column {column!r}; it has {names}")
    numbers = pd.to_numeric(frame[target], errors="coerce").to_numpy(dtype=np.float64)
    known = np.isfinite(numbers)
    texts = frame[smiles].astype(str).str.strip()[known].tolist()
    return MoleculeData.make(
        texts, numbers[known], on_error="drop", name=path.name, description=f"{path.name}: {target}"
    )
