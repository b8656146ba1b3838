"""The type of a metric that returns one float, or one number for each sample."""

from collections.abc import Callable
from typing import Any, Literal, ParamSpec, Protocol, cast, overload

from .._validation import FloatArray

Parameters = ParamSpec("Parameters")


class MeanOrScores(Protocol[Parameters]):
    """A metric whose result depends on ``per_sample``, as type checkers and editors see it."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, *args: Any, per_sample: Literal[True], **options: Any
    ) -> FloatArray: ...
    @overload
    def __call__(self, *args: Parameters.args, **options: Parameters.kwargs) -> float: ...


def mean_or_scores(function: Callable[Parameters, float | FloatArray]) -> MeanOrScores[Parameters]:
    """Say that a metric returns an array with ``per_sample=True`` and a float otherwise."""
    return cast(MeanOrScores[Parameters], function)
