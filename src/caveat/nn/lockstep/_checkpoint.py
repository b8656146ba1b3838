"""State on disk, from which a killed training resumes with the same numbers; no code is stored."""

import hashlib
import json
import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ..._writing import read_json, replacing, write_json
from ...exceptions import FileFormatError, OptionError
from ._problem import Problem
from ._ragged import Ragged
from ._run import Run
from ._settings import Training
from ._stack import State
from .sources import Source

_VERSION = 1


class Checkpoint:
    """A folder with a file for each chunk of copies, written every so many seconds.

    A folder of another training is refused.
    """

    def __init__(
        self,
        folder: Any,
        problem: Problem,
        training: Training,
        state: State,
        module: nn.Module,
        loss: Any,
        every: float = 30.0,
    ) -> None:
        self.folder, self.every = Path(folder), every
        self._last = time.monotonic()
        self._mark = _mark(problem, training, state, module, loss)
        self.folder.mkdir(parents=True, exist_ok=True)
        label = self.folder / "training.json"
        if label.exists():
            stored = read_json(label, "delete the folder to begin anew")
            if stored.get("version", 0) > _VERSION:
                raise FileFormatError(
                    f"{label} was written by a newer version of caveat; update it"
                )
            if stored.get("training") != self._mark:
                raise OptionError(
                    f"checkpoint {str(self.folder)!r} belongs to another training (data, network, "
                    "loss, seeds or settings differ); name another folder or delete it"
                )
        else:
            write_json(label, {"version": _VERSION, "training": self._mark})

    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._last >= self.every

    def save(self, run: Run) -> None:
        """Write a chunk as it is now, in place of its earlier state."""
        from safetensors.torch import save_file

        tensors = {"flat": run.stack.flat, "sums": run.sums}
        for group, state in (
            ("optimizer", run.optimizer.state),
            ("buffers", run.stack.buffers),
            ("finished", run.finished),
            ("best", run.best_state),
        ):
            tensors |= {f"{group}.{name}": value for name, value in state.items()}
        numbers = {
            name: np.asarray(getattr(run, name)).tolist()
            for name in ("places", "active", "step", "best", "since_best", "since_lowered", "rates",
                         "status", "trained_steps", "summed")
        }  # fmt: skip
        numbers["history"] = [
            {k: np.asarray(v).tolist() for k, v in record.items()} for record in run.history
        ]
        kept = {k: v.detach().cpu().contiguous() for k, v in tensors.items()}
        name = f"copies-{hashlib.sha256(run.places.tobytes()).hexdigest()[:16]}.safetensors"
        with replacing(self.folder / name) as beside:
            save_file(kept, beside, metadata={"numbers": json.dumps(numbers)})
        self._last = time.monotonic()

    def load(self) -> list[tuple[dict[str, Any], State]]:
        """Return the numbers and tensors of every chunk that was written."""
        from safetensors import SafetensorError, safe_open

        chunks = []
        for path in sorted(self.folder.glob("copies-*.safetensors")):
            try:
                with safe_open(path, framework="pt") as file:
                    numbers = json.loads(file.metadata()["numbers"])
                    names = file.keys()  # the file itself cannot be iterated
                    chunks.append((numbers, {name: file.get_tensor(name) for name in names}))
            except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
                raise FileFormatError(
                    f"{path} cannot be read ({error}); delete it to train its copies anew"
                ) from None
        return chunks


def restore(run: Run, numbers: dict[str, Any], tensors: State) -> None:
    """Set a run to the state that was written."""
    groups: dict[str, State] = {}
    for key, value in tensors.items():
        group, _, name = key.partition(".")
        groups.setdefault(group, {})[name] = value
    active = np.array(numbers["active"], dtype=np.int64)
    run.step = int(numbers["step"])
    run.rates = np.array(numbers["rates"])
    run.status = list(numbers["status"])
    state, start = dict(groups.get("buffers", {})), 0
    for name, shape in run.stack.shapes.items():
        size = len(active) * shape.numel()
        state[name] = tensors["flat"][start : start + size].view(len(active), *shape)
        start += size
    run.enter(active, state, groups.get("optimizer"))
    run.sums.copy_(tensors["sums"])
    run.finished, run.best_state = groups.get("finished", {}), groups.get("best", {})
    run.best = np.array(numbers["best"])
    for name in ("since_best", "since_lowered", "trained_steps", "summed"):
        setattr(run, name, np.array(numbers[name], dtype=np.int64))
    run.history = [
        {k: np.array(v, np.int64 if k == "copies" else None) for k, v in record.items()}
        for record in numbers["history"]
    ]


def _mark(problem: Problem, training: Training, state: State, module: nn.Module, loss: Any) -> str:
    """Return a fingerprint of everything that determines the result."""
    ragged = isinstance(problem.X, Ragged | Source)
    shape = len(problem.X) if ragged else (problem.X.shape, problem.X.dtype)
    words = repr((training, module, _loss_words(loss), shape))
    # Addresses of objects differ between processes.
    digest = hashlib.sha256(re.sub(r" at 0x[0-9a-fA-F]+", "", words).encode())
    tables = [problem.rows, problem.labels, problem.weights, problem.validation]
    for table in (t for t in tables if t is not None):
        digest.update(table.which.tobytes())
        for array in table.kept:
            digest.update(array.numpy().tobytes())
    digest.update(problem.X.digest() if ragged else problem.X.numpy().tobytes())
    digest.update(repr([(c.epochs, c.steps) for c in problem.copies]).encode())
    digest.update(repr(problem.seeds).encode())
    for name, value in state.items():
        digest.update(name.encode() + value.to(torch.float64).numpy().tobytes())
    return digest.hexdigest()


def _loss_words(loss: Any) -> tuple[Any, ...]:
    """Return what identifies a loss, the same in every process."""
    if isinstance(loss, partial):
        return *_loss_words(loss.func), loss.args, sorted(loss.keywords.items())
    if not hasattr(loss, "__qualname__"):
        public = {k: v for k, v in vars(loss).items() if not k.startswith("_")}
        return type(loss).__module__, type(loss).__qualname__, sorted(public.items())
    code = getattr(loss, "__code__", None)
    inside = () if code is None else (code.co_code, code.co_consts, loss.__defaults__)
    return loss.__module__, loss.__qualname__, *inside
