"""The comparison of techniques on pulse waves: fibrillation as classes, pressures as numbers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .. import metrics
from .._validation import FloatArray, check_choice, check_fraction, check_integer
from ..predictions import Categorical, Gaussian
from ..recalibration import (
    ConformalQuantiles,
    IsotonicCalibration,
    IsotonicDistribution,
    TemperatureScaling,
    VarianceScaling,
    VennAbers,
)
from ..selection import Technique, technique_grid
from ..selection.techniques import ONE_SIGMA, TWO_SIGMA
from ..signals import Signals, split_subjects
from ._ppg_data import NAMED, take_signals
from .paper import Paper
from .study import Measured, Option, Said, Study, StudyRow, Table, Task

PAPER = Paper.read("ppg")
NETWORKS = ("alexnet", "resnet")
METHODS = {"MAP": "map", "MCD": "mc-dropout", "DE": "deep-ensemble", "QR": "quantile"}
KINDS = {"MAP": "MAP", "MCD": "MCDropout", "DE": "DeepEnsemble"}
SOURCES: dict[str, dict[str, tuple[str, ...]]] = {
    "af": {
        "alexnet": ("table 8", "table 10", "table 19"),
        "resnet": ("table 9", "table 11", "table 20"),
    },
    "bp-calib": {"alexnet": ("table 12",), "resnet": ("table 13",)},
    "bp-calibfree": {"alexnet": ("table 14",), "resnet": ("table 15",)},
}
SIZES = (0.6, 0.1, 0.15, 0.15)
"""Shares of train, validation, calibration and test."""

_LEAST = 1e-7
_UNLIKELY = 0.01
"""A p-value below it says that calibration and test samples are not of one source."""

_GENERATED = {"quick": (60, 20), "paper": (400, 50)}
_SEGMENTS = {"quick": 1500, "paper": None}
_QUICK = {
    "af": {"epochs": 8, "learning_rate": 1e-3, "patience": None, "batch_size": 32},
    # AlexNet1d has no normalization: its first 300 to 450 steps find no more than the mean.
    "bp": {"epochs": 20, "learning_rate": 3e-4, "patience": None, "batch_size": 32},
}
_LEVELS = {"1σ": (ONE_SIGMA, 0.6826), "2σ": (TWO_SIGMA, 0.9544)}
"""Nominal coverages, and those between the five printed levels of quantiles."""


@dataclass(frozen=True)
class PPGRow(StudyRow):
    """One number of the comparison: of a technique, and of a class or a target in ``part``."""

    factors: ClassVar[tuple[str, ...]] = ("network", "technique", "part")
    network: str = ""
    technique: str = ""
    part: str = ""


def techniques_of(task: str) -> dict[str, Technique]:
    """Return the techniques of the tables, by their printed names."""
    if task == "af":
        scaling, isotonic = TemperatureScaling(), IsotonicCalibration()
        plain = {name: Technique(name) for name in ("MAP", "MCD", "DE")}
        more = {
            f"{name}+{short}": Technique(name, one)
            for name in ("MCD", "DE")
            for short, one in (("TS", scaling), ("IR", isotonic))
        }
        return {**plain, **more, "Venn-ABERS": Technique("MAP", VennAbers())}
    result = {name: Technique(name) for name in ("MAP", "MCD", "DE")}
    result |= {f"QR {s}": Technique("QR", None, own) for s, (_, own) in _LEVELS.items()}
    result["DE+TS"] = Technique("DE", VarianceScaling())
    result["DE+IR"] = Technique("DE", IsotonicDistribution())
    for sigma, (_, own) in _LEVELS.items():
        result[f"QR {sigma}+TS"] = Technique("QR", VarianceScaling(), own)
        result[f"QR {sigma}+IR"] = Technique("QR", IsotonicDistribution(), own)
    result |= {
        f"CMAP {s}": Technique("MAP", ConformalQuantiles(c)) for s, (c, _) in _LEVELS.items()
    }
    for sigma, (_, own) in _LEVELS.items():
        result[f"CQR {sigma}"] = Technique("QR", ConformalQuantiles(own), own)
    return result


def models_of(task: Task, kind: str, network: str, seed: int) -> dict[str, Any]:
    """Return the published networks of each method, and those of other dropout rates."""
    from .. import estimators

    result = {}
    for name, method in METHODS.items():
        if kind == "af" and name == "QR":
            continue
        settings = estimators.preset(f"ppg-{kind}-{network}", method)
        if task.scale == "quick":
            narrow = {"dense": 64} if network == "alexnet" else {"width": 16}
            settings |= {**_QUICK[kind], "module": partial(settings["module"], **narrow)}
            settings |= {"members": 3} if name == "DE" else {}
        settings |= {k: v for k, v in (task.options["settings"] or {}).items() if k in settings}
        end = "Classifier" if kind == "af" else "Regressor"
        stem = "QuantileNetwork" if name == "QR" else KINDS[name]
        make = getattr(estimators, f"{stem}{end}")
        result[name] = make(**settings, random_state=seed)
        if name == "MCD":
            for rate in rates_of(task):
                module = partial(settings["module"], rate=rate)
                result[f"MCD {rate:g}"] = make(**settings | {"module": module}, random_state=seed)
    return result


def rates_of(task: Task) -> list[float]:
    """Return the dropout rates to try beside the published one (section 3.3.1)."""
    return [check_fraction(rate, "rates") for rate in np.ravel(task.options.get("rates") or ())]


def searched(task: Task) -> dict[str, Technique]:
    """Return the parametrizations to try: dropout rates, and sizes of the ensemble."""
    tried = {f"MCD {rate:g}": Technique(f"MCD {rate:g}") for rate in rates_of(task)}
    sizes = [check_integer(size, "sizes") for size in np.ravel(task.options.get("sizes") or ())]
    return tried | {f"DE of {size}": Technique("DE", members=size) for size in sizes}


def measure(task: Task) -> Measured:
    """Train four networks for each run, derive all techniques, and measure the tables' numbers."""
    options = task.options
    name = str(task.dataset)
    kind, _, split = name.partition("-")
    network = check_choice(options["network"], "network", NETWORKS)
    usual = _GENERATED[task.scale]
    generated = (
        check_integer(options["subjects"] or usual[0], "subjects", 4),
        check_integer(options["segments_each"] or usual[1], "segments_each"),
    )
    most = _SEGMENTS[task.scale] if options["segments"] is None else options["segments"]
    repeats = 1 if task.repeats is None else task.repeats
    runs: list[dict[tuple[str, ...], float]] = []
    grids = {}
    subjects, unused = [], []
    for run in range(repeats):
        seed = int(task.rng.integers(2**31))
        rng = np.random.default_rng(seed)
        usable = take_signals(kind, options["data"], rng, generated, options["trusted"])
        if usable.dropped:
            unused.append(PAPER.notes_where["unused"].format(screening=usable))
        signals = _some(usable.signals, most, rng)
        parts = split_subjects(signals, split or "calibfree", sizes=SIZES, random_state=rng)
        data = parts.parts(signals.X.astype(np.float32), signals.y)
        grid = technique_grid(
            models_of(task, kind, network, seed), data,
            techniques={**techniques_of(kind), **searched(task)},
            time_repeats=options["times"] or 0,
            cluster=signals.subject[parts.test], cache=task.place(f"{name}-{network}-{run}"),
            progress=task.progress, random_state=seed,
        )  # fmt: skip
        grids[f"run {run}"] = grid
        subjects.append((signals.subject[parts.calibration], signals.subject[parts.test]))
        runs.append(dict(_values(kind, grid, data, SOURCES[name][network], network)))
    keys = list(dict.fromkeys(key for run in runs for key in run))
    values = {key: np.array([run.get(key, np.nan) for run in runs]) for key in keys}
    for key, times in _times(list(grids.values()), network).items():
        values[key] = times
    own = isinstance(options["data"], str) and options["data"] in NAMED[kind]
    notes = [PAPER.notes_where[options["data"]]] if own else []
    notes += unused
    notes += [PAPER.notes_where["quick"]] if task.scale == "quick" else []
    for run, grid in enumerate(grids.values()):
        for base in KINDS:
            p, by_subject = (
                grid.exchangeability(base, cluster=cluster, random_state=run).p_value
                for cluster in (None, subjects[run])
            )
            if by_subject < _UNLIKELY:
                words = PAPER.notes_where["shift"]
                notes.append(words.format(base=base, run=run, p=p, by_subject=by_subject))
        notes += [f"{technique} failed: {why}" for technique, why in grid.failed.items()]
    sizes = ", ".join(f"{len(pair[0]):,} {part}" for part, pair in data.items())
    return Measured(
        name, PAPER.datasets[name]["title"], f"{network}; segments: {sizes}", repeats, values,
        judged=lambda _: task.scale == "paper" and not own, notes=tuple(dict.fromkeys(notes)),
        details=grids,
    )  # fmt: skip


