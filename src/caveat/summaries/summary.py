"""A summary of predictions: small, adds up, and answers as an evaluation does."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._groups import Attribute
from .._random import RandomState
from .._validation import FloatArray, as_column, as_weights
from ..evaluation.answers import class_attribute, named_groups, within
from ..evaluation.questions import Question, questions, take, wanted_metrics
from ..evaluation.result import TRUE_CLASS
from ..exceptions import OptionError, ShapeError
from ..metrics.states import row_keys, unit_of
from ..predictions import Categorical, Container
from .cells import count_cells
from .kept import KEPT, Kept, candidates
from .parts import Part, Place, distributions_of, numbers_of, states_of

if TYPE_CHECKING:
    from ..evaluation import Evaluation
    from ..evaluation.verdict import Verdict
    from ..fairness import FairnessAudit

__all__ = ["About", "Summary", "merge", "summarize_batch"]

ALL: Place = ("", "")
"""The place of all samples."""


@dataclass(frozen=True)
class About:
    """What the samples of a summary have in common; only summaries of the same add up.

    Attributes
    ----------
    kind : str
        The type of the prediction.
    members : int
    shared : tuple of (name, values)
        What holds for all samples: classes, targets, levels, the nominal coverage.
    truth, weighted, clustered : bool
        Whether the samples have true values, weights and clusters.
    attributes : tuple of str
        The names of the groups.
    metrics : tuple of str or None
        The metrics that were asked for; None for all that apply.
    """

    kind: str
    members: int
    shared: tuple[tuple[str, Any], ...]
    truth: bool
    weighted: bool
    clustered: bool
    attributes: tuple[str, ...]
    metrics: tuple[str, ...] | None

    @property
    def counted(self) -> bool:
        """Whether samples are counted in a table: two classes, without weights and clusters."""
        two = self.kind == "Categorical" and len(dict(self.shared)["classes"]) == 2
        return two and self.truth and not (self.weighted or self.clustered)

    @property
    def sampled(self) -> bool:
        """Whether a random sample of many samples is kept."""
        return not self.counted or self.members > 1

    def words(self, name: str) -> str:
        """Return one of the fields in words, for an error."""
        value = getattr(self, name)
        if name == "shared":
            return "; ".join(f"{key} {list(np.atleast_1d(v))}" for key, v in value)
        return ", ".join(value) or "no groups" if name == "attributes" else str(value)


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """What is known of some predictions and the truth, in a few sums.

    Summaries of batches, files, workers, sites and weeks add up: ``a + b`` is the summary of all
    their samples, whatever the order. The size does not grow with the samples: about 430 KiB for
    two classes, and as much again for each group.

    Attributes
    ----------
    about : About
    parts : dict of (attribute, value) to Part
        The sums of all samples, ``("", "")``, and of each group.
    kept : Kept or None
        Up to 10,000 samples: all of a few, a random sample of more. Of the table of two classes
        nothing is kept beyond 10,000.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(40_000)
    >>> y = (rng.random(40_000) < p).astype(int)
    >>> monday = caveat.summarize(caveat.Categorical.from_binary(p[:20_000]), y[:20_000])
    >>> tuesday = caveat.summarize(caveat.Categorical.from_binary(p[20_000:]), y[20_000:])
    >>> both = monday + tuesday
    >>> both.samples
    40000
    >>> (row,) = both.evaluate(random_state=0).select(metric="brier", group="")
    >>> bool(row.low < 1 / 3 < row.high)
    True
    """

    about: About
    parts: Mapping[Place, Part]
    kept: Kept | None = field(default=None)

    @property
    def samples(self) -> int:
        """The number of samples."""
        return self.parts[ALL].samples

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        own = 0 if self.kept is None else self.kept.nbytes
        return own + sum(part.nbytes for part in self.parts.values())

    def groups(self) -> dict[str, dict[str, Part]]:
        """Return the parts of each attribute by its values, in their order."""
        result: dict[str, dict[str, Part]] = {name: {} for name in self.about.attributes}
        for (name, value), part in sorted(self.parts.items(), key=lambda item: _order(item[0])):
            if name in result:
                result[name][value] = part
        return result

    def __add__(self, other: "Summary") -> "Summary":
        if not isinstance(other, Summary):
            return NotImplemented
        _check_alike(self.about, other.about)
        parts = dict(self.parts)
        for place, part in other.parts.items():
            parts[place] = parts[place] + part if place in parts else part
        kept = None
        if self.kept is not None and other.kept is not None:
            fits = parts[ALL].samples <= KEPT or self.about.sampled
            kept = self.kept + other.kept if fits else None
        return Summary(self.about, parts, kept)

    def __radd__(self, other: Any) -> "Summary":
        """Let ``sum(summaries)`` start from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __repr__(self) -> str:
        groups = ", ".join(f"{len(v)} values of {name}" for name, v in self.groups().items())
        return (
            f"Summary: {self.samples:,} samples of a {self.description}"
            + (f", {groups}" if groups else "")
            + f" ({self.nbytes / 2**20:.1f} MiB)"
        )

    @property
    def description(self) -> str:
        """The prediction in a few words."""
        about, shared = self.about, dict(self.about.shared)
        if "classes" in shared:
            names = shared["classes"]
            text = f"{about.kind} of {len(names)} classes"
            text += f" ({', '.join(map(str, names))})" if len(names) <= 4 else ""
        else:
            number = len(shared["targets"])
            text = f"{about.kind} of {number} target{'s' * (number > 1)}"
        return text + (f", {about.members} members" if about.members > 1 else "")

    def evaluate(
        self,
        *,
        metrics: Sequence[str] | None = None,
        confidence: float = 0.95,
        resamples: int = 1000,
        random_state: RandomState = None,
    ) -> "Evaluation":
        """Return the evaluation of all samples, as `caveat.evaluate` does.

        Up to 10,000 samples it is the same; of more, values are those of the sums (see
        `caveat.summaries` for the bounds) and intervals resample 64 random units of the samples.
        The arrays and charts of single samples show some rows that stand for all.

        Parameters
        ----------
        metrics : list of str, optional
            Some of the metrics that the summary has.
        confidence : float, default=0.95
        resamples : int, default=1000
        random_state : int or Generator, optional
        """
        from ._evaluation import evaluate_summary

        return evaluate_summary(self, metrics, confidence, resamples, random_state).evaluation

    @cached_property
    def _evaluation(self) -> "Evaluation":
        return self.evaluate(random_state=0)

    def verdict(self) -> "Verdict":
        """Return the verdict in plain words; see `caveat.evaluation.verdict`."""
        return self._evaluation.verdict()

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Draw a chart of the evaluation; see `caveat.plot`.

        Parameters
        ----------
        kind : str, optional
        **options
            As in `caveat.plot`.
        """
        return self._evaluation.plot(kind, **options)

    def report(self, path: str | PathLike[str], **options: Any) -> Any:
        """Write the page of the evaluation; see `caveat.write_report`.

        Parameters
        ----------
        path : str or path
        **options
            As in `caveat.write_report`.
        """
        return self._evaluation.report(path, **options)

    def audit(self, **options: Any) -> "FairnessAudit":
        """Compare the groups; see `caveat.audit`.

        Parameters
        ----------
        **options
            As in `caveat.audit`, but for features, clusters and weights.
        """
        from ..fairness.of_summary import audit_summary

        return audit_summary(self, **options)

    def save(self, path: str | PathLike[str]) -> None:
        """Write one file, without pickle; `caveat.load` reads it.

        Parameters
        ----------
        path : str or path
            Such as week-46.caveat.
        """
        from .files import save_summary

        save_summary(self, path)


def _order(place: Place) -> tuple[str, bool, float, str]:
    """Sort numbers as numbers, and text as text."""
    name, value = place
    try:
        return name, False, float(value), ""
    except ValueError:
        return name, True, 0.0, value


def _check_alike(one: About, other: About) -> None:
    for part in fields(About):
        if getattr(one, part.name) != getattr(other, part.name):
            raise OptionError(
                f"only summaries of the same {_WORDS[part.name]} add up; got "
                f"{one.words(part.name)} and {other.words(part.name)}"
            )


_WORDS = {
    "kind": "type of prediction", "members": "number of members",
    "shared": "classes, targets or levels", "truth": "kind of truth (known or not)",
    "weighted": "kind of weights", "clustered": "kind of clusters", "attributes": "groups",
    "metrics": "metrics",
}  # fmt: skip


def merge(summaries: Iterable[Summary]) -> Summary:
    """Return the summary of all samples of some summaries.

    Parameters
    ----------
    summaries : iterable of Summary
        Those of batches, files, workers, sites or weeks, in any order.

    Examples
    --------
    >>> import caveat
    >>> days = [
    ...     caveat.summarize(caveat.Categorical.from_binary(p), y)
    ...     for p, y in [([0.2, 0.9], [0, 1]), ([0.4], [1])]
    ... ]
    >>> caveat.merge(days)
    Summary: 3 samples of a Categorical of 2 classes (0, 1) (0.4 MiB)
    """
    left = list(summaries)
    if not left or not all(isinstance(one, Summary) for one in left):
        raise OptionError("merge takes a list of at least one Summary")
    while len(left) > 1:  # pairs of pairs: each sum is added up a few times only
        pairs = zip(left[::2], left[1::2], strict=False)
        left = [one + other for one, other in pairs] + left[len(left) // 2 * 2 :]
    return left[0]


def about_of(
    prediction: Container,
    *,
    truth: bool,
    weighted: bool,
    clustered: bool,
    groups: Sequence[str],
    metrics: Sequence[str] | None,
) -> About:
    """Return what the samples of a prediction have in common."""
    wanted_metrics(metrics)  # raises on an unknown name
    shared = []
    for name in prediction._shared:
        value = getattr(prediction, name)
        shared.append((name, tuple(value.tolist()) if isinstance(value, np.ndarray) else value))
    return About(
        type(prediction).__name__,
        int(getattr(prediction, "members", 1)),
        tuple(shared),
        truth,
        weighted,
        clustered,
        tuple(groups),
        None if metrics is None else tuple(metrics),
    )


def summarize_batch(
    prediction: Container,
    y: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    ids: Any = None,
    metrics: Sequence[str] | None = None,
    start: int = 0,
) -> Summary:
    """Return the summary of one prediction.

    Parameters
    ----------
    prediction : any prediction type
    y : array of shape (samples,) or (samples, targets), optional
        Without it, only the predictions and their uncertainty are summed up.
    groups : array, Series, dict of arrays or frame, optional
    sample_weight, cluster : arrays of shape (samples,), optional
    ids : array of shape (samples,), optional
        By which samples are dealt to units and kept; by default their number.
    metrics : list of str, optional
    start : int, default=0
        The number of the first sample among all.
    """
    samples = len(prediction)
    given = named_groups(prediction, groups, samples)
    truth = None if y is None else to_numpy(y, "y").array
    if truth is not None and len(truth) != samples:
        raise ShapeError(f"y has {len(truth)} samples, the prediction has {samples}")
    weight = as_weights(sample_weight, samples)
    about = about_of(
        prediction, truth=y is not None, weighted=weight is not None,
        clustered=cluster is not None, groups=[one.name for one in given], metrics=metrics,
    )  # fmt: skip
    keys = None
    if about.sampled or samples <= KEPT:
        keys = row_keys(samples, ids, start=start)
    kept = None
    if keys is not None:
        kept = _kept(keys, prediction, truth, weight, cluster, given)
    if about.counted and isinstance(prediction, Categorical):
        codes = prediction.align(y).astype(np.int8)
        parts = count_parts(prediction.mean[:, 1], codes, given, start)
        if about.members > 1:
            numbers = numbers_of(prediction)
            parts = {
                place: replace(part, distributions=distributions_of(numbers, None, rows))
                for (place, part), rows in zip(parts.items(), _rows(given), strict=True)
            }
        return Summary(about, parts, kept)
    assert keys is not None
    unit = unit_of(keys if cluster is None else row_keys(samples, cluster, "cluster"))
    return Summary(about, _summed(prediction, y, given, weight, unit, about), kept)


def summarize_counts(
    p: NDArray[np.floating],
    truth: NDArray[np.integer],
    *,
    classes: Sequence[Any] = (0, 1),
    groups: Sequence[Attribute] = (),
    metrics: Sequence[str] | None = None,
    start: int = 0,
) -> Summary:
    """Return the summary of one model's probabilities of two classes; the fastest way.

    Parameters
    ----------
    p : ndarray of shape (samples,)
        The probability of the second class, of any precision.
    truth : ndarray of shape (samples,)
        0 or 1: positions in ``classes``.
    classes : pair of labels, default=(0, 1)
    groups : sequence of Attribute, default=()
    metrics : list of str, optional
    start : int, default=0
        The number of the first sample among all.
    """
    if len(p) <= KEPT:
        prediction = Categorical.from_binary(np.asarray(p, dtype=np.float64), classes=classes)
        y = np.array(classes)[truth]
        return summarize_batch(
            prediction, y, groups=list(groups) or None, metrics=metrics, start=start
        )
    empty = Categorical.from_binary([0.5], classes=classes)
    about = about_of(
        empty, truth=True, weighted=False, clustered=False,
        groups=[one.name for one in groups], metrics=metrics,
    )  # fmt: skip
    return Summary(about, count_parts(p, truth, groups, start))


def _rows(groups: Sequence[Attribute]) -> Iterator[NDArray[np.intp] | None]:
    """Yield the rows of all samples (None), then of each value of each attribute."""
    yield None
    for attribute in groups:
        for code in range(len(attribute.values)):
            yield np.flatnonzero(attribute.codes == code)


def _kept(
    keys: NDArray[np.uint64],
    prediction: Container,
    y: NDArray[Any] | None,
    weight: FloatArray | None,
    cluster: Any,
    groups: Sequence[Attribute],
) -> Kept:
    rows, random = candidates(keys)
    names = None if cluster is None else as_column(cluster, "cluster", len(keys))[rows].astype(str)
    return Kept(
        random,
        prediction.take(rows),
        None if y is None else y[rows],
        None if weight is None else weight[rows],
        names,
        {one.name: np.array(one.values)[one.codes[rows]] for one in groups},
    ).smallest()


def _summed(
    prediction: Container,
    y: Any,
    groups: Sequence[Attribute],
    weight: FloatArray | None,
    unit: NDArray[np.int32],
    about: About,
) -> dict[Place, Part]:
    """Return the sums of every question, of all samples and of each group."""
    asked: list[Question] = []
    split = None
    attributes = list(groups)
    if y is not None:
        asked, blocks = questions(prediction, y, about.metrics, None)
        split = blocks[0].decomposition
        if hasattr(prediction, "classes"):
            attributes.append(class_attribute(prediction, blocks[0].truth))
    numbers = numbers_of(prediction, split)
    plain = not (about.weighted or about.clustered)
    places = [ALL, *((one.name, value) for one in attributes for value in one.values)]
    result = {}
    for place, rows in zip(places, _rows(attributes), strict=True):
        some = asked if place == ALL else within(asked, place[0] == TRUE_CLASS)
        if rows is not None and not len(rows):
            continue
        states = states_of(
            some if rows is None else take(some, rows),
            weight if weight is None or rows is None else weight[rows],
            unit if rows is None else unit[rows],
            plain,
        )
        own = np.ones(len(unit)) if weight is None else weight
        own = own if rows is None else own[rows]
        result[place] = Part(
            len(own), float(own.sum()), float(own @ own), None, states,
            distributions_of(numbers, weight, rows),
        )  # fmt: skip
    return result


def count_parts(
    p: NDArray[np.floating],
    truth: NDArray[np.integer],
    groups: Sequence[Attribute],
    start: int = 0,
) -> dict[Place, Part]:
    """Return the tables of all samples and of each group, for two classes.

    Parameters
    ----------
    p : ndarray of shape (samples,)
        The probability of the second class.
    truth : ndarray of shape (samples,)
        0 or 1.
    groups : sequence of Attribute
    start : int, default=0
        The number of the first sample, for errors.
    """
    parts: dict[Place, Part] = {}
    whole: NDArray[np.int64] | None = None
    for attribute in groups:
        tables = count_cells(p, truth, attribute.codes, len(attribute.values), start)
        whole = tables.sum(axis=0) if whole is None else whole
        for value, table in zip(attribute.values, tables, strict=True):
            parts[attribute.name, value] = Part.of_table(table.copy())
    whole = count_cells(p, truth, start=start)[0] if whole is None else whole
    return {ALL: Part.of_table(whole), **parts}
