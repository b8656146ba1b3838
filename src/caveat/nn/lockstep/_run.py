"""The training of one chunk of copies, step by step."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...exceptions import TrainingError
from ..noise import derive_key, make_keys
from ._batches import Batches, Loaded, StreamBatches
from ._by_hand import draws
from ._optimizers import Own, make_optimizer
from ._problem import Problem
from ._ragged import Ragged, Shared
from ._schedules import Rates
from ._settings import Training
from ._stack import Stack, State
from ._workspace import Workspace
from .sources import Source, Stream

LEAVE = 0.75
"""Copies that are done are dropped when no more than this share is still training."""

_OTHER_PASS = 0x0D4A
"""Added to the number of a pass in its step, for its key."""

_NONE = np.empty(0, dtype=np.int64)

_RECORDS = 100
"""Losses that are kept of a training without validation."""


def _named(error: ValueError, counts: Tensor) -> ValueError:
    """Return an error that names the cause, where a module cannot learn from a single sample."""
    if counts.shape[-1] > 1:
        return error
    return TrainingError(
        f"the module cannot learn from a batch of one sample ({error}); choose a batch_size that "
        "leaves no sample alone, or drop_last=True in a DataLoader"
    )


class Run:
    """Some copies in lock-step; `_checkpoint.py` says which of its attributes go to disk.

    Copies have a place in the chunk (0, 1, ...); `active` holds the places of those in the stack.
    """

    def __init__(
        self,
        problem: Problem,
        places: np.ndarray,
        module: nn.Module,
        state: State,
        anchors: State | None,
        loss: Callable[[Tensor, Tensor], Tensor],
        training: Training,
        device: torch.device,
        *,
        stacked: bool,
        alone: bool = False,
    ) -> None:
        self.problem, self.places, self.training, self.device = problem, places, training, device
        self.module, self.loss = module, loss
        self.stacked, self.alone = stacked, alone
        self.normed = any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in module.modules())
        self.noisy = draws(module, loss)
        self.data = _Data(problem, device)
        self.lengths = problem.lengths[places]
        self.per_epoch = problem.per_epoch(training)[places]
        self.steps = problem.steps(training)[places]
        self.interval = max(1, int(self.steps.max()) // _RECORDS)
        count = len(places)
        self.step = 0
        self.history: list[dict[str, Any]] = []
        self.best = np.full(count, np.inf)
        self.since_best = np.zeros(count, dtype=np.int64)
        self.since_lowered = np.zeros(count, dtype=np.int64)
        self.rates = np.full(count, training.base_rate)
        self.status = ["training"] * count
        self.finished: State = {}
        self.best_state: State = {}
        self.trained_steps = np.zeros(count, dtype=np.int64)
        self.keys = make_keys([problem.seeds[i] for i in places]).to(device)
        self.anchors = anchors
        self.enter(np.arange(count), state)

    @property
    def packed(self) -> bool:
        """Whether a batch is packed once, for all copies."""
        return isinstance(self.problem.X, Ragged) and not isinstance(self.problem.X, Source)

    def enter(self, active: np.ndarray, state: State, optimizer: State | None = None) -> None:
        """Make the stack of the copies that train from here on."""
        self.active = active
        self.running = np.array([self.status[i] == "training" for i in active])
        """Which copies of the stack still train."""
        self.left = int(self.running.sum())
        self._next_due = 0
        training = self.training
        self.stack = Stack(
            self.module, state, self.loss, self.device,
            stacked=self.stacked, alone=self.alone, compiled=training.compile,
            frozen_noise=training.frozen_noise,
        )  # fmt: skip
        self.optimizer = make_optimizer(training, self.stack)
        for name, value in (optimizer or {}).items():
            self.optimizer.state[name].copy_(value)
        chosen = torch.from_numpy(active).to(self.device)
        self.active_keys = self.keys[chosen]
        order = training.order_seed
        if order is None and self.packed:
            order = 0
        keys = self.active_keys
        if order is not None:
            keys = make_keys([order]).to(self.device).expand_as(keys)
        self.batches: Any = None
        if isinstance(self.data.X, Stream):
            self.batches = StreamBatches(self.data.X)
        else:
            self.batches = Batches(
                self.lengths[active], keys, training.batch_size,
                int(self.steps[active].max()), full=self.normed,
            )  # fmt: skip
        self.index = self.data.index(self.places[active], self.device)
        lengths = torch.from_numpy(self.lengths[active]).to(self.device, torch.float32)
        self.penalty = _penalty(training.penalty_weight, lengths)
        self.pull = None
        if training.anchor is not None and training.anchor_strength:
            goal = torch.zeros_like(self.stack.flat)
            if self.anchors is not None:
                views = [self.anchors[name][active] for name in self.stack.shapes]
                goal = torch.cat([view.reshape(-1) for view in views]).to(self.device)
            given = training.anchor_strength
            if isinstance(given, Mapping):
                strength = self.stack.spread(1 / lengths, given)
            else:
                strength = self.stack.spread(given / lengths)
            self.pull = strength, goal
        self.sums = torch.zeros(len(active), device=self.device)
        self.summed = np.zeros(len(active), dtype=np.int64)
        self.rate: float | Tensor = 0.0
        self.schedule = Rates(training.scheduler, self.steps[active])
        self.set_rates()
        self.stepper: Any = None

    def schedule_rates(self) -> None:
        """Set the learning rates if the schedule changes them at this step."""
        if self.step >= self._next_rates:
            self.set_rates()

    def set_rates(self) -> None:
        """Set the learning rates of the copies, in the tensor that a recorded step reads."""
        factors, self._next_rates = self.schedule.at(self.step)
        rates = self.rates[self.active] * factors
        if isinstance(self.optimizer, Own):
            self.optimizer.scale(float(rates[0]) / self.training.base_rate)
            return
        groups = self.training.rate_factors
        if groups is None and (rates == rates[0]).all() and self.device.type == "cpu":
            self.rate = float(rates[0])
            return
        dtype = self.stack.flat.dtype
        rates = torch.from_numpy(rates).to(self.device, dtype)
        spread = self.stack.spread(rates, groups, "learning_rate")
        if isinstance(self.rate, Tensor):
            self.rate.copy_(spread)
        else:
            self.rate = spread

    def advance(self, places: Any, counts: Tensor, keys: Tensor, step: float | Tensor) -> None:
        """Take a step with every copy; it only uses tensors, so that it can be recorded."""
        x, y, weight = self.data.batch(self.index, places, self.stack.by_hand is not None)
        counts = counts if weight is None else counts * weight
        if self.training.likelihood_weight != 1:
            counts = counts * self.training.likelihood_weight
        with self.autocast():
            each, gradient = self._passes(x, y, counts, keys)
        if self.pull is not None:
            strength, goal = self.pull
            gradient.add_(strength * (self.stack.flat - goal), alpha=2.0)
        with torch.no_grad():
            if self.training.gradient_clip is not None:
                gradient = self.stack.shorten(gradient, self.training.gradient_clip)
            self.sums.add_(each)
            self.optimizer.update(self.stack.flat, gradient, self.rate, step + 1)

    def _passes(self, x: Any, y: Tensor, counts: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Return the objective of each copy and all gradients: means over draws of the noise."""
        try:
            each, gradient = self.stack.step(x, y, counts, self.penalty, keys)
        except ValueError as error:
            raise _named(error, counts) from None
        if self.training.draws == 1:
            return each, gradient
        each, total = each.clone(), gradient.clone()
        for number in range(1, self.training.draws):
            again = derive_key(keys, _OTHER_PASS + number)
            more, gradient = self.stack.step(x, y, counts, self.penalty, again)
            each += more
            total += gradient
        return each / self.training.draws, total.div_(self.training.draws)

    def try_out(self) -> None:
        """Pass the first batch once as in training and in evaluation; no weight changes."""
        places, counts = self.batches.at(0)
        x, y, _ = self.data.batch(self.index, places)
        try:
            with self.autocast():
                self._pass_once(x, y, counts)
        except ValueError as error:
            raise _named(error, counts) from None

    def _pass_once(self, x: Any, y: Tensor, counts: Tensor) -> None:
        if self.stack.is_plain(x):
            self.stack.step(x, y, counts, self.penalty, self.active_keys)
            return
        self.stack.losses(x, y, counts, self.penalty, self.active_keys)
        with torch.no_grad():
            self.stack.outputs(x if isinstance(x, Shared) else x[0])

    def keys_at(self, step: Tensor) -> Tensor:
        """Return the keys of a step, or of several, (copies, steps, 2)."""
        keys = self.active_keys[:, None] if step.ndim else self.active_keys
        return derive_key(keys, step.to(torch.int32)) if self.noisy else keys

    def autocast(self) -> Any:
        """The precision of passes."""
        if self.training.precision != "bfloat16":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16, cache_enabled=False)

    def due(self) -> np.ndarray:
        """Return which copies of the stack are checked after this step, by their index in it."""
        done = self.step
        if done < self._next_due:
            return _NONE
        steps = self.steps[self.active]
        epochs = self.problem.checked or self.training.on_epoch or callable(self.training.scheduler)
        every = self.per_epoch[self.active] if epochs else self.interval
        later = np.minimum(done + every - done % every, np.where(steps > done, steps, np.inf))
        self._next_due = int(later.min())
        return np.flatnonzero((done % every == 0) | (done == steps))

    def finish(self, indices: np.ndarray, status: str) -> None:
        """Take copies out with their current weights, or those of their best epoch."""
        if not len(indices):
            return
        chosen = torch.from_numpy(indices).to(self.device)
        for name, value in self.stack.take(chosen).items():
            if name not in self.finished:
                self.finished[name] = torch.zeros(
                    len(self.places), *value.shape[1:], dtype=value.dtype
                )
            self.finished[name][self.active[indices]] = value
        self.running[indices] = False
        self.left = int(self.running.sum())
        for i in self.active[indices]:
            self.status[i] = status
            self.trained_steps[i] = self.step
        if self.best_state and self.training.restore_best:
            mine = [i for i in self.active[indices] if np.isfinite(self.best[i])]
            for name, value in self.best_state.items():
                self.finished[name][mine] = value[mine]

    def shrink(self) -> None:
        """Drop copies that are done from the stack, if there are enough of them."""
        running = self.running
        if self.left > LEAVE * len(running):
            return
        chosen = torch.from_numpy(np.flatnonzero(running)).to(self.device)
        state = {name: value[chosen].clone() for name, value in self.stack.state().items()}
        optimizer = {
            name: self.stack.part_of(value, chosen) for name, value in self.optimizer.state.items()
        }
        sums, summed = self.sums[chosen].clone(), self.summed[running]
        self.enter(self.active[running], state, optimizer)
        self.sums, self.summed = sums, summed


