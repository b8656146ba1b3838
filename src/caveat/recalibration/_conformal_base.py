"""The base class of conformal recalibrators: shifts, overlapping groups, and what is promised."""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

import numpy as np

from .._docstrings import describe_parameters
from .._groups import attributes, combination, combined
from .._validation import FloatArray, as_weights, check_flags, check_fraction
from ..exceptions import InvalidValueError, OptionError
from ..predictions import Categorical
from ..predictions.given import as_prediction
from ._base import AFTER, FIT, Recalibrator
from ._conformal import (
    as_fraction,
    check_bins,
    check_joint,
    learn_margins,
    margins_of,
    minimum_samples,
)
from ._residuals import drop_zero_weights
from ._thresholds import effective_samples, group_quantiles, weighted_quantiles, worth_words
from .exchangeability import ShiftWarning
from .shift import LabelShift, as_ratio

Scored = tuple[list[FloatArray], FloatArray | None, FloatArray | None]

_SHIFT, _LABELS, _GROUPS = "covariate shift", "label shift", "overlapping groups"


class WithPromise(Recalibrator):
    """A recalibrator that says in words what it promises, and where it has too few samples."""

    condition_: str | None = field(default=None, init=False)
    samples_: int = field(init=False)
    _few: tuple[str, ...] = field(init=False)

    @property
    def too_few_(self) -> tuple[str, ...]:
        """Messages on groups and bins with too few calibration samples."""
        if self.groups_ is None:
            return self._few
        return tuple(
            f"group {name!r}: {words}" for name, part in self.groups_.items() for words in part._few
        )

    def summary(self) -> str:
        """Return in words what is promised, from how many samples, and what is not promised."""
        self._check_fitted()
        where, without = _WORDS[self.condition_]
        each = "" if self.groups_ is None else " in each group"
        lines = [
            f"Promised{each}: {self._promise(where)}, on average over calibration samples and new "
            "samples."
        ]
        parts = {"": self} if self.groups_ is None else self.groups_
        for name, part in parts.items():
            words = f"group {name!r}: " if self.groups_ is not None else ""
            lines.append(f"From: {words}{part._sources()}.")
        lines += [f"{words}." for words in self._details()]
        lines += [f"Too few: {words}." for words in self.too_few_]
        lines.append(f"Not promised: {without}")
        return "\n".join(lines)

    def _promise(self, where: str) -> str:
        share = float(self.coverage)
        return f"at least {100 * share:g} % of {where} are covered{self._by_itself()}"

    def _by_itself(self) -> str:
        """Return what the promise is for, each by itself; empty if there is one thing only."""
        return each_target(self.signature_)

    def _sources(self) -> str:
        return f"{self.samples_} calibration samples"

    def _details(self) -> list[str]:
        return []


def each_target(signature: Mapping[str, Any], joint: bool = False) -> str:
    """Return whether several targets are covered together, in words; empty for one or none."""
    if len(signature.get("targets", ())) < 2:
        return ""
    return ", all targets together" if joint else ", each target by itself"


