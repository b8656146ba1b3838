"""The samples of an experiment: checked before anything trains."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arrays import as_array
from .._validation import LARGEST, as_class_labels, check_number
from ..exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from ..predictions import Gaussian
from ..uncertainty.decompositions import DECOMPOSITIONS
from ._models import Network, network_of
from .conditions import Draws, least_samples, strata_of, subset_size
from .protocol import Protocol

_HELD_OUT = 0.2
"""The share of the samples to test on where none are given."""

NUMBERS = "if the model predicts numbers, pass decomposition='total_variance'"
"""For a model that does not say so itself, and whole numbers, which look like classes."""


BOTH = "X and the samples of test must both be arrays, or both in a Dataset of torch"


@dataclass(frozen=True, eq=False)
class TrainTestData:
    """Samples to learn from and to test on."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    task: str
    validation: tuple[Any, np.ndarray] | None = None
    """Samples that are in no subset, which decide the epoch of a network that is kept."""


def said_task(model: Any) -> str | None:
    """Return what a model itself says it predicts; None if it does not."""
    from sklearn.base import is_classifier, is_regressor

    if not hasattr(model, "__sklearn_tags__"):
        return None
    if is_classifier(model):
        return "classification"
    return "regression" if is_regressor(model) else None


def task_of(model: Any, y: Any, decomposition: Any) -> str:
    """Return what a model predicts: what it says itself, what is asked of it, or what y is like."""
    from sklearn.utils.multiclass import type_of_target

    said = said_task(model)
    if said is not None:
        return said
    wanted = [decomposition] if isinstance(decomposition, str) else decomposition
    if isinstance(wanted, Sequence) and wanted and wanted[0] != "auto":
        regression = DECOMPOSITIONS[wanted[0]].takes is Gaussian
    else:
        regression = type_of_target(_labels(y, "y")).startswith("continuous")
    return "regression" if regression else "classification"


def take_samples(
    X: Any, y: Any, test: Any, task: str, draws: Draws, *, guessed: bool
) -> tuple[TrainTestData, tuple[str, ...]]:
    """Return checked samples, and what was decided about them.

    ``guessed`` says that it was not the model that named its task.
    """
    X, y = as_inputs(X), checked_labels(y, task, "y")
    check_length(X, y, "X", "y")
    if task == "classification":
        _check_classes(y, guessed)
    if test is not None:
        return TrainTestData(X, y, *take_test(test, X, y, task), task), ()
    train, held = _split(y, task, draws)
    result = TrainTestData(take_rows(X, train), y[train], take_rows(X, held), y[held], task)
    _not_constant(result.y_test, "the held-out y", "pass test=(X, y)")
    how = "by class" if task == "classification" else "by quantile bins of y"
    return result, (
        f"{len(held):,} of {len(y):,} samples were held out for testing, stratified {how}",
    )


def hold_out(
    samples: TrainTestData, network: Network | None, draws: Draws
) -> tuple[TrainTestData, tuple[str, ...]]:
    """Take the samples that choose the epoch from outside of all subsets, and say so.

    A network that would hold out a part of each subset holds out the same samples in all
    conditions: a part of a small subset may lack a class, and makes the subset smaller still.
    """
    number = len(samples.y)
    if network is None or network.prefix:
        return samples, ()
    share = network.estimator.held_out_share(number)
    if share is None:
        return samples, ()
    check_number(share, "validation_fraction", 0, 1, "neither")
    strata = strata_of(samples.y, samples.task)
    count = min(subset_size(share, number, 1), number - least_samples(samples.y, samples.task))
    held = draws.held_out(strata, count, samples.task == "classification")
    left = np.setdiff1d(np.arange(number), held)
    result = replace(
        samples, X=take_rows(samples.X, left), y=samples.y[left],
        validation=(take_rows(samples.X, held), samples.y[held]),
    )  # fmt: skip
    return result, (
        f"{count:,} of {number:,} samples to learn from are in no subset: they decide which epoch "
        "of each network is kept",
    )


def take_test(test: Any, X: Any, y: np.ndarray, task: str) -> tuple[Any, np.ndarray]:
    """Return checked samples to test on."""
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise OptionError(f"test must be a pair (X, y) of samples; got a {type(test).__name__}")
    X_test, y_test = as_inputs(test[0]), checked_labels(test[1], task, "y of test")
    check_length(X_test, y_test, "X of test", "y of test")
    if not in_dataset(X) and X_test.shape[1:] != X.shape[1:]:
        raise ShapeError(f"samples of test have shape {X_test.shape[1:]}, those of X {X.shape[1:]}")
    unknown = np.setdiff1d(y_test, y)
    if task == "classification" and len(unknown):
        raise LabelError(
            "test has classes that are not among those to learn from: "
            f"{', '.join(map(repr, unknown[:5].tolist()))}; leave these samples out"
        )
    return X_test, y_test


def check_sizes(protocol: Protocol, samples: TrainTestData) -> tuple[str, ...]:
    """Raise if two sizes give the same subset; return which sizes are raised to the smallest."""
    number = len(samples.y)
    least = least_samples(samples.y, samples.task)
    why = "one for each class" if samples.task == "classification" else "the fewest to learn from"
    counts = [subset_size(size, number, least) for size in protocol.sizes]
    for i in range(len(counts) - 1):
        if counts[i] == counts[i + 1]:
            low, high = protocol.sizes[i : i + 2]
            reason = f", {why}" if counts[i] == least else ""
            raise OptionError(
                f"sizes {low:g} and {high:g} of {number:,} samples both come to {counts[i]:,}"
                f"{reason}; leave the smaller one out of sizes, or use more samples"
            )
    first = subset_size(protocol.sizes[0], number)
    if first >= least:
        return ()
    return (
        f"the smallest size, {protocol.sizes[0]:g} of {number:,} samples, is {first:,}; "
        f"{least:,} were taken, {why}",
    )


