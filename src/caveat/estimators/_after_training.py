"""Methods that go on after the training, on the samples that the members learned from."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from .._constructors import declared
from ._data import SampleCache
from ._network import NetworkEstimator, Prepared
from ._problem import Problem

_WAITING: "WeakKeyDictionary[NetworkEstimator, Prepared]" = WeakKeyDictionary()
"""What estimators learn from, while they are trained."""


@declared(kw_only=True)
class AfterTraining(NetworkEstimator):
    """A network that learns more once it is trained."""

    def _prepare(self, problem: Problem, cache: SampleCache | None = None) -> Prepared:
        prepared = super()._prepare(problem, cache)
        _WAITING[self] = prepared
        return prepared

    def _take_over(
        self, trained: Any, places: Sequence[int], left_out: Sequence[int] = ()
    ) -> list[int]:
        diverged = super()._take_over(trained, places, left_out)
        prepared = _WAITING.pop(self)
        if hasattr(self, "state_"):
            lost = {*diverged, *left_out}
            kept = [copy for i, copy in enumerate(prepared.copies) if i not in lost]
            self._go_on(prepared, kept)
        return diverged

    @abstractmethod
    def _go_on(self, prepared: Prepared, copies: list[Any]) -> None:
        """Learn from the samples; ``copies`` are those whose weights are in ``state_``."""
