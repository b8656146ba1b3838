"""``caveat evaluate``: the verdict on a file, and all numbers."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..exceptions import OptionError
from ._console import print_json, say, working
from ._options import ALL, ROWS, Columns, Settings, about, option, shared
from ._output import check_output, header, say_written, write_result
from ._summarize import FilesArgument, one_file, summarized
from ._tables import show_groups, show_rows, show_verdict

FAILED = 3
"""The exit code where a condition of --fail-if holds."""

FileArgument = Annotated[
    Path, typer.Argument(help="CSV, Parquet, NPZ, Arrow or JSON lines.", show_default=False)
]


@shared
def evaluate_command(
    files: FilesArgument,
    columns: Columns,
    settings: Settings,
    output: Path | None = ROWS,
    component: str = option(
        "Which part of the uncertainty: total, aleatoric or epistemic.", default="total"
    ),
    all_metrics: bool = ALL,
    fail_if: list[str] | None = option(
        "End with exit code 3 if this holds: 'ece.high > 0.05', 'accuracy.low in sex=f < "
        "0.8', 'gap accuracy.low in sex > 0.1'. Repeat for several."
    ),
) -> None:
    """Say how far the predictions in a file can be trusted, with all the numbers.

    Example: caveat evaluate predictions.csv --probability 'p_*' --target y --group sex
    """
    from ..results.gates import Gate

    check_output(output)
    gates = [Gate.parse(text) for text in fail_if or ()]
    table, evaluation = evaluate_files(files, columns, settings, component)
    failing = [sentence for gate in gates for sentence in gate.failing(evaluation)]
    write_result(evaluation, output, None)
    if settings.json:
        start = header("evaluation", ", ".join(files), settings.random_state)
        print_json(start | as_json(evaluation, table) | {"failing": failing})
    else:
        show_evaluation(evaluation, everything=all_metrics or settings.metric is not None)
        say_written(evaluation, output)
        for sentence in failing:
            say(f"caveat: {sentence}", error=True, style="red")
    if failing:
        raise typer.Exit(FAILED)


def evaluate_files(
    files: list[str], columns: Columns, settings: Settings, component: str = "total"
) -> tuple[Any, Any]:
    """Read a file, or sum files up, and evaluate what they hold."""
    from ..evaluation import evaluate

    settings.check()
    made = summarized(files, columns, settings.metric)
    if made is not None:
        if component != "total":
            raise OptionError("--component needs the predictions of one file; sums have the total")
        with working(f"evaluating {len(made):,} samples"):
            return made, made.summary.evaluate(**settings.options())
    file = one_file(files)
    table = with_target(columns.read(file), file)
    names = np.arange(1, len(table) + 1) if table.ids is None else table.ids
    with working(f"evaluating {len(table):,} samples"):
        evaluation = evaluate(
            table.prediction, table.y, ids=names, component=component, **about(table),
            **settings.options(),
        )  # fmt: skip
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
    from ..evaluation.verdict import verdict

    said = verdict(evaluation)
    return {
        "description": evaluation.description,
        "samples": len(table),
        "confidence": evaluation.confidence,
        "recognized": table.recognized,
        "verdict": said,
        "next_step": said.next_step,
        "rows": evaluation,
    }
