"""``caveat audit``: compare groups by predictions and by uncertainty."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import OptionError, ShapeError
from ._audit_tables import show_audit
from ._console import print_json, working
from ._evaluate import with_target
from ._options import PAGE, ROWS, TITLE, Columns, Numbers, about, option, read_table, shared
from ._output import check_files, say_written, write_result
from ._summarize import FilesArgument, one_file, source_name, summarized

_GROUPS, _INDIVIDUALS = "Groups", "Individuals"


@shared
def audit_command(
    files: FilesArgument,
    columns: Columns,
    numbers: Numbers,
    privileged: list[str] | None = option(
        "The group that others are compared with, as race=white; may be repeated.",
        panel=_GROUPS,
        metavar="ATTRIBUTE=VALUE",
    ),
    intersections: bool = option(
        "Audit the combinations of all attributes too.",
        "--intersections",
        default=False,
        panel=_GROUPS,
    ),
    threshold: float = option(
        "A ratio is within it from 1 - threshold to 1 / (1 - threshold).",
        default=0.2,
        panel=_GROUPS,
    ),
    decomposition: str = option("How to split the uncertainty.", default="auto", panel=_GROUPS),
    feature: list[str] | None = option(
        "Feature columns, by name or pattern; may be repeated. Adds whether samples with "
        "similar features are treated similarly.",
        panel=_INDIVIDUALS,
        metavar="COLUMNS",
    ),
    neighbors: int | None = option(
        "How many neighbors to compare with; by default 5.", panel=_INDIVIDUALS
    ),
    queries: int | None = option(
        "Number of samples to look up, drawn at random; by default all.", panel=_INDIVIDUALS
    ),
    report: Path | None = PAGE,
    title: str | None = TITLE,
    output: Path | None = ROWS,
) -> None:
    """Compare groups: who is treated differently, known less about, or has noisier data.

    Example: caveat audit predictions.csv --group race --group sex --privileged race=white
    """
    check_files(output, report)
    if feature is None and (neighbors is not None or queries is not None):
        raise OptionError(
            "--neighbors and --queries need features: name their columns with --feature"
        )
    made = summarized(files, columns, None)
    if made is None:
        table, result = _audit_file(
            one_file(files), columns, feature,
            {
                "privileged": _privileged(privileged), "intersections": intersections,
                "decomposition": decomposition, "neighbors": 5 if neighbors is None else neighbors,
                "queries": queries, "threshold": threshold, **numbers.options(),
            },
        )  # fmt: skip
    else:
        for name, given in {
            "--feature": feature, "--intersections": intersections or None,
            "--decomposition": None if decomposition == "auto" else decomposition,
        }.items():  # fmt: skip
            if given is not None:
                raise OptionError(f"{name} needs single samples; a summary has none")
        table = made
        with working(f"auditing {len(made):,} samples"):
            result = made.summary.audit(
                privileged=_privileged(privileged),
                positive=_positive(
                    columns.positive, dict(made.summary.about.shared).get("classes", ())
                ),
                threshold=threshold,
                **numbers.options(),
            )
    write_result(result, output, report, title=title, source=source_name(files))
    if numbers.json:
        print_json(as_json(result, table.recognized, report))
        return
    show_audit(result)
    say_written(result, output, report)


def _audit_file(
    file: Path, columns: Columns, feature: list[str] | None, options: dict[str, Any]
) -> tuple[Any, Any]:
    """Read a file and audit it."""
    from ..fairness import audit

    table = with_target(columns.read(file), file)
    if table.groups is None:
        raise OptionError(f"{file}: an audit compares groups; name their columns with --group")
    classes = getattr(table.prediction, "classes", np.array([])).tolist()
    with working(f"auditing {len(table):,} samples"):
        result = audit(
            table.prediction,
            table.y,
            **about(table),
            X=None if feature is None else _features(file, columns, feature, table),
            positive=_positive(columns.positive, classes),
            **options,
        )
    return table, result


def _privileged(given: Sequence[str] | None) -> dict[str, str] | None:
    if given is None:
        return None
    result = {}
    for entry in given:
        name, mark, value = entry.partition("=")
        if not (name and mark and value):
            raise OptionError(f"--privileged: expected ATTRIBUTE=VALUE, got {entry!r}")
        if name in result:
            raise OptionError(f"--privileged names {name!r} twice; one group of each is privileged")
        result[name] = value
    return result


def _positive(given: str | None, classes: Sequence[Any]) -> Any:
    """Return the label that the option means."""
    if given is None:
        return None
    return next((label for label in classes if str(label) == given), given)


def _features(file: Path, columns: Columns, patterns: Sequence[str], samples: Any) -> Any:
    """Read the features of the samples, from the file of predictions or of targets."""
    from ..files import read_features

    shared_options = ("delimiter", "decimal", "encoding", "keep_na")
    options: dict[str, Any] = {name: getattr(columns, name) for name in shared_options}
    options["feature"] = patterns
    try:
        table = read_table(read_features, file, **options)
    except OptionError:  # there is no such column
        if columns.target_file is None:
            raise
        file = columns.target_file
        table = read_table(read_features, file, **options)
    rows = slice(None) if samples.rows is None else samples.rows
    if samples.rows is None and len(table) != len(samples):
        raise ShapeError(f"{file}: --feature: each of the {len(samples)} samples needs one row")
    return table.X[rows]


def as_json(result: Any, recognized: Sequence[str], report: Path | None) -> dict[str, Any]:
    """Return the audit for machines."""
    verdict = result.verdict()
    names = ("description", "samples", "confidence", "threshold", "decomposition", "privileged")
    return {
        **{name: getattr(result, name) for name in names},
        "recognized": recognized,
        "summary": verdict.summary,
        "verdict": verdict,
        "next_step": verdict.next_step,
        "rows": result,
        "consistency": result.consistency,
        "report": report,
    }
