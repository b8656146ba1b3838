"""Where summaries come from: predictions in memory, files, streams and clusters."""

from collections.abc import Iterable, Sequence
from functools import partial
from glob import glob, has_magic
from os import PathLike
from pathlib import Path
from typing import Any

from .._renamed import suggestion
from .._validation import check_choice
from ..exceptions import FileFormatError, OptionError
from ..files.batches import WRITTEN, batch_options
from ..files.streams import NOT_PARQUET, ending, readable
from ..predictions import Container
from ..predictions.given import as_prediction
from . import _inputs
from ._arrow import TableSummarizer, work
from ._checkpoint import Checkpoint, check_place
from ._chunks import Batches, Input, Whole
from ._inputs import PARQUET, Columns, Dataset, Files, Stream
from ._run import Run
from .batches import summarize_batch
from .summary import Summary

__all__ = ["summarize"]


def summarize(
    source: Any,
    y: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    ids: Any = None,
    metrics: Sequence[str] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    errors: str = "raise",
    progress: bool = False,
    **columns: Any,
) -> Summary:
    r"""Sum up predictions, so that they can be evaluated, merged and compared.

    Files, streams and clusters are read once, batch by batch, and only the columns that are needed.
    The result does not depend on the number of threads, files or batches.

    Parameters
    ----------
    source : prediction, path, list of paths, Arrow data, iterable of batches, or Dask or Ray data
        A prediction of any type, or an array of probabilities, with ``y``; a file, a glob, a folder
        or a list of files (Parquet, CSV, Arrow, JSON lines); a ``pyarrow`` dataset, table or
        reader, or a frame of polars (also a lazy one), pandas or DuckDB; an iterable of
        (prediction, y), (prediction, y, groups) or dicts of the arguments of one batch; a Dask
        DataFrame or a Ray dataset.
    y : array of shape (samples,) or (samples, targets), optional
        The truth of a prediction. Without it, only the predictions and their uncertainty are summed
        up.
    groups : array, Series, dict of arrays or frame, optional
        The groups of a prediction.
    sample_weight : array of shape (samples,), optional
        The weights of a prediction.
    cluster : array of shape (samples,) or str, optional
        Which samples of a prediction belong together; otherwise the column that says so.
    ids : array of shape (samples,), optional
        The names of the samples of a prediction, by which they are dealt to units and kept; by
        default their number.
    metrics : list of str, optional
    checkpoint : str or path, optional
        A file for the summary so far, which is written twice a minute. If it exists, the run goes
        on from there, and the result is the same. After an error it ends with the last file before
        that of the error, which may then be repaired.
    errors : {"raise", "skip"}, default="raise"
        What to do with a broken file, or a broken batch of predictions, among others: raise, or
        leave all of it out with a warning.
    **columns
        The columns of a source with columns, and how a text file is written, as in
        `caveat.files.read_predictions`: ``probability``, ``target``, ``group``, ``weight``, ...

    Examples
    --------
    >>> import caveat
    >>> caveat.summarize(caveat.Categorical.from_binary([0.2, 0.9, 0.6]), [0, 1, 0])
    Summary: 3 samples of a Categorical of 2 classes (0, 1) (0.4 MiB)

    Any data of Arrow, and files with ``caveat.summarize("predictions/*.parquet")``:

    >>> import pyarrow as pa
    >>> table = pa.table({"p": [0.2, 0.9, 0.6], "y": [0, 1, 0], "sex": ["f", "f", "m"]})
    >>> caveat.summarize(table, group="sex")
    Summary: 3 samples of a Categorical of 2 classes (0, 1), 2 values of sex (1.3 MiB)

    Batches of a loop:

    >>> batches = [([0.2, 0.9], [0, 1]), ([0.6], [0])]
    >>> caveat.summarize((caveat.Categorical.from_binary(p), y) for p, y in batches)
    Summary: 3 samples of a Categorical of 2 classes (0, 1) (0.4 MiB)
    """
    arrays = {"y": y, "groups": groups, "sample_weight": sample_weight, "ids": ids}
    if y is not None and hasattr(source, "shape") and hasattr(source, "dtype"):
        source = as_prediction(source, y)  # an array, a Series or a tensor
    if isinstance(source, Container):
        if columns or checkpoint is not None:
            name = next(iter(columns), "checkpoint")
            raise OptionError(f"{name}= goes with files and the like, not with a prediction")
        return summarize_batch(source, **arrays, cluster=cluster, metrics=metrics)
    named = [name for name, value in arrays.items() if value is not None]
    if named:
        raise OptionError(
            f"{named[0]}= goes with a prediction; name the columns of a "
            f"{type(source).__name__} with target=, group=, weight= and id="
        )
    if cluster is not None:
        columns["cluster"] = cluster
    return summarize_source(source, metrics, checkpoint, errors, progress, columns)[0]


