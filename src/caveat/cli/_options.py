"""The options that commands share."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform

import typer
from typer.models import OptionInfo

from ._console import in_options, say, working

_COLUMNS = "Columns, by name or pattern; common names are recognized"
_FILES = "How the file is written"
_SEEN = "detected by default"
_NUMBERS = "Numbers"
_OUTPUT = "Output"
KEEP_NA = "Take NA, null and the like in a CSV as text, not as missing."

T = TypeVar("T")


def option(
    help: str, *names: str, default: Any = None, panel: str | None = None, **more: Any
) -> Any:
    """Return an option as the default of a parameter or of a field; ``...`` makes it required."""
    return typer.Option(default, *names, help=help, rich_help_panel=panel, **more)


def argument(help: str, *, default: Any = ..., metavar: str | None = None) -> Any:
    """Return an argument as the default of a parameter."""
    return typer.Argument(default, help=help, metavar=metavar, show_default=False)


@dataclass_transform()
def bundle(panel: str | None = None) -> Callable[[type[T]], type[T]]:
    """Return a decorator of classes whose fields are options, which `shared` gives to a command.

    They are shown in a panel of the help; a flag that is off by default has the name of its field.
    """

    def decorate(cls: type[T]) -> type[T]:
        for name, value in list(vars(cls).items()):
            if isinstance(value, OptionInfo):
                value.rich_help_panel = value.rich_help_panel or panel
                if value.default is False and not value.param_decls:
                    value.param_decls = (f"--{name.replace('_', '-')}",)
                setattr(cls, name, field(default=value.default, metadata={"option": value}))
        return dataclass(cls)

    return decorate


def _columns(help: str, metavar: str = "COLUMNS") -> Any:
    return option(help, metavar=metavar)


def _file(help: str, metavar: str | None = None, default: Any = None) -> Any:
    return option(help, default=default, panel=_FILES, metavar=metavar, show_default=False)


def metric_names(incomplete: str) -> list[str]:
    """Return the names and aliases of metrics with this prefix, for completion in the shell."""
    from ..metrics import METRICS

    names = [name for entry in METRICS.values() for name in (entry.name, *entry.aliases)]
    return sorted({name for name in names if name.startswith(incomplete)})


@bundle(_COLUMNS)
class Columns:
    """The roles of the columns, and the format of the file."""

    probability: list[str] | None = _columns(
        "Class probabilities: 'p_*', 'p_{class}_{member}', or that of the positive class."
    )
    logit: list[str] | None = _columns("Logits of classes, in the same way.")
    mean: list[str] | None = _columns("Means: 'mean', 'mean_{target}', 'mean_{member}'.")
    variance: list[str] | None = _columns("Variances of the means.")
    std: list[str] | None = _columns("Or standard deviations of the means.")
    quantile: list[str] | None = _columns("Quantiles, ending in the level: 'q*' for q0.05, q0.95.")
    lower: list[str] | None = _columns("Lower ends of intervals.")
    upper: list[str] | None = _columns("Upper ends of intervals.")
    half_width: list[str] | None = _columns("Half the width of intervals around the means.")
    coverage: float | None = _columns("Nominal coverage of the intervals, as 0.9.", "SHARE")
    target: list[str] | None = _columns("True labels or values.")
    group: list[str] | None = _columns("A group of samples; may be repeated.")
    id: str | None = _columns("The name of each sample.")
    weight: str | None = _columns("The weight of each sample.")
    cluster: str | None = _columns("Samples that belong together, such as those of one patient.")
    positive: str | None = _columns("The class that a single probability column is of.", "LABEL")
    normalize: bool = _file("Divide probabilities by their sum.", default=False)
    percent: bool = _file("Probabilities are in percent: divide them by 100.", default=False)
    sort_quantiles: bool = _file("Sort quantiles that cross.", default=False)
    target_file: Path | None = _file("Another file for target, groups and ids, row by row.", "FILE")
    delimiter: str | None = _file(f"Separator of a CSV file; {_SEEN}.", "MARK")
    decimal: str | None = _file(f"Decimal mark of a CSV file; {_SEEN}.", "MARK")
    encoding: str | None = _file(f"Encoding of a CSV file; {_SEEN}.", "NAME")
    missing: str = _file(
        "Missing values: 'drop' leaves out rows without prediction, target, weight or cluster, "
        "which are an error otherwise; 'error' also refuses a missing group, which is the "
        "group (missing) by default.",
        "group|error|drop",
        default="group",
    )
    keep_na: bool = _file(KEEP_NA, default=False)

    def read(self, path: Path, **changes: Any) -> Any:
        """Read a file with these columns, and print on stderr what was recognized."""
        from ..files import read_predictions

        return read_table(read_predictions, path, **{**self.options(), **changes})

    def read_alike(self, path: Path, classes: Any, **changes: Any) -> Any:
        """Read a file with the classes of another one, in their order."""
        from ..predictions.categorical import order_classes

        table = self.read(path, classes=classes, **changes)
        return replace(table, prediction=order_classes(table.prediction, classes))

    def options(self) -> dict[str, Any]:
        """Return the arguments of `read_predictions`."""
        options = {f.name: getattr(self, f.name) for f in fields(self)}
        options |= {"group": self.group or (), "sort": options.pop("sort_quantiles")}
        for name, value in options.items():
            if isinstance(value, list) and len(value) == 1 and name != "group":
                options[name] = value[0]
        return options

    def given(self) -> dict[str, str]:
        """Return the options that are not as by default, by the names of their arguments."""
        changed = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        arguments = {"sort_quantiles": "sort"}
        return {arguments.get(name, name): f"--{name.replace('_', '-')}" for name in changed}


def read_table(read: Callable[..., Any], path: Path, **options: Any) -> Any:
    """Read a file, and print on stderr what was recognized."""
    with working(f"reading {path.name}"):
        table = read(path, **options)
    for sentence in table.recognized:
        say(f"{path.name}: {in_options(sentence)}", error=True, style="dim")
    return table


SEED = option(
    "Seed: the same seed, the same numbers.", "--random-state", "--seed", default=0, panel=_NUMBERS
)
ROWS = option("Write all rows to a .csv, .json or .parquet file.", "--output", "-o", panel=_OUTPUT)
PAGE = option("Write a page as well, an .html file.", panel=_OUTPUT)
TITLE = option("Title of the page.", panel=_OUTPUT)
FIGURES = option("Write the figures as PNG files into this folder.", panel=_OUTPUT)
JSON = option("Print JSON and nothing else.", "--json", default=False, panel=_OUTPUT)
ALL = option("Show every metric, not only the headline.", "--all", default=False)


@bundle(_NUMBERS)
class Numbers:
    """Resampling, and the form of the output."""

    resamples: int = option("Bootstrap resamples; 0 for no intervals.", default=1000)
    confidence: float = option("Confidence of intervals and promises.", default=0.95)
    random_state: int = SEED
    json: bool = JSON

    def options(self) -> dict[str, Any]:
        """Return the arguments of a function that resamples."""
        names = ("resamples", "confidence", "random_state")
        return {name: getattr(self, name) for name in names}


@bundle(_NUMBERS)
class Settings(Numbers):
    """Resampling and metrics, and the form of the output."""

    metric: list[str] | None = option(
        "A metric by name or alias, such as ece; may be repeated. By default all.",
        metavar="NAME",
        autocompletion=metric_names,
    )

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
    bundles: dict[str, Any] = {p.name: p.annotation for p in own if is_dataclass(p.annotation)}
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters: list[inspect.Parameter] = []
    for parameter in own:
        options = fields(bundles[parameter.name]) if parameter.name in bundles else ()
        parameters += [
            inspect.Parameter(f.name, kind, default=f.metadata["option"], annotation=f.type)
            for f in options
        ] or [parameter.replace(kind=kind)]

    def run(**values: Any) -> None:
        made = {
            name: one(**{f.name: values.pop(f.name) for f in fields(one)})
            for name, one in bundles.items()
        }
        command(**values, **made)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
