"""``caveat arena``: every calibrator against all others."""

from pathlib import Path
from time import perf_counter

from ._console import console, print_json, say, show_table
from ._options import JSON, ROWS, SEED, option
from ._output import check_output, write_table


def arena_command(
    calibrator: list[str] | None = option(
        "Only these, such as sms or auto; may be repeated.", metavar="NAME"
    ),
    data: list[str] | None = option("Only these data sets; may be repeated.", metavar="NAME"),
    model: list[str] | None = option("Only these models; may be repeated.", metavar="NAME"),
    predictions: Path | None = option(
        "A folder with files of predictions of your own, and the truth."
    ),
    samples: int = option("The most samples of generated data.", default=1000),
    confidence: float = option("Confidence of intervals.", default=0.95),
    cache: Path | None = option("A folder that keeps predictions, to go on from after a stop."),
    jobs: int = option("Processes; -1 for one on each core.", default=-1),
    random_state: int = SEED,
    output: Path | None = ROWS,
    json: bool = JSON,
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
        print_json(result)
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
