"""The exceptions of caveat, all of them ``ValueError``.

Each message says what was expected, what came and what to do about it.
"""

__all__ = [
    "CaveatError",
    "FileFormatError",
    "InvalidValueError",
    "LabelError",
    "OptionError",
    "ShapeError",
    "TrainingError",
    "UnknownNameError",
    "UnsupportedPredictionError",
]


class CaveatError(ValueError):
    """Root of every error that caveat raises on purpose."""


class ShapeError(CaveatError):
    """An array has the wrong number of axes or the wrong length, or is empty."""


class InvalidValueError(CaveatError):
    """An entry of an array is invalid: NaN, a negative variance, ..."""


class LabelError(CaveatError):
    """A class or target label is unknown, repeated, or of a type that labels cannot have."""


class OptionError(CaveatError):
    """An argument that is not an array of data is outside what the function accepts."""


class UnsupportedPredictionError(CaveatError):
    """A method is not defined for this type of prediction."""


class FileFormatError(CaveatError):
    """A file cannot be read, or does not hold what it should."""


class TrainingError(CaveatError):
    """Training failed: every copy diverged, or not even one fits into memory."""


class UnknownNameError(OptionError, KeyError):
    """A name is not in the registry."""

    __str__ = ValueError.__str__  # KeyError's own would put the sentence in quotes
