"""``caveat summarize`` and ``caveat merge``, and files that other commands read as summaries."""

from dataclasses import dataclass
from glob import glob, has_magic
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import OptionError
from ._console import console, in_options, print_json, say
from ._options import JSON, Columns, argument, option, shared
from ._options import metric_names as _metric_names
from ._output import check_output

if TYPE_CHECKING:
    from ..summaries import Summary

ROWS, BYTES = 2 * 10**6, 2**29
"""Above so many rows of Parquet, or bytes of another file, a file is summed up, not loaded."""

_ENDING = ".caveat"

FilesArgument = Annotated[
    list[str],
    typer.Argument(
        help="CSV, Parquet, NPZ, Arrow or JSON lines; several files, a glob of them, or a summary "
        "(.caveat).",
        metavar="FILE...",
        show_default=False,
    ),
]
OUTPUT = option("The summary, a .caveat file.", "--output", "-o", default=...)


@dataclass(frozen=True)
class Summarized:
    """A summary, and how the columns of its files were used."""

    summary: "Summary"
    recognized: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.summary.samples


@shared
def summarize_command(
    files: FilesArgument,
    columns: Columns,
    output: Path = OUTPUT,
    checkpoint: Path | None = option(
        "Where the summary so far is written; a run that ended early goes on from it."
    ),
    skip: bool = option("Leave broken files out, with a warning.", "--skip-broken", default=False),
    metric: list[str] | None = option(
        "A metric to be able to evaluate; may be repeated. By default all.",
        metavar="NAME",
        autocompletion=_metric_names,
    ),
    json: bool = JSON,
) -> None:
    """Sum up predictions of any number: a small file that merges, and is read as predictions are.

    Example: caveat summarize 'predictions/*.parquet' -o week-46.caveat --group sex
    """
    check_output(output, (_ENDING,))
    check_output(checkpoint, (_ENDING,), "--checkpoint")
    result = _summed(files, columns, metric, checkpoint, "skip" if skip else "raise")
    _finish(result.summary, output, json, files)


def merge_command(
    files: list[Path] = argument("Summaries.", metavar="FILE..."),
    output: Path = OUTPUT,
    json: bool = JSON,
) -> None:
    """Add summaries up: of days, sites or workers.

    Example: caveat merge monday.caveat tuesday.caveat -o both.caveat
    """
    from ..summaries import merge

    check_output(output, (_ENDING,))
    summaries = [load_summary(file) for file in files]
    known: dict[bytes, Path] = {}
    for file, one in zip(files, summaries, strict=True):
        first = known.setdefault(sha256(file.read_bytes()).digest(), file)
        if first is not file and one.samples:
            raise OptionError(f"{file} holds the same as {first}: its samples would count twice")
    _finish(merge(summaries), output, json, files)


def _finish(summary: "Summary", output: Path, json: bool, files: Any) -> None:
    summary.save(output)
    if json:
        print_json(
            {
                "summary": output,
                "samples": summary.samples,
                "description": summary.description,
                "source": files,
                "groups": {name: list(parts) for name, parts in summary.groups().items()},
            }
        )
        return
    say(summary)
    say(f"summary: {output}", error=True)


def load_summary(path: str | Path) -> "Summary":
    """Read a summary; raise if the file is something else."""
    from ..loading import load
    from ..summaries import Summary

    result = load(path)
    if not isinstance(result, Summary):
        raise OptionError(f"{path} holds a {type(result).__name__}, not a summary")
    return result


def is_summary(path: str) -> bool:
    """Whether the ending of a file is that of summaries."""
    return Path(path).suffix.lower() == _ENDING


def summarized(files: list[str], columns: Columns, metrics: list[str] | None) -> Summarized | None:
    """Return the summary of files, or None for one file that is better loaded as it is."""
    stored = [file for file in files if is_summary(file)]
    if stored:
        return _stored(files, stored, columns)
    reason = _reason(files)
    if reason is None:
        return None
    say(f"{reason}: summed up, not loaded, as caveat summarize does", error=True, style="dim")
    return _summed(files, columns, metrics)


def source_name(files: list[str]) -> str:
    """Return the files in a few words, without their folders."""
    return Path(files[0]).name if len(files) == 1 else f"{len(files)} files"


def one_file(files: list[str]) -> Path:
    """Return the only file."""
    return Path(files[0])


def _stored(files: list[str], stored: list[str], columns: Columns) -> Summarized:
    from ..summaries import merge

    if len(stored) < len(files):
        other = next(file for file in files if file not in stored)
        raise OptionError(f"{stored[0]} is a summary and {other} is not: caveat summarize makes it")
    given = list(columns.given().values())
    if given:
        raise OptionError(
            f"{given[0]} goes with predictions; what is in {stored[0]} was settled when it was made"
        )
    return Summarized(merge([load_summary(file) for file in files]))


def _reason(files: list[str]) -> str | None:
    """Return why files are to be summed up; None for one that is loaded."""
    if len(files) > 1:
        return f"{len(files)} files"
    path = Path(files[0])
    if has_magic(files[0]) and not path.exists():
        return f"{len(glob(files[0], recursive=True))} files"
    if path.is_dir():
        return f"the files in {path}"
    if not path.is_file():
        return None
    if path.suffix.lower() in (".parquet", ".pq"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            rows = pq.read_metadata(path).num_rows
        except (pa.ArrowException, OSError):  # reading it says what is wrong
            return None
        return f"{rows:,} rows" if rows > ROWS else None
    size = path.stat().st_size
    large = size > BYTES and path.suffix.lower() != ".npz"
    return f"{size / 2**20:,.0f} MiB" if large else None


def _summed(
    files: list[str],
    columns: Columns,
    metrics: list[str] | None,
    checkpoint: Path | None = None,
    errors: str = "raise",
) -> Summarized:
    from ..summaries.sources import batch_options, summarize_source

    options, given = columns.options(), columns.given()
    for name, flag in given.items():
        if name not in batch_options():
            raise OptionError(f"{flag} goes with one file that is loaded, not with a summary")
    known = {name: value for name, value in options.items() if name in given}
    shown = console(error=True).is_terminal
    result = Summarized(*summarize_source(files, metrics, checkpoint, errors, shown, known))
    for sentence in result.recognized:
        say(in_options(sentence), error=True, style="dim")
    return result
