"""Compare techniques: which one is best, and which cannot be distinguished from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._random import RandomState, generator
from .._renamed import suggests_parameters
from .._validation import check_fraction
from ..exceptions import OptionError, ShapeError
from ..metrics import METRICS
from ..predictions.categorical import order_classes
from ..predictions.given import as_prediction
from ..resampling import Replicates, equal_errors, interval_of
from ..resampling.pairs import widening
from ..results.judgments import Contrast
from ..results.rows import ComparedRow, Key, Row
from ..results.tables import ARROWS, Drawable, RowTable, html_table, number, terminal_table
from .answers import (
    Answer,
    EvaluationContext,
    check_summaries,
    plan_for,
    relative_weights,
    run_evaluation,
)
from .result import Evaluation

if TYPE_CHECKING:
    from .recommend import Recommendation


DIFFERENT_SAMPLES = (
    "these are different samples, such as weeks or sites: which value is better says nothing of a "
    "technique. caveat.drift says what changed between them; if they are different models on "
    "samples of the same kind, say so: compare_summaries(..., models=True)"
)
"""Why none of them is recommended."""


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Drawable, RowTable[ComparedRow]):
    """What `compare` returns.

    Attributes
    ----------
    rows : tuple of ComparedRow
        One for each metric and technique.
    evaluations : dict of str to Evaluation
        The evaluation of each technique.
    confidence : float
        The confidence level of the intervals.
    different_samples : bool
        Whether they are weeks or sites rather than techniques, so that none can be recommended.
    """

    row_type: ClassVar[Any] = ComparedRow
    rows: tuple[ComparedRow, ...]
    evaluations: dict[str, Evaluation]
    confidence: float
    _answers: dict[str, dict[Key, Answer]]
    different_samples: bool = False

    @property
    def techniques(self) -> list[str]:
        """The names, in the order they were given."""
        return list(self.evaluations)

    def pareto(self, reliability: str, performance: str) -> list[str]:
        """Return the techniques that no other beats in both metrics, over all samples.

        Parameters
        ----------
        reliability, performance : str
            Names or aliases of metrics, such as "ece" and "auc"; several targets are averaged.
        """
        return pareto_front(
            {
                name: [self._cost(name, metric) for metric in (reliability, performance)]
                for name in self.techniques
            }
        )

    @suggests_parameters
    def recommend(
        self,
        expression: str | None = None,
        *,
        scale: str = "local",
        prioritize: Any = None,
        minimum: Mapping[str, float] | None = None,
    ) -> "Recommendation":
        """Choose a technique by skill first, then by the calibration of its uncertainty.

        A proper score (negative log likelihood or Brier, CRPS) measures both predictive performance
        and calibration. Techniques that are clearly worse by it are excluded; among the others the
        calibration error decides that fits the expression of uncertainty and the scale. Each of the
        two tests uses half of the error probability, so that among equally good techniques a clear
        winner is named by chance no more often than the confidence allows.

        Parameters
        ----------
        expression : {"probability", "entropy", "variance", "interval"}, optional
            How the uncertainty will be used; by default the probability of classes, the variance of
            Gaussians, and the interval of other numbers.
        scale : {"global", "local", "adaptive"}, default="local"
            Where calibration must hold: over all samples (the proper score alone decides), by
            predicted uncertainty, or for each class (against the rest) or target.
        prioritize : class or target label, optional
            The only class (against the rest) or target that counts.
        minimum : dict of metric to float, optional
            Values that a technique must reach, e.g. ``{"roc_auc": 0.8}``; for metrics with a lower
            optimum, values that it must not exceed.

        Returns
        -------
        Recommendation
            Without a technique if several cannot be distinguished, if the best one says the same of
            every sample or cannot be distinguished from guessing, or if two measures of
            calibration disagree.
        """
        from .recommend import recommend

        if self.different_samples:
            raise OptionError(DIFFERENT_SAMPLES)
        return recommend(
            self, expression, scale=scale, prioritize=prioritize, minimum=minimum or {}
        )

    def _cost(self, technique: str, name: str) -> float:
        """Return the mean over targets of a metric, with a sign such that less is better."""
        result = self._entries(technique, name)
        return float(np.mean([cost(key.metric, answer.value) for key, answer in result.items()]))

    def _entries(self, technique: str, name: str) -> dict[Key, Answer]:
        names = {entry.name for entry in METRICS.find(name)}
        answers = self._answers[technique]
        result = {k: a for k, a in answers.items() if k.metric in names and k.overall}
        if not result:
            raise OptionError(f"{name!r} was not measured for {technique!r}")
        return result

    def __repr__(self) -> str:
        return terminal_table(
            f"{len(self.techniques)} techniques; * best, ~ tied with it", *self._readable()
        )

    def _repr_html_(self) -> str:
        return html_table(*self._readable())

    def _readable(self) -> tuple[list[str], list[list[str]]]:
        body: dict[Key, list[str]] = {}
        for row in self.rows:
            name = " ".join(part for part in (row.metric, row.option, row.target) if part)
            cells = body.setdefault(row.key, [name, row.group, ARROWS[row.direction]])
            mark = "*" if row.best else "~" if row.tied else ""
            cells.append(f"{number(row.value)}{mark}")
        return ["metric", "group", "better", *self.techniques], list(body.values())


def compare(
    predictions: Mapping[str, Any],
    y: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    metrics: Sequence[str] | None = None,
    classes: Any = None,
    component: str = "total",
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: RandomState = None,
) -> Comparison:
    """Evaluate several predictions of the same samples, and say which can be distinguished.

    All are resampled together, so differences are paired. A technique is tied with the best if the
    interval of their difference contains 0, at a confidence that allows for all pairs of techniques
    (Bonferroni), since the data chose which one is best. Sharper techniques have larger binned
    errors by chance; to be distinguished, these must differ by `caveat.resampling.equal_errors` as
    well, which allows for that.

    Parameters
    ----------
    predictions : dict of str to prediction, or to array of probabilities
        At least two, of the same samples in the same order; classes are matched by name, in the
        order of the first. Or summaries of different samples, which have their true values; see
        `caveat.summaries.compare_summaries`.
    component : {"total", "aleatoric", "epistemic"}, default="total"
        To compare the parts of one prediction, pass ``prediction.component(name)`` of each.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(400)
    >>> y = (rng.random(400) < p).astype(int)
    >>> result = caveat.compare(
    ...     {"honest": p, "overconfident": p > 0.5}, y, metrics=["brier"], random_state=0
    ... )
    >>> [row.technique for row in result.select(group="", best=True)]
    ['honest']
    """
    if not isinstance(predictions, Mapping) or len(predictions) < 2:
        raise OptionError("compare needs a dict of at least two predictions by name")
    if y is None:
        from ..summaries import Summary, compare_summaries

        given = {
            "groups": groups, "sample_weight": sample_weight, "cluster": cluster,
            "classes": classes, "component": None if component == "total" else component,
        }  # fmt: skip
        check_summaries([*predictions.values()], Summary, given)
        return compare_summaries(
            predictions, metrics=metrics, confidence=confidence, resamples=resamples,
            random_state=random_state,
        )  # fmt: skip
    confidence = check_fraction(confidence, "confidence")
    predictions = {
        str(name): as_prediction(prediction, y, classes) for name, prediction in predictions.items()
    }
    first = next(iter(predictions.values()))
    classes = getattr(first, "classes", None)  # the second class is the same in all
    predictions = {name: order_classes(each, classes) for name, each in predictions.items()}
    seed = int(generator(random_state).integers(2**63))
    plan = plan_for(first, resamples, cluster, seed)
    weight = relative_weights(sample_weight, len(first))
    evaluations, answers = {}, {}
    for name, prediction in predictions.items():
        if len(prediction) != len(first):
            raise ShapeError(
                f"{name!r} has {len(prediction)} samples, {next(iter(predictions))!r} has "
                f"{len(first)}; all must predict the same samples"
            )
        run = EvaluationContext(weight, plan, confidence, cluster, answers={})
        evaluations[name] = run_evaluation(run, prediction, y, groups, None, metrics, component)
        answers[name] = run.answers or {}
    return compared(evaluations, answers, confidence)


def compared(
    evaluations: dict[str, Evaluation],
    answers: dict[str, dict[Key, Answer]],
    confidence: float,
    different_samples: bool = False,
) -> Comparison:
    """Return the comparison of evaluations, from the answers of each with their replicates."""
    keys = dict.fromkeys(key for matches in answers.values() for key in matches)
    rows_of = {
        name: {row.key: row for row in result.rows if row.contrast is Contrast.NONE}
        for name, result in evaluations.items()
    }
    rows = [row for key in keys for row in _compared(key, rows_of, answers, confidence)]
    return Comparison(tuple(rows), evaluations, confidence, answers, different_samples)


def cost(metric: str, value: Any) -> Any:
    """Return values with a sign such that less is better; NaN if nothing is better."""
    entry = METRICS[metric]
    if entry.direction == "target":
        return np.nan * value if entry.optimum is None else abs(value - entry.optimum)
    return -value if entry.direction == "higher" else value


def pareto_front(costs: Mapping[str, Sequence[float]]) -> list[str]:
    """Return the names whose costs no other beats in all respects."""
    table = np.array(list(costs.values()))
    return [
        name
        for name, mine in zip(costs, table, strict=True)
        if not any((other <= mine).all() and (other < mine).any() for other in table)
    ]


def _compared(
    key: Key,
    rows_of: dict[str, dict[Key, Row]],
    answers: dict[str, dict[Key, Answer]],
    confidence: float,
) -> list[ComparedRow]:
    metric = key.metric
    have = {name: result[key] for name, result in answers.items() if key in result}
    costs = {name: cost(metric, answer.value) for name, answer in have.items()}
    ranked = sorted((name for name in have if not np.isnan(costs[name])), key=costs.__getitem__)
    rows = []
    for name, answer in have.items():
        row = rows_of[name][key]
        best = bool(ranked) and costs[name] == costs[ranked[0]]
        tied = best or (
            name in ranked
            and indistinguishable(metric, [have[ranked[0]]], [answer], len(have), confidence)
        )
        rank = 1 + sum(costs[other] < costs[name] for other in ranked) if name in ranked else 0
        rows.append(ComparedRow(**vars(row), technique=name, rank=rank, best=best, tied=tied))
    return rows


def indistinguishable(
    metric: str, best: list[Answer], other: list[Answer], techniques: int, confidence: float
) -> bool:
    """Return whether two techniques may be equal in a metric, or in the mean of its answers."""
    ours = [answer.replicates for answer in best if answer.replicates is not None]
    theirs = [answer.replicates for answer in other if answer.replicates is not None]
    if len(ours) < len(best) or len(theirs) < len(other):
        return False
    # The best was chosen by the data: any pair of techniques could have been the one compared.
    pairs = techniques * (techniques - 1) // 2
    value = _mean_cost(metric, [a.value for a in other]) - _mean_cost(
        metric, [a.value for a in best]
    )
    difference = _paired_difference(metric, theirs, ours)
    interval = interval_of(float(value), difference, confidence)
    wider = widening(confidence, pairs)
    low, high = (value + wider * (end - value) for end in (interval.low, interval.high))
    if np.isnan(low) or low <= 0 <= high:
        return True
    if all(result.norm is not None for result in (*ours, *theirs)):
        return equal_errors(theirs, ours, 1 - (1 - confidence) / pairs)
    return False


def _paired_difference(metric: str, theirs: list[Replicates], ours: list[Replicates]) -> Replicates:
    """Return the replicates of the difference in cost."""
    with np.errstate(invalid="ignore"):  # both may be infinite in a resample
        values, center = (
            _mean_cost(metric, [getattr(result, name) for result in theirs])
            - _mean_cost(metric, [getattr(result, name) for result in ours])
            for name in ("values", "center")
        )
    result = [*theirs, *ours]
    return Replicates(
        values,
        float(center),
        min(one.units for one in result),
        max(one.strata for one in result),
        half=max(one.half for one in result),
    )


def _mean_cost(metric: str, values: list[Any]) -> Any:
    return np.mean([cost(metric, value) for value in values], axis=0)
