"""What `evaluate` returns."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._groups import Attribute
from .._validation import FloatArray, as_rows
from ..metrics import METRICS
from ..predictions import Decomposition, GaussianLogits, ProbabilityInterval
from ..results.rows import Row
from ..results.tables import (
    ARROWS,
    WITHOUT_CHANCE,
    Drawable,
    RowTable,
    bracket,
    headline_rows,
    html_table,
    number,
    terminal_table,
)
from .questions import Question, take, weight_scale

if TYPE_CHECKING:
    from .verdict import Verdict


_MOST_SHOWN = 10
"""Numbers that a notebook shows before the rest is unfolded."""

TRUE_CLASS = "class"
"""The attribute that every prediction of classes has."""


Means = dict[int | None, tuple[float, float]]
"""The mean predicted probability of a class and how often it was the true one, by its position.

None is the most probable class.
"""


@dataclass(frozen=True)
class Totals:
    """What is known of all samples, or of a group, where arrays hold some rows that stand for them.

    Attributes
    ----------
    samples : int
    units : float
        The effective number of samples by their weights (Kish).
    shares : tuple of float
        The share of each true class; empty for groups, and for numbers.
    wrong : int or None
        The number of wrong predictions; None if that is not known.
    means : dict
    """

    samples: int
    units: float
    shares: tuple[float, ...] = ()
    wrong: int | None = None
    means: Means = field(default_factory=dict)


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Drawable, RowTable[Row]):
    """What `evaluate` returns: a tidy table, the curves behind it, and the samples.

    Attributes
    ----------
    rows : tuple of Row
        One number each; `to_frame` and `to_json` give them as a table.
    curves : mapping
        The curves of the local and ranking metrics, by metric, or by (metric, target) if there are
        several targets; each is computed when it is first used.
    error, uncertainty : ndarrays of shape (samples, targets)
        The error of each sample (0 or 1 for classes; for quantiles that of the median) and the
        uncertainty, by default the total: entropy, standard deviation, or the width of the widest
        interval between quantiles. NaN if there is none; intervals have no point estimate and no
        error.
    ids : ndarray of shape (samples,)
        The names of the samples.
    decomposition : Decomposition or None
        The split of the uncertainty, if the prediction has one.
    confidence : float
        The confidence level of the intervals.
    description : str
        The prediction in one line.
    prediction : any prediction type
        The prediction itself.
    truth : ndarray of shape (samples, targets)
        Codes of the true classes, or true values; NaN where one of several targets is unknown.
    sample_weight, cluster : ndarrays of shape (samples,) or None
        The weights and clusters of the samples.
    attributes : tuple of Attribute
        The true class, if there are classes, and the groups: a name, its values, and the value of
        each sample.
    component : {"total", "aleatoric", "epistemic"}
        The part of the uncertainty that was judged. For numbers ``prediction`` then has its
        variance alone; ``decomposition`` has all parts.
    stands_for : int or None
        The number of samples of a `caveat.Summary`; the arrays above then hold some rows that stand
        for all of them.
    totals : mapping
        What the sums of a summary say of all samples, by attribute and value; two empty texts for
        all. Empty if the arrays hold all samples.
    group_samples : mapping
        By attribute and value, for groups of a summary of two classes that ``attributes`` does not
        have: the probability of the second class, whether it is true, and weights of some rows.
    """

    row_type: ClassVar[Any] = Row
    rows: tuple[Row, ...]
    curves: Mapping[Any, Any]
    error: FloatArray
    uncertainty: FloatArray
    ids: np.ndarray
    decomposition: Decomposition | None
    confidence: float
    description: str
    prediction: Any
    truth: np.ndarray
    sample_weight: FloatArray | None
    cluster: np.ndarray | None
    attributes: tuple[Attribute, ...] = ()
    component: str = "total"
    stands_for: int | None = None
    totals: Mapping[tuple[str, str], Totals] = field(default_factory=dict)
    group_samples: Mapping[tuple[str, str], tuple[NDArray[Any], ...]] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        """The number of samples that were evaluated."""
        return len(self.truth) if self.stands_for is None else self.stands_for

    @property
    def whole(self) -> Totals | None:
        """What is known of all samples, if the arrays hold only some rows."""
        return self.totals.get(("", ""))

    @property
    def missing(self) -> dict[str, int]:
        """The number of samples without a true value, by target; empty if all are known."""
        if not hasattr(self.prediction, "targets"):
            return {}
        unknown = np.isnan(self.truth).sum(axis=0).tolist()
        names = map(str, self.prediction.targets.tolist())
        return {name: number for name, number in zip(names, unknown, strict=False) if number}

    def take(self, rows: Any) -> "Evaluation":
        """Return some of the samples, with the rows and curves of all.

        Parameters
        ----------
        rows : slice, array of int or array of bool
        """
        rows = as_rows(rows, len(self.truth))
        return replace(
            self,
            **{
                name: getattr(self, name)[rows] for name in ("error", "uncertainty", "ids", "truth")
            },
            decomposition=None if self.decomposition is None else self.decomposition.take(rows),
            prediction=self.prediction.take(rows),
            sample_weight=None if self.sample_weight is None else self.sample_weight[rows],
            cluster=None if self.cluster is None else self.cluster[rows],
            attributes=tuple(replace(one, codes=one.codes[rows]) for one in self.attributes),
        )

    @property
    def true_class(self) -> str | None:
        """The name of the attribute of the true class, if classes were predicted."""
        return TRUE_CLASS if hasattr(self.prediction, "classes") else None

    def verdict(self) -> "Verdict":
        """Return the verdict in plain words; see `caveat.evaluation.verdict`."""
        from .verdict import verdict

        return verdict(self)

    def __repr__(self) -> str:
        title = f"{self.description}, {self.confidence:.0%} intervals"
        return terminal_table(title, *self._readable()) + self._rest()

    def _repr_html_(self) -> str:
        """Return the verdict, the numbers that matter most, and the rest folded."""
        every = self.matching(group="")
        targets = len({row.target for row in every}) > 1
        body = [
            [
                METRICS[row.metric].label + (f" of {row.target}" if targets else ""),
                number(row.value),
                bracket(row),
                ARROWS[row.direction],
            ]
            for row in (headline_rows(every) or every)[:_MOST_SHOWN]
        ]
        rest = html_table(*self._readable()) + f"<p>{escape(self._rest())}</p>"
        return (
            self.verdict()._repr_html_()
            + html_table(["", "value", f"{self.confidence:.0%} interval", "better"], body)
            + f"<details><summary>All numbers ({len(self.rows)})</summary>{rest}</details>"
        )

    def _readable(self) -> tuple[list[str], list[list[str]]]:
        """Return the rows over all samples as a table; those of groups are in the frame."""
        header = ["metric", "value", WITHOUT_CHANCE, "interval", "better", "note"]
        body = [
            [
                " ".join(part for part in (row.metric, row.option, row.target) if part),
                number(row.value),
                number(row.estimate),
                bracket(row),
                ARROWS[row.direction],
                row.note,
            ]
            for row in self.matching(group="")
        ]
        return header, body

    def _rest(self) -> str:
        by_group = [row for row in self.rows if not row.overall]
        if not by_group:
            return ""
        names = sorted({row.attribute for row in by_group})
        return f"and {len(by_group)} rows by {', '.join(names)}: to_frame() has all of them\n"


def class_probabilities(evaluation: Evaluation) -> FloatArray:
    """Return the probability of every class, (samples, classes), as the metrics used it."""
    prediction = evaluation.prediction
    if isinstance(prediction, GaussianLogits):
        # The curves of the evaluation have them; integrating again is slow.
        for curve in getattr(evaluation.curves, "_asked", {}).values():
            if "probabilities" in curve.keywords:
                return curve.keywords["probabilities"]
        return prediction.to_categorical().mean
    if isinstance(prediction, ProbabilityInterval):
        return prediction.to_categorical().mean
    return prediction.mean


class Curves(Mapping[Any, Any]):
    """Curves by metric, or by (metric, target); each is computed when it is first used."""

    def __init__(
        self, asked: list[Question], weight: FloatArray | None, several_targets: bool
    ) -> None:
        self._computed: dict[Any, Any] = {}
        self._asked: dict[Any, Callable[[], Any]] = {}
        for question in asked:
            name, curve = question.metric.name, question.metric.curve
            if curve is not None and not question.against_rest:  # the classwise curves have these
                key = (name, question.target) if several_targets else name
                mine = weight
                if question.known is not None:
                    mine = None if weight is None else weight[question.known]
                    mine = None if mine is None else mine * weight_scale(mine)
                    question = take([question], question.known)[0]
                given = {**question.inputs, **question.options, "sample_weight": mine}
                self._asked[key] = partial(curve, question.truth, **given)

    def __getitem__(self, key: Any) -> Any:
        if key not in self._computed:
            self._computed[key] = self._asked[key]()
        return self._computed[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)
