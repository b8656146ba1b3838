"""All measures of uncertainty of right and of wrong predictions, also of one true class."""

from typing import Any

import numpy as np

from .._validation import check_choice
from ..confusion import MeasureComparison
from ..exceptions import OptionError
from ..results.tables import interval_words
from ._confusion import measure_styles
from ._ecdf import shares_up_to
from .chart import Chart
from .entry import Entry, expect
from .marks import Axis, Line

_GRID = np.arange(41) / 40
_MOST_CLASSES = 3
"""Classes that a page shows, those with the most wrong predictions."""


def class_ecdf(result: MeasureComparison, one_class: Any = None) -> tuple[Chart, ...]:
    """Return the cumulative distributions of all measures, of right beside wrong predictions.

    Measures from 0 to 1 only. Where a class is close to others, its wrong predictions have a low
    homophily-based uncertainty, whatever the other measures say.

    Parameters
    ----------
    result : MeasureComparison
        What `caveat.compare_measures` returned.
    one_class : label, optional
        Only samples of this true class; by default all.

    Returns
    -------
    tuple of Chart
        One of the right and one of the wrong predictions; only one where there are no others. Their
        numbers are values of a measure, and for each measure the share of the predictions with at
        most that value.

    Examples
    --------
    >>> import caveat
    >>> p = [[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.2, 0.8]]
    >>> compared = caveat.compare_measures(p, [0, 0, 1, 1], measures=["margin"], resamples=0)
    >>> right, wrong = class_ecdf(compared, 0)
    >>> wrong.title
    'Wrong predictions of class 0'
    >>> wrong.numbers["margin"][[31, 32]]
    array([0., 1.])
    """
    expect(result, MeasureComparison)
    chosen = np.ones(len(result.wrong), dtype=bool)
    label = ""
    if one_class is not None:
        labels = result.classes.tolist()
        chosen = result.codes == labels.index(check_choice(one_class, "one_class", labels))
        label = str(one_class)
        if not chosen.any():
            raise OptionError(f"no sample has the true class {one_class!r}; pass another one_class")
    parts = (("Right", chosen & ~result.wrong), ("Wrong", chosen & result.wrong))
    return tuple(_chart(result, part, name, label) for name, part in parts if part.any())


def _chart(result: MeasureComparison, part: Any, name: str, label: str) -> Chart:
    styles = measure_styles(result)
    shares = {measure: shares_up_to(_GRID, result.values[measure], part) for measure in styles}
    marks = tuple(
        Line(
            x=_GRID, y=shares[measure], label=measure.replace("_", " "), color=style.color,
            dash=style.dash, marker=None, main=True, says="{y:.0%} have a value up to {x:.3g}",
        )
        for measure, style in styles.items()
    )  # fmt: skip
    return Chart(
        title=f"{name} predictions{f' of class {label}' if label else ''}",
        read="A line that rises early belongs to a measure that is low for these predictions. "
        "Right ones should have low values, wrong ones high values.",
        x=Axis(label="value of the measure", ends=(0.0, 1.0)),
        y=Axis(label="share with at most this value", ends=(0.0, 1.02), percent=True),
        marks=marks,
        numbers={"value": _GRID, **shares},
        note=_note(result, int(part.sum()), label),
    )


def _note(result: MeasureComparison, number: int, label: str) -> str:
    """Say of how many predictions the chart is, and which measure finds the wrong ones best."""
    note = f"{number:,} predictions."
    known = [
        row for row in result.rows if row.one_class == label and row.detection == row.detection
    ]
    if known:
        best = max(known, key=lambda row: row.detection)
        interval = interval_words(best.low, best.high)
        note += (
            f" Best error detection: {best.measure.replace('_', ' ')}, {best.detection:.3g}"
            f"{f' ({interval})' if interval else ''}."
        )
    return note


def _views(result: MeasureComparison) -> list[dict[str, Any]]:
    wrong = np.bincount(result.codes[result.wrong], minlength=len(result.classes))
    most = np.argsort(-wrong, kind="stable")[:_MOST_CLASSES]
    classes = result.classes.tolist()
    return [{}, *({"one_class": classes[code]} for code in np.sort(most[wrong[most] > 0]))]


ENTRY = Entry("class_ecdf", class_ecdf, of=MeasureComparison, views=_views, overlays=False)
