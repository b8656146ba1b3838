"""Train K copies of a network as one program."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..._random import RandomState, generator
from ...exceptions import OptionError, TrainingError
from .._generators import Generators
from ._checkpoint import Checkpoint, restore
from ._checks import check_progress
from ._memory import chunk_size, is_out_of_memory
from ._problem import Copy, Problem, check_codes, check_copies, suited
from ._progress import Progress
from ._result import Trained
from ._run import Run
from ._settings import Training, as_device
from ._stack import (
    Factory,
    State,
    as_factory,
    initial_states,
    prepared,
    tied_names,
    without_vmap_warnings,
)
from ._steppers import make_stepper
from ._threads import fitting_threads

STACKED, SEQUENTIAL, SIDE_BY_SIDE = "in lock-step", "one after another", "side by side"
_MOST_SIDE_BY_SIDE = 128
"""Copies whose steps are recorded in one graph."""

_OTHER_DRAW = 0x5EED
"""Added to a copy's seed for the draw of its anchor."""

_FOREIGN = "noise from torch's own generator, which depends on what trains beside a copy"


def train(
    module: nn.Module | Factory,
    X: Any,
    y: Any,
    *,
    loss: Callable[[Tensor, Tensor], Tensor],
    copies: int | Sequence[Copy] = 1,
    training: Training | None = None,
    checkpoint: Any = None,
    progress: bool = False,
    random_state: RandomState = None,
) -> Trained:
    """Train copies of a network together: members of an ensemble, replicates, conditions, repeats.

    The weights of all copies are stacked, and each step is taken for all of them by one call. What
    a copy learns depends on its own seed, rows and labels alone, not on what trains beside it: the
    same copies come out one by one, up to rounding.

    Parameters
    ----------
    module : nn.Module or function that makes one
        The network. The parameters of a module are drawn anew for each copy (by
        ``reset_parameters``).
    X : array of shape (samples, ...)
        Samples.
    y : array of shape (samples, ...)
        Labels; whole numbers are class codes.
    loss : callable
        (output, y) -> one number for each sample; see `caveat.nn.losses`.
    copies : int or sequence of Copy, default=1
        Number of copies, or what each has of its own.
    training : Training, optional
        Settings of the training; by default ``Training()``.
    checkpoint : path, optional
        A folder to resume a stopped training from. The numbers are the same, except for noise that
        a module or a loss draws from torch's own generator.
    progress : bool, default=False
        Whether to show a progress bar.
    random_state : int or Generator, optional
        Gives seeds to copies that have none. torch's own generator, from which a module or a loss
        may draw, is seeded from those of the copies that train together, and afterwards it is as
        it was.

    Returns
    -------
    Trained
        A copy whose loss is no longer finite stops and is named in a warning; Ctrl-C leaves the
        copies as they are at that moment.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn import MLP, Copy, Training, losses, train
    >>> X = torch.linspace(-1, 1, 64)[:, None]
    >>> y = (X[:, 0] > 0).long()
    >>> halves = [Copy(rows=range(0, 64, 2)), Copy(rows=range(1, 64, 2))]
    >>> trained = train(
    ...     lambda: MLP(1, 2, hidden=(8,)),
    ...     X,
    ...     y,
    ...     loss=losses.nll,
    ...     copies=halves,
    ...     training=Training(epochs=5, learning_rate=0.05),
    ...     random_state=0,
    ... )
    >>> trained.outputs(X).shape
    (2, 64, 2)
    """
    if training is not None and not isinstance(training, Training):
        raise OptionError(
            f"training must be a Training, such as Training(epochs=5); got {training!r}"
        )
    if not callable(loss):
        raise OptionError(f"loss must be a function, such as caveat.nn.losses.nll; got {loss!r}")
    training = training or Training()
    training.check()
    device = as_device(training.device)
    if device.type == "cuda":  # pragma: no cover - needs a GPU
        torch.cuda.init()  # so that its generator is known, and left as it is
    chosen = [Copy()] * int(copies) if isinstance(copies, int | np.integer) else list(copies)
    check_copies(chosen)
    drawn = generator(random_state).integers(2**62, size=len(chosen)).tolist()
    problem = Problem(X, y, chosen, drawn)
    _check_validation(training, problem)
    make = as_factory(module)
    original, state = initial_states(make, problem.seeds)
    problem.X = suited(problem.X, original)
    ties = tied_names(original)
    for place, copy in enumerate(chosen):
        _begin_with(state, place, copy.state or {}, ties)
    anchors = _anchors(make, training, state, problem.seeds)
    ready = prepared(original)
    check_codes(problem, ready, loss)
    saved = None
    if checkpoint is not None:
        saved = Checkpoint(checkpoint, problem, training, state, original, loss)
    work = _Work(problem, ready, state, anchors, loss, training, device, saved)
    begun = time.perf_counter()
    with (
        work.generators.kept(),
        without_vmap_warnings(),
        Progress(progress, int(work.steps.sum()), len(problem)) as bar,
    ):
        work.do(bar)
    return work.result(make, original, time.perf_counter() - begun)


