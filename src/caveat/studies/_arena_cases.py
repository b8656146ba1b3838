"""Pairs of data and models for the arena: predictions that are made once and kept on disk."""

import hashlib
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import generator
from .._validation import FloatArray
from .._writing import replacing
from ..datasets import load_adult, load_compas, load_fashion_mnist
from ..exceptions import LabelError, OptionError
from ..files.read import read_predictions
from ..predictions import Categorical, GaussianLogits

Codes = NDArray[np.intp]

FOLDS = 5
TEST_SHARE = 0.4
"""Share of the samples that test; the others train, and calibrate by predictions across folds."""

_SUFFIXES = (".csv", ".tsv", ".gz", ".parquet", ".npz", ".arrow", ".feather", ".jsonl")


@dataclass(frozen=True)
class Case:
    """Predictions of one model: those to calibrate with, and those to test on.

    Attributes
    ----------
    data, model : str
    calibration, test : ndarrays of shape (samples, classes)
    calibration_y, test_y : ndarrays of shape (samples,)
        Positions of the true classes.
    """

    data: str
    model: str
    calibration: FloatArray
    calibration_y: Codes
    test: FloatArray
    test_y: Codes

    @property
    def kind(self) -> str:
        """Whether there are two classes or more."""
        return "two classes" if self.calibration.shape[1] == 2 else "more classes"


@dataclass(frozen=True)
class Sample:
    """A data set: what to learn from, and what to test on; the two may differ by a shift."""

    X: FloatArray
    y: Codes
    new: FloatArray
    new_y: Codes


def _split(X: Any, y: Any, seed: int, most: int) -> Sample:
    """Draw at most ``most`` samples, and the share of them that tests."""
    from sklearn.model_selection import train_test_split

    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if len(y) > most:
        X, _, y, _ = train_test_split(X, y, train_size=most, random_state=seed, stratify=y)
    codes = np.unique(y, return_inverse=True)[1].reshape(-1)
    parts = train_test_split(X, codes, test_size=TEST_SHARE, random_state=seed, stratify=codes)
    return Sample(parts[0], parts[2], parts[1], parts[3])


def _of_sklearn(name: str) -> Callable[[int, int], Sample]:
    def make(seed: int, most: int) -> Sample:
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return _split(X, y, seed, most)

    return make


def _generated(shift: str = "", **options: Any) -> Callable[[int, int], Sample]:
    """Return clusters of classes; with a shift, the samples to test are drawn by another rule."""

    def make(seed: int, most: int) -> Sample:
        from sklearn.datasets import make_classification

        settings = {"n_features": 12, "n_informative": 6, "flip_y": 0.05, **options}
        X, y = make_classification(n_samples=2 * most, random_state=seed, **settings)
        sample = _split(X, y, seed, 2 * most if shift else most)
        if not shift:
            return sample
        rng = np.random.default_rng(seed)
        # Inputs shift along their widest direction; labels towards the last class.
        chance = np.where(sample.new_y == sample.new_y.max(), 0.9, 0.35)
        if shift == "inputs":
            place = sample.new[:, np.argmax(sample.new.std(axis=0))]
            chance = 1 / (1 + np.exp(-2 * (place - place.mean()) / place.std()))
        kept = rng.random(len(sample.new_y)) < chance
        train = np.arange(len(sample.y)) < most
        return Sample(sample.X[train], sample.y[train], sample.new[kept], sample.new_y[kept])

    return make


def _public(load: Callable[[], Any]) -> Callable[[int, int], Sample]:
    def make(seed: int, most: int) -> Sample:
        data = load()
        return _split(data.X.reshape(len(data), -1), data.y, seed, 4 * most)

    return make


GENERATED: Mapping[str, Callable[[int, int], Sample]] = {
    "breast_cancer": _of_sklearn("breast_cancer"),
    "blobs": _generated(n_clusters_per_class=2, class_sep=0.7),
    "rare": _generated(weights=[0.9], class_sep=0.8),
    "noisy": _generated(flip_y=0.3),
    "many_features": _generated(n_features=60, n_informative=20, class_sep=0.6),
    "shifted_inputs": _generated("inputs", class_sep=0.8),
    "shifted_labels": _generated("labels", class_sep=0.8),
    "wine": _of_sklearn("wine"),
    "digits": _of_sklearn("digits"),
    "three": _generated(n_classes=3, class_sep=0.8),
    "five": _generated(n_classes=5, n_informative=8, class_sep=1.0),
    "ten": _generated(n_classes=10, n_informative=9, n_clusters_per_class=1, class_sep=1.0),
    "rare_of_four": _generated(n_classes=4, weights=[0.6, 0.25, 0.1], class_sep=0.9),
    "shifted_inputs_of_four": _generated("inputs", n_classes=4, class_sep=0.9),
}
"""Data that come with scikit-learn, or are drawn; the last half has more than two classes."""

PUBLIC: Mapping[str, Callable[[int, int], Sample]] = {
    "adult": _public(load_adult),
    "compas": _public(load_compas),
    "fashion_mnist": _public(load_fashion_mnist),
}
"""Public data, used if the environment variable CAVEAT_DATA names their folder."""


