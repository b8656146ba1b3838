"""Ratios and differences between groups: values, intervals, flags, and what they let one say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist

import numpy as np

from .._groups import Attribute
from ..resampling import interval_of
from ._rates import Key, Rate
from ._rows import (
    DIFFERENT,
    EQUAL,
    FAIR,
    LEAST,
    MEASURES,
    NAN,
    NOT_JUDGED,
    ODDS,
    SAME,
    UNCLEAR,
    UNFAIR,
    FairnessRow,
    Measure,
    group_name,
)

KINDS = ("ratio", "difference")
FEW = f"fewer than {LEAST} independent samples"
_JUDGED = (FAIR, UNFAIR, UNCLEAR, DIFFERENT, EQUAL)
_NEAR = "differs from 1, but perhaps by less than the threshold"


@dataclass(frozen=True)
class Pair:
    """Two groups to compare, by their codes; and among how many pairs they were found."""

    group: int
    reference: int
    comparison: str
    among: int


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
    bounds: tuple[float, float] = (-np.inf, np.inf)

    @property
    def distance(self) -> float:
        """How far a ratio is from 1, on the log scale."""
        return abs(float(np.log(self.value)))

    def widened(self, pairs: int, confidence: float, ratio: bool) -> tuple[float, float]:
        """Return the interval as a normal one would be to hold for several pairs at once.

        Of a ratio, on the log scale.
        """
        if pairs == 1:
            return self.low, self.high
        factor = _factor(pairs, confidence)
        with np.errstate(divide="ignore"):
            value, low, high = (
                (np.log(x) if ratio else x) for x in (self.value, self.low, self.high)
            )
        low, high = value + factor * (low - value), value + factor * (high - value)
        ends = np.exp([low, high]) if ratio else np.array([low, high])
        low, high = np.clip(ends, *self.bounds)
        return float(low), float(high)


@dataclass(frozen=True)
class Comparer:
    """Compares the groups of one attribute.

    Attributes
    ----------
    attribute : Attribute
    rates : sequence of dict
        For each value of the attribute.
    samples : sequence of int
        How many there are of each.
    privileged : int or None
        The value that all are compared with; otherwise the best one of each measure.
    threshold, confidence : float
    """

    attribute: Attribute
    rates: Sequence[dict[Key, Rate]]
    samples: Sequence[int]
    privileged: int | None
    threshold: float
    confidence: float

    def rows(self) -> list[FairnessRow]:
        """Return the rows of every measure that the groups have."""
        found: list[FairnessRow] = []
        for name, label in dict.fromkeys(key for rate in self.rates for key in rate):
            for measure in MEASURES.values():
                if measure.of == name and measure.name == "equalised_odds":
                    found += self._odds(label)
                elif measure.of == name:
                    found += self._simple(measure, label)
        return found

    def _simple(self, measure: Measure, label: str) -> list[FairnessRow]:
        key = (measure.of, label)
        by_kind = (self._pairs(kind, measure, label) for kind in KINDS)
        return [
            self._row(kind, measure.name, "", label, pair, self._number(kind, key, pair))
            for both in zip(*by_kind, strict=True)
            for kind, pair in zip(KINDS, both, strict=True)
        ]

    def _odds(self, label: str) -> list[FairnessRow]:
        """Return both ratios, and as one number the one that is farther from 1."""
        found = []
        for both in zip(*(self._odds_pairs(kind, label) for kind in KINDS), strict=True):
            for kind, pairs in zip(KINDS, both, strict=True):
                numbers = [
                    self._number(kind, (part.of, label), pair)
                    for (_, part), pair in zip(ODDS, pairs, strict=True)
                ]
                parts = [
                    self._row(kind, "equalised_odds", statistic, label, pair, number)
                    for (statistic, _), pair, number in zip(ODDS, pairs, numbers, strict=True)
                ]
                found += [*parts, self._farther(kind, label, pairs, numbers, parts)]
        return found

    def _odds_pairs(self, kind: str, label: str) -> list[tuple[Pair, Pair]]:
        """Return the pairs of equal opportunity, for both rates; each has its own worst pair."""
        parts = [measure for _, measure in ODDS]
        first, second = (list(self._pairs(kind, measure, label, parts)) for measure in parts)
        same = [(pair, pair) for pair in first if pair.comparison == "reference"]
        if len(self.rates) > 2:
            same.append((first[-1], second[-1]))
        return same

    def _farther(
        self,
        kind: str,
        label: str,
        pairs: tuple[Pair, Pair],
        numbers: list[Number],
        parts: list[FairnessRow],
    ) -> FairnessRow:
        """Return the row of the number that is farther from equal; it allows for the choice."""
        ratio = kind == "ratio"
        statistic = "farther from 1" if ratio else "farther from 0"
        why = "; ".join(dict.fromkeys(number.why for number in numbers if number.why))
        if why:
            undefined = Number(np.nan, np.nan, np.nan, 0, why)
            return self._row(kind, "equalised_odds", statistic, label, pairs[0], undefined)
        place = int(np.argmax([n.distance if ratio else abs(n.value) for n in numbers]))
        chosen = replace(numbers[place], units=min(n.units for n in numbers))
        row = self._row(kind, "equalised_odds", statistic, label, pairs[place], chosen, choices=2)
        shown = [
            judged(n, n.widened(2 * pair.among, self.confidence, ratio), self.threshold, ratio)[0]
            for n, pair in zip(numbers, pairs, strict=True)
        ]
        bad = UNFAIR if ratio else DIFFERENT
        if bad in shown:
            which = ODDS[place if shown[place] == bad else 1 - place][0]
            note = "; ".join(filter(None, (f"by {which}", row.note)))
            return replace(row, verdict=bad, note=note)
        if row.verdict == FAIR and any(part.verdict != FAIR for part in parts):
            return replace(row, verdict=UNCLEAR)
        return row

    def _pairs(
        self, kind: str, measure: Measure, label: str, above_zero: Sequence[Measure] = ()
    ) -> Iterator[Pair]:
        """Yield every other group against the reference; of more than two, also the worst pair.

        The reference has no rate of 0, by which nothing can be divided, where there is a choice;
        nor have the two of the worst ratio.
        """
        values = [rates[measure.of, label].value for rates in self.rates]
        number = max(2, int(np.isfinite(values).sum()))
        pairs = number * (number - 1) // 2
        if self.privileged is None:
            reference, among = self._from_best(measure, label, above_zero or [measure])[0], pairs
        else:
            reference, among = self.privileged, number - 1
        for code in range(len(values)):
            if code != reference:
                yield Pair(code, reference, "reference", among)
        if len(values) > 2:
            order = self._from_best(measure, label, [measure] if kind == "ratio" else ())
            yield Pair(order[-1], order[0], "worst pair", pairs)

    def _from_best(
        self, measure: Measure, label: str, above_zero: Sequence[Measure] = ()
    ) -> list[int]:
        """Return the groups from best to worst; small ones only where there are too few others.

        So it is with groups in which a rate is 0 that should be above.
        """
        found = [rates[measure.of, label] for rates in self.rates]
        sign = -1 if measure.better == "higher" else 1
        defined = [i for i, rate in enumerate(found) if np.isfinite(rate.value)]
        solid = [i for i in defined if found[i].units >= LEAST]
        above = [i for i in solid if all(self.rates[i][m.of, label].value > 0 for m in above_zero)]
        for some in (above, solid, defined):
            if len(some) > 1:
                return sorted(some, key=lambda i: sign * found[i].value)
        return list(dict.fromkeys([*defined, *range(len(found))]))

    def _number(self, kind: str, key: Key, pair: Pair) -> Number:
        one, other = self.rates[pair.group][key], self.rates[pair.reference][key]
        why = self._why_undefined(kind, pair, one, other)
        units = min(one.units, other.units)
        if why:
            return Number(np.nan, np.nan, np.nan, units, why)
        value = one.value / other.value if kind == "ratio" else one.value - other.value
        bounds = (-1.0, 1.0) if one.share and kind != "ratio" else (-np.inf, np.inf)
        note = self._why_no_interval(pair, one, other)
        ends = (np.nan, np.nan) if note else self._interval(kind, value, one, other)
        return Number(value, *ends, units, note=note, bounds=bounds)

    def _why_no_interval(self, pair: Pair, one: Rate, other: Rate) -> str:
        """Return why resampling says nothing of a number that it leaves as it is."""
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

    def _why_undefined(self, kind: str, pair: Pair, one: Rate, other: Rate) -> str:
        names = [self.name(pair.group), self.name(pair.reference)]
        for rate, name in ((one, names[0]), (other, names[1])):
            if rate.why:
                return f"{rate.why} in {name}"
        zeros = [n for rate, n in ((one, names[0]), (other, names[1])) if rate.value == 0]
        return f"0 in {' and '.join(sorted(zeros))}" if zeros and kind == "ratio" else ""

    def _interval(self, kind: str, value: float, one: Rate, other: Rate) -> tuple[float, float]:
        if one.replicates is None or other.replicates is None:
            return np.nan, np.nan
        if kind == "ratio":
            both, bounds = one.replicates / other.replicates, (0.0, np.inf)
        else:
            both = one.replicates - other.replicates
            bounds = (-1.0, 1.0) if one.share else (-np.inf, np.inf)
        if one.at_an_end or other.at_an_end:
            low, high = _combined(kind, value, one, other, self.confidence)
        else:
            found = interval_of(value, both, self.confidence, range=bounds)
            low, high = found.low, found.high
        # Undefined in most resamples: anything is possible.
        return bounds if np.isnan([low, high]).any() else (low, high)

    def name(self, code: int) -> str:
        """Return how a group is called in a sentence."""
        return group_name(self.attribute.name, self.attribute.values[code])

    def _row(
        self,
        kind: str,
        measure: str,
        statistic: str,
        label: str,
        pair: Pair,
        number: Number,
        choices: int = 1,
    ) -> FairnessRow:
        ratio, value, pairs = kind == "ratio", number.value, choices * pair.among
        ends = number.widened(pairs, self.confidence, ratio)
        verdict, note = judged(number, ends, self.threshold, ratio)
        if pair.among > 1 and verdict in _JUDGED and note != FEW:
            note = "; ".join(filter(None, (note, f"the verdict allows for {pair.among} pairs")))
        low, high = ends
        if choices != pairs:
            low, high = number.widened(choices, self.confidence, ratio)
        limit = -np.log1p(-self.threshold)
        return FairnessRow(
            attribute=self.attribute.name,
            kind=kind,
            measure=measure,
            statistic=statistic,
            label=label,
            group=self.attribute.values[pair.group],
            reference=self.attribute.values[pair.reference],
            comparison=pair.comparison,
            value=value,
            low=low,
            high=high,
            estimate=NAN,
            samples=min(self.samples[pair.group], self.samples[pair.reference]),
            flag=_beyond(abs(value - 1), self.threshold) if ratio and not number.why else None,
            symmetric_flag=_beyond(number.distance, limit) if ratio and not number.why else None,
            verdict=verdict,
            verdict_low=ends[0],
            verdict_high=ends[1],
            note=note,
        )


def _beyond(distance: float, limit: float) -> bool:
    """Whether a distance is above a limit by more than rounding: 0.8 is 0.2 from 1."""
    return bool(distance > limit * (1 + 1e-12))


@cache
def _factor(pairs: int, confidence: float) -> float:
    """Return how much wider a normal interval is that holds for so many pairs at once."""
    normal, tail = NormalDist(), (1 - confidence) / 2
    return normal.inv_cdf(tail / pairs) / normal.inv_cdf(tail)


def judged(
    number: Number, ends: tuple[float, float], threshold: float, ratio: bool
) -> tuple[str, str]:
    """Return what a number lets one say with the ends of the interval that decides, and a note."""
    if number.why:
        return f"undefined ({number.why})", ""
    if np.isnan(number.low):
        return NOT_JUDGED, number.note
    unclear = UNCLEAR if ratio else EQUAL
    if number.units < LEAST:
        return unclear, FEW
    low, high = ends
    if not ratio:
        return (DIFFERENT if low > 0 or high < 0 else EQUAL), ""
    bottom, top = 1 - threshold, 1 / (1 - threshold)
    if low > top or high < bottom:
        return UNFAIR, ""
    if low >= bottom and high <= top:
        return FAIR, ""
    return UNCLEAR, (_NEAR if low > 1 or high < 1 else "")


def _combined(
    kind: str, value: float, one: Rate, other: Rate, confidence: float
) -> tuple[float, float]:
    """Combine the intervals of two groups, as of independent ones; for shares of all or none."""
    first, second = one.interval(confidence), other.interval(confidence)
    with np.errstate(divide="ignore"):
        a, a_low, a_high, b, b_low, b_high = (
            (np.log(x) if kind == "ratio" else x)
            for x in (one.value, first.low, first.high, other.value, second.low, second.high)
        )
    below = float(np.hypot(a - a_low, b_high - b))
    above = float(np.hypot(a_high - a, b - b_low))
    if kind == "ratio":
        return value * float(np.exp(-below)), value * float(np.exp(above))
    return value - below, value + above
