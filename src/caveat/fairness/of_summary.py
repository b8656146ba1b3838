"""The audit of a summary of predictions."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._random import RandomState, generator
from .._renamed import suggests_parameters
from ..exceptions import OptionError
from ..metrics.states import UNITS
from ..predictions import Categorical
from ..results.judgments import Contrast
from ..results.rows import FairnessRow
from ..summaries import Part, Summary
from ..summaries.tables import coarse_rows
from ._audit import audit
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
    results = [
        _of_table(summary, name, parts, _of_one(privileged, name), rng, options)
        for name, parts in summary.groups().items()
    ]
    return replace(
        results[0],
        rows=tuple(row for result in results for row in result.rows),
        samples=summary.samples,
        description=_description(summary, summary.samples),
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
    """Audit one attribute: samples that are alike are dealt to random units."""
    columns: list[tuple[Any, ...]] = []
    for value, part in parts.items():
        assert part.table is not None
        p, truth, weight = coarse_rows(part.table)
        dealt = rng.multinomial(weight, np.full(UNITS, 1 / UNITS))
        rows, unit = np.nonzero(dealt)
        columns.append(
            (p[rows], truth[rows], dealt[rows, unit], unit + len(columns) * UNITS,
             np.full(len(rows), value))
        )  # fmt: skip
    p, truth, weight, unit, group = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    classes = dict(summary.about.shared)["classes"]
    result = audit(
        Categorical.from_binary(p, classes=classes), np.array(classes)[truth], {name: group},
        privileged=privileged, sample_weight=weight.astype(np.float64), cluster=unit,
        random_state=rng, **options,
    )  # fmt: skip
    counts = {value: part.samples for value, part in parts.items()}
    return replace(result, rows=tuple(_counted(row, counts) for row in result.rows))


def _counted(row: FairnessRow, counts: dict[str, int]) -> FairnessRow:
    """Return a row with the number of samples that it is of."""
    samples = counts[row.category]
    if row.contrast is not Contrast.NONE:
        return replace(row, samples=min(samples, counts[row.reference]))
    value = float(samples) if row.metric == "samples" else row.value
    return replace(row, samples=samples, value=value)
