"""Why a prediction is uncertain: near a random guess, between close classes, or distant ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._validation import (
    FloatArray,
    LabelArray,
    as_rows,
    check_fraction,
    check_integer,
    encode_labels,
)
from ..evaluation.verdict import Verdict
from ..exceptions import LabelError, OptionError, ShapeError
from ..results.tables import (
    Drawable,
    RowTable,
    ShownTable,
    html_tables,
    number,
    terminal_table,
)
from ..results.words import Statement, counted, joined, most_of, whole
from ..uncertainty import gini_impurity, homophily_maximum, homophily_uncertainty
from ..uncertainty.distances import check_distances
from ._given import as_classes
from ._mistakes import MistakeRow, above_gini, are_distant, mistake_rows, mistake_table, share_wrong
from ._neighbors import nearest_samples
from ._pairs import Confusion, PairRow, pair_rows

_MOST_PAIRS = 20
"""Of more pairs of classes the most frequent ones are shown."""
_SAYS = {
    Confusion.SURE: "The prediction is far from a random guess.",
    Confusion.NEAR: "The model hesitates between classes that are hard to separate.",
    Confusion.DISTANT: "The model hesitates between classes that are far apart: a warning.",
    Confusion.CANDIDATE: "Every model hesitates between distant classes: an outlier, a wrong "
    "label, or a class that the training data do not have.",
}


@dataclass(frozen=True, repr=False, eq=False)
class UncertaintyExplanation(RowTable[PairRow], Drawable):
    """Why each prediction is uncertain; see `explain_uncertainty`.

    Attributes
    ----------
    rows : tuple of PairRow
        The pairs of classes that predictions hesitate between, the most frequent first.
    geometric, homophily : ndarray of shape (samples,)
        How near to a random guess, and how far apart the confused classes are; means over models.
    separation : ndarray of shape (samples,)
        The homophily-based uncertainty of the mean over models, divided by what it would be if all
        classes were equally far apart; NaN for a prediction without doubt.
    kinds : ndarray of shape (samples,)
        A `Confusion` for each sample.
    between : ndarray of shape (samples, 2)
        The positions of the two most probable classes.
    confused : ndarray of bool of shape (samples, classes)
        Which classes are more probable than in a random guess.
    classes : ndarray of shape (classes,)
    models : int
    neighbors : ndarray of int of shape (samples, neighbors), optional
        The nearest training samples, or the nearest other samples without those.
    unlike : ndarray of float of shape (samples,), optional
        The share of the training samples that are nearer to their own neighbors than this sample is
        to its.
    neighbor_labels : ndarray of shape (samples, neighbors), optional
    mistakes : tuple of MistakeRow
        How many predictions of each kind are wrong, if the true classes are known.
    distant_pairs : ndarray of bool of shape (classes, classes)
        Which classes are distant: whether a prediction that is torn between the two would be of
        that kind.
    """

    row_type: ClassVar = PairRow

    rows: tuple[PairRow, ...]
    geometric: FloatArray
    homophily: FloatArray
    separation: FloatArray
    kinds: NDArray[Any]
    between: NDArray[np.intp]
    confused: NDArray[np.bool_]
    classes: LabelArray
    models: int
    distant_pairs: NDArray[np.bool_]
    neighbors: NDArray[np.intp] | None = None
    unlike: FloatArray | None = None
    neighbor_labels: NDArray[Any] | None = None
    mistakes: tuple[MistakeRow, ...] = ()

    def with_truth(
        self, y: Any, *, samples: Any = None, cluster: Any = None, confidence: float = 0.95
    ) -> "UncertaintyExplanation":
        """Return the same with ``mistakes``: how many predictions of each kind are wrong.

        Parameters
        ----------
        y : array
            The true classes.
        samples : slice, array of int or array of bool, optional
            Which samples ``y`` and ``cluster`` are of; by default all.
        cluster : array, optional
            Samples that belong together, such as the pixels of one block: intervals of the shares
            take them for one.
        confidence : float, default=0.95
            The confidence level of these intervals.
        """
        level = check_fraction(confidence, "confidence")
        rows = as_rows(slice(None) if samples is None else samples, len(self.kinds))
        truth, kinds = encode_labels(y, self.classes), self.kinds[rows]
        if len(truth) != len(kinds):
            raise ShapeError(f"y has {len(truth)} samples, the prediction has {len(kinds)}")
        predicted = self.between[rows, 0]
        mistakes = mistake_rows(kinds, truth, predicted, self.distant_pairs, cluster, level)
        return replace(self, mistakes=mistakes)

    def counts(self) -> dict[Confusion, int]:
        """Return how many predictions are of each kind."""
        return {kind: int((self.kinds == kind.value).sum()) for kind in Confusion}

    def hesitates_between(self, sample: int) -> list[Any]:
        """Return the classes above a random guess, the most probable first.

        Parameters
        ----------
        sample : int
        """
        chosen = np.flatnonzero(self.confused[sample])
        first = [code for code in self.between[sample].tolist() if self.confused[sample, code]]
        others = [code for code in chosen.tolist() if code not in first]
        return self.classes[[*first, *others]].tolist()

    def candidates(self) -> NDArray[np.intp]:
        """Return the candidates for outliers, wrong labels or unknown classes, worst first."""
        rows = np.flatnonzero(self.kinds == Confusion.CANDIDATE.value)
        return rows[np.argsort(-self.homophily[rows], kind="stable")]

    def to_samples(self) -> Any:
        """Return one row for each sample as a pandas DataFrame."""
        import pandas as pd

        columns = {
            "geometric": self.geometric,
            "homophily": self.homophily,
            "separation": self.separation,
            "kind": self.kinds,
            "first": self.classes[self.between[:, 0]],
            "second": self.classes[self.between[:, 1]],
            "confused": self.confused.sum(axis=1),
        }
        if self.neighbors is not None and self.unlike is not None:
            columns |= {"nearest": self.neighbors[:, 0], "unlike": self.unlike}
        return pd.DataFrame(columns)

    def verdict(self) -> Verdict:
        """Say how many predictions are of which kind, and what to do with them."""
        counts, total = self.counts(), len(self.geometric)
        unsure = total - counts[Confusion.SURE]
        first = (
            f"{whole(unsure / total)} of {counted(total, 'prediction')} are not sure; "
            f"{counts[Confusion.NEAR]:,} hesitate between close classes, "
            f"{counts[Confusion.DISTANT] + counts[Confusion.CANDIDATE]:,} between distant ones."
        )
        said = [Statement("info", first)]
        if self.rows:
            either: dict[frozenset[str], int] = {}
            for row in self.rows:  # whichever of the two is the more probable
                pair = frozenset((row.first, row.second))
                either[pair] = either.get(pair, 0) + row.samples
            row = max(self.rows, key=lambda row: either[frozenset((row.first, row.second))])
            samples = either[frozenset((row.first, row.second))]
            said.append(
                Statement(
                    "info",
                    f"They hesitate most often between {row.first} and {row.second} "
                    f"({counted(samples, 'sample')}; the distance of these classes is "
                    f"{number(row.distance)} of the largest one).",
                )
            )
        candidates = counts[Confusion.CANDIDATE]
        if candidates:
            models = "the model" if self.models == 1 else f"all {self.models} models"
            text = (
                f"{counted(candidates, 'sample')} may be outliers, wrongly labeled or of a class "
                f"that is not known: {models} hesitate{'s' if self.models == 1 else ''} between "
                "distant classes there."
            )
            if self.unlike is not None:
                far = int((self.unlike[self.candidates()] > 0.95).sum())
                text += (
                    f" {far:,} of them are farther from their neighbors than 95 % of the others."
                )
            said.append(Statement("bad", text))
        if self.mistakes:
            said.append(self._mistaken())
        return Verdict(tuple(said))

    def _mistaken(self) -> Statement:
        every = self.mistakes[-1]
        known = every.samples < len(self.kinds)
        some = f"{counted(every.samples, 'prediction')} with a known true class"
        text = f"{whole(every.share)} of {some if known else 'the predictions'} are wrong"
        if every.wrong:
            shares = [f"{whole(row.share)} of {row.kind}" for row in self.mistakes[:-1]]
            text += (
                f" ({joined(shares)}); {whole(every.distant / every.wrong)} of the mistakes are "
                "between distant classes"
            )
        return Statement("info", text + ".")

    def tables(self) -> list[ShownTable]:
        """Return what is shown: the kinds, and the pairs of classes."""
        total = len(self.geometric)
        wrong = {row.kind: share_wrong(row) for row in self.mistakes}
        kinds = [
            [
                str(kind.value), f"{count:,}", f"{count / total:.1%}",
                *([wrong.get(kind.value, "")] if wrong else []), _SAYS[kind],
            ]
            for kind, count in self.counts().items()
        ]  # fmt: skip
        about = ("kind", "samples", "share", *(["really wrong"] if wrong else []), "what it says")
        pairs = [
            [
                row.first, row.second, number(row.distance), f"{row.samples:,}",
                f"{row.candidates:,}", number(row.geometric), number(row.homophily),
            ]
            for row in self.rows[:_MOST_PAIRS]
        ]  # fmt: skip
        header = (
            "first", "second", "distance", "samples", "candidates", "geometric", "homophily",
        )  # fmt: skip
        tables: list[ShownTable] = [
            ("Kinds of uncertainty", about, kinds),
            (
                "Classes that predictions hesitate between"
                + most_of("most frequent", len(pairs), len(self.rows)),
                header,
                pairs,
            ),
        ]
        if self.mistakes:
            tables.insert(1, mistake_table(self.mistakes))
        return tables

    def __repr__(self) -> str:
        return "\n".join([*(terminal_table(*t) for t in self.tables()), str(self.verdict())])

    def _repr_html_(self) -> str:
        return html_tables(self.tables()) + self.verdict()._repr_html_()


def explain_uncertainty(
    prediction: Any,
    distances: Any,
    X: Any = None,
    *,
    X_train: Any = None,
    y_train: Any = None,
    hesitant: float = 0.2,
    suspicious: float = 0.5,
    neighbors: int = 5,
    y: Any = None,
    cluster: Any = None,
    confidence: float = 0.95,
) -> UncertaintyExplanation:
    """Say of each prediction between which classes it hesitates, and whether that is a warning.

    No labels are needed. A prediction whose geometric uncertainty (the scaled Gini impurity) is at
    most ``hesitant`` is sure. The others are compared with classes that are equally far apart, for
    which the homophily-based uncertainty is the geometric one: where it is lower than that, the
    model hesitates between close classes, which are hard to separate; where it is higher, between
    distant ones, which is a warning. A sample of the last kind with a homophily-based uncertainty
    above ``suspicious`` under every model is a candidate for an outlier, a wrong label, or a class
    that the training data do not have.

    Parameters
    ----------
    prediction : Categorical, array of probabilities, or a sequence of them
        Several models of the same samples, in a list or a mapping; members of an ensemble in one
        Categorical count as one model.
    distances : array of shape (classes, classes), or data frame
        Distances between the classes, for instance from `caveat.class_distances`.
    X : array of shape (samples, features), optional
        The samples: adds their nearest neighbors by Euclidean distance.
    X_train, y_train : arrays, optional
        The training samples among which to look for neighbors, and their labels; without them,
        neighbors are other samples of X.
    hesitant : float, default=0.2
        The geometric uncertainty above which a prediction is not sure.
    suspicious : float, default=0.5
        The homophily-based uncertainty above which a sample is a candidate.
    neighbors : int, default=5
        How many neighbors.
    y : array of shape (samples,), optional
        The true classes, if they are known: adds how many predictions of each kind are wrong, and
        how many of these mistakes are between distant classes.
    cluster : array of shape (samples,), optional
        Samples that belong together, such as the pixels of one block: intervals of the shares of
        mistakes take them for one.
    confidence : float, default=0.95
        The confidence level of these intervals.

    References
    ----------
    .. [1] S. Chlaily, D. Ratha, P. Lozou, A. Marinoni. On Measures of Uncertainty in
       Classification. IEEE Transactions on Signal Processing 71, 3710-3725, 2023. Section IV.A.

    Examples
    --------
    Cats and dogs are close, ships are far from both:

    >>> import caveat
    >>> H = [[0, 1, 4], [1, 0, 4], [4, 4, 0]]
    >>> p = caveat.Categorical(
    ...     [[0.97, 0.02, 0.01], [0.5, 0.5, 0.0], [0.8, 0.0, 0.2], [0.4, 0.1, 0.5]],
    ...     classes=["cat", "dog", "ship"],
    ... )
    >>> result = caveat.explain_uncertainty(p, H)
    >>> result.kinds.tolist()
    ['sure', 'close classes', 'candidate', 'candidate']
    >>> result.hesitates_between(3)
    ['ship', 'cat']
    """
    models = _models(prediction)
    hesitant = _level(hesitant, "hesitant")
    suspicious = _level(suspicious, "suspicious")
    neighbors = check_integer(neighbors, "neighbors")
    classes = models[0].classes
    H = check_distances(distances, classes, "distances")
    best = homophily_maximum(H)
    mean = sum(model.mean for model in models) / len(models)
    each = np.array([homophily_uncertainty(model.mean, H, maximum=best) for model in models])
    geometric, homophily = gini_impurity(mean), each.mean(axis=0)
    doubt = geometric > 1e-12
    apart = homophily_uncertainty(mean, H, maximum=best)
    separation = np.full(len(mean), np.nan)
    separation[doubt] = apart[doubt] / geometric[doubt]
    kinds = np.full(len(mean), Confusion.SURE.value, dtype=object)
    unsure = geometric > hesitant
    distant = unsure & doubt & above_gini(apart, geometric)
    kinds[unsure] = Confusion.NEAR.value
    kinds[distant] = Confusion.DISTANT.value
    kinds[distant & (each > suspicious).all(axis=0)] = Confusion.CANDIDATE.value
    between = np.argsort(-mean, axis=1, kind="stable")[:, :2]
    confused = mean > 1 / len(classes) * (1 + 1e-12)
    near: dict[str, Any] = {}
    if X is not None:
        near = nearest_samples(X, X_train, y_train, len(mean), neighbors)
    elif X_train is not None or y_train is not None:
        raise OptionError("X_train and y_train are for the neighbors of X; pass X= too")
    kinds = kinds.astype(str)
    rows = pair_rows(between, unsure, kinds, geometric, homophily, H, classes)
    result = UncertaintyExplanation(
        tuple(rows), geometric, homophily, separation, kinds, between, confused, classes,
        len(models), are_distant(H, best.value), **near,
    )  # fmt: skip
    return result if y is None else result.with_truth(y, cluster=cluster, confidence=confidence)


def _models(prediction: Any) -> list[Any]:
    """Return the predictions of one or several models, of the same samples and classes."""
    several = isinstance(prediction, Mapping) or (
        isinstance(prediction, Sequence)
        and any(hasattr(one, "classes") or np.ndim(one) == 2 for one in prediction)
    )
    if not several:
        return [as_classes(prediction)]
    given = prediction.values() if isinstance(prediction, Mapping) else prediction
    models = [as_classes(one) for one in given]
    for other in models[1:]:
        if len(other) != len(models[0]):
            raise ShapeError(
                f"the models predict {len(models[0])} and {len(other)} samples; pass predictions "
                "of the same ones"
            )
        if other.classes.tolist() != models[0].classes.tolist():
            raise LabelError("the models have different classes, or another order of them")
    return models


def _level(value: float, name: str) -> float:
    return 0.0 if value == 0 else check_fraction(value, name)
