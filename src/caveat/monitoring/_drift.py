"""Compare new samples with a reference: what changed, by how much, and in which groups."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._random import RandomState
from .._renamed import suggests_parameters
from .._validation import check_fraction, check_integer
from ..evaluation import Evaluation
from ..metrics import METRICS
from ..resampling import ConfidenceInterval
from ..resampling.pairs import pair_of
from ..results.judgments import Contrast
from ..results.rows import Row
from ..results.words import center, listed
from ..summaries import Summary
from ..summaries.parts import NumberKey, Place, numbers_of
from ..summaries.summary import ALL
from .cells import (
    PREDICTIONS,
    PROBABILITY,
    Design,
    Kept,
    Numbers,
    design_of,
    kept_in,
    numbers_in,
    pairs_of,
)
from .effects import Change, Effect, Shares, bins_of, change_of, change_of_kinds, joint
from .inputs import as_summary, check_comparable, thresholds_of
from .judging import judged, normal_p, rare_limit, size_of
from .residuals import residuals_of
from .result import Drift, DriftQuestion, DriftRow, Thresholds

LEAST_IN_GROUP = 10
"""Groups with fewer samples on either side are not compared."""

_PROPER = ("brier_loss", "gaussian_crps_loss", "quantile_crps_loss", "interval_loss")


@suggests_parameters
def drift(
    reference: Any,
    new: Any,
    *,
    threshold: Any = None,
    alpha: float = 0.05,
    confidence: float = 0.95,
    resamples: int = 1000,
    names: tuple[str, str] = ("the reference", "the new samples"),
    random_state: RandomState = None,
) -> Drift:
    r"""Say whether predictions, uncertainty and calibration changed since a reference.

    Each number is judged by a test and by its size: it "changed" if the test rejects that nothing
    changed and the effect is beyond the threshold; there is "no change that matters" if the whole
    interval of the effect is within the threshold; otherwise there are "too few samples to say". So
    a tiny change is not reported however many samples show it.

    Predictions and uncertainties (aleatoric and epistemic apart, where there are members) are
    compared by the Kolmogorov distance of their distributions, classes and groups by their total
    variation, with a chi-squared test over at most 10 cells of equal pooled counts, 5 expected
    samples in each at least. Where both have true values, calibration and skill are compared by the
    difference of the metrics of two evaluations of different samples, and by the mean difference
    between truth and prediction. P-values are adjusted by Holm's method, over all rows of all
    samples and over all rows of groups: under no change at all, any false "changed" among either
    has a probability of at most ``alpha``.

    Parameters
    ----------
    reference, new : Summary, path of a .caveat file, prediction, or pair (prediction, y)
        Groups, weights and clusters belong to a `Summary`; see `caveat.summarize`.
    threshold : float or dict of str to float, optional
        How large a change must be to matter: "distribution" (a distance from 0 to 1; by default
        0.1), "share" (of calibration errors, accuracies and coverages; 0.02 is 2 percentage
        points, the default) and "relative" (of other metrics, by default 0.1 of the reference's
        value). A single number is that of distributions.
    alpha : float, default=0.05
        The level of the tests.
    names : pair of str, default=('the reference', 'the new samples')
        What the two are called in tables and charts.

    Notes
    -----
    Of two classes, one with a share of less than 10 % is rare: its rate, or its rate over the
    predicted one, also changes beyond the threshold if it is 1.5 times as high or as low.

    With weights and clusters, the test is corrected for the samples that belong together or
    count differently (Rao and Scott's second-order correction), estimated from the samples that a
    summary keeps. Samples of the reference and new ones are taken for independent of each
    other, also where they are of the same clusters.

    A test that is looked at every week finds something in some week by chance; `DriftMonitor` may
    be looked at as often as one likes.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> y = (rng.random(4000) < p).astype(int)
    >>> last = caveat.Categorical.from_binary(p[:2000]), y[:2000]
    >>> this = caveat.Categorical.from_binary(p[2000:] ** 2), y[2000:]
    >>> result = caveat.drift(last, this, random_state=0)
    >>> result.state("predictions"), result.state("calibration")
    ('changed', 'changed')
    >>> print(result.verdict().statements[0].text)
    The predictions, the uncertainty, the calibration and the skill changed.
    """
    settings = settings_of(threshold, alpha, confidence, resamples, random_state)
    one, other = as_summary(reference, "reference"), as_summary(new, "new")
    check_comparable(one, other)
    return settings.compared(one, other, settings.evaluated(one), settings.evaluated(other), names)


@dataclass(frozen=True)
class Settings:
    """The options of a comparison, checked."""

    thresholds: Thresholds
    alpha: float
    options: Mapping[str, Any]
    """Of the evaluations."""

    def evaluated(self, summary: Summary) -> Evaluation | None:
        """Return the evaluation of the few metrics that are compared; None without truth."""
        metrics = list(compared_metrics(summary))
        if not (summary.about.truth and metrics and self.options["resamples"]):
            return None
        return summary.evaluate(metrics=metrics, **self.options)

    def compared(
        self,
        one: Summary,
        other: Summary,
        before: Evaluation | None,
        after: Evaluation | None,
        names: tuple[str, str],
    ) -> Drift:
        """Return what changed from one summary to the other."""
        confidence = self.options["confidence"]
        comparing = _Comparing(one, other, self.thresholds, confidence)
        rows = list(comparing.distribution_rows())
        if one.about.truth and other.about.truth:
            rows += [row for place in comparing.places for row in comparing.residual_rows(place)]
        if before is not None and after is not None:
            rows += comparing.metric_rows(before, after)
        return Drift(
            judged(rows, self.alpha),
            (str(names[0]), str(names[1])),
            (one.samples, other.samples),
            other.description,
            tuple(comparing.left_out()),
            self.thresholds,
            self.alpha,
            confidence,
            {
                (name, comparing.target(target)): (pair[0], pair[1])
                for (name, target), pair in pairs_of(one, other, ALL).items()
            },
        )


def settings_of(
    threshold: Any, alpha: float, confidence: float, resamples: int, random_state: RandomState
) -> Settings:
    """Check the options of a comparison."""
    check_integer(resamples, "resamples", 0)
    return Settings(
        thresholds_of(threshold),
        check_fraction(alpha, "alpha"),
        {
            "confidence": check_fraction(confidence, "confidence"),
            "resamples": resamples,
            "random_state": random_state,
        },
    )


def compared_metrics(summary: Summary) -> dict[str, DriftQuestion]:
    """Return the metrics of calibration and skill that a summary has, with their questions."""
    part = summary.parts[ALL]
    if part.table is None:
        had = {key[0] for key in part.states}
    else:
        had = {"expected_calibration_error", "positive_calibration_error", "accuracy_score"}
        had.add("brier_loss")
    if summary.about.metrics is not None:
        asked = {entry.name for name in summary.about.metrics for entry in METRICS.find(name)}
        had &= asked
    wanted = {
        **dict.fromkeys(METRICS.shown("calibration"), DriftQuestion.CALIBRATION),
        **dict.fromkeys((*METRICS.shown("skill"), *_PROPER), DriftQuestion.SKILL),
    }
    return {name: question for name, question in wanted.items() if name in had}


class _Comparing:
    """Two summaries, and the rows of what they can be compared by."""

    def __init__(self, one: Summary, other: Summary, limits: Thresholds, confidence: float) -> None:
        self.sides = one, other
        self.limits, self.confidence = limits, confidence
        self.one_target = len(dict(one.about.shared).get("targets", ("",))) == 1
        self.places = [ALL]
        self._known: dict[int, dict[NumberKey, Any]] = {}
        self.too_small: list[str] = []
        self.alone: list[str] = []
        for name in one.about.attributes:
            if name not in other.about.attributes:
                continue
            groups = [side.groups()[name] for side in self.sides]
            for value in dict.fromkeys([*groups[0], *groups[1]]):
                samples = [group[value].samples if value in group else 0 for group in groups]
                if not min(samples):
                    self.alone.append(f"{name}={value}")
                elif min(samples) < LEAST_IN_GROUP:
                    self.too_small.append(f"{name}={value}")
                else:
                    self.places.append((name, value))

    def left_out(self) -> list[str]:
        """Return sentences on what is not compared."""
        one, other = self.sides
        result = []
        if not (one.about.truth and other.about.truth):
            without = [
                name
                for name, side in zip(("the reference", "the new samples"), self.sides, strict=True)
                if not side.about.truth
            ]
            have = "has" if without == ["the reference"] else "have"
            result.append(
                f"Calibration and skill were left out, as {' and '.join(without)} {have} no true "
                "values."
            )
        apart = sorted({*one.about.attributes} ^ {*other.about.attributes})
        if apart:
            result.append(f"Groups that only one side has were left out: {listed(apart)}.")
        if self.alone:
            result.append(f"Only one side has samples of {listed(self.alone)}.")
        if self.too_small:
            result.append(
                f"Too few samples to compare {listed(self.too_small)} (fewer than "
                f"{LEAST_IN_GROUP} on a side)."
            )
        if one.about.members != other.about.members:
            result.append(
                f"The reference has {one.about.members} members and the new samples have "
                f"{other.about.members}: epistemic uncertainty depends on their number."
            )
        return result

    def distribution_rows(self) -> Iterator[DriftRow]:
        """Yield the rows of predictions, uncertainty, true classes and groups."""
        for place in self.places:
            for key, pair in pairs_of(*self.sides, place).items():
                yield self._number_row(place, key, pair[0], pair[1])
            yield from self._truth_rows(place)
        for name in dict.fromkeys(place[0] for place in self.places[1:]):
            groups = [side.groups()[name] for side in self.sides]
            kinds = list(dict.fromkeys([*groups[0], *groups[1]]))
            counts = [[g[k].samples if k in g else 0 for k in kinds] for g in groups]
            given = [None if side.kept is None else side.kept.groups[name] for side in self.sides]
            change = self._kinds(ALL, np.array(counts, dtype=np.float64), given, kinds)
            yield self._row(DriftQuestion.GROUPS, name, ALL, change, "total variation")

    def _number_row(self, place: Place, key: NumberKey, one: Numbers, other: Numbers) -> DriftRow:
        name, target = key
        question = DriftQuestion.PREDICTIONS if name in PREDICTIONS else DriftQuestion.UNCERTAINTY
        values, counts = joint(one, other)
        if name == "class":
            given = [self._kept_numbers(side, key) for side in self.sides]
            change = self._kinds(place, counts, given, values)
            return self._row(question, name, place, change, "total variation")
        sizes = np.array([one.samples, other.samples], dtype=np.float64)
        bins = bins_of(counts, sizes)
        ends = np.array([values[bins == i].max() for i in range(int(bins.max()))])
        cells: list[Design | None] = []
        own: list[Design | None] = []
        for side in self.sides:
            kept, given_ = self._designed(side, place), self._kept_numbers(side, key)
            if kept is None or given_ is None:
                cells.append(None)
                own.append(None)
                continue
            value = given_[kept.rows]
            bin_ = np.searchsorted(ends, value)
            cells.append(design_of(kept, (bin_[:, None] == np.arange(len(ends) + 1)) * 1.0))
            own.append(design_of(kept, value[:, None]))
        change = change_of(
            one, other, bins, (cells[0], cells[1]), (own[0], own[1]), self.confidence
        )
        row = self._row(question, name, place, change, "Kolmogorov distance")
        return replace(row, reference=one.mean, new=other.mean, target=self.target(target))

    def target(self, name: str) -> str:
        """Return the name of a target; nothing if there is only one."""
        return "" if self.one_target else name

    def _designed(self, side: Summary, place: Place) -> Kept | None:
        """Return the samples that tell of weights and clusters; None where there are none."""
        if not (side.about.weighted or side.about.clustered):
            return None
        return kept_in(side, place)

    def _kept_numbers(self, side: Summary, key: NumberKey) -> Any:
        """Return a number of the samples that were kept, computed once."""
        if self._designed(side, ALL) is None:
            return None
        if id(side) not in self._known:
            assert side.kept is not None
            self._known[id(side)] = dict(numbers_of(side.kept.prediction))
        return self._known[id(side)].get(key)

    def _kinds(self, place: Place, counts: Any, given: Sequence[Any], kinds: Any) -> Change:
        """Return the change of kinds: predicted classes, true classes or groups.

        ``given`` is the kind of each sample that either side kept.
        """
        designs: list[Design | None] = []
        for side, values in zip(self.sides, given, strict=True):
            kept = self._designed(side, place)
            if kept is None or values is None:
                designs.append(None)
            else:
                own = np.asarray(values)[kept.rows]
                designs.append(design_of(kept, (own[:, None] == np.asarray(kinds)) * 1.0))
        sizes = np.array([side.parts[place].samples for side in self.sides], dtype=np.float64)
        shares = Shares.of(counts, sizes, (designs[0], designs[1]))
        return change_of_kinds(shares, self.confidence)

    def _truth_rows(self, place: Place) -> Iterator[DriftRow]:
        """Yield the row of the true classes, if both sides have them."""
        one, other = (true_counts(side, place) for side in self.sides)
        if one is None or other is None:
            return
        kinds = [str(label) for label in dict(self.sides[0].about.shared)["classes"]]
        given = [
            None if side.kept is None or side.kept.y is None else side.kept.y.astype(str)
            for side in self.sides
        ]
        change = self._kinds(place, np.stack([one, other]), given, kinds)
        row = self._row(DriftQuestion.TRUTH, "class", place, change, "total variation")
        if len(one) == 2:
            rates = float(one[1] / one.sum()), float(other[1] / other.sum())
            limit = rare_limit(row.threshold, rates)
            row = replace(row, reference=rates[0], new=rates[1], threshold=limit)
        yield row

    def _share_limit(self, place: Place) -> float:
        """Return the threshold of errors of calibration: less where one of two classes is rare."""
        other = self.sides[1]
        counts, said = true_counts(other, place), numbers_in(other, place).get(PROBABILITY)
        if counts is None or said is None:
            return self.limits.share
        return rare_limit(self.limits.share, (float(counts[1] / counts.sum()), said.mean))

    def _row(
        self, question: DriftQuestion, quantity: str, place: Place, change: Change, kind: str
    ) -> DriftRow:
        apart, standardized = change.difference, change.standardized
        return self._made(
            place,
            {"change": apart, "standardized": standardized, "effect": change.distance},
            question=question,
            quantity=quantity,
            reference=float("nan"),
            new=float("nan"),
            effect_kind=kind,
            threshold=self.limits.distribution,
            p_value=change.p_value,
        )

    def _made(self, place: Place, effects: Mapping[str, Effect], **fields: Any) -> DriftRow:
        """Return a row of some samples; each effect has its value and the ends of its interval."""
        for name, effect in effects.items():
            names = (name, f"{name}_low", f"{name}_high")
            fields |= dict(zip(names, (effect.value, effect.low, effect.high), strict=True))
        one, other = (side.parts[place].samples for side in self.sides)
        fields |= {"attribute": place[0], "category": place[1]}
        return DriftRow(**fields, samples_reference=one, samples_new=other)

    def metric_rows(self, one: Evaluation, other: Evaluation) -> list[DriftRow]:
        """Return the rows of calibration and skill."""
        result = []
        wanted = compared_metrics(self.sides[0])
        given = {row.key: row for row in other.rows if row.contrast is Contrast.NONE}
        chosen: dict[tuple[str, str, Place], tuple[Row, Row]] = {}
        for row in one.rows:
            place = row.place if not row.overall else ALL
            plain = row.contrast is Contrast.NONE and row.one_class is None
            if plain and place in self.places and row.key in given:
                # Of several intervals or quantiles the widest.
                chosen[row.metric, row.target, place] = row, given[row.key]
        for (metric, _, place), pair in chosen.items():
            result.append(self._metric_row(*pair, wanted[metric], place))
        return result

    def residual_rows(self, place: Place) -> Iterator[DriftRow]:
        """Yield how far the truth is from what is predicted, on the mean."""
        from scipy.special import ndtri

        one, other = (residuals_of(side, place) for side in self.sides)
        score = float(ndtri((1 + self.confidence) / 2))
        for key in [name for name in one if name in other]:
            ends = []
            for side in (one[key], other[key]):
                half = score * side.error
                ends.append(ConfidenceInterval(side.mean - half, side.mean + half, "normal"))
            yield self._difference_row(
                DriftQuestion.CALIBRATION, key, place, (one[key].mean, other[key].mean),
                (ends[0], ends[1]), share=self._share_limit(place),
            )  # fmt: skip

    def _metric_row(self, one: Row, other: Row, question: DriftQuestion, place: Place) -> DriftRow:
        """Return the difference of a metric between two evaluations of different samples."""
        ends = [
            ConfidenceInterval(
                row.low, row.high, "", None if np.isnan(row.estimate) else row.estimate
            )
            for row in (one, other)
        ]
        name = " ".join(part for part in (one.metric, one.option) if part)
        share = self.limits.share if METRICS[one.metric].unit == "share" else None
        if share is not None and question is DriftQuestion.CALIBRATION:
            share = self._share_limit(place)
        return self._difference_row(
            question, (name, one.target), place, (center(one), center(other)), (ends[0], ends[1]),
            share=share,
        )  # fmt: skip

    def _difference_row(
        self,
        question: DriftQuestion,
        key: NumberKey,
        place: Place,
        values: tuple[float, float],
        ends: tuple[ConfidenceInterval, ConfidenceInterval],
        *,
        share: float | None,
    ) -> DriftRow:
        """Return the row of a difference; ``share`` is the threshold of a share."""
        interval = pair_of(ends[1], ends[0], (values[1], values[0]), "gap")
        change = values[1] - values[0]
        effect = size_of(change, interval)
        scale = abs(values[0]) if share is None else 1.0
        if scale > 0:
            effect = Effect(effect.value / scale, effect.low / scale, effect.high / scale)
        else:
            effect = Effect()
        return self._made(
            place,
            {"change": Effect(change, interval.low, interval.high), "effect": effect},
            question=question,
            quantity=key[0],
            target=self.target(key[1]),
            reference=values[0],
            new=values[1],
            effect_kind="relative difference" if share is None else "difference",
            threshold=self.limits.relative if share is None else share,
            p_value=normal_p(change, interval, self.confidence),
        )


def true_counts(summary: Summary, place: Place) -> Any:
    """Return how many samples are of each true class; None if that is not known."""
    from ..evaluation.result import TRUE_CLASS

    part = summary.parts[place]
    if part.table is not None:
        return part.table.sum(axis=0).astype(np.float64)
    classes = dict(summary.about.shared).get("classes")
    if classes is None or not summary.about.truth or place != ALL:
        return None
    parts = [summary.parts.get((TRUE_CLASS, str(label))) for label in classes]
    return np.array([0.0 if part is None else part.samples for part in parts])
