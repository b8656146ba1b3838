"""The data sets of the disentanglement study, and the networks that learn them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import OptionError
from ..experiments import Protocol
from ._disentanglement_paper import METHODS

POINTS = ("two-moons", "triangle")
IMAGES = ("fashion-mnist", "cifar10")
DATASETS = ("wine", *POINTS, *IMAGES)
SOFTMAX, LOGITS = "softmax", "gaussian-logits"

_HELD_OUT = 0.2
_POINTS = {"quick": 125, "paper": 500}
"""Samples of each class of the generated sets."""
_IMAGES = {"quick": (1000, 500), "paper": (None, None)}
"""Images to learn from and to test on."""
_QUICK_IMAGES = Protocol(sizes=(0.05, 0.2, 0.5, 1), noise=(0, 0.25, 0.5, 0.75), repeats=1)
_QUICK_SETTINGS = {"epochs": 5}
_QUICK_MEMBERS = 3


@dataclass(frozen=True, eq=False)
class Material:
    """Samples to learn from and to test on, and which published network is for them.

    Tables are scaled by the training samples; ``every`` has all rows as they are.
    """

    name: str
    title: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    preset: str
    every: tuple[Any, np.ndarray] | None = None
    center: Any = None
    scale: Any = None

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(np.unique(self.y))

    @property
    def images(self) -> bool:
        """Whether samples are images."""
        return self.name in IMAGES

    @property
    def test(self) -> tuple[Any, np.ndarray]:
        """The samples to test on."""
        return self.X_test, self.y_test

    def scaled(self, X: Any) -> Any:
        """Return points on the scale of the training samples."""
        return (X - self.center) / self.scale


def take_material(dataset: Any, target: str | None, scale: str, rng: np.random.Generator) -> Any:
    """Return the samples of a data set by name, or of a file."""
    from .. import datasets

    if target is not None and dataset in DATASETS:
        raise OptionError(f"target is for a file of one's own; {dataset} has its own classes")
    if dataset in IMAGES:
        return _images(dataset, scale, rng)
    if dataset in POINTS:
        make = datasets.make_two_moons if dataset == "two-moons" else datasets.make_triangle
        data = make(rng, samples=_POINTS[scale])
        train, test = data.split()
        return _table(dataset, data.description, train.X, train.y, test.X, test.y, None)
    if dataset == "wine":
        data = datasets.load_wine()
        return _split(dataset, data.description, data.X, data.y, rng)
    return _file(dataset, target, rng)


def _file(dataset: Any, target: str | None, rng: np.random.Generator) -> Material:
    from ..files import read_features

    path = Path(dataset)
    if not path.suffix:
        raise OptionError(
            f"dataset must be one of {', '.join(DATASETS)}, or a table file; got {str(dataset)!r}"
        )
    if target is None:
        raise OptionError(f"target must name the column of {path.name} that is to be predicted")
    table = read_features(path, target)
    if table.task != "classification":
        raise OptionError(
            f"{target!r} of {path.name} holds numbers, and this study is of classes; "
            "caveat.disentanglement_error and 'caveat disentangle' take both"
        )
    return _split(path.stem, f"{path.name}: {target}", table.X, table.y, rng)


def _split(name: str, title: str, X: Any, y: Any, rng: np.random.Generator) -> Material:
    from sklearn.model_selection import train_test_split

    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2 or counts.min() < 2:
        raise OptionError(f"{title} needs two classes at least, each with two samples at least")
    held = max(int(np.ceil(_HELD_OUT * len(y))), len(classes))
    seed = int(rng.integers(2**31))
    rows = train_test_split(np.arange(len(y)), test_size=held, stratify=y, random_state=seed)
    train, test = (np.sort(part) for part in rows)
    return _table(name, title, X[train], y[train], X[test], y[test], (X, y))


def _table(
    name: str, title: str, X: Any, y: Any, X_test: Any, y_test: Any, every: Any
) -> Material:  # fmt: skip
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    preset = "two-moons" if name in POINTS else "wine"
    X, X_test = ((part - center) / scale for part in (X, X_test))
    return Material(name, title, X, y, X_test, y_test, preset, every, center, scale)


def _images(name: str, scale: str, rng: np.random.Generator) -> Material:
    from .. import datasets

    load = datasets.load_fashion_mnist if name == "fashion-mnist" else datasets.load_cifar10
    data = load()
    train, test = (
        part if most is None else part.take(_balanced(part.y, most, rng))
        for part, most in zip(data.split(), _IMAGES[scale], strict=True)
    )
    return Material(name, data.description, train.X, train.y, test.X, test.y, name)


def _balanced(y: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows with as many of each class."""
    classes = np.unique(y)
    each = max(2, most // len(classes))
    rows = [rng.permutation(np.flatnonzero(y == label))[:each] for label in classes]
    return np.sort(np.concatenate(rows))


def protocol_of(material: Material, scale: str, repeats: int | None) -> Protocol:
    """Return the sweeps: the published ones, fewer levels for images in little time."""
    from dataclasses import replace

    short = material.images and scale == "quick"
    found = _QUICK_IMAGES if short else Protocol(sizes=_sizes(material))
    return found if repeats is None else replace(found, repeats=repeats)


def _sizes(material: Material) -> tuple[float, ...]:
    """Return the published sizes, of which those that are too small to differ are left out."""
    from ..experiments.conditions import subset_size

    kept: list[float] = []
    last = None
    for share in reversed(Protocol().sizes):
        count = subset_size(share, len(material.y), material.classes)
        if count != last:
            kept.append(share)
        last = count
    return tuple(sorted(kept))


def model_of(
    material: Material, method: str, head: str, scale: str, settings: dict[str, Any], **more: Any
) -> Any:
    """Return the published network of a method; ``more`` are settings that this use asks for."""
    from .. import estimators

    classes = more.pop("classes", material.classes)
    found = estimators.preset(material.preset, method, classes=classes, head=head)
    if not material.images:
        found["standardize"] = False
    elif scale == "quick":
        found |= _QUICK_SETTINGS
        if method == "deep-ensemble":
            found["members"] = _QUICK_MEMBERS
    model = _kinds()[method](**{**found, **more})
    known = model.get_params()
    return model.set_params(**{key: value for key, value in settings.items() if key in known})


def _kinds() -> dict[str, Any]:
    from .. import estimators

    return {
        "mc-dropout": estimators.MCDropoutClassifier,
        "dropconnect": estimators.DropConnectClassifier,
        "flipout": estimators.FlipoutClassifier,
        "deep-ensemble": estimators.DeepEnsembleClassifier,
    }


def check_settings(settings: Any) -> dict[str, Any]:
    """Return a copy; a name that no method knows is an error."""
    from difflib import get_close_matches

    given = dict(settings or {})
    known = sorted({name for kind in _kinds().values() for name in kind().get_params()})
    for name in given:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise OptionError(
                f"settings: no method has {name!r}; {guess}known are {', '.join(known)}"
            )
    return given


def check_methods(methods: Any) -> tuple[str, ...]:
    """Return the names of methods, each once."""
    names = [methods] if isinstance(methods, str) else list(methods)
    for name in names:
        if name not in METHODS:
            raise OptionError(f"methods must be some of {', '.join(METHODS)}; got {name!r}")
    if not names:
        raise OptionError(f"methods is empty; name some of {', '.join(METHODS)}")
    return tuple(dict.fromkeys(names))
