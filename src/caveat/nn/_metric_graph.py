"""Batches of one shape are added as one recorded CUDA graph, for which launches cost nothing."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_FIRST = 3
"""How often a shape is seen before it is recorded."""

AddBatch = Callable[[Tensor, Tensor], Tensor]


class BatchGraph:
    """The first shape of batches that comes three times is recorded; others run as they are.

    A copy of the object starts anew, as does one from a pickle.
    """

    def __init__(self) -> None:
        self._seen: Counter[Any] = Counter()
        self._key: Any = None

    def __deepcopy__(self, memo: Any) -> "BatchGraph":
        return BatchGraph()

    def __reduce__(self) -> Any:
        return BatchGraph, ()

    def __call__(self, function: AddBatch, preds: Tensor, target: Tensor) -> Tensor:
        """Return ``function(preds, target)``, which must not wait for the device.

        Parameters
        ----------
        function : callable
        preds, target : Tensors
        """
        if preds.is_cuda and target.is_cuda and not torch.cuda.is_current_stream_capturing():
            return self._on_cuda(function, preds, target)  # pragma: no cover - needs a GPU
        return function(preds, target)

    def _on_cuda(  # pragma: no cover - needs a GPU
        self, function: AddBatch, preds: Tensor, target: Tensor
    ) -> Tensor:
        key = tuple((value.shape, value.dtype, value.device) for value in (preds, target))
        if self._key is None:
            self._seen[key] += 1
            if self._seen[key] == _FIRST:
                self._record(function, preds, target)
                self._key = key
        if key != self._key:
            return function(preds, target)
        self._preds.copy_(preds)
        self._target.copy_(target)
        self._graph.replay()
        return self._result

    def _record(  # pragma: no cover - needs a GPU
        self, function: AddBatch, preds: Tensor, target: Tensor
    ) -> None:
        self._preds, self._target = preds.clone(), target.clone()
        self._graph = torch.cuda.CUDAGraph()
        with (
            torch.cuda.device(preds.device),
            torch.cuda.graph(self._graph, capture_error_mode="thread_local"),
        ):
            self._result = function(self._preds, self._target)
