"""The audit of a summary of predictions."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._groups import Attribute
from .._random import RandomState, generator
from .._renamed import suggests_parameters
from .._validation import FloatArray, check_fraction, check_integer
from ..exceptions import OptionError
from ..metrics.units import UNITS
from ..predictions import Categorical
from ..resampling import Plan
from ..resampling.from_states import unit_draws
from ..results.judgments import Contrast, MeasurePart
from ..results.rows import FairnessRow
from ..summaries import Part, Summary
from ..summaries.tables import coarse_rows, table_rows
from ._audit import (
    audit,
    audit_data,
    audit_rows,
    check_resamples,
    codes_of_privileged,
    compared_attributes,
    method_of,
)
from ._rates import QUANTILES, quantiles
from ._result import FairnessAudit

__all__ = ["audit_summary"]


@suggests_parameters
def audit_summary(
    summary: Summary,
    *,
    privileged: Any = None,
    positive: Any = None,
    threshold: float = 0.2,
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: RandomState = None,
) -> FairnessAudit:
    """Compare the groups of a summary by their predictions and by the uncertainty of these.

    Of a table of two classes, rates are those of all samples, and their intervals resample 64
    random units of them. Otherwise the audit is one of the samples that the summary keeps: of all
    up to 10,000, of a random sample of more.

    Parameters
    ----------
    summary : Summary
        With true values and groups.
    privileged, positive, threshold, confidence, resamples, random_state
        As in `caveat.audit`.

    Returns
    -------
    FairnessAudit
    """
    if not (summary.about.truth and summary.about.attributes):
        lacks = "groups" if summary.about.truth else "true values"
        raise OptionError(f"this summary was made without {lacks}, which an audit needs")
    rng = generator(random_state)
    options = {
        "positive": positive, "threshold": threshold, "confidence": confidence,
        "resamples": resamples,
    }  # fmt: skip
    kept = summary.kept
    if kept is not None:
        result = audit(
            kept.prediction, kept.y, dict(kept.groups), privileged=privileged,
            sample_weight=kept.weight, cluster=kept.cluster, random_state=rng, **options,
        )  # fmt: skip
        few = len(kept) < summary.samples
        return replace(result, description=_description(summary, len(kept))) if few else result
    options["threshold"] = check_fraction(threshold, "threshold")
    options["confidence"] = check_fraction(confidence, "confidence")
    check_resamples(check_integer(resamples, "resamples", 0), confidence)
    results = [
        _of_table(summary, name, parts, _of_one(privileged, name), rng, options)
        for name, parts in summary.groups().items()
    ]
    return replace(
        results[0],
        rows=tuple(row for result in results for row in result.rows),
        privileged={k: v for result in results for k, v in result.privileged.items()},
    )


def _description(summary: Summary, audited: int) -> str:
    text = f"{summary.samples:,} samples of a {summary.description}"
    return text if audited == summary.samples else f"a random sample of {audited:,} of {text}"


def _of_one(privileged: Any, name: str) -> Any:
    """Return the privileged group of one of several attributes."""
    if isinstance(privileged, dict):
        return privileged.get(name)
    return privileged


def _of_table(
    summary: Summary,
    name: str,
    parts: dict[str, Part],
    privileged: Any,
    rng: np.random.Generator,
    options: dict[str, Any],
) -> FairnessAudit:
    """Audit one attribute: samples that are alike are dealt to random units of their group."""
    seed, resamples = int(rng.integers(2**32)), options["resamples"]
    columns: list[tuple[Any, ...]] = []
    for code, part in enumerate(parts.values()):
        assert part.table is not None
        p, truth, weight = coarse_rows(part.table)
        dealt = rng.multinomial(weight, np.full(UNITS, 1 / UNITS))
        rows, unit = np.nonzero(dealt)
        columns.append(
            (p[rows], truth[rows], dealt[rows, unit], unit + code * UNITS, np.full(len(rows), code))
        )
    p, truth, weight, unit, codes = (np.concatenate(one) for one in zip(*columns, strict=True))
    plan = None
    if resamples:
        drawn = [unit_draws(UNITS, resamples, rng) for _ in parts]
        plan = Plan(unit.astype(np.int32), np.hstack(drawn), seed=seed)
    classes = dict(summary.about.shared)["classes"]
    prediction = Categorical.from_binary(p, classes=classes)
    data, _, _ = audit_data(
        prediction, np.array(classes)[truth], "auto", options["positive"],
        weight.astype(np.float64), plan, seed,
    )  # fmt: skip
    (attribute,) = compared_attributes(
        [Attribute(name, tuple(parts), codes)], summary.samples, intersections=False
    )
    best = codes_of_privileged(privileged, [attribute])
    compared = audit_rows(
        replace(data, repeated=True), {}, [attribute], best, options["threshold"],
        options["confidence"], seed,
    )  # fmt: skip
    fine = {value: _quantiles(part, seed) for value, part in parts.items()}
    groups = [
        _of_all(row, parts[row.category], fine[row.category])
        for row in compared
        if row.contrast is Contrast.NONE
    ]
    pairs = [
        replace(row, samples=min(parts[v].samples for v in (row.category, row.reference)))
        for row in compared
        if row.contrast is not Contrast.NONE
    ]
    return FairnessAudit(
        rows=(*_with_errors(summary, groups, seed, options), *pairs),
        confidence=options["confidence"],
        threshold=options["threshold"],
        samples=summary.samples,
        description=_description(summary, summary.samples),
        decomposition=method_of(prediction),
        privileged={name: attribute.values[code] for name, code in best.items()},
    )


def _with_errors(
    summary: Summary, rows: list[FairnessRow], seed: int, options: dict[str, Any]
) -> list[FairnessRow]:
    """Return the rows of groups, each followed by its calibration error."""
    name = "expected_calibration_error"
    made = summary.evaluate(
        metrics=[name], confidence=options["confidence"], resamples=options["resamples"],
        random_state=seed,
    )  # fmt: skip
    errors = {row.place: row for row in made.rows if row.contrast is Contrast.NONE}
    result: list[FairnessRow] = []
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        result.append(row)
        if following is None or following.place != row.place:
            error = errors[row.place]
            result.append(
                FairnessRow(
                    metric=name, attribute=row.attribute, category=row.category,
                    value=error.value, low=error.low, high=error.high, estimate=error.estimate,
                    samples=row.samples,
                )
            )  # fmt: skip
    return result


def _of_all(row: FairnessRow, part: Part, fine: dict[str, FloatArray]) -> FairnessRow:
    """Return the row of a group with its number of samples, and quantiles of finer cells."""
    if row.part is MeasurePart.QUANTILE:
        value = fine[row.metric][QUANTILES.index(row.quantile or 0.0)]
        return replace(row, samples=part.samples, value=float(value))
    value = float(part.samples) if row.metric == "samples" else row.value
    return replace(row, samples=part.samples, value=value)


def _quantiles(part: Part, seed: int) -> dict[str, FloatArray]:
    """Return the quantiles of each uncertainty in a group."""
    assert part.table is not None
    p, truth, weight = table_rows(part.table)
    data, _, _ = audit_data(Categorical.from_binary(p), truth, "auto", None, weight, None, seed)
    return {name: quantiles(values, weight) for (name, _), values in data.columns.items()}
