"""``caveat study``: published experiments run again, the printed numbers beside ours."""

from contextlib import suppress
from json import loads
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from .._renamed import suggestion
from ..exceptions import OptionError
from ..results.words import counted
from ._console import console, print_json, say, show_table
from ._options import FIGURES, JSON, PAGE, ROWS, SEED, argument, option
from ._output import check_files, check_folder, write_table
from ._tables import show_statements

_SETTINGS = option("An option of the study; may be repeated.", "--set", metavar="OPTION=VALUE")


class StudyHelp(TyperCommand):
    """Help that ends with the studies that there are, their data sets and options."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the command, then one paragraph for each study."""
        from ..studies import STUDIES

        super().format_help(ctx, formatter)
        for study in STUDIES.values():
            say(f"{study.name}: {study.paper.reference}", style="bold")
            more = ", or a table file" if study.takes_files else ""
            say(f"  --dataset {', '.join(study.datasets)}{more}")
            for one in study.options:
                if one.text:
                    say(f"  --set {one.name}=  {one.help}")


def study_command(
    name: str = argument("Which study; see below."),
    dataset: str = option("A data set of the paper, or a table file.", default=...),
    scale: str = option(
        "quick: minutes on a CPU, the default; or paper.", default="quick", show_default=False
    ),
    repeats: int | None = option("How many runs; a study has its default."),
    settings: list[str] | None = _SETTINGS,
    random_state: int = SEED,
    confidence: float = option(
        "Confidence of intervals; 0.95 by default.", default=0.95, show_default=False
    ),
    checkpoint: Path | None = option("A folder to continue a stopped study from."),
    output: Path | None = ROWS,
    report: Path | None = PAGE,
    plots: Path | None = FIGURES,
    json: bool = JSON,
) -> None:
    """Run a published experiment again, and print its numbers beside ours.

    Public data are read from the folder that CAVEAT_DATA names, or fetched.

    Example: caveat study fairness --dataset sd1
    """
    from ..studies import run_study

    check_files(output, report)
    check_folder(plots, "--plots")
    own = _options(name, settings or [])
    watched = console(error=True).is_terminal
    result = run_study(
        name, dataset, scale=scale, repeats=repeats, random_state=random_state,
        confidence=confidence, checkpoint=checkpoint, progress=watched, **own,
    )  # fmt: skip
    written = [] if plots is None else save_plots(result, plots)
    if output is not None:
        write_table(result, output)
        written.append(output)
    if report is not None:
        written.append(result.report(report))
    if json:
        print_json(result)
        return
    show_study(result)
    for path in written:
        say(f"written: {path}", error=True)


def _options(name: str, settings: list[str]) -> dict[str, Any]:
    """Return the options of a study from the command line."""
    from ..studies import STUDIES

    known = [option.name for option in STUDIES[name].options if option.text]
    result = {}
    for text in settings:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals:
            names = ", ".join(known)
            raise OptionError(f"--set must be OPTION=VALUE with one of {names}; got {text!r}")
        if key not in known:
            advice = suggestion(key, known)
            raise OptionError(f"--set: study {name!r} has no option {key!r}; {advice}")
        several = [_value(part.strip()) for part in value.split(",")]
        result[key] = several if len(several) > 1 else several[0]
    return result


def _value(text: str) -> Any:
    """Return yes or no as a bool, a number as a number, and other text as it is."""
    if text.lower() in ("yes", "no"):
        return text.lower() == "yes"
    with suppress(ValueError):
        return loads(text)
    return text


def show_study(result: Any) -> None:
    """Print the tables of a study, its conclusions, what differs, and how the paper was read."""
    say(result.description, style="bold")
    for title, header, body in result.tables():
        show_table(title, header, body, left=tuple(range(header.index("paper"))))
    say(result.explanation(), style="dim")
    say("\nWhat the paper concludes", style="bold")
    show_statements(result.verdict().statements)
    say("\nPrinted numbers that do not agree with ours", style="bold")
    if not result.judged:
        say("none were compared: the runs are not those that the paper describes")
    for row in result.differences:
        title, names, _ = result.study.label(row)
        # A title that begins with the source says what the names say as well.
        place = row.source if title.startswith(row.source) else title
        parts = ", ".join(filter(None, (place, *names.values())))
        say(f"- {parts}: {row.printed} printed, {row.mean:.3g} here")
    say("\nNotes", style="bold")
    for note in result.notes:
        say(f"- {note}")
    say(f"{counted(result.repeats, 'run')} in {result.seconds:.0f} s", error=True, style="dim")


def save_plots(result: Any, folder: Path) -> list[Path]:
    """Write every chart of a study as a PNG file, and return their paths."""
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind, charts in result.charts().items():
        for number, chart in enumerate(charts, start=1):
            figure = chart.plot().figure
            place = f"-{number}" if len(charts) > 1 else ""
            paths.append(folder / f"{result.dataset}-{kind}{place}.png")
            figure.savefig(paths[-1], dpi=120)
            pyplot.close(figure)
    return paths