def read_dataset(X: Any, y: Any, test: Any, model: Any, loader: Any) -> tuple[Any, Any, Any]:
    """Return samples, labels and test with a data set of torch as rows of it, if it is one.

    Labels that are None are read from it.
    """
    if loader is not None and not callable(loader):
        raise OptionError(f"loader must be loader(dataset, shuffle) -> DataLoader; got {loader!r}")
    pair = isinstance(test, tuple | list) and len(test) == 2
    test_in_dataset = _is_source(test[0] if pair else test)
    if not _is_source(X):
        if loader is not None:
            raise OptionError(f"loader is for a Dataset of torch; X is a {type(X).__name__}")
        if test_in_dataset:
            raise OptionError(BOTH)
        return X, y, test
    from ._dataset_samples import DatasetSamples

    network = network_of(model)
    if network is None or network.prefix or network.estimator.module is None:
        raise OptionError(
            f"X is a {type(X).__name__}, which a network of caveat with module= can learn from, "
            f"such as DeepEnsembleClassifier(module=...); got {type(model).__name__}"
        )
    samples = DatasetSamples.of(X, loader)
    y = samples.labels("y") if y is None else y
    if test is not None:
        if not test_in_dataset:
            raise OptionError(BOTH)
        X_test, y_test = test if pair else (test, None)
        held = DatasetSamples.of(X_test, loader)
        test = held, held.labels("y of test") if y_test is None else y_test
    return samples, y, test


def _is_source(X: Any) -> bool:
    """Whether samples come from a data set or loader; without torch there are none."""
    torch = sys.modules.get("torch")
    data = None if torch is None else torch.utils.data
    return data is not None and isinstance(X, data.Dataset | data.DataLoader)


def in_dataset(X: Any) -> bool:
    """Whether samples are rows of a data set, which are read when they are needed."""
    return hasattr(X, "to_train")


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return some samples."""
    if in_dataset(X):
        return X.take(rows)
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)


def as_inputs(X: Any) -> Any:
    """Return samples of which rows can be taken; a frame stays, for the names of its columns."""
    if in_dataset(X):
        return X
    if _is_source(X):
        raise OptionError(f"X must be an array, a frame or a tensor; got a {type(X).__name__}")
    X = as_array(X)
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def _labels(y: Any, name: str) -> np.ndarray:
    if y is None:
        raise LabelError(f"{name} is None; the labels of all samples are needed")
    labels = np.asarray(as_class_labels(as_array(y), name))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ShapeError(
            f"{name} must have one label for each sample; got shape {labels.shape}; take one "
            "target at a time, since uncertainties of different targets do not add up"
        )
    _check_finite(labels, name)
    return labels


def _check_finite(labels: np.ndarray, name: str) -> None:
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        first = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise InvalidValueError(f"{name} of sample {first} is {labels[first]}; leave it out")


def checked_labels(y: Any, task: str, name: str) -> np.ndarray:
    labels = _labels(y, name)
    if not len(labels):
        raise ShapeError(f"{name} is empty")
    if task == "regression":
        try:
            labels = labels.astype(np.float64)
        except (TypeError, ValueError):
            raise LabelError(f"{name} must be numbers for a regressor") from None
        _check_finite(labels, name)
    if labels.dtype.kind == "O" and len({type(label) for label in labels.tolist()}) > 1:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise LabelError(f"{name} mixes labels of the types {', '.join(kinds)}; use one")
    _not_constant(labels, name, "there is nothing to learn")
    if task == "regression":
        _check_range(labels, name)
    return labels


def _check_range(labels: np.ndarray, name: str) -> None:
    """Raise if squares of the numbers, as variances have them, exceed the range of floats."""
    largest = float(np.abs(labels).max())
    if largest > LARGEST or float(np.ptp(labels)) < 1 / LARGEST:
        raise InvalidValueError(
            f"{name} goes from {labels.min():g} to {labels.max():g}; variances of such numbers are "
            "beyond what a float can hold; give them in another unit"
        )


def _not_constant(labels: np.ndarray, name: str, advice: str) -> None:
    if (labels == labels[0]).all():
        raise InvalidValueError(
            f"{name} is {labels[:1].tolist()[0]!r} in all {len(labels):,} samples; {advice}"
        )


def check_length(X: Any, y: np.ndarray, *names: str) -> None:
    from sklearn.utils.validation import _num_samples

    count = _num_samples(X)
    if count != len(y):
        raise ShapeError(f"{names[0]} has {count:,} samples and {names[1]} {len(y):,}")


def _check_classes(y: np.ndarray, guessed: bool) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        rare = classes[counts < 2].tolist()
        named = ", ".join(map(repr, rare[:5])) + (", ..." if len(rare) > 5 else "")
        advice = "leave them out, or join them with others"
        if guessed and y.dtype.kind in "fiu":
            advice += f"; {NUMBERS}"
        elif y.dtype.kind == "f":
            advice = "use a regressor for a target of numbers"
        raise LabelError(f"y has classes with one sample: {named}; {advice}")


def _split(y: np.ndarray, task: str, draws: Draws) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.model_selection import train_test_split

    strata = strata_of(y, task)
    # One of each stratum at least; as many are left, since every class has two.
    held = max(int(np.ceil(_HELD_OUT * len(y))), int(strata.max()) + 1)
    train, test = train_test_split(
        np.arange(len(y)), test_size=held, stratify=strata, random_state=draws.split()
    )
    return np.sort(train), np.sort(test)
