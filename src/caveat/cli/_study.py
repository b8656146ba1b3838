"""``caveat study``: published experiments run again, the printed numbers beside ours."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ._console import console, print_json, say
from ._options import Figures, Json, Rows, Seed
from ._output import check_folder, check_output, write_table
from ._study_words import show_study

study_app = typer.Typer(
    help="Run a published experiment again, and print its numbers beside ours.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@study_app.callback()
def studies() -> None:
    """Take the name of a study."""


@study_app.command("fairness")
def fairness_command(
    dataset: Annotated[
        str, typer.Option(help="sd1, sd2, sd3, compas or adult.", show_default=False)
    ],
    scale: Annotated[
        str, typer.Option(help="quick: less than two minutes; paper: more runs, all queries.")
    ] = "quick",
    seeds: Annotated[
        int | None, typer.Option(help="How many runs; by default 40 or 200.", show_default=False)
    ] = None,
    random_state: Seed = 0,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="Of Adam, which the paper does not give; by default 0.01.", show_default=False
        ),
    ] = None,
    standardize: Annotated[
        bool, typer.Option(help="Whether features are scaled to mean 0 and variance 1.")
    ] = True,
    confidence: Annotated[float, typer.Option(help="Confidence of intervals.")] = 0.95,
    output: Rows = None,
    plots: Figures = None,
    json: Json = False,
) -> None:
    """Run the experiments of "Uncertainty as a fairness measure" on one data set.

    COMPAS and Adult are read from the folder that CAVEAT_DATA names, or fetched.

    Example: caveat study fairness --dataset sd1
    """
    from ..studies import run_fairness_study

    check_output(output)
    check_folder(plots, "--plots")
    study = run_fairness_study(
        dataset,
        seeds=seeds,
        random_state=random_state,
        scale=scale,
        learning_rate=learning_rate,
        standardize=standardize,
        confidence=confidence,
        progress=console(error=True).is_terminal,
    )
    if output is not None:
        write_table(study, output)
    written = [] if plots is None else save_plots(study, plots)
    if json:
        import json as document

        print_json(document.loads(study.to_json()))
        return
    show_study(study, f"{study.runs} runs")
    for path in (*written, *([] if output is None else [output])):
        say(f"written: {path}", error=True)


def save_plots(study: Any, folder: Path) -> list[Path]:
    """Write every figure that the study has, and return their paths."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    wanted: list[tuple[str, str, dict[str, Any]]] = [("ratios", "ratios", {})]
    for kind, short in (("scaled consistency", "consistency"), ("capacity", "capacity")):
        for measure in dict.fromkeys(row.measure for row in study.matching(kind=kind)):
            wanted.append((f"{short}-{measure}", short, {"measure": measure}))
    paths = []
    for name, kind, options in wanted:
        # A figure of its own: no window, and nothing left open in pyplot.
        figure = Figure(figsize=(7.5, 8.0 if kind == "ratios" else 4.5), layout="constrained")
        study.plot(kind, ax=figure.subplots(), **options)
        path = folder / f"{study.dataset}-{name.replace('_', '-')}.png"
        figure.savefig(path, dpi=120)
        paths.append(path)
    return paths
