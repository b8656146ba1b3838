"""``caveat study disentanglement``: is the split real, as published, the numbers beside ours."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..exceptions import OptionError
from ._console import console, print_json, say
from ._options import Figures, Json, Page, Rows, Seed
from ._output import check_folder, check_output, check_page, write_table
from ._study_words import show_study

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
    random_state: Seed = 0,
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
    output: Rows = None,
    report: Page = None,
    plots: Figures = None,
    json: Json = False,
) -> None:
    """Run the experiments of "Measuring orthogonality" on one data set.

    Images are read from the folder that CAVEAT_DATA names, or fetched.

    Example: caveat study disentanglement --dataset wine --method deep-ensemble
    """
    from ..studies import run_disentanglement_study

    check_output(output)
    check_page(report)
    check_folder(plots, "--plots")
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
        random_state=random_state,
        checkpoint=checkpoint,
        target=target,
        detection=detection,
        confidence=confidence,
        progress=console(error=True).is_terminal,
    )
    written = [] if plots is None else save_figures(study, plots)
    if output is not None:
        write_table(study, output)
        written.append(output)
    if report is not None:
        written.append(study.report(report))
    if json:
        import json as document

        print_json(document.loads(study.to_json()))
        return
    show_study(study, f"{study.repeats} repeats", left=_TEXT, more=_differences(study))
    for path in written:
        say(f"written: {path}", error=True)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(
            f"--dropout-rates must be numbers with commas, as 0.1,0.5,0.9; got {text!r}"
        ) from None


def _differences(study: Any) -> list[str]:
    """Return a headline, and a line for each number that is not as printed."""
    judged = [row for row in study.rows if row.differs is not None]
    headline = "Where ours differ by more than two spreads"
    if not judged:
        return [headline, "nothing was judged: the runs are not those that the paper describes"]
    found = study.differences
    lines = [
        f"- {row.source}, {', '.join(study.names(row))}: {row.printed} there, {row.mean:.3f} here"
        for row in found
    ]
    return [headline, f"{len(found)} of {len(judged)} numbers", *lines]


def save_figures(study: Any, folder: Path) -> list[Path]:
    """Write every figure that the study has, and return their paths."""
    import numpy as np
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind, options in study.kinds():
        axes = study.plot(kind, **options)
        figure = np.asarray(axes, dtype=object).ravel()[0].figure
        name = options.get("figure", kind).replace(" ", "-")
        path = folder / f"{study.dataset}-{name}.png"
        figure.savefig(path, dpi=120)
        pyplot.close(figure)
        paths.append(path)
    return paths