class ConformalRecalibrator(WithPromise):
    """A recalibrator that promises a coverage and reports where it has too few samples.

    ``fit`` may be told of a shift between calibration and use, or, with ``overlapping=True``, of
    groups that overlap. Then a threshold depends on the new sample, and ``_fit`` keeps the scores:
    ``_transform`` gets one more array with a row for each sample, of which ``_limits`` makes the
    thresholds.

    Parameters
    ----------
    coverage : float
        Share of true values to cover, strictly between 0 and 1.
    overlapping : bool
        Cover each group by itself where groups overlap: ``fit`` and ``transform`` are given
        ``groups``, and the coverage holds for each value of each attribute (all women, and all who
        are above 60), not only for each combination, which may have few samples.

    Attributes
    ----------
    effective_samples_ : float
        With ``shift``: how many samples of equal weight the calibration samples are worth.
    group_coverage_ : dict of str to (int, float)
        With ``overlapping``: the calibration samples of each group, and the share of them that is
        covered. Of several targets with missing values, the samples are those of the target with
        the fewest.
    """

    coverage: float = field(default=0.9, kw_only=False)
    overlapping: bool = False
    effective_samples_: float = field(init=False)

    @describe_parameters(FIT)
    def fit(
        self,
        prediction: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        classes: Any = None,
        shift: Any = None,
    ) -> Self:
        """Learn the repair from predictions of samples that the model was not trained on.

        Parameters
        ----------
        groups : array, Series, dict of arrays or frame, optional
            Repair each group for itself; several attributes mean each combination of them, or with
            ``overlapping=True`` each value of each of them.
        shift : LikelihoodRatio, LabelShift or array of shape (samples,), optional
            How the samples to come differ from these. An array says how much likelier each sample
            is among those to come, up to one factor, as `caveat.likelihood_ratio` estimates it from
            inputs; `caveat.label_shift` says how the shares of the classes differ (for sets).

        Returns
        -------
        self
        """
        self.condition_ = None
        if shift is None and not self.overlapping:
            return super().fit(
                prediction, y, groups=groups, sample_weight=sample_weight, classes=classes
            )
        if Categorical in self.takes:
            prediction = as_prediction(prediction, y, classes)
        self._check_type(prediction)
        if self.overlapping:
            return self._fit_overlapping(prediction, y, groups, sample_weight, shift)
        if isinstance(shift, LabelShift):
            return self._fit_label_shift(prediction, y, groups, sample_weight, shift)
        ratio = as_ratio(shift, len(prediction), "calibration")
        weight = as_weights(sample_weight, len(prediction))
        if groups is not None:
            attribute = combined(groups, len(prediction))
            largest = np.zeros(len(attribute.values))
            np.maximum.at(largest, attribute.codes, ratio)
            if not largest.all():
                raise InvalidValueError(
                    f"group {attribute.values[int(np.argmin(largest))]!r} has no calibration "
                    "sample with a likelihood ratio above 0; leave the group out"
                )
        self.condition_ = _SHIFT
        return super().fit(
            prediction, y, groups=groups, sample_weight=ratio if weight is None else ratio * weight
        )

    @describe_parameters(AFTER)
    def transform(
        self, prediction: Any, *, groups: Any = None, calibration: Any = None, shift: Any = None
    ) -> Any:
        """Return the repaired prediction.

        Parameters
        ----------
        shift : LikelihoodRatio, LabelShift or array of shape (samples,), optional
            Needed if and only if ``fit`` was given one: the likelihood ratio of these samples.
            (A `LabelShift` says all in ``fit`` and may be left out.)
        """
        prediction = self._given(prediction)
        condition = self.condition_
        if condition == _GROUPS:
            self._check_no_shift(shift)
            self._parts(prediction, None)
            members = self._memberships(groups, len(prediction))
            return self._transform_parts(prediction, None, calibration, members)
        if condition != _SHIFT:
            if not (condition == _LABELS and isinstance(shift, LabelShift)):
                self._check_no_shift(shift)
            return self._transform_parts(prediction, groups, calibration)
        self._parts(prediction, groups)
        return self._transform_parts(
            prediction, groups, calibration, self._ratio_of(prediction, shift)
        )

    def _sources(self) -> str:
        words = super()._sources()
        if self.condition_ in (_SHIFT, _LABELS):
            words += f", worth {worth_words(self.effective_samples_)} after weighting"
        return words

    def _details(self) -> list[str]:
        if self.condition_ != _GROUPS:
            return []
        return [
            f"Group {name}: {count} calibration samples"
            + (f", {covered:.3f} of them covered" if count else "")
            for name, (count, covered) in self.group_coverage_.items()
        ]

    def _fit_overlapping(
        self, prediction: Any, y: Any, groups: Any, sample_weight: Any, shift: Any
    ) -> Self:
        if groups is None:
            raise OptionError("overlapping=True covers each group, so fit needs groups=")
        if shift is not None or sample_weight is not None:
            raise OptionError(
                "overlapping=True takes neither shift nor sample_weight; repeat samples that count "
                "several times"
            )
        parts = attributes(groups, len(prediction))
        self.group_values_ = {part.name: list(part.values) for part in parts}
        self.memberships_ = self._memberships(parts, len(prediction))
        self.condition_ = _GROUPS
        super().fit(prediction, y)
        columns = self._columns()
        self.patterns_, codes = np.unique(self.memberships_, axis=0, return_inverse=True)
        self.limits_ = self._solved(columns, self.patterns_)
        # Values that are not known are neither covered nor missed.
        below = np.where(np.isnan(columns), np.nan, columns <= self.limits_[codes.reshape(-1)])
        covered = below.reshape(len(columns), -1, self._sides).min(axis=2)
        names = [
            combination([name], [value])
            for name, values in self.group_values_.items()
            for value in values
        ]
        self.group_coverage_ = {
            name: _known_and_mean(covered[inside])
            for name, inside in zip(names, self.memberships_.T > 0, strict=True)
        }
        needed = minimum_samples(self._level())
        self._few = tuple(
            f"group {name}: {count} calibration samples, at least {needed} are needed"
            for name, (count, _) in self.group_coverage_.items()
            if count < needed
        )
        return self

    def _fit_label_shift(
        self, prediction: Any, y: Any, groups: Any, sample_weight: Any, shift: LabelShift
    ) -> Self:
        raise OptionError(
            f"a LabelShift is for sets of classes; {type(self).__name__} takes the likelihood "
            "ratio of each sample"
        )

    @abstractmethod
    def _columns(self) -> FloatArray:
        """Return the scores of calibration samples, (samples, scores)."""
        ...

    @property
    def _sides(self) -> int:
        """How many scores in a row must be below their thresholds for one target to be covered."""
        return 1

    def _worth(self, weight: FloatArray) -> str | None:
        """Return a message if weighted samples are worth too few, else None."""
        worth = effective_samples(weight) if len(weight) else 0.0
        needed = minimum_samples(self._level())
        if worth >= needed:
            return None
        return (
            f"{len(weight)} calibration samples are worth {worth_words(worth)} after weighting, at "
            f"least {needed} are needed"
        )

    def _limits(
        self, columns: FloatArray, weight: FloatArray | None, given: FloatArray
    ) -> FloatArray:
        """Return the threshold of each column of scores for each new sample.

        ``given`` has the likelihood ratio of each new sample, or the groups that it is in; weight
        is None for the latter.
        """
        if weight is not None:
            level = float(self._level())
            limits = [
                weighted_quantiles(column[known], weight[known], level, given)
                for column, known in zip(columns.T, ~np.isnan(columns.T), strict=True)
            ]
            return np.stack(limits, axis=1)
        everything = np.concatenate([self.patterns_, given])
        patterns, codes = np.unique(everything, axis=0, return_inverse=True)
        codes, known = codes.reshape(-1), len(self.patterns_)
        solved = np.empty((len(patterns), columns.shape[1]))
        solved[codes[:known]] = self.limits_
        new = np.setdiff1d(np.arange(len(patterns)), codes[:known])
        solved[new] = self._solved(columns, patterns[new])
        return solved[codes[known:]]

    def _solved(self, columns: FloatArray, patterns: FloatArray) -> FloatArray:
        """Return the threshold of each column of scores for patterns of groups."""
        level = float(self._level())
        limits = [
            group_quantiles(column[known], self.memberships_[known], level, patterns)
            for column, known in zip(columns.T, ~np.isnan(columns.T), strict=True)
        ]
        return np.stack(limits, axis=1)

    def _warn_of_infinite(self, limits: FloatArray) -> None:
        infinite = int(np.isinf(limits).any(axis=1).sum())
        if infinite and self.condition_ == _SHIFT:
            warnings.warn(
                f"{infinite} of {len(limits)} samples have an infinite interval, or a set "
                "from which a class cannot be left out: their likelihood ratio is too large for "
                "the calibration samples, which are worth "
                f"{worth_words(self.effective_samples_)} after weighting",
                ShiftWarning,
                stacklevel=6,
            )

    def _level(self) -> Any:
        """Return the share of scores below a threshold."""
        return as_fraction(float(self.coverage))

    def _copy_for_group(self) -> Self:
        part = super()._copy_for_group()
        part.condition_ = self.condition_
        return part

    def _memberships(self, groups: Any, samples: int) -> FloatArray:
        """Return which sample is in which group, (samples, groups), as 0 and 1."""
        if groups is None:
            raise OptionError("fit was given groups, so transform needs them too")
        given = {part.name: part for part in attributes(groups, samples)}
        if set(given) != set(self.group_values_):
            raise OptionError(
                f"fit was given the attributes {', '.join(self.group_values_)}; got "
                f"{', '.join(given)}"
            )
        columns = []
        for name, values in self.group_values_.items():
            part = given[name]
            unknown = [value for value in part.values if value not in values]
            if unknown:
                row = int(np.argmax(part.codes == part.values.index(unknown[0])))
                raise OptionError(
                    f"group {combination([name], unknown[:1])} of sample {row} was not in fit; it "
                    f"knew {', '.join(map(repr, values))}"
                )
            own = np.array([values.index(value) for value in part.values])[part.codes]
            columns.append(own[:, None] == np.arange(len(values)))
        return np.concatenate(columns, axis=1).astype(np.float64)

    def _ratio_of(self, prediction: Any, shift: Any) -> FloatArray:
        if shift is None:
            raise OptionError(
                "fit was given a shift, so transform needs the likelihood ratio of its samples: "
                "shift="
            )
        return as_ratio(shift, len(prediction), "test")

    def _check_no_shift(self, shift: Any) -> None:
        if shift is not None:
            raise OptionError("shift was given to transform but not to fit")


