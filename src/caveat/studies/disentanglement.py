"""The experiments of "Measuring orthogonality as the blind-spot of uncertainty disentanglement"."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np

from .. import datasets
from .._validation import FloatArray, check_fraction
from ..exceptions import OptionError
from ..experiments import Curve, Disentanglement, Protocol, class_detection, disentanglement_error
from ..experiments.conditions import subset_size
from ..experiments.error import TERMS, disentanglement, mean_curve_interval
from ..predictions import Gaussian, GaussianLogits
from ..results.words import counted
from ..uncertainty.decompositions import DECOMPOSITIONS
from ._bci import joined, joined_detections, people_of
from ._plane import Plane, measure_planes
from ._samples import TrainTest, from_dataset, from_file
from .paper import Paper
from .study import Key, Measured, Option, Study, StudyRow, Task, check_known
from .summary import Summary

PAPER = Paper.read("disentanglement")
METHODS = {
    "mc-dropout": "MCDropoutClassifier",
    "dropconnect": "DropConnectClassifier",
    "flipout": "FlipoutClassifier",
    "deep-ensemble": "DeepEnsembleClassifier",
}
SPLITS = ("gaussian_logits", "information")
THREE = ("information", "bias_variance", "pairwise_kl")
"""The decompositions of table 3."""
AS_PRINTED = "pairwise_kl, u_a of bias_variance"
"""The decomposition of table 3's column KL, which has the aleatoric terms of the column B-V."""
ERROR = "error"
Curves = tuple[Curve, Curve]
"""Those of both sweeps."""
SOFTMAX = "softmax"
SIDE = {"quick": 40, "paper": 100}
"""Points of the planes along each feature."""
IMAGES: dict[str, tuple[int | None, int | None]] = {"quick": (1000, 500), "paper": (None, None)}
"""Images to learn from and to test on."""

_POINTS = {"quick": 125, "paper": 500}
_QUICK_IMAGES = Protocol(sizes=(0.05, 0.2, 0.5, 1), noise=(0, 0.25, 0.5, 0.75), repeats=1)
_RATES = {"quick": (), "paper": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)}


@dataclass(frozen=True)
class DisentanglementRow(StudyRow):
    """One number of the disentanglement study.

    ``setting`` is the level of figures 5 and 11 in percent, the dropout rate of figure 8, the
    number of levels of figure 9 or the side of figure 10.
    """

    factors: ClassVar[tuple[str, ...]] = ("method", "decomposition", "setting")
    method: str = ""
    decomposition: str = ""
    setting: str = ""


def take_samples(task: Task) -> TrainTest:
    """Return the samples of a data set by name, or of a table file."""
    name, target = task.dataset, task.options["target"]
    if name not in PAPER.datasets:
        return from_file(name, target, task.rng)
    if target is not None:
        raise OptionError(f"target is for a table file; {name} has its own classes")
    if name in ("two-moons", "triangle"):
        make = datasets.make_two_moons if name == "two-moons" else datasets.make_triangle
        data = make(task.rng, samples=_POINTS[task.scale])
    else:
        data = getattr(datasets, f"load_{name.replace('-', '_')}")()
    return from_dataset(name, data, task.rng, IMAGES[task.scale])


def protocol_of(samples: TrainTest, task: Task) -> Protocol:
    """Return the published sweeps; fewer levels for images in little time."""
    if task.options["protocol"] is not None:
        return task.options["protocol"]
    if samples.images and task.scale == "quick":
        result = _QUICK_IMAGES
    else:
        counts = {subset_size(s, len(samples.y), samples.classes): s for s in Protocol().sizes}
        # Sizes that come to the same subset are one; the dict keeps the largest of them.
        result = Protocol(sizes=tuple(counts.values()))
    return result if task.repeats is None else replace(result, repeats=task.repeats)


def model_of(samples: TrainTest, method: str, head: str, task: Task, **more: Any) -> Any:
    """Return the published network of a method; ``more`` are settings for this use."""
    from .. import estimators

    preset = PAPER.datasets.get(samples.name, PAPER.datasets["wine"])["preset"]
    classes = more.pop("classes", samples.classes)
    settings = estimators.preset(preset, method, classes=classes, head=head)
    if not samples.images:
        settings["standardize"] = False
    elif task.scale == "quick":
        settings |= {"epochs": 5} | ({"members": 3} if method == "deep-ensemble" else {})
    model = getattr(estimators, METHODS[method])(**{**settings, **more})
    known_names = model.get_params()
    own = task.options["settings"] or {}
    return model.set_params(**{key: value for key, value in own.items() if key in known_names})


def head_of(split: str) -> str:
    """Return the head that a decomposition needs."""
    return "gaussian-logits" if DECOMPOSITIONS[split].takes is GaussianLogits else SOFTMAX


