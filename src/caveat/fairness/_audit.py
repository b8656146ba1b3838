"""Compare groups by their predictions and by the uncertainty of these."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._groups import MOST_VALUES, Attribute, attributes, combination, combined
from .._random import RandomState, generator
from .._renamed import suggests_parameters
from .._validation import FloatArray, as_weights, check_finite, check_fraction
from ..evaluation.answers import plan_for
from ..exceptions import LabelError, OptionError, UnsupportedPredictionError
from ..predictions import Categorical, Gaussian, GaussianLogits, ProbabilityInterval
from ..predictions.given import as_prediction
from ..resampling import Plan
from ..results.rows import FairnessRow
from ..uncertainty import decompose
from ._consistency import consistency
from ._consistency_result import Consistency
from ._family import joint_noise
from ._group_rows import Inputs, group_rows
from ._individuals import prediction_name
from ._rates import ROUNDING, AuditData, Key, all_counts, rates, uncertainty_columns
from ._ratios import Comparer
from ._result import FairnessAudit
from .measures import MEAN_PROBABILITY, UNCERTAINTIES

_MANY, _PER_VALUE = 50, 10
"""More values with fewer samples each are taken for a continuous column."""

_OF_A_MEAN = 64 * float(np.finfo(np.float64).eps)
"""Relative differences between members below this are treated as zero."""


@suggests_parameters
def audit(
    prediction: Any,
    y: Any,
    groups: Any,
    *,
    X: Any = None,
    privileged: Any = None,
    positive: Any = None,
    classes: Any = None,
    intersections: bool = False,
    decomposition: str = "auto",
    neighbors: int = 5,
    distance: Any = "euclidean",
    scale: Any = "standard",
    queries: int | None = None,
    threshold: float = 0.2,
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: RandomState = None,
    sample_weight: Any = None,
    cluster: Any = None,
) -> FairnessAudit:
    r"""Compare groups by their predictions and by the uncertainty of these.

    A ratio F divides the measure of a group by that of its reference: the privileged group, or else
    the best group whose rate is above 0. With more than two groups the worst pair is compared too.
    A ratio is within the threshold t if :math:`1 - t \le F \le 1 / (1 - t)`; the band is the same
    whichever group is the reference.

    Parameters
    ----------
    prediction : Categorical, GaussianLogits, ProbabilityInterval, Gaussian or array
        The predictions to audit; an array of probabilities as in `caveat.evaluate`.
    y : array of shape (samples,) or (samples, targets)
        True labels or values.
    groups : array, Series, dict of arrays or frame
        One or several attributes; a missing value is a group of its own.
    X : array of shape (samples, features), optional
        Features; with them the audit adds the consistency among nearest neighbors.
    privileged : value, or dict of attribute to value, optional
        The group that the others are compared with.
    positive : label, optional
        The favorable class, by default the second of two; with more classes each one is compared
        with the rest.
    classes : sequence of labels, optional
        The classes of an array.
    intersections : bool, default=False
        Whether to audit the combinations of all attributes as well.
    decomposition : str, default="auto"
        How the uncertainty is split: "auto" is "variance" for classes and "total_variance" for
        numbers.
    neighbors : int, default=5
        As in `caveat.fairness.consistency`, like the next three.
    distance : str or callable, default="euclidean"
    scale : {"standard"}, array of shape (features,) or None, default="standard"
    queries : int, optional
    threshold : float, default=0.2
        The distance of a ratio from 1 that counts as a gap beyond the threshold.
    resamples : int, default=1000
        The number of bootstrap resamples, at least 2 / (1 - confidence); 0 gives no intervals and
        no verdicts.
    random_state : int or Generator, optional
    sample_weight : array of shape (samples,), optional
        Weights of the samples; the consistency ignores them.

    Notes
    -----
    The predicted class is the most probable one. Intervals are those of `caveat.resampling`: a rate
    is a share and has Wilson's, a mean the bootstrap-t, and two groups are combined.

    A ratio shows a gap if its interval does not contain 1. The gap is beyond the threshold if the
    interval lies outside of the band, and within if it lies inside. The verdict uses the interval
    from ``verdict_low`` to ``verdict_high``, which holds for all comparisons of an attribute at
    once: all pairs of groups (or those with the privileged group) in all measures. Its level comes
    from the largest standardized deviation of all comparisons in the joint resamples (max-t).
    ``low`` and ``high`` are for one measure; they allow for the choice of the pair where the data
    made it. There is no verdict for fewer than 10 independent samples.

    In small groups, intervals of uncertainties that few samples dominate are too narrow: for 30
    samples with a log-normal uncertainty against 600, 92 % of the 95 % intervals covered the ratio
    if the logarithm had a standard deviation of 1, and 80 % if it had one of 2.

    References
    ----------
    Kuzucu et al., Uncertainty as a fairness measure, Journal of Artificial Intelligence Research
    81, 2024.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> old = rng.random(2000) < 0.5
    >>> logit = 3 * rng.choice([-1, 1], size=2000)
    >>> logit = logit + rng.normal(size=(10, 2000)) * np.where(old, 2, 0.2)
    >>> y = (rng.random(2000) < 1 / (1 + np.exp(-logit.mean(axis=0)))).astype(int)
    >>> prediction = caveat.Categorical.from_binary(1 / (1 + np.exp(-logit)))
    >>> result = audit(prediction, y, {"age": np.where(old, "old", "young")}, random_state=0)
    >>> (row,) = result.select(measure="epistemic_uncertainty", kind="ratio")
    >>> row.group, row.reference, row.verdict
    ('old', 'young', 'a gap beyond the threshold')
    """
    threshold = check_fraction(threshold, "threshold")
    confidence = check_fraction(confidence, "confidence")
    prediction = as_prediction(prediction, y, classes)
    rng = generator(random_state)
    seed = int(rng.integers(2**32))
    plan = plan_for(prediction, resamples, cluster, seed)
    check_resamples(resamples, confidence)
    weight = as_weights(sample_weight, len(prediction))
    result = compared_attributes(groups, len(prediction), intersections)
    best = codes_of_privileged(privileged, result)
    samples, inputs, points = audit_data(prediction, y, decomposition, positive, weight, plan, seed)
    rows = audit_rows(samples, inputs, result, best, threshold, confidence, seed)
    alike = None
    if X is not None:
        alike = _consistency(
            X,
            samples,
            points,
            result,
            neighbors=neighbors,
            distance=distance,
            scale=scale,
            queries=queries,
            cluster=cluster,
            confidence=confidence,
            resamples=resamples,
            random_state=rng,
        )
    return FairnessAudit(
        rows=tuple(rows),
        confidence=confidence,
        threshold=threshold,
        samples=len(prediction),
        description=repr(prediction),
        decomposition=decomposition if decomposition != "auto" else method_of(prediction),
        privileged={a.name: a.values[best[a.name]] for a in result if a.name in best},
        consistency=alike,
    )


def audit_rows(
    samples: AuditData,
    inputs: Inputs,
    groups: list[Attribute],
    privileged: dict[str, int],
    threshold: float,
    confidence: float,
    seed: int,
) -> list[FairnessRow]:
    """Return the rows of every group of every attribute, and of the comparisons between them."""
    noise = None if samples.plan is None else joint_noise(samples.plan.resamples, seed)
    rows: list[FairnessRow] = []
    for attribute in groups:
        members = attribute.rows()
        measured = [rates(samples, part) for part in members]
        sizes = [len(part) for part in members]
        for code, part in enumerate(members):
            rows += group_rows(attribute, code, part, measured[code], samples, inputs, confidence)
        options = privileged.get(attribute.name), threshold, confidence, noise
        rows += Comparer(attribute, measured, sizes, *options).rows()
    return rows


def check_resamples(resamples: int, confidence: float) -> None:
    """Raise if there are too few resamples for the ends of an interval."""
    fewest = int(np.ceil(2 / (1 - confidence) - 1e-6))  # one beyond each end
    if 0 < resamples < fewest:
        raise OptionError(
            f"resamples must be at least {fewest} for intervals with confidence={confidence:g}, or "
            f"0 for none; got {resamples}"
        )


def method_of(prediction: Any) -> str:
    return "total_variance" if isinstance(prediction, Gaussian) else "variance"


def compared_attributes(groups: Any, length: int, intersections: bool) -> list[Attribute]:
    """Return the attributes, each of which has at least two values and not too many."""
    result = attributes(groups, length)
    if intersections and len(result) > 1:
        result.append(combined(groups, length))
    for attribute in result:
        number = len(attribute.values)
        if number < 2:
            raise OptionError(
                f"groups[{attribute.name!r}] has one value only, {attribute.values[0]!r}; an audit "
                "compares at least two groups"
            )
        if number > MOST_VALUES or (number > _MANY and length < _PER_VALUE * number):
            raise OptionError(
                f"groups[{attribute.name!r}] has {number} different values for {length} samples; "
                "cut numbers into a few bins first, with pandas.qcut for example, or join rare "
                "values"
            )
    return result


def codes_of_privileged(privileged: Any, result: list[Attribute]) -> dict[str, int]:
    """Return the code of the privileged group of each attribute that has one."""
    if privileged is None:
        return {}
    single = [attribute.name for attribute in result]
    if not isinstance(privileged, Mapping):
        if len(single) > 1:
            raise OptionError(
                f"privileged must be a dict of attribute to value, as there are {len(single)} "
                f"attributes; got {privileged!r}"
            )
        privileged = {single[0]: privileged}
    wanted = {str(name): str(value) for name, value in privileged.items()}
    unknown = [name for name in wanted if name not in single]
    if unknown:
        raise OptionError(
            f"privileged names the attribute {unknown[0]!r}; the attributes are {', '.join(single)}"
        )
    codes = {}
    for attribute in result:
        value = wanted.get(attribute.name)
        if value is not None and value not in attribute.values:
            known = ", ".join(attribute.values[:8]) + (", ..." if len(attribute.values) > 8 else "")
            raise OptionError(
                f"privileged[{attribute.name!r}] is {value!r}; the values are {known}"
            )
        if value is None:  # of an intersection, where all parts are given
            value = combination(attribute.parts, map(wanted.get, attribute.parts))
        if value in attribute.values:
            codes[attribute.name] = attribute.values.index(value)
    return codes


def audit_data(
    prediction: Any,
    y: Any,
    decomposition: str,
    positive: Any,
    weight: FloatArray | None,
    plan: Plan | None,
    seed: int,
) -> tuple[AuditData, Inputs, dict[str, Any]]:
    """Return the values of each sample, the inputs of calibration errors, and the predictions."""
    if isinstance(prediction, ProbabilityInterval):
        prediction = prediction.to_categorical()
    if not isinstance(prediction, Categorical | GaussianLogits | Gaussian):
        raise UnsupportedPredictionError(
            f"an audit takes a Categorical, GaussianLogits, ProbabilityInterval or Gaussian; got a "
            f"{type(prediction).__name__}, convert it first"
        )
    method = method_of(prediction) if decomposition == "auto" else decomposition
    split = decompose(prediction, method, random_state=seed)
    parts = {name: getattr(split, name) for name in ("aleatoric", "epistemic", "total")}
    for name, part in parts.items():
        check_finite(part, f"{name} uncertainty by {method!r}", ("sample", "target")[: part.ndim])
    counts = all_counts(plan)
    if isinstance(prediction, Gaussian):
        if positive is not None:
            raise OptionError(f"positive must be None for a Gaussian; got {positive!r}")
        columns, inputs, points = _of_numbers(prediction, prediction.align(y, missing=True), parts)
        return AuditData(columns, None, None, (), 0, weight, plan, counts), inputs, points
    if isinstance(prediction, GaussianLogits):
        prediction = prediction.to_categorical()
    truth, mean = prediction.align(y), prediction.mean
    labels = _labels(prediction.classes, positive)
    inputs = {"": ("expected_calibration_error", truth, {"probabilities": mean})}
    columns = uncertainty_columns(parts, "", ROUNDING * parts["total"].max(keepdims=True))
    predicted = mean.argmax(axis=1)
    classes = len(prediction.classes)
    if classes == 2:
        columns |= {(MEAN_PROBABILITY, label): mean[:, code] for code, label in labels}
    points = {"prediction": np.array([str(name) for name in prediction.classes])[predicted]}
    return (
        AuditData(columns, truth, predicted, labels, classes, weight, plan, counts),
        inputs,
        points,
    )


def _of_numbers(
    prediction: Gaussian, truth: FloatArray, parts: dict[str, FloatArray]
) -> tuple[dict[Key, FloatArray], Inputs, dict[str, Any]]:
    mean, variance = prediction.moments()
    columns: dict[Key, FloatArray] = {}
    inputs: Inputs = {}
    points: dict[str, Any] = {}
    several = len(prediction.targets) > 1
    for i, target in enumerate(prediction.targets.tolist()):
        label = str(target) if several else ""
        of_target = {name: part[:, i] for name, part in parts.items()}
        columns["mean_absolute_error", label] = _errors(truth[:, i], mean[:, i])
        rounding = _rounding(of_target["total"], mean[:, i])
        columns |= uncertainty_columns(of_target, label, rounding)
        points[prediction_name(label)] = mean[:, i]
        if (variance[:, i] > 0).all():
            arrays = {"mean": mean[:, i], "variance": variance[:, i]}
            inputs[label] = ("expected_normalized_calibration_error", truth[:, i], arrays)
    return columns, inputs, points


def _errors(truth: FloatArray, mean: FloatArray) -> FloatArray:
    """Return absolute errors, 0 within rounding error.

    Rounding is relative to the median size, as the largest number may be an outlier.
    """
    error, size = np.abs(truth - mean), np.abs(truth)
    within = error <= ROUNDING * np.maximum(size, np.nanmedian(size))
    return np.where(within, 0.0, error)  # NaN where the true value is missing


def _rounding(total: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the rounding error in each variance: of its parts, and of squared means."""
    with np.errstate(over="ignore"):
        return np.maximum(ROUNDING * total, (_OF_A_MEAN * mean) ** 2)


def _labels(classes: NDArray[Any], positive: Any) -> list[tuple[int, str]]:
    """Return the classes that are compared with the rest."""
    names = classes.tolist()
    if positive is None:
        return [(i, str(name)) for i, name in enumerate(names)][1 if len(names) == 2 else 0 :]
    if positive not in names:
        raise LabelError(
            f"positive is {positive!r}, but the classes are {', '.join(map(repr, names))}"
        )
    return [(names.index(positive), str(positive))]


def _consistency(
    X: Any, samples: AuditData, predictions: dict[str, Any], result: list[Attribute], **options: Any
) -> Consistency:
    """Return the consistency of the prediction and of each uncertainty."""
    uncertainties = {
        " ".join(filter(None, (name.replace("_", " "), label))): column
        for (name, label), column in samples.columns.items()
        if name in UNCERTAINTIES
    }
    outcomes = predictions["prediction"] if samples.predicted is not None else None
    return consistency(
        {**predictions, **uncertainties}, X, groups=result, outcomes=outcomes, **options
    )
