"""The experiments of "On measures of uncertainty in classification", the printed numbers beside.

Images and tables are classified pixel by pixel by support vector machines and a forest, signals by
a convolutional network; measures are then compared between right and wrong predictions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .._validation import FloatArray, check_integer
from ..confusion import compare_measures
from ..datasets import (
    load_bcss,
    load_houston,
    load_indian_pines,
    load_scene,
    load_trento,
    make_modulations,
)
from ..exceptions import FileFormatError, OptionError
from ..results.words import joined
from ..uncertainty import class_distances
from ._gaussian_example import gaussian_measure, peak
from ._measure_numbers import (
    GEOMETRIC,
    HOMOPHILY,
    MEASURES,
    VARIANCE,
    key,
    of_classes,
    of_comparison,
    of_distances,
    of_matrix,
    of_near_misses,
    of_signals,
)
from ._signal_networks import SignalClassifier, plain_network, residual_network
from .paper import Paper
from .study import Key, Label, Measured, Option, Said, Study, StudyRow, Table, Task, check_known
from .summary import NAN, above, all_of

PAPER = Paper.read("measures")

MODELS = ("svm", "opt-svm", "opt-rf")
NETWORKS = ("cnn", "resnet")
SNRS = (50, 15)
"""Of the signals, in decibels."""
_TREES = 100
_REPEATS = {"quick": 6, "paper": 20}
"""Six runs that all agree decide a statement; fewer cannot."""
_TEST = {"quick": 4000, "paper": 50_000}
_FRAMES = {"quick": 100, "paper": 1000}
_EPOCHS = {"quick": 15, "paper": 30}


@dataclass(frozen=True)
class MeasuresRow(StudyRow):
    """One number of the study of measures.

    ``model`` is what predicted, ``part`` the right or wrong predictions, a class or a pair of them,
    or the peak of a curve, and ``statistic`` what was taken of the measure.
    """

    factors: ClassVar = ("model", "part", "statistic")
    model: str = ""
    part: str = ""
    statistic: str = ""


# ------------------------------------------------------------------------- the Gaussian example


def _gaussian(task: Task) -> Measured:
    values: dict[Key, FloatArray] = {}
    for x in ((1.0, 1.0), (2.5, 2.5)):
        words = f"x = ({x[0]:g}, {x[1]:g})"
        for name in ("shannon_entropy", "gini_impurity", "geometric_uncertainty", HOMOPHILY):
            for which, ends in (("first peak", (-2.0, 1.2)), ("second peak", (1.2, 8.0))):
                for what, number in zip(("place", "height"), peak(name, x, *ends), strict=True):
                    values[key("figure 3", name, model=words, part=which, statistic=what)] = (
                        np.array([number])
                    )
        far = gaussian_measure(HOMOPHILY, x, np.array([20.0, 40.0]))
        flat = gaussian_measure("gini_impurity", x, np.array([20.0, 40.0]))
        for name, two in ((HOMOPHILY, far), ("gini_impurity", flat)):
            values[key("figure 3", name, model=words, part="far", statistic="slope")] = np.array(
                [two[1] - two[0]]
            )
    title = PAPER.datasets["gaussian"]["title"]
    return Measured("gaussian", title, "the exact posterior", 1, values)


# ---------------------------------------------------------------------------- pixels and tables


def pixels_of(name: Any) -> tuple[FloatArray, Any, tuple[str, ...], str]:
    """Return samples, classes from 0, their names, and the name of the data set."""
    if name == "houston":
        data = load_houston()
        return data.X, data.y, data.classes, name
    if name in ("indian-pines", "trento"):
        scene = load_indian_pines() if name == "indian-pines" else load_trento()
    elif name == "bcss":
        scene = _first_region()
    else:
        scene = load_scene(name)
    X, y, _ = scene.pixels()
    return X, y, scene.classes, name if name in PAPER.datasets else Path(name).stem


def _first_region() -> Any:
    from ..datasets._scenes import _folder

    folder = _folder("bcss")
    images = sorted((folder / "images").glob("*.png"))
    if not images:
        raise FileFormatError(f"{folder}/images has no .png file; put a region of BCSS there")
    return load_bcss(images[0], folder / "masks" / images[0].name, step=4)


def _fitted(name: str, X: FloatArray, y: Any, seed: int) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    if name == "opt-rf":
        grid = {"max_features": ["sqrt", 0.3], "min_samples_leaf": [1, 3]}
        return GridSearchCV(RandomForestClassifier(_TREES, random_state=seed), grid, cv=3).fit(X, y)
    machine = SVC()
    if name == "opt-svm":
        grid = {"C": [1.0, 10.0, 100.0, 1000.0], "gamma": ["scale", 0.1, 1.0, 10.0]}
        machine.set_params(**GridSearchCV(machine, grid, cv=3).fit(X, y).best_params_)
    return CalibratedClassifierCV(machine, cv=3, ensemble=False).fit(X, y)


def _network(name: str, epochs: int, seed: int) -> SignalClassifier:
    return SignalClassifier(plain_network if name == "cnn" else residual_network, epochs, seed)


def _pixels(task: Task, models: Sequence[str], repeats: int) -> Measured:
    X, y, names, dataset = pixels_of(task.dataset)
    low, high = X.min(axis=0), X.max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1.0)
    epochs = task.options["epochs"] or _EPOCHS[task.scale]
    most = task.options["test"] or _TEST[task.scale]
    each = task.options["samples"] or 100
    runs: list[dict[Key, float]] = []
    details: dict[str, Any] = {}
    for run in range(repeats):
        seed = int(task.rng.integers(2**31))
        rng = np.random.default_rng(seed)
        train, test = _drawn(y, each, most, rng)
        H = class_distances(X[train], y[train], classes=np.arange(len(names)))
        values = of_distances(dataset, H)
        for model in models:
            if model in NETWORKS:
                fitted = _network(model, epochs, seed).fit(X[train][:, None], y[train])
                p = fitted.predict_proba(X[test][:, None])
            else:
                p = _fitted(model, X[train], y[train], seed).predict_proba(X[test])
            compared = compare_measures(p, y[test], distances=H, resamples=0)
            values |= of_comparison(model, compared) | of_matrix(model, p, y[test], names)
            values |= of_near_misses(model, compared, H) | of_classes(dataset, model, compared)
            if run == 0:
                details[model] = compared
        runs.append(values)
    own = PAPER.datasets.get(dataset, {})
    words = joined([PAPER.word(model) for model in models])
    model = f"{words}, {each} training pixels of each class"
    return Measured(
        dataset, own.get("title", dataset), model, repeats, _collated(runs), details=details
    )


def _drawn(y: Any, each: int, most: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return training rows, ``each`` of every class and at most half of it, and test rows."""
    train = np.concatenate(
        [
            rng.permutation(np.flatnonzero(y == k))[: min(each, max(1, int((y == k).sum()) // 2))]
            for k in np.unique(y)
        ]
    )
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), train))
    return train, np.sort(rest[:most])


