"""Trainings without a class: networks in lock-step, other models as tasks of joblib."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._parallel import run_tasks
from ..exceptions import FileFormatError
from ._checkpoint import Folder, mark_of, read_json, write_json
from ._detection import Condition, Measured, measure
from ._detection_data import Labeled
from ._engine import progress_bar
from ._identity import identity
from ._inputs import Samples
from ._models import copy_of, effort_of, fit

Keep = Callable[[int, Measured], None]


def run(
    model: Any,
    data: Labeled,
    conditions: Sequence[Condition],
    names: Sequence[str],
    *,
    n_jobs: int | None,
    checkpoint: Any,
    progress: bool,
) -> list[Measured]:
    """Return what all trainings gave, in the order of the conditions."""
    from ..estimators import NetworkEstimator

    folder = None if checkpoint is None else _folder(checkpoint, model, data, conditions, names)
    found = {} if folder is None else _finished(folder, len(conditions))

    def keep(place: int, one: Measured) -> None:
        found[place] = one
        if folder is not None:
            write_json(_file(folder, place), asdict(one))

    left = [place for place in range(len(conditions)) if place not in found]
    if left and isinstance(model, NetworkEstimator):
        networks = None if folder is None else folder.networks
        _train_networks(model, data, conditions, names, left, networks, progress, keep)
    elif left:
        _train_others(model, data, conditions, names, left, n_jobs, progress, keep)
    return [found[place] for place in range(len(conditions))]


def _train_networks(
    model: Any,
    data: Labeled,
    conditions: Sequence[Condition],
    names: Sequence[str],
    left: list[int],
    networks: Path | None,
    progress: bool,
    keep: Keep,
) -> None:
    """Train all networks as one program, and predict one after another."""
    from ..estimators import Problem, fit_many

    # All of them, also those that are done: the folder of the networks knows all or none.
    problems = [
        Problem(
            data.X, data.y, rows=condition.rows, random_state=condition.seed, name=condition.words
        )
        for condition in conditions
    ]
    models = fit_many(model, problems, checkpoint=networks, progress=progress)
    for place in left:
        fitted, models[place] = models[place], None  # its memory is not needed any more
        keep(place, _measured(fitted, conditions[place], names))


def _train_others(
    model: Any,
    data: Labeled,
    conditions: Sequence[Condition],
    names: Sequence[str],
    left: list[int],
    n_jobs: int | None,
    progress: bool,
    keep: Keep,
) -> None:
    """Fit, predict and measure each condition by itself, in any process."""
    # Conditions hold samples too, so that they are part of what tasks share.
    shared = model, data, names, conditions
    with progress_bar(progress, len(left)) as advance:
        for i, one in run_tasks(_task, shared, [(place,) for place in left], n_jobs):
            keep(left[i], one)
            advance()


def _task(
    model: Any,
    data: Labeled,
    names: Sequence[str],
    conditions: Sequence[Condition],
    place: int,
) -> Measured:
    from sklearn.utils import _safe_indexing

    condition = conditions[place]
    X, y = (_safe_indexing(values, condition.rows) for values in (data.X, data.y))
    fitted = fit(copy_of(model, condition.seed, {}), X, y, condition.words)
    return _measured(fitted, condition, names)


def _measured(fitted: Any, condition: Condition, names: Sequence[str]) -> Measured:
    split = condition.split
    is_out = split.held_codes == condition.left_out
    found = measure(fitted, split.samples(), is_out, names, condition.seed)
    trainings, steps = effort_of(fitted)
    return replace(found, trainings=trainings, steps=steps)


def _folder(
    checkpoint: Any,
    model: Any,
    data: Labeled,
    conditions: Sequence[Condition],
    names: Sequence[str],
) -> Folder:
    held, codes = (None, np.empty(0)) if data.test is None else data.test
    samples = Samples(data.X, data.y, held, codes, "class detection")
    seeds = [condition.seed for condition in conditions]
    return Folder(checkpoint, mark_of(samples, identity(model), seeds, list(names)))


def _finished(folder: Folder, count: int) -> dict[int, Measured]:
    found = {}
    for place in range(count):
        path = _file(folder, place)
        if not path.exists():
            continue
        content = read_json(path)
        try:
            found[place] = Measured(**{**content, "names": tuple(content["names"])})
        except (KeyError, TypeError):
            raise FileFormatError(
                f"{path} cannot be read; delete it to run its condition again"
            ) from None
    return found


def _file(folder: Folder, place: int) -> Path:
    return folder.path / "conditions" / f"{place}.json"
