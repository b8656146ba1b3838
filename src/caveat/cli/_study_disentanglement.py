"""``caveat study disentanglement``: is the split real, as published, the numbers beside ours."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..exceptions import OptionError
from ._console import console, print_json, say, show_table
from ._output import check_output, write_table

_STYLES = {"survives": "green", "does not survive": "red", "open": "yellow"}
_TEXT = 3
"""The first columns of a table are words."""


def disentanglement_command(
    dataset: Annotated[
        str,
        typer.Option(
            help="wine, two-moons, triangle, fashion-mnist, cifar10, or a table file.",
            show_default=False,
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="mc-dropout, dropconnect, flipout or deep-ensemble; may be repeated. All by "
            "default.",
            show_default=False,
        ),
    ] = None,
    decomposition: Annotated[
        list[str] | None,
        typer.Option(
            help="information, gaussian-logits, ...; may be repeated. These two by default.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        str, typer.Option(help="quick: minutes on a CPU; paper: the whole protocol.")
    ] = "quick",
    repeats: Annotated[
        int | None,
        typer.Option(help="How often to run it all; by default 5.", min=1, show_default=False),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", "--random-state", help="The same seed, the same numbers.")
    ] = 0,
    target: Annotated[
        str | None,
        typer.Option(help="Of a table file: the column of the classes.", show_default=False),
    ] = None,
    detection: Annotated[
        bool | None,
        typer.Option(
            "--detection/--no-detection",
            help="Whether to leave each class out (table 4); by default for tables.",
            show_default=False,
        ),
    ] = None,
    dropout_rates: Annotated[
        str | None,
        typer.Option(
            help="Of figure 8, as 0.1,0.5,0.9; each a whole sweep.",
            metavar="LIST",
            show_default=False,
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of intervals.")] = 0.95,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A folder from which a stopped run goes on.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write all rows to a .csv, .json or .parquet file."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page, an .html file.", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            "--plots",
            help="Write the figures as PNG files into this folder.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Run the experiments of "Measuring orthogonality" on one data set.

    Images are read from the folder that CAVEAT_DATA names, or fetched.

    Example: caveat study disentanglement --dataset wine --method deep-ensemble
    """
    from ..studies import run_disentanglement_study

    _check_places(output, report, plot)
    given: dict[str, Any] = {
        "methods": method,
        "decompositions": decomposition,
        "dropout_rates": None if dropout_rates is None else _numbers(dropout_rates),
    }
    study = run_disentanglement_study(
        dataset,
        **{name: value for name, value in given.items() if value is not None},
        scale=scale,
        repeats=repeats,
        random_state=seed,
        checkpoint=checkpoint,
        target=target,
        detection=detection,
        confidence=confidence,
        progress=console(error=True).is_terminal,
    )
    written = [] if plot is None else save_figures(study, plot)
    if output is not None:
        write_table(study, output)
        written.append(output)
    if report is not None:
        written.append(study.report(report))
    if json:
        import json as document

        print_json(document.loads(study.to_json()))
        return
    show_disentanglement(study)
    for path in written:
        say(f"written: {path}", error=True)


def _check_places(output: Path | None, report: Path | None, plot: Path | None) -> None:
    """Refuse, before any work is done, what could not be written after it."""
    check_output(output)
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"--report {report}: the ending must be .html")
    if report is not None and not report.parent.is_dir():
        raise OptionError(f"--report {report}: there is no folder {report.parent}")
    if plot is not None and plot.exists() and not plot.is_dir():
        raise OptionError(f"--plot {plot}: this is a file; give a folder")


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(
            f"--dropout-rates must be numbers with commas, as 0.1,0.5,0.9; got {text!r}"
        ) from None


def show_disentanglement(study: Any) -> None:
    """Print the tables of a study, where it differs, what survives, and what was read how."""
    say(study.description, style="bold")
    for title, header, body in study.tables():
        show_table(title, header, body, left=tuple(range(_TEXT)))
    say(study.explanation(), style="dim")
    say("\nWhere ours differ by more than two spreads", style="bold")
    for line in _differences(study):
        say(line)
    say("\nWhat the paper concludes", style="bold")
    for conclusion in study.conclusions:
        say(str(conclusion), style=_STYLES[conclusion.verdict])
    say("\nNotes", style="bold")
    for note in study.notes:
        say(f"- {note}")
    say(f"{study.repeats} repeats in {study.seconds:.0f} s", error=True, style="dim")


def _differences(study: Any) -> list[str]:
    from ..studies._disentanglement_conclusions import words_of
    from ..studies._disentanglement_paper import METHODS
    from ..studies._disentanglement_result import measure_words

    judged = [row for row in study.rows if row.differs is not None]
    if not judged:
        return ["nothing was judged: the runs are not those that the paper describes"]
    found = study.differences
    lines = [
        f"- {row.source}, {METHODS[row.method]}, {words_of(row.decomposition)}, "
        f"{measure_words(row)}: {row.printed} there, {row.mean:.3f} here"
        for row in found
    ]
    return [f"{len(found)} of {len(judged)} numbers", *lines]


def save_figures(study: Any, folder: Path) -> list[Path]:
    """Write every figure that the study has, and return their paths."""
    import numpy as np
    from matplotlib import pyplot

    from ..studies._disentanglement_plots import kinds_of

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind, options in kinds_of(study):
        axes = study.plot(kind, **options)
        figure = np.asarray(axes, dtype=object).ravel()[0].figure
        name = options.get("figure", kind).replace(" ", "-")
        path = folder / f"{study.dataset}-{name}.png"
        figure.savefig(path, dpi=120)
        pyplot.close(figure)
        paths.append(path)
    return paths
