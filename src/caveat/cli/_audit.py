"""``caveat audit``: who the model knows less about, and whose data is noisier."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..exceptions import InvalidValueError, OptionError, ShapeError
from ._audit_tables import show_audit
from ._console import print_json, say, working
from ._evaluate import FileArgument, with_target
from ._options import Columns, about, shared
from ._output import check_output, write_table

_GROUPS, _INDIVIDUALS, _OUTPUT = "Groups", "Individuals", "Output"
_MOST_CATEGORIES = 50


@shared
def audit_command(
    file: FileArgument,
    columns: Columns,
    privileged: Annotated[
        list[str] | None,
        typer.Option(
            help="The group that others are compared with, as race=white; may be repeated.",
            metavar="ATTRIBUTE=VALUE",
            rich_help_panel=_GROUPS,
            show_default=False,
        ),
    ] = None,
    intersections: Annotated[
        bool,
        typer.Option(
            "--intersections",
            help="Audit the combinations of all attributes too.",
            rich_help_panel=_GROUPS,
        ),
    ] = False,
    threshold: Annotated[
        float,
        typer.Option(
            help="A ratio is fair from 1 - threshold to 1 / (1 - threshold).",
            rich_help_panel=_GROUPS,
        ),
    ] = 0.2,
    decomposition: Annotated[
        str, typer.Option(help="How to split the uncertainty.", rich_help_panel=_GROUPS)
    ] = "auto",
    feature: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns in which samples are alike, by name or pattern; may be repeated. Adds "
            "whether those who are alike are treated alike.",
            metavar="COLUMNS",
            rich_help_panel=_INDIVIDUALS,
            show_default=False,
        ),
    ] = None,
    neighbours: Annotated[
        int | None,
        typer.Option(
            help="How many neighbours to compare with; by default 5.",
            rich_help_panel=_INDIVIDUALS,
            show_default=False,
        ),
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(
            help="Look up only so many samples, drawn at random; by default all.",
            rich_help_panel=_INDIVIDUALS,
            show_default=False,
        ),
    ] = None,
    resamples: Annotated[
        int,
        typer.Option(help="Bootstrap resamples; 0 for no intervals.", rich_help_panel="Numbers"),
    ] = 1000,
    confidence: Annotated[
        float, typer.Option(help="Confidence of the intervals.", rich_help_panel="Numbers")
    ] = 0.95,
    random_state: Annotated[
        int,
        typer.Option(
            "--random-state",
            "--seed",
            help="Seed: the same seed, the same numbers.",
            rich_help_panel="Numbers",
        ),
    ] = 0,
    report: Annotated[
        Path | None,
        typer.Option(help="Write a page as well.", rich_help_panel=_OUTPUT, show_default=False),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(help="Its title.", rich_help_panel=_OUTPUT, show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write all rows to a .csv, .json or .parquet file.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON and nothing else.", rich_help_panel=_OUTPUT)
    ] = False,
) -> None:
    """Say who is treated otherwise, who the model knows less about, and whose data is noisier.

    Example: caveat audit predictions.csv --group race --group sex --privileged race=white
    """
    check_output(output)
    check_output(report, (".html", ".htm"))
    if feature is None and (neighbours is not None or queries is not None):
        raise OptionError("--neighbours and --queries are of individuals: name columns in which "
                          "samples are alike with --feature")  # fmt: skip
    table = with_target(columns.read(file), file)
    if table.groups is None:
        raise OptionError(f"{file}: an audit compares groups; name their columns with --group")
    options = {
        **about(table),
        "X": None if feature is None else read_features(file, columns, feature, len(table)),
        "privileged": _privileged(privileged),
        "positive": _positive(columns.positive, table.prediction),
        "intersections": intersections,
        "decomposition": decomposition,
        "neighbours": 5 if neighbours is None else neighbours,
        "queries": queries,
        "threshold": threshold,
        "confidence": confidence,
        "resamples": resamples,
        "random_state": random_state,
    }
    from ..fairness import audit

    with working(f"auditing {len(table):,} samples"):
        result = audit(table.prediction, table.y, **options)
    _write(result, output, report, title)
    if json:
        print_json(as_json(result, table.recognised, report))
        return
    show_audit(result)
    if output is not None:
        say(f"all {len(result)} rows: {output}", error=True)
    if report is not None:
        say(f"report: {report}")


def _privileged(given: Sequence[str] | None) -> dict[str, str] | None:
    if given is None:
        return None
    found = {}
    for entry in given:
        name, mark, value = entry.partition("=")
        if not (name and mark and value):
            raise OptionError(f"--privileged: expected ATTRIBUTE=VALUE, got {entry!r}")
        if name in found:
            raise OptionError(f"--privileged names {name!r} twice; one group of each is privileged")
        found[name] = value
    return found


def _positive(given: str | None, prediction: Any) -> Any:
    """Return the class that is meant by its text."""
    if given is None:
        return None
    classes = getattr(prediction, "classes", np.array([])).tolist()
    return next((label for label in classes if str(label) == given), given)


def read_features(file: Path, columns: Columns, patterns: Sequence[str], samples: int) -> Any:
    """Read the columns in which samples are alike; text becomes a column for each value."""
    import pyarrow as pa

    from ..files._columns import labels, numbers
    from ..files._patterns import expand
    from ..files._reading import about as naming
    from ..files._sources import open_source

    source = open_source(file, columns.delimiter, columns.decimal)
    if columns.target_file is not None and not _has(source, patterns):
        file = columns.target_file
        source = open_source(file, columns.delimiter, columns.decimal)
    parts = []
    with naming(file):
        found = [
            name for p in patterns for name, _ in expand(p, source.names, ("class",), "--feature")
        ]
        names = list(dict.fromkeys(found))
        for name, column in source.read(names).items():
            if isinstance(column, np.ndarray) or not _is_text(column, pa):
                values = numbers(column, name).astype(np.float64)
                parts.append(values.reshape(len(values), -1))
                continue
            known = labels(column, name)
            if len(known.values) > _MOST_CATEGORIES:
                raise InvalidValueError(
                    f"--feature: {name!r} is text with {len(known.values)} different values; leave "
                    "it out, or join values first"
                )
            parts.append(np.eye(len(known.values))[known.codes])
            say(
                f"{file.name}: {name!r} is text: one column for each of its {len(known.values)} "
                "values",
                error=True,
                style="dim",
            )
        if any(len(part) != samples for part in parts):
            raise ShapeError(f"--feature: each of the {samples} samples needs one row")
    return np.concatenate(parts, axis=1)


def _has(source: Any, patterns: Sequence[str]) -> bool:
    """Whether a file has the columns that were named."""
    from ..files._patterns import expand

    try:
        return all(expand(pattern, source.names, ("class",), "--feature") for pattern in patterns)
    except OptionError:
        return False


def _is_text(column: Any, pa: Any) -> bool:
    kind, test = column.type, pa.types
    if test.is_dictionary(kind):
        kind = kind.value_type
    return bool(test.is_string(kind) or test.is_large_string(kind) or test.is_boolean(kind))


def _write(result: Any, output: Path | None, report: Path | None, title: str | None) -> None:
    if output is not None:
        write_table(result, output)
    if report is not None:
        with working("writing the page"):
            result.report(report, title=title)


def as_json(result: Any, recognised: Sequence[str], report: Path | None) -> dict[str, Any]:
    """Return all of it for machines."""
    import json

    alike = result.consistency
    return {
        "description": result.description,
        "samples": result.samples,
        "confidence": result.confidence,
        "threshold": result.threshold,
        "decomposition": result.decomposition,
        "privileged": dict(result.privileged),
        "recognised": list(recognised),
        "summary": result.reading().summary,
        "reading": json.loads(result.reading().to_json()),
        "rows": json.loads(result.to_json()),
        "consistency": None if alike is None else alike.to_frame().to_dict("records"),
        "report": None if report is None else str(report),
    }
