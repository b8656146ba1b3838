"""The numbers of the molecule study, from the predictions of one method on one test."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..evaluation import evaluate, reference_values
from ..exceptions import OptionError
from ..metrics import (
    confidence_curve,
    confidence_oracle_area_error,
    coverage_curve,
    error_calibration_curve,
    error_drop_score,
    error_uncertainty_correlation,
)
from ..predictions import Gaussian
from .paper import Paper, printed_number
from .summary import NAN

DOMAINS = ("in", "out")
SHIFT = "tables 1 to 3"
"""The source of ratios out of domain over in domain."""
COMPONENTS = ("epistemic", "aleatoric", "total")
MEASURES = {
    "auco": ("confidence_oracle_area_error", 1.0),
    "error_drop": ("error_drop_score", 1.0),
    "decrease_ratio": ("decrease_ratio_score", 1.0),
    "auce": ("central_coverage_error", 1.0),
    "mce": ("maximum_coverage_error", 1.0),
    "ence": ("expected_normalized_calibration_error", 100.0),
    "cv": ("dispersion", 1.0),
}
"""Lines of tables 2 and 3 with the metric of each, and its factor: ENCE is printed in percent."""

REFERENCE = {
    **{name: MEASURES[name] for name in ("auco", "auce", "ence")},
    "spearman": ("error_uncertainty_correlation", 1.0),
}
"""What is put beside numbers that right uncertainties would give."""

BINS = 15
REMOVED = (*range(0, 100, 5), 99)
"""Percent of the molecules that are left out at the points of figures 5, 6, 9 and 10."""
LEVELS = tuple(round(0.05 * k, 2) for k in range(1, 20))
FIGURES = {"in": ("figure 5", "figure 6", "figure 7", "figure 8"),
           "out": ("figure 9", "figure 10", "figure 11", "figure 12")}  # fmt: skip
TABLES = {"in": "table 2", "out": "table 3"}
BASELINE = "similarity"
"""The distance to the nearest known molecule, in the place of a component."""
HONEST = "if right"
"""What a number would be if the total uncertainty were right."""
DRAWS = 50

Place = tuple[str, str, str, str]
"""The source, component, setting and measure of a number."""


def numbers_of(
    prediction: Gaussian, y: FloatArray, distance: FloatArray, domain: str, seed: int
) -> dict[Place, float]:
    """Return every number of a method on one test."""
    mean, variance = (part[:, 0] for part in prediction.moments())
    result: dict[Place, float] = {
        ("table 1", "", "", "mae"): float(np.abs(y - mean).mean()),
        ("table 1", "", "", "rmse"): float(np.sqrt(np.square(y - mean).mean())),
    }
    if not variance.any():
        return result  # the base model has no uncertainty
    for component in COMPONENTS:
        result |= dict(_of_component(prediction, y, component, domain))
    return result | dict(_beside(prediction, y, distance, seed)) | dict(_by_members(prediction, y))


def table_values(prediction: Gaussian, y: FloatArray, component: str) -> dict[str, float]:
    """Return the lines of tables 2 and 3; NaN where a part is absent."""
    try:
        names = [name for name, _ in MEASURES.values()]
        rows = evaluate(prediction, y, metrics=names, component=component, resamples=0).rows
    except OptionError:  # it has no such part
        rows = ()
    values = {row.metric: row.value for row in rows}
    return {short: factor * values.get(name, NAN) for short, (name, factor) in MEASURES.items()}


def _of_component(
    prediction: Gaussian, y: FloatArray, component: str, domain: str
) -> Iterator[tuple[Place, float]]:
    """Yield a column of table 2 or 3, and its curves."""
    for measure, value in table_values(prediction, y, component).items():
        yield (TABLES[domain], component, "", measure), value
    try:
        part = prediction.component(component)
    except OptionError:
        return
    mean, variance = part.mean[0, :, 0], part.variance[0, :, 0]
    error, oracle, coverage, calibration = FIGURES[domain]
    yield ("shift", component, "", "std"), float(np.sqrt(variance.mean()))
    curve = confidence_curve(np.abs(y - mean), np.sqrt(variance))
    for percent in REMOVED:
        yield (error, component, str(percent), "mae"), float(curve.error[percent])
        gap = float(curve.error[percent] - curve.oracle[percent])
        yield (oracle, component, str(percent), "oracle_error"), gap
    observed = coverage_curve(y, mean, variance, levels=LEVELS).observed
    for level, share in zip(LEVELS, observed, strict=True):
        yield (coverage, component, f"{level:g}", "coverage"), float(share)
    bins = min(BINS, len(y))
    points = error_calibration_curve(y, mean, variance, bins=bins, squared=True)
    for number, (predicted, seen) in enumerate(zip(points.predicted, points.observed, strict=True)):
        yield (calibration, component, str(number + 1), "variance"), float(predicted)
        yield (calibration, component, str(number + 1), "mse"), float(seen)
    if len(points.predicted) > 2 and np.ptp(points.predicted) > 0:
        value = float(np.corrcoef(points.predicted, points.observed)[0, 1])
        yield (f"{calibration}, correlation", component, "", "correlation"), value


def _ranked(error: FloatArray, uncertainty: FloatArray) -> dict[str, float]:
    return {
        "auco": confidence_oracle_area_error(error, uncertainty),
        "error_drop": error_drop_score(error, uncertainty),
        "spearman": error_uncertainty_correlation(error, uncertainty),
    }


def _beside(
    prediction: Gaussian, y: FloatArray, distance: FloatArray, seed: int
) -> Iterator[tuple[Place, float]]:
    """Yield the baseline beside the components, and what right uncertainties would give."""
    mean, variance = (part[:, 0] for part in prediction.moments())
    error = np.abs(y - mean)
    for measure, value in _ranked(error, distance).items():
        yield ("baseline", BASELINE, "", measure), value
    for measure, value in _ranked(error, np.sqrt(variance)).items():
        yield ("baseline", "total", "", measure), value
    total = prediction.component("total")
    short = {name: (measure, factor) for measure, (name, factor) in REFERENCE.items()}
    for row in reference_values(total, y, metrics=[*short], draws=DRAWS, random_state=seed):
        measure, factor = short[row.metric]
        yield ("reference", "total", "", measure), factor * row.observed
        yield ("reference", HONEST, "", measure), factor * row.expected


def _by_members(prediction: Gaussian, y: FloatArray) -> Iterator[tuple[Place, float]]:
    """Yield errors and total uncertainties of the first members or passes."""
    steps = [count for count in (1, 2, 3, 5, 10, 15, 30, 50, 100) if count < prediction.members]
    for count in (*steps, prediction.members):
        some = Gaussian(prediction.mean[:count], prediction.variance[:count])
        values = table_values(some, y, "total")
        error = np.abs(y - some.moments()[0][:, 0]).mean()
        yield ("members", "total", str(count), "mae"), float(error)
        for measure in ("auco", "auce", "ence"):
            yield ("members", "total", str(count), measure), values[measure]


def ratios(
    inside: Mapping[Place, float], outside: Mapping[Place, float]
) -> dict[Place, float]:  # fmt: skip
    """Return out of domain over in domain, for all metrics and standard deviations."""

    def ratio(one: Place, other: Place) -> float:
        below, above = inside.get(one, NAN), outside.get(other, NAN)
        return above / below if below > 0 else NAN

    mae = "table 1", "", "", "mae"
    result = {("shift", "", "", "mae"): ratio(mae, mae)}
    for component in COMPONENTS:
        for measure in MEASURES:
            places = [(TABLES[domain], component, "", measure) for domain in ("in", "out")]
            result["shift", component, "", measure] = ratio(places[0], places[1])
        spread = "shift", component, "", "std"
        result[spread] = ratio(spread, spread)
    return {place: value for place, value in result.items() if value == value}


def with_ratios(paper: Paper) -> Paper:
    """Return the paper with the ratios of its printed numbers, out of domain over in domain."""
    known: dict[tuple[str, str, str], dict[str, str]] = {}
    for cell, text, _ in paper.cells("qm9"):
        key = cell["method"], cell.get("component", ""), cell["measure"]
        known.setdefault(key, {})[cell["domain"]] = text
    cells = []
    for (method, component, measure), pair in known.items():
        inside, outside = (printed_number(pair[domain]).value for domain in DOMAINS)
        # Ratios have no unit, so they stand beside those of any data.
        cells.append(["any", method, component, measure, f"{outside / inside:.3g}"])
    table = {
        "source": SHIFT, "section": "Domain shift",
        "rows": ["dataset", "method", "component", "measure"], "columns": "domain",
        "names": [""], "cells": cells,
    }  # fmt: skip
    return replace(paper, tables=(*paper.tables, table))


def gathered(
    runs: list[dict[Any, float]], key: Callable[..., Any]
) -> dict[Any, FloatArray]:  # fmt: skip
    """Return an array over runs for each number; NaN where a run does not have it."""
    places = dict.fromkeys(place for one in runs for place in one)
    return {key(place): np.array([one.get(place, NAN) for one in runs]) for place in places}
