"""Imagined movements for the disentanglement study: a model for each subject, each a repeat."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import OptionError
from ..experiments import ClassDetection, Disentanglement
from ..signals import BandPass, Signals, load_bci2a, make_motor_imagery
from ._samples import TrainTest
from .study import Task

_PEOPLE = {"quick": (3, 80), "paper": (9, 288)}
"""Subjects, and trials of each."""

_HELD_OUT = 0.2


def people_of(task: Task) -> list[TrainTest]:
    """Return the samples of each subject; as many subjects as repeats, if these are given."""
    count, trials = _PEOPLE[task.scale]
    count = count if task.repeats is None else task.repeats
    data = task.options["data"]
    if data is None:
        signals = BandPass(low=7.5, high=30).fit_transform(
            make_motor_imagery(count, trials, random_state=task.rng)
        )
    elif data == "moabb":
        signals = load_bci2a(range(1, min(count, 9) + 1))
    elif isinstance(data, str | Path) and Path(data).is_dir():
        signals = load_bci2a(folder=data)
        signals = signals.take(np.isin(signals.subject, np.unique(signals.subject)[:count]))
    else:
        raise OptionError(
            f"data must be moabb, a folder with A01T.mat, A01E.mat, ..., or left out for generated "
            f"signals; got {str(data)!r}"
        )
    return [_one(signals.take(signals.subject == who), task) for who in np.unique(signals.subject)]


def _one(signals: Signals, task: Task) -> TrainTest:
    from sklearn.model_selection import train_test_split

    y = np.unique(signals.y, return_inverse=True)[1]
    X = (signals.X / signals.X.std()).astype(np.float32)
    seed = int(task.rng.integers(2**31))
    rows = train_test_split(np.arange(len(y)), test_size=_HELD_OUT, stratify=y, random_state=seed)
    train, test = (np.sort(part) for part in rows)
    title = "motor imagery, 22 channels: " + signals.description
    return TrainTest("bci", title, X[train], y[train], (X[test], y[test]))


def joined(results: Sequence[Disentanglement]) -> Disentanglement:
    """Return sweeps of several subjects as one, whose repeats are the subjects."""
    first = results[0]
    if len(results) == 1:
        return first
    curves = []
    for number, curve in enumerate(first.curves):
        each = [result.curves[number] for result in results]
        stacked: dict[str, Any] = {
            name: np.concatenate([getattr(one, name) for one in each])
            for name in ("score", "aleatoric", "epistemic", "train_score", "part_correlation")
            if getattr(curve, name) is not None
        }
        curves.append(replace(curve, **stacked))
    repeats = sum(result.protocol.repeats for result in results)
    trainings = sum(result.cost.trainings for result in results)
    return replace(
        first, curves=tuple(curves), protocol=replace(first.protocol, repeats=repeats),
        cost=replace(first.cost, trainings=trainings),
    )  # fmt: skip


def joined_detections(results: Sequence[ClassDetection]) -> ClassDetection:
    """Return how well classes are detected, whose repeats are the subjects."""
    return replace(results[0], auc=np.concatenate([result.auc for result in results], axis=1))
