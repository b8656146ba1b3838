"""All kinds of charts, and one door to draw them."""

import inspect
from typing import TYPE_CHECKING, Any

from ..evaluation import Comparison, Evaluation
from ..exceptions import OptionError, UnsupportedPredictionError
from . import (
    _class_ecdf,
    _confidence,
    _confusion,
    _consistency,
    _coverage,
    _decision,
    _disentanglement,
    _drift,
    _ecdf,
    _embedding,
    _error_calibration,
    _error_histogram,
    _experiments,
    _flow_chart,
    _groups,
    _maps,
    _reliability,
    _repair_map,
    _split,
    _stream,
    _triage,
    fairness,
)
from ._matplotlib import draw_panels, has_chart
from ._samples import samples
from .chart import Chart
from .entry import Charts, Entry

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHARTS = Charts(
    "kind of chart",
    [
        _reliability.ENTRY,
        _decision.ENTRY,
        _coverage.ENTRY,
        _error_calibration.ENTRY,
        _confidence.ENTRY,
        _error_histogram.ENTRY,
        _ecdf.ENTRY,
        _split.ENTRY,
        _groups.ENTRY,
        _groups.COMPARISON,
        _groups.TRADE_OFF,
        fairness.RATIOS,
        fairness.DISTRIBUTIONS,
        _consistency.ENTRY,
        _disentanglement.SWEEPS,
        _disentanglement.TERMS_ENTRY,
        _experiments.DETECTION,
        _experiments.SHIFT,
        _experiments.DOMAIN_SHIFT,
        _triage.ENTRY,
        _drift.DRIFT,
        _drift.DISTRIBUTION,
        _drift.HISTORY,
        _repair_map.ENTRY,
        _confusion.ECDF,
        _class_ecdf.ENTRY,
        _confusion.CONFUSED_CLASSES,
        _confusion.NEAR_MISSES,
        _confusion.KINDS,
        _embedding.ENTRY,
        _maps.CLASSES,
        _maps.LAYER,
        _maps.KINDS_MAP,
        _stream.ENTRY,
        _flow_chart.ENTRY,
    ],
)
"""The first kind of each type of result that applies is the default of `plot`."""


def available(result: Any, target: Any = None) -> list[str]:
    """Return the names of the charts that a result has.

    Parameters
    ----------
    result : Evaluation, Comparison, FairnessAudit, Triage or the result of an experiment
    target : str, optional
        The target of an evaluation with several; by default the first.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import caveat
    >>> sets = caveat.PredictionSet([[True, False], [True, True]], coverage=0.9)
    >>> available(caveat.evaluate(sets, [0, 0], resamples=0))
    ['coverage', 'groups']
    """
    if isinstance(result, Evaluation):
        matches = samples(result, target)
        return [entry.name for entry in CHARTS.of(result) if entry.applies(result, matches)]
    return [entry.name for entry in CHARTS.of(result) if entry.applies(result)]


def chart(result: Any, kind: str | None = None, **options: Any) -> Any:
    """Return one of the charts of a result, not yet drawn.

    Parameters
    ----------
    result : Evaluation, Comparison, FairnessAudit, Triage or the result of an experiment
    kind : str, optional
        The name of a chart in ``caveat.charts.CHARTS``; by default the first that the result has.
    **options
        Options of the function of that name, such as `caveat.charts.reliability`.

    Returns
    -------
    Chart, or a tuple of Chart

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Gaussian([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    >>> caveat.charts.chart(caveat.evaluate(prediction, [0.3, -1.0, 2.0], resamples=0), "coverage")
    <Chart: Coverage, 99 rows>
    """
    return _made(_entry(result, kind, options.get("target")), result, options)


def plot(result: Any, kind: str | None = None, **options: Any) -> "Axes":
    """Draw one of the charts of a result with matplotlib.

    Parameters
    ----------
    result : Evaluation, Comparison, FairnessAudit, Triage or the result of an experiment
        The curves of the techniques of a comparison share the axes, each under its name.
    kind : str, optional
        The name of a chart in ``caveat.charts.CHARTS``; by default the first that the result has.
        A comparison has "comparison", which needs ``metric=``, "trade_off", and the charts of its
        evaluations.
    **options
        Options of the function of that name, such as `caveat.charts.reliability`; ``ax=`` and
        ``name=`` of `Chart.plot`; and options of matplotlib for the curve, such as ``color``.

    Returns
    -------
    Axes
        Two of them for "sweeps".

    Examples
    --------
    >>> import caveat, matplotlib
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Gaussian([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    >>> ax = caveat.plot(caveat.evaluate(prediction, [0.3, -1.0, 2.0], resamples=0), name="mine")
    >>> ax.get_title()
    'Coverage'
    """
    single = kind is not None and not isinstance(result, CHARTS[kind].of)
    if isinstance(result, Comparison) and kind is not None and single:
        return _overlaid(result, CHARTS[kind], options)
    entry = _entry(result, kind, options.get("target"))
    known = inspect.signature(entry.function).parameters
    own = {key: options.pop(key) for key in list(options) if key in known}
    ax, name = options.pop("ax", None), options.pop("name", None)
    if not entry.overlays and has_chart(ax):
        raise OptionError(
            f"kind={entry.name!r} shows one technique at a time, and these axes hold a chart "
            "already; pass other axes"
        )
    made = _made(entry, result, own)
    try:
        return (
            made.plot(ax=ax, name=name, **options)
            if isinstance(made, Chart)
            else (draw_panels(made, ax, options))
        )
    except AttributeError as error:
        unknown = [key for key in options if repr(key) in str(error)]
        if not unknown:
            raise
        its = ", ".join(["ax", "name", *list(known)[1:]])
        raise OptionError(
            f"unknown option {unknown[0]!r}; {entry.name!r} has the options {its} and those of "
            f"matplotlib ({error})"
        ) from error


def _made(entry: Entry, result: Any, options: dict[str, Any]) -> Any:
    """Return the chart, or the charts, of one kind."""
    made = entry.function(result, **options)
    several = isinstance(made, tuple | list) and all(isinstance(one, Chart) for one in made)
    if not isinstance(made, Chart) and not several:
        raise OptionError(
            f"the function of {entry.name!r} must return a caveat.charts.Chart, or a tuple of "
            f"them; got a {type(made).__name__}"
        )
    return made


def _entry(result: Any, kind: str | None, target: Any) -> Entry:
    """Return the kind of chart that was asked for, if the result has it."""
    entries = CHARTS.of(result)
    if not entries:
        known = ", ".join(dict.fromkeys(kind.of.__name__ for kind in CHARTS.values()))
        raise OptionError(f"a chart is made of one of {known}; got a {type(result).__name__}")
    names = available(result, target)
    entry = CHARTS[kind] if kind is not None else CHARTS[names[0]] if names else entries[0]
    if entry.name not in names:
        what = getattr(result, "prediction", result)
        raise UnsupportedPredictionError(
            f"kind={entry.name!r} does not apply to this {type(what).__name__}; kinds that do are "
            f"{', '.join(names) or 'none'}"
        )
    return entry


def _overlaid(comparison: Comparison, entry: Entry, options: dict[str, Any]) -> "Axes":
    if entry.of is not Evaluation or not entry.overlays:
        raise OptionError(
            f"kind={entry.name!r} shows one technique at a time; plot one of the evaluations, as "
            f"in comparison.evaluations[{comparison.techniques[0]!r}]"
        )
    for name, evaluation in comparison.evaluations.items():
        options["ax"] = plot(evaluation, entry.name, **{**options, "name": name})
    return options["ax"]