def _collated(runs: Sequence[Mapping[Key, float]]) -> dict[Key, FloatArray]:
    keys = dict.fromkeys(key for run in runs for key in run)
    return {key: np.array([run.get(key, NAN) for run in runs]) for key in keys}


# ------------------------------------------------------------------------------------- signals


def _signals(task: Task, repeats: int) -> Measured:
    frames = task.options["samples"] or _FRAMES[task.scale]
    epochs = task.options["epochs"] or _EPOCHS[task.scale]
    runs = []
    details: dict[str, Any] = {}
    for run in range(repeats):
        seeds = task.rng.integers(2**31, size=2)
        data = {snr: make_modulations(int(seeds[0]), samples=frames, snr=snr) for snr in SNRS}
        parts = {snr: one.split() for snr, one in data.items()}
        models = {
            snr: _network("cnn", epochs, int(seeds[1])).fit(train.X, train.y)
            for snr, (train, _) in parts.items()
        }
        values: dict[Key, float] = {}
        for snr, model in models.items():
            train = parts[snr][0]
            H = class_distances(train.X, train.y, embedding=model.features)
            for other in SNRS:
                test = parts[other][1]
                compared = compare_measures(
                    model.predict_proba(test.X), test.y, distances=H, resamples=0, by_class=False
                )
                where = f"{snr} dB" if snr == other else f"{snr} dB, tested at {other} dB"
                if snr == other:
                    table = of_comparison(where, compared)
                    values |= {k: v for k, v in table.items() if k[0] == "table VII"}
                values |= of_signals(where, compared, drifted=snr != other)
                if run == 0:
                    details[where] = compared
        runs.append(values)
    title = PAPER.datasets["modulation"]["title"]
    words = f"CNN of six layers, {epochs} epochs, {frames} frames of each class"
    return Measured("modulation", title, words, repeats, _collated(runs), details=details)