class Trainer:
    """Trains what is asked for, always with the same seed, so that methods see the same data."""

    def __init__(self, task: Task, people: Sequence[TrainTest], splits: Sequence[str]) -> None:
        self.task, self.people, self.samples = task, people, people[0]
        self.protocol = protocol_of(self.samples, task)
        if len(people) > 1:  # each subject is a repeat
            self.protocol = replace(self.protocol, repeats=1)
        self.seed = int(task.rng.integers(2**31))
        self.heads = {head: [s for s in splits if head_of(s) == head]
                      for head in dict.fromkeys(map(head_of, splits))}  # fmt: skip
        self.common: dict[str, Any] = {
            "random_state": self.seed, "confidence": task.confidence, "progress": task.progress,
        }  # fmt: skip

    def _sweep(self, model: Any, names: Sequence[str], place: str) -> Disentanglement:
        return joined([
            disentanglement_error(
                model, data.X, data.y, test=data.test, decomposition=names, protocol=self.protocol,
                checkpoint=self.task.place(f"{place}-{i}" if i else place), **self.common,
            )
            for i, data in enumerate(self.people)
        ])  # fmt: skip

    def sweeps(self, methods: Sequence[str]) -> dict[tuple[str, str], Disentanglement]:
        """Return both sweeps of each method and decomposition; heads share their trainings."""
        results: dict[tuple[str, str], Disentanglement] = {}
        for method, (head, own) in product(methods, self.heads.items()):
            three = THREE if method == "deep-ensemble" and head == SOFTMAX else ()
            model = model_of(self.samples, method, head, self.task)
            result = self._sweep(model, [*dict.fromkeys((*own, *three))], f"{method}-{head}")
            results |= {(method, split): result for split in own}
        return results

    def rate(self, rate: float) -> Disentanglement:
        """Return the sweeps of MC-Dropout with another rate."""
        model = model_of(self.samples, "mc-dropout", SOFTMAX, self.task)
        if self.samples.images:
            model.set_params(module=partial(model.module, rate=rate))
        return self._sweep(model.set_params(rate=rate), ["information"], f"rate-{rate:g}")

    def detections(self, methods: Sequence[str]) -> dict[tuple[str, str, str], Any]:
        """Return how well left-out classes are detected, by method, decomposition and scaling."""
        data = self.samples
        results: dict[tuple[str, str, str], Any] = {}
        sets: dict[str, Any] = {"": ([(one.X, one.y, one.test) for one in self.people], None)}
        if data.every is not None:
            X, y = data.every
            spread = X.std(axis=0)
            scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
            sets = {
                "scaled within": ([(X, y, None)], True),
                "scaled by all": ([(scaled, y, None)], False),
            }
        for method, (head, own), scaling in product(methods, self.heads.items(), sets):
            samples, standardize = sets[scaling]
            more = {"classes": data.classes - 1, "standardize": standardize}
            place = f"{method}-{head}-detection-{scaling.replace(' ', '-')}"
            result = joined_detections([
                class_detection(
                    model_of(data, method, head, self.task, **more), X, y, test=test,
                    decomposition=own, repeats=self.protocol.repeats, **self.common,
                    checkpoint=self.task.place(f"{place}-{i}" if i else place),
                )
                for i, (X, y, test) in enumerate(samples)
            ])  # fmt: skip
            results |= {(method, split, scaling): result for split in own}
        return results

    def planes(self) -> list[Plane]:
        """Return the planes of figures 5, 10 and 11: MC-Dropout, as in the paper."""
        own = PAPER.datasets.get(self.samples.name, {})
        wanted = [
            Plane(one["figure"], split, one["kind"], level, one["schedule"])
            for one in own.get("planes", ())
            for split in one["splits"]
            for level in one["levels"]
        ]
        result: list[Plane] = []
        for split in dict.fromkeys(plane.decomposition for plane in wanted):
            result += measure_planes(
                [plane for plane in wanted if plane.decomposition == split],
                model_of(self.samples, "mc-dropout", head_of(split), self.task), self.samples,
                repeats=self.protocol.repeats, seed=self.seed, side=SIDE[self.task.scale],
                margin=own["margin"], progress=self.task.progress,
            )  # fmt: skip
        figures = [plane.figure for plane in wanted]
        return sorted(result, key=lambda plane: figures.index(plane.figure))


