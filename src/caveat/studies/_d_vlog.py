"""D-Vlog for the fairness study: an ensemble of transformers on faces, on voices, and on both."""

import csv
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .._validation import FloatArray, check_integer
from ..signals import Signals, load_d_vlog
from ._fairness_rates import audited
from .study import Key, Measured, Study, Task
from .summary import NAN, Count

MODALITIES = {
    "both": ("table 7 (multimodal)", "d-vlog"),
    "audio": ("table 7 (audio only)", "d-vlog-audio"),
    "visual": ("table 7 (visual only)", "d-vlog-visual"),
}
PAIRS = {"gender": ("f", "m")}
SECONDS = 596
"""Longer videos are cut off."""

_VIDEOS = {"quick": (240, 60), "paper": (961, SECONDS)}
"""Generated videos, and the seconds that are kept of each."""

_QUICK = {"epochs": 10, "learning_rate": 1e-3}
_SHARES = {("m", 0): 140, ("m", 1): 182, ("f", 0): 266, ("f", 1): 373}
_DURATIONS = {("m", 0): 483, ("m", 1): 583, ("f", 0): 587, ("f", 1): 667}
"""Table 6: videos and mean seconds by gender and label."""

_FEATURES = {"visual": 136, "acoustic": 25}
_TELLING = 5
"""Features of a generated video that depend on its label."""


def write_videos(
    folder: Path, videos: int, rng: np.random.Generator, seconds: int = SECONDS
) -> None:
    """Write generated videos in the published form, with the shares and durations of table 6.

    A few features of each kind are shifted by the label; features wander from second to second.
    ``seconds`` stands for the published 596, and durations are scaled with it.
    """
    kinds = list(_SHARES)
    chances = np.array(list(_SHARES.values())) / sum(_SHARES.values())
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for index in range(videos):
        gender, label = kinds[int(rng.choice(len(kinds), p=chances))]
        mean = _DURATIONS[gender, label] * seconds / SECONDS
        duration = int(max(2, rng.gamma(6.0, mean / 6.0)))
        place = folder / str(index)
        place.mkdir(exist_ok=True)
        for name, count in _FEATURES.items():
            steps = rng.normal(0, 0.3, (duration, count)).cumsum(axis=0)
            values = rng.normal(0, 1, count) + steps / np.sqrt(1 + np.arange(duration))[:, None]
            values[:, :_TELLING] += 0.8 * label
            np.save(place / f"{index}_{name}.npy", values.astype(np.float32))
        fold = str(rng.choice(["train", "valid", "test"], p=[0.7, 0.1, 0.2]))
        lines.append([index, ("normal", "depression")[label], duration, gender, fold])
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["index", "label", "duration", "gender", "fold"], *lines])


def measure_videos(task: Task, study: Study) -> Measured:
    """Train an ensemble for each kind of features and run, and audit it by gender."""
    data, paper = task.options["data"], study.paper
    videos, seconds = _VIDEOS[task.scale]
    videos = check_integer(task.options["videos"] or videos, "videos", 40)
    seconds = check_integer(task.options["seconds"] or seconds, "seconds", 2)
    repeats = 1 if task.repeats is None else task.repeats
    seeds = [int(seed) for seed in task.rng.integers(2**31, size=repeats)]
    with tempfile.TemporaryDirectory() as own:
        folder = Path(own) if data is None else Path(data)
        if data is None:
            write_videos(folder, videos, task.rng, seconds)
        values: dict[Key, FloatArray] = {}
        for modality in MODALITIES:
            signals, about = load_d_vlog(folder, modality=modality, seconds=seconds)
            if not values:
                values |= statistics(study, signals, about)
            values |= _ratios(study, task, modality, signals, about["gender"].to_numpy(), seeds)
    notes = [] if data is not None else [paper.notes_where["generated videos"]]
    notes += [paper.notes_where["quick videos"]] if task.scale == "quick" else []
    exact = {key: Count.exactly(int(v[0])) for key, v in values.items() if key[1] == "count"}
    return Measured(
        "d-vlog", paper.datasets["d-vlog"]["title"],
        f"an ensemble of transformers; {len(about):,} videos of up to {seconds} s", repeats, values,
        exact, judged=lambda _: data is not None and task.scale == "paper" and seconds == SECONDS,
        notes=tuple(notes),
    )  # fmt: skip


def statistics(study: Study, signals: Signals, about: Any) -> dict[Key, FloatArray]:
    """Return table 6: videos, mean durations and mean truncations by gender and label."""
    values = {}
    for gender in PAIRS["gender"]:
        for label in (0, 1):
            rows = (about["gender"] == gender).to_numpy() & (signals.y == label)
            mean = {
                "samples": float(rows.sum()),
                "duration": float(about["duration"][rows].mean()) if rows.any() else NAN,
                "truncation": float(about["cut"][rows].mean()) if rows.any() else NAN,
            }
            for name, value in mean.items():
                key = study.key(
                    "table 6", f"{name} of class {label}", attribute="gender", group=gender,
                    kind="count" if name == "samples" else "seconds",
                )  # fmt: skip
                values[key] = np.array([value])
    return values


def _ratios(
    study: Study, task: Task, modality: str, signals: Signals, gender: Any, seeds: list[int]
) -> dict[Key, FloatArray]:
    from ..estimators import DeepEnsembleClassifier, preset

    source, name = MODALITIES[modality]
    quick = _QUICK if task.scale == "quick" else {}
    settings = {**preset(name), **quick, **(task.options["settings"] or {})}
    assert signals.part is not None
    train, test = (signals.part == part for part in ("train", "test"))
    X = scaled(signals.X, train)
    runs: list[dict[Key, float]] = []
    for seed in seeds:
        model = DeepEnsembleClassifier(**settings, random_state=seed, verbose=task.progress)
        prediction = model.fit(X[train], signals.y[train]).predict_distribution(X[test])
        _, results = audited(prediction, signals.y[test], {"gender": gender[test]}, PAIRS)
        runs.append({})
        for cell, _, _ in study.paper.cells("d-vlog"):
            if cell["source"] == source:
                place = (cell["attribute"], cell["group"], cell.get("reference", ""))
                runs[-1][study.key(**cell)] = results.get((*place, cell["measure"]), NAN)
    return {key: np.array([run[key] for run in runs]) for key in runs[0]}


def scaled(X: Any, train: Any) -> FloatArray:
    """Return features with mean 0 and variance 1 over the seconds of videos to learn from.

    Seconds after the end of a video stay 0, by which the network knows them.
    """
    known = (X != 0).any(axis=1)
    seen = X[train].transpose(0, 2, 1)[known[train]].astype(np.float64)
    mean, spread = seen.mean(axis=0), seen.std(axis=0)
    result = (X - mean[:, None]) / np.where(spread > 0, spread, 1.0)[:, None]
    return np.where(known[:, None], result, 0.0).astype(np.float32)
