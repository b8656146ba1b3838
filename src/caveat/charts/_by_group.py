"""The same curve for each value of an attribute, in one chart."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..evaluation import Evaluation
from ..exceptions import OptionError
from .chart import Chart, overlay
from .marks import STYLES

MOST = len(STYLES)
"""More curves than this cannot be told apart; the largest groups are drawn."""

_BANDS = 3
"""Bands of more curves than this would hide each other; the numbers have them."""


def by_group(
    evaluation: Evaluation, group: str, make: Callable[[np.ndarray], Chart], read: str
) -> Chart:
    """Return one chart with a curve for each value of the attribute ``group``.

    ``make`` makes the chart of a group from its rows; ``read`` says how to read the result.
    """
    known = [part for part in evaluation.attributes if part.name != evaluation.true_class]
    matching = [part for part in known if part.name == group]
    if not matching:
        names = ", ".join(repr(part.name) for part in known)
        has = f"its groups are {names}" if names else "it has none; pass groups= to evaluate"
        raise OptionError(f"the evaluation has no group {group!r}; {has}")
    (attribute,) = matching
    weight = evaluation.sample_weight
    codes = attribute.codes if weight is None else attribute.codes[weight > 0]
    sizes = np.bincount(codes)
    there = np.count_nonzero(sizes)  # of a group no sample may count
    largest = np.sort(np.argsort(-sizes, kind="stable")[: min(there, MOST)])
    made = {
        attribute.values[code]: make(np.flatnonzero(attribute.codes == code)) for code in largest
    }
    chart = overlay(made, read, bands=len(made) <= _BANDS)
    left = there - len(made)
    numbers = dict(chart.numbers)
    return replace(
        chart,
        title=f"{chart.title} by {group}",
        numbers={"group": numbers.pop("technique"), **numbers},
        note=f"The {MOST} largest groups; {left} more are left out." if left else "",
    )