def _times(grids: list[Any], network: str) -> dict[tuple[str, ...], FloatArray]:
    """Return seconds for one sample and their standard errors, which tables 22 and 23 have."""
    values: dict[tuple[str, ...], FloatArray] = {}
    for step in dict.fromkeys(step for grid in grids for step in grid.times):
        measured = [grid.times.get(step) for grid in grids]
        for name, attribute in (("seconds", "seconds"), ("standard error", "error")):
            key = ("inference times", network, step, "", name)
            values[key] = np.array([getattr(one, attribute, np.nan) for one in measured])
    return values


def _some(signals: Signals, most: Any, rng: np.random.Generator) -> Signals:
    """Return at most so many segments, drawn at random."""
    if most is None or len(signals) <= check_integer(most, "segments", 50):
        return signals
    return signals.take(np.sort(rng.choice(len(signals), most, replace=False)))


def _values(
    kind: str, grid: Any, data: Any, sources: tuple[str, ...], network: str
) -> Iterator[tuple[tuple[str, ...], float]]:
    y = data["test"][1]
    for technique, prediction in grid.predictions.items():
        if kind == "af":
            rows = _of_classes(prediction, y, sources)
        else:
            rows = _of_numbers(technique, prediction, y, data["train"][1], sources[0])
        for source, part, name, value in rows:
            yield (source, network, technique, part, name), value


