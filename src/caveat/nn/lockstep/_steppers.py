"""How one step is run: launched operation by operation, or replayed as one recorded graph."""

import torch

from ._run import Run

_WARM_UP = 3


class Eager:
    """Each operation is launched by itself."""

    name = "eager"

    def __call__(self, run: Run) -> None:
        """Take the next step."""
        places, counts = run.batches.at(run.step)
        run.advance(places, counts, torch.tensor(float(run.step), device=run.device))


class Graph:  # pragma: no cover - needs a GPU
    """The step is recorded once and replayed: a CUDA graph, for which launches cost nothing."""

    name = "CUDA graph"

    def __init__(self, run: Run) -> None:
        places, counts = run.batches.at(run.step)
        self._places, self._counts = places.clone(), counts.clone()
        self._step = torch.tensor(float(run.step), device=run.device)
        kept = [tensor.clone() for tensor in _changing(run)]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                run.advance(self._places, self._counts, self._step)
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            run.advance(self._places, self._counts, self._step)
        for tensor, value in zip(_changing(run), kept, strict=True):
            tensor.copy_(value)

    def __call__(self, run: Run) -> None:
        """Take the next step."""
        places, counts = run.batches.at(run.step)
        self._places.copy_(places)
        self._counts.copy_(counts)
        self._step.fill_(float(run.step))
        self._graph.replay()


def make_stepper(run: Run, notes: list[str]) -> Eager | Graph:
    """Return a recorded step where that is possible, and say why where it is not."""
    if run.device.type != "cuda":
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


def _changing(run: Run) -> list[torch.Tensor]:  # pragma: no cover - needs a GPU
    """What a step changes in place."""
    return [
        run.stack.flat,
        run.sums,
        *run.optimiser.state.values(),
        *run.stack.buffers.values(),
    ]
