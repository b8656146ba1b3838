"""Names of metrics and numbers as a person would say them."""

import numpy as np

from ..metrics import METRICS
from ..results.rows import Row
from ..results.tables import ARROWS, WITHOUT_CHANCE, bracket, number
from .content import Cell, Definition, Table

_CAPITALS = {
    "auc": "AUC", "auroc": "AUROC", "brier": "Brier", "crps": "CRPS", "f1": "F1",
    "gaussian": "Gaussian", "matthews": "Matthews", "roc": "ROC",
}  # fmt: skip

_MIXED = {"smece": "smECE"}

HEADLINES = (
    "accuracy_score", "balanced_accuracy_score", "roc_auc_score", "negative_log_likelihood_loss",
    "brier_loss", "positive_calibration_error", "expected_calibration_error",
    "classwise_calibration_error", "smooth_calibration_error",
    "variation_calibration_error", "error_detection_auroc_score", "set_coverage", "mean_set_size",
    "mean_absolute_error", "root_mean_squared_error", "gaussian_crps_loss", "quantile_crps_loss",
    "gaussian_negative_log_likelihood_loss", "expected_normalised_calibration_error",
    "coverage_calibration_error", "quantile_coverage_error", "coverage_ratio",
    "mean_interval_width", "interval_loss", "error_uncertainty_correlation",
    "confidence_oracle_area_error",
)  # fmt: skip
"""What the first table shows, in this order; all other numbers are folded away below it."""

COMPARED = (
    "accuracy_score", "roc_auc_score", "negative_log_likelihood_loss",
    "positive_calibration_error", "expected_calibration_error", "classwise_calibration_error",
    "smooth_calibration_error", "error_detection_auroc_score",
    "set_coverage", "mean_set_size", "mean_absolute_error", "gaussian_crps_loss",
    "quantile_crps_loss", "expected_normalised_calibration_error", "coverage_calibration_error",
    "quantile_coverage_error", "coverage_ratio", "interval_loss", "error_uncertainty_correlation",
)  # fmt: skip
"""What the table of techniques shows, in this order."""

BY_GROUP = (
    "accuracy_score", "positive_calibration_error", "expected_calibration_error",
    "negative_log_likelihood_loss", "set_coverage", "mean_set_size", "mean_absolute_error",
    "expected_normalised_calibration_error", "coverage_ratio",
)  # fmt: skip
"""What is shown for each class and each group."""


def words(metric: str) -> str:
    """Return a metric's name for a reader.

    Examples
    --------
    >>> words("expected_calibration_error"), words("roc_auc_score")
    ('Expected calibration error', 'ROC AUC')
    """
    parts = [_CAPITALS.get(part, part) for part in metric.removesuffix("_score").split("_")]
    text = " ".join(parts)
    return text[0].upper() + text[1:]


def short(metric: str) -> str:
    """Return the abbreviation of a metric that papers use, or nothing.

    Examples
    --------
    >>> short("expected_calibration_error"), short("sharpness")
    ('ECE', '')
    """
    aliases = [alias for alias in METRICS[metric].aliases if len(alias) <= 6 and "_" not in alias]
    if not aliases or aliases[0].upper() in words(metric).upper().split():
        return ""
    return _MIXED.get(aliases[0], aliases[0].upper())


def share(value: float) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> share(0.0732), share(0.00041), share(0.5)
    ('7.3 %', '0.041 %', '50.0 %')
    """
    percent = 100 * value
    return f"{percent:.2g} %" if 0 < percent < 0.1 else f"{percent:.1f} %"


def label(row: Row) -> str:
    """Return what a row is of: the metric and its option.

    Examples
    --------
    >>> label(Row(metric="interval_coverage", value=0.8, samples=9, coverage=0.9))
    'Interval coverage, coverage 0.9'
    >>> label(Row(metric="positive_calibration_error", value=0.1, samples=9, one_class="ill"))
    'Calibration error of class=ill against the rest'
    """
    if row.one_class is not None:
        return f"Calibration error of {row.option} against the rest"
    kind = "level" if row.coverage is None else "coverage"
    return words(row.metric) + ("" if np.isnan(row.promised) else f", {kind} {row.promised:g}")


def metric_cell(row: Row) -> Cell:
    """Return the cell that names a row's metric and says what it tells."""
    return Cell(label(row), short=short(row.metric), says=METRICS[row.metric].says)


def rows_table(rows: list[Row], caption: str, **options: str) -> Table:
    """Return the table of some rows of an evaluation."""
    groups = not all(row.overall for row in rows)
    targets = len({row.target for row in rows}) > 1
    header = ["measure", *(["group"] if groups else []), *(["target"] if targets else [])]
    freed = any(row.estimate == row.estimate for row in rows)
    body = []
    for row in rows:
        cells = [metric_cell(row)]
        cells += [Cell(row.group or "all samples")] if groups else []
        cells += [Cell(row.target)] if targets else []
        said = [Cell(bracket(row) or "none", row.low), Cell(ARROWS[row.direction]), Cell(row.note)]
        cells.append(Cell(number(row.value) or "undefined", row.value))
        cells += [Cell(number(row.estimate), row.estimate)] if freed else []
        body.append([*cells, *said])
    noted = any(row.note for row in rows)
    header += ["value", *([WITHOUT_CHANCE] if freed else []), "interval", "better"]
    header += ["note"] if noted else []
    if not noted:
        body = [cells[:-1] for cells in body]
    return Table(caption, header, body, sortable=True, heads=True, **options)  # type: ignore[arg-type]


def definition(metric: str) -> Definition:
    """Return what a metric says and what it cannot see."""
    entry = METRICS[metric]
    return Definition(words(metric), ", ".join(entry.aliases), entry.says, entry.cannot_see)
