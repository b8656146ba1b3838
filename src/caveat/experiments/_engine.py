"""All trainings of an experiment: networks in lock-step, other models by joblib."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._parallel import check_jobs, run_tasks
from ._inputs import in_dataset, take_rows
from ._models import copy_of, fit, network_of
from .checkpoint import Folder


@dataclass(frozen=True, eq=False)
class Training:
    """One training: the samples a model learns from, its seed and its settings.

    ``name`` is that of its file in a checkpoint, ``words`` stand for it in messages, and
    ``condition`` is what the experiment knows of it.
    """

    name: str
    words: str
    X: Any
    y: np.ndarray
    rows: Any
    seed: int
    condition: Any
    parameters: dict[str, Any] = field(default_factory=dict)
    validation: tuple[Any, np.ndarray] | None = None
    """Held-out samples that decide which epoch of a network is kept."""

    def samples(self) -> tuple[Any, np.ndarray]:
        """Return the samples to learn from."""
        if self.rows is None:
            return self.X, self.y
        return take_rows(self.X, self.rows), self.y[self.rows]

    def problem(self) -> Any:
        """Return the samples as a network is fitted to them."""
        from ..estimators import Problem

        X, y, rows, validation = self.X, self.y, self.rows, self.validation
        if in_dataset(X):
            (X, y), rows = X.to_train(rows, y), None
            if validation is not None:
                validation = validation[0].to_train(None, validation[1], shuffle=False)
        return Problem(
            X, y, rows=rows, random_state=self.seed, parameters=self.parameters, name=self.words,
            validation=validation,
        )  # fmt: skip


Measure = Callable[[Any, Training], Any]
"""From a fitted model and its training to what is kept of it: a small dataclass."""


def run(
    model: Any,
    trainings: Sequence[Training],
    measure: Measure,
    restore: Callable[[dict[str, Any]], Any],
    *,
    n_jobs: int | None,
    folder: Folder | None,
    progress: bool,
) -> list[Any]:
    """Return what is measured of each training; ``restore`` makes it from its file."""
    check_jobs(n_jobs)
    names = [training.name for training in trainings]
    done = {} if folder is None else folder.load(names, restore)
    left = [place for place, name in enumerate(names) if name not in done]

    def keep(place: int, outcome: Any) -> None:
        done[names[place]] = outcome
        if folder is not None:
            folder.save(names[place], outcome)

    network = network_of(model)
    lockstep = network is not None and not network.prefix
    apart = not lockstep or in_dataset(trainings[0].X)
    batches = [[i] for i in left] if apart else _batches(model, trainings, left, n_jobs)
    if lockstep and apart and n_jobs in (None, 1):
        # Samples of a data set train one after another anyway; one training is kept at a time.
        with progress_bar(progress, len(left)) as advance:
            for i in left:
                place = None if folder is None else folder.networks / names[i]
                models = _fitted(model, [trainings[i]], place, False)
                for _, outcome in _measured(models, [trainings[i]], measure, [0]):
                    keep(i, outcome)
                advance()
    elif not apart and len(batches) == 1:
        # All of them, also those that are done: the folder of the networks knows all or none.
        place = None if folder is None else folder.networks
        models = _fitted(model, trainings, place, progress)
        for i, outcome in _measured(models, trainings, measure, left):
            keep(i, outcome)
    elif batches:
        # Workers may be anywhere, so the state of a training stays with them: what is kept is
        # what they finished. Trainings hold samples, so they are part of what tasks share.
        shared = model, trainings, measure, lockstep
        tasks = [(batch,) for batch in batches]
        with progress_bar(progress, len(left)) as advance:
            for _, result in run_tasks(train_batch, shared, tasks, n_jobs):
                for i, outcome in result:
                    keep(i, outcome)
                    advance()
    return [done[name] for name in names]


def train_batch(
    model: Any,
    trainings: Sequence[Training],
    measure: Measure,
    lockstep: bool,
    places: list[int],
) -> list[tuple[int, Any]]:
    """Train a model for some conditions, in lock-step or alone; what comes back is small."""
    some = [trainings[i] for i in places]
    if lockstep:
        models = _fitted(model, some, None, False)
    else:
        models = [
            fit(copy_of(model, one.seed, one.parameters), *one.samples(), one.words) for one in some
        ]
    result = _measured(models, some, measure, range(len(some)))
    return [(places[i], outcome) for i, outcome in result]


def _fitted(
    model: Any, trainings: Sequence[Training], checkpoint: Any, progress: bool
) -> list[Any]:
    from ..estimators import fit_many

    problems = [one.problem() for one in trainings]
    return fit_many(model, problems, checkpoint=checkpoint, progress=progress)


def _measured(
    models: list[Any], trainings: Sequence[Training], measure: Measure, left: Sequence[int]
) -> Iterator[tuple[int, Any]]:
    """Measure models one after another; the memory of a model is freed after that."""
    for i in left:
        model, models[i] = models[i], None
        yield i, measure(model, trainings[i])


def _batches(
    model: Any, trainings: Sequence[Training], left: list[int], n_jobs: int | None
) -> list[list[int]]:
    """Return batches of about the same work: the longest trainings are dealt first."""
    from joblib import effective_n_jobs

    count = min(effective_n_jobs(n_jobs), len(left))
    ordered = sorted(
        left, key=lambda i: trainings[i].parameters.get("epochs", model.epochs), reverse=True
    )
    return [ordered[i::count] for i in range(count)]


@contextmanager
def progress_bar(shown: bool, total: int) -> Iterator[Callable[[], None]]:
    """Show how many trainings are done, on the error stream."""
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("trainings"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)
