"""A summary of predictions: small, adds up, and answers as an evaluation does."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .._random import RandomState
from .._renamed import suggests_parameters
from ..exceptions import OptionError
from ..metrics import METRICS
from .kept import KEPT, Kept
from .parts import Part, Place

if TYPE_CHECKING:
    from ..evaluation import Evaluation
    from ..evaluation.verdict import Verdict
    from ..fairness import FairnessAudit

__all__ = ["About", "Summary", "merge"]

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
            return "; ".join(f"{key} {np.atleast_1d(v).tolist()}" for key, v in value)
        if name == "metrics":
            return "all metrics" if value is None else ", ".join(value)
        return ", ".join(value) or "no groups" if name == "attributes" else str(value)

    def differs(self, other: "About") -> list[str]:
        """Return the fields in which another differs; the order of groups and metrics is none."""
        return [
            part.name
            for part in fields(self)
            if _unordered(self, part.name) != _unordered(other, part.name)
        ]


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

    @suggests_parameters
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
    for name in one.differs(other)[:1]:
        raise OptionError(
            f"only summaries of the same {_WORDS[name]} add up; got {one.words(name)} and "
            f"{other.words(name)}"
        )


def _unordered(about: About, name: str) -> Any:
    """Return one of the fields, without an order where it has no meaning."""
    value = getattr(about, name)
    if name == "metrics" and value is not None:
        return {entry.name for given in value for entry in METRICS.find(given)}
    return set(value) if name == "attributes" else value


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
    if len({id(one) for one in left}) < len(left):
        raise OptionError("merge got the same Summary twice: its samples would count twice")
    while len(left) > 1:  # pairs of pairs: each sum is added up a few times only
        pairs = zip(left[::2], left[1::2], strict=False)
        left = [one + other for one, other in pairs] + left[len(left) // 2 * 2 :]
    return left[0]