def measure(task: Task) -> Measured:
    """Retrain networks on fewer samples and on noisier labels, and leave each class out once."""
    options = task.options
    methods, splits = check_methods(options["methods"]), check_splits(options["decompositions"])
    check_settings(options["settings"])
    rates = _RATES[task.scale] if options["dropout_rates"] is None else options["dropout_rates"]
    rates = sorted({check_fraction(rate, "dropout_rates") for rate in np.atleast_1d(rates)})
    people = people_of(task) if task.dataset == "bci" else [take_samples(task)]
    samples = people[0]
    detection = options["detection"]
    if detection is None:  # images take long
        detection = samples.classes > 2 and (not samples.images or task.scale == "paper")
    elif detection and samples.classes < 3:
        raise OptionError(
            f"detection leaves classes out and needs three; {samples.name} has {samples.classes}"
        )
    trainer = Trainer(task, people, splits)
    sweeps = trainer.sweeps(methods)
    detections = trainer.detections(methods) if detection else {}
    by_rate = {rate: trainer.rate(rate) for rate in rates}
    planes = trainer.planes()
    values, summaries = values_of(sweeps, detections, by_rate, planes, task.confidence)
    same = not options["settings"] and options["protocol"] is None
    same = same and (task.scale == "paper" or samples.name == "wine")
    same = same and (samples.name != "bci" or options["data"] is not None)
    first = next(iter(sweeps.values()))
    trainings = sum({id(r): r.cost.trainings for r in sweeps.values()}.values())
    model = (
        f"{first.samples:,} samples to learn from, {first.test_samples:,} to test on, "
        f"{counted(trainings, 'training')}"
    )
    details: dict[str, Any] = {", ".join(key): result for key, result in sweeps.items()}
    details |= {", ".join(("detection", *key)): result for key, result in detections.items()}
    details |= {f"rate {rate:g}": result for rate, result in by_rate.items()}
    details |= {f"{p.figure}, {p.decomposition}, {p.level:g}": p for p in planes}
    return Measured(
        samples.name, samples.title, model, first.repeats, values, summaries,
        judged=lambda source: same and source != "table 3",
        notes=_notes(samples, sweeps, bool(detections), task.scale), details=details,
    )  # fmt: skip


def _curves(result: Disentanglement, split: str) -> Curves:
    return result.curve("size", split), result.curve("noise", split)


def terms_of(size: Curve, noise: Curve) -> dict[str, FloatArray]:
    """Return the error and its terms in each repeat."""
    error = disentanglement(size, noise)
    result = {ERROR: np.array(error.per_repeat)}
    for name, kind in TERMS.items():
        result[name] = np.abs(np.array(error.terms[name].per_repeat) - kind.ideal)
    return result


def three_splits(sweeps: dict[tuple[str, str], Disentanglement]) -> dict[str, Curves]:
    """Return both curves of each decomposition of table 3, all from the same trainings."""
    for (method, _), result in sweeps.items():
        if method == "deep-ensemble" and {*THREE} <= {*result.decompositions}:
            results = {name: _curves(result, name) for name in THREE}
            size, noise = (
                replace(kl, decomposition=AS_PRINTED, aleatoric=bv.aleatoric)
                for kl, bv in zip(results["pairwise_kl"], results["bias_variance"], strict=True)
            )
            return {AS_PRINTED: (size, noise), **results}
    return {}


def values_of(
    sweeps: dict[tuple[str, str], Disentanglement],
    detections: dict[tuple[str, str, str], Any],
    by_rate: dict[float, Disentanglement],
    planes: Sequence[Plane],
    confidence: float,
) -> tuple[dict[Key, FloatArray], dict[Key, Summary]]:
    """Return every number of the study in each run, and the summaries of tables 5 and 6."""
    values: dict[Key, FloatArray] = {}
    summaries: dict[Key, Summary] = {}

    def put(source: str, name: str, numbers: Any, *factors: str) -> Key:
        key = source, *factors, *("",) * (3 - len(factors)), name
        values[key] = np.asarray(numbers)
        return key

    both = {key: _curves(result, key[1]) for key, result in sweeps.items()}
    for key, curves in both.items():
        put("table 2", ERROR, terms_of(*curves)[ERROR], *key)
    three = three_splits(sweeps)
    for split, curves in three.items():
        for name, numbers in terms_of(*curves).items():
            put("table 3", name, numbers, "deep-ensemble", split)
    for (method, split, scaling), result in detections.items():
        means = result.auc[result.decompositions.index(split)].mean(axis=1)
        for i, part in enumerate(("aleatoric", "epistemic")):
            put(", ".join(filter(None, ("table 4", scaling))), part, means[:, i], method, split)
    for name in ("aleatoric_orthogonality", "epistemic_consistency",
                 "aleatoric_consistency", "epistemic_orthogonality"):  # fmt: skip
        for key, result in sweeps.items():
            kind, term = TERMS[name], result.error(decomposition=key[1]).terms[name]
            curve = result.curve(kind.sweep, key[1])
            table = "table 5" if kind.sweep == "size" else "table 6"
            place = put(table, name, term.per_repeat, *key)
            error, low, high = mean_curve_interval(curve, kind, term.of_mean_curves, confidence)
            summaries[place] = Summary(term.of_mean_curves, low, high, error, runs=curve.repeats)
    for key, curves in both.items():
        for name, numbers in terms_of(*curves).items():
            if name != ERROR:
                put("figure 6", name, numbers, *key)
    for rate, result in by_rate.items():
        curves = _curves(result, "information")
        measured = {**terms_of(*curves), "accuracy": curves[0].score[:, -1]}
        for name, numbers in measured.items():
            put("figure 8", name, numbers, "mc-dropout", "information", f"{rate:g}")
    for split, curves in three.items():
        for count in range(2, min(len(curve.levels) for curve in curves) + 1):
            places = [np.linspace(0, len(c.levels) - 1, count).round().astype(int) for c in curves]
            size, noise = (c._take(place) for c, place in zip(curves, places, strict=True))
            put("figure 9", ERROR, terms_of(size, noise)[ERROR], "deep-ensemble", split, f"{count}")
    for plane in planes:
        level = f"{100 * plane.level:g}"
        sides = ("left", "right") if plane.figure == "figure 10" else ("everywhere",)
        for part, where in product(("aleatoric", "epistemic"), sides):
            factors = "mc-dropout", plane.decomposition, level if where == "everywhere" else where
            put(plane.figure, f"{part}_uncertainty", plane.mean(part, where), *factors)
    return values, summaries


