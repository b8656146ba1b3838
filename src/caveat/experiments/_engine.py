"""All trainings of an experiment: networks in lock-step, other models by joblib."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from .._parallel import check_jobs, run_tasks
from ._checkpoint import Folder
from ._models import Network, copy_of, distribution, effort_of, fit, network_of
from ._scoring import Outcome, Scorer
from .conditions import Condition, rows_of, subset_size


def run(
    model: Any,
    conditions: list[Condition],
    scorer: Scorer,
    *,
    schedule: str,
    n_jobs: int | None,
    folder: Folder | None,
    progress: bool,
) -> dict[Condition, Outcome]:
    """Return the numbers of all conditions."""
    check_jobs(n_jobs)
    done = {} if folder is None else folder.load(conditions)
    left = [condition for condition in conditions if condition not in done]
    if not left:
        return done

    def keep(condition: Condition, outcome: Outcome) -> None:
        done[condition] = outcome
        if folder is not None:
            folder.save(condition, outcome)

    network = network_of(model)
    tasks: list[tuple[Any, ...]]
    if network is None or network.prefix:
        tasks = [(one, _length(network, one, scorer, schedule)) for one in left]
        _train_apart(train_one, (model, scorer), tasks, n_jobs, progress, len(left), keep)
        return done
    from joblib import effective_n_jobs

    batches = min(effective_n_jobs(n_jobs), len(left))
    if batches > 1:
        # Workers may be anywhere, so the state of a training stays with them: what is kept is
        # what they finished.
        tasks = [(part,) for part in _dealt(left, batches, network, scorer, schedule)]
        shared = network, scorer, schedule
        _train_apart(train_batch, shared, tasks, n_jobs, progress, len(left), keep)
    else:
        # All of them, also those that are done: the folder of the networks knows all or none.
        place = None if folder is None else folder.networks
        models = _trained(network, conditions, scorer, schedule, place, progress)
        for condition, outcome in _outcomes(models, conditions, scorer, done):
            keep(condition, outcome)
    return done


def train_batch(
    network: Network, scorer: Scorer, schedule: str, conditions: list[Condition]
) -> list[tuple[Condition, Outcome]]:
    """Train the networks of some conditions in lock-step; what comes back is small."""
    models = _trained(network, conditions, scorer, schedule, None, False)
    return list(_outcomes(models, conditions, scorer, {}))


def _trained(
    network: Network,
    conditions: list[Condition],
    scorer: Scorer,
    schedule: str,
    checkpoint: Any,
    progress: bool,
) -> list[Any]:
    from ..estimators import Problem, fit_many

    data = scorer.samples
    problems = [
        Problem(
            data.X,
            scorer.draws.noisy(data.y, condition) if condition.kind == "noise" else data.y,
            rows=rows_of(condition, data.y, data.task, scorer.draws),
            random_state=scorer.draws.seeds(condition, 1)[0],
            parameters=_length(network, condition, scorer, schedule),
            name=condition.words,
        )
        for condition in conditions
    ]
    return fit_many(network.estimator, problems, checkpoint=checkpoint, progress=progress)


def _outcomes(
    models: list[Any],
    conditions: list[Condition],
    scorer: Scorer,
    done: dict[Condition, Outcome],
) -> Iterator[tuple[Condition, Outcome]]:
    """Predict one after another; a model is let go of when its numbers are there."""
    for i, condition in enumerate(conditions):
        model, models[i] = models[i], None
        if condition not in done:
            yield condition, _outcome(model, condition, scorer)


def _outcome(fitted: Any, condition: Condition, scorer: Scorer) -> Outcome:
    trainings, steps = effort_of(fitted)
    predict = partial(distribution, fitted)
    return scorer.outcome(condition, predict, trainings=trainings, steps=steps)


def _dealt(
    conditions: list[Condition], batches: int, network: Network, scorer: Scorer, schedule: str
) -> list[list[Condition]]:
    """Return as many batches of about the same work: the longest trainings are dealt first."""
    epochs = network.estimator.epochs

    def length(condition: Condition) -> float:
        return float(_length(network, condition, scorer, schedule).get("epochs", epochs))

    ordered = sorted(conditions, key=length, reverse=True)
    return [ordered[i::batches] for i in range(batches)]


def _length(
    network: Network | None, condition: Condition, scorer: Scorer, schedule: str
) -> dict[str, int]:
    """Return the epochs of a training as a setting of the model."""
    if network is None or condition.kind == "noise" or schedule == "constant-epochs":
        return {}
    epochs = network.estimator.epochs
    if schedule == "inverse-epochs":
        found = round(epochs / condition.level)
    else:
        rows = rows_of(condition, scorer.samples.y, scorer.samples.task, scorer.draws)
        samples = len(scorer.samples.y)
        found = epochs * _batches(network, samples)
        found = round(found / _batches(network, samples if rows is None else len(rows)))
    return {f"{network.prefix}epochs": max(1, found)}


def _batches(network: Network, samples: int) -> int:
    """Return the steps of an epoch."""
    held = network.estimator.validation_fraction or 0.0
    learned = samples - subset_size(held, samples)
    return max(1, -(-learned // network.estimator.batch_size))


def _train_apart(
    function: Callable[..., list[tuple[Condition, Outcome]]],
    shared: tuple[Any, ...],
    tasks: list[tuple[Any, ...]],
    n_jobs: int | None,
    progress: bool,
    total: int,
    keep: Callable[[Condition, Outcome], None],
) -> None:
    """Run tasks on this machine or a cluster, and keep what comes back."""
    with progress_bar(progress, total) as advance:
        for _, found in run_tasks(function, shared, tasks, n_jobs):
            for condition, outcome in found:
                keep(condition, outcome)
                advance()


def train_one(
    model: Any, scorer: Scorer, condition: Condition, parameters: dict[str, Any]
) -> list[tuple[Condition, Outcome]]:
    """Train a copy of a model for one condition; what comes back is small."""
    from sklearn.utils import _safe_indexing

    data = scorer.samples
    y = scorer.draws.noisy(data.y, condition) if condition.kind == "noise" else data.y
    rows = rows_of(condition, data.y, data.task, scorer.draws)
    X = data.X
    if rows is not None:
        X, y = _safe_indexing(X, rows), y[rows]
    copy = copy_of(model, scorer.draws.seeds(condition, 1)[0], parameters)
    fitted = fit(copy, X, y, condition.words)
    return [(condition, _outcome(fitted, condition, scorer))]


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
