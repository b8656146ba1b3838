"""How one step is run: launched operation by operation, or replayed as one recorded graph."""

import torch
from torch import Tensor

from ._ragged import Ragged
from ._run import Run

_WARM_UP = 3
_AHEAD = 256
"""Steps whose keys are made at a time."""


class Eager:
    """Each operation is launched by itself."""

    name = "eager"

    def __init__(self) -> None:
        self._start, self._keys = -_AHEAD, torch.empty(0)

    def __call__(self, run: Run) -> None:
        """Take the next step."""
        places, counts = run.batches.at(run.step)
        run.advance(places, counts, self._keys_at(run), float(run.step))

    def _keys_at(self, run: Run) -> Tensor:
        """Return the keys of the step, which are made for many steps at a time."""
        if not run.noisy:
            return run.active_keys
        if not 0 <= run.step - self._start < _AHEAD:
            self._start = run.step
            numbers = torch.arange(run.step, run.step + _AHEAD, device=run.device)
            keys = run.keys_at(numbers).transpose(0, 1)
            # A copy even of what is contiguous, so that keys of a step are a part of this tensor.
            self._keys = keys.clone(memory_format=torch.contiguous_format)
        return self._keys[run.step - self._start]


class Graph:  # pragma: no cover - needs a GPU
    """The step is recorded once and replayed: a CUDA graph, for which launches cost nothing."""

    name = "CUDA graph"

    def __init__(self, run: Run) -> None:
        places, counts = run.batches.at(run.step)
        self._places, self._counts = places.clone(), counts.clone()
        self._step = torch.tensor(float(run.step), device=run.device)
        self._graph = torch.cuda.CUDAGraph()
        kept = [tensor.clone() for tensor in _changing(run)]
        try:
            self._record(run)
        finally:
            # Also if recording fails: the first steps were only rehearsals.
            for tensor, value in zip(_changing(run), kept, strict=True):
                tensor.copy_(value)

    def _record(self, run: Run) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                self._advance(run)
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(self._graph):
            self._advance(run)

    def _advance(self, run: Run) -> None:
        run.advance(self._places, self._counts, run.keys_at(self._step), self._step)

    def __call__(self, run: Run) -> None:
        """Take the next step."""
        places, counts = run.batches.at(run.step)
        self._places.copy_(places)
        self._counts.copy_(counts)
        self._step.fill_(float(run.step))
        self._graph.replay()


def make_stepper(run: Run, notes: list[str]) -> Eager | Graph:
    """Return a recorded step where that is possible; otherwise note why not."""
    if run.device.type != "cuda" or isinstance(run.problem.X, Ragged) or run.training.own:
        # Batches of ragged samples differ in size; optimizers of torch have numbers on the CPU.
        return Eager()
    return _recorded(run, notes)  # pragma: no cover - needs a GPU


def _recorded(run: Run, notes: list[str]) -> Eager | Graph:  # pragma: no cover - needs a GPU
    try:
        return Graph(run)
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        torch.cuda.synchronize()
        note = f"not recorded as a CUDA graph: {str(error).splitlines()[0]}"
        if note not in notes:
            notes.append(note)
        return Eager()


def _changing(run: Run) -> list[Tensor]:  # pragma: no cover - needs a GPU
    """What a step changes in place."""
    return [
        run.stack.flat,
        run.sums,
        *run.optimizer.state.values(),
        *run.stack.buffers.values(),
    ]
