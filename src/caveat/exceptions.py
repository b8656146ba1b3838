"""One small tree of errors, all of them ``ValueError``.

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
    """An array has the wrong number of axes, the wrong length, or nothing in it."""


class InvalidValueError(CaveatError):
    """An entry of an array cannot be what it is said to be: NaN, a negative variance, ..."""


class LabelError(CaveatError):
    """A class or target label is unknown, repeated, or of a type that labels cannot have."""


class OptionError(CaveatError):
    """An argument that is not an array of data is outside what the function accepts."""


class UnsupportedPredictionError(CaveatError):
    """A method was asked of a kind of prediction that it is not defined for."""


class FileFormatError(CaveatError):
    """A file is not what caveat writes, or claims to be something it is not."""


class TrainingError(CaveatError):
    """A training came to nothing: every copy diverged, or not even one fits into memory."""


class UnknownNameError(OptionError, KeyError):
    """A name is in none of the registries that could know it."""

    __str__ = ValueError.__str__  # KeyError's own would put the sentence in quotes
