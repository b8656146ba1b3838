"""The rows of one group: rates, quantiles of uncertainties, calibration errors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._groups import Attribute
from .._validation import FloatArray
from ..metrics import METRICS
from ..resampling import ConfidenceInterval, Prepared, confidence_interval, replicates
from ..results.judgments import MeasurePart
from ..results.rows import NAN, FairnessRow
from ._rates import QUANTILES, AuditData, Key, Rate, quantiles
from .measures import SAME, UNCERTAINTIES, whose

Inputs = dict[str, tuple[str, Any, dict[str, FloatArray]]]
"""For each label: the calibration error to compute, the truth, and its other inputs."""

_NO_INTERVAL = ConfidenceInterval(NAN, NAN, "undefined")


def group_rows(
    attribute: Attribute,
    code: int,
    members: NDArray[np.intp],
    measured: dict[Key, Rate],
    samples: AuditData,
    inputs: Inputs,
    confidence: float,
) -> list[FairnessRow]:
    """Return the rows of one group."""
    weight = None if samples.weight is None else samples.weight[members]
    counted = weight is None or bool(weight.any())

    def row(
        measure: str,
        label: str,
        value: float,
        interval: ConfidenceInterval = _NO_INTERVAL,
        known: int = len(members),
        **fields: Any,
    ) -> FairnessRow:
        return FairnessRow(
            metric=measure, attribute=attribute.name, combined=bool(attribute.parts),
            category=attribute.values[code], value=value, low=interval.low, high=interval.high,
            estimate=NAN if interval.estimate is None else interval.estimate,
            samples=known, **whose(measure, label), **fields,
        )  # fmt: skip

    result = [row("samples", "", float(len(members)))]
    for (name, label), rate in measured.items():
        uncertain = name in UNCERTAINTIES
        note = f"undefined: {rate.why}" if rate.why else ""
        part = MeasurePart.MEAN if uncertain else MeasurePart.WHOLE
        interval = rate.interval(confidence)
        if interval.method == "constant":
            note = SAME
        values = samples.columns.get((name, label), np.zeros(len(samples.unit)))[members]
        number = int(np.count_nonzero(~np.isnan(values)))
        result.append(row(name, label, rate.value, interval, number, part=part, note=note))
        if uncertain and counted:
            at = quantiles(values, weight).tolist()
            result += [
                row(name, label, value, part=MeasurePart.QUANTILE, quantile=share)
                for share, value in zip(QUANTILES, at, strict=True)
            ]
    for label, (name, truth, arrays) in inputs.items():
        known = members[~np.isnan(truth[members])]
        if len(known) and (samples.weight is None or samples.weight[known].any()):
            value, interval = _calibration(name, truth, arrays, samples, known, confidence)
            result.append(row(name, label, value, interval, len(known)))
    return result


def _calibration(
    name: str,
    truth: Any,
    arrays: dict[str, FloatArray],
    samples: AuditData,
    members: NDArray[np.intp],
    confidence: float,
) -> tuple[float, ConfidenceInterval]:
    """Return the calibration error of one group, and its interval."""
    metric, weight = METRICS[name], samples.weight
    value = metric.function(
        truth[members],
        **{key: array[members] for key, array in arrays.items()},
        sample_weight=None if weight is None else weight[members],
    )
    if samples.plan is None or np.isnan(value):
        return value, _NO_INTERVAL
    prepared = Prepared(truth, arrays, samples.plan, sample_weight=weight, rows=members)
    result = replicates(metric, prepared=prepared)
    if result.units < 2:  # one cluster, whose spread does not show
        return value, _NO_INTERVAL
    return value, confidence_interval(metric, value, result, confidence)
