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
    """The first shape of batches that comes three times is recorded; others are not.

    A copy of the object starts anew, as does one from a pickle.
    """

    def __init__(self) -> None:
        self._seen: Counter[Any] = Counter()
        self._key: Any = None

    def __deepcopy__(self, memo: Any) -> "BatchGraph":
        return BatchGraph()

    def __reduce__(self) -> Any:
        return BatchGraph, ()

    def __call__(self, function: AddBatch, preds: Tensor, target: Tensor) -> Tensor | None:
        """Return ``function(preds, target)`` if it is recorded, or None.

        Parameters
        ----------
        function : callable
            Must not wait for the device.
        preds, target : Tensors
        """
        if preds.is_cuda:  # pragma: no cover - needs a GPU
            return self._on_cuda(function, preds, target)
        return None

    def _on_cuda(  # pragma: no cover - needs a GPU
        self, function: AddBatch, preds: Tensor, target: Tensor
    ) -> Tensor | None:
        key = tuple((value.shape, value.dtype, value.device) for value in (preds, target))
        if self._key is None and not torch.cuda.is_current_stream_capturing():
            self._seen[key] += 1
            if self._seen[key] == _FIRST and self._record(function, preds, target):
                self._key = key
        if key != self._key or torch.cuda.is_current_stream_capturing():
            return None
        self._preds.copy_(preds)
        self._target.copy_(target)
        self._graph.replay()
        return self._result

    def _record(  # pragma: no cover - needs a GPU
        self, function: AddBatch, preds: Tensor, target: Tensor
    ) -> bool:
        """Record the function; return whether that was possible."""
        self._preds, self._target = preds.clone(), target.clone()
        self._graph = torch.cuda.CUDAGraph()
        try:
            with (
                torch.cuda.device(preds.device),
                torch.cuda.graph(self._graph, capture_error_mode="thread_local"),
            ):
                self._result = function(self._preds, self._target)
        except RuntimeError:  # too little memory, or another thread is in the way
            torch.cuda.synchronize()
            return False
        return True
