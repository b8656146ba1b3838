"""``caveat repair``: choose a repair on samples with known truth, and apply it to others."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import OptionError
from ..files.dialect import Dialect
from ..files.read import Choice, find_roles, open_source
from ..predictions.categorical import order_classes
from ._console import print_json, say, show_table, working
from ._evaluate import with_target
from ._options import JSON, SEED, Columns, about, argument, option, shared
from ._output import check_output, write_frame


@shared
def repair_command(
    columns: Columns,
    file: Path | None = argument("Predictions with what was true; not with --load.", default=None),
    apply: Path | None = option("Repair the predictions in this file."),
    output: Path | None = option(
        "Write them here, all columns: .csv, .json, .parquet.", "--output", "-o"
    ),
    save: Path | None = option("Keep the repair in this file."),
    load: Path | None = option("Use a repair that --save kept."),
    candidate: list[str] | None = option(
        "A recalibrator to try, such as TemperatureScaling; may be repeated.", metavar="NAME"
    ),
    folds: int = option("Folds of the cross-validation.", default=5),
    random_state: int = SEED,
    json: bool = JSON,
) -> None:
    """Choose a repair of the uncertainty, or leave it; apply it to new predictions.

    Example: caveat repair old.csv --apply new.csv -o fixed.csv
    """
    check_output(output)
    if (file is None) == (load is None):
        raise OptionError("give a file with known truth, or a repair with --load, not both")
    if (apply is None) != (output is None):
        raise OptionError(
            "--apply NEW and --output FIXED go together: the file to repair, the result"
        )
    if save is not None and not save.parent.is_dir():
        raise OptionError(f"--save {save}: there is no folder {save.parent}")
    if load is not None:
        chosen = _loaded(load)
    else:
        assert file is not None
        chosen = _fitted(file, columns, candidate, folds, random_state)
    if save is not None:
        chosen.save(save)
    if apply is not None and output is not None:
        _apply(chosen, apply, columns, output)
    if json:
        print_json(_as_json(chosen))
        return
    say(chosen.why, style="bold")
    header, body = chosen.table()
    show_table("", header, body, left=(0, 3, 5))
    for statement in list(chosen.summary())[1:]:
        say(statement.text)
    for path, words in ((output, "predictions"), (save, "the repair")):
        if path is not None:
            what = "repaired " if words == "predictions" and chosen.recalibrator is not None else ""
            say(f"{what}{words}: {path}", error=True)


def _loaded(path: Path) -> Any:
    from ..loading import load
    from ..repairing import Repair

    chosen = load(path)
    if not isinstance(chosen, Repair):
        raise OptionError(f"--load {path}: this holds a {type(chosen).__name__}, not a repair")
    return chosen


def _fitted(file: Path, columns: Columns, candidate: Any, folds: int, random_state: int) -> Any:
    """Read a file and choose."""
    from ..repairing import repair
    from ..repairing.candidates import candidates_of

    table = with_target(columns.read(file), file)
    if getattr(table.prediction, "members", 1) > 1 and hasattr(table.prediction, "classes"):
        # Each member has columns of its own, which are written back.
        candidate = candidates_of(table.prediction, candidate, each=True)
    with working(f"trying repairs on {len(table):,} samples"):
        return repair(
            table.prediction,
            table.y,
            **about(table),
            candidates=candidate,
            folds=folds,
            random_state=random_state,
        )


def _apply(chosen: Any, path: Path, columns: Columns, output: Path) -> None:
    """Write all columns of a file, those of the prediction repaired."""
    import pandas as pd

    source = open_source(path, columns.delimiter, columns.decimal, columns.encoding, True)
    names = list(source.names)
    if source.saved is not None or path.suffix == ".npz":
        raise OptionError(f"--apply {path}: give a table with columns, such as a CSV file")
    changes: dict[str, Any] = {"target_file": None, "need_truth": False}
    if not chosen.by_group:
        changes["group"] = ()
    if any(name not in names for name in columns.target or ()):
        changes["target"] = None  # the truth of new samples may be unknown
    changes["missing"] = "group"  # every row is written again
    table = columns.read(path, classes=chosen.classes, **changes)
    groups = about(table)["groups"] if chosen.by_group else None
    if chosen.by_group and groups is None:
        raise OptionError("the repair is by group: name the columns of the groups with --group")
    made = chosen.transform(order_classes(table.prediction, chosen.classes), groups=groups)
    made = order_classes(made, getattr(table.prediction, "classes", None))  # as the file has them
    roles, wanted = _roles(columns, names, changes)
    as_text = output.suffix.lower() == ".csv"  # others keep numbers as numbers
    read = () if as_text else {*wanted.needed} - {*wanted.text(roles.is_classification)}
    text = [name for name in names if name not in read]
    frame = pd.DataFrame({name: c.to_pandas() for name, c in source.read(names, text).items()})
    for name, values in _columns(made, roles, columns.percent).items():
        frame[name] = values
    dialect = getattr(source, "dialect", Dialect())
    write_frame(frame, output, sep=dialect.delimiter, decimal=dialect.decimal)


def _roles(columns: Columns, names: list[str], changes: dict[str, Any]) -> Any:
    """Return which columns hold which part of the prediction, and which the rest."""
    given = {}
    for each in dataclasses.fields(Choice):
        if each.name == "notes":
            continue
        value = changes.get(each.name, getattr(columns, each.name))
        one = isinstance(value, list) and len(value) == 1 and each.name != "group"
        given[each.name] = value[0] if one else value
    given["group"] = tuple(given["group"] or ())
    return find_roles(Choice(**given), names)[:2]


def _columns(prediction: Any, roles: Any, percent: bool) -> dict[str, Any]:
    """Return the columns of a prediction by name: the reverse of how they were read."""
    result: dict[str, Any] = {}
    for part, layout in roles.layouts.items():
        array = _array(prediction, part, single=len(layout.labels[layout.axes[0]]) == 1)
        if part == "probability" and percent:
            array = 100 * array
        shape = [len(layout.labels[axis]) for axis in layout.axes]
        if len(array) != shape[-1]:
            raise OptionError(
                f"the columns hold {shape[-1]} members and the repair is of their mean; write one "
                "column for each class, with the mean over members, and repair that"
            )
        for index in np.ndindex(*shape):
            labels = zip(layout.axes, index, strict=True)
            key = tuple(layout.labels[axis][i] for axis, i in labels)
            result[layout.columns[key]] = array[(index[-1], slice(None), *index[-2::-1])]
    return result


def _array(prediction: Any, part: str, single: bool) -> Any:
    """Return (members, rows, labels, ...) of a part of a prediction."""
    if part == "quantile":
        return prediction.values
    if part in ("lower", "upper"):
        return getattr(prediction, part)[None]
    if hasattr(prediction, "lower"):
        ends = prediction.lower[None], prediction.upper[None]
        return (ends[1] - ends[0]) / 2 if part == "half_width" else (ends[0] + ends[1]) / 2
    if part == "std":
        return np.sqrt(prediction.variance)
    if part in ("mean", "variance"):
        return getattr(prediction, part)
    p = prediction.probabilities
    if part == "logit":
        with np.errstate(divide="ignore"):
            p = np.log(p)
        return (p[..., 1:] - p[..., :1]) if single else p
    return p[..., 1:] if single else p


def _as_json(chosen: Any) -> dict[str, Any]:
    """Return the choice for machines."""
    names = ("why", "chosen", "by_group", "measure", "calibration_measure", "samples")
    return {**{name: getattr(chosen, name) for name in names}, "rows": chosen}
