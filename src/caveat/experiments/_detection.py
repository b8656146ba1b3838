"""Out-of-distribution classes: does uncertainty find a class that a model was not trained on?"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, generator
from .._validation import FloatArray, check_fraction, check_integer
from ..exceptions import LabelError, OptionError
from ..metrics import detection_roc_auc_score
from ..uncertainty import decompose
from ..uncertainty.decompositions import DECOMPOSITIONS
from ._cost import cost_of
from ._detection_result import PARTS, ClassDetection
from ._engine import Training, run
from ._identity import identity
from ._inputs import as_inputs, check_length, checked_labels, said_task, take_test
from ._models import check_model, check_split, distribution, effort_of, expected, words_for
from .checkpoint import Folder, check_seed, mark_of
from .error import ROUNDING

_HELD_OUT = 5
"""One sample in so many of each class is held out for testing."""
_NOTE = (
    "areas are averaged over the classes that were left out; each model is trained on the other "
    "classes alone, so that there is no probability of the left-out class to renormalize"
)


@dataclass(frozen=True, eq=False)
class Split:
    """Which rows are learned from, and the samples to tell apart with their classes."""

    rows: NDArray[np.intp]
    held_out: Any
    held_out_rows: NDArray[np.intp] | None
    held_out_codes: NDArray[np.intp]

    def samples(self) -> Any:
        """Return the samples to tell apart."""
        from sklearn.utils import _safe_indexing

        rows = self.held_out_rows
        return self.held_out if rows is None else _safe_indexing(self.held_out, rows)


@dataclass(frozen=True)
class Measured:
    """What one training gave: areas (decompositions, 3), and what was constant."""

    names: tuple[str, ...]
    auc: list[list[float]]
    constant: list[list[bool]]
    members: int
    trainings: int = 1
    steps: int | None = None

    @classmethod
    def restore(cls, content: dict[str, Any]) -> "Measured":
        """Return the areas from what a file holds."""
        return cls(**{**content, "names": tuple(content["names"])})


@dataclass(frozen=True)
class Detector:
    """Measures how well the uncertainties of a fitted model find the class that was left out."""

    names: tuple[str, ...]

    def __call__(self, fitted: Any, training: Training) -> Measured:
        """Return the areas of each decomposition and kind of uncertainty."""
        split, left_out = training.condition
        is_out = split.held_out_codes == left_out
        prediction = distribution(fitted, split.samples())
        methods, auc, constant = [], [], []
        for name in self.names:
            result = decompose(prediction, name, random_state=training.seed)
            parts = [np.asarray(getattr(result, part)) for part in PARTS]
            scale = max(np.max(part, initial=0.0, where=np.isfinite(part)) for part in parts)
            ranks = [_ranks(part, scale) for part in parts]
            methods.append(result.method)
            auc.append([detection_roc_auc_score(is_out, rank) for rank in ranks])
            constant.append([bool(rank.max() == 0) for rank in ranks])
        members = int(prediction.members)
        return Measured(tuple(methods), auc, constant, members, *effort_of(fitted))


def class_detection(
    model: Any,
    X: Any,
    y: Any,
    *,
    test: tuple[Any, Any] | None = None,
    decomposition: str | Sequence[str] = "auto",
    repeats: int = 5,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    checkpoint: Any = None,
    confidence: float = 0.95,
    progress: bool = False,
) -> ClassDetection:
    """Leave each class out of the training once, and test whether uncertainty detects it.

    A model that has never seen a class should know that it does not know: the epistemic uncertainty
    of its samples should be above that of all others (ROC AUC near 1). The aleatoric uncertainty
    has no reason to (near 0.5), and in practice often finds them as well.

    Parameters
    ----------
    model : estimator
        A classifier: one of caveat, one of scikit-learn with members (forest, bagging, voting), or
        any object with ``fit`` and ``predict_distribution``. It stays unfitted. A network of your
        own (``module=``) must have one output less than there are classes.
    X : array of shape (samples, ...)
    y : array of shape (samples,)
        Three classes at least.
    test : pair (X, y), optional
        Samples to tell apart, of all classes. By default each repeat holds out its own fifth of
        every class; with a given one, repeats differ by their seeds alone.
    decomposition : str or list of str, default="auto"
        How to split, see `caveat.decompose`; several are read from the same trainings.
    repeats : int, default=5
        How often every class is left out, with other seeds.
    n_jobs : int, optional
        How many trainings run side by side, by joblib; for networks the number of lock-step
        batches, one by default. Numbers agree, those of networks up to rounding.
    confidence : float, default=0.95
        Confidence of the intervals over repeats.

    Notes
    -----
    The areas under the curves of the left-out classes are averaged. (One could average the curves
    instead.) Each model is trained on the remaining classes only: there is no column of the missing
    class to drop, and nothing to renormalize. Scale features within the model (networks of caveat
    do, others in a pipeline): a scaler fitted to all samples before has seen the class that is left
    out, and can change the areas a lot. Differences between
    uncertainties of at most 1e-12 of the largest are treated as zero, so that rounding errors do
    not change the ranks.

    References
    ----------
    I. P. de Jong, A. I. Sburlea, M. Sabatelli & M. Valdenegro-Toro (2026). Measuring orthogonality
    as the blind-spot of uncertainty disentanglement. Appendix E.1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> forest = RandomForestClassifier(n_estimators=20, min_samples_leaf=5)
    >>> X, y = load_wine(return_X_y=True)
    >>> result = class_detection(forest, X, y, repeats=2, random_state=0)
    >>> [row.uncertainty for row in result.select(left_out="") if row.value > 0.7]
    ['aleatoric', 'epistemic', 'total']
    """
    started = perf_counter()
    confidence = check_fraction(confidence, "confidence")
    names = _names(decomposition)
    repeats = check_integer(repeats, "repeats")
    check_model(model)
    if said_task(model) == "regression":
        raise OptionError(f"model must be a classifier; got {words_for(model)}")
    X, labels = as_inputs(X), checked_labels(y, "classification", "y")
    check_length(X, labels, "X", "y")
    classes, codes = _checked_classes(labels, test is None)
    given = None if test is None else _take_test(test, X, labels, classes)
    for name in names:
        if name != "auto":
            kind = expected(model, "classification")
            check_split(DECOMPOSITIONS[name], kind, None, model, "classification")
    check_seed(checkpoint, random_state)
    rng = generator(random_state)
    splits = [_split(X, codes, given, rng) for _ in range(repeats)]
    trainings = [
        _training(X, labels, codes, split, code, f"class {label}, repeat {repeat + 1}", rng)
        for repeat, split in enumerate(splits)
        for code, label in enumerate(classes.tolist())
    ]
    folder = None
    if checkpoint is not None:
        seeds = [training.seed for training in trainings]
        folder = Folder(checkpoint, mark_of((X, labels, given), identity(model), seeds, names))
    result: list[Measured] = run(
        model, trainings, Detector(names), Measured.restore, n_jobs=n_jobs, folder=folder,
        progress=progress,
    )  # fmt: skip
    shape = (repeats, len(classes), len(result[0].names), len(PARTS))
    auc = np.array([one.auc for one in result]).reshape(shape).transpose(2, 0, 1, 3)
    return ClassDetection(
        classes=tuple(classes.tolist()),
        decompositions=result[0].names,
        auc=auc,
        model=words_for(model),
        samples=len(splits[0].rows),
        test_samples=len(splits[0].held_out_codes),
        notes=(_NOTE, *_constant_notes(result)),
        cost=cost_of(result, perf_counter() - started),
        confidence=confidence,
    )


def _checked_classes(labels: np.ndarray, held_out: bool) -> tuple[np.ndarray, NDArray[np.intp]]:
    """Return the classes, and that of each sample."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 3:
        raise LabelError(
            f"y has {len(classes)} classes; without one of them two must be left to learn from, so "
            "that three are needed"
        )
    counts = np.bincount(codes)
    if held_out and counts.min() < 2:
        raise LabelError(
            f"class {classes.tolist()[counts.argmin()]!r} has one sample, and both training and "
            "testing need one; leave the class out, or pass test=(X, y)"
        )
    return classes, codes.reshape(-1)


