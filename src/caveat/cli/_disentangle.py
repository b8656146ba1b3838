"""``caveat disentangle``: is the split into aleatoric and epistemic real, on your own table?"""

import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .._parallel import check_jobs
from ..exceptions import OptionError
from ._console import console, print_json, say, show_table
from ._options import (
    JSON,
    KEEP_NA,
    PAGE,
    ROWS,
    SEED,
    TITLE,
    argument,
    bundle,
    option,
    read_table,
    shared,
)
from ._output import check_files, say_written, write_result
from ._tables import show_statements

_DEPTH = 4
"""The depth of the trees of a forest for classes."""


def methods() -> dict[str, str]:
    """Return the methods that have members, by their name on the command line."""
    from .. import estimators

    kinds = [name.removesuffix("Classifier") for name in estimators.__all__]
    names = [kind for kind in kinds if f"{kind}Classifier" in estimators.__all__]
    # One network has no members, and an ensemble needs an estimator to be made of.
    result = {_kebab(name): name for name in names if name not in ("MAP", "Ensemble")}
    return {**result, "random-forest": "RandomForest", "extra-trees": "ExtraTrees"}


def _kebab(name: str) -> str:
    if name == "DropConnect":
        return "dropconnect"
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def method_names(incomplete: str) -> list[str]:
    """Return the methods that begin like this, for the shell's completion."""
    return [name for name in methods() if name.startswith(incomplete)]


@bundle("Model")
class Model:
    """The model, and the splits of its uncertainty."""

    method: str = option(
        "deep-ensemble, mc-dropout, dropconnect, flipout, bootstrap, random-forest, ...",
        default="deep-ensemble",
        metavar="NAME",
        autocompletion=method_names,
    )
    decomposition: list[str] | None = option(
        "How to split: information, pairwise-kl, bias-variance, variance, gaussian-logits, "
        "total-variance; may be repeated.",
        metavar="NAME",
    )
    epochs: int | None = option("Epochs of a network on all samples.", min=1)
    members: int | None = option("Members of an ensemble, trees of a forest.", min=1)
    passes: int | None = option("Random passes of a stochastic network.", min=1)
    depth: int | None = option(
        f"Depth of the trees of a forest; {_DEPTH} by default for classes.", min=1
    )
    hidden: str | None = option("Units of the hidden layers, as 32,32.", metavar="LIST")

    def settings(self) -> dict[str, Any]:
        """Return what the estimator is made with; None where nothing was said."""
        names = ("epochs", "members", "passes", "depth")
        hidden = _listed(self.hidden, "--hidden", int, "whole numbers such as 32,32")
        return {**{name: getattr(self, name) for name in names}, "hidden": hidden}


@bundle("Protocol")
class Sweeps:
    """What is trained how often."""

    protocol: str = option("paper (90 conditions) or cheap (8).", default="paper", metavar="NAME")
    sizes: str | None = option("Shares of the training set, as 0.05,0.2,1.", metavar="LIST")
    noise: str | None = option("Shares of permuted labels, as 0,0.4,0.8.", metavar="LIST")
    repeats: int | None = option("How often to run it all.", min=1)
    schedule: str | None = option(
        "inverse-epochs, constant-steps or constant-epochs.", metavar="NAME"
    )
    jobs: int | None = option("Processes, for models that are no networks.")
    checkpoint: Path | None = option("A folder to resume a stopped run from.")

    def make(self) -> Any:
        """Return the protocol with its changes."""
        from dataclasses import replace

        from ..experiments.protocol import as_protocol

        shares = "shares such as 0.1,0.5,1"
        changes: dict[str, Any] = {
            "sizes": _listed(self.sizes, "--sizes", float, shares),
            "noise": _listed(self.noise, "--noise", float, shares),
            "repeats": self.repeats,
            "schedule": self.schedule,
        }
        given = {key: value for key, value in changes.items() if value is not None}
        return replace(as_protocol(self.protocol), **given)


@bundle("Columns and file")
class Table:
    """The columns of the file, and how it is written."""

    target: str = option("The column to be predicted.", default=..., metavar="COLUMN")
    task: str = option("auto, classification or regression.", default="auto", metavar="NAME")
    feature: list[str] | None = option(
        "Columns to learn from, by name or pattern; all by default.", metavar="COLUMNS"
    )
    drop: list[str] | None = option("Columns to leave out, as an id.", metavar="COLUMNS")
    delimiter: str | None = option("Separator of a CSV file.", metavar="MARK")
    decimal: str | None = option("Decimal mark of a CSV file.", metavar="MARK")
    encoding: str | None = option("Encoding of a CSV file.", metavar="NAME")
    keep_na: bool = option(KEEP_NA, default=False)

    def read(self, file: Path) -> Any:
        """Read the features and the target."""
        from ..files import read_features

        given = asdict(self) | {"feature": self.feature or [], "drop": self.drop or []}
        return read_table(read_features, file, **given)


