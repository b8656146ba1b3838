"""The options that commands share."""

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ._console import in_options, say, working

_COLUMNS = "Columns, by name or pattern; common names are recognized"
_FILES = "How the file is written"
_SEEN = "detected by default"
_NUMBERS = "Numbers"
_OUTPUT = "Output"


def option(help: str, *names: str, panel: str | None = None, metavar: str | None = None) -> Any:
    """Return an option whose default is not shown: there is none, or its help says it."""
    return typer.Option(
        *names, help=help, metavar=metavar, rich_help_panel=panel, show_default=False
    )


def _columns(help: str, metavar: str = "COLUMNS") -> Any:
    return option(help, panel=_COLUMNS, metavar=metavar)


def _file(help: str, metavar: str) -> Any:
    return option(help, panel=_FILES, metavar=metavar)


def _flag(name: str, help: str) -> Any:
    return typer.Option(name, help=help, rich_help_panel=_FILES)


def metric_names(incomplete: str) -> list[str]:
    """Return the names and aliases of metrics with this prefix, for completion in the shell."""
    from ..metrics import METRICS

    names = [name for entry in METRICS.values() for name in (entry.name, *entry.aliases)]
    return sorted({name for name in names if name.startswith(incomplete)})


@dataclass
class Columns:
    """The roles of the columns, and the format of the file."""

    probability: Annotated[
        list[str] | None,
        _columns(
            "Class probabilities: 'p_*', 'p_{class}_{member}', or that of the positive class."
        ),
    ] = None
    logit: Annotated[list[str] | None, _columns("Logits of classes, in the same way.")] = None
    mean: Annotated[
        list[str] | None, _columns("Means: 'mean', 'mean_{target}', 'mean_{member}'.")
    ] = None
    variance: Annotated[list[str] | None, _columns("Variances of the means.")] = None
    std: Annotated[list[str] | None, _columns("Or standard deviations of the means.")] = None
    quantile: Annotated[
        list[str] | None, _columns("Quantiles, ending in the level: 'q*' for q0.05, q0.95.")
    ] = None
    lower: Annotated[list[str] | None, _columns("Lower ends of intervals.")] = None
    upper: Annotated[list[str] | None, _columns("Upper ends of intervals.")] = None
    half_width: Annotated[
        list[str] | None, _columns("Half the width of intervals around the means.")
    ] = None
    coverage: Annotated[
        float | None, _columns("Nominal coverage of the intervals, as 0.9.", "SHARE")
    ] = None
    target: Annotated[list[str] | None, _columns("True labels or values.")] = None
    group: Annotated[list[str] | None, _columns("A group of samples; may be repeated.")] = None
    id: Annotated[str | None, _columns("The name of each sample.")] = None
    weight: Annotated[str | None, _columns("The weight of each sample.")] = None
    cluster: Annotated[
        str | None, _columns("Samples that belong together, such as those of one patient.")
    ] = None
    positive: Annotated[
        str | None, _columns("The class that a single probability column is of.", "LABEL")
    ] = None
    normalize: Annotated[bool, _flag("--normalize", "Divide probabilities by their sum.")] = False
    percent: Annotated[
        bool, _flag("--percent", "Probabilities are in percent: divide them by 100.")
    ] = False
    sort_quantiles: Annotated[bool, _flag("--sort-quantiles", "Sort quantiles that cross.")] = False
    target_file: Annotated[
        Path | None, _file("Another file for target, groups and ids, row by row.", "FILE")
    ] = None
    delimiter: Annotated[str | None, _file(f"Separator of a CSV file; {_SEEN}.", "MARK")] = None
    decimal: Annotated[str | None, _file(f"Decimal mark of a CSV file; {_SEEN}.", "MARK")] = None
    encoding: Annotated[str | None, _file(f"Encoding of a CSV file; {_SEEN}.", "NAME")] = None
    missing: Annotated[
        str,
        _file(
            "Missing values: 'drop' leaves out rows without prediction, target, weight or cluster, "
            "which are an error otherwise; 'error' also refuses a missing group, which is the "
            "group (missing) by default.",
            "group|error|drop",
        ),
    ] = "group"
    keep_na: Annotated[
        bool, _flag("--keep-na", "Take NA, null and the like in a CSV as text, not as missing.")
    ] = False

    def read(self, path: Path, **changes: Any) -> Any:
        """Read a file with these columns, and print on stderr what was recognized."""
        from ..files import read_predictions

        return read_table(read_predictions, path, **{**self.options(), **changes})

    def options(self) -> dict[str, Any]:
        """Return the arguments of `read_predictions`."""
        options = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != "sort_quantiles"
        }
        options |= {"group": self.group or (), "sort": self.sort_quantiles}
        for name, value in options.items():
            if isinstance(value, list) and len(value) == 1 and name != "group":
                options[name] = value[0]
        return options

    def given(self) -> dict[str, str]:
        """Return the options that are not as by default, by the names of their arguments."""
        return {
            "sort"
            if field.name == "sort_quantiles"
            else field.name: f"--{field.name.replace('_', '-')}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }


def read_table(read: Callable[..., Any], path: Path, **options: Any) -> Any:
    """Read a file, and print on stderr what was recognized."""
    with working(f"reading {path.name}"):
        table = read(path, **options)
    for sentence in table.recognized:
        say(f"{path.name}: {in_options(sentence)}", error=True, style="dim")
    return table


Seed = Annotated[
    int,
    typer.Option(
        "--random-state",
        "--seed",
        help="Seed: the same seed, the same numbers.",
        rich_help_panel=_NUMBERS,
    ),
]
Rows = Annotated[
    Path | None,
    option("Write all rows to a .csv, .json or .parquet file.", "--output", "-o", panel=_OUTPUT),
]
Page = Annotated[Path | None, option("Write a page as well, an .html file.", panel=_OUTPUT)]
Title = Annotated[str | None, option("Title of the page.", panel=_OUTPUT)]
Figures = Annotated[
    Path | None, option("Write the figures as PNG files into this folder.", panel=_OUTPUT)
]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON and nothing else.", rich_help_panel=_OUTPUT)
]


