"""Settings that are left to the data: tried on part of the samples, judged on the others."""

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, log
from typing import Any

import numpy as np

from .._constructors import declared
from .._defaults import EPOCHS
from .._validation import check_choice
from ..exceptions import TrainingError
from . import _data
from ._network import NetworkEstimator, Prepared
from ._problem import Problem

Settings = dict[str, Any]

AUTO = "auto"
"""The value of a setting that is left to the data."""

LEAST = 100
"""Samples from which on some are held out to choose a setting."""

FOLDS = 2
"""Parts of the samples, each a tenth, that are held out in turn to compare settings early."""

END_FOLDS = 5
"""The same for trainings to their end, of which a few predictions may be far too sure."""

_ENOUGH = 500
"""Held-out samples beyond which no other part is held out to their end."""

_SHARE = 0.1

_STEPS = 2000
"""Most steps of a network whose rate is tried."""

_SURE = 1.0
"""Standard errors by which a later setting has to be better."""


@declared(kw_only=True)
class LeavesOpen(NetworkEstimator):
    """A network whose settings may be left to the data.

    With "auto" as the value of a setting, candidates are tried before the training, the most
    careful one first: on nine tenths of the samples, judged on the other tenth. Rates and weights
    are tried twice, for 2,000 steps at most, until the loss rises; how long to train is tried to
    the end, five times if the samples are few. Chosen is the first one whose loss, of its members
    as a mixture, is within a standard error of the least one; the network is then trained on all
    samples. Below 100 samples, and with ``module``, nothing is tried.

    Attributes
    ----------
    chosen_ : dict of str to int or float
        The settings that were "auto", as ``fit`` chose them.
    """

    def _candidates(self, per_epoch: int) -> list[Settings]:
        """Return settings to choose from, the most careful first, by the steps of an epoch."""
        return []

    def _lengths(self, per_epoch: int) -> list[Settings]:
        """Return settings to try to their end, beside what was chosen among the candidates."""
        return []

    def _usual(self) -> Settings:
        """Return the settings where there is nothing to choose by: few samples, or a module."""
        return {"epochs": EPOCHS}

    def _setting(self, name: str) -> Any:
        given = super()._setting(name)
        if isinstance(given, str) and name in self._usual():
            check_choice(given, name, (AUTO,), "a number")
        if not _is_open(given):
            return given
        return {**self._usual(), **getattr(self, "chosen_", {})}[name]

    def _prepare(self, problem: Problem, cache: _data.SampleCache | None = None) -> Prepared:
        prepared = super()._prepare(problem, cache)
        self.chosen_ = self._only_open(self._usual())
        return prepared

    def _only_open(self, settings: Mapping[str, Any]) -> Settings:
        return {name: value for name, value in settings.items() if _is_open(getattr(self, name))}


