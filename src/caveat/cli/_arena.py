"""``caveat arena``: every calibrator against all others."""

from json import loads
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from ._console import console, print_json, say, show_table
from ._options import Json, Rows, Seed, option
from ._output import check_output, write_table


def arena_command(
    calibrator: Annotated[
        list[str] | None,
        option("Only these, such as sms or auto; may be repeated.", metavar="NAME"),
    ] = None,
    data: Annotated[
        list[str] | None, option("Only these data sets; may be repeated.", metavar="NAME")
    ] = None,
    model: Annotated[
        list[str] | None, option("Only these models; may be repeated.", metavar="NAME")
    ] = None,
    predictions: Annotated[
        Path | None, option("A folder with files of predictions of your own, and the truth.")
    ] = None,
    samples: Annotated[int, typer.Option(help="The most samples of generated data.")] = 1000,
    confidence: Annotated[float, typer.Option(help="Confidence of intervals.")] = 0.95,
    cache: Annotated[
        Path | None, option("A folder that keeps predictions, to go on from after a stop.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one on each core.")] = -1,
    random_state: Seed = 0,
    output: Rows = None,
    json: Json = False,
) -> None:
    """Compare calibrators on many pairs of data and models, by win rates.

    Data come with scikit-learn or are generated; public data are added if CAVEAT_DATA names their
    folder.

    Example: caveat arena --cache arena
    """
    from ..studies.arena import published, run_arena

    check_output(output)
    started = perf_counter()
    result = run_arena(
        calibrators=calibrator, data=data, models=model, predictions=predictions, samples=samples,
        confidence=confidence, cache=cache, n_jobs=jobs, random_state=random_state,
        progress=console(error=True).is_terminal and not json,
    )  # fmt: skip
    if output is not None:
        write_table(result, output)
    if json:
        print_json(loads(result.to_json()))
        return
    for title, header, body in result.tables():
        show_table(title, header, body, left=(0, 1))
    say(result.explanation(), style="dim")
    if any(row.printed for row in result):
        say(f"CalArena: {published()['reference']} {published()['note']}", style="dim")
    for text in result.failures:
        say(text, error=True)
    if output is not None:
        say(f"written: {output}", error=True)
    say(f"{len(result.pairs)} pairs in {perf_counter() - started:.0f} s", error=True, style="dim")