def _take_test(
    test: Any, X: Any, labels: np.ndarray, classes: np.ndarray
) -> tuple[Any, NDArray[np.intp]]:
    samples, truths = take_test(test, X, labels, "classification")
    absent = np.setdiff1d(classes, truths)
    if len(absent):
        raise LabelError(
            f"test has no sample of class {absent.tolist()[0]!r}, which is to be found when it was "
            "left out"
        )
    return samples, np.searchsorted(classes, truths)


def _split(X: Any, codes: NDArray[np.intp], given: Any, rng: np.random.Generator) -> Split:
    """Return the given samples to tell apart, or hold some of each class out."""
    if given is not None:
        return Split(np.arange(len(codes)), given[0], None, given[1])
    held_out = np.zeros(len(codes), dtype=bool)
    for code in range(codes.max() + 1):
        members = rng.permutation(np.flatnonzero(codes == code))
        held_out[members[: max(1, len(members) // _HELD_OUT)]] = True
    rows = np.flatnonzero(held_out)
    return Split(np.flatnonzero(~held_out), X, rows, codes[rows])


def _training(
    X: Any, y: np.ndarray, codes: NDArray[np.intp], split: Split, left_out: int, name: str,
    rng: np.random.Generator,
) -> Training:  # fmt: skip
    rows = split.rows[codes[split.rows] != left_out]
    words = f"the condition 'without {name}'"
    file = f"{left_out}-{name.rpartition(' ')[2]}"
    return Training(file, words, X, y, rows, int(rng.integers(2**31)), (split, left_out))


def _names(decomposition: Any) -> tuple[str, ...]:
    """Return full names of decompositions of classes; "auto" stays."""
    given = [decomposition] if isinstance(decomposition, str) else list(decomposition)
    if not given:
        raise OptionError("decomposition is an empty list; name one at least, or pass 'auto'")
    names = []
    for one in given:
        name = one if one == "auto" else DECOMPOSITIONS[one].name
        if name == "total_variance":
            raise OptionError("decomposition 'total_variance' splits numbers; y has classes")
        names.append(name)
    return tuple(dict.fromkeys(names))


def _ranks(values: FloatArray, scale: float) -> FloatArray:
    """Return the order of values alone: an infinite divergence has a place in it.

    Values that differ by rounding alone, beside this scale, have the same place.
    """
    cells = np.round(values / scale / ROUNDING) if scale > 0 else values
    return np.unique(cells, return_inverse=True)[1].reshape(-1).astype(np.float64)


def _constant_notes(result: Sequence[Measured]) -> list[str]:
    """Say which areas are 0.5 because there is nothing to order by."""
    notes = []
    constant = np.array([one.constant for one in result])
    for d, name in enumerate(result[0].names):
        for p, part in enumerate(PARTS):
            count = int(constant[:, d, p].sum())
            if not count:
                continue
            single = part == "epistemic" and max(one.members for one in result) == 1
            why = ": the model has one member, which cannot disagree with itself" if single else ""
            where = "" if count == len(result) else f" in {count} of {len(result)} trainings"
            notes.append(
                f"{part} uncertainty by {name} is the same for all samples{where}{why}; its area "
                "is 0.5 there"
            )
    return notes