def _is_open(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def enough_epochs(per_epoch: int, steps: int) -> int:
    """Return the epochs of a training that takes some steps at least."""
    return max(EPOCHS, ceil(steps / per_epoch))


def short_or_long(per_epoch: int, steps: int) -> list[Settings]:
    """Return the usual number of epochs, and the one that takes some steps at least."""
    return [{"epochs": EPOCHS}, {"epochs": enough_epochs(per_epoch, steps)}]


@dataclass(frozen=True, eq=False)
class _Trial:
    """An estimator with settings that are tried, and the rows on which they are judged."""

    model: LeavesOpen
    work: Prepared
    held: np.ndarray

    def losses(self) -> np.ndarray:
        """Return the loss of each held-out sample; infinite if the training failed."""
        if not hasattr(self.model, "state_"):
            return np.full(len(self.held), np.inf)
        losses = held_losses(self.model, self.work, self.held)
        weight = self.work.copies[0].weight
        return losses if weight is None else losses * (weight / weight[self.held].mean())[self.held]


def decided(
    models: Sequence[NetworkEstimator],
    works: Sequence[Prepared],
    train: Callable[[Sequence[NetworkEstimator], Sequence[Prepared]], None],
) -> list[Prepared]:
    """Choose the settings that are left open, and return what is to be trained with them.

    Parts of all problems train together with each setting. Chosen is the first one that is not
    worse on the samples that are held out, see `first_not_worse`.
    """
    results = list(works)
    for to_the_end in (False, True):
        opened = {
            i: settings
            for i, (model, work) in enumerate(zip(models, works, strict=True))
            if isinstance(model, LeavesOpen)
            and (settings := _open_settings(model, work, to_the_end))
        }
        losses = _tried(models, works, opened, train, to_the_end)
        for i, settings in opened.items():
            best = first_not_worse(losses[i], _SURE) if len(settings) > 1 else 0
            results[i] = _with_settings(models[i], works[i], settings[best])
    return results


def _tried(
    models: Sequence[Any],
    works: Sequence[Prepared],
    opened: Mapping[int, list[Settings]],
    train: Callable[[Sequence[NetworkEstimator], Sequence[Prepared]], None],
    to_the_end: bool,
) -> dict[int, list[np.ndarray]]:
    """Return the losses of held-out samples for each setting of each problem.

    Settings that are compared early are tried in order, until the loss rises.
    """
    losses: dict[int, list[np.ndarray]] = {i: [] for i in opened}
    for place in range(max(map(len, opened.values()), default=0)):
        trials = {
            i: _trials(models[i], works[i], settings[place], to_the_end)
            for i, settings in opened.items()
            if 1 < len(settings) > place and (to_the_end or _may_gain(losses[i]))
        }
        if not trials:
            break
        together: dict[str, list[_Trial]] = {}
        for trial in (trial for some in trials.values() for trial in some):
            together.setdefault(trial.work.signature, []).append(trial)
        for alike in together.values():
            with warnings.catch_warnings(), suppress(TrainingError):
                warnings.simplefilter("ignore")  # a setting that fails is not chosen
                train([trial.model for trial in alike], [trial.work for trial in alike])
        for i, some in trials.items():
            losses[i].append(np.concatenate([trial.losses() for trial in some]))
    return losses


def _open_settings(model: LeavesOpen, work: Prepared, to_the_end: bool) -> list[Settings]:
    """Return the settings to choose from; none where there is nothing to choose by."""
    rows = _rows(work)
    if not model.chosen_ or model.module is not None or len(np.unique(rows)) < LEAST:
        return []
    per_epoch = ceil(len(rows) / model.batch_size)
    candidates = model._lengths(per_epoch) if to_the_end else model._candidates(per_epoch)
    different: list[Settings] = []
    for settings in map(model._only_open, candidates):
        different += [settings] if settings not in different else []
    return different


def _rows(work: Prepared) -> np.ndarray:
    """Return the rows that the first member learns from, or is checked on."""
    first = work.copies[0]
    rows = np.arange(len(work.X)) if first.rows is None else first.rows
    return np.asarray(rows)


def _trials(model: Any, work: Prepared, settings: Settings, to_the_end: bool) -> list[_Trial]:
    """Return an estimator for each part of the samples that is held out."""
    first, rows = work.copies[0], _rows(work)
    if first.validation is not None:
        parts = [(rows, np.asarray(first.validation))]
    else:
        # The same parts for all settings, so that losses are compared on the same samples.
        draw = np.random.default_rng(model.seed_)
        shuffled = draw.permutation(np.unique(rows))
        tenth = ceil(_SHARE * len(shuffled))
        folds = min(ceil(_ENOUGH / tenth), END_FOLDS) if to_the_end else FOLDS
        held = shuffled[: tenth * folds]
        parts = [(rows[~np.isin(rows, part)], part) for part in np.array_split(held, folds)]
    results = []
    for kept, part in parts:
        trial = copy.copy(model)
        mine = _with_settings(trial, work, settings)
        steps = ceil(len(kept) / model.batch_size) * mine.training.epochs
        steps = steps if to_the_end else min(steps, _STEPS)
        copies = [replace(one, rows=kept, steps=steps) for one in work.copies]
        training = replace(mine.training, on_epoch=None)
        results.append(_Trial(trial, replace(mine, copies=copies, training=training), part))
    return results


def _with_settings(model: Any, work: Prepared, settings: Settings) -> Prepared:
    """Set the open settings of an estimator, and return what is to be trained with them."""
    model.chosen_ = {**model.chosen_, **settings}
    apart = {name: value for name, value in model.chosen_.items() if name not in model._free}
    signature = f"{work.signature} {apart}"
    return replace(
        work,
        make=model._network,
        loss=model._loss(),
        training=model._training(),
        signature=signature,
    )


def held_losses(model: NetworkEstimator, prepared: Prepared, rows: np.ndarray) -> np.ndarray:
    """Return the losses of all members or passes, as a mixture, on samples that are held out."""
    import torch

    target = torch.from_numpy(prepared.y[rows])
    loss = model._likelihood()
    each = torch.stack([loss(out, target) for out in model._values(prepared.X[rows])])
    return np.asarray(log(len(each)) - torch.logsumexp(-each.double(), 0).numpy())


def first_not_worse(losses: Sequence[np.ndarray], errors: float) -> int:
    """Return the first place whose mean loss is within some standard errors of the least one.

    The standard error is that of the difference on the same samples. Losses with NaN or infinity
    come last.
    """
    best = _least(losses)
    good = (place for place in range(best) if _close(losses[place], losses[best], errors))
    return next(good, best)


def _may_gain(losses: Sequence[np.ndarray]) -> bool:
    """Whether the last setting is not worse than the best so far, so that the next one may win."""
    return not losses or _close(losses[-1], losses[_least(losses)], _SURE)


def _least(losses: Sequence[np.ndarray]) -> int:
    return int(np.argmin([one.mean() if np.isfinite(one).all() else np.inf for one in losses]))


def _close(loss: np.ndarray, best: np.ndarray, errors: float) -> bool:
    """Whether a mean loss is within some standard errors of another one."""
    if not np.isfinite(loss).all():
        return False
    behind = loss - best
    return bool(behind.mean() <= errors * behind.std() / max(len(behind) - 1, 1) ** 0.5)
