"""Whether those who are alike are treated alike: consistency by group and outcome."""

import numpy as np

from .._validation import check_choice
from ..exceptions import OptionError
from ..fairness import Consistency, ConsistencyRow, FairnessAudit
from .chart import Chart
from .entry import Entry, chosen, expect
from .layout import padded, row_axis, sized_lines
from .marks import Axis, Bars, Mark, Rule

MOST_CONSISTENCIES, MOST_BARS = 30, 60


def consistency(
    result: Consistency | FairnessAudit,
    quantity: str | None = None,
    attribute: str | None = None,
    scaled: bool = True,
) -> Chart:
    """Return the consistency of each group, and of each outcome in it, as bars with intervals.

    Parameters
    ----------
    result : Consistency or FairnessAudit
        What `caveat.fairness.consistency` returned, or an audit with ``X=``.
    quantity : str, optional
        Which of the values; by default the first.
    attribute : str, optional
        The groups of this attribute only; by default of all.
    scaled : bool, default=True
        Whether differences are divided by the spread of the quantity. Without, small uncertainties
        are all close to 1.

    Returns
    -------
    Numbers of samples are in parentheses. Of an attribute with more than 30 values the 30 least
    consistent are shown; of more than 60 bars, those of single outcomes are left out.

    Examples
    --------
    >>> from caveat.fairness import consistency as measured
    >>> X, group = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], ["a", "a", "a", "b", "b", "b"]
    >>> result = measured([1, 1, 0, 0, 0, 0], X, neighbors=2, groups=group, resamples=0)
    >>> consistency(result).numbers["samples of"]
    ['all samples', 'group=a', 'group=b']
    """
    alike = result.consistency if isinstance(result, FairnessAudit) else result
    if alike is None:
        raise OptionError("the audit has no consistencies; pass X= to caveat.audit")
    expect(alike, Consistency)
    name = chosen(quantity, "quantity", list(alike.differences))
    whole, rows = _consistency_rows(alike, name, attribute, scaled)
    if len(rows) > MOST_BARS:
        rows = [row for row in rows if not row.outcome] or rows[:MOST_BARS]
    axis, places = row_axis(
        [
            sized_lines(f"outcome {row.outcome}" if row.outcome else row.label, row.samples)
            for row in rows
        ]
    )
    every = [whole, *rows]
    numbers = np.array([_consistency_numbers(row, scaled) for row in every]).T
    overall, (value, low, high) = numbers[0, 0], numbers[:, 1:]
    outcomes = list(dict.fromkeys(row.outcome for row in rows))
    marks: list[Mark] = []
    for position, outcome in enumerate(outcomes):
        some = np.flatnonzero([row.outcome == outcome for row in rows])
        label = f"outcome {outcome}" if outcome else "all outcomes"
        marks.append(
            Bars(
                x=value[some], y=np.take(places, some), low=low[some], high=high[some], height=1.4,
                hatch=position, label=label if len(outcomes) > 1 else "", main=True,
                text=[rows[i].label for i in some], says="{text}: {x:.3g}",
            )
        )  # fmt: skip
    marks.append(Rule(x=overall, label="all samples", dash="dash"))
    unit = ", in units of the spread" if scaled else ""
    by = f" by {attribute}" if attribute is not None else ""
    return Chart(
        title=f"Consistency of {name}{by}",
        read="1 is the same as the neighbors; 0 is one standard deviation from them. The dashed "
        "line is the mean of all samples, the strokes are intervals. More is better."
        if scaled
        else "1 is the same as the neighbors. The dashed line is the mean of all samples, the "
        "strokes are intervals. More is better.",
        x=Axis(
            label=f"consistency of {name}{unit}: more is better",
            ends=padded(value, low, high, [overall, 0.0]),
        ),
        y=axis,
        marks=tuple(marks),
        numbers={
            "samples of": [row.label for row in every],
            **dict(zip(("consistency", "low", "high"), numbers.tolist(), strict=True)),
            "samples": [row.samples for row in every],
        },
    )


def _consistency_rows(
    alike: Consistency, quantity: str, attribute: str | None, scaled: bool
) -> tuple[ConsistencyRow, list[ConsistencyRow]]:
    """Return the row of all samples, and those to draw: of groups, or else of outcomes."""
    whole, *rows = alike.matching(quantity=quantity)
    if attribute is not None:
        check_choice(attribute, "attribute", sorted({row.attribute for row in rows} - {""}))
        rows = [row for row in rows if row.attribute == attribute]
    rows = [row for row in rows if row.attribute] or rows or [whole]
    rows = [row for row in rows if np.isfinite(_consistency_numbers(row, scaled)[0])]
    if not rows:
        raise OptionError(
            f"the consistency of {quantity!r} has no scaled value: all samples have one value; "
            "pass scaled=False"
        )
    kept: set[tuple[str, str]] = set()
    for name in {row.attribute for row in rows}:
        of_it = [row for row in rows if row.attribute == name and not row.outcome]
        least = sorted(of_it, key=lambda row: _consistency_numbers(row, scaled)[0])
        kept |= {(name, row.group) for row in least[:MOST_CONSISTENCIES]}
    return whole, [row for row in rows if not row.attribute or (row.attribute, row.group) in kept]


def _consistency_numbers(row: ConsistencyRow, scaled: bool) -> tuple[float, float, float]:
    """Return a consistency and its interval, raw or in units of the spread."""
    if scaled:
        return row.scaled, row.scaled_low, row.scaled_high
    return row.consistency, row.low, row.high


ENTRY = Entry("consistency", consistency, of=FairnessAudit)
