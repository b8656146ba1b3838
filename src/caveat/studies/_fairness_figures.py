"""Figures 2 and 3 and the deeper networks of the fairness study."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..datasets import Dataset
from ..evaluation import Evaluation, evaluate
from ..metrics import expected_calibration_error
from .study import Key, Label, Said, Study, Table
from .summary import NAN, all_of

UNITS = 100
"""Units of each hidden layer where a network has none: those of all experiments of the paper."""
DEPTH_SOURCE, GAP_SOURCE = "section 6.4", "figure 2"
GAP = "gap between accuracy on learned and on new samples"
CONFIDENCE = "confidence minus accuracy"


@dataclass(frozen=True, eq=False)
class Scatter:
    """Samples of two features by class and group: one panel of figure 3."""

    X: FloatArray
    y: Any
    group: Any


def scatter(data: Dataset) -> Scatter:
    """Return the samples of a data set of two features and one attribute."""
    (group,) = data.groups.values()
    return Scatter(data.X, data.y, group)


def confidence_of(study: Study, model: Any, test: Dataset) -> tuple[dict[Key, float], Evaluation]:
    """Return how far confidence is from accuracy, and what figure 2 is drawn from."""
    prediction = model.predict_distribution(test.X)
    p = prediction.mean
    right = p.argmax(axis=1) == np.searchsorted(prediction.classes, test.y)
    values = {
        "accuracy": float(right.mean()),
        CONFIDENCE: float(p.max(axis=1).mean() - right.mean()),
        "expected_calibration_error": expected_calibration_error(test.y, p),
    }
    result = evaluate(prediction, test.y, metrics=["expected_calibration_error"], resamples=0)
    return {study.key(GAP_SOURCE, k, kind="confidence"): v for k, v in values.items()}, result


def layers_of(hidden: Sequence[int], depth: int) -> tuple[int, ...]:
    """Return the hidden layers of a network of this depth, as wide as that of the paper."""
    return (hidden[0] if hidden else UNITS,) * depth


def depth_values(study: Study, model: Any, run: Any, depth: int) -> dict[Key, float]:
    """Return accuracy and negative log-likelihood on learned and on new samples."""
    rows = slice(None) if run.rows is None else run.rows
    parts = {"learned": (run.X[rows], run.y[rows]), "new": (run.test.X, run.test.y)}
    values = {}
    for part, (X, y) in parts.items():
        p = model.predict_proba(X)
        code = np.searchsorted(model.classes_, y)
        values[f"accuracy on {part} samples"] = float((p.argmax(axis=1) == code).mean())
        own = p[np.arange(len(y)), code]
        values[f"negative log-likelihood on {part} samples"] = float(
            -np.log(np.maximum(own, np.finfo(np.float64).tiny)).mean()
        )
    values[GAP] = values["accuracy on learned samples"] - values["accuracy on new samples"]
    return {study.key(DEPTH_SOURCE, k, kind="depth", layers=depth): v for k, v in values.items()}


def confidence_differs(table: Table) -> Iterator[Said]:
    """Whether the network is overconfident: its confidence is above its accuracy."""
    of = table.wide("measure", kind="confidence")
    if len(of):
        gaps = of[CONFIDENCE].to_numpy()
        yield GAP_SOURCE, "the network is overconfident on new samples", (gaps > 0).astype(float)


def layers_overfit(table: Table) -> Iterator[Said]:
    """Whether each further hidden layer widens the gap, and costs accuracy on new samples."""
    of = table.wide(["measure", "layers"], kind="depth")
    depths = sorted(table.rows(kind="depth")["layers"].unique())
    if len(depths) > 1:
        for text, name, sign in (
            ("each further hidden layer widens the gap between learned and new samples", GAP, 1),
            ("each further hidden layer costs accuracy on new samples",
             "accuracy on new samples", -1),
        ):  # fmt: skip
            columns = [of[name, depth].to_numpy() for depth in depths]
            steps = np.diff(np.array(columns), axis=0) * sign
            yield DEPTH_SOURCE, text, all_of([*np.where(np.isnan(steps), NAN, steps > 0)])


def depth_label(row: Any) -> Label:
    """Return where a number of these figures is shown."""
    layers = {"hidden layers": str(row.layers)} if row.kind == "depth" else {}
    return f"{row.source}: {row.kind}", {"measure": row.measure.replace("_", " "), **layers}, {}