class ConformalIntervals(ConformalRecalibrator):
    """A conformal recalibrator of numbers: what it adds to either end of an interval.

    A subclass has ``_scored(prediction, y)``, which returns the scores of both sides or of each,
    what the bins are made of and, for a joint promise, the sizes whose median is the unit.

    Attributes
    ----------
    margins_ : ndarray of shape (bins, targets, sides)
        q of each bin and target; two sides, lower and upper, if not symmetric. Infinite where there
        are too few calibration samples. Not with ``shift`` or ``overlapping``.
    too_few_ : tuple of str
        The groups and bins whose intervals are infinite, since they have too few calibration
        samples: c / (1 - c) are needed, 9 for 90 %, and (1 + c) / (1 - c), 19 for 90 %, if not
        symmetric.
    """

    symmetric: bool = True
    bins: int | None = None
    joint: bool | str = False

    def _fit(self, prediction: Any, y: FloatArray, weight: FloatArray | None) -> None:
        coverage, bins, joint = check_fraction(self.coverage, "coverage"), self.bins, self.joint
        check_flags(symmetric=self.symmetric, overlapping=self.overlapping)
        check_joint(joint)
        check_bins(bins)
        prediction, y, weight = drop_zero_weights(prediction, y, weight)
        scores, spread, sizes = self._scored(prediction, y)
        self.samples_ = len(scores[0])
        if self.condition_ is None:
            self.edges_, self.margins_, self._few = learn_margins(
                scores, weight, coverage, spread=spread, bins=bins, joint=joint, sizes=sizes
            )
            return
        if bins is not None or joint:
            raise OptionError(
                f"{'bins' if bins is not None else 'joint'} cannot be combined with "
                f"{'overlapping groups' if self.condition_ == _GROUPS else 'a shift'}; "
                + (
                    "cut the spread yourself and pass groups"
                    if bins is not None
                    else "use joint=False"
                )
            )
        self.scores_ = np.stack(scores, axis=-1)
        self.weights_ = weight
        self._few = ()
        if weight is not None:
            self.effective_samples_ = effective_samples(weight)
            known = ~np.isnan(scores[0])
            words = [self._worth(weight[column]) for column in known.T]
            self._few = tuple(dict.fromkeys(one for one in words if one is not None))

    def _by_itself(self) -> str:
        return each_target(self.signature_, bool(self.joint))

    def _details(self) -> list[str]:
        if self.bins is None or self.bins == 1:
            return super()._details()
        missed = f"{100 * (1 - float(self.coverage)):g} %"
        return [
            f"In a bin of n calibration samples {missed} / n less are promised, since one of them "
            "set the edge of the bin"
        ]

    @abstractmethod
    def _scored(self, prediction: Any, y: FloatArray) -> Scored: ...

    def _margins(self, spread: FloatArray | None, given: FloatArray | None) -> FloatArray:
        """Return the margins of each sample, (samples or 1, targets, sides)."""
        if given is None:
            return margins_of(spread, self.edges_, self.margins_)
        limits = self._limits(self._columns(), self.weights_, given)
        self._warn_of_infinite(limits)
        return limits.reshape(len(given), *self.scores_.shape[1:])

    def _columns(self) -> FloatArray:
        return self.scores_.reshape(len(self.scores_), -1)

    @property
    def _sides(self) -> int:
        return 1 if self.symmetric else 2

    def _level(self) -> Any:
        level = super()._level()
        return level if self.symmetric else (1 + level) / 2


def _known_and_mean(covered: FloatArray) -> tuple[int, float]:
    """Return how many values are known, of the target with the fewest, and the mean of all."""
    known = ~np.isnan(covered)
    share = float(covered[known].mean()) if known.any() else float("nan")
    return int(known.sum(axis=0).min()), share


_ONE_GROUP = (
    "coverage for each sample or for groups that were not given; coverage after a shift between "
    "calibration and use (caveat.warn_if_shifted tests for one)."
)
_WORDS = {
    None: ("new samples like the calibration samples", _ONE_GROUP),
    _SHIFT: (
        "new samples whose inputs are distributed as the likelihood ratio says",
        "coverage if the truth given the inputs has changed, or if the ratio is wrong: an "
        "estimated ratio costs up to half of its mean absolute error.",
    ),
    _LABELS: (
        "new samples whose classes have other shares than in calibration",
        "coverage if the samples of a class have changed, not only their share; the bounds of the "
        "shares are a normal approximation.",
    ),
    _GROUPS: (
        "new samples in each group, however groups overlap",
        "coverage in intersections of groups or in groups that were not given; coverage after a "
        "shift between calibration and use other than of the shares of the groups.",
    ),
}
