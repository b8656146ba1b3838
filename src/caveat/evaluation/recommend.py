"""Recommend a technique, or say that none stands out.

A proper score measures both predictive performance and calibration, so it decides first; among the
techniques that are not clearly worse by it, calibration decides.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from .._validation import check_choice
from ..exceptions import CaveatError, OptionError
from ..metrics import METRICS
from ..predictions import Gaussian, Interval, Quantiles
from ..results.rows import option_words
from ..results.tables import number
from ._recommend_case import Answers, Case
from .answers import Answer
from .comparison import Comparison

_EXPRESSIONS = ("probability", "entropy", "variance", "interval")
"""How uncertainty can be expressed; metrics declare which expressions they serve, and as what.

A "skill" is a proper score: the first one that was measured for all techniques decides. Then the
"calibration" decides; at the global scale only for intervals.
"""
_SCALES = ("global", "local", "adaptive")


@dataclass(frozen=True)
class Recommendation:
    """What `recommend` returns.

    Attributes
    ----------
    technique : str or None
        The technique that stands out, if one does.
    tied : tuple of str
        Techniques that cannot be distinguished, the best first.
    primary : str
        The metric of reliability that decides among techniques of similar skill.
    supporting : tuple of str
        Further metrics to look at; the first is ``skill``.
    values : dict of str to float
        The primary value of each technique that met the minimum; for a coverage ratio its distance
        from 1.
    excluded : dict of str to str
        Techniques that did not meet the minimum, and why.
    cautions : tuple of str
        Limits of the recommendation.
    verdict : str
        The recommendation in plain sentences.
    skill : str
        The proper score that decides first.
    skills : dict of str to float
        Its value for each technique that met the minimum.
    worse_in_skill : dict of str to str
        Techniques that are clearly worse by it, and why.
    pareto : tuple of str
        Techniques that no other beats in both ``primary`` and ``skill``.
    """

    technique: str | None
    tied: tuple[str, ...]
    primary: str
    supporting: tuple[str, ...]
    values: dict[str, float]
    excluded: dict[str, str]
    cautions: tuple[str, ...]
    verdict: str
    skill: str = ""
    skills: dict[str, float] = field(default_factory=dict)
    worse_in_skill: dict[str, str] = field(default_factory=dict)
    pareto: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([self.verdict, *(f"- {caution}" for caution in self.cautions)])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(caution)}</li>" for caution in self.cautions)
        return f"<p>{escape(self.verdict)}</p><ul>{items}</ul>"


def recommend(
    comparison: Comparison,
    expression: str | None,
    *,
    scale: str,
    prioritize: Any,
    minimum: Mapping[str, float],
) -> Recommendation:
    """Choose a technique; the arguments are those of `Comparison.recommend`."""
    if expression is None:
        expression, *others = _expressions(comparison)
        options: dict[str, Any] = {"scale": scale, "prioritize": prioritize, "minimum": minimum}
        try:
            return recommend(comparison, expression, **options)
        except CaveatError:
            for other in others:
                with suppress(CaveatError):
                    return recommend(comparison, other, **options)
            raise
    check_choice(expression, "expression", _EXPRESSIONS)
    check_choice(scale, "scale", _SCALES)
    excluded = _excluded(comparison, minimum)
    names = [name for name in comparison.techniques if name not in excluded]
    primary, one_class = _primary(comparison, expression, scale, prioritize)
    if not names:
        why = "; ".join(f"{name} has {reason}" for name, reason in excluded.items())
        primary = primary or METRICS.serving(expression, "skill")[0]
        supporting = METRICS.serving(expression, "supporting")
        verdict = f"No technique meets the minimum: {why}."
        return Recommendation(None, (), primary, supporting, {}, excluded, (), verdict)
    target = None if _labels(comparison) else prioritize
    reliable: Answers = {}
    if primary:
        reliable = {name: _measured(comparison, name, primary, one_class, target) for name in names}
    skill, skilled = _skill(comparison, names, expression, target)
    if not primary:
        primary, reliable = skill, skilled
    case = Case(comparison, primary, one_class, skill, reliable, skilled)
    chosen = case.chosen()
    named = "; ".join(f"{name} ({why})" for name, why in excluded.items())
    left_out = [f"Left out: {named}."] if excluded else []
    return Recommendation(
        technique=chosen.technique,
        tied=chosen.tied,
        primary=primary,
        supporting=tuple(dict.fromkeys((skill, *METRICS.serving(expression, "supporting")))),
        values=case.values,
        excluded=excluded,
        cautions=_cautions(comparison, chosen.tied[0], expression, scale),
        verdict=" ".join([chosen.text, *case.trade_off(chosen), *left_out]),
        skill=skill,
        skills=case.skills,
        worse_in_skill=case.worse,
        pareto=case.front,
    )


def _expressions(comparison: Comparison) -> list[str]:
    """Return the expressions that fit the predictions, the best one first."""
    kinds = {type(evaluation.prediction) for evaluation in comparison.evaluations.values()}
    if kinds <= {Gaussian}:
        return ["variance", "interval"]
    if kinds & {Gaussian, Quantiles, Interval}:
        return ["interval", "variance"]
    return ["probability", "entropy"]


def _excluded(comparison: Comparison, minimum: Mapping[str, float]) -> dict[str, str]:
    result: dict[str, str] = {}
    numbers = isinstance(minimum, Mapping) and not [
        bound for bound in minimum.values() if not isinstance(bound, int | float)
    ]
    if not numbers:
        raise OptionError(f"minimum must be a dict of metric to number; got {minimum!r}")
    for alias, bound in minimum.items():
        for name in comparison.techniques:
            for key, answer in comparison._entries(name, alias).items():
                higher = METRICS[key.metric].direction == "higher"
                if answer.value < bound if higher else answer.value > bound:
                    side = "below" if higher else "above"
                    result.setdefault(
                        name, f"{key.metric} {number(answer.value)}, {side} {bound:g}"
                    )
    return result


def _labels(comparison: Comparison) -> list[str]:
    """Return the classes, or nothing where numbers were predicted."""
    first = next(iter(comparison.evaluations.values())).prediction
    return [str(label) for label in getattr(first, "classes", np.array([])).tolist()]


def _primary(
    comparison: Comparison, expression: str, scale: str, prioritize: Any
) -> tuple[str, str | None]:
    """Return the metric of reliability, if one decides, and its class against the rest, if any.

    Classes are judged against the rest over all samples: within a true class even perfect
    probabilities are off, and overestimating the class looks good.
    """
    labels = _labels(comparison)
    if labels and prioritize is not None:
        if str(prioritize) not in labels:
            raise OptionError(f"no class {prioritize!r}; the classes are {labels}")
        # Both of two classes have the same error.
        return "positive_calibration_error", str(prioritize) if len(labels) > 2 else None
    if scale == "global" and expression != "interval":
        return "", None
    if labels and (expression == "probability" or scale == "adaptive"):
        if len(labels) == 2:
            return "positive_calibration_error", None
        if scale == "adaptive":
            return "classwise_calibration_error", None
    return _reliability(comparison, METRICS.serving(expression, "calibration")[0]), None


def _reliability(comparison: Comparison, metric: str) -> str:
    """Return the metric, or its counterpart for quantiles or intervals, or nothing.

    Quantiles are judged at the levels that they share, intervals by the distance of their coverage
    from the nominal one.
    """
    if METRICS[metric].task == "classification":
        return metric
    for name in (metric, "quantile_coverage_error", "coverage_ratio"):
        asked = [
            {key for key in result if key.metric == name and key.overall}
            for result in comparison._answers.values()
        ]
        if all(asked):
            same = name == metric or _same_levels(comparison, comparison.techniques)
            return name if same and all(keys == asked[0] for keys in asked) else ""
    return metric


def _measured(
    comparison: Comparison, name: str, metric: str, one_class: str | None, target: Any
) -> list[Answer]:
    """Return the answers to average: those of all targets, or of one."""
    entries = comparison._entries(name, metric)
    if one_class is not None:
        option = option_words(one_class, None, None)
        entries = {key: answer for key, answer in entries.items() if key.option == option}
    if target is not None:
        chosen = {key: answer for key, answer in entries.items() if key.target == str(target)}
        if not chosen:
            targets = sorted({key.target for key in entries})
            raise OptionError(f"no class or target {target!r}; the targets are {targets}")
        entries = chosen
    return list(entries.values())


def _skill(
    comparison: Comparison, names: Sequence[str], expression: str, target: Any
) -> tuple[str, Answers]:
    """Return the first proper score that all techniques have, and its answers."""
    for metric in METRICS.serving(expression, "skill"):
        if metric == "quantile_crps_loss" and not _same_levels(comparison, names):
            continue  # means over different quantiles cannot be compared
        result = {
            name: {
                key: answer
                for key, answer in comparison._answers[name].items()
                if key.metric == metric and key.overall and target in (None, key.target)
            }
            for name in names
        }
        shared = [
            key for key in next(iter(result.values())) if all(key in f for f in result.values())
        ]
        answers = {name: [result[name][key] for key in shared] for name in names}
        # A probability of 0 for a true class makes the log score infinite.
        if shared and all(np.isfinite(a.value) for result in answers.values() for a in result):
            return metric, answers
    proper = list(METRICS.serving(expression, "skill"))
    raise OptionError(
        "a proper score was not measured for all techniques, and calibration alone cannot "
        f"distinguish a good technique from guessing; measure one of {proper} as well"
    )


def _same_levels(comparison: Comparison, names: Sequence[str]) -> bool:
    result = [getattr(comparison.evaluations[n].prediction, "levels", ()) for n in names]
    return all(np.array_equal(levels, result[0]) for levels in result)


def _cautions(comparison: Comparison, chosen: str, expression: str, scale: str) -> tuple[str, ...]:
    result = []
    answers = [answer for result in comparison._answers.values() for answer in result.values()]
    if all(answer.replicates is None for answer in answers):
        result.append(
            "How sure the differences are was not measured (no resamples): chance alone may have "
            "decided."
        )
    if expression == "interval":
        result.append(
            "Coverage at a single level can mislead: look at the whole curve, the widths, and the "
            "error-based calibration."
        )
    if scale != "adaptive":
        result += _worse_for_one(comparison, chosen)
    result.append(
        "A technique that was repaired on calibration samples keeps its promise only if they and "
        "the samples to come are exchangeable."
    )
    return tuple(result)


def _worse_for_one(comparison: Comparison, chosen: str) -> list[str]:
    """Return classes for which another technique is better, against the rest."""
    result = []
    for row in comparison.matching(technique=chosen, metric="positive_calibration_error", group=""):
        if row.one_class is not None and not row.tied:
            (best, *_) = comparison.matching(
                metric=row.metric, option=row.option, group="", best=True
            )
            result.append(
                f"{chosen} is not the best for {row.option} against the rest: {number(row.value)} "
                f"against {number(best.value)} of {best.technique}. A repair that looks at all "
                "samples at once may harm single classes."
            )
    return result
