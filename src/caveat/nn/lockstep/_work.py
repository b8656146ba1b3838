"""All chunks of one training: which copies train together, and what comes out."""

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...exceptions import TrainingError
from ..generators import GENERATORS_LOCK, Generators
from ._checkpoint import Checkpoint, restore
from ._checks import RECORDED, check_progress
from ._factories import Factory
from ._memory import chunk_size, is_out_of_memory
from ._problem import Problem
from ._progress import Progress
from ._result import Trained
from ._run import Run
from ._settings import Training
from ._stack import State
from ._steppers import Eager, make_stepper
from ._threads import fitting_threads
from .sources import Source, Stream

STACKED, SEQUENTIAL, SIDE_BY_SIDE = "in lock-step", "one after another", "side by side"
_MOST_SIDE_BY_SIDE = 128
"""Copies whose steps are recorded in one graph."""

_FOREIGN = "noise from torch's own generator, which depends on what trains beside a copy"


class _OwnNoise:
    """What the network of a run draws from torch's own generator, whatever other threads draw."""

    def __init__(self, run: Run, seed: int) -> None:
        self.run, self.generators = run, Generators(run.device)
        with GENERATORS_LOCK:
            self.generators.seed(seed)
            self.states = self.generators.states()
        self.drawn = False
        """Whether the first step drew something; then no other thread draws during a step."""
        self._begun = False

    def step(self) -> None:
        """Take a step of the run."""
        assert self.run.stepper is not None
        if self._begun and not self.drawn:
            self.run.stepper(self.run)
            return
        before = list(self.states)
        with self.generators.on_from(self.states):
            self.run.stepper(self.run)
        if not self._begun:
            self.drawn = not all(map(torch.equal, before, self.states))
        self._begun = True