class _Work:
    """All chunks of one training, and their results so far."""

    def __init__(
        self,
        problem: Problem,
        module: nn.Module,
        state: State,
        anchors: State | None,
        loss: Callable[[Tensor, Tensor], Tensor],
        training: Training,
        device: torch.device,
        saved: Checkpoint | None,
    ) -> None:
        self.problem, self.module, self.state, self.anchors = problem, module, state, anchors
        self.loss, self.training, self.device, self.saved = loss, training, device, saved
        self.notes: list[str] = []
        self.steps = problem.steps(training)
        self.alone = len(problem) == 1 and training.engine == "auto"
        self.engine, self.why = _engine(training, module, device, len(problem))
        self.runs: list[Run] = []
        self.generators = Generators(device)
        self.stepper = "eager"
        self.interrupted = False

    def do(self, bar: Progress) -> None:
        """Train everything that is not done yet, chunk by chunk."""
        waiting = list(self._chunks())
        while waiting:
            places, stored = waiting.pop(0)
            try:
                self._train(places, stored, bar)
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
                self._free()
                half = (len(places) + 1) // 2
                self.notes.append(f"out of memory with {len(places)} copies at a time, so {half}")
                waiting[:0] = [(places[:half], None), (places[half:], None)]

    def _free(self) -> None:
        self.runs = [run for run in self.runs if "training" not in run.status]
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
        size = self._size(left)
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

    def _run(self, places: np.ndarray) -> Run:
        state = {name: value[places] for name, value in self.state.items()}
        anchors = None
        if self.anchors is not None:
            anchors = {name: value[places] for name, value in self.anchors.items()}
        return Run(
            self.problem, places, self.module, state, anchors, self.loss, self.training,
            self.device, stacked=self.engine == STACKED and len(places) > 1,
            alone=self.alone,
        )  # fmt: skip

    def _train(self, places: np.ndarray, stored: Any, bar: Progress) -> None:
        run = self._run(places)
        with fitting_threads(run):
            self._steps(run, stored, bar)

    def _steps(self, run: Run, stored: Any, bar: Progress) -> None:
        if stored is not None:
            restore(run, *stored)
        self.runs.append(run)
        # The noise of our layers comes from keys; other modules and losses may draw from torch.
        self.generators.seed(_seed_of([*(self.problem.seeds[i] for i in run.places), run.step]))
        before = self.generators.states()
        first = run.step
        bar.advance(int(run.trained_steps.sum() + run.step * run.left))
        try:
            while run.left:
                if run.stepper is None:
                    run.stepper = make_stepper(run, self.notes)
                    self.stepper = run.stepper.name
                run.schedule_rates()
                run.stepper(run)
                if run.step == first:
                    self._note_foreign_noise(before)
                run.step += 1
                bar.advance(run.left)
                check_progress(run, run.due())
                if run.left:
                    run.shrink()
                if self.saved is not None and self.saved.due():
                    self.saved.save(run)
        except KeyboardInterrupt:
            run.finish(np.flatnonzero(run.running), "interrupted")
            raise
        if self.saved is not None:
            self.saved.save(run)

    def _note_foreign_noise(self, before: list[Tensor]) -> None:
        """Note that the first step drew from torch; later, other threads might have drawn."""
        if self.generators.moved(before) and _FOREIGN not in self.notes:
            self.notes.append(_FOREIGN)

    def result(self, make: Factory, original: nn.Module, seconds: float) -> Trained:
        """Return the copies in their own order; warn of those that diverged or were interrupted."""
        count = len(self.problem)
        state = {name: value.clone() for name, value in self.state.items()}
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
        for name in ("loss", "validation"):
            if name in record:
                one.setdefault(name, []).append(float(record[name][j]))


def _engine(
    training: Training, module: nn.Module, device: torch.device, copies: int
) -> tuple[str, str]:
    """Return the engine, and why it was chosen."""
    if training.engine != "auto":
        return {"stacked": STACKED, "sequential": SEQUENTIAL}[training.engine], "as asked"
    if copies == 1:
        return SEQUENTIAL, "there is one"
    convolves = any(isinstance(m, nn.modules.conv._ConvNd) for m in module.modules())
    if convolves and device.type == "cpu":
        return SEQUENTIAL, "stacked convolutions are slower on a CPU"
    if convolves:  # pragma: no cover - needs a GPU
        return SIDE_BY_SIDE, "stacked convolutions are slower on a GPU"
    return STACKED, f"on the {device.type}"


def _begin_with(state: State, place: int, given: dict[str, Any], ties: dict[str, str]) -> None:
    for name, array in given.items():
        value = array if isinstance(array, Tensor) else torch.tensor(np.asarray(array))
        if name not in state or state[name].shape[1:] != value.shape:
            known = {key: tuple(each.shape[1:]) for key, each in state.items()}
            raise OptionError(
                f"state of copy {place} has {name!r} of shape {tuple(value.shape)}; the module has "
                f"{known}"
            )
        first = ties.get(name, name)
        for each in (first, *(other for other in ties if ties[other] == first)):
            state[each][place] = value


def _anchors(make: Factory, training: Training, state: State, seeds: list[int]) -> State | None:
    if training.anchor == "initial":
        return {name: value.clone() for name, value in state.items()}
    if training.anchor == "drawn":
        return initial_states(make, [seed + _OTHER_DRAW for seed in seeds])[1]
    return None


def _check_validation(training: Training, problem: Problem) -> None:
    for name in ("patience", "plateau"):
        if getattr(training, name) is not None and problem.validation is None:
            raise OptionError(
                f"{name} needs validation samples; name some in every copy, as in "
                "Copy(validation=...)"
            )


def _seed_of(numbers: list[int]) -> int:
    """Return one seed for several copies and a step."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
