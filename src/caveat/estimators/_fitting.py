"""Many estimators, or one estimator on many problems, trained together."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from .._arrays import as_array
from .._parallel import run_tasks
from ..exceptions import OptionError, TrainingError
from ._choice import decided
from ._data import SampleCache
from ._modules import SPREAD, has_spread
from ._network import NetworkEstimator, Prepared
from ._problem import Problem

__all__ = ["fit_many", "train_together"]

_WORSE = 2.0
"""How many times the loss of a constant prediction makes a training one that failed."""


def fit_many(
    estimator: Any,
    problems: Sequence[Problem],
    *,
    n_jobs: int | None = None,
    checkpoint: Any = None,
    progress: bool | None = None,
) -> list[Any]:
    """Fit copies of an estimator to many problems; networks train in lock-step.

    Parameters
    ----------
    estimator : estimator
        Ours or scikit-learn's; it stays unfitted.
    problems : sequence of Problem
        Each has its own data, rows, weights, seed and settings. Networks of problems that agree in
        the shapes of samples and outputs and in all settings but ``epochs``, ``members``,
        ``passes``, ``validation_fraction`` and ``random_state`` train as one program; the others
        follow, group by group.
    n_jobs : int, optional
        Processes for estimators that are not networks, by joblib, whose ``parallel_config`` can
        send them to a cluster.
    checkpoint : path, optional
        A folder to resume a stopped training of networks from; give integers as random states.
    progress : bool, optional
        Whether to show a progress bar for networks; by default as the estimator's ``verbose`` says.

    Returns
    -------
    list of fitted estimators
        In the order of the problems. Each is what ``fit`` gives by itself, up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import MAPClassifier, Problem, fit_many
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> halves = [Problem(X, y, rows=np.arange(i, 40, 2), random_state=i) for i in range(2)]
    >>> models = fit_many(MAPClassifier(epochs=60, hidden=(8,)), halves)
    >>> [model.predict([[0.9]]).tolist() for model in models]
    [[1], [1]]
    """
    problems = list(problems)
    if not problems:
        raise OptionError("problems is empty; give at least one Problem")
    for i, problem in enumerate(problems):
        if not isinstance(problem, Problem):
            raise OptionError(
                f"problems must hold Problem(X, y, ...); problems[{i}] is a "
                f"{type(problem).__name__}"
            )
    names = [problem.name or f"problem {i}" for i, problem in enumerate(problems)]
    names = names if len(names) > 1 else [problems[0].name]
    named = list(zip(problems, names, strict=True))
    models = [_for_problem(estimator, problem, name) for problem, name in named]
    if isinstance(estimator, NetworkEstimator):
        cache, works = SampleCache(), []
        for model, (problem, name) in zip(models, named, strict=True):
            with _named_errors(name):
                works.append(model._prepare(problem, cache))
        shown = bool(estimator.verbose) if progress is None else progress
        train_together(models, works, shown, checkpoint, names)
        return models
    fitted = dict(run_tasks(_fit, (), zip(models, problems, names, strict=True), n_jobs))
    return [fitted[place] for place in range(len(problems))]


@contextmanager
def _named_errors(name: str) -> Iterator[None]:
    """Put the name of a problem before the message of an error."""
    try:
        yield
    except Exception as error:
        if name and len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (f"{name}: {error.args[0]}",)
        raise


def _for_problem(estimator: Any, problem: Problem, name: str) -> Any:
    model = clone(estimator)
    given = dict(problem.parameters or {})
    if problem.random_state is not None:
        given["random_state"] = problem.random_state
    if isinstance(estimator, NetworkEstimator):
        # One object for all, by which problems with the same module are recognized.
        for part in ("module", "optimizer", "scheduler", "on_epoch"):
            given.setdefault(part, getattr(estimator, part))
    with _named_errors(name):
        return model.set_params(**given)


def _fit(model: Any, problem: Problem, name: str) -> Any:
    X, y, weight = (as_array(part) for part in (problem.X, problem.y, problem.sample_weight))
    if problem.rows is not None:
        rows = np.asarray(problem.rows)
        X, y = _safe_indexing(X, rows), _safe_indexing(y, rows)
        weight = None if weight is None else _safe_indexing(weight, rows)
    given = {} if weight is None else {"sample_weight": weight}
    if problem.validation is not None:
        given["validation"] = problem.validation
    with _named_errors(name):
        return model.fit(X, y, **given)


def train_together(
    models: Sequence[NetworkEstimator],
    works: Sequence[Prepared],
    progress: bool,
    checkpoint: Any = None,
    names: Sequence[str] = ("",),
) -> None:
    """Train what was prepared, all that have the same network and settings in one program."""
    works = decided(models, works, _train_groups)
    _train_groups(models, works, progress, checkpoint, names)


def _train_groups(
    models: Sequence[NetworkEstimator],
    works: Sequence[Prepared],
    progress: bool = False,
    checkpoint: Any = None,
    names: Sequence[str] | None = None,
) -> None:
    """Train works whose settings are decided."""
    from ..nn import train

    names = names or [""] * len(works)

    groups: dict[str, list[int]] = {}
    for i, work in enumerate(works):
        groups.setdefault(work.signature, []).append(i)
    lost: dict[int, list[int]] = {}
    for number, places in enumerate(groups.values()):
        X, y, copies, owners = _joined([works[i] for i in places])
        first = works[places[0]]
        folder = None if checkpoint is None else f"{checkpoint}/group-{number}"
        with warnings.catch_warnings():
            # A warning below names problems and members instead.
            warnings.filterwarnings("ignore", "training of .* copies diverged", RuntimeWarning)
            try:
                trained = train(
                    first.make, X, y, loss=first.loss, copies=copies, training=first.training,
                    checkpoint=folder, progress=progress,
                )  # fmt: skip
            except TrainingError as error:
                if "diverged" not in str(error):
                    raise
                text = str(error).partition(";")[0]
                raise TrainingError(f"{text}; {_advice(models[places[0]])}") from error
        for j, i in enumerate(places):
            mine = [k for k, owner in enumerate(owners) if owner == j]
            worse = _worse_members(models[i], works[i], trained, mine)
            diverged = models[i]._take_over(trained, mine, worse.left_out)
            if diverged:
                lost[i] = diverged
            _warn_worse(worse, models[i], len(mine), names[i])
    _warn_diverged(lost, models, works, names)


@dataclass(frozen=True)
class _Worse:
    """Members whose validation loss is above that of a constant prediction."""

    left_out: list[int]
    most: bool
    loss: float
    constant: float


def _worse_members(
    model: NetworkEstimator, work: Prepared, trained: Any, places: Sequence[int]
) -> _Worse:
    """Return which members to leave out: those far worse than a constant, if most are not."""
    if work.copies[0].validation is None:
        return _Worse([], False, np.nan, np.nan)
    constant = np.array([model._constant_loss(work.y, copy) for copy in work.copies])
    kept = np.array([np.nanmin(trained.history[i].get("validation", np.nan)) for i in places])
    usable = trained.usable[places]
    bad = usable & (kept > _WORSE * constant)
    most = bool(bad.sum() > usable.sum() / 2)
    worst = int(np.argmax(np.where(usable, kept, -np.inf)))
    left_out = [] if most else np.flatnonzero(bad).tolist()
    return _Worse(left_out, most, float(kept[worst]), float(constant[worst]))


def _warn_worse(worse: _Worse, model: NetworkEstimator, count: int, name: str) -> None:
    where = f" of {name}" if name else ""
    loss = (
        f"a loss of {worse.loss:.3g} on held-out samples, where a constant prediction has "
        f"{worse.constant:.3g}"
    )
    if worse.left_out:
        warnings.warn(
            f"training{where} failed in {len(worse.left_out)} of {count} members, which are left "
            f"out: {_few(worse.left_out)}; the worst has {loss}; {_advice(model)}",
            RuntimeWarning,
            stacklevel=4,
        )
    elif worse.most:
        warnings.warn(
            f"training{where} failed: it ends with {loss}; {_advice(model)}",
            RuntimeWarning,
            stacklevel=4,
        )


def _few(members: Sequence[int]) -> str:
    return ", ".join(map(str, members[:10])) + (", ..." if len(members) > 10 else "")


def _warn_diverged(
    lost: dict[int, list[int]],
    models: Sequence[NetworkEstimator],
    works: Sequence[Prepared],
    names: Sequence[str],
) -> None:
    """Warn of members that diverged; raise if a model has no other."""
    for i, members in lost.items():
        advice = _advice(models[i])
        where = f" of {names[i]}" if names[i] else ""
        count = len(works[i].copies)
        if len(members) == count:
            raise TrainingError(f"training{where} diverged in every member; {advice}")
        warnings.warn(
            f"training{where} diverged in {len(members)} of {count} members, which are left out: "
            f"{_few(members)}; {advice}",
            RuntimeWarning,
            stacklevel=4,
        )


def _advice(model: NetworkEstimator) -> str:
    """Return what may help against a training that diverges."""
    advice = "lower the learning rate or scale the inputs"
    return f"{advice}. Or the module is to blame: {SPREAD}" if has_spread(model) else advice


def _joined(works: Sequence[Prepared]) -> tuple[Any, Any, list[Any], list[int]]:
    """Return the samples of all problems as one, each array once, and the copies on them."""
    starts: dict[int, int] = {}
    arrays, labels, length = [], [], 0
    for work in works:
        if id(work.X) not in starts:
            starts[id(work.X)] = length
            arrays.append(work.X)
            labels.append(work.y)
            length += len(work.X)
    X = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    y = labels[0] if len(labels) == 1 else np.concatenate(labels)
    copies, owners = [], []
    for owner, work in enumerate(works):
        move = _Move(work, starts[id(work.X)], y)
        copies += [move(copy) for copy in work.copies]
        owners += [owner] * len(work.copies)
    return X, y, copies, owners


class _Move:
    """Turns copies of a problem into copies whose rows count from the start of all samples.

    What members share stays one object, of which the training keeps one array.
    """

    def __init__(self, work: Prepared, start: int, y: np.ndarray) -> None:
        self.start, self.size, self.length = start, len(work.X), len(y)
        self.epochs = work.training.epochs
        part = slice(start, start + self.size)
        self.y = None
        if not np.array_equal(y[part], work.y):
            self.y = y.copy()
            self.y[part] = work.y
        self._moved: dict[tuple[str, int], Any] = {}

    def __call__(self, copy: Any) -> Any:
        """Return a copy on all samples."""
        if self.size == self.length:
            return replace(copy, y=self.y, epochs=self.epochs)
        return replace(
            copy,
            rows=self._once("rows", copy.rows),
            weight=self._once("weight", copy.weight),
            validation=None if copy.validation is None else self._once("rows", copy.validation),
            y=self.y,
            epochs=self.epochs,
        )

    def _once(self, kind: str, value: Any) -> Any:
        key = kind, id(value)
        if key not in self._moved:
            self._moved[key] = self._rows(value) if kind == "rows" else self._weight(value)
        return self._moved[key]

    def _rows(self, rows: np.ndarray | None) -> np.ndarray:
        return self.start + (np.arange(self.size) if rows is None else rows)

    def _weight(self, weight: np.ndarray | None) -> np.ndarray | None:
        if weight is None:
            return None
        moved = np.zeros(self.length)
        moved[self.start : self.start + self.size] = weight
        return moved