def check_methods(methods: Any) -> tuple[str, ...]:
    """Return the names of methods, each once."""
    given = [methods] if isinstance(methods, str) else list(methods)
    wrong = [name for name in given if name not in METHODS]
    if wrong or not given:
        got = repr(wrong[0]) if wrong else "none"
        raise OptionError(f"methods must be some of {', '.join(METHODS)}; got {got}")
    return tuple(dict.fromkeys(given))


def check_splits(decompositions: Any) -> tuple[str, ...]:
    """Return the full names of decompositions of classes, each once."""
    given = [decompositions] if isinstance(decompositions, str) else list(decompositions)
    result = [DECOMPOSITIONS[name] for name in given]
    wrong = [entry.name for entry in result if entry.takes is Gaussian]
    if wrong:
        raise OptionError(f"decompositions: {wrong[0]!r} is for numbers, but y has classes")
    if not result:
        raise OptionError("decompositions is empty; name at least one, such as 'information'")
    return tuple(dict.fromkeys(entry.name for entry in result))


def check_settings(settings: Any) -> None:
    """Raise for a setting that no method has."""
    from .. import estimators

    kinds = [getattr(estimators, name) for name in METHODS.values()]
    known = sorted({name for kind in kinds for name in kind().get_params()})
    check_known(settings or {}, known, "no method has the setting")


def _notes(
    samples: TrainTest, sweeps: dict[tuple[str, str], Disentanglement], detected: bool, scale: str
) -> tuple[str, ...]:
    needed = {
        "quick images": samples.images and scale == "quick",
        "table 3": any("pairwise_kl" in result.decompositions for result in sweeps.values()),
        "table 4": detected and not samples.images,
    }
    notes = [PAPER.notes_where[name] for name, applies in needed.items() if applies]
    for (method, split), result in sweeps.items():
        said = [f"{check.name}: {check.text}" for check in result.checks if not check.passed]
        said += result.error(decomposition=split).notes
        notes += [f"{PAPER.word(method)}, {PAPER.word(split)}: {text}" for text in said]
    return tuple(notes)


def limits(measure: str) -> tuple[float, float]:
    """Return the lowest and the highest possible value of a measure."""
    if measure.endswith("_uncertainty"):
        return 0.0, np.inf
    return 0.0, {ERROR: 1.5}.get(measure, 2.0 if measure.endswith("_consistency") else 1.0)


DISENTANGLEMENT = Study(
    name="disentanglement",
    paper=PAPER,
    row=DisentanglementRow,
    measure=measure,
    printed="means",
    takes_files=True,
    limits=limits,
    options=(
        Option("methods", tuple(METHODS), f"Some of {', '.join(METHODS)}."),
        Option("decompositions", SPLITS, "Splits into aleatoric and epistemic."),
        Option("target", None, "The column of the classes, for a table file."),
        Option("data", None, "For bci: moabb, or a folder of BCI IV 2a; else generated."),
        Option("detection", None, "Whether to leave each class out (table 4)."),
        Option("dropout_rates", None, "Dropout rates of figure 8, each a whole sweep."),
        Option("protocol", None, "Other sweeps than the published ones, a Protocol.", False),
        Option("settings", None, "Other settings of the estimators that have them, a dict.", False),
    ),
    explanation="tables 5 and 6: correlations of mean curves, with a bootstrap standard error",
)  # fmt: skip