def _of_classes(
    prediction: Categorical, y: Any, sources: tuple[str, ...]
) -> Iterator[tuple[str, str, str, float]]:
    every, by_class, performance = sources
    p = prediction.mean.clip(_LEAST, 1 - _LEAST)
    for name, value in class_values(p, y).items():
        yield every, "", name, value
    yield every, "", "auc", metrics.roc_auc_score(y, p, classes=[0, 1])
    for label, part in enumerate(("non-AF", "AF")):
        rows = np.asarray(y) == label
        for name, value in class_values(p[rows], y[rows]).items():
            yield by_class, part, name, value
        yield by_class, part, "recall", float((p[rows].argmax(axis=1) == label).mean())
    for name, value in performance_values(p[:, 1], np.asarray(y)).items():
        yield performance, "", name, value


def class_values(p: FloatArray, y: Any) -> dict[str, float]:
    """Return the calibration errors of some samples, and their log loss in bits."""
    functions: dict[str, Callable[..., float]] = {
        "ece": metrics.expected_calibration_error,
        "ace": metrics.adaptive_calibration_error,
        "smece": metrics.smooth_calibration_error,
        "uce": metrics.uncertainty_calibration_error,
        "vce": metrics.variation_calibration_error,
    }
    result = {name: float(one(y, p, classes=[0, 1])) for name, one in functions.items()}
    nats = metrics.negative_log_likelihood_loss(y, p, classes=[0, 1])
    return {**result, "nll": float(np.mean(nats)) / float(np.log(2))}


def performance_values(p: FloatArray, y: FloatArray) -> dict[str, float]:
    """Return tables 19 and 20: at 0.5, and at thresholds of a sensitivity or specificity above 0.8.

    Of the thresholds that meet the condition the one is taken that is best in the other rate.
    """
    thresholds = np.unique(np.append(p, np.inf))
    positive = p >= thresholds[:, None]
    sensitivity = (positive & (y == 1)).sum(axis=1) / (y == 1).sum()
    specificity = (~positive & (y == 0)).sum(axis=1) / (y == 0).sum()
    result = {
        "auc": float(metrics.roc_auc_score(y, np.stack([1 - p, p], axis=1), classes=[0, 1])),
        "f1": _f1(p >= 0.5, y == 1),
    }
    pairs = {"specificity": (sensitivity, specificity), "sensitivity": (specificity, sensitivity)}
    for name, (kept, other) in pairs.items():
        at = int(np.where(kept > 0.8, other, -1.0).argmax())
        result[name] = float(other[at])
        held = "sensitivity" if name == "specificity" else "specificity"
        result[f"mcc_{held}"] = _matthews(positive[at], y == 1)
    return result


def _f1(said: Any, true: Any) -> float:
    both = (said & true).sum()
    return float(2 * both / max(said.sum() + true.sum(), 1))


def _matthews(said: Any, true: Any) -> float:
    spread = said.std() * true.std()
    return float(((said * true).mean() - said.mean() * true.mean()) / spread) if spread else 0.0


