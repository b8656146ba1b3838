"""Section 5 of the disentanglement paper: networks that begin with learned weights, or without."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import datasets
from .._validation import FloatArray
from ..experiments import Disentanglement, Protocol, disentanglement_error
from ..experiments.error import TERMS
from ..results.words import counted
from ._samples import TrainTest, balanced, from_dataset
from .paper import Paper
from .study import Key, Measured, Option, Study, StudyRow, Task, check_known

PAPER = Paper.read("pretrained")
SOURCE = "figure 7"
SPLIT = "information"


class Size(NamedTuple):
    """What a scale takes: images of all classes, how many of each class the task has, the network.

    Pretraining has all images of its classes; ``images`` are those to learn from and to test on.
    """

    images: tuple[int | None, int | None]
    each: int | None
    halved: bool
    width: int
    epochs: int
    batch_size: int
    protocol: Protocol


SIZES = {
    "quick": Size(
        (20000, 1000), 200, True, 8, 8, 64,
        Protocol(sizes=(0.05, 0.2, 0.5, 1), noise=(0, 0.25, 0.5, 0.75), repeats=3),
    ),
    "paper": Size((None, None), None, False, 64, 50, 128, Protocol()),
}  # fmt: skip


@dataclass(frozen=True)
class PretrainedRow(StudyRow):
    """One number of the study; ``start`` says with which weights the networks began."""

    factors: ClassVar[tuple[str, ...]] = ("start",)
    start: str = ""


def take_images(task: Task) -> TrainTest:
    """Return the images of a data set, smaller ones in little time."""
    size = SIZES[task.scale]
    if task.dataset == "digits":
        return _digits(task.rng)
    data = getattr(datasets, f"load_{task.dataset.replace('-', '_')}")()
    samples = from_dataset(task.dataset, data, task.rng, size.images)
    if not size.halved:
        return samples
    return replace(samples, X=_halved(samples.X), test=(_halved(samples.test[0]), samples.test[1]))


def _digits(rng: np.random.Generator) -> TrainTest:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    data: Any = load_digits()
    X, y = (data.images[:, None] / 16).astype(np.float32), data.target
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.25, stratify=y, random_state=int(rng.integers(2**31))
    )
    return TrainTest("digits", "Handwritten digits", X, y, (X_test, y_test))


def _halved(X: np.ndarray) -> np.ndarray:
    """Return images of half the side, each pixel the mean of four."""
    n, channels, height, width = X.shape
    return X.reshape(n, channels, height // 2, 2, width // 2, 2).mean(axis=(3, 5))


def halves(samples: TrainTest) -> tuple[TrainTest, TrainTest]:
    """Return the samples of the odd classes, and those of the even ones."""
    X_test, y_test = samples.test

    def part(odd: int) -> TrainTest:
        rows, held = samples.y % 2 == odd, y_test % 2 == odd
        test = X_test[held], y_test[held] // 2
        return replace(samples, X=samples.X[rows], y=samples.y[rows] // 2, test=test)

    return part(1), part(0)


def fewer(samples: TrainTest, each: int | None, rng: np.random.Generator) -> TrainTest:
    """Return the samples with at most so many of each class to learn from."""
    if each is None or np.unique(samples.y, return_counts=True)[1].max() <= each:
        return samples
    rows = balanced(samples.y, each * samples.classes, rng)
    return replace(samples, X=samples.X[rows], y=samples.y[rows])


def pretrained(
    first: TrainTest, channels: int, size: Size, seed: int, file: Path | None, progress: bool
) -> Any:
    """Return a network that has learned the classes; its weights are kept in a file, if named."""
    from ..nn import ResNet18, Training, losses, train
    from ..nn.generators import Generators

    side = first.X.shape[-1]
    make = partial(ResNet18, channels, first.classes, size=side, width=size.width)
    if file is not None and file.exists():
        with Generators().kept():
            return make().load_weights(file)
    training = Training(
        epochs=size.epochs, batch_size=size.batch_size, optimizer="adam", learning_rate=1e-3
    )
    trained = train(
        make, first.X, first.y, loss=losses.nll, copies=1, training=training, random_state=seed,
        progress=progress,
    )  # fmt: skip
    network: Any = trained.module(0)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        network.save_weights(file)
    return network


def start_of(state: Mapping[str, Any], make: Any) -> Any:
    """Return a new network with these weights, but zeros in the last layer, which is drawn anew."""
    import torch

    from ..nn.generators import Generators

    with Generators().kept():
        made = make()
    own = made.state_dict()
    for name, value in own.items():
        own[name] = torch.zeros_like(value) if name.startswith("fc.") else state[name]
    made.load_state_dict(own)
    return made


def measure(task: Task) -> Measured:
    """Fine-tune an ensemble from the same weights, and train two from scratch.

    One is of the same network; the other of the smaller one that the paper compares with.
    """
    from ..estimators import DeepEnsembleClassifier, preset
    from ..nn import CNN, ResNet18
    from ..nn.generators import Generators

    size, options = SIZES[task.scale], task.options
    check_known(
        options["settings"] or {}, sorted(DeepEnsembleClassifier().get_params()), "no setting"
    )
    every = take_images(task)
    channels, side = every.X.shape[1], every.X.shape[-1]
    first, samples = (None, every) if options["weights"] else halves(every)
    # Published weights are those of the network that begins with two poolings.
    begin = 224 if options["weights"] else side
    make = partial(ResNet18, channels, samples.classes, size=begin, width=size.width)
    seed = int(task.rng.integers(2**31))
    samples = fewer(samples, size.each, task.rng)
    if first is None:
        with Generators().kept():
            network = make().load_weights(options["weights"], head=False)
    else:
        file = task.place(f"{task.dataset}-{task.scale}-{seed}.npz")
        network = pretrained(first, channels, size, seed, file, task.progress)
    learned = start_of(network.state_dict(), make)
    protocol = options["protocol"] or size.protocol
    if task.repeats is not None:
        protocol = replace(protocol, repeats=task.repeats)
    settings = {
        **preset("cifar10", "deep-ensemble", classes=samples.classes), "members": 3,
        "epochs": size.epochs, "batch_size": size.batch_size, "standardize": False,
    } | (options["settings"] or {})  # fmt: skip
    smaller = partial(CNN, channels, samples.classes, size=(side, side))
    results = {}
    for start, module, fresh in (
        ("pretrained", learned, "fc"), ("scratch", make, None), ("smaller", smaller, None),
    ):  # fmt: skip
        model = DeepEnsembleClassifier(**settings | {"module": module, "fresh": fresh})
        results[start] = disentanglement_error(
            model, samples.X, samples.y, test=samples.test, decomposition=SPLIT, protocol=protocol,
            random_state=seed, confidence=task.confidence, progress=task.progress,
            checkpoint=task.place(start),
        )  # fmt: skip
    one = results["scratch"]
    same = task.scale == "paper" and task.dataset == "cifar10" and bool(options["weights"])
    notes = [] if options["weights"] else [PAPER.notes_where["stand-in"]]
    notes += [PAPER.notes_where["quick"]] if task.scale == "quick" else []
    notes += [
        f"{PAPER.word(start)}: {check.name}: {check.text}"
        for start, result in results.items()
        for check in result.checks
        if not check.passed
    ]
    trainings = sum(result.cost.trainings for result in results.values())
    return Measured(
        every.name, every.title,
        f"{one.samples:,} images to learn from, {one.test_samples:,} to test on, "
        f"{samples.classes} classes, {counted(trainings, 'training')}",
        one.repeats, values_of(results),
        judged=lambda source: same and not (options["settings"] or options["protocol"]),
        notes=tuple(notes),
        details={f"{start}, {SPLIT}": result for start, result in results.items()},
    )  # fmt: skip


def values_of(results: dict[str, Disentanglement]) -> dict[Key, FloatArray]:
    """Return every number in each run, of every start."""
    values: dict[Key, FloatArray] = {}
    for start, result in results.items():
        error = result.error()
        values[SOURCE, start, "error"] = np.array(error.per_repeat)
        for name in TERMS:
            values[SOURCE, start, name] = np.array(error.terms[name].per_repeat)
        both = [result.curve(kind).epistemic for kind in ("size", "noise")]
        values[SOURCE, start, "epistemic_uncertainty"] = np.hstack(both).mean(axis=1)
        values[SOURCE, start, "accuracy"] = result.curve("size").score[:, -1]
    return values


def limits(measure: str) -> tuple[float, float]:
    """Return the lowest and the highest possible value of a measure."""
    known = {"error": (0.0, 1.5), "accuracy": (0.0, 1.0), "epistemic_uncertainty": (0.0, np.inf)}
    return known.get(measure, (-1.0, 1.0))


PRETRAINED = Study(
    name="pretrained",
    paper=PAPER,
    row=PretrainedRow,
    measure=measure,
    printed="means",
    limits=limits,
    options=(
        Option("weights", None, "A file of weights of ResNet18 by name; with scale paper."),
        Option("protocol", None, "Other sweeps than those of the scale, a Protocol.", False),
        Option("settings", None, "Other settings of DeepEnsembleClassifier, a dict.", False),
    ),
    explanation="correlations of each run",
)
