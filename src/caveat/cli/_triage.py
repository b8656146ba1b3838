"""``caveat triage``: which predictions to accept, and what to do with the others."""

from filecmp import cmp
from pathlib import Path
from typing import Any

import numpy as np

from .._random import generator
from ..exceptions import OptionError
from ._console import print_json, say, show_table, working
from ._evaluate import FileArgument, with_target
from ._options import JSON, SEED, Columns, about, option, shared
from ._output import check_output, write_frame

CALIBRATION = option("A file of other samples with known truth, which set the threshold.")
TOLERANCE = option("Regression: how far off a prediction may be.")


@shared
def triage_command(
    file: FileArgument,
    columns: Columns,
    risk: float = option("The maximum error rate among accepted samples.", default=...),
    calibration: Path | None = CALIBRATION,
    split: float | None = option(
        "Or take this share of the file, drawn at random, to set the threshold."
    ),
    tolerance: float | None = TOLERANCE,
    confidence: float = option("Confidence of the promise.", default=0.95),
    promise: str = option(
        "high-probability: the risk is kept with the confidence; mean: it is kept on "
        "average over calibration files, which accepts more and promises less.",
        default="high-probability",
    ),
    decomposition: str = option("How to split the uncertainty.", default="auto"),
    each_group: bool = option(
        "Keep the risk in each group of --group, each with a threshold of its own.",
        "--each-group",
        default=False,
    ),
    random_state: int = SEED,
    output: Path | None = option(
        "Write what to do with each sample: .csv, .json, .parquet.", "--output", "-o"
    ),
    json: bool = JSON,
) -> None:
    """Accept predictions at a maximum error rate, and say what to do with the others.

    Example: caveat triage new.csv --calibration old.csv --risk 0.05 --output actions.csv
    """
    check_output(output)
    if (calibration is None) == (split is None):
        raise OptionError(
            "triage needs samples with known truth: --calibration FILE, or --split 0.5 to take "
            "half of the file"
        )
    if each_group and not columns.group:
        raise OptionError("--each-group needs groups: name a column with --group")
    options = {
        "tolerance": tolerance,
        "confidence": confidence,
        "promise": promise,
        "decomposition": decomposition,
    }
    if calibration is not None:
        old, new = read_both(file, calibration, columns, grouped=each_group)
        names = new.ids
    else:
        old, new, rows = _halves(with_target(columns.read(file), file), split, random_state)
        names = rows + 1 if new.ids is None else new.ids
    policy = fit_policy(old, risk, random_state, grouped=each_group, **options)
    groups = about(new)["groups"] if each_group else None
    triage = policy.decide(new.prediction, ids=names, groups=groups)
    if output is not None:
        write_frame(_frame(triage), output)
    if json:
        print_json(_as_json(triage, _checked(triage, new.prediction, new.y)))
        return
    show_triage(triage, new.prediction, new.y)
    if output is not None:
        say(f"what to do with each sample: {output}", error=True)


def read_both(
    file: Path, calibration: Path, columns: Columns, *, grouped: bool = False
) -> tuple[Any, Any]:
    """Read the calibration samples, and the new ones with the same classes."""
    from ..files import column_names

    if file.is_file() and calibration.is_file() and cmp(file, calibration, shallow=False):
        raise OptionError(
            f"--calibration holds the same samples as {file}, but the promise is for new ones: "
            "give other samples, or --split 0.5"
        )
    old = with_target(columns.read(calibration), calibration)
    known = column_names(file, columns.delimiter, columns.decimal, columns.encoding)
    changes: dict[str, Any] = {"target_file": None, "need_truth": False} | (
        {} if grouped else {"group": ()}
    )
    if any(name not in known for name in columns.target or ()):
        changes["target"] = None  # the truth of new samples may be unknown
    return old, columns.read_alike(file, getattr(old.prediction, "classes", None), **changes)


def fit_policy(
    table: Any, risk: float, random_state: int, *, grouped: bool = False, **options: Any
) -> Any:
    """Fit a policy on a table."""
    from ..triage import TriagePolicy

    policy = TriagePolicy(risk, random_state=random_state, **options)
    with working(f"fitting on {len(table):,} samples"):
        return policy.fit(
            table.prediction,
            table.y,
            **about(table) | ({} if grouped else {"groups": None}),
        )


def _halves(table: Any, share: Any, random_state: int) -> tuple[Any, Any, np.ndarray]:
    """Split a table at random; clusters stay whole."""
    import dataclasses

    if not 0 < share < 1:
        raise OptionError(f"--split must be a share between 0 and 1; got {share:g}")
    units = np.arange(len(table)) if table.cluster is None else table.cluster
    distinct, codes = np.unique(units, return_inverse=True)
    chosen = generator(random_state).permutation(len(distinct)) < round(share * len(distinct))
    if chosen.all() or not chosen.any():
        raise OptionError(f"--split {share:g} leaves nothing on one side of {len(distinct)}")

    def part(rows: np.ndarray) -> Any:
        arrays = {
            name: None if getattr(table, name) is None else getattr(table, name)[rows]
            for name in ("y", "ids", "sample_weight", "cluster")
        }
        if table.groups is not None:
            arrays["groups"] = table.groups.iloc[rows]
        return dataclasses.replace(table, prediction=table.prediction.take(rows), **arrays)

    mask = chosen[codes]
    return part(np.flatnonzero(mask)), part(np.flatnonzero(~mask)), np.flatnonzero(~mask)


def _checked(triage: Any, prediction: Any, y: Any) -> dict[str, int] | None:
    """Return how many accepted predictions were wrong, if there are classes with known truth."""
    if y is None or not hasattr(prediction, "labels") or not triage.accepted.any():
        return None
    wrong = prediction.labels[triage.accepted] != y[triage.accepted]
    return {"accepted": len(wrong), "wrong": int(wrong.sum())}


def _frame(triage: Any) -> Any:
    frame = triage.to_frame()
    if triage.ids is None:
        frame.index = range(1, len(frame) + 1)
        frame.index.name = "row"
    return frame.reset_index()


def show_triage(triage: Any, prediction: Any, y: Any) -> None:
    """Print the number of samples with each action, the reasons, and the promise."""
    checked = _checked(triage, prediction, y)
    title, header, body = triage.table()
    show_table(title, header, body, left=(0, 3))
    if triage.prices:
        rows = [
            [p.group, f"{p.samples:,}", f"{p.accepted:,}", f"{p.together:,}"] for p in triage.prices
        ]
        header = ["group", "samples", "accepted", "under one promise for all"]
        show_table("What the promises for groups cost", header, rows, left=(0,))
    say(triage.guarantee)
    if triage.remark:
        say(triage.remark)
    if checked is not None:
        say(f"Here, {checked['wrong']:,} of the {checked['accepted']:,} accepted were wrong.")


def _as_json(triage: Any, checked: dict[str, int] | None) -> dict[str, Any]:
    names = ("risk", "confidence", "promise", "threshold", "counts", "shares", "guarantee",
             "remark", "needed")  # fmt: skip
    return {
        **{name: getattr(triage, name) for name in names},
        **({"threshold": None} if triage.prices else {}),
        "checked": checked,
        "groups": triage.prices,
        "actions": _frame(triage).to_dict(orient="records"),
    }
