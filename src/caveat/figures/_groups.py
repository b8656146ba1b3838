"""One metric for each class and each value of the groups."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..evaluation import Evaluation
from ..exceptions import OptionError
from ..metrics import METRICS
from ..results.judgments import Contrast
from ..results.rows import Row
from ._figure import Figure
from ._samples import of_target, samples


@dataclass(frozen=True, eq=False)
class Panel:
    """The groups of one attribute.

    Attributes
    ----------
    attribute : str
        "class" for the true classes, "class against the rest" for calibration of each class over
        all samples.
    labels : tuple of str
    value, low, high : ndarrays of shape (groups,)
        The metric of each group with its confidence interval; without one the ends are the value.
    samples : ndarray of shape (groups,)
    overall : float
        The value of all samples.
    of_class : bool
        Whether the groups are the classes, and not groups that were given.
    against_rest : bool
        Whether every sample counts for every class.
    """

    attribute: str
    labels: tuple[str, ...]
    value: FloatArray
    low: FloatArray
    high: FloatArray
    samples: FloatArray
    overall: float
    of_class: bool = False
    against_rest: bool = False


@dataclass(frozen=True, eq=False)
class Groups(Figure):
    """What `by_group` returns.

    Attributes
    ----------
    metric, option : str
    direction : {"lower", "higher", "target"}
        Whether less or more is better, or a value in between.
    panels : tuple of Panel
        One for each attribute.
    title, x_label, y_label : str
    confidence : float
    """

    metric: str
    option: str
    direction: str
    panels: tuple[Panel, ...]

    def to_frame(self) -> Any:
        """Return one row for each group."""
        import pandas as pd

        return pd.DataFrame(
            [
                (panel.attribute, *row)
                for panel in self.panels
                for row in zip(
                    panel.labels, panel.value, panel.low, panel.high, panel.samples, strict=True
                )
            ],
            columns=["attribute", "group", "value", "low", "high", "samples"],
        )


def by_group(
    evaluation: Evaluation, metric: str, target: Any = None, option: str | None = None
) -> Groups:
    """Return a metric for each class and each group, straight from the table.

    Parameters
    ----------
    evaluation : Evaluation
    metric : str
        A name or an alias from ``caveat.metrics.METRICS``.
    target : str, optional
        The target, where there are several; by default the first.
    option : str, optional
        Which rows, where a metric has several, such as ``"coverage=0.9545"``; by default the first.

    Returns
    -------
    Groups
        Groups in which the metric is not defined are left out. Of more than two classes,
        "positive_calibration_error" is that of each class against the rest.

    Examples
    --------
    >>> import caveat
    >>> from caveat.figures import by_group
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.2, 0.9, 0.9])
    >>> result = caveat.evaluate(prediction, [0, 0, 0, 1], groups=["a", "a", "b", "b"], resamples=0)
    >>> by_group(result, "accuracy").panels[1].value
    array([1. , 0.5])
    """
    found = samples(evaluation, target)
    names = {entry.name for entry in METRICS.find(metric)}
    rows = [row for row in evaluation.rows if row.metric in names and row.target == found.target]
    everyone = [row for row in rows if row.overall]
    if not everyone:
        raise OptionError(f"{metric!r} is not in the table of this evaluation")
    if all(row.one_class is not None for row in everyone):
        return _against_rest(evaluation, everyone)
    options = [row.option for row in everyone]
    if option is not None and option not in options:
        raise OptionError(
            f"unknown option {option!r} of {metric!r}; known are {', '.join(options)}"
        )
    (whole, *_) = [row for row in everyone if option in (None, row.option)]
    by_attribute: dict[str, list[tuple[str, Row]]] = {}
    for row in rows:
        same = (row.metric, row.option) == (whole.metric, whole.option)
        if same and not row.overall and row.contrast is Contrast.NONE:
            by_attribute.setdefault(row.attribute, []).append((row.category, row))
    panels = [
        replace(_panel(name, of_it, whole.value), of_class=name == evaluation.true_class)
        for name, of_it in by_attribute.items()
    ]
    words = whole.metric.replace("_", " ") + (f" ({whole.option})" if whole.option else "")
    return Groups(
        title=f"{words[0].upper()}{words[1:]}{of_target(evaluation, found)} by group",
        x_label=words,
        y_label="group",
        confidence=evaluation.confidence,
        metric=whole.metric,
        option=whole.option,
        direction=whole.direction,
        panels=tuple(panel for panel in panels if panel.labels),
    )


def _against_rest(evaluation: Evaluation, rows: Sequence[Row]) -> Groups:
    """Return the calibration of each class against the rest, over all samples."""
    classwise = evaluation.matching(metric="classwise_calibration_error", group="")
    overall = classwise[0].value if classwise else float(np.mean([row.value for row in rows]))
    labeled = [(str(row.one_class), row) for row in rows]
    panel = _panel("class against the rest", labeled, overall)
    return Groups(
        title="Calibration error of each class against the rest",
        x_label="calibration error of the class against the rest",
        y_label="class",
        confidence=evaluation.confidence,
        metric=rows[0].metric,
        option="",
        direction=rows[0].direction,
        panels=(replace(panel, of_class=True, against_rest=True),),
    )


def _panel(attribute: str, rows: list[tuple[str, Row]], overall: float) -> Panel:
    rows = [(label, row) for label, row in rows if np.isfinite(row.value)]
    numbers = np.array(
        [[row.value, row.low, row.high, row.samples] for _, row in rows], dtype=np.float64
    ).reshape(-1, 4)
    value = numbers[:, 0]
    low, high = (np.where(np.isfinite(end), end, value) for end in numbers[:, 1:3].T)
    labels = tuple(label for label, _ in rows)
    return Panel(attribute, labels, value, low, high, numbers[:, 3], overall)
