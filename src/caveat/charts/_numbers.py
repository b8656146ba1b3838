"""The row of the table behind a chart, and words that several charts share."""

from ..evaluation import Evaluation
from .chart import Headline


def headline(evaluation: Evaluation, metric: str, target: str = "", option: str = "") -> Headline:
    """Return the row of all samples for a metric; NaN where it was not asked."""
    for row in evaluation.matching(metric=metric, group="", target=target):
        if option in ("", row.option):
            return Headline(metric, row.value, (row.low, row.high), row.estimate)
    return Headline(metric, float("nan"))


def band_label(evaluation: Evaluation) -> str:
    """Return the name of the bands: their confidence level."""
    return f"{100 * evaluation.confidence:g} % band"
