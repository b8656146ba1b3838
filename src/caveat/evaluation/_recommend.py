"""Which technique to use, from the user's own measurements; it may say that none stands out.

First choose how uncertainty is expressed, then the scale at which it must be right, then weigh
reliability against predictive performance.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError
from ..metrics import METRICS
from ._evaluate import Answer
from ._table import number

if TYPE_CHECKING:
    from ._compare import Comparison

# For each expression of uncertainty: the metric at the global and the local scale, and the support.
_PRIMARY = {
    "probability": {
        "global": "negative_log_likelihood_loss",
        "local": "expected_calibration_error",
    },
    "entropy": {"global": "negative_log_likelihood_loss", "local": "variation_calibration_error"},
    "variance": {
        "global": "gaussian_crps_loss",
        "local": "expected_normalised_calibration_error",
    },
    "interval": {"global": "coverage_calibration_error", "local": "coverage_calibration_error"},
}
_SUPPORT = {
    "probability": ("negative_log_likelihood_loss", "smooth_calibration_error"),
    "entropy": ("smooth_calibration_error", "negative_log_likelihood_loss"),
    "variance": ("gaussian_crps_loss", "mean_absolute_error"),
    "interval": (
        "coverage_ratio",
        "expected_normalised_calibration_error",
        "gaussian_crps_loss",
    ),
}
_SCALES = ("global", "local", "adaptive")


@dataclass(frozen=True)
class Recommendation:
    """What `recommend` returns.

    Attributes
    ----------
    technique : str or None
        The one that stands out; None when no technique does.
    tied : tuple of str
        Techniques that cannot be told from the best by the primary metric, the best first.
    primary : str
        The metric that decided.
    supporting : tuple of str
        Metrics to look at beside it.
    values : dict of str to float
        The primary value of each technique that met the minimum.
    excluded : dict of str to str
        Techniques that did not meet the minimum, and why.
    cautions : tuple of str
    verdict : str
        All of it in plain sentences.
    """

    technique: str | None
    tied: tuple[str, ...]
    primary: str
    supporting: tuple[str, ...]
    values: dict[str, float]
    excluded: dict[str, str]
    cautions: tuple[str, ...]
    verdict: str

    def __str__(self) -> str:
        return "\n".join([self.verdict, *(f"- {caution}" for caution in self.cautions)])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(caution)}</li>" for caution in self.cautions)
        return f"<p>{escape(self.verdict)}</p><ul>{items}</ul>"


def recommend(
    comparison: "Comparison",
    expression: str,
    *,
    scale: str,
    prioritise: Any,
    minimum: Mapping[str, float],
) -> Recommendation:
    """Choose a technique; the arguments are those of `Comparison.recommend`."""
    if not isinstance(expression, str) or expression not in _PRIMARY:
        raise OptionError(f"expression must be one of {list(_PRIMARY)}; got {expression!r}")
    if not isinstance(scale, str) or scale not in _SCALES:
        raise OptionError(f"scale must be one of {list(_SCALES)}; got {scale!r}")
    primary = _PRIMARY[expression]["global" if scale == "global" else "local"]
    excluded = _excluded(comparison, minimum)
    candidates = {
        name: _measured(comparison, name, primary, scale, prioritise)
        for name in comparison.techniques
        if name not in excluded
    }
    what = _words(primary, scale, prioritise)
    if not candidates:
        verdict = "No technique meets the minimum: " + "; ".join(
            f"{name} has {why}" for name, why in excluded.items()
        )
        return Recommendation(
            None, (), primary, _SUPPORT[expression], {}, excluded, (), verdict + "."
        )
    values = {
        name: float(np.mean([answer.value for answer in found]))
        for name, found in candidates.items()
    }
    tied = _tied(primary, candidates, values, comparison.confidence)
    return Recommendation(
        technique=tied[0] if len(tied) == 1 else None,
        tied=tied,
        primary=primary,
        supporting=_SUPPORT[expression],
        values=values,
        excluded=excluded,
        cautions=_cautions(comparison, tied[0], primary, expression, scale),
        verdict=_verdict(tied, values, what, excluded),
    )


def _excluded(comparison: "Comparison", minimum: Mapping[str, float]) -> dict[str, str]:
    found: dict[str, str] = {}
    numbers = isinstance(minimum, Mapping) and not [
        bound for bound in minimum.values() if not isinstance(bound, int | float)
    ]
    if not numbers:
        raise OptionError(f"minimum must be a dict of metric to number; got {minimum!r}")
    for alias, bound in minimum.items():
        for name in comparison.techniques:
            for key, answer in comparison._entries(name, alias).items():
                higher = METRICS[key[0]].direction == "higher"
                if answer.value < bound if higher else answer.value > bound:
                    side = "below" if higher else "above"
                    found.setdefault(name, f"{key[0]} {number(answer.value)}, {side} {bound:g}")
    return found


def _measured(
    comparison: "Comparison", name: str, primary: str, scale: str, prioritise: Any
) -> list[Answer]:
    """The primary values of a technique over which the scale asks to average."""
    evaluation = comparison.evaluations[name]
    classes = [row.group for row in evaluation if row.group.startswith("class=")]
    if prioritise is not None and classes:
        return list(comparison._entries(name, primary, f"class={prioritise}").values())
    if prioritise is not None:
        entries = comparison._entries(name, primary)
        chosen = [answer for key, answer in entries.items() if key[3] == str(prioritise)]
        if not chosen:
            targets = sorted({key[3] for key in entries})
            raise OptionError(f"no class or target {prioritise!r}; the targets are {targets}")
        return chosen
    if scale == "adaptive" and classes:
        return [
            answer
            for group in dict.fromkeys(classes)
            for answer in comparison._entries(name, primary, group).values()
        ]
    return list(comparison._entries(name, primary).values())


def _tied(
    primary: str, candidates: dict[str, list[Answer]], values: dict[str, float], confidence: float
) -> tuple[str, ...]:
    from ._compare import indistinguishable

    best, *others = sorted(values, key=values.__getitem__)
    return best, *(
        name
        for name in others
        if values[name] == values[best]
        or indistinguishable(
            primary, candidates[best], candidates[name], len(candidates), confidence
        )
    )


def _words(primary: str, scale: str, prioritise: Any) -> str:
    name = primary.replace("_", " ")
    if prioritise is not None:
        return f"{name} of {prioritise}"
    return f"{name}, averaged over classes or targets" if scale == "adaptive" else name


def _verdict(
    tied: tuple[str, ...], values: dict[str, float], what: str, excluded: dict[str, str]
) -> str:
    best = tied[0]
    if len(tied) == 1:
        text = f"Use {best}: its {what} is {number(values[best])}, the lowest"
        others = [number(value) for name, value in values.items() if name != best]
        text += f" of {len(values)} (others {', '.join(others)})." if others else "."
    else:
        text = (
            f"No clear winner: by {what}, {', '.join(tied[1:])} cannot be told from {best} "
            f"({', '.join(f'{name} {number(values[name])}' for name in tied)}). Let cost, "
            "simplicity or the supporting metrics decide."
        )
    if excluded:
        text += " Left out: " + "; ".join(f"{n} ({why})" for n, why in excluded.items()) + "."
    return text


def _cautions(
    comparison: "Comparison", chosen: str, primary: str, expression: str, scale: str
) -> tuple[str, ...]:
    found = []
    if expression == "interval":
        found.append(
            "Coverage at a single level can mislead: look at the whole curve, the widths, and the "
            "error-based calibration."
        )
    if scale != "adaptive":
        found += _worse_for_one(comparison, chosen, primary)
    found.append(
        "A technique that was repaired on calibration samples keeps its promise only if they and "
        "the samples to come are exchangeable."
    )
    return tuple(found)


def _worse_for_one(comparison: "Comparison", chosen: str, primary: str) -> list[str]:
    """Classes for which another technique is better than the one that is best overall."""
    found = []
    for row in comparison.select(technique=chosen, metric=primary):
        if row.group.startswith("class=") and not row.tied:
            (best, *_) = comparison.select(metric=primary, group=row.group, best=True)
            found.append(
                f"{chosen} is not the best for {row.group}: {number(row.value)} against "
                f"{number(best.value)} of {best.technique}. A repair that looks at all samples at "
                "once may harm single classes."
            )
    return found
