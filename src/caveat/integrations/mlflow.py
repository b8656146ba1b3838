"""Evaluations in MLflow: numbers as metrics, the table and the page as artifacts."""

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..evaluation import Evaluation
from ..exceptions import OptionError
from ..report import write_report
from ..results.rows import Row
from ..results.tables import headline_rows

__all__ = ["log_evaluation"]

_NAME = re.compile(r"\w[\w.\- ]*(/\w[\w.\- ]*)*")
"""Names that MLflow takes for metrics and for folders of artifacts."""

_LONGEST_TAG = 5000


def log_evaluation(
    evaluation: Evaluation, *, name: str = "caveat", step: int | None = None, page: bool = True
) -> dict[str, float]:
    """Log an evaluation to the active run of MLflow, or to a new one if none is active.

    Logged are

    - the headline numbers over all samples as metrics: ``caveat/expected_calibration_error``, and
      its interval as ``caveat/expected_calibration_error.low`` and ``.high``. If there are several
      targets or coverages, they are part of the name: ``caveat/interval_loss.coverage_0.9545``.
      Numbers that are undefined are left out;
    - the whole table, with all metrics and groups, as ``caveat/evaluation.json`` and ``.csv``;
    - the page of `caveat.write_report` as ``caveat/report.html``;
    - the tags ``caveat.verdict`` (the summary in words), ``caveat.level`` ("good", "bad", "unsure"
      or "info") and ``caveat.version``.

    Needs the extra ``mlflow``: ``pip install 'caveat[mlflow]'``.

    Parameters
    ----------
    evaluation : Evaluation
        What `caveat.evaluate` returned.
    name : str, default="caveat"
        What metrics, artifacts and tags begin with; give another one for each evaluation of a run,
        such as ``"validation"`` and ``"test"``.
    step : int, optional
        The step of a training, for the metrics; artifacts and tags are those of the last call.
    page : bool, default=True
        Whether to write the page, too.

    Returns
    -------
    dict of str to float
        The metrics that were logged.

    Examples
    --------
    >>> import caveat
    >>> from caveat.integrations import log_evaluation
    >>> prediction = caveat.Categorical([[0.9, 0.1], [0.2, 0.8]])
    >>> evaluation = caveat.evaluate(prediction, [0, 1], random_state=0)
    >>> import mlflow  # doctest: +SKIP
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     log_evaluation(evaluation)
    """
    if not isinstance(evaluation, Evaluation):
        raise OptionError(
            f"log_evaluation takes what caveat.evaluate returned; got a {type(evaluation).__name__}"
        )
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise OptionError(
            "name must be text of letters, digits, spaces and _ - . / that begins with a letter or "
            f"a digit; got {name!r}"
        )
    mlflow = _imported()
    # All is made before anything is logged, so that an error does not leave half of it.
    metrics = {f"{name}/{key}": value for key, value in _numbers(evaluation).items()}
    summary = evaluation.verdict().statements[0]
    tags = {"verdict": summary.text[:_LONGEST_TAG], "level": summary.level, "version": __version__}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "evaluation.json").write_text(evaluation.to_json(), encoding="utf-8")
        evaluation.to_frame().to_csv(place / "evaluation.csv", index=False)
        if page:
            write_report(evaluation, place / "report.html")
        mlflow.log_metrics(metrics, step=step)
        mlflow.set_tags({f"{name}.{key}": value for key, value in tags.items()})
        mlflow.log_artifacts(folder, artifact_path=name)
    return metrics


def _imported() -> Any:
    try:
        import mlflow
    except ImportError as error:
        raise OptionError("log_evaluation needs MLflow: pip install 'caveat[mlflow]'") from error
    return mlflow


def _numbers(evaluation: Evaluation) -> dict[str, float]:
    """Return the headline numbers and their intervals, by names that MLflow takes."""
    rows = evaluation.matching(group="")
    rows = headline_rows(rows) or rows
    several = len({row.target for row in rows}) > 1
    numbers: dict[str, float] = {}
    for row in rows:
        key = _unused(_key(row, several), numbers)
        values = {key: row.value, f"{key}.low": row.low, f"{key}.high": row.high}
        numbers |= {k: float(value) for k, value in values.items() if not np.isnan(value)}
    return numbers


def _key(row: Row, several: bool) -> str:
    parts = (row.metric, row.target if several else "", row.option)
    return ".".join(re.sub(r"[^\w.\- ]", "_", part) for part in parts if part)


def _unused(key: str, numbers: dict[str, float]) -> str:
    """Return a key that is not in use: two targets may differ in characters that are replaced."""
    number, first = 2, key
    while key in numbers:
        key, number = f"{first}_{number}", number + 1
    return key
