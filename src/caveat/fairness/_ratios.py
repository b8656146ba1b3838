"""Ratios and differences between groups: values, intervals, flags and judgments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from .._groups import Attribute
from .._validation import FloatArray
from ..resampling import ConfidenceInterval
from ..resampling.intervals import stretch, stretched
from ..resampling.pairs import correlation, pair_of
from ..results.judgments import BY_WEIGHT, FINE, Contrast, Judgment, MeasurePart, Pairing
from ..results.rows import FairnessRow, called
from ._family import Family
from ._rates import Key, Rate
from .measures import LEAST, MEASURES, ODDS, SAME, Measure, whose

KINDS = (Contrast.RATIO, Contrast.DIFFERENCE)
FEW = f"fewer than {LEAST} independent samples"
_JUDGED = (*BY_WEIGHT, Judgment.DIFFERENT, Judgment.EQUAL)
_SHOWN = (Judgment.BEYOND, Judgment.GAP, Judgment.DIFFERENT)
_FARTHER = (*_SHOWN, Judgment.NOT_JUDGED, Judgment.UNCLEAR, Judgment.EQUAL, *FINE)
"""The first of these that one of two ratios has is the verdict on both."""


@dataclass(frozen=True)
class Pair:
    """Two groups to compare, by their codes."""

    group: int
    reference: int
    comparison: Pairing
    chosen: bool
    """Whether the data chose the pair; otherwise one of them is privileged."""


@dataclass(frozen=True)
class Number:
    """A ratio or a difference with its interval."""

    value: float
    low: float
    high: float
    units: int
    why: str = ""
    """Why it is undefined."""
    note: str = ""
    """Why it has no interval."""
    rates: tuple[Rate, Rate] | None = None
    """The two rates; None if only the interval is known."""

    @property
    def distance(self) -> float:
        """The distance of a ratio from 1, on the log scale."""
        return abs(float(np.log(self.value)))

    def at(self, level: float, confidence: float, ratio: bool) -> tuple[float, float]:
        """Return the interval at a higher level."""
        if level == confidence or np.isnan(self.low):
            return self.low, self.high
        if self.rates is None:
            factor = stretch(level, confidence, self.units)
            return stretched((self.value, self.low, self.high), factor, ratio)
        return _ends(*self.rates, level, confidence, ratio)


@dataclass(frozen=True)
class Comparer:
    """Compares the groups of one attribute: ``rates`` and ``samples`` are those of each group."""

    attribute: Attribute
    rates: Sequence[dict[Key, Rate]]
    samples: Sequence[int]
    privileged: int | None
    """The group that all are compared with; None for the best one by each measure."""
    threshold: float
    confidence: float
    noise: FloatArray | None
    """As in `Family`."""

    @cached_property
    def family(self) -> Family:
        """All comparisons of the attribute."""
        return Family(self.rates, self.privileged, self.confidence, self.noise)

    def rows(self) -> list[FairnessRow]:
        """Return the rows of every measure that the groups have."""
        result: list[FairnessRow] = []
        for name, label in dict.fromkeys(key for rate in self.rates for key in rate):
            for measure in MEASURES.values():
                if measure.of == name and measure.name == "equalized_odds":
                    result += self._odds(label)
                elif measure.of == name:
                    result += self._simple(measure, label)
        return result

    def _simple(self, measure: Measure, label: str) -> list[FairnessRow]:
        key = (measure.of, label)
        by_kind = (self._pairs(kind, measure, label) for kind in KINDS)
        return [
            self._row(
                kind, measure.name, MeasurePart.WHOLE, (key,), pair, self._number(kind, key, pair)
            )
            for both in zip(*by_kind, strict=True)
            for kind, pair in zip(KINDS, both, strict=True)
        ]

    def _odds(self, label: str) -> list[FairnessRow]:
        """Return both ratios, and again the one that is farther from 1."""
        result = []
        keys = tuple((part.of, label) for _, part in ODDS)
        for both in zip(*(self._odds_pairs(kind, label) for kind in KINDS), strict=True):
            for kind, pairs in zip(KINDS, both, strict=True):
                numbers = [
                    self._number(kind, key, pair) for key, pair in zip(keys, pairs, strict=True)
                ]
                parts = [
                    self._row(kind, "equalized_odds", part, (key,), pair, number)
                    for (part, _), key, pair, number in zip(ODDS, keys, pairs, numbers, strict=True)
                ]
                result += [*parts, self._farther(kind, keys, pairs, numbers, parts)]
        return result

    def _odds_pairs(self, kind: Contrast, label: str) -> list[tuple[Pair, Pair]]:
        """Return the pairs of groups for both rates; each rate has its own worst pair."""
        parts = [measure for _, measure in ODDS]
        first, second = (list(self._pairs(kind, measure, label, parts)) for measure in parts)
        same = [(pair, pair) for pair in first if pair.comparison is Pairing.REFERENCE]
        if len(self.rates) > 2:
            same.append((first[-1], second[-1]))
        return same

    def _farther(
        self,
        kind: Contrast,
        keys: tuple[Key, ...],
        pairs: tuple[Pair, Pair],
        numbers: list[Number],
        parts: list[FairnessRow],
    ) -> FairnessRow:
        """Return the row of the number farther from equal; its interval allows for the choice.

        Its verdict is the weightier one of the two.
        """
        ratio = kind is Contrast.RATIO
        why = "; ".join(dict.fromkeys(number.why for number in numbers if number.why))
        if why:
            undefined = Number(np.nan, np.nan, np.nan, 0, why)
            return self._row(kind, "equalized_odds", MeasurePart.FARTHER, keys, pairs[0], undefined)
        place = int(np.argmax([n.distance if ratio else abs(n.value) for n in numbers]))
        row = self._row(
            kind, "equalized_odds", MeasurePart.FARTHER, keys, pairs[place], numbers[place]
        )
        verdicts = [part.judgment for part in parts]
        verdict = next(verdict for verdict in _FARTHER if verdict in verdicts)
        if verdict not in _SHOWN:
            return replace(row, judgment=verdict)
        which = ODDS[place if verdicts[place] == verdict else 1 - place][0]
        notes = f"by {which}", row.note
        return replace(row, judgment=verdict, note="; ".join(filter(None, notes)))

    def _pairs(
        self, kind: Contrast, measure: Measure, label: str, above_zero: Sequence[Measure] = ()
    ) -> Iterator[Pair]:
        """Yield every group against the reference; with more than two groups also the worst pair.

        Groups with a rate of 0 are avoided in the reference and in the worst ratio if possible.
        """
        values = [rates[measure.of, label].value for rates in self.rates]
        reference, chosen = self.privileged, self.privileged is None
        if reference is None:
            reference = self._from_best(measure, label, above_zero or [measure])[0]
        for code in range(len(values)):
            if code != reference:
                yield Pair(code, reference, Pairing.REFERENCE, chosen)
        if len(values) > 2:
            apart = replace(measure, better="lower") if measure.better == "one" else measure
            order = self._from_best(apart, label, [measure] if kind is Contrast.RATIO else ())
            yield Pair(order[-1], order[0], Pairing.WORST, True)

    def _from_best(
        self, measure: Measure, label: str, above_zero: Sequence[Measure] = ()
    ) -> list[int]:
        """Return the groups from best to worst.

        Small groups, and groups with a rate of 0 that should be above 0, are left out if at least
        two others remain.
        """
        result = [rates[measure.of, label] for rates in self.rates]
        defined = [i for i, rate in enumerate(result) if np.isfinite(rate.value)]
        solid = [i for i in defined if result[i].units >= LEAST]
        above = [i for i in solid if all(self.rates[i][m.of, label].value > 0 for m in above_zero)]
        for some in (above, solid, defined):
            if len(some) > 1:
                return sorted(some, key=lambda i: _badness(measure, result[i].value))
        return list(dict.fromkeys([*defined, *range(len(result))]))

    def _number(self, kind: Contrast, key: Key, pair: Pair) -> Number:
        one, other = self.rates[pair.group][key], self.rates[pair.reference][key]
        why = self._why_undefined(kind, pair, one, other)
        units = min(one.units, other.units)
        if why:
            return Number(np.nan, np.nan, np.nan, units, why)
        value = one.value / other.value if kind is Contrast.RATIO else one.value - other.value
        note = self._why_no_interval(pair, one, other)
        ends = np.nan, np.nan
        if not note and one.replicates is not None and other.replicates is not None:
            ends = _ends(one, other, self.confidence, self.confidence, kind is Contrast.RATIO)
        return Number(value, *ends, units, "", note, (one, other))

    def _why_no_interval(self, pair: Pair, one: Rate, other: Rate) -> str:
        """Return why there is no interval for a number that is the same in every resample."""
        if one.replicates is None or other.replicates is None:
            return ""
        single = [
            self.name(code)
            for rate, code in ((one, pair.group), (other, pair.reference))
            if rate.units < 2 and not rate.at_an_end
        ]
        if single:
            return f"one independent sample or cluster only in {' and '.join(sorted(single))}"
        still = [rate.constant and not rate.at_an_end for rate in (one, other)]
        return SAME if all(still) else ""

    def _why_undefined(self, kind: Contrast, pair: Pair, one: Rate, other: Rate) -> str:
        names = [self.name(pair.group), self.name(pair.reference)]
        for rate, name in ((one, names[0]), (other, names[1])):
            if rate.why:
                return f"{rate.why} in {name}"
        zeros = [n for rate, n in ((one, names[0]), (other, names[1])) if rate.value == 0]
        return f"0 in {' and '.join(sorted(zeros))}" if zeros and kind is Contrast.RATIO else ""

    def name(self, code: int) -> str:
        """Return the name of a group in a sentence."""
        return called(self.attribute.name, self.attribute.values[code], bool(self.attribute.parts))

    def _row(
        self,
        kind: Contrast,
        measure: str,
        part: MeasurePart,
        keys: tuple[Key, ...],
        pair: Pair,
        number: Number,
    ) -> FairnessRow:
        """Return one row; if there are several keys, the data chose one of them."""
        ratio, value, family = kind is Contrast.RATIO, number.value, self.family
        own = self.confidence
        if pair.chosen or len(keys) > 1:
            own = family.level(keys, pair.chosen)
        level = max(own, family.level(family.keys, pair.chosen))
        low, high = number.at(own, self.confidence, ratio)
        ends = number.at(level, self.confidence, ratio)
        verdict, note = judged(number, ends, self.threshold, ratio)
        size = family.size(family.keys, pair.chosen)
        if size > 1 and verdict in _JUDGED and note != FEW:
            note = f"the verdict allows for {size} comparisons"
        limit = -np.log1p(-self.threshold)
        return FairnessRow(
            metric=measure,
            attribute=self.attribute.name,
            combined=bool(self.attribute.parts),
            contrast=kind,
            part=part,
            **whose(measure, keys[-1][1]),
            category=self.attribute.values[pair.group],
            reference=self.attribute.values[pair.reference],
            comparison=pair.comparison,
            value=value,
            low=low,
            high=high,
            samples=min(self.samples[pair.group], self.samples[pair.reference]),
            flag=_beyond(abs(value - 1), self.threshold) if ratio and not number.why else None,
            symmetric_flag=_beyond(number.distance, limit) if ratio and not number.why else None,
            judgment=verdict,
            why=number.why,
            verdict_low=ends[0],
            verdict_high=ends[1],
            note=note,
        )


def _badness(measure: Measure, value: float) -> float:
    """Return a number that is less for better groups."""
    if measure.better == "one":
        return max(value, 1 / value) if value > 0 else np.inf
    return -value if measure.better == "higher" else value


def _beyond(distance: float, limit: float) -> bool:
    """Return whether a distance exceeds a limit by more than rounding: 0.8 is 0.2 from 1."""
    return bool(distance > limit * (1 + 1e-12))


def judged(
    number: Number, ends: tuple[float, float], threshold: float, ratio: bool
) -> tuple[Judgment, str]:
    """Return the judgment of a number by the ends of the interval that decides, and a note.

    A ratio shows a gap if 1 is not in the interval. The gap is beyond the threshold if interval and
    band do not overlap, and within it if the interval lies in the band.
    """
    if number.why:
        return Judgment.UNDEFINED, ""
    if np.isnan(number.low):
        return Judgment.NOT_JUDGED, number.note
    if number.units < LEAST:
        return (Judgment.UNCLEAR if ratio else Judgment.EQUAL), FEW
    low, high = ends
    if not ratio:
        return (Judgment.DIFFERENT if low > 0 or high < 0 else Judgment.EQUAL), ""
    bottom, top = 1 - threshold, 1 / (1 - threshold)
    if low > top or high < bottom:
        return Judgment.BEYOND, ""
    gap, within = low > 1 or high < 1, low >= bottom and high <= top
    if within:
        return (Judgment.SMALL if gap else Judgment.WITHIN), ""
    return (Judgment.GAP if gap else Judgment.UNCLEAR), ""


def _ends(
    one: Rate, other: Rate, level: float, confidence: float, ratio: bool
) -> tuple[float, float]:
    """Return the ends of a ratio or a difference at a level, from those of the two rates."""
    assert one.replicates is not None
    assert other.replicates is not None
    first, second = (_known(rate, level, confidence, ratio) for rate in (one, other))
    together = correlation(one.replicates, other.replicates)
    kind: Literal["gap", "ratio"] = "ratio" if ratio else "gap"
    result = pair_of(first, second, (one.value, other.value), kind, together)
    bounds = (0.0, np.inf) if ratio else (-1.0, 1.0) if one.share else (-np.inf, np.inf)
    # Undefined in most resamples: anything is possible.
    low, high = bounds if np.isnan(result.low) else np.clip([result.low, result.high], *bounds)
    return float(low), float(high)


def _known(rate: Rate, level: float, confidence: float, ratio: bool) -> ConfidenceInterval:
    """Return the interval of a rate; a point if it is the same in every resample."""
    result = rate.interval(level, confidence, log=ratio)
    if result.method != "constant":
        return result
    return ConfidenceInterval(rate.value, rate.value, result.method)
