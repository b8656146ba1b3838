"""A signal over time: what was predicted, how sure, and what to do."""

from typing import Any

import numpy as np

from .._validation import FloatArray, check_choice
from ..exceptions import OptionError
from ..signals import StreamRecord
from .chart import Chart
from .entry import Entry, expect
from .layout import padded
from .marks import Axis, Band, Line, Mark, Points, Rule, Span

_BAD = "signal that cannot be used"
_MOST = 2000
"""Values of the signal that are drawn; of more, the extremes of each stretch."""


def stream(result: StreamRecord, *, target: Any = None, signal: bool = False) -> Chart:
    """Return predictions of a stream over time with their intervals, truths and actions.

    Parameters
    ----------
    target : str, optional
        The target, where there are several; for classes the class whose probability is drawn. By
        default the first target, or the last class.
    signal : bool, default=False
        Whether to draw the signal itself instead, with the windows that cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> from caveat.signals import StreamRecord
    >>> class Level:
    ...     def predict_distribution(self, X):
    ...         return caveat.Gaussian(X.mean(axis=(1, 2)), np.ones(len(X)))
    >>> live = caveat.stream(Level(), fs=50, window=2)
    >>> events = live.push(np.sin(np.arange(500)))
    >>> caveat.charts.stream(StreamRecord(events))
    <Chart: Predictions over time, 5 rows>
    """
    expect(result, StreamRecord)
    spans = [
        Span(low=event.start, high=event.end, label=_BAD if i == 0 else "", color="gray")
        for i, event in enumerate(e for e in result.events if e.prediction is None)
    ]
    if signal:
        return _signal(result, spans)
    used = [event for event in result.events if event.prediction is not None]
    if not used:
        raise OptionError("no window of this record could be used, so there is no prediction")
    time = np.array([(event.start + event.end) / 2 for event in used])
    values, low, high, words = _values(used, target)
    marks: list[Mark] = [*spans]
    if np.isfinite(low).any():
        marks.append(Band(x=time, low=low, high=high, label="interval"))
    marks.append(Line(x=time, y=values, label="prediction", main=True, says="at {x:g} s: {y:.3g}"))
    actions = np.array([event.action for event in used])
    deferred = actions != "accept"
    if deferred.any():
        names = tuple(actions[deferred].tolist())
        marks.append(
            Points(
                x=time[deferred], y=values[deferred], label="not accepted", marker="cross",
                color="orange", text=names, says="{text}", size=7.0,
            )
        )  # fmt: skip
    truth = _truth(result, used, target)
    if np.isfinite(truth).any():
        marks.append(Points(x=time, y=truth, label="truth", marker="square", color="ink", size=3.0))
    of_classes = hasattr(used[0].prediction, "classes")
    ends = (0.0, 1.02) if of_classes else padded(values, low, high, truth)
    alarm = next((event.start for event in result.events if event.alarm), None)
    if alarm is not None:
        marks.append(Rule(x=alarm, dash="dash", label="alarm"))
    return Chart(
        title="Predictions over time",
        read=(
            "The band is the interval that was given before the truth was known. Where windows are "
            "shaded the signal cannot be used; from the dashed line on the intervals no longer "
            "cover as often as they should."
        ),
        x=Axis(label="seconds", ends=(result.events[0].start, result.events[-1].end)),
        y=Axis(label=words, ends=ends),
        marks=tuple(marks),
        numbers={
            "seconds": time,
            "value": values,
            "low": low,
            "high": high,
            "truth": truth,
            "action": actions,
        },
        confidence=next((e.interval.coverage for e in used if e.interval is not None), np.nan),
    )


def _values(used: list[Any], target: Any) -> tuple[FloatArray, FloatArray, FloatArray, str]:
    """Return what is drawn: values, the ends of their intervals, and the label of the axis."""
    first = used[0].prediction
    none, each = np.full(len(used), np.nan), [event.prediction for event in used]
    if hasattr(first, "classes"):
        place = _place(first.classes, target, -1)
        means = [(p.to_categorical() if hasattr(p, "to_categorical") else p).mean for p in each]
        values = np.array([mean[0, place] for mean in means])
        return values, none, none, f"probability of {first.classes[place]}"
    place = _place(first.targets, target, 0)
    points = [p.median() if hasattr(p, "median") else p.moments()[0] for p in each]
    values = np.array([point[0, place] for point in points])
    low, high = (
        np.array([getattr(e.interval, end)[0, place] for e in used]) for end in ("lower", "upper")
    )
    infinite = ~(np.isfinite(low) & np.isfinite(high))
    low, high = (np.where(infinite, np.nan, end) for end in (low, high))
    return values, low, high, str(first.targets[place]) if len(first.targets) > 1 else "value"


def _place(labels: Any, target: Any, usual: int) -> int:
    names = [str(label) for label in labels.tolist()]
    if target is None:
        return range(len(names))[usual]
    return names.index(check_choice(str(target), "target", names))


def _truth(result: StreamRecord, used: list[Any], target: Any) -> FloatArray:
    if hasattr(used[0].prediction, "classes"):
        return np.full(len(used), np.nan)
    place = _place(used[0].prediction.targets, target, 0)
    missing = np.full(len(used[0].prediction.targets), np.nan)
    return np.array([np.atleast_1d(result.truth.get(e.number, missing))[place] for e in used])


def _signal(result: StreamRecord, spans: list[Span]) -> Chart:
    if result.signal is None:
        raise OptionError(
            "this record has no signal; make it with StreamRecord(events, signal, fs)"
        )
    values = result.signal[0].astype(np.float64)
    known = np.isfinite(values)
    time = np.arange(len(values)) / (result.fs or 1.0)
    if len(values) > _MOST:
        # The extremes of each stretch, in the order in which they come.
        parts = np.array_split(np.arange(len(values)), _MOST // 2)
        low, high = (np.where(known, values, end) for end in (np.inf, -np.inf))
        rows = sorted({int(p[k]) for p in parts for k in (low[p].argmin(), high[p].argmax())})
        values, time = values[rows], time[rows]
    return Chart(
        title="The signal",
        read="Windows that cannot be used are shaded.",
        x=Axis(label="seconds"),
        y=Axis(label="signal", ends=padded(values) if known.any() else None),
        marks=(
            *spans,
            Line(x=time, y=values, main=True, marker=None, width=0.8, says="at {x:g} s: {y:.3g}"),
        ),
        numbers={"seconds": time, "value": values},
    )


ENTRY = Entry(
    "stream", stream, of=StreamRecord,
    views=lambda result: ({}, {"signal": True}) if result.signal is not None else ({},),
)  # fmt: skip
