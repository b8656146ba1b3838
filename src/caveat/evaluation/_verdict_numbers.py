"""Statements on predictions of numbers: do their intervals hold what they promise?"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..predictions import Interval
from ..results.judgments import GOOD, FindingState
from ..results.rows import Row
from ..results.words import (
    Statement,
    amount,
    amount_with_interval,
    capitalized,
    counted,
    joined,
    listed,
    lowered,
    nominal,
    percent,
    percent_with_interval,
    share_with_interval,
)
from ._verdict_direction import mean_and_error
from ._verdict_evidence import (
    LEAST_UNITS,
    LEVELS,
    NOT_MEASURED,
    SMALL_RATIO,
    TOLERABLE_RATIO,
    Evidence,
    Finding,
    coverage_state,
    normal_limit,
    quantile_state,
    size_state,
    unique_rows,
    weighted_mean,
)

_NO_UNCERTAINTY = "It gives numbers without an uncertainty, so nothing says how far to trust each"
_PROMISE = {
    FindingState.RIGHT: "hold what they promise",
    FindingState.NEARLY: "nearly hold what they promise",
}
_OFF = {
    "intervals": {
        FindingState.NARROW: ("are too narrow", "it is overconfident"),
        FindingState.WIDE: ("are too wide", "it is underconfident"),
    },
    "quantiles": {
        FindingState.NARROW: ("are too close together", "it is overconfident"),
        FindingState.WIDE: ("are too far apart", "it is underconfident"),
        FindingState.LOW: ("are too low", "the truth is above them more often than they say"),
        FindingState.HIGH: ("are too high", "the truth is below them more often than they say"),
    },
}
"""What is wrong with intervals or quantiles, and what that means."""

_MIXED = {
    "intervals": (
        "some too narrow and some too wide",
        "some are too narrow and some too wide, so the shape of its distribution is wrong",
    ),
    "quantiles": (
        "some too low and some too high",
        "some of its quantiles are too low and some too high",
    ),
}


def _summary_and_end(what: str, state: FindingState) -> tuple[str, str]:
    """Return what the summary says of intervals or quantiles, and the end of the statement."""
    they = "they" if what == "intervals" else f"its {what}"
    if state in _PROMISE:
        return f"Its {what} {_PROMISE[state]}", f"{they} {_PROMISE[state]}"
    if state is FindingState.UNMEASURED:
        return "", NOT_MEASURED
    if state is FindingState.UNSURE:
        few = "too few samples to say whether"
        end = f"{few} that is what they promise"
        return f"There are {few} its {what} hold what they promise", end
    if state is FindingState.SHAPE:
        shape = "the shape of its distribution is wrong"
        end = f"the widest are right and others are not, so {shape}"
        return f"Some of its {what} are wrong, but not the widest: {shape}", end
    if state is FindingState.MIXED:
        return f"Its {what} are wrong, {_MIXED[what][0]}", _MIXED[what][1]
    wrong, means = _OFF[what][state]
    so = "" if state in (FindingState.LOW, FindingState.HIGH) else f", so {means}"
    return f"Its {what} {wrong}: {means}", f"{they} {wrong}{so}"


def number_findings(evidence: Evidence) -> list[Finding]:
    """Return findings on intervals, spreads and errors of numbers."""
    return [
        *_without_uncertainty(evidence),
        *_coverages(evidence),
        *_biases(evidence),
        *_infinite(evidence),
        *_error_sizes(evidence),
        *_errors(evidence),
        *_missing(evidence),
    ]


def _missing(evidence: Evidence) -> list[Finding]:
    """Return a finding on targets whose true value is not always known."""
    if not evidence.evaluation.missing:
        return []
    counts = [f"{number:,} of {name}" for name, number in evidence.evaluation.missing.items()]
    text = (
        f"Of {evidence.samples:,} true values of each target, {listed(counts)} are missing: a "
        "target is judged by the samples whose true value is known."
    )
    return [Finding("missing", FindingState.NONE, Statement("info", text))]


def _without_uncertainty(evidence: Evidence) -> list[Finding]:
    """Return findings on targets without an uncertainty, or with some that are 0."""
    if not hasattr(evidence.evaluation.prediction, "variance"):
        return []
    spread = evidence.evaluation.uncertainty
    without = [t for t, name in enumerate(evidence.targets) if (spread[:, t] == 0).any()]
    result = []
    for whole in (True, False):
        some = [t for t in without if bool((spread[:, t] == 0).all()) == whole]
        if not some:
            continue
        names = [evidence.targets[t] for t in some]
        which = f"For {listed(names)}, " if len(evidence.targets) > 1 else ""
        unknown = "whether its intervals hold what they promise was not measured"
        if whole:
            state, summary = FindingState.NO_UNCERTAINTY, _NO_UNCERTAINTY
            text = "No uncertainty was given, only numbers: nothing says how far to trust each."
        else:
            state, summary = FindingState.ZEROS, f"Some of its uncertainties are 0, so {unknown}"
            number = int((spread[:, some] == 0).any(axis=1).sum())
            text = (
                f"The uncertainty of {counted(number, 'sample')} is 0, which claims to be never "
                f"off; so {unknown}."
            )
        text = f"{which}{lowered(text)}" if which else text
        named = tuple(names) if which else ()
        result.append(Finding("coverage", state, Statement("unsure", text), named, summary))
    return result


def _coverages(evidence: Evidence) -> list[Finding]:
    """Return findings on the coverage of intervals and of quantiles.

    Pairs of quantiles are described as intervals, unless they are too low or too high.
    """
    pairs = _by_target(evidence, "interval_coverage", True)  # the widest first
    levels = _by_target(evidence, "quantile_coverage", False)
    by_state: dict[FindingState, list[str]] = {}
    for target in pairs or levels:
        looked_at = len(pairs or levels)
        state = _coverage_of(evidence, pairs[target], looked_at) if pairs else FindingState.NONE
        state = _quantiles_of(evidence, levels.get(target, []), looked_at, state)
        by_state.setdefault(state, []).append(target)
    _merge_good(by_state)
    findings = []
    for state, targets in by_state.items():
        shifted = state in (FindingState.LOW, FindingState.HIGH) or not pairs
        rows = levels if shifted else pairs
        say = _lie if shifted else _hold
        first, *others = targets
        text = say(evidence, rows[first], True)
        if others:
            more = [f"{t} {say(evidence, rows[t], False)}" for t in others[:4]]
            rest = f" and {counted(len(others) - 4, 'other')}" if len(others) > 4 else ""
            text = f"for {first} {text}; for {'; for '.join(more)}{rest}"
        elif len(evidence.targets) > 1:
            text = f"for {first} {text}"
        summary, end = _summary_and_end("quantiles" if shifted else "intervals", state)
        text = f"{capitalized(text)}: {end}."
        used = unique_rows([row for target in targets for row in rows[target]])
        names = tuple(targets) if len(evidence.targets) > 1 else ()
        statement = Statement(LEVELS[state], text, used)
        topic = "quantiles" if shifted else "coverage"
        reason = "" if shifted else _off_coverages(evidence, {t: pairs[t] for t in targets}, pairs)
        findings.append(Finding(topic, state, statement, names, summary, reason=reason))
    return findings


def _biases(evidence: Evidence) -> list[Finding]:
    """Return findings on targets whose predictions are too high, or too low, on average."""
    evaluation = evidence.evaluation
    if not evidence.measured or not hasattr(evaluation.prediction, "variance"):
        return []
    means, biases = evaluation.prediction.mean.mean(axis=0), []
    limit = normal_limit(evidence.confidence, len(evidence.targets))
    for t, target in enumerate(evidence.targets):
        known = ~np.isnan(evaluation.truth[:, t])
        weight = np.ones(len(known)) if (w := evaluation.sample_weight) is None else w
        cluster = None if evaluation.cluster is None else evaluation.cluster[known]
        excess, weight = (means[:, t] - evaluation.truth[:, t])[known], weight[known]
        spread = evaluation.uncertainty[known, t]
        if len(excess) * evidence.units / evidence.samples < LEAST_UNITS or not spread.all():
            continue
        bias, room = mean_and_error(excess, weight, cluster)
        typical = float(np.sqrt(weighted_mean(spread**2, weight)))
        if abs(bias) - limit * room > SMALL_RATIO * typical:
            biases.append(_bias(evidence, target, bias, limit * room, typical))
    return biases


def _bias(evidence: Evidence, target: str, bias: float, room: float, typical: float) -> Finding:
    several = len(evidence.targets) > 1
    too = "high" if bias > 0 else "low"
    text = (
        f"{f'For {target}, its' if several else 'Its'} predictions are too {too}: by "
        f"{amount(abs(bias))} on average ({nominal(evidence.confidence)} interval "
        f"{amount(abs(bias) - room)} to {amount(abs(bias) + room)}), which is "
        f"{amount(abs(bias) / typical)} of the standard deviation that it states."
    )
    return Finding(
        "bias", FindingState.OFF, Statement("bad", text), (target,) if several else (),
        f"Its predictions are too {too} on average",
    )  # fmt: skip


def _by_target(evidence: Evidence, metric: str, reverse: bool) -> dict[str, list[Row]]:
    result: dict[str, list[Row]] = {}
    for row in sorted(evidence.overall(metric), key=lambda row: row.promised, reverse=reverse):
        result.setdefault(row.target, []).append(row)
    return result


def _infinite(evidence: Evidence) -> list[Finding]:
    """Return a finding on infinite intervals."""
    prediction = evidence.evaluation.prediction
    if not isinstance(prediction, Interval):
        return []
    open_ended = np.isinf(prediction.lower) | np.isinf(prediction.upper)
    if not open_ended.any():
        return []
    text = (
        f"{int(open_ended.sum()):,} of its {open_ended.size:,} intervals are infinite, as "
        "conformal ones are where there are too few calibration samples: there they say nothing."
    )
    return [Finding("infinite", FindingState.NONE, Statement("info", text))]


def _merge_good(by_state: dict[FindingState, list[Any]]) -> None:
    """Merge "right" into "nearly right" if both occur, for one sentence instead of two."""
    if FindingState.RIGHT in by_state and FindingState.NEARLY in by_state:
        by_state[FindingState.NEARLY] += by_state.pop(FindingState.RIGHT)


def _coverage_of(evidence: Evidence, rows: list[Row], targets: int) -> FindingState:
    """Return the state of one target: off if any coverage is, else that of the widest."""
    first = partial(coverage_state, promised=rows[0].promised)
    state = evidence.state(rows[0], first, targets, share=True)
    if np.isnan(rows[0].low) or not evidence.enough(rows[0], share=True):
        return state
    states = _coverage_states(evidence, rows, targets)
    off = [s for s in (FindingState.NARROW, FindingState.WIDE) if s in states]
    if off and states[0] in GOOD:  # the widest are right: another spread would make them wrong
        return FindingState.SHAPE
    return FindingState.MIXED if len(off) > 1 else (*off, state)[0]


def _coverage_states(evidence: Evidence, rows: list[Row], targets: int) -> list[FindingState]:
    """Return the state of each coverage of one target, the widest first."""
    # The widest is a question of its own; the others are several questions at once.
    looked_at = [targets, *[targets * len(rows)] * (len(rows) - 1)]
    return [
        coverage_state(evidence.bounds(row, number), row.promised)
        for row, number in zip(rows, looked_at, strict=True)
    ]


def _off_coverages(
    evidence: Evidence, by_target: dict[str, list[Row]], every: dict[str, list[Row]]
) -> str:
    """Return the coverages that are off, if others are not shown to be."""
    if len(by_target) > 1:
        return ""
    ((target, rows),) = by_target.items()
    states = _coverage_states(evidence, rows, len(every))
    off = [row for row, state in zip(rows, states, strict=True) if LEVELS[state] == "bad"]
    if not 0 < len(off) < len(rows):
        return ""
    held = [
        f"{nominal(row.promised)} intervals, which hold the truth in {percent(row.value)}"
        for row in off
    ]
    of = f" for {target}" if len(evidence.targets) > 1 else ""
    return f"its {listed(held)}{of}"


def _quantiles_of(
    evidence: Evidence, rows: list[Row], targets: int, intervals: FindingState
) -> FindingState:
    """Return the state of the quantiles of one target; ``intervals`` is that of their pairs.

    The confidence holds for all levels. If only quantiles on one side of the median are too low or
    too high, the interval is too narrow or too wide.
    """
    if not rows:
        return intervals
    if np.isnan(rows[0].low):
        return FindingState.UNMEASURED
    if not evidence.enough(rows[0], share=True):
        return FindingState.UNSURE
    judged = [
        (quantile_state(evidence.bounds(row, targets * len(rows)), row.promised), row.promised)
        for row in rows
    ]
    sides = {
        (state, float(np.sign(level - 0.5)))
        for state, level in judged
        if state in (FindingState.LOW, FindingState.HIGH)
    }
    states = {state for state, _ in sides}
    lopsided = {side for _, side in sides} in ({-1.0}, {1.0})
    bad = LEVELS.get(intervals) == "bad"
    if len(states) == 1 and not (lopsided and bad):
        return states.pop()
    if bad or (intervals and not sides):
        return intervals
    if sides:
        shapes = {
            FindingState.NARROW: {(FindingState.HIGH, -1.0), (FindingState.LOW, 1.0)},
            FindingState.WIDE: {(FindingState.LOW, -1.0), (FindingState.HIGH, 1.0)},
        }
        return next((shape for shape, ends in shapes.items() if sides == ends), FindingState.MIXED)
    result = {quantile_state(evidence.bounds(row, targets), row.promised) for row in rows}
    # All are right only if each one is shown to be.
    return next(
        s
        for s in (FindingState.UNSURE, FindingState.NEARLY, FindingState.RIGHT)
        if s in result | {FindingState.RIGHT}
    )


_MOST_COVERAGES = 3


def _hold(evidence: Evidence, rows: list[Row], first: bool) -> str:
    """Return how often intervals contain the truth: the widest and at most two others."""
    step = max(1, -(-(len(rows) - 1) // (_MOST_COVERAGES - 1)))
    parts = [
        f"its {nominal(row.promised)} intervals "
        + ("hold the truth in " if first and i == 0 else "in ")
        + share_with_interval(row, evidence.confidence, " of cases", short=not (first and i == 0))
        for i, row in enumerate(rows[::step][:_MOST_COVERAGES])
    ]
    return joined(parts)


def _lie(evidence: Evidence, rows: list[Row], first: bool) -> str:
    """Return how often the truth is at or below a quantile: the outer ones and the worst."""
    most = max(rows, key=lambda row: abs(row.value - row.promised))
    parts = [
        f"its {nominal(row.promised)} quantile in "
        + share_with_interval(row, evidence.confidence, " of cases", short=not (first and i == 0))
        for i, row in enumerate(row for row in rows if row in (rows[0], most, rows[-1]))
    ]
    return f"the truth is at or below {joined(parts)}"


def _error_sizes(evidence: Evidence) -> list[Finding]:
    """Return findings on the size of errors, compared with the predicted standard deviations."""
    by_state: dict[FindingState, list[Row]] = {}
    rows = evidence.overall("expected_normalized_calibration_error")
    judge = partial(size_state, small=SMALL_RATIO, tolerable=TOLERABLE_RATIO)
    for row in rows:
        by_state.setdefault(evidence.state(row, judge, len(rows)), []).append(row)
    _merge_good(by_state)
    return [_error_size(evidence, state, result) for state, result in by_state.items()]


_SIZES = {
    FindingState.RIGHT: "Its errors have the size that its uncertainty says",
    FindingState.NEARLY: "Its errors have nearly the size that its uncertainty says",
    FindingState.OFF: "Its errors do not have the size that its uncertainty says",
    FindingState.UNSURE: "Too few samples to say whether its errors have the size that its "
    "uncertainty says",
    FindingState.UNMEASURED: "Of the size of its errors and what its uncertainty says, nothing is "
    "claimed",
}


def _error_size(evidence: Evidence, state: FindingState, rows: list[Row]) -> Finding:
    amounts = _amounts(evidence, rows, percent_with_interval)
    text = f"{_SIZES[state]}: among samples of like uncertainty, the two differ by {amounts}."
    squares = {row.target: row for row in evidence.overall("root_mean_squared_error")}
    if state is FindingState.OFF and len(evidence.targets) == 1:
        text += _typical(evidence, rows[0], squares.get(rows[0].target))
    used = unique_rows([*rows, *(squares.get(row.target) for row in rows)])
    return Finding("sizes", state, Statement(LEVELS[state], text, used))


def _amounts(evidence: Evidence, rows: list[Row], say: Callable[..., str]) -> str:
    """Return a number on average, with its interval, for each target."""
    several = len(evidence.targets) > 1
    return listed(
        say(row, evidence.confidence, " on average", short=i > 0)
        + (f" for {row.target}" if several else "")
        for i, row in enumerate(rows)
    )


def _typical(evidence: Evidence, row: Row, rmse: Row | None) -> str:
    """Return the typical error and the typical uncertainty, if they can be distinguished."""
    curve = evidence.curve(row.metric, row.target)
    if curve is None or rmse is None or np.isnan(rmse.low):
        return ""
    says = float(np.sqrt(weighted_mean(curve.predicted**2, curve.weight)))
    if rmse.low <= says <= rmse.high:
        return " Over all samples the two agree; from sample to sample they do not."
    size = "larger" if says < rmse.low else "smaller"
    return (
        f" Over all samples (root mean squares) the errors are {size}: it says {amount(says)}, and "
        f"they are {amount_with_interval(rmse, evidence.confidence)}."
    )


def _errors(evidence: Evidence) -> list[Finding]:
    rows = evidence.overall("mean_absolute_error")
    if not rows:
        return []
    amounts = _amounts(evidence, rows, amount_with_interval)
    sure = f"; {NOT_MEASURED}" if np.isnan(rows[0].low) else ""
    what = "medians" if hasattr(evidence.evaluation.prediction, "levels") else "predictions"
    text = f"Its {what} are off by {amounts}{sure}."
    return [Finding("errors", FindingState.NONE, Statement("info", text, tuple(rows)))]
