"""The table of all metrics: what each takes, says and cannot see."""

import inspect
from math import inf
from typing import Any

from .._docstrings import describe_parameters
from .._registry import OpenRegistry
from ..exceptions import OptionError, UnknownNameError
from . import classification, ranking, regression
from ._parameters import CLASSIFICATION, RANKING, REGRESSION
from .entry import Metric, Place, Role


class MetricRegistry(OpenRegistry[Metric]):
    """Metrics by full name or alias; an alias that two tasks share asks for the task.

    Parameters
    ----------
    kind : str
        What an entry is called in messages.
    entries : sequence of Metric
    """

    def get(self, name: str, default: Any = None, *, task: str | None = None) -> Any:
        """Return the metric of this name, or ``default`` if there is none.

        Parameters
        ----------
        name : str
            A full name or an alias.
        default : object, default=None
        task : str, optional
            Only metrics of this task: "classification", "regression", "ranking" or "detection".
        """
        try:
            matches = self.find(name)
        except UnknownNameError:
            return default
        matches = [entry for entry in matches if task is None or entry.task == str(task)]
        return _only(name, matches) if matches else default

    def register(self, metric: Metric) -> None:
        """Add a metric of your own: evaluations, reports and the command line then have it, too.

        Parameters
        ----------
        metric : Metric
            With ``sums`` where the value is a function of sums: its intervals are then as sure and
            as quick as those of all others.

        Examples
        --------
        >>> import numpy as np
        >>> from caveat import Gaussian, evaluate
        >>> from caveat.metrics import METRICS, Metric
        >>> def largest_error(y_true, mean, *, sample_weight=None):
        ...     return float(np.abs(y_true - mean).max())
        >>> METRICS.register(
        ...     Metric(
        ...         function=largest_error,
        ...         task="regression",
        ...         inputs=("mean",),
        ...         direction="lower",
        ...         range=(0.0, np.inf),
        ...         optimum=0.0,
        ...         says="How far off the worst prediction is.",
        ...         cannot_see="All other predictions.",
        ...     )
        ... )
        >>> prediction = Gaussian([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
        >>> rows = evaluate(prediction, [1.5, 2.0, 2.8], resamples=0)
        >>> rows.select(metric="largest_error")[0].value
        0.5
        >>> METRICS.unregister("largest_error")
        """
        if not isinstance(metric, Metric):
            raise OptionError(f"register takes a Metric; got {metric!r}")
        takes = inspect.signature(metric.function).parameters.values()
        if not any(part.name == "sample_weight" or part.kind is part.VAR_KEYWORD for part in takes):
            raise OptionError(f"the function of {metric.name} must take sample_weight=")
        self._replace([*self.values(), metric])

    def shown(self, place: Place) -> tuple[str, ...]:
        """Return the names of the metrics that a short table has, in their order.

        Examples
        --------
        >>> from caveat.metrics import METRICS
        >>> METRICS.shown("groups")[:2]
        ('accuracy_score', 'negative_log_likelihood_loss')
        """
        return tuple(name for name, metric in self.items() if place in metric.shown)

    def serving(self, expression: str, role: Role) -> tuple[str, ...]:
        """Return the names of the metrics with a role.

        Parameters
        ----------
        expression : {"probability", "entropy", "variance", "interval"}
            How uncertainty is expressed.
        role : {"skill", "calibration", "supporting"}

        Examples
        --------
        >>> from caveat.metrics import METRICS
        >>> METRICS.serving("probability", "calibration")
        ('expected_calibration_error',)
        """
        return tuple(name for name, m in self.items() if m.serves.get(expression) == role)

    def __getitem__(self, name: str) -> Metric:
        return _only(name, self.find(name))


def _only(name: str, matches: list[Metric]) -> Metric:
    """Return the one match; raise if there are several."""
    if len(matches) == 1:
        return matches[0]
    meanings = " and ".join(f"{entry.name} ({entry.task})" for entry in matches)
    example = f"METRICS.get({name!r}, task={matches[0].task!r})"
    raise UnknownNameError(f"{name!r} is short for {meanings}; say which: {example}")


MODULES = (*classification.MODULES, *regression.MODULES, *ranking.MODULES)
"""A metric is declared in one of these: its function, its curve, and its line in ENTRIES."""

METRICS = MetricRegistry(
    "metric", [entry for module in MODULES for entry in getattr(module, "ENTRIES", ())]
)
_METRIC_OF = {metric.function: metric for metric in METRICS.values()}


def _returned(function: Any) -> tuple[str, str]:
    """Return the type that a function returns, and which values its declaration allows."""
    kind = function.__annotations__["return"]
    if kind is not float and isinstance(kind, type):
        return kind.__name__, ""
    metric = _METRIC_OF.get(function)
    if metric is None:
        return "", ""
    return "float" if kind is float else "float, or ndarray of shape (samples,)", _values(metric)


def _values(metric: Metric) -> str:
    """Return which values a metric can have, and which are better, in one sentence."""
    low, high = metric.range
    better = "" if metric.direction == "target" else f"{metric.direction} is better"
    if low == -inf and better:
        return f"{better.capitalize()}, without bound on either side."
    if metric.direction == "target" and metric.optimum is not None:
        better = f"{metric.optimum:g} is best"
    best = " (best)" if metric.optimum == low else ""
    start = "minus infinity" if low == -inf else f"{low:g}"
    end = f"to {high:g}" if high < inf else "upwards" if low == 0 else "to infinity"
    unit = ", in the unit of the target" if metric.unit == "target" else ""
    return f"From {start}{best} {end}{unit}" + ("." if best or not better else f"; {better}.")


for _family, _table in (
    (classification, CLASSIFICATION),
    (regression, REGRESSION),
    (ranking, RANKING),
):
    for _module in _family.MODULES:
        for _name in _module.__all__:
            if inspect.isfunction(_function := getattr(_module, _name)):
                _tables = getattr(_module, "PARAMETERS", {}), _table
                describe_parameters(
                    *_tables, returns=_returned(_function), package="caveat.metrics"
                )(_function)  # fmt: skip