@dataclass
class Numbers:
    """Resampling, and the form of the output."""

    resamples: Annotated[
        int, typer.Option(help="Bootstrap resamples; 0 for no intervals.", rich_help_panel=_NUMBERS)
    ] = 1000
    confidence: Annotated[
        float, typer.Option(help="Confidence of intervals and promises.", rich_help_panel=_NUMBERS)
    ] = 0.95
    random_state: Seed = 0
    json: Json = False

    def options(self) -> dict[str, Any]:
        """Return the arguments of a function that resamples."""
        return {
            "resamples": self.resamples,
            "confidence": self.confidence,
            "random_state": self.random_state,
        }


@dataclass
class Settings(Numbers):
    """Resampling and metrics, and the form of the output."""

    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="A metric by name or alias, such as ece; may be repeated. By default all.",
            metavar="NAME",
            autocompletion=metric_names,
            rich_help_panel=_NUMBERS,
            show_default=False,
        ),
    ] = None

    def check(self) -> None:
        """Raise if a metric is misspelled, before a large file is read."""
        from ..metrics import METRICS

        for name in self.metric or ():
            METRICS.find(name)

    def options(self) -> dict[str, Any]:
        """Return the arguments of `evaluate` and `compare`."""
        return {"metrics": self.metric, **super().options()}


def about(table: Any) -> dict[str, Any]:
    """Return groups, weights and clusters of a table as arguments of `evaluate`."""
    # A dict keeps each column's own type; a frame would be turned into one array of text.
    groups = None if table.groups is None else {name: table.groups[name] for name in table.groups}
    return {"groups": groups, "sample_weight": table.sample_weight, "cluster": table.cluster}


def shared(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of each dataclass among its arguments."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters: list[inspect.Parameter] = []
    bundles: dict[str, Any] = {}
    for parameter in own:
        if dataclasses.is_dataclass(parameter.annotation):
            bundles[parameter.name] = parameter.annotation
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    for bundle in bundles.values():
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=field.type,
            )
            for field in dataclasses.fields(bundle)
        ]

    def run(**values: Any) -> None:
        made = {
            name: bundle(**{f.name: values.pop(f.name) for f in dataclasses.fields(bundle)})
            for name, bundle in bundles.items()
        }
        command(**values, **made)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