@shared
def disentangle_command(
    columns: Table,
    model: Model,
    sweeps: Sweeps,
    file: Path = argument("A table of features and a target, a row a sample."),
    random_state: int = SEED,
    confidence: float = option("Confidence of intervals.", default=0.95, panel="Numbers"),
    report: Path | None = PAGE,
    title: str | None = TITLE,
    output: Path | None = ROWS,
    json: bool = JSON,
) -> None:
    """Say whether the split into aleatoric and epistemic uncertainty is real, on your data.

    It trains a model many times, with less data and with noisier labels; each should move one part.

    Example: caveat disentangle table.csv --target y --method deep-ensemble --report report.html
    """
    from ..experiments import disentanglement_error

    check_files(output, report)
    check_jobs(sweeps.jobs, "--jobs")
    # What can be wrong is found before a large file is read and anything is trained.
    protocol, settings = sweeps.make(), model.settings()
    wanted = [name.replace("-", "_") for name in model.decomposition or ["auto"]]
    _kind(model.method)
    table = columns.read(file)
    result = disentanglement_error(
        _model(model.method, table.task, wanted, settings),
        table.X,
        table.y,
        decomposition=wanted,
        protocol=protocol,
        n_jobs=sweeps.jobs,
        random_state=random_state,
        checkpoint=sweeps.checkpoint,
        confidence=confidence,
        progress=console(error=True).is_terminal,
    )
    write_result(result, output, report, title=title)
    if json:
        print_json(_as_json(result, table, report))
        return
    _show(result)
    say_written(result, output, report)


def _listed(text: str | None, option: str, kind: Callable[[str], Any], words: str) -> Any:
    """Return the numbers of a list with commas; None for none."""
    if text is None:
        return None
    try:
        return tuple(kind(part) for part in text.split(",") if part.strip() or kind is float)
    except ValueError:
        raise OptionError(f"{option} must be {words}; got {text!r}") from None


def _kind(method: str) -> str:
    from difflib import get_close_matches

    known = methods()
    name = method.lower().replace("_", "-")
    if name in known:
        return known[name]
    if name == "map":
        raise OptionError(
            "--method map is one network: without members its epistemic part is zero by "
            f"construction; take one of {', '.join(known)}"
        )
    near = get_close_matches(name, list(known), n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    raise OptionError(f"unknown --method {method!r}; {guess}known are {', '.join(known)}")


def _model(method: str, task: str, wanted: list[str], settings: dict[str, Any]) -> Any:
    """Return the estimator; a setting that it does not have is an error that says so."""
    kind = _kind(method) + ("Classifier" if task == "classification" else "Regressor")
    if kind.startswith(("RandomForest", "ExtraTrees")):
        from sklearn import ensemble as module

        members, depth = settings.pop("members", None), settings.pop("depth", None)
        if depth is None and task == "classification":
            # Trees that end in pure leaves are sure of everything: they have no aleatoric part.
            depth = _DEPTH
            said = f"{method}: trees of a depth of {depth}; --depth changes it"
            say(said, error=True, style="dim")
        settings = {"n_estimators": members, "max_depth": depth, **settings}
    else:
        from .. import estimators as module
    made = getattr(module, kind)()
    known = made.get_params()
    given = {key: value for key, value in settings.items() if value is not None}
    for name in given:
        if name not in known:
            raise OptionError(f"--{name} is no setting of --method {method}; leave it out")
    if "gaussian_logits" in wanted and "head" in known and task == "classification":
        given["head"] = "gaussian-logits"
    return made.set_params(**given)


def _show(result: Any) -> None:
    """Print the verdict on each split, then its numbers."""
    from ..experiments.error import TERMS, interval_words
    from ..experiments.verdict import remarks, verdict

    say(result.description, style="bold")
    several = len(result.decompositions) > 1
    shared = remarks(result) if several else []
    for name in result.decompositions:
        if several:
            say(f"\nSplit by {name.replace('_', ' ')}", style="bold cyan")
        said = verdict(result, name)
        show_statements(s for s in said.statements if s not in shared)
        say(f"Next: {said.next_step}", style="bold")
        error = result.error(decomposition=name)
        body = [
            [f"{kind.symbol} {term.replace('_', ' ')}", *_cells(error.terms[term], kind.ideal)]
            for term, kind in TERMS.items()
        ]
        body.append(["UDE, mean of the four", "", "", f"{error.value:.3f}", interval_words(error)])
        header = ["condition", "correlation", "ideal", "error", "interval"]
        show_table("Errors of the correlations", header, body)
    if shared:
        say("")
        show_statements(shared)
    cost = result.cost
    steps = "" if cost.steps is None else f", {cost.steps:,} steps"
    say(f"{cost.trainings:,} trainings{steps}, {cost.seconds:,.1f} seconds", style="dim")


def _cells(term: Any, ideal: float) -> list[str]:
    from ..experiments.error import interval_words

    return [f"{term.correlation:z.3f}", f"{ideal:g}", f"{term.value:.3f}", interval_words(term)]


def _as_json(result: Any, table: Any, report: Path | None) -> dict[str, Any]:
    from ..experiments.verdict import verdict

    return {
        "recognized": table.recognized,
        "report": report,
        "errors": [result.error(decomposition=name) for name in result.decompositions],
        "verdicts": [verdict(result, name) for name in result.decompositions],
        "result": result,
    }