class Work:
    """All chunks of one training, and their results so far."""

    def __init__(
        self,
        problem: Problem,
        module: nn.Module,
        state: State,
        anchors: State | None,
        loss: Callable[[Tensor, Tensor], Tensor],
        training: Training,
        devices: Sequence[torch.device],
        saved: Checkpoint | None,
    ) -> None:
        self.problem, self.module, self.state, self.anchors = problem, module, state, anchors
        self.loss, self.training, self.saved = loss, training, saved
        self.device, self.devices = devices[0], devices
        self.notes: list[str] = []
        self.steps = problem.steps(training)
        self.alone = len(problem) == 1 and training.engine == "auto"
        self.engine, self.why = _engine(training, module, self.device, problem)
        self.names = module.state_dict().keys()
        self.runs: list[Run] = []
        several = len(devices) > 1
        self.generators = Generators(None if several else self.device)
        self.stepper = "eager"
        self.interrupted = False
        # Optimizers of torch and loaders are not on disk: copies that are done are.
        self.resumable = not (training.own or isinstance(problem.X, Stream))

    def do(self, bar: Progress) -> None:
        """Train everything that is not done yet, chunk by chunk."""
        waiting = list(self._chunks())
        if len(self.devices) == 1:
            self._do(waiting, self.device, self.module, bar)
            return
        # Each has a module of its own: passes put the weights of a copy into it.
        lanes = [(device, copy.deepcopy(self.module)) for device in self.devices]
        with ThreadPoolExecutor(len(lanes)) as pool:
            working = [pool.submit(self._do, waiting, *lane, bar) for lane in lanes]
            try:
                for each in working:
                    each.result()
            except KeyboardInterrupt:  # pragma: no cover - it comes to the main thread
                self.interrupted = True

    def _do(
        self, waiting: list[Any], device: torch.device, module: nn.Module, bar: Progress
    ) -> None:
        """Train what is waiting, on one device."""
        while waiting and not self.interrupted:
            try:
                places, stored = waiting.pop(0)
            except IndexError:  # pragma: no cover - another device was faster
                return
            try:
                self._train(self._run(places, device, module), stored, bar)
            except KeyboardInterrupt:
                self.interrupted = True
                return
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                if len(places) == 1:
                    raise TrainingError(
                        "one copy alone does not fit into memory; use a smaller batch_size"
                    ) from error
                self._free(places)
                half = (len(places) + 1) // 2
                self.notes.append(f"out of memory with {len(places)} copies at a time, so {half}")
                waiting[:0] = [(places[:half], None), (places[half:], None)]

    def _free(self, places: np.ndarray) -> None:
        """Forget what was begun with some copies."""
        self.runs = [run for run in self.runs if run.places is not places]
        if self.device.type == "cuda":  # pragma: no cover - needs a GPU
            torch.cuda.empty_cache()

    def _chunks(self) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield copies that train together; the long ones first, those on disk before."""
        known = set()
        for stored in self.saved.load() if self.saved else []:
            places = np.array(stored[0]["places"], dtype=np.int64)
            known.update(places.tolist())
            yield places, stored
        left = np.array(
            [i for i in np.argsort(-self.steps, kind="stable") if i not in known], dtype=np.int64
        )
        if not len(left):
            return
        size = min(self._size(left), -(-len(left) // len(self.devices)))
        for start in range(0, len(left), size):
            yield left[start : start + size], None

    def _size(self, places: np.ndarray) -> int:
        """Return how many copies train at a time."""
        if self.engine == SEQUENTIAL:
            return 1
        try:
            if self.engine == STACKED:  # pragma: no branch - the other is on a GPU
                self._probe(places)
            if self.engine == SEQUENTIAL:
                return 1
            size = chunk_size(self._run(places[:2]), self.training, self.device, len(places))
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return 1
        return min(size, _MOST_SIDE_BY_SIDE) if self.engine == SIDE_BY_SIDE else size

    def _probe(self, places: np.ndarray) -> None:
        """Choose another engine if two copies cannot be stacked, and note why."""
        run = self._run(places[:2])
        try:
            run.try_out()
        except (RuntimeError, NotImplementedError, TypeError) as error:
            if is_out_of_memory(error):
                raise
            self.engine = SEQUENTIAL if self.device.type == "cpu" else SIDE_BY_SIDE
            self.why = f"the module cannot be stacked ({str(error).splitlines()[0][:120]})"

    def _run(
        self,
        places: np.ndarray,
        device: torch.device | None = None,
        module: nn.Module | None = None,
    ) -> Run:
        state = {name: self.state[name][places] for name in self.names}
        anchors = None
        if self.anchors is not None:
            anchors = {name: value[places] for name, value in self.anchors.items()}
        return Run(
            self.problem, places, module or self.module, state, anchors, self.loss, self.training,
            device or self.device, stacked=self.engine == STACKED and len(places) > 1,
            alone=self.alone,
        )  # fmt: skip

    def _train(self, run: Run, stored: Any, bar: Progress) -> None:
        with fitting_threads(run):
            self._steps(run, stored, bar)

    def _steps(self, run: Run, stored: Any, bar: Progress) -> None:
        if stored is not None:
            restore(run, *stored)
        self.runs.append(run)
        # The noise of our layers comes from keys; other modules and losses may draw from torch.
        own = _OwnNoise(run, _seed_of([*(self.problem.seeds[i] for i in run.places), run.step]))
        bar.advance(int(run.trained_steps.sum() + run.step * run.left))
        try:
            while run.left:
                if self.interrupted:
                    raise KeyboardInterrupt
                if run.stepper is None:
                    alone = len(self.devices) == 1
                    run.stepper = make_stepper(run, self.notes) if alone else Eager()
                    self.stepper = run.stepper.name
                run.schedule_rates()
                own.step()
                run.step += 1
                bar.advance(run.left)
                check_progress(run, run.due())
                if run.left:
                    run.shrink()
                if self.saved is not None and self.resumable and self.saved.due():
                    self.saved.save(run)
        except KeyboardInterrupt:
            run.finish(np.flatnonzero(run.running), "interrupted")
            raise
        if own.drawn and len(self.devices) == 1 and _FOREIGN not in self.notes:
            self.notes.append(_FOREIGN)
        if self.saved is not None:
            self.saved.save(run)

    def result(self, make: Factory, original: nn.Module, seconds: float) -> Trained:
        """Return the copies in their own order; warn of those that diverged or were interrupted."""
        count = len(self.problem)
        state = {n: v.clone() if n in self.names else v for n, v in self.state.items()}
        status, steps = ["interrupted"] * count, np.zeros(count, dtype=np.int64)
        history: list[dict[str, list[float]]] = [{} for _ in range(count)]
        for run in self.runs:
            for name, value in run.finished.items():
                state[name][run.places] = value
            for i, place in enumerate(run.places):
                status[place], steps[place] = run.status[i], run.trained_steps[i]
            for record in run.history:
                _add(history, run.places[record["copies"]], record)
        self._warn(status)
        engine = (
            f"{self.engine} ({self.why}; {self.stepper}{''.join('; ' + n for n in self.notes)})"
        )
        arrays = [{k: np.array(v) for k, v in one.items()} for one in history]
        return Trained(state, status, steps, arrays, engine, seconds, make, original)

    def _warn(self, status: list[str]) -> None:
        lost = [i for i, s in enumerate(status) if s == "diverged"]
        if len(lost) == len(status):
            raise TrainingError(
                "training diverged: the loss of every copy became NaN or infinite; lower the "
                "learning rate or scale the inputs"
            )
        if lost:
            named = ", ".join(map(str, lost[:10])) + (", ..." if len(lost) > 10 else "")
            warnings.warn(
                f"training of {len(lost)} of {len(status)} copies diverged (copies {named})",
                RuntimeWarning,
                stacklevel=3,
            )
        if self.interrupted:
            warnings.warn(
                f"stopped by Ctrl-C: {status.count('interrupted')} of {len(status)} copies are not "
                "trained to the end",
                RuntimeWarning,
                stacklevel=3,
            )


def _add(history: list[dict[str, list[float]]], copies: np.ndarray, record: dict[str, Any]) -> None:
    for j, place in enumerate(copies):
        one = history[place]
        one.setdefault("step", []).append(record["step"])
        for name in RECORDED:
            if name in record:
                one.setdefault(name, []).append(float(record[name][j]))


def _engine(
    training: Training, module: nn.Module, device: torch.device, problem: Problem
) -> tuple[str, str]:
    """Return the engine, and why it was chosen."""
    if isinstance(problem.X, Source):
        return SEQUENTIAL, "samples are no array"
    if training.own:
        return SEQUENTIAL, "optimizers of torch take one copy"
    if training.engine != "auto":
        return {"stacked": STACKED, "sequential": SEQUENTIAL}[training.engine], "as asked"
    if len(problem) == 1:
        return SEQUENTIAL, "there is one"
    convolves = any(isinstance(m, nn.modules.conv._ConvNd) for m in module.modules())
    if convolves and device.type == "cpu":
        return SEQUENTIAL, "stacked convolutions are slower on a CPU"
    if convolves:  # pragma: no cover - needs a GPU
        return SIDE_BY_SIDE, "stacked convolutions are slower on a GPU"
    return STACKED, f"on the {device.type}"


def _seed_of(numbers: list[int]) -> int:
    """Return one seed for several copies and a step."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
