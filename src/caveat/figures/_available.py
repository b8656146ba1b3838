"""Which figures an evaluation has."""

from typing import Any

from ..evaluation import Evaluation
from ..exceptions import UnsupportedPredictionError
from ..predictions import Gaussian, Interval, PredictionSet, Quantiles
from ._samples import DISTRIBUTIONS, Samples, samples, split_parts

_UNCERTAINTY = "an uncertainty and an error for each sample"

_NEEDS = {
    "reliability": "a probability for each class",
    "coverage": "intervals, quantiles, sets of classes, or a variance above 0",
    "error_calibration": "numbers with a standard deviation above 0",
    "confidence_curve": _UNCERTAINTY,
    "error_histogram": _UNCERTAINTY,
    "ecdf": _UNCERTAINTY,
    "extremes": _UNCERTAINTY,
}


def available(evaluation: Evaluation, target: Any = None) -> list[str]:
    """Return the names of the figures that apply to an evaluation.

    Parameters
    ----------
    evaluation : Evaluation
    target : str, optional
        The target, where there are several; by default the first.

    Examples
    --------
    >>> import caveat
    >>> from caveat.figures import available
    >>> sets = caveat.PredictionSet([[True, False], [True, True]], coverage=0.9)
    >>> available(caveat.evaluate(sets, [0, 0], resamples=0))
    ['coverage', 'by_group']
    """
    return _names(evaluation, samples(evaluation, target))


def _names(evaluation: Evaluation, found: Samples) -> list[str]:
    prediction = evaluation.prediction
    ranked = found.has_uncertainty and found.has_error
    spread = isinstance(prediction, Gaussian) and bool(found.uncertainty[found.counted].any())
    applies = {
        "reliability": isinstance(prediction, DISTRIBUTIONS),
        "coverage": isinstance(prediction, Quantiles | Interval | PredictionSet) or spread,
        "error_calibration": spread,
        "confidence_curve": ranked,
        "error_histogram": ranked,
        "ecdf": ranked,
        "split": ranked and split_parts(evaluation, found) is not None,
        "by_group": any(row.group for row in evaluation.rows),
        "extremes": ranked,
    }
    return [name for name, yes in applies.items() if yes]


def checked(figure: str, evaluation: Evaluation, target: Any = None) -> Samples:
    """Return the samples of one target; a figure that they do not have is an error."""
    found = samples(evaluation, target)
    names = _names(evaluation, found)
    if figure not in names:
        raise UnsupportedPredictionError(
            f"{figure} needs {_NEEDS[figure]}, which this {type(evaluation.prediction).__name__} "
            f"does not have; it has {', '.join(names) or 'no figure at all'}"
        )
    return found