def _models(seed: int) -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    boosting = HistGradientBoostingClassifier(max_iter=60, random_state=seed)
    network = MLPClassifier((64,), max_iter=150, random_state=seed)
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        "forest": RandomForestClassifier(60, random_state=seed),
        "boosting": boosting,
        "naive_bayes": GaussianNB(),
        "network": make_pipeline(StandardScaler(), network),
        "svm": make_pipeline(StandardScaler(), SVC(decision_function_shape="ovr")),
    }


MODELS = ("logistic", "forest", "boosting", "naive_bayes", "network", "svm")
"""The last one has no probabilities: the softmax of its margins is taken for them."""


def known_data() -> list[str]:
    """Return the names of the data sets at hand."""
    return [*GENERATED, *(PUBLIC if os.environ.get("CAVEAT_DATA") else ())]


def make_case(data: str, model: str, seed: int, most: int, cache: Path | None) -> Case:
    """Return the predictions of a model on a data set, from the cache if they are there."""
    sample = {**GENERATED, **PUBLIC}[data](seed, most)
    estimator = _models(seed)[model]
    path = None if cache is None else cache / f"{data}-{model}-{_mark(sample, estimator)}.npz"
    made = None if path is None else _cached(path)
    if made is None:
        made = _predicted(estimator, sample, seed)
        if path is not None:
            _keep(path, made)
    return Case(data, model, made[0], sample.y, made[1], sample.new_y)


def _mark(sample: Sample, estimator: Any) -> str:
    """Return a fingerprint of all that decides the predictions."""
    import joblib
    import sklearn

    parts = (sample.X, sample.y, sample.new, sample.new_y)
    text = f"{joblib.hash(parts)} {estimator!r} {FOLDS} {sklearn.__version__}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _cached(path: Path) -> tuple[FloatArray, FloatArray] | None:
    try:
        with path.open("rb") as file, np.load(file) as content:
            return content["calibration"], content["test"]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):  # not there, or damaged
        return None


def _keep(path: Path, made: tuple[FloatArray, FloatArray]) -> None:
    """Write predictions; a run that is stopped meanwhile leaves no half of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as beside, beside.open("wb") as file:
        np.savez(file, calibration=made[0], test=made[1])


def _predicted(estimator: Any, sample: Sample, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return out-of-fold predictions of the samples to learn from, and those of the test."""
    import warnings

    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    classes = int(sample.y.max()) + 1
    result = np.empty((len(sample.y), classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a network that has not converged is a case, too
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        for rest, rows in folds.split(sample.X, sample.y):
            fitted = clone(estimator).fit(sample.X[rest], sample.y[rest])
            result[rows] = _probabilities(fitted, sample.X[rows])
        whole = clone(estimator).fit(sample.X, sample.y)
        return result, _probabilities(whole, sample.new)


def _probabilities(fitted: Any, X: FloatArray) -> FloatArray:
    if hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict_proba(X), dtype=np.float64)
    margins = fitted.decision_function(X)
    if margins.ndim == 1:
        margins = np.column_stack([-margins / 2, margins / 2])
    power = np.exp(margins - margins.max(axis=1, keepdims=True))
    return np.asarray(power / power.sum(axis=1, keepdims=True))


def cases_of_folder(folder: Path, seed: int) -> list[Case]:
    """Return a case for each file of predictions in a folder: half calibrates, half tests."""
    paths = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES)
    if not paths:
        raise OptionError(
            f"predictions {str(folder)!r} holds no file of predictions, such as model.csv"
        )
    cases = []
    first: dict[bytes, str] = {}
    for path in paths:
        case = _case_of_file(path, seed)
        # Files with the same truth are models of one data set, which the first of them names.
        truth = case.calibration_y.tobytes() + case.test_y.tobytes()
        name = first.setdefault(truth, case.data)
        cases.append(case if name == case.data else replace(case, data=name, model=case.data))
    return cases


def _case_of_file(path: Path, seed: int) -> Case:
    table = read_predictions(path)
    prediction = table.prediction
    if not isinstance(prediction, Categorical | GaussianLogits) or table.y is None:
        raise OptionError(f"{path} must hold probabilities of classes, and what was true")
    if isinstance(prediction, GaussianLogits):
        prediction = prediction.to_categorical()
    codes = prediction.align(table.y)
    counts = np.bincount(codes, minlength=len(prediction.classes))
    if len(codes) < 20 or counts.max() == len(codes):
        raise LabelError(
            f"{path} has {len(codes)} samples of {np.count_nonzero(counts)} classes; the arena "
            "needs 20 samples at least, of two classes, half to calibrate and half to test"
        )
    order = generator(seed).permutation(len(codes))
    # Every other sample of each class, in random order.
    order = order[np.argsort(codes[order], kind="stable")]
    first, second = np.sort(order[::2]), np.sort(order[1::2])
    p = prediction.mean
    return Case(path.stem, "file", p[first], codes[first], p[second], codes[second])
