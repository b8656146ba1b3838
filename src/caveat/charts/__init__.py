"""Charts: a result in, a declaration out, which matplotlib or a page draws.

A `Chart` has marks, axes, words that say how to read it, and its numbers as a table. Bands and
intervals know of weights and clusters. Colors, dashes and markers differ together, so that charts
can be read without colors.
"""

from inspect import get_annotations, isfunction

from .._docstrings import describe_parameters, entries_of
from ._class_ecdf import class_ecdf
from ._confidence import confidence_curve
from ._confusion import confused, kinds, measure_ecdf, near_misses
from ._consistency import consistency
from ._coverage import coverage
from ._decision import decision_curve
from ._disentanglement import sweeps, terms
from ._drift import drift, drift_distribution, history
from ._ecdf import ecdf
from ._embedding import embedding
from ._error_calibration import error_calibration
from ._error_histogram import error_histogram
from ._experiments import detection, domain_shift, shift
from ._extremes import Extremes, Sample, extremes
from ._flow_chart import flow_chart
from ._groups import AGAINST_REST, comparison, groups, trade_off
from ._maps import class_map, false_color, kind_map, label_map, layer_map, number_map
from ._reliability import reliability
from ._repair_map import repair_map
from ._signatures import signatures
from ._split import Deferral, deferral, split
from ._stream import stream
from ._triage import operating_curve
from .chart import Chart, Headline, overlay
from .entry import Entry
from .fairness import distributions, ratios
from .marks import COLORS, Axis, Band, Bars, Heat, Image, Line, Points, Rule, Span, Strip, Text
from .table import CHARTS, available, chart, plot

__all__ = [
    "AGAINST_REST",
    "CHARTS",
    "COLORS",
    "Axis",
    "Band",
    "Bars",
    "Chart",
    "Deferral",
    "Entry",
    "Extremes",
    "Headline",
    "Heat",
    "Image",
    "Line",
    "Points",
    "Rule",
    "Sample",
    "Span",
    "Strip",
    "Text",
    "available",
    "chart",
    "class_ecdf",
    "class_map",
    "comparison",
    "confidence_curve",
    "confused",
    "consistency",
    "coverage",
    "decision_curve",
    "deferral",
    "detection",
    "distributions",
    "domain_shift",
    "drift",
    "drift_distribution",
    "ecdf",
    "embedding",
    "error_calibration",
    "error_histogram",
    "extremes",
    "false_color",
    "flow_chart",
    "groups",
    "history",
    "kind_map",
    "kinds",
    "label_map",
    "layer_map",
    "measure_ecdf",
    "near_misses",
    "number_map",
    "operating_curve",
    "overlay",
    "plot",
    "ratios",
    "reliability",
    "repair_map",
    "shift",
    "signatures",
    "split",
    "stream",
    "sweeps",
    "terms",
    "trade_off",
]

PARAMETERS = entries_of("""\
decomposition : str
    By default the first.
evaluation : Evaluation
pixels : PredictionMap
    The prediction, of two axes.
target : str
    The target, where there are several; by default the first.
""")

for _name in __all__:
    if isfunction(_chart := globals()[_name]):
        _types = get_annotations(_chart)
        _words = {part: getattr(kind, "__name__", "") for part, kind in _types.items()}
        _own = {"result": f"result : {_words.get('result')}"}
        if _needs := next((e.needs for e in CHARTS.values() if e.function is _chart), ""):
            _own["evaluation"] = f"evaluation : Evaluation\n    Its prediction has {_needs}."
        _returns = (_words["return"], "")
        describe_parameters(_own, PARAMETERS, returns=_returns, package="caveat.charts")(_chart)
