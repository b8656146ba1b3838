"""Checked inputs of ranking and detection metrics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._validation import LARGEST_SQUARE, FloatArray, check_not_negative, position
from ...exceptions import InvalidValueError
from .._inputs import check_length, column, vector, weights
from ..batch import Batch

_ANY = float(np.finfo(np.float64).max)
"""The limit for scores of which only the order counts."""

Ranked = tuple[FloatArray, FloatArray, FloatArray | None]
Detected = tuple[NDArray[np.bool_], FloatArray, FloatArray | None]


def ranked(error: Any, uncertainty: Any, sample_weight: Any) -> Ranked:
    """Return an error that is not negative and an uncertainty for each sample, and weights."""
    errors = errors_of(error)
    spread = vector(uncertainty, "uncertainty", largest=_ANY)
    check_length(spread, len(errors), "uncertainty", "error")
    return errors, spread, checked_weights(sample_weight, len(errors), "error")


def ranked_of(batch: Batch) -> dict[str, FloatArray]:
    """Return the errors and the uncertainties of a batch, checked once."""

    def make() -> dict[str, FloatArray]:
        error, uncertainty, _ = ranked(batch.truth, batch.inputs["uncertainty"], None)
        return {"error": error, "uncertainty": uncertainty}

    return batch.kept("ranked", make)


def key_sums(batch: Batch, key: str, value: FloatArray) -> Any:
    """Return the weight, and the sum of a value, in cells of the error or of the uncertainty."""
    cells = batch.cells(ranked_of(batch)[key], key)
    return batch.matrix(cells.index, cells.number, [None, value])


def errors_of(error: Any) -> FloatArray:
    """Return one error for each sample that is not negative."""
    errors = vector(error, "error", largest=LARGEST_SQUARE)
    check_not_negative(errors, "error", ("sample",), "pass absolute or squared errors")
    return errors


def detected(
    flag: Any, score: Any, sample_weight: Any, *, flag_name: str, score_name: str
) -> Detected:
    """Return the flags of the positives and their scores, with weights."""
    flags = column(flag, flag_name)
    flagged = flags == 1
    known = flagged | (flags == 0)
    if not known.all():
        index, where = position(~known, ("sample",))
        raise InvalidValueError(
            f"{flag_name}{where} is {flags[index]:g}; pass booleans, or 0 and 1"
        )
    scores = vector(score, score_name, largest=_ANY)
    check_length(scores, len(flags), score_name, flag_name)
    return flagged, scores, checked_weights(sample_weight, len(flags), flag_name)


def checked_weights(sample_weight: Any, length: int, other: str) -> FloatArray | None:
    """Return the weights, or None; a wrong length names the argument it was compared with."""
    if sample_weight is None:
        return None
    weight = vector(sample_weight, "sample_weight", largest=_ANY)
    check_length(weight, length, "sample_weight", other)
    return weights(weight, length)
