"""Which measure of uncertainty tells wrong predictions from right ones?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState
from .._validation import FloatArray, LabelArray, as_floats, check_finite, check_fraction
from ..evaluation.verdict import Verdict
from ..exceptions import OptionError, ShapeError
from ..resampling import make_plan
from ..results.tables import (
    Drawable,
    RowTable,
    ShownTable,
    html_tables,
    interval_words,
    number,
    terminal_table,
)
from ..results.words import Level, Statement, capitalized, joined
from ..uncertainty import MEASURES, measure
from ..uncertainty.distances import check_distances
from ._given import as_classes
from ._measure_rows import MeasureRow, measure_rows

HOMOPHILY, ENERGY, CONFUSED = "homophily_uncertainty", "energy", "confused_classes"
NAN = float("nan")


@dataclass(frozen=True, repr=False, eq=False)
class MeasureComparison(RowTable[MeasureRow], Drawable):
    """Measures of uncertainty side by side; see `compare_measures`.

    Attributes
    ----------
    rows : tuple of MeasureRow
    values : dict of str to ndarray of shape (samples,)
        Each measure of each sample.
    wrong : ndarray of bool of shape (samples,)
    confused : ndarray of int of shape (samples,)
        How many classes are more probable than in a random guess.
    codes, predicted, second : ndarrays of int of shape (samples,)
        The positions of the true, the most probable and the second most probable class.
    classes : ndarray of shape (classes,)
    confidence : float
    """

    row_type: ClassVar = MeasureRow

    rows: tuple[MeasureRow, ...]
    values: Mapping[str, FloatArray]
    wrong: NDArray[np.bool_]
    confused: NDArray[np.intp]
    codes: NDArray[np.intp]
    predicted: NDArray[np.intp]
    second: NDArray[np.intp]
    classes: LabelArray
    confidence: float

    def by_confusion(self) -> Any:
        """Return the mean of each measure by the number of confused classes, as a DataFrame.

        A measure that decreases from one row to the next takes a less decided prediction for a more
        certain one. 0 confused classes is the uniform distribution alone.
        """
        import pandas as pd

        frame = pd.DataFrame({"classes": self.confused, "samples": 1} | dict(self.values))
        grouped = frame.groupby("classes")
        return grouped.mean().assign(samples=grouped.size()).reset_index()

    def near_misses(self) -> Any:
        """Return homophily beside the equidistant case, where the true class was the second.

        One row for each pair of a true and a predicted class, as a DataFrame: how many predictions
        were wrong with the true class second, and mean and standard deviation of the scaled Gini
        impurity (all classes equally far apart) and of the homophily-based uncertainty. Where the
        classes are close, the second is the lower.
        """
        import pandas as pd

        if HOMOPHILY not in self.values:
            raise OptionError("near misses need distances between the classes; pass distances=")
        rows = self.wrong & (self.second == self.codes)
        frame = pd.DataFrame(
            {
                "true": self.classes[self.codes[rows]],
                "predicted": self.classes[self.predicted[rows]],
                "equidistant": self.values["gini_impurity"][rows],
                "homophily": self.values[HOMOPHILY][rows],
            }
        )
        grouped = frame.groupby(["true", "predicted"])
        result = grouped.agg(["mean", _deviation])
        result.columns = [
            "equidistant_mean", "equidistant_deviation", "homophily_mean", "homophily_deviation",
        ]  # fmt: skip
        result.insert(0, "samples", grouped.size())
        return result.reset_index()

    def verdict(self) -> Verdict:
        """Say which measure to use to find the wrong predictions."""
        rows = [row for row in self.rows if not row.one_class]
        known = [row for row in rows if row.detection == row.detection]
        if not known:
            what = "right" if not self.wrong.any() else "wrong"
            return Verdict(
                (Statement("info", f"All predictions are {what}: there is nothing to tell apart."),)
            )
        best = max(known, key=lambda row: row.detection)
        same = [row for row in known if row is not best and row.behind == 0]
        level: Level = "good" if best.low > 0.5 else "unsure"
        interval = interval_words(best.low, best.high)
        first = (
            f"{_words(best.measure)} separates wrong from right predictions best: a wrong one has "
            f"the larger value with probability {number(best.detection)}"
            f"{f' ({interval})' if interval else ''}."
        )
        said = [Statement(level, first)]
        if same:
            said.append(
                Statement(
                    "info",
                    f"{capitalized(_listed([best, *same]))} do so equally well in these samples.",
                )
            )
        others = [row for row in known if row is not best and row not in same]
        worse = [row for row in others if row.behind_low > 0]
        if worse:
            said.append(Statement("info", f"Shown to be worse: {_listed(worse)}."))
        unclear = [row for row in others if not row.behind_low > 0]
        if unclear:
            said.append(
                Statement("unsure", f"The data cannot show that {_listed(unclear)} would be worse.")
            )
        scaled = [row for row in rows if row.measure not in (CONFUSED, ENERGY)]
        if scaled:
            widest = max(scaled, key=lambda row: row.margin)
            said.append(
                Statement(
                    "info",
                    "Among the measures from 0 to 1 the means of right and wrong predictions are "
                    f"farthest apart for {widest.measure.replace('_', ' ')}: "
                    f"{number(widest.right_mean)} and {number(widest.wrong_mean)}.",
                )
            )
        return Verdict(tuple(said))

    def tables(self) -> list[ShownTable]:
        """Return what is shown: the measures of all samples."""
        body = [
            [
                row.measure, *_means(row),
                _with_interval(row.detection, row.low, row.high),
                _with_interval(row.behind, row.behind_low, row.behind_high),
            ]
            for row in self.rows
            if not row.one_class
        ]  # fmt: skip
        header = (
            "measure", "means: right, wrong", "skewness: right, wrong", "error detection",
            "behind the best",
        )  # fmt: skip
        wrong = int(self.wrong.sum())
        title = f"Uncertainty of {len(self.wrong) - wrong:,} right and {wrong:,} wrong predictions"
        return [(title, header, body)]

    def __repr__(self) -> str:
        return "\n".join([*(terminal_table(*t) for t in self.tables()), str(self.verdict())])

    def _repr_html_(self) -> str:
        return html_tables(self.tables()) + self.verdict()._repr_html_()


def _deviation(part: Any) -> float:
    return float(part.std(ddof=0))


def _means(row: MeasureRow) -> list[str]:
    return [
        ", ".join(number(value) or "none" for value in pair)
        for pair in ((row.right_mean, row.wrong_mean), (row.right_skewness, row.wrong_skewness))
    ]


def _with_interval(value: float, low: float, high: float) -> str:
    words = interval_words(low, high)
    return f"{number(value)} ({words})" if words else number(value)


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _listed(rows: Sequence[MeasureRow]) -> str:
    return joined([row.measure.replace("_", " ") for row in rows])


def compare_measures(
    prediction: Any,
    y: Any,
    *,
    distances: Any = None,
    logits: Any = None,
    measures: Sequence[str] | None = None,
    cluster: Any = None,
    by_class: bool = True,
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: RandomState = None,
) -> MeasureComparison:
    """Compare measures of uncertainty by how they separate right from wrong predictions.

    Means and skewness of right and of wrong predictions are those of table VII of [1]_, error
    detection is the area under the receiver operating characteristic with paired intervals of the
    differences, so that the verdict rests on what the data show.

    Parameters
    ----------
    prediction : Categorical, or an array of probabilities
    y : array of shape (samples,)
        The true classes.
    distances : array of shape (classes, classes), optional
        Distances between the classes, for instance from `caveat.class_distances`; adds the
        homophily-based uncertainty.
    logits : array of shape (samples, classes), optional
        Those of the same model; adds the energy, minus the logarithm of the sum of their
        exponentials.
    measures : sequence of str, optional
        Names in ``caveat.uncertainty.MEASURES``, with their default options; by default all of
        them.
    cluster : array of shape (samples,), optional
        Samples that belong together: whole clusters are resampled.
    by_class : bool, default=True
        Whether to add rows for the samples of each true class.

    References
    ----------
    .. [1] S. Chlaily, D. Ratha, P. Lozou, A. Marinoni. On Measures of Uncertainty in
       Classification. IEEE Transactions on Signal Processing 71, 3710-3725, 2023.

    Examples
    --------
    >>> import numpy as np, caveat
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([0.6, 0.3, 0.3], 500)
    >>> y = (rng.random((500, 1)) > p.cumsum(axis=1)).sum(axis=1)
    >>> result = caveat.compare_measures(p, y, measures=["gini", "margin"], random_state=0)
    >>> [(row.measure, round(row.detection, 2)) for row in result.select(one_class="")]
    [('gini_impurity', 0.78), ('margin', 0.77)]
    """
    given = as_classes(prediction, y)
    confidence = check_fraction(confidence, "confidence")
    codes = given.align(y)
    values = _values(given, distances, logits, measures)
    order = np.argsort(-given.mean, axis=1, kind="stable")[:, :2]
    wrong = order[:, 0] != codes
    plan = None
    if resamples:
        plan = make_plan(
            len(codes), resamples=resamples, cluster=cluster, random_state=random_state
        )
    rows = measure_rows(values, wrong, np.ones(len(codes), bool), "", plan, confidence)
    if by_class:
        for code, label in enumerate(given.classes.tolist()):
            name = str(label) or repr(label)  # without text it would be that of all samples
            rows += measure_rows(values, wrong, codes == code, name, plan, confidence)
    confused = measure(given, CONFUSED).astype(np.intp)
    return MeasureComparison(
        tuple(rows), values, wrong, confused, codes, order[:, 0], order[:, 1], given.classes,
        confidence,
    )  # fmt: skip


def _values(given: Any, distances: Any, logits: Any, names: Any) -> dict[str, FloatArray]:
    chosen = list(MEASURES) if names is None else [MEASURES[name].name for name in names]
    if HOMOPHILY in chosen and distances is None:
        if names is not None:
            raise OptionError(f"{HOMOPHILY} needs distances between the classes; pass distances=")
        chosen.remove(HOMOPHILY)
    options: dict[str, Any] = {}
    if distances is not None:
        options["H"] = check_distances(distances, given.classes, "distances")
        if HOMOPHILY not in chosen:
            chosen.append(HOMOPHILY)
        if "gini_impurity" not in chosen:
            chosen.append("gini_impurity")
    values = {
        name: measure(given, name, **(options if name == HOMOPHILY else {})).astype(np.float64)
        for name in dict.fromkeys(chosen)
    }
    if logits is not None:
        from scipy.special import logsumexp

        scores, _, _ = as_floats(logits, "logits")
        if scores.shape != given.mean.shape:
            raise ShapeError(
                f"logits must have the shape of the probabilities, {given.mean.shape}; got "
                f"{scores.shape}"
            )
        check_finite(scores, "logits", ("sample", "class"))
        values[ENERGY] = -logsumexp(scores, axis=1)
    return values