def _of_numbers(
    technique: str, prediction: Gaussian, y: Any, y_train: Any, source: str
) -> Iterator[tuple[str, str, str, float]]:
    mean, variance = prediction.moments()
    for target, part in enumerate(("systolic", "diastolic")):
        truth, m, v = y[:, target], mean[:, target], variance[:, target]
        yield source, part, "crps", float(np.mean(metrics.gaussian_crps_loss(truth, m, v)))
        for name, level in (("picp_1", ONE_SIGMA), ("picp_2", TWO_SIGMA)):
            if not printed_at(technique, name):
                continue
            interval = prediction.interval(level)
            ends = interval.lower[:, target], interval.upper[:, target]
            yield source, part, name, float(metrics.coverage_ratio(truth, *ends, coverage=level))
        yield source, part, "cce", float(metrics.coverage_calibration_error(truth, m, v))
        yield (
            source,
            part,
            "ence",
            float(metrics.expected_normalized_calibration_error(truth, m, v)),
        )
        yield source, part, "mae", float(np.mean(metrics.mean_absolute_error(truth, m)))
        scaled = metrics.mean_absolute_scaled_error(truth, m, y_train=y_train[:, target])
        yield source, part, "mase", float(scaled)


def printed_at(technique: str, name: str) -> bool:
    """Whether a technique has a coverage at this level: intervals at one level have only that."""
    other = {"picp_1": "2σ", "picp_2": "1σ"}[name]
    alone = technique.startswith("C") or (technique.startswith("QR") and "+" not in technique)
    return not (alone and technique.endswith(other))


def isotonic_calibrates(table: Table) -> Iterator[Said]:
    """Section 3.1.1: isotonic regression lowers the calibration error of both ensembles."""
    if table.dataset != "af":
        return
    rows = table.rows(measure="ece", part="", source=["table 8", "table 9"])
    wide = rows.pivot(index=["network", "run"], columns="technique", values="value")
    for base in ("MCD", "DE"):
        words = f"{base}+IR has a lower ECE than {base}"
        yield "section 3.1.1", words, _less(wide, f"{base}+IR", base)
    losses = rows_nll(table)
    larger = np.minimum(_less(losses, "MCD", "MAP"), _less(losses, "DE", "MAP"))
    yield "section 3.1.1", "MAP has a higher NLL than MCD and DE", larger


def rows_nll(table: Table) -> Any:
    """Return the log losses of all samples, a column for each technique."""
    rows = table.rows(measure="nll", part="", source=["table 8", "table 9"])
    return rows.pivot(index=["network", "run"], columns="technique", values="value")


def _less(wide: Any, first: str, second: str) -> FloatArray:
    """Return in which runs a technique has a smaller value; NaN where one of both failed."""
    one, other = (
        np.asarray(wide[name] if name in wide else np.full(len(wide), np.nan), dtype=np.float64)
        for name in (first, second)
    )
    return np.where(np.isnan(one + other), np.nan, one < other)


def conformal_covers(table: Table) -> Iterator[Said]:
    """Sections 3.2.1 and 3.2.2: what conformal prediction does to the coverage."""
    if table.dataset == "af":
        return
    rows = table.rows(measure=["picp_1", "picp_2"])
    wide = rows.pivot(
        index=["network", "part", "measure", "run"], columns="technique", values="value"
    )
    for name, level in (("1σ", "picp_1"), ("2σ", "picp_2")):
        own = wide.xs(level, level="measure")
        for part in ("systolic", "diastolic"):
            both = own.xs(part, level="part")
            nearer = _less((both - 1).abs(), f"CQR {name}", f"QR {name}")
            words = f"CQR {name} covers {part} pressures nearer to nominal than QR {name}"
            yield "section 3.2.1", words, nearer


PPG = Study(
    name="ppg",
    paper=PAPER,
    row=PPGRow,
    measure=measure,
    printed="runs",
    claims=(isotonic_calibrates, conformal_covers),
    limits=lambda measure: (0.0, np.inf),
    options=(
        Option("network", "alexnet", "alexnet or resnet."),
        Option(
            "data", "synthetic", "synthetic, arrhythmia (af), mimic or mimic3 (bp), or a folder."
        ),
        Option("trusted", False, "Whether pickled arrays of DeepBeat may be read: yes or no."),
        Option("segments", None, "At most so many segments, drawn at random."),
        Option("subjects", None, "How many subjects are generated."),
        Option("segments_each", None, "How many segments of each are generated."),
        Option("rates", None, "Dropout rates to try beside the published one."),
        Option("sizes", None, "Sizes of the ensemble to try, up to that of DE."),
        Option("times", None, "How often the time of one sample is measured."),
        Option("settings", None, "Other settings of the estimators, a dict.", False),
    ),
)
