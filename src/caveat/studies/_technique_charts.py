"""Diagrams of single techniques of a grid: of all samples, of each class, or of each target."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import charts
from ..charts import Chart
from ..evaluation import evaluate
from ..selection import Scenarios, TechniqueGrid

if TYPE_CHECKING:
    from .result import StudyResult

_METRICS = {"reliability": "expected_calibration_error"}
"""What is asked of a prediction for a diagram; the others need one of regression."""


def technique_charts(result: "StudyResult", spec: Mapping[str, Any]) -> Iterator[Chart]:
    """Yield the diagrams of the first run that a spec asks for.

    ``chart`` is the kind of chart and ``options`` are its options; ``techniques`` are those of the
    figure, ``dataset`` is where it belongs. With ``classes``, there is one for each true class, and
    for numbers one for each target; ``parts`` are their names. A flow chart is of all techniques,
    and its ``parts`` are words for those of the scenarios.
    """
    grid = result.details.get("run 0")
    if not isinstance(grid, TechniqueGrid) or spec.get("dataset", result.dataset) != result.dataset:
        return
    if spec["chart"] == "flow_chart":
        words = spec["parts"]
        named = (replace(row, part=words.get(row.part, row.part)) for row in grid.scenarios())
        yield replace(charts.flow_chart(Scenarios(tuple(named))), title=spec["title"])
        return
    for technique in spec["techniques"]:
        if technique in grid.predictions:
            for part, chart in _parts(grid.predictions[technique], np.asarray(grid.y), spec):
                words = ", ".join(filter(None, (technique, part)))
                yield replace(chart, title=f"{spec['title']}: {words}")


def _parts(prediction: Any, y: Any, spec: Mapping[str, Any]) -> Iterator[tuple[str, Chart]]:
    kind, options, names = spec["chart"], spec.get("options", {}), spec.get("parts", ())
    if y.ndim == 2:
        evaluation = evaluate(prediction, y, metrics=["mae"], resamples=0)
        for target, name in zip(prediction.targets.tolist(), names, strict=True):
            yield name, charts.chart(evaluation, kind, target=str(target), **options)
        return
    rows = {name: y == label for label, name in enumerate(names)} if names else {"": y == y}
    for name, mine in rows.items():
        evaluation = evaluate(prediction.take(mine), y[mine], metrics=[_METRICS[kind]], resamples=0)
        yield name, charts.chart(evaluation, kind, **options)
