"""What users compare, checked."""

from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._validation import check_number
from ..exceptions import OptionError
from ..predictions import Container
from ..summaries import Summary, summarize
from .result import Thresholds


def as_summary(value: Any, name: str) -> Summary:
    """Return a summary of what a user gave."""
    if isinstance(value, Summary):
        return value
    if isinstance(value, Container):
        return summarize(value)
    if isinstance(value, str | PathLike):
        from ..loading import load

        return as_summary(load(Path(value)), name)
    pair = isinstance(value, tuple | list) and len(value) == 2
    if pair and (isinstance(value[0], Container) or hasattr(value[0], "dtype")):
        return summarize(*value)
    raise OptionError(
        f"{name} must be a Summary, a .caveat file, a prediction or a pair (prediction, y); got a "
        f"{type(value).__name__}"
    )


def thresholds_of(threshold: Any) -> Thresholds:
    """Return the thresholds that a user means."""
    if isinstance(threshold, Thresholds):
        return threshold
    if threshold is None:
        return Thresholds()
    if not isinstance(threshold, Mapping):
        threshold = {"distribution": threshold}
    known = [field.name for field in fields(Thresholds)]
    unknown = [name for name in threshold if name not in known]
    if unknown:
        raise OptionError(f"threshold has {', '.join(known)}; got {unknown[0]!r}")
    checked = {
        name: check_number(value, f"threshold {name}", 0.0, np.inf if name == "relative" else 1.0)
        for name, value in threshold.items()
    }
    return Thresholds(**checked)


def check_comparable(one: Summary, other: Summary) -> None:
    """Raise if two summaries are of different questions."""
    for name in ("kind", "shared"):
        if getattr(one.about, name) != getattr(other.about, name):
            raise OptionError(
                "the reference and the new samples answer different questions: "
                f"{_words(one, name)} and {_words(other, name)}"
            )
    if not (one.samples and other.samples):
        raise OptionError("both sides need at least one sample")


def _words(summary: Summary, name: str) -> str:
    words = summary.about.words(name)
    return f"a {words}" if name == "kind" else words
