"""Out-of-distribution classes: does uncertainty find a class that a model was not trained on?"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, generator
from .._validation import FloatArray, check_fraction
from ..exceptions import OptionError
from ..metrics import detection_roc_auc_score
from ..uncertainty import decompose
from ..uncertainty.decompositions import DECOMPOSITIONS
from ._detection_data import Split, take_labeled
from ._detection_result import PARTS, ClassDetection
from ._models import check_split, distribution, expected, words_for
from ._result import Cost
from .error import ROUNDING

_NOTE = (
    "areas are averaged over the classes that were left out; each model is trained on the other "
    "classes alone, so that there is no probability of the left-out class to renormalize"
)


@dataclass(frozen=True, eq=False)
class Condition:
    """One training: what is left out, which rows are learned from, and the seeds."""

    split: Split
    left_out: int
    seed: int
    words: str
    """For messages."""

    @property
    def rows(self) -> NDArray[np.intp]:
        """The rows to learn from: those of the split without the class."""
        split = self.split
        return split.rows[split.codes[split.rows] != self.left_out]


@dataclass(frozen=True)
class Measured:
    """What one training gave: areas (decompositions, 3), and what was constant."""

    names: tuple[str, ...]
    auc: list[list[float]]
    constant: list[list[bool]]
    members: int
    trainings: int = 1
    steps: int | None = None


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
    """Leave each class out of the training once: does the uncertainty tell it from the others?

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
        Processes for models that are no networks, by joblib; networks train in lock-step.
    random_state : int, Generator or None
        The result depends neither on ``n_jobs`` nor on the order of the work.
    checkpoint : path, optional
        A folder from which a killed run goes on; needs an integer as ``random_state``.
    confidence : float, default=0.95
        Of the intervals over repeats.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    ClassDetection

    Notes
    -----
    The areas under the curves of the left-out classes are averaged. (One could average the curves
    instead.) Each model is trained on the remaining classes only: there is no column of the missing
    class to drop, and nothing to renormalize. Scale features within the model (networks of caveat
    do, others in a pipeline): a scaler fitted to all samples before has seen the class that is left
    out, and can change the areas a lot. Uncertainties that differ by 1e-12 of the largest or less
    count as the same, or rounding errors would be an order.

    References
    ----------
    I. P. de Jong, A. I. Sburlea, M. Sabatelli & M. Valdenegro-Toro (2026). Measuring orthogonality
    as the blind-spot of uncertainty disentanglement. Appendix E.1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from caveat.experiments import class_detection
    >>> forest = RandomForestClassifier(n_estimators=20, min_samples_leaf=5)
    >>> X, y = load_wine(return_X_y=True)
    >>> result = class_detection(forest, X, y, repeats=2, random_state=0)
    >>> [row.uncertainty for row in result.select(left_out="") if row.value > 0.7]
    ['aleatoric', 'epistemic', 'total']
    """
    from ._detection_training import run

    started = perf_counter()
    confidence = check_fraction(confidence, "confidence")
    names = _names(decomposition)
    if isinstance(repeats, bool) or not isinstance(repeats, int | np.integer) or repeats < 1:
        raise OptionError(f"repeats must be a whole number of at least 1; got {repeats!r}")
    data = take_labeled(model, X, y, test)
    for name in names:
        if name != "auto":
            kind = expected(model, "classification")
            check_split(DECOMPOSITIONS[name], kind, None, model, "classification")
    whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if checkpoint is not None and not whole:
        raise OptionError(
            "checkpoint needs an integer as random_state, so that a second call asks for the same; "
            f"got {random_state!r}"
        )
    rng = generator(random_state)
    splits = data.splits(repeats, rng)
    conditions = [
        Condition(split, code, int(rng.integers(2**31)), _words(label, repeat))
        for repeat, split in enumerate(splits)
        for code, label in enumerate(data.classes.tolist())
    ]
    found = run(
        model, data, conditions, names, n_jobs=n_jobs, checkpoint=checkpoint, progress=progress
    )
    shape = (repeats, len(data.classes), len(found[0].names), len(PARTS))
    auc = np.array([one.auc for one in found]).reshape(shape).transpose(2, 0, 1, 3)
    steps = [one.steps for one in found]
    return ClassDetection(
        classes=tuple(data.classes.tolist()),
        decompositions=found[0].names,
        auc=auc,
        model=words_for(model),
        samples=len(splits[0].rows),
        test_samples=len(splits[0].held_codes),
        notes=(_NOTE, *_constant_notes(found)),
        cost=Cost(
            sum(one.trainings for one in found),
            None if None in steps else sum(one or 0 for one in steps),
            perf_counter() - started,
        ),
        confidence=confidence,
    )


def _words(label: Any, repeat: int) -> str:
    return f"the condition 'without class {label}, repeat {repeat + 1}'"


def _names(decomposition: Any) -> list[str]:
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
    return list(dict.fromkeys(names))


def measure(
    model: Any, X: Any, is_out: NDArray[np.bool_], names: Sequence[str], seed: int
) -> Measured:
    """Return how well the uncertainties of a fitted model find what is marked."""
    prediction = distribution(model, X)
    found, auc, constant = [], [], []
    for name in names:
        split = decompose(prediction, name, random_state=seed)
        parts = [np.asarray(getattr(split, part)) for part in PARTS]
        scale = max(np.max(part, initial=0.0, where=np.isfinite(part)) for part in parts)
        ranks = [_ranks(part, scale) for part in parts]
        found.append(split.method)
        auc.append([detection_roc_auc_score(is_out, rank) for rank in ranks])
        constant.append([bool(rank.max() == 0) for rank in ranks])
    return Measured(tuple(found), auc, constant, int(prediction.members))


def _ranks(values: FloatArray, scale: float) -> FloatArray:
    """Return the order of values alone: an infinite divergence has a place in it.

    Values that differ by rounding alone, beside this scale, have the same place.
    """
    cells = np.round(values / scale / ROUNDING) if scale > 0 else values
    return np.unique(cells, return_inverse=True)[1].reshape(-1).astype(np.float64)


def _constant_notes(found: Sequence[Measured]) -> list[str]:
    """Say which areas are 0.5 because there is nothing to order by."""
    notes = []
    constant = np.array([one.constant for one in found])
    for d, name in enumerate(found[0].names):
        for p, part in enumerate(PARTS):
            count = int(constant[:, d, p].sum())
            if not count:
                continue
            single = part == "epistemic" and max(one.members for one in found) == 1
            why = ": the model has one member, which cannot disagree with itself" if single else ""
            where = "" if count == len(found) else f" in {count} of {len(found)} trainings"
            notes.append(
                f"{part} uncertainty by {name} is the same for all samples{where}{why}; its area "
                "is 0.5 there"
            )
    return notes