def measure(task: Task) -> Measured:
    """Classify, measure the uncertainty of each prediction, and compare the measures."""
    for name in ("samples", "epochs", "test"):
        if task.options[name] is not None:
            check_integer(task.options[name], name)
    if task.dataset == "gaussian":
        return _gaussian(task)
    repeats = _REPEATS[task.scale] if task.repeats is None else task.repeats
    if task.dataset == "modulation":
        return _signals(task, 1 if task.repeats is None and task.scale == "quick" else repeats)
    given = task.options["models"]
    models = MODELS if given is None else given.split(",") if isinstance(given, str) else given
    models = [model.strip() for model in models]
    check_known(models, (*MODELS, *NETWORKS), "there is no model")
    if not models:
        raise OptionError(f"models must name at least one of {', '.join((*MODELS, *NETWORKS))}")
    return _pixels(task, models, repeats)


# ---------------------------------------------------------------------------------- conclusions


def table_seven(table: Table) -> Iterator[Said]:
    """What the text says of table VII, for each model."""
    for model in table.rows(source="table VII")["model"].unique():
        where = {"source": "table VII", "model": model}
        mean = table.wide(["part", "measure"], **where, statistic="mean")
        skew = table.wide(["part", "measure"], **where, statistic="skewness")
        word = PAPER.word(model)
        margin = {name: (mean["wrong", name] - mean["correct", name]).to_numpy()
                  for name in MEASURES}  # fmt: skip
        said: list[tuple[str, list[Any]]] = [
            ("every measure is larger for the wrong predictions",
             [above(margin[name], 0.0) for name in MEASURES]),
            ("Rényi entropy is the lowest of the geometric measures for the correct predictions",
             _below(mean["correct"], "renyi_entropy", GEOMETRIC)),
            ("the Gini index is the largest for the wrong predictions",
             _below(-mean["wrong"], "gini_impurity", GEOMETRIC)),
            ("the margin between wrong and correct predictions is the largest for the Gini index",
             [above(margin["gini_impurity"], margin[name]) for name in MEASURES[1:]]),
            ("homophily is skewed to the right for the correct predictions",
             [above(skew["correct", HOMOPHILY], 0.0)]),
            ("Gini index, t-entropy and Tsallis entropy are skewed to the right for the correct "
             "predictions and to the left for the wrong ones",
             [part for name in ("gini_impurity", "t_entropy", "tsallis_entropy")
              for part in (above(skew["correct", name], 0.0), above(0.0, skew["wrong", name]))]),
        ]  # fmt: skip
        for text, parts in said:
            yield "table VII", f"{word}: {text}", all_of(parts)


def _below(frame: Any, name: str, others: Sequence[str]) -> list[Any]:
    return [above(frame[other], frame[name]) for other in others if other != name]


def confusion_and_variance(table: Table) -> Iterator[Said]:
    """Figure 9: which measures grow with the number of confused classes."""
    for model in table.rows(source="figure 9")["model"].unique():
        fall = table.wide("measure", source="figure 9", model=model)
        word = PAPER.word(model)
        text = f"{word}: every geometric measure grows with the number of confused classes"
        yield "figure 9", text, all_of([1 - above(fall[name], 0.0) for name in GEOMETRIC])
        text = f"{word}: the binary variance falls with it somewhere"
        yield "figure 9", text, above(fall[VARIANCE], 0.0)


def distances_matter(table: Table) -> Iterator[Said]:
    """Figure 8: homophily against the equidistant case."""
    for model in table.rows(source="figure 8")["model"].unique():
        of = table.wide("part", source="figure 8", model=model)
        word = PAPER.word(model)
        text = f"{word}: for the closest classes homophily is below the equidistant case"
        yield "figure 8", text, above(0.0, of["closest pair"])
        text = f"{word}: for the most distant classes it is less below, or above"
        yield "figure 8", text, above(of["most distant pair"], of["closest pair"])


def labels(row: MeasuresRow) -> Label | None:
    """Return in which table a row is shown, and what it is."""
    names = {
        "model": PAPER.word(row.model), "predictions": row.part, "measure": PAPER.word(row.measure),
        "": row.statistic,
    }  # fmt: skip
    return row.source, names, {}


_CLAIMS: tuple[Callable[[Table], Iterator[Said]], ...] = (
    table_seven, confusion_and_variance, distances_matter,
)  # fmt: skip

STUDY = Study(
    name="measures",
    paper=PAPER,
    row=MeasuresRow,
    measure=measure,
    printed="runs",
    claims=_CLAIMS,
    labels=labels,
    options=(
        Option("models", None, "Which of svm, opt-svm, opt-rf, cnn, resnet, with commas."),
        Option("samples", None, "Training pixels, or frames, of each class."),
        Option("epochs", None, "Epochs of the networks."),
        Option("test", None, "Pixels to test on, at most."),
    ),
    takes_files=True,
)
