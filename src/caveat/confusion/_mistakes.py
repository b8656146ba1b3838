"""Kinds of mistakes: how often each kind of prediction is wrong, and how far off."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, as_column
from ..resampling.spread import share_limits, spread_of, stacked
from ..results.tables import ShownTable, interval_words
from ..results.words import percent
from ._pairs import Confusion

ALL = "all predictions"


@dataclass(frozen=True)
class MistakeRow:
    """How many predictions of one kind are wrong.

    Attributes
    ----------
    kind : str
        The kind of uncertainty; "all predictions" in the last row.
    samples, wrong : int
    share, low, high : float
        The share that is wrong with Wilson's interval, at the number of independent samples that
        clusters leave.
    close, distant : int
        How many mistakes are between close and between distant classes: whether a prediction that
        is torn between the predicted and the true class would be of that kind.
    """

    kind: str
    samples: int
    wrong: int
    share: float
    low: float
    high: float
    close: int
    distant: int


def mistake_rows(
    kinds: NDArray[Any],
    truth: NDArray[np.intp],
    predicted: NDArray[np.intp],
    distant_pairs: NDArray[np.bool_],
    cluster: Any,
    confidence: float,
) -> tuple[MistakeRow, ...]:
    """Return a row for each kind of uncertainty that occurs, and one for all predictions."""
    groups = None
    if cluster is not None:
        groups = np.unique(as_column(cluster, "cluster", len(truth)), return_inverse=True)[1]
    wrong = truth != predicted
    distant = wrong & distant_pairs[truth, predicted]
    rows = []
    for kind in (*[kind.value for kind in Confusion], ALL):
        own = np.ones(len(truth), dtype=bool) if kind == ALL else kinds == kind
        if not own.any():
            continue
        together = None if groups is None else groups[own]
        spread = stacked([spread_of(wrong[own] * 1.0, None, together)], groups is not None)
        (low,), (high,) = share_limits(spread, confidence)
        count, far = int(wrong[own].sum()), int(distant[own].sum())
        rows.append(
            MistakeRow(
                str(kind), int(own.sum()), count, count / int(own.sum()), float(low), float(high),
                count - far, far,
            )
        )  # fmt: skip
    return tuple(rows)


def above_gini(homophily: FloatArray, gini: Any) -> NDArray[np.bool_]:
    """Return where homophily is above Gini by more than rounding: that is what distant means."""
    return np.asarray(homophily - gini > 1e-12, dtype=bool)


def are_distant(H: FloatArray, maximum: float) -> NDArray[np.bool_]:
    """Return which pairs are distant: homophily above Gini for a prediction of half and half."""
    if maximum <= 0:
        return np.zeros(H.shape, dtype=bool)
    gini = 0.5 / (1 - 1 / len(H))
    return above_gini(H**2 / 2 / maximum, gini)


def share_wrong(row: MistakeRow) -> str:
    """Return the share that is wrong with its interval."""
    return f"{percent(row.share)} ({interval_words(100 * row.low, 100 * row.high)})"


def mistake_table(rows: tuple[MistakeRow, ...]) -> ShownTable:
    """Return the mistakes as a table of text."""
    body = [
        [
            row.kind, f"{row.samples:,}", f"{row.wrong:,}", share_wrong(row), f"{row.close:,}",
            f"{row.distant:,}",
        ]
        for row in rows
    ]  # fmt: skip
    header = (
        "kind", "samples", "wrong", "share that is wrong", "as a close class", "as a distant class",
    )  # fmt: skip
    return "Mistakes", header, body
