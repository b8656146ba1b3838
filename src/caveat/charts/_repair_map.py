"""The map of a repair: which probability, or which level, becomes which."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._validation import FloatArray, check_choice
from ..predictions import Categorical, Gaussian, GaussianLogits, Quantiles
from ..repairing import Repair
from ..repairing.result import repaired
from .chart import Chart
from .entry import Entry, expect
from .marks import STYLES, Axis, Line, Mark, Rule, style_of

_POINTS = 101
_MOST = len(STYLES)


def repair_map(result: Repair, label: Any = None) -> Chart:
    """Return the map of a repair: what it makes of each probability, or of each quantile level.

    Parameters
    ----------
    result : Repair
        A repair of probabilities, Gaussians or quantiles.
    label : label, optional
        The class to show; by default the second of two, and with more classes each of the first
        seven. With more than two classes the other ones share the rest evenly, which is one of many
        ways in which they can.

    Returns
    -------
    Its numbers are the curve, and before and after of its points.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=1000)
    >>> y = (rng.random(1000) < 1 / (1 + np.exp(-z))).astype(int)
    >>> repair = caveat.repair(1 / (1 + np.exp(-3 * z)), y, random_state=0)
    >>> caveat.charts.repair_map(repair)
    <Chart: What TemperatureScaling makes of the probability of class=1, 101 rows>
    """
    expect(result, Repair)
    curves = list(_curves(result, label))[:_MOST]
    name = result.chosen or "no repair"
    of_classes = result.classes is not None
    two = of_classes and len(result.classes or ()) == 2
    what = "level of a quantile"
    if of_classes:
        what = f"probability of class={curves[0][1]}" if two or label is not None else "probability"
    marks: list[Mark] = [Rule(end=1.0, label="left as it is")]
    for number, (text, _, before, after) in enumerate(curves):
        style = style_of(number)
        marks.append(
            Line(
                x=before, y=after, label=text, main=True, marker=None, color=style.color,
                dash=style.dash, says="{x:.1%} becomes {y:.1%}",
            )
        )  # fmt: skip
    columns = {
        "curve": [text for text, _, before, _ in curves for _ in before],
        "before": np.concatenate([before for _, _, before, _ in curves]),
        "after": np.concatenate([after for _, _, _, after in curves]),
    }
    ends = (0.0, 1.0)
    return Chart(
        title=f"What {name} makes of the {what}",
        read="On the diagonal nothing changes; above it a number becomes larger, below it smaller."
        + (" The other classes share the rest evenly." if of_classes and not two else ""),
        x=Axis(label=f"{what}, before", ends=ends, percent=True),
        y=Axis(label="after", ends=ends, percent=True),
        marks=tuple(marks),
        numbers=columns,
        square=True,
    )


def _curves(result: Repair, label: Any) -> Iterator[tuple[str, Any, FloatArray, FloatArray]]:
    """Yield the name of a curve, the class, and what is before and after."""
    groups = _groups(result)
    if result.classes is not None:
        for number in _classes(result.classes, label, bool(groups[0])):
            for group in groups:
                before, after = _probabilities(result, number, group)
                text = f"class={result.classes[number]}"
                yield f"{text}, {group}" if group else text, result.classes[number], before, after
        return
    for group in groups:
        for target, before, after in _levels(result, group):
            yield ", ".join(filter(None, (target, group))) or "all samples", None, before, after


def _groups(result: Repair) -> list[str]:
    fitted = result.recalibrator
    if fitted is None or fitted.groups_ is None:
        return [""]
    return list(fitted.groups_)


def _classes(classes: tuple[Any, ...], label: Any, grouped: bool) -> list[int]:
    if label is not None:
        return [classes.index(check_choice(label, "label", classes))]
    if len(classes) == 2:
        return [1]
    return [0] if grouped else list(range(min(len(classes), _MOST)))


def _probabilities(result: Repair, number: int, group: str) -> tuple[FloatArray, FloatArray]:
    classes = result.classes or ()
    grid = np.linspace(0.0, 1.0, _POINTS)
    grid[[0, -1]] = 1e-6, 1 - 1e-6
    p = np.repeat((1 - grid[:, None]) / (len(classes) - 1), len(classes), axis=1)
    p[:, number] = grid
    given: Any = Categorical(p, classes=classes)
    if _signature(result).get("type") == "GaussianLogits":
        given = GaussianLogits(np.log(p), np.full(p.shape, 1e-12), classes=classes)
    made = _made(result, given, group)
    if isinstance(made, GaussianLogits):
        made = made.to_categorical()
    return grid, made.mean[:, number]


def _signature(result: Repair) -> dict[str, Any]:
    """Return what the repair was fitted on; nothing if there is none."""
    return {} if result.recalibrator is None else result.recalibrator.signature_


def _levels(result: Repair, group: str) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Yield for each target which level of a standard normal becomes which."""
    from scipy.special import ndtr

    signature = _signature(result)
    targets = signature.get("targets", ["0"])
    normal = Gaussian(np.zeros((1, len(targets))), 1.0, targets=targets)
    given: Any = normal
    if "levels" in signature:
        given = normal.to_quantiles(signature["levels"])
    made = _made(result, given, group)
    if not isinstance(made, Quantiles):
        made = made.to_quantiles(np.linspace(0.005, 0.995, _POINTS))
    for target, name in enumerate(targets):
        before = ndtr(made.values.mean(axis=0)[0, target])
        yield str(name) if len(targets) > 1 else "", before, np.asarray(made.levels)


def _made(result: Repair, prediction: Any, group: str) -> Any:
    """Return a prediction after the repair of one group."""
    if result.recalibrator is None:
        return prediction
    fitted = result.recalibrator
    return repaired(fitted if fitted.groups_ is None else fitted.groups_[group], prediction)


ENTRY = Entry(
    "repair_map",
    repair_map,
    of=Repair,
    applies=lambda result: result.measure != "interval_loss",
    needs="probabilities, a Gaussian or quantiles",
    overlays=False,
    aliases=("map",),
)
