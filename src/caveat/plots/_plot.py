"""One entry to all plots, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._registry import Registry
from ..evaluation import Comparison, Evaluation
from ..exceptions import OptionError, UnsupportedPredictionError
from ..experiments import ClassDetection, Disentanglement, DomainShift, ShiftCurves
from ..fairness import FairnessAudit
from ..figures import available
from ._consistency import plot_consistency
from ._curves import plot_confidence_curve, plot_ecdf
from ._diagonal import plot_coverage, plot_error_calibration, plot_reliability
from ._disentanglement import plot_disentanglement, plot_disentanglement_terms
from ._experiments import plot_detection, plot_domain_shift, plot_shift
from ._fairness import plot_distributions, plot_ratios
from ._groups import plot_comparison, plot_groups
from ._samples import plot_error_vs_uncertainty, plot_split

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Plot:
    """A kind of plot, and the figure it draws."""

    name: str
    function: Callable[..., Any]
    figure: str
    aliases: tuple[str, ...] = ()
    overlays: bool = True
    """Whether several techniques can share the axes."""


PLOTS: Registry[Plot] = Registry(
    "kind of plot",
    [
        Plot("reliability", plot_reliability, "reliability"),
        Plot("coverage", plot_coverage, "coverage"),
        Plot("error_calibration", plot_error_calibration, "error_calibration"),
        Plot("confidence_curve", plot_confidence_curve, "confidence_curve", ("confidence",)),
        Plot(
            "error_vs_uncertainty",
            plot_error_vs_uncertainty,
            "error_histogram",
            ("error_histogram",),
            overlays=False,
        ),
        Plot("ecdf", plot_ecdf, "ecdf"),
        Plot("split", plot_split, "split", overlays=False),
        Plot("groups", plot_groups, "by_group", ("by_group",)),
    ],
)

_OTHERS: dict[type, Registry[Plot]] = {
    FairnessAudit: Registry(
        "kind of plot of an audit",
        [
            Plot("ratios", plot_ratios, ""),
            Plot("distributions", plot_distributions, ""),
            Plot("consistency", plot_consistency, ""),
        ],
    ),
    Disentanglement: Registry(
        "kind of plot of a disentanglement",
        [
            Plot("sweeps", plot_disentanglement, ""),
            Plot("terms", plot_disentanglement_terms, ""),
        ],
    ),
    ClassDetection: Registry(
        "kind of plot of a class detection", [Plot("detection", plot_detection, "")]
    ),
    ShiftCurves: Registry("kind of plot of shift curves", [Plot("shift", plot_shift, "")]),
    DomainShift: Registry(
        "kind of plot of a domain shift", [Plot("domain_shift", plot_domain_shift, "")]
    ),
}
"""The plots of results that have no figures: the first is the default."""


def plot(result: Any, kind: str | None = None, /, **options: Any) -> "Axes":
    """Draw one of the figures of a result.

    Parameters
    ----------
    result : Evaluation, Comparison, FairnessAudit, or the result of an experiment
        The curves of the techniques of a comparison share the axes, each under its name.
    kind : str, optional
        "reliability", "coverage", "error_calibration", "confidence_curve", "error_vs_uncertainty",
        "ecdf", "split" or "groups"; by default the first that applies. For a comparison also
        "comparison", which needs ``metric=`` and is the default. For an audit "ratios" (the
        default), "distributions" or "consistency". For a disentanglement "sweeps" (the default,
        two Axes) or "terms". Other experiments have one plot each.
    **options
        For the function of that kind, such as `plot_reliability`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.plots import plot
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Gaussian([0.0, 0.0, 0.0], [1.0, 2.0, 3.0])
    >>> ax = plot(caveat.evaluate(prediction, [0.3, -1, 2], resamples=0), "coverage")
    >>> ax.get_title()
    'Coverage'
    """
    for of, plots in _OTHERS.items():
        if isinstance(result, of):
            return _of_other(result, plots[next(iter(plots)) if kind is None else kind], options)
    if isinstance(result, Comparison):
        return _of_comparison(result, "comparison" if kind is None else kind, options)
    if not isinstance(result, Evaluation):
        raise OptionError(
            "plot takes what evaluate, compare, audit, disentanglement_error, class_detection, "
            f"shift_curves or domain_shift returned; got a {type(result).__name__}"
        )
    kinds = _kinds(result, options.get("target"))
    entry = PLOTS[kinds[0] if kind is None else kind]
    if entry.name not in kinds:
        raise UnsupportedPredictionError(
            f"kind={entry.name!r} does not apply to this {type(result.prediction).__name__}; "
            f"kinds that do are {', '.join(kinds)}"
        )
    return entry.function(result, **options)


def _kinds(evaluation: Evaluation, target: Any) -> list[str]:
    names = available(evaluation, target)
    return [name for name, entry in PLOTS.items() if entry.figure in names]


def _of_other(result: Any, entry: Plot, options: dict[str, Any]) -> "Axes":
    if entry.name != "consistency":
        return entry.function(result, **options)
    if result.consistency is None:
        raise OptionError("the audit has no consistencies; pass X= to caveat.audit")
    return entry.function(result.consistency, **options)


def _of_comparison(comparison: Comparison, kind: str, options: dict[str, Any]) -> "Axes":
    if kind == "comparison":
        return plot_comparison(comparison, **options)
    entry = PLOTS[kind]
    if not entry.overlays:
        raise OptionError(
            f"kind={entry.name!r} shows one technique at a time; plot one of the evaluations, as "
            f"in comparison.evaluations[{comparison.techniques[0]!r}]"
        )
    for name, evaluation in comparison.evaluations.items():
        options["ax"] = plot(evaluation, kind, **{**options, "name": name})
    return options["ax"]