def summarize_source(
    source: Any,
    metrics: Sequence[str] | None,
    checkpoint: str | PathLike[str] | None,
    errors: str,
    progress: bool,
    columns: dict[str, Any],
) -> tuple[Summary, tuple[str, ...]]:
    """Return the summary of a source, and how its columns were used."""
    check_choice(errors, "errors", ("raise", "skip"))
    columns = {name: value for name, value in columns.items() if value is not None}
    _check_options(columns)
    from .clusters import is_cluster, summarize_cluster

    if is_cluster(source):
        if checkpoint is not None:
            raise OptionError("checkpoint= needs files; a cluster keeps what is done by itself")
        return summarize_cluster(source, metrics, _without(columns, WRITTEN))
    if checkpoint is not None:
        check_place(Path(checkpoint))
    given = open_input(source, columns)
    given.skip = errors == "skip"
    tables = None
    if isinstance(given, Columns):
        given.prepare(_without(columns, WRITTEN))
        tables = TableSummarizer(given.plan, metrics, given.written, given.rows())
    elif not isinstance(given, Whole) and columns:
        raise OptionError(
            f"{next(iter(columns))}= names columns, and batches of predictions have none"
        )
    saved = None
    if checkpoint is not None:
        about = {
            "files": given.fingerprint(), "options": columns, "metrics": metrics,
            "batches": _inputs.BATCH,
        }  # fmt: skip
        saved = Checkpoint(Path(checkpoint), about)
    run = Run(given, partial(work, tables=tables, metrics=metrics), saved)
    return run(progress), given.recognized


def open_input(source: Any, columns: dict[str, Any]) -> Input:
    """Return the source as one that chunks of rows come from."""
    import pyarrow as pa
    import pyarrow.dataset

    paths = _paths(source)
    if paths is not None:
        if len(paths) == 1 and paths[0].is_dir():
            folder, paths = paths[0], _files_in(paths[0])
            if not paths:
                with readable(folder):
                    return Dataset(pyarrow.dataset.dataset(folder, partitioning="hive"))
        if {ending(path) for path in paths} == {".npz"}:
            return Whole(paths, columns)
        written = {name: columns[name] for name in WRITTEN if name in columns}
        return Files(paths, _without(columns, WRITTEN), written)
    if isinstance(source, pyarrow.dataset.Dataset):
        return Dataset(source)
    if isinstance(source, pa.RecordBatchReader):
        return Stream(source)
    if hasattr(source, "collect_batches"):  # a lazy frame of polars
        return Stream(_collected(source))
    if hasattr(source, "__arrow_c_stream__"):
        rows = len(source) if hasattr(source, "__len__") else None
        return Stream(pa.RecordBatchReader.from_stream(source), rows)
    if isinstance(source, Iterable) and not isinstance(source, str | bytes | dict):
        return Batches(source)
    raise OptionError(
        "a summary needs a prediction, files, Arrow data or batches of predictions; got a "
        f"{type(source).__name__}"
    )


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a folder; none if they are in partitions, or Parquet of any name."""
    every = {path: path.relative_to(folder).parts for path in sorted(folder.rglob("*"))}
    files = {
        path: inside for path, inside in every.items()
        if path.is_file() and not any(part.startswith((".", "_")) for part in inside)
    }  # fmt: skip
    if not files:
        raise FileFormatError(f"the folder {folder} has no files")
    others = [path for path in files if ending(path) in NOT_PARQUET]
    if not any("=" in part for inside in files.values() for part in inside[:-1]):
        known = all(path in others or ending(path) in PARQUET for path in files)
        return list(files) if known else []
    if others:
        raise FileFormatError(
            f"{others[0]} is no Parquet file; a folder such as sex=f is a column of these only"
        )
    return []


def _paths(source: Any) -> list[Path] | None:
    """Return the files that are meant; None if these are no files."""
    many = isinstance(source, list | tuple) and len(source) > 0
    given = list(source) if many else [source]
    if not all(isinstance(one, str | PathLike) for one in given):
        return None
    result: list[Path] = []
    for one in map(str, given):
        matches = sorted(glob(one, recursive=True)) if has_magic(one) else []
        if not matches and has_magic(one) and not Path(one).exists():
            raise FileNotFoundError(f"no file matches {one}")
        result += map(Path, matches or [one])
    known: dict[Path, Path] = {}
    for path in result:
        first = known.setdefault(path.resolve(), path)
        if first is not path:
            raise OptionError(f"{path} is named twice ({first}), and would count twice")
    return result


def _check_options(columns: dict[str, Any]) -> None:
    known = batch_options()
    unknown = [name for name in columns if name not in known]
    if "missing" in unknown:
        raise OptionError(
            "missing= goes with one file that is loaded (caveat.files.read_predictions); a summary "
            "needs complete rows: filter the others out of the source first"
        )
    if unknown:
        raise TypeError(
            f"summarize has no parameter {unknown[0]!r}; {suggestion(unknown[0], sorted(known))}"
        )


def _collected(lazy: Any) -> Any:
    """Return what a lazy frame is when it is computed, a part at a time."""
    import pyarrow as pa

    schema = lazy.limit(0).collect().to_arrow().schema
    frames = lazy.collect_batches(maintain_order=True)
    return pa.RecordBatchReader.from_batches(
        schema, (batch for frame in frames for batch in frame.to_arrow().to_batches())
    )


def _without(columns: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in columns.items() if name not in names}
