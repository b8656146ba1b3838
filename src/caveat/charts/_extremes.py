"""The samples that a person should look at."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..evaluation import Evaluation
from ..evaluation.result import class_probabilities
from ..metrics._inputs import count
from ..predictions import Quantiles
from ._confidence import ENTRY
from ._samples import Samples, known


@dataclass(frozen=True)
class Sample:
    """One sample, by name.

    Attributes
    ----------
    id : str
    truth, predicted : str or float
        Class labels as text, or numbers.
    uncertainty, error : float
    row : int
        Its place in the evaluation.
    """

    id: str
    truth: str | float
    predicted: str | float
    uncertainty: float
    error: float
    row: int


@dataclass(frozen=True, eq=False)
class Extremes:
    """What `extremes` returns.

    Attributes
    ----------
    most_uncertain : list of Sample
        The largest uncertainties, the largest first.
    most_confidently_wrong : list of Sample
        Wrong classes with the smallest uncertainty; numbers with the largest error for their
        uncertainty.
    """

    most_uncertain: list[Sample]
    most_confidently_wrong: list[Sample]

    def to_frame(self) -> Any:
        """Return one row for each sample; ``list`` says which of the two it is from."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"list": name, **vars(sample)}
                for name in ("most_uncertain", "most_confidently_wrong")
                for sample in getattr(self, name)
            ]
        )


def extremes(evaluation: Evaluation, number: int = 20, target: Any = None) -> Extremes:
    """Return the most uncertain samples, and those that are wrong although they look certain.

    Parameters
    ----------
    evaluation : Evaluation
        The evaluation of a prediction with an uncertainty.
    number : int, default=20
        The most samples in each list.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.5, 0.99], classes=["no", "yes"])
    >>> result = caveat.evaluate(prediction, ["no", "no", "no"], ids=["a", "b", "c"], resamples=0)
    >>> found = extremes(result, 1)
    >>> found.most_uncertain[0].id, found.most_confidently_wrong[0].predicted
    ('b', 'yes')
    """
    number = count(number, "number")
    evaluation = known(evaluation, target)
    result = ENTRY.samples(evaluation, target, "extremes")
    counted = np.flatnonzero(result.counted)
    uncertain = _largest(result.uncertainty, counted, number)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # 0 / 0 does not err
        odd = -result.uncertainty if result.classes else result.error / result.uncertainty
    wrong = _largest(odd, counted[result.error[counted] > 0], number)
    return Extremes(_named(evaluation, result, uncertain), _named(evaluation, result, wrong))


def _largest(values: FloatArray, rows: np.ndarray, number: int) -> np.ndarray:
    """Return those of the rows with the largest values, the largest first; of equals the first."""
    if len(rows) > number:  # a sort of all would take ten times as long
        rows = rows[values[rows] >= np.partition(values[rows], -number)[-number]]
    return rows[np.argsort(-values[rows], kind="stable")[:number]]


def _named(evaluation: Evaluation, result: Samples, rows: np.ndarray) -> list[Sample]:
    if not len(rows):
        return []
    truth, predicted = _said(evaluation, result, rows)
    ids = evaluation.ids[rows].astype(str).tolist()
    numbers = result.uncertainty[rows].tolist(), result.error[rows].tolist(), rows.tolist()
    return [Sample(*each) for each in zip(ids, truth, predicted, *numbers, strict=True)]


def _said(evaluation: Evaluation, result: Samples, rows: np.ndarray) -> tuple[list[Any], list[Any]]:
    """Return what is true of some rows, and what was predicted."""
    prediction = evaluation.prediction
    if result.classes:
        labels = [str(label) for label in prediction.classes.tolist()]
        codes = class_probabilities(evaluation)[rows].argmax(axis=1)
        return [labels[code] for code in result.truth[rows]], [labels[code] for code in codes]
    part = prediction.take(rows)
    point = part.median() if isinstance(part, Quantiles) else part.moments()[0]
    return result.truth[rows].tolist(), point[:, result.position].tolist()
