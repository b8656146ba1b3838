"""Molecules of the study: public data sets, prepared files and tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..datasets import load_molecules
from ..exceptions import FileFormatError, OptionError
from ..molecules import MoleculeData
from ..molecules.checks import line_of_rows
from ..molecules.features import parsed
from .study import Task

if TYPE_CHECKING:
    from pandas import Series

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
    return _public(name, target, n_jobs)[0]


def take_molecules(task: Task) -> tuple[MoleculeData, tuple[str, ...]]:
    """Return the molecules of a data set by name, of a prepared file, or of a table file.

    And one sentence for each reason why rows were left out.
    """
    smiles, target = task.options["smiles"], task.options["target"]
    if task.dataset in MOLECULES:
        return _public(task.dataset, target)
    path = Path(task.dataset)
    if path.suffix == ".npz":
        return MoleculeData.load(path), ()
    if target is None:
        raise OptionError(f"target must name the column of {path.name} that is to be predicted")
    return _from_table(path, smiles, target)


def _public(
    name: str, target: str | None, n_jobs: int | None = None
) -> tuple[MoleculeData, tuple[str, ...]]:
    import pandas as pd

    table = load_molecules(name, target=target)
    return _with_numbers(
        table.smiles, pd.Series(table.y), n_jobs=n_jobs, name=name, unit=table.unit,
        description=table.description,
    )  # fmt: skip


def _from_table(path: Path, smiles: str, target: str) -> tuple[MoleculeData, tuple[str, ...]]:
    import pandas as pd

    try:
        frame = pd.read_csv(path, keep_default_na=False, na_values={target: ["", "NA", "nan"]})
    except (ValueError, OSError) as error:
        raise FileFormatError(f"{path} cannot be read as a table: {error}") from error
    for option, column in (("smiles", smiles), ("target", target)):
        if column not in frame:
            names = ", ".join(map(repr, frame.columns[:8]))
            raise OptionError(f"{option}: {path.name} has no column {column!r}; it has {names}")
    texts = frame[smiles].astype(str).str.strip().tolist()
    return _with_numbers(texts, frame[target], name=path.name, description=f"{path.name}: {target}")


def _with_numbers(
    smiles: list[str], given: "Series[Any]", **options: Any
) -> tuple[MoleculeData, tuple[str, ...]]:
    """Return the molecules that have a number, and which rows were left out."""
    import pandas as pd

    numbers = pd.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64)
    known, missing = np.isfinite(numbers), given.isna().to_numpy()
    rows = np.flatnonzero(known)
    texts = [smiles[row] for row in rows]
    data = MoleculeData.make(texts, numbers[rows], on_error="drop", **options)
    lost = np.delete(rows, data.graphs.rows).tolist()
    why = parsed([smiles[row] for row in lost])
    odd = [(row, str(given.iloc[row])) for row in np.flatnonzero(~known & ~missing).tolist()]
    left_out = (
        (odd, "have a value that is no number"),
        (np.flatnonzero(missing).tolist(), "have no value"),
        (list(zip(lost, why, strict=True)), "cannot be read"),
    )
    lines = (line_of_rows(some, words, first=1) for some, words in left_out if some)
    return data, tuple(f"Left out: {line}." for line in lines)
