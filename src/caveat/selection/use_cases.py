"""Which technique is best for which use: how uncertainty is expressed, and where it must hold."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import metrics
from ..exceptions import OptionError
from ..predictions import Categorical, Gaussian

__all__ = ["Scenario", "Scenarios", "scenarios"]

_NAMES = {
    "expected_calibration_error": "ECE", "variation_calibration_error": "VCE",
    "expected_normalized_calibration_error": "ENCE", "coverage_calibration_error": "CCE",
}  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """One use of a prediction, and what each technique is worth for it.

    Attributes
    ----------
    expression : {"probability", "entropy", "variance", "interval"}
        How the uncertainty is expressed.
    part : str
        The class or the target it must hold for; empty if for all of them alike.
    metric : str
        What decides; less is better. Where it must hold for all parts alike, it is the mean over
        them.
    values : dict of str to float
        The value of each technique.
    skill : dict of str to float
        The log loss, or for numbers the mean absolute error, of each technique on the same part.
    """

    expression: str
    part: str
    metric: str
    values: Mapping[str, float]
    skill: Mapping[str, float]

    @property
    def ranking(self) -> list[str]:
        """The techniques from the best to the worst; those without a value are left out."""
        known = [name for name, value in self.values.items() if np.isfinite(value)]
        return sorted(known, key=lambda name: self.values[name])

    @property
    def where(self) -> str:
        """What it must hold for, in words."""
        return self.part or "all parts alike"

    @property
    def short(self) -> str:
        """What decides, in short: ECE, or the mean ECE where it must hold for all parts alike."""
        return _NAMES[self.metric] if self.part else f"mean {_NAMES[self.metric]}"

    @property
    def skill_name(self) -> str:
        """What the skill is, in words."""
        of_classes = self.expression in ("probability", "entropy")
        return "log loss" if of_classes else "mean absolute error"

    def __str__(self) -> str:
        best = [f"{name} ({self.short} {self.values[name]:.3g})" for name in self.ranking[:2]]
        return f"{self.where}: {'; then '.join(best) or 'no technique has a value'}"


@dataclass(frozen=True)
class Scenarios:
    """What `scenarios` returns: one after another, a frame, or as text a tree to choose by.

    Attributes
    ----------
    rows : tuple of Scenario
    """

    rows: tuple[Scenario, ...]

    def __iter__(self) -> Iterator[Scenario]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> Any:
        """Return a pandas frame with one row for each scenario and technique."""
        import pandas as pd

        return pd.DataFrame(
            [
                (row.expression, row.where, row.metric, name, value, row.skill[name])
                for row in self.rows
                for name, value in row.values.items()
            ],
            columns=["expression", "where", "metric", "technique", "value", "skill"],
        )

    def __str__(self) -> str:
        lines = ["how is uncertainty expressed, and where must it hold?"]
        for expression in dict.fromkeys(row.expression for row in self.rows):
            lines.append(f"- {expression}")
            lines += [f"    - {row}" for row in self.rows if row.expression == expression]
        lines.append(
            "Differences are those of these samples: compare says which are more than chance."
        )
        return "\n".join(lines)


def scenarios(predictions: Mapping[str, Any], y: Any) -> Scenarios:
    """Return the best techniques for each use of a prediction, by the metric that suits it.

    Classes: the expected calibration error among the samples of each true class, its mean over
    classes, and the variation calibration error of entropies. Numbers: the normalized calibration
    error (variances) and the coverage calibration error (intervals) of each target, and the means.

    Parameters
    ----------
    predictions : dict of str to Categorical or Gaussian
        What each technique says about the same samples.
    y : array of shape (samples,) or (samples, targets)
        The truth.

    References
    ----------
    22HLT01 QUMPHY, report D2, 2026, table 16 and figure 9.

    Examples
    --------
    >>> import caveat
    >>> y = [0, 0, 1, 1]
    >>> sure = caveat.Categorical.from_binary([0.1, 0.2, 0.8, 0.9])
    >>> unsure = caveat.Categorical.from_binary([0.4, 0.4, 0.6, 0.6])
    >>> print(scenarios({"sure": sure, "unsure": unsure}, y))
    how is uncertainty expressed, and where must it hold?
    - probability
        - all parts alike: sure (mean ECE 0.15); then unsure (mean ECE 0.4)
        - class 0: sure (ECE 0.15); then unsure (ECE 0.4)
        - class 1: sure (ECE 0.15); then unsure (ECE 0.4)
    - entropy
        - all parts alike: sure (mean VCE 0.595); then unsure (mean VCE 0.971)
    Differences are those of these samples: compare says which are more than chance.
    """
    if not isinstance(predictions, Mapping) or not predictions:
        raise OptionError("predictions must be a dict of names and predictions, at least one")
    first = next(iter(predictions.values()))
    kinds = {type(one) for one in predictions.values()}
    if len(kinds) > 1 or kinds - {Categorical, Gaussian}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise OptionError(
            f"predictions must all be Categorical, or all be Gaussian; got {names}. Convert them "
            "first, as technique_grid does"
        )
    make = _of_classes if isinstance(first, Categorical) else _of_numbers
    return Scenarios(tuple(make(predictions, y)))


def _of_classes(predictions: Mapping[str, Any], y: Any) -> Iterator[Scenario]:
    first = next(iter(predictions.values()))
    codes, classes = first.align(y), first.classes.tolist()
    labels = list(range(len(classes)))
    by_class: dict[str, dict[str, float]] = {f"class {label}": {} for label in classes}
    skills: dict[str, dict[str, float]] = {"": {}, **{part: {} for part in by_class}}
    variation = {}
    for name, prediction in predictions.items():
        p = prediction.mean
        losses = metrics.negative_log_likelihood_loss(codes, p, classes=labels, per_sample=True)
        skills[""][name] = float(np.mean(losses))
        for label, part in enumerate(by_class):
            rows = codes == label
            some = rows.any()
            error = (
                metrics.expected_calibration_error(codes[rows], p[rows], classes=labels)
                if some
                else np.nan
            )
            by_class[part][name] = float(error)
            skills[part][name] = float(losses[rows].mean()) if some else np.nan
        variation[name] = float(metrics.variation_calibration_error(codes, p, classes=labels))
    yield from _alike_and_each("probability", "expected_calibration_error", by_class, skills)
    yield Scenario("entropy", "", "variation_calibration_error", variation, skills[""])


def _of_numbers(predictions: Mapping[str, Any], y: Any) -> Iterator[Scenario]:
    first = next(iter(predictions.values()))
    truth = first.align(y)
    functions: dict[str, Any] = {
        "variance": metrics.expected_normalized_calibration_error,
        "interval": metrics.coverage_calibration_error,
    }
    targets = [str(target) for target in first.targets.tolist()]
    skills: dict[str, dict[str, float]] = {"": {}, **{target: {} for target in targets}}
    values: dict[str, dict[str, dict[str, float]]] = {
        expression: {target: {} for target in targets} for expression in functions
    }
    for name, prediction in predictions.items():
        mean, variance = prediction.moments()
        skills[""][name] = float(np.abs(mean - truth).mean())
        for k, target in enumerate(targets):
            skills[target][name] = float(np.abs(mean[:, k] - truth[:, k]).mean())
            for expression, function in functions.items():
                value = function(truth[:, k], mean[:, k], variance[:, k])
                values[expression][target][name] = float(value)
    for expression, function in functions.items():
        yield from _alike_and_each(expression, function.__name__, values[expression], skills)


def _alike_and_each(
    expression: str, metric: str, parts: Mapping[str, Mapping[str, float]],
    skills: Mapping[str, Mapping[str, float]],
) -> Iterator[Scenario]:  # fmt: skip
    names = next(iter(parts.values()))
    mean = {name: float(np.mean([values[name] for values in parts.values()])) for name in names}
    yield Scenario(expression, "", metric, mean, skills[""])
    if len(parts) > 1:
        for part, values in parts.items():
            yield Scenario(expression, part, metric, values, skills[part])
