"""Read the predictions of a model from a table file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._renamed import suggests_parameters
from .._validation import check_choice
from ..exceptions import CaveatError, FileFormatError, InvalidValueError, OptionError, ShapeError
from ._attributes import Attributes, find_attributes
from ._build import (
    BuildOptions,
    PredictionColumns,
    build,
    find_columns,
    match,
    refuse_percent,
)
from ._columns import MissingError, labels, missing_rows, numbers, take_rows
from ._errors import naming_file
from ._patterns import listed
from ._recognize import Choice, recognize_attributes, recognize_prediction
from ._sources import Source, open_source

MISSING_CHOICES = ("group", "error", "drop")


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """Predictions and what belongs to them from a file.

    Attributes
    ----------
    prediction : any prediction type
    y : ndarray of shape (samples,) or (samples, targets), or None
        The truth, as the prediction spells its classes; None where the file has no target.
    groups : DataFrame or None
        One column for each attribute.
    ids, sample_weight, cluster : ndarrays of shape (samples,) or None
        Where rows were left out and nothing names the samples, ids are their rows, from 1.
    rows : ndarray of shape (samples,) or None
        The data rows of the file, from 0, if some were left out.
    recognized : tuple of str
        How each column was used, in plain sentences.
    """

    prediction: Any
    y: NDArray[Any] | None
    groups: Any
    ids: NDArray[Any] | None
    sample_weight: NDArray[np.float64] | None
    cluster: NDArray[Any] | None
    recognized: tuple[str, ...]
    rows: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.prediction)


@suggests_parameters
def read_predictions(
    path: str | PathLike[str],
    *,
    probability: str | Sequence[str] | None = None,
    logit: str | Sequence[str] | None = None,
    mean: str | Sequence[str] | None = None,
    variance: str | Sequence[str] | None = None,
    std: str | Sequence[str] | None = None,
    quantile: str | Sequence[str] | None = None,
    lower: str | Sequence[str] | None = None,
    upper: str | Sequence[str] | None = None,
    half_width: str | Sequence[str] | None = None,
    coverage: float | None = None,
    target: str | Sequence[str] | None = None,
    group: Sequence[str] = (),
    id: str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    positive: Any = None,
    classes: Sequence[Any] | None = None,
    normalize: bool = False,
    sort: bool = False,
    percent: bool = False,
    target_file: str | PathLike[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: str = "group",
    keep_na: bool = False,
    need_truth: bool = True,
) -> PredictionTable:
    r"""Read predictions and true values from CSV, Parquet, NPZ, Arrow or JSON lines.

    Columns are named, or meant by a pattern: ``p_*`` (classes are what the star matches),
    ``p_{class}_{member}``, ``mean_{target}``, ``q*`` (levels). What is not named is recognized by
    common names, such as ``p_*``, ``mean`` and ``std``, ``q0.05``, ``y``, ``id``; `recognized`
    tells. Only the columns that are needed are read.

    Parameters
    ----------
    path : str or path
        Ending in .csv, .tsv, .csv.gz, .parquet, .npz, .arrow, .feather or .jsonl.
    probability, logit : str or list of str, optional
        Columns of class probabilities or logits. A single column is that of the positive of two
        classes.
    mean, variance, std : str or list of str, optional
        Columns of means and of either variances or standard deviations, by target and member.
    quantile : str or list of str, optional
        Columns whose names end in the level, such as q0.05.
    lower, upper : str or list of str, optional
        Columns of the ends of intervals, with their nominal ``coverage``.
    half_width : str or list of str, optional
        Columns of half the width of intervals around the mean, with their ``coverage``.
    coverage : float, optional
    target : str or list of str, optional
        The column of the truth; one for each target of a regression.
    group : list of str, default=()
        Columns (or patterns) that say which group a sample belongs to.
    id, weight, cluster : str, optional
        Columns with the name, the weight and the cluster of each sample.
    positive : label, optional
        The class that a single column of probabilities is of; by default the one that the column
        names, or the second label of the target in sorted order.
    classes : sequence of labels, optional
        The classes of columns that do not name them, in their order.
    normalize : bool, default=False
        Divide each row of probabilities by its sum instead of refusing rows that do not sum to 1.
    sort : bool, default=False
        Sort quantiles that cross instead of refusing them.
    percent : bool, default=False
        Divide probabilities by 100: the file gives them in percent.
    target_file : str or path, optional
        A second file, with a row for each sample in the same order, for target, groups, ids,
        weights and clusters.
    delimiter, decimal, encoding : str, optional
        How a CSV file is written; by default `sniff` detects it, and `recognized` says it.
    missing : {"group", "error", "drop"}, default="group"
        What to do where a value is missing. A missing prediction, target, weight or cluster is an
        error that names column and row, and "drop" leaves such rows out instead. Of several targets
        a missing one is NaN, and "drop" leaves out rows without any. A missing group is the group
        ``(missing)``. With "error" these two are errors as well.
    keep_na : bool, default=False
        Take ``NA``, ``N/A``, ``NaN``, ``null``, ``.`` and the like in a text column of a CSV as
        text, such as the code of Namibia. By default they are missing, as an empty entry always is.
        The other formats have missing values of their own, and text is what it says there.
    need_truth : bool, default=True
        False leaves a target out that has no value in some rows, as of samples that are not labeled
        yet.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "predictions.csv")
    ...     _ = path.write_text("p_cat,p_dog,y\n0.9,0.1,cat\n0.4,0.6,cat\n")
    ...     table = read_predictions(path)
    >>> table.prediction
    Categorical: 1 member x 2 samples x 2 classes ('cat', 'dog')
    >>> table.recognized
    ("'p_cat', 'p_dog': probabilities of the classes 'cat', 'dog'", "'y': target")
    """
    choice = Choice(
        probability, logit, mean, variance, std, quantile, lower, upper, half_width, target,
        (group,) if isinstance(group, str) else tuple(group), id, weight, cluster,
    )  # fmt: skip
    known = None if classes is None else np.asarray(classes).tolist()
    given = BuildOptions(known, positive, coverage, normalize, sort, percent)
    check_choice(missing, "missing", MISSING_CHOICES)
    written = delimiter, decimal, encoding, keep_na
    source = open_source(path, *written)
    about = source if target_file is None else open_source(target_file, *written)
    with naming_file(Path(path)):
        if source.saved is not None:
            return _saved(source, about, choice, given, missing, need_truth)
        return _table(source, about, choice, given, missing, need_truth=need_truth)


def column_names(
    path: str | PathLike[str],
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> list[str]:
    r"""Return the names of the columns of a file, or of the arrays of an NPZ.

    Parameters
    ----------
    path : str or path
        As in `read_predictions`.
    delimiter, decimal, encoding : str, optional
        How a CSV file is written; by default `sniff` detects it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "predictions.csv")
    ...     _ = path.write_text("p_cat,p_dog,y\n0.9,0.1,cat\n")
    ...     column_names(path)
    ['p_cat', 'p_dog', 'y']
    """
    return list(open_source(path, delimiter, decimal, encoding).names)


def _table(
    source: Source,
    about: Source,
    choice: Choice,
    given: BuildOptions,
    missing: str,
    loaded: bool = True,
    need_truth: bool = True,
) -> PredictionTable:
    """Read a prediction from the columns of one file, and the rest from the same or another."""
    same = about is source
    made, wanted, choice = find_roles(choice, source.names, None if same else about.names)
    text = wanted.text(made.is_classification)
    if same:
        columns = source.read(_once([*made.names, *wanted.names]), text)
        others = columns
    else:
        columns, others = source.read(_once(made.names)), about.read(_once(wanted.names), text)
    given.notes += [*source.notes, *(() if same else about.notes), *choice.notes]
    _refuse_empty({**columns, **others})
    wanted = wanted if need_truth else _labeled(wanted, others, given.notes)
    rows = None
    if missing == "drop":
        needed = [(name, columns[name]) for name in made.names if name != made.levels]
        rows = _complete_rows(needed, wanted, others, given.notes)
    if rows is not None:
        columns = {
            name: column if name == made.levels else take_rows(column, rows)
            for name, column in columns.items()
        }
        others = columns if same else {name: take_rows(c, rows) for name, c in others.items()}
    with _explained(rows, loaded):
        if wanted.target and made.is_classification:
            given.target = wanted.target[0]
            given.truth = labels(others[given.target], given.target)
        prediction, truth = build(made, columns, given)
        if not made.is_classification:
            truth = _numbers(wanted.target, others, missing, given.notes)
        return _finished(prediction, truth, wanted, others, given.notes, missing, rows)


def find_roles(
    choice: Choice, names: Sequence[str], others: Sequence[str] | None = None
) -> tuple[PredictionColumns, Attributes, Choice]:
    """Return the columns of the prediction and of the rest, which may be those of another file."""
    about = names if others is None else others
    named_id = choice.id is not None
    choice = recognize_attributes(choice, about)
    choice = recognize_prediction(choice, names, same_file=others is None)
    made = find_columns(choice, names)
    known = [name for name in about if not (others is None and name in made.names)]
    wanted = find_attributes(choice, about, made.targets, named_id, known)
    twice = [name for name in wanted.target if others is None and name in made.names]
    if twice:
        raise OptionError(f"{twice[0]!r} is named both as the prediction and as the target")
    return made, wanted, choice


def _saved(
    source: Source,
    about: Source,
    choice: Choice,
    given: BuildOptions,
    missing: str,
    need_truth: bool,
) -> PredictionTable:
    """Take a prediction that caveat wrote, and the rest from another file."""
    if choice.kinds:
        raise OptionError(
            f"{choice.kinds[0]}= names columns, but the file is a prediction that caveat saved"
        )
    refuse_percent(given, probabilities=False)
    prediction = source.saved
    given.notes.append(f"a prediction that caveat saved: {prediction!r}")
    if about is source:
        return PredictionTable(prediction, None, None, None, None, None, tuple(given.notes))
    named_id = choice.id is not None
    choice = recognize_attributes(choice, about.names)
    names = tuple(str(name) for name in getattr(prediction, "targets", ("",)))
    targets = names if len(names) > 1 else ("",)
    wanted = find_attributes(choice, about.names, targets, named_id, about.names)
    of_classes = hasattr(prediction, "classes")
    others = about.read(_once(wanted.names), wanted.text(of_classes))
    given.notes += about.notes
    _refuse_empty(others)
    wanted = wanted if need_truth else _labeled(wanted, others, given.notes)
    rows = None
    if missing == "drop":
        rows = _complete_rows([], wanted, others, given.notes, len(prediction))
    if rows is not None:
        others = {name: take_rows(column, rows) for name, column in others.items()}
        prediction = prediction.take(rows)
    with _explained(rows):
        if of_classes and wanted.target:
            given.target = wanted.target[0]
            given.truth = labels(others[given.target], given.target)
            truth = match(given, prediction.classes)
        else:
            truth = _numbers(wanted.target, others, missing, given.notes)
        return _finished(prediction, truth, wanted, others, given.notes, missing, rows)


def _labeled(wanted: Attributes, others: dict[str, Any], notes: list[str]) -> Attributes:
    """Leave out a target that has no value in some rows, and note it."""
    unknown = [missing_rows(others[name]) for name in wanted.target]
    if not np.any(unknown):
        return wanted
    count = np.count_nonzero(np.any(unknown, axis=0))
    notes.append(
        f"{listed(wanted.target)}: not used as target, for {count} of {len(unknown[0])} rows have "
        "no value"
    )
    return replace(wanted, target=())


def _finished(
    prediction: Any,
    truth: Any,
    wanted: Attributes,
    columns: dict[str, Any],
    notes: list[str],
    missing: str,
    rows: NDArray[np.intp] | None,
) -> PredictionTable:
    attributes = wanted.read(columns, notes, missing)
    if rows is not None and attributes["ids"] is None:
        attributes["ids"] = rows + 1
    for name, values in {"the target": truth, **attributes}.items():
        if values is not None and len(values) != len(prediction):
            raise _other_length(name, len(values), len(prediction))
    return PredictionTable(prediction, truth, **attributes, recognized=tuple(notes), rows=rows)


def _other_length(name: str, rows: int, samples: int) -> ShapeError:
    return ShapeError(
        f"{name} has {rows} row{'s' * (rows != 1)}, the prediction has {samples}; each sample "
        "needs one row, in the same order"
    )


def _complete_rows(
    columns: Sequence[tuple[str, Any]],
    wanted: Attributes,
    others: dict[str, Any],
    notes: list[str],
    samples: int | None = None,
) -> NDArray[np.intp] | None:
    """Return the rows in which nothing needed is missing, and note how many are not; None for all.

    Of several targets one must be known.
    """
    several = wanted.target if len(wanted.target) > 1 else ()
    gone = [(name, missing_rows(column)) for name, column in columns]
    gone += [(name, missing_rows(others[name])) for name in wanted.needed if name not in several]
    if several:
        unknown = [missing_rows(others[name]) for name in several]
        gone.append(("any target", np.all(unknown, axis=0)))
    total = len(gone[0][1]) if samples is None else samples
    for name, bad in gone:
        if len(bad) != total:
            raise _other_length(repr(name), len(bad), total)
    words = ", ".join(f"{bad.sum()} without {name!r}" for name, bad in gone if bad.any())
    if not words:
        return None
    rows = np.flatnonzero(~np.any([bad for _, bad in gone], axis=0))
    if not len(rows):
        raise InvalidValueError(f"missing='drop' leaves no row of {total}: {words}")
    notes.append(f"{total - len(rows)} of {total} rows are left out: {words}")
    return rows


@contextmanager
def _explained(rows: NDArray[np.intp] | None, loaded: bool = True) -> Iterator[None]:
    """Add to an error what to do about missing values, and how its row is counted."""
    try:
        yield
    except MissingError as error:
        hint = "; missing='drop' leaves them out" if loaded else ""
        raise InvalidValueError(f"{error}{hint}") from error
    except CaveatError as error:
        if rows is None or "data row" not in str(error):
            raise
        raise type(error)(f"{error} (rows are counted without those left out)") from error


def _numbers(
    names: tuple[str, ...], columns: dict[str, Any], missing: str, notes: list[str]
) -> Any:
    """Return the true values; of several targets some may be missing, and are noted."""
    if not names:
        return None
    if len(names) == 1:
        return numbers(columns[names[0]], names[0])
    allowed = missing != "error"
    truth = np.stack([numbers(columns[name], name, missing=allowed) for name in names], axis=1)
    counts = zip(names, np.isnan(truth).sum(axis=0).tolist(), strict=True)
    words = ", ".join(f"{number} without {name!r}" for name, number in counts if number)
    if words:
        notes.append(f"of {len(truth)} rows {words}: each is left out of that target only")
    return truth


def _refuse_empty(columns: dict[str, Any]) -> None:
    if any(len(column) == 0 for column in columns.values()):
        raise FileFormatError("there are columns, but no rows below their names")


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))
