"""``caveat evaluate``: the verdict on a file, and all numbers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..exceptions import OptionError
from ._console import print_json, say, working
from ._options import Columns, Rows, Settings, about, shared
from ._output import check_output, write_table
from ._tables import show_groups, show_rows, show_verdict

FileArgument = Annotated[
    Path, typer.Argument(help="CSV, Parquet, NPZ, Arrow or JSON lines.", show_default=False)
]


@shared
def evaluate_command(
    file: FileArgument,
    columns: Columns,
    settings: Settings,
    output: Rows = None,
    all_metrics: Annotated[
        bool, typer.Option("--all", help="Show every metric, not only the headline.")
    ] = False,
) -> None:
    """Say how far the predictions in a file can be trusted, with all the numbers.

    Example: caveat evaluate predictions.csv --probability 'p_*' --target y --group sex
    """
    check_output(output)
    table, evaluation = evaluate_file(file, columns, settings)
    if output is not None:
        write_table(evaluation, output)
    if settings.json:
        print_json(as_json(evaluation, table))
        return
    show_evaluation(evaluation, everything=all_metrics or settings.metric is not None)
    if output is not None:
        say(f"all {len(evaluation)} rows: {output}", error=True)


def evaluate_file(file: Path, columns: Columns, settings: Settings) -> tuple[Any, Any]:
    """Read a file and evaluate it."""
    from ..evaluation import evaluate

    settings.check()
    table = with_target(columns.read(file), file)
    with working(f"evaluating {len(table):,} samples"):
        evaluation = evaluate(
            table.prediction, table.y, ids=table.ids, **about(table), **settings.options()
        )
    return table, evaluation


def with_target(table: Any, file: Path) -> Any:
    """Return the table; raise if it has no true values."""
    if table.y is None:
        raise OptionError(
            f"{file}: no column says what is true; name it with --target, or another file that "
            "does with --target-file"
        )
    return table


def show_evaluation(evaluation: Any, everything: bool = False) -> None:
    """Print what was evaluated, the verdict, the numbers and the groups."""
    say(evaluation.description, style="bold")
    show_verdict(evaluation)
    show_rows(evaluation, everything)
    show_groups(evaluation)


def as_json(evaluation: Any, table: Any) -> dict[str, Any]:
    """Return the evaluation for machines."""
    import json

    from ..evaluation.verdict import verdict

    return {
        "description": evaluation.description,
        "samples": len(table),
        "confidence": evaluation.confidence,
        "recognized": list(table.recognized),
        "verdict": json.loads(verdict(evaluation).to_json()),
        "rows": json.loads(evaluation.to_json()),
    }