class _Data:
    """The data on the device."""

    def __init__(self, problem: Problem, device: torch.device) -> None:
        self.problem = problem
        self.X: Any = problem.X.to(device)
        self._ragged = isinstance(self.X, Ragged)
        self._workspace = Workspace()
        self.labels = _FlatTables(problem.labels.stacked().to(device))
        self.rows = self.weights = self.validation = None
        if any(copy.rows is not None for copy in problem.copies):
            self.rows = _FlatTables(problem.rows.stacked().to(device))
        if problem.weights is not None:
            self.weights = _FlatTables(problem.weights.stacked().to(device))
        if problem.validation is not None:
            self.validation = problem.validation.stacked().to(device)

    def index(self, places: np.ndarray, device: torch.device) -> dict[str, Tensor]:
        """Return which tables some copies use, each of shape (copies, 1)."""
        tables = {
            "rows": self.problem.rows,
            "labels": self.problem.labels,
            "weights": self.problem.weights,
            "validation": self.problem.validation,
        }
        return {
            name: torch.from_numpy(table.which[places]).to(device)[:, None]
            for name, table in tables.items()
            if table is not None
        }

    def batch(
        self, index: dict[str, Tensor], places: Any, again: bool = False
    ) -> tuple[Any, Tensor, Tensor | None]:
        """Return samples, labels and weights at places in the rows of each copy.

        With ``again`` the samples are in an array that the next batch overwrites: it stays in the
        cache. A module with code of its own might keep its inputs.
        """
        if isinstance(places, Loaded):
            return Shared(places.x), places.y[None], None
        rows = places if self.rows is None else self.rows.at(index["rows"], places)
        weight = None if self.weights is None else self.weights.at(index["weights"], rows)
        out = None
        if again and not self._ragged:
            out = self._workspace("samples", rows.shape + self.X.shape[1:], self.X)
        return self.samples(rows, out), self.label(index, rows), weight

    def samples(self, rows: Tensor, out: Tensor | None = None) -> Any:
        """Return the samples at the rows of each copy; ragged ones once, for all copies."""
        if self._ragged:
            return Shared(self.X.pick(rows[0]))
        return _picked(self.X, rows, out)

    def label(self, index: dict[str, Tensor], rows: Tensor) -> Tensor:
        """Return the labels of rows."""
        return self.labels.at(index["labels"], rows)


class _FlatTables:
    """Tables of the same length as one, so that a lookup is along one axis."""

    def __init__(self, tables: Tensor) -> None:
        self.count, self.length = tables.shape[:2]
        self.flat = tables.flatten(0, 1)

    def at(self, which: Tensor, places: Tensor) -> Tensor:
        """Return the entries at places of one table for each copy."""
        return _picked(self.flat, places if self.count == 1 else places + which * self.length)


def _picked(values: Tensor, places: Tensor, out: Tensor | None = None) -> Tensor:
    """Return ``values[places]``, which torch does faster along one axis."""
    if out is not None:
        torch.index_select(values, 0, places.reshape(-1), out=out.flatten(0, 1))
        return out
    picked = torch.index_select(values, 0, places.reshape(-1))
    return picked.view(places.shape + values.shape[1:])


def _penalty(weight: Any, lengths: Tensor) -> Tensor | None:
    if weight is None:
        return None
    return 1 / lengths if weight == "per-sample" else torch.full_like(lengths, float(weight))
