"""``caveat molecules``: fit, predict and evaluate networks over SMILES."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .._parallel import check_jobs
from .._validation import check_choice, check_fraction
from ..exceptions import FileFormatError, InvalidValueError, OptionError
from ..files.read import open_source
from ._console import console, print_json, say, working
from ._evaluate import show_evaluation
from ._options import JSON, PAGE, ROWS, SEED, TITLE, bundle, option, shared
from ._output import check_files, check_output, say_written, write_frame, write_result

molecules_app = typer.Typer(
    help="Networks over molecules, with their uncertainty.", no_args_is_help=True
)

_COLUMNS, _NETWORK, _TRAINING = "Columns and rows", "Network", "Training"

FileArgument = Annotated[
    Path, typer.Argument(help="A table with a column of SMILES.", show_default=False)
]


@bundle(_COLUMNS)
class Input:
    """The columns of the file, and what to do with rows that are no molecules."""

    smiles: str = option("The column of the SMILES.", default="smiles")
    on_error: str = option(
        "Rows that are no molecules: 'raise' lists them, 'drop' goes on.",
        default="raise",
    )
    jobs: int | None = option("Processes that read molecules.")

    def read(self, path: Path, targets: list[str], classes: bool = False) -> "Table":
        """Read the molecules of a file, and their values, which may be named to be classes."""
        from ..molecules import featurize, molecule_report

        check_jobs(self.jobs)
        check_choice(self.on_error, "on_error", ("raise", "drop"))
        twice = [name for i, name in enumerate(targets) if name in targets[:i]]
        if twice:
            raise OptionError(f"--target names {twice[0]!r} twice")
        source = open_source(path)
        _check_column(path, source, self.smiles, "--smiles")
        for name in targets:
            _check_column(path, source, name, "--target")
        texts = source.read([self.smiles], [self.smiles])[self.smiles].to_pylist()
        values = {name: _values(source, name) for name in targets}
        for name, own in () if classes else values.items():
            _check_uniform(path, name, own)
        y = np.stack(list(values.values()), axis=1) if values else None
        report = molecule_report(texts, y)
        lines = report.lines(first=1)
        if report.invalid and self.on_error == "raise":
            raise InvalidValueError(f"{path}: {lines[0]}; mend them, or add --on-error drop")
        for line in lines:
            say(f"{path.name}: {line}", error=True, style="dim")
        with working(f"reading {len(texts):,} molecules"):
            graphs = featurize(texts, on_error=self.on_error, n_jobs=self.jobs)
        return Table(path, texts, graphs, tuple(targets), y)


@dataclass
class Table:
    """Molecules of a file with their values; ``graphs.rows`` are those that can be read."""

    path: Path
    texts: list[Any]
    graphs: Any
    targets: tuple[str, ...]
    y: Any = None

    def known(self) -> "Table":
        """Return the molecules that can be read and have a value."""
        rows = self.graphs.rows
        own = self.y[rows]
        there = own != "" if own.dtype.kind in "US" else np.isfinite(own)
        kept = np.flatnonzero(there.any(axis=1))
        if not len(kept):
            raise OptionError(f"{self.path}: no molecule has a value in {self.targets[0]!r}")
        return Table(self.path, self.texts, self.graphs[kept], self.targets, own[kept])

    def take(self, rows: Any) -> "Table":
        """Return some of them."""
        return Table(self.path, self.texts, self.graphs[rows], self.targets, self.y[rows])

    @property
    def values(self) -> Any:
        """One column, or several, with their names."""
        import pandas as pd

        if len(self.targets) == 1:
            return pd.Series(self.y[:, 0], name=self.targets[0])
        return pd.DataFrame(self.y, columns=list(self.targets))


def _values(source: Any, name: str) -> Any:
    """Return a column as numbers, or as labels if it holds text."""
    import pandas as pd

    column = source.read([name])[name].to_pandas()
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        return column.astype(object).where(column.notna(), "").astype(str).to_numpy(dtype=str)
    return column.to_numpy(dtype=np.float64)


def _check_uniform(path: Path, name: str, values: Any) -> None:
    """Raise on infinity, and on text that is mostly numbers: each would be a class."""
    import pandas as pd

    if values.dtype.kind != "U":
        if np.isinf(values).any():
            row = int(np.isinf(values).argmax())
            raise OptionError(f"{path}: {name!r} is infinite in row {row + 1}; mend or empty it")
        return
    known = np.flatnonzero(values != "")
    number = np.isfinite(pd.to_numeric(values[known], errors="coerce"))
    if 2 * number.sum() > len(known):
        words = "numbers written as text"
        if not number.all():
            row = known[number.argmin()]
            words = f"numbers, and {values[row].item()!r} in row {row + 1}"
        raise OptionError(
            f"{path}: {name!r} has {words}; mend or empty such cells, or add --classes if these "
            "are classes"
        )


def _check_column(path: Path, source: Any, name: str, role: str) -> None:
    if name not in source.names:
        known = ", ".join(map(repr, source.names[:8]))
        raise OptionError(f"{path}: there is no column {name!r} for {role}; it has {known}")


def _times(data: Table, name: str) -> Any:
    """Return when each molecule was measured, from a column of numbers or dates."""
    import pandas as pd

    source = open_source(data.path)
    _check_column(data.path, source, name, "--time")
    rows = data.graphs.rows
    given = _values(source, name)[rows]
    times = given
    if given.dtype.kind == "U":
        times = pd.to_datetime(given, format="ISO8601", errors="coerce", utc=True)
    missing = pd.isna(times)
    if missing.any():
        place = int(missing.argmax())
        raise OptionError(
            f"{data.path}: {name!r} of row {rows[place] + 1} is {given[place].item()!r}; --time "
            "needs a number or a date such as 2020-09-01 for each molecule"
        )
    return times


@bundle(_NETWORK)
class Network:
    """The network, and how it is trained."""

    method: str = option(
        "ensemble, bootstrap, anchored, mc-dropout, concrete-dropout or map (no members).",
        default="ensemble",
    )
    members: int | None = option("Networks; 5 by default.")
    passes: int | None = option("Passes of dropout; 50 by default.")
    hidden: int | None = option("Width of the network; 100 by default.")
    depth: int | None = option("How often messages are passed; 3 by default.")
    paper: bool = option("The published settings.", default=False)
    classes: bool = option("Numbers of the target are classes.", default=False)
    epochs: int | None = option("How often the molecules are seen; 50 by default.", panel=_TRAINING)
    batch_size: int | None = option("Molecules in a batch; 50 by default.", panel=_TRAINING)
    learning_rate: float | None = option("Learning rate; 0.001 by default.", panel=_TRAINING)
    patience: int | None = option("Stop after so many epochs without a new best.", panel=_TRAINING)
    device: str = option("cpu, cuda, or auto.", default="auto", panel=_TRAINING)
    random_state: int = SEED

    def make(self, y: Any) -> Any:
        """Return the estimator for the values of a table."""
        from ..estimators import preset
        from ..molecules import MoleculeClassifier, MoleculeRegressor

        given = {
            name: getattr(self, name)
            for name in (
                "members", "passes", "hidden", "depth", "epochs", "batch_size", "learning_rate",
                "patience",
            )
            if getattr(self, name) is not None
        }  # fmt: skip
        of_classes = self.classes or y.dtype.kind in "US"
        if of_classes and y.shape[1] > 1:
            raise OptionError("a classifier has one target; name one with --target")
        kind = MoleculeClassifier if of_classes else MoleculeRegressor
        return kind(
            **{**(preset("qm9") if self.paper else {}), **given}, method=self.method,
            device=self.device, random_state=self.random_state,
            verbose=console(error=True).is_terminal,
        )  # fmt: skip


TARGET = option("The column to learn; may be repeated.", "--target", default=..., panel=_COLUMNS)


@molecules_app.command("fit")
@shared
def fit_command(
    file: FileArgument,
    table: Input,
    network: Network,
    target: list[str] = TARGET,
    output: Path = option("The fitted model.", "--output", "-o", default=Path("model.safetensors")),
    calibrate: float | None = option(
        "Hold out this share of the molecules, and keep a calibration with the model."
    ),
) -> None:
    """Learn from a table of molecules, and keep the model in one file.

    Example: caveat molecules fit solubility.csv --target logS -o solubility.safetensors
    """
    check_output(output, (".safetensors",))
    if calibrate is not None:
        check_fraction(calibrate, "calibrate")
        if len(target) > 1:
            raise OptionError("--calibrate is for one target")
    data = table.read(file, target, network.classes).known()
    model = _fitted(network, data, calibrate)
    model.save(output)
    say(f"{len(data.graphs):,} molecules, {network.method}: {output}")
    if calibrate is not None:
        say(model.repair_.why)


def _fitted(network: Network, data: Table, calibrate: float | None) -> Any:
    from ..repairing import Repaired

    model = network.make(data.y)
    if network.classes and data.y.dtype.kind == "f" and (data.y % 1 == 0).all():
        data.y = data.y.astype(np.int64)
    if calibrate is None:
        return model.fit(data.graphs, data.values)
    # A list can be split by anybody, and molecules are read again in no time.
    texts = data.graphs.smiles.tolist()
    return Repaired(model, cv=calibrate, random_state=network.random_state).fit(texts, data.values)


@molecules_app.command("predict")
@shared
def predict_command(
    file: FileArgument,
    table: Input,
    model: Path = option("What `caveat molecules fit` wrote.", default=...),
    output: Path = option(
        "All columns and the prediction.", "--output", "-o", default=Path("predictions.csv")
    ),
) -> None:
    """Predict a table of molecules with a model that was kept.

    Example: caveat molecules predict new.csv --model solubility.safetensors -o predictions.csv
    """
    import pandas as pd

    check_output(output)
    fitted = _loaded(model)
    data = table.read(file, [])
    with working(f"predicting {len(data.graphs):,} molecules"):
        prediction = fitted.predict_distribution(data.graphs)
    source = open_source(file, keep_na=True)
    names = list(source.names)
    frame = pd.DataFrame({k: v.to_pandas() for k, v in source.read(names, names).items()})
    for name, values in _columns(prediction).items():
        if name in names:
            raise OptionError(f"{file} has a column {name!r} already; rename it")
        every = np.full(len(frame), np.nan)
        every[data.graphs.rows] = values
        frame[name] = every
    write_frame(frame, output)
    say(f"{len(data.graphs):,} of {len(frame):,} molecules: {output}")


def _loaded(path: Path) -> Any:
    from ..loading import load
    from ..molecules.estimators import MoleculeNetwork
    from ..repairing import Repaired

    model = load(path)
    inner = model.estimator_._fitted if isinstance(model, Repaired) else model
    if not isinstance(inner, MoleculeNetwork):
        raise FileFormatError(
            f"--model {path}: this holds a {type(model).__name__}, not a network over molecules"
        )
    return model


def _columns(prediction: Any) -> dict[str, Any]:
    """Return the columns of a prediction; `caveat evaluate` recognizes all but its parts."""
    parts = prediction.decompose() if prediction.members > 1 else None
    if hasattr(prediction, "classes"):
        labels = [str(label) for label in prediction.classes.tolist()]
        made = {f"p_{label}": prediction.mean[:, i] for i, label in enumerate(labels)}
        return made if parts is None else made | {"epistemic": parts.epistemic}
    mean, variance = prediction.moments()
    made = {}
    for i, name in enumerate(prediction.targets.tolist()):
        end = "" if mean.shape[1] == 1 else f"_{name}"
        made[f"mean{end}"], made[f"std{end}"] = mean[:, i], np.sqrt(variance[:, i])
        if parts is not None:
            for part in ("aleatoric", "epistemic"):
                share = getattr(parts, part).reshape(len(mean), -1)[:, i]
                made[f"{part}_std{end}"] = np.sqrt(share)
    return made


@molecules_app.command("evaluate")
@shared
def evaluate_command(
    file: FileArgument,
    table: Input,
    network: Network,
    target: list[str] = TARGET,
    model: Path | None = option("A model that was kept; without it one is trained on a part."),
    split: str = option(
        "scaffold, scaffold-balanced, cluster, random or time; without --model.",
        default="scaffold",
        panel=_TRAINING,
    ),
    time: str | None = option(
        "The column of dates or numbers for --split time: the newest are tested.", panel=_TRAINING
    ),
    test: float = option("The share of the molecules to test on.", default=0.2, panel=_TRAINING),
    resamples: int = option("Bootstrap resamples; 0 for no intervals.", default=1000),
    output: Path | None = ROWS,
    report: Path | None = PAGE,
    title: str | None = TITLE,
    json: bool = JSON,
) -> None:
    """Say how far predictions of molecules can be trusted: a kept model, or one trained on a part.

    Example: caveat molecules evaluate solubility.csv --target logS --split scaffold
    """
    from ..evaluation import evaluate
    from ..molecules import Structures
    from ..molecules.splits import KINDS

    check_files(output, report)
    check_choice(split, "split", KINDS)
    check_fraction(test, "test")
    data = table.read(file, target, network.classes).known()
    if model is not None:
        fitted, known = _loaded(model), None
    else:
        times = None if time is None else _times(data, time)
        known, data = _parts(data, split, test, times, network.random_state)
        fitted = _fitted(network, known, None)
    texts = data.graphs.smiles.tolist()
    behind = Structures(
        texts,
        None if known is None else known.graphs.smiles.tolist(),
        None if known is None else known.y,
    )
    prediction = fitted.predict_distribution(data.graphs)
    with working(f"evaluating {len(texts):,} molecules"):
        result = evaluate(
            prediction, _truth(prediction, data), ids=data.graphs.rows + 1, resamples=resamples,
            groups=None if behind.near is None else behind.near.groups(),
            random_state=network.random_state,
        )  # fmt: skip
    write_result(result, output, report, title=title, molecules=behind, source=file.name)
    if json:
        print_json({"description": result.description, "rows": result})
        return
    show_evaluation(result)
    say_written(result, output, report)


def _truth(prediction: Any, data: Table) -> Any:
    """Return the values that were predicted; several targets go by their names."""
    import pandas as pd

    of_classes = hasattr(prediction, "classes")
    predicted = [""] if of_classes else [str(name) for name in prediction.targets.tolist()]
    if len(predicted) == len(data.targets) == 1:
        if predicted[0] not in ("", "0", data.targets[0]):
            warnings.warn(
                f"the model learned {predicted[0]!r}, and --target names {data.targets[0]!r}: "
                "check that they are the same quantity in the same unit",
                stacklevel=2,
            )
        y = data.y[:, 0]
        if not (of_classes and prediction.classes.dtype.kind in "iu"):
            return y
        numbers = pd.to_numeric(y, errors="coerce")
        return numbers.astype(np.int64) if (numbers % 1 == 0).all() else y
    if sorted(predicted) != sorted(data.targets):
        known = ", ".join(map(repr, predicted)) if len(predicted) > 1 else "one target"
        raise OptionError(
            f"the model predicts {known}, but --target names "
            f"{', '.join(map(repr, data.targets))}; name each of its targets once"
        )
    return data.values


def _parts(
    data: Table, split: str, test: float, time: Any, random_state: int
) -> tuple[Table, Table]:
    """Return the molecules to learn from and those to test on; say what leaks."""
    from ..molecules import leakage, split_molecules

    texts = data.graphs.smiles.tolist()
    with working(f"splitting by {split}"):
        parts = split_molecules(
            texts, split, sizes=(1 - test, 0, test), time=time, random_state=random_state
        )
        say(f"split by {split}: {len(parts.train):,} to learn from, {len(parts.test):,} to test "
            f"on; {leakage(texts, parts)}", error=True, style="dim")  # fmt: skip
    return data.take(parts.train), data.take(parts.test)
