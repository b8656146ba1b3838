"""What to do next: repair, collect, split by group, or do not use for something."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ..predictions import Categorical, Gaussian, GaussianLogits
from ..predictions.quantiles import central_coverages
from ..resampling.planning import rounded_up, samples_factor
from ..results.judgments import FindingState
from ..results.words import MOST_NAMES, joined, lowered, more_in_all
from ._verdict_direction import class_event
from ._verdict_evidence import (
    HARDLY,
    LEAST_SAMPLES,
    LEAST_UNITS,
    MAIN,
    SMALL,
    TOLERABLE,
    UNRELIABLE,
    WIDE,
    Bounds,
    Evidence,
    Finding,
    coverage_state,
    factor_state,
    names_in,
    normal_limit,
    quantile_state,
    size_state,
    summary_level,
    worst,
)

_TEMPERATURE = (FindingState.OVER, FindingState.UNDER)
_CHOOSES = "caveat.repair chooses how"
_POLICIES = (Categorical, GaussianLogits, Gaussian)

_State = Callable[[Bounds], FindingState]


def next_step(evidence: Evidence, findings: list[Finding]) -> str:
    """Return what to do first, then what not to use, and what to collect."""
    first = _first(evidence, findings)
    if evidence.samples < 2 or not evidence.measured:
        return first
    return " ".join([first, *_not_for(findings), *_small_groups(evidence, findings)])


def _first(evidence: Evidence, findings: list[Finding]) -> str:
    """Return what to do first: the first rule that applies."""
    main = [f for f in findings if f.topic in MAIN]
    states = {f.state for f in main}
    if evidence.samples < 2:
        return "Evaluate more samples."
    if not evidence.measured:
        return (
            "Evaluate again with intervals (resamples=1000): without them nothing can be claimed."
        )
    if not main:
        return (
            "Evaluate again with the usual metrics: none of those asked for says whether its "
            "uncertainty can be taken at face value."
        )
    ranking = next((f for f in findings if f.topic == "ranking"), None)
    if ranking is not None:
        other, named = ranking.names
        return (
            f"Check whether the probabilities are those of {other}, not of {named}: in a file, "
            "positive= names the class. Repair them only if they are not."
        )
    if FindingState.NO_UNCERTAINTY in states:
        return (
            "Give the model an uncertainty: an ensemble, or conformal intervals around its numbers "
            "(ConformalResiduals)."
        )
    if FindingState.ZEROS in states:
        return "Find out why some uncertainties are 0, repair them, then evaluate again."
    off = (f for f in main if summary_level(f) == "bad" or f.state is FindingState.SOMEWHAT)
    first = next(off, None)
    if first is not None:
        return f"{_repair(evidence, first)}, then evaluate again."
    if names_in(findings, *UNRELIABLE):
        return "Recalibrate by group on held-out samples (caveat.repair with groups=)."
    if worst([summary_level(f) for f in main]) == "unsure":
        return f"{_collect(evidence, main)}."
    usable = not any(f.topic == "warning" and f.reason for f in findings)
    if usable and isinstance(evidence.evaluation.prediction, _POLICIES):
        return (
            "Decide what to accept and what to hand over: TriagePolicy keeps the error rate of "
            "what is accepted below a limit that you set."
        )
    if _is_useless(evidence):
        return (
            "Look for other features or another model: its probabilities are right on average, "
            "but hardly tell one sample from another."
        )
    return "Use it as it is for samples like these, and evaluate again when they change."


def _is_useless(evidence: Evidence) -> bool:
    """Return whether probabilities hardly rank the samples better than chance."""
    row = evidence.one("roc_auc_score")
    return row is not None and evidence.enough(row) and row.high < HARDLY


def _repair(evidence: Evidence, finding: Finding) -> str:
    """Return what repairs a finding: a technique that takes these predictions, and can."""
    if finding.topic in ("calibration", "classes"):
        how = "PlattScaling, or VennAbers with many samples"
        if finding.topic == "classes":
            how = "StructuredMatrixScaling treats every class"
        elif finding.state in _TEMPERATURE:
            how = "TemperatureScaling is the simplest way"
        return f"Recalibrate the probabilities on held-out samples: {_CHOOSES} ({how})"
    if finding.topic == "bias":
        return f"Take the shift out on held-out samples: {_CHOOSES}"
    if finding.state is FindingState.SHAPE and hasattr(evidence.evaluation.prediction, "variance"):
        return (
            "Learn a distribution of another shape from held-out samples (ConformalDistribution): "
            "with another spread the widest intervals would be wrong"
        )
    if finding.topic == "sets":
        return "Make the sets anew from held-out samples (ConformalSets)"
    if finding.topic == "coverage" and isinstance(evidence.evaluation.prediction, Gaussian):
        return (
            f"Recalibrate the spread on held-out samples: {_CHOOSES} (VarianceScaling is the "
            "simplest way), or take ConformalResiduals for a guaranteed coverage"
        )
    what = "intervals" if finding.topic == "coverage" else "quantiles"
    levels = getattr(evidence.evaluation.prediction, "levels", None)
    if levels is None or central_coverages(levels):
        return (
            f"Recalibrate the {what} on held-out samples: {_CHOOSES}, or take ConformalQuantiles "
            "for a guaranteed coverage"
        )
    return f"Recalibrate the {what} on held-out samples (ConformalQuantiles)"


def _not_for(findings: list[Finding]) -> Iterator[str]:
    """Yield for which range, class, coverage, group or purpose it should not be used."""
    main_bad = any(f.topic in MAIN and summary_level(f) == "bad" for f in findings)
    topics = {f.topic for f in findings}
    for finding in findings:
        if finding.topic == "calibration" and "group calibration" in topics:
            continue  # a group says more than the range that it makes wrong
        if finding.topic in (*MAIN, "also") and finding.reason:
            yield f"Until then, do not use {finding.reason}."
        elif finding.topic in UNRELIABLE:
            names = names_in([finding], finding.topic)
            if main_bad:
                yield (
                    f"Then look at {names} again: where a common repair leaves a difference, "
                    "repair by group (caveat.repair with groups=)."
                )
            what = "probabilities" if finding.topic == "group calibration" else "coverage"
            yield f"Until then, do not use its {what} for {names}: {finding.reason}."
        elif finding.topic == "group accuracy":
            names = names_in([finding], finding.topic)
            yield f"Do not expect the overall accuracy for {names}: it is {finding.reason} there."
        elif finding.topic == "warning" and finding.reason:
            yield (
                "Do not use its uncertainty to choose which predictions to check: "
                f"{lowered(finding.reason)}."
            )


def _collect(evidence: Evidence, main: list[Finding]) -> str:
    """Return how many more samples are needed to decide the open questions."""
    few = (
        f"{evidence.samples:,} are too few to say whether its uncertainty can be taken at face "
        "value"
    )
    needed = samples_needed(evidence, main)
    if needed is None:
        return f"Label more samples like these: {few}"
    return f"Label {_more(evidence, needed, evidence.samples, 'like these')}: {few}"


def samples_needed(evidence: Evidence, main: list[Finding]) -> float | None:
    """Return how many samples, in all, decide the open questions in about 4 of 5 repetitions.

    The estimates are taken as true. None if the intervals are undefined.
    """
    factors = [
        _factor(bounds, state, normal_limit(evidence.confidence, looked_at))
        for finding in main
        if finding.state is FindingState.UNSURE
        for bounds, state, looked_at in _questions(evidence, finding)
    ]
    if not factors or not np.isfinite(max(factors)):
        return None
    return _least(evidence, max(factors) * evidence.samples, evidence.samples)


def _factor(bounds: Bounds, state: _State, limit: float) -> float:
    """Return by which factor the samples must grow until the bounds decide."""

    def decided(low: float, high: float) -> bool:
        return state(Bounds((low + high) / 2, low, high)) is not FindingState.UNSURE

    return samples_factor((bounds.low, bounds.center, bounds.high), decided, limit)


def _least(evidence: Evidence, needed: float, samples: int) -> float:
    """Return a number of samples that is enough for intervals at all, by clusters as well."""
    units = samples * evidence.units / evidence.samples
    return max(needed, LEAST_SAMPLES, LEAST_UNITS / units * samples)


def _questions(evidence: Evidence, finding: Finding) -> Iterator[tuple[Bounds, _State, int]]:
    """Yield the bounds of what is open, how they are judged, and how many are judged at once."""
    rows = finding.statement.rows
    if finding.topic in ("calibration", "classes"):
        size = partial(size_state, small=SMALL, tolerable=TOLERABLE)
        half = len(evidence.evaluation.prediction.classes) / 2 if finding.topic == "classes" else 1
        bounds = evidence.bounds(rows[0])
        event = class_event(evidence.evaluation, 1)
        if rows[0].metric == "positive_calibration_error" and event.is_rare:
            yield event.ratio(normal_limit(evidence.confidence)), factor_state, 1
        yield Bounds(*(half * end for end in (bounds.center, bounds.low, bounds.high))), size, 1
        return
    if finding.topic == "sets":
        promised = float(evidence.evaluation.prediction.coverage)
        yield evidence.bounds(rows[0]), partial(coverage_state, promised=promised), 1
        return
    targets = len(evidence.evaluation.prediction.targets)
    if finding.topic == "quantiles":
        for row in rows:
            yield (
                evidence.bounds(row, targets),
                partial(quantile_state, level=row.promised),
                targets,
            )
        return
    for row in {row.target: row for row in reversed(rows)}.values():  # the widest of each target
        state = partial(coverage_state, promised=row.promised)
        yield evidence.bounds(row, targets), state, targets


def _more(evidence: Evidence, needed: float, samples: int, of: str) -> str:
    """Return "about 1,200 more samples like these (2,000 in all)", or as many clusters."""
    if evidence.evaluation.cluster is None:
        return more_in_all(samples, rounded_up(needed), f"samples {of}")
    clusters = round(evidence.units * samples / evidence.samples)
    return more_in_all(clusters, rounded_up(needed / samples * clusters), f"clusters {of}")


def _small_groups(evidence: Evidence, findings: list[Finding]) -> Iterator[str]:
    """Yield how many more samples the groups need of which nothing can be said.

    True classes are no groups in which a prediction could be left unused.
    """
    small = [row for f in findings if f.topic == "small" for row in f.statement.rows]
    rows = [row for row in small if row.attribute != evidence.evaluation.true_class]
    if not rows:
        return
    said = []
    for row in rows[:MOST_NAMES]:
        # Until the interval of a share is narrow enough to say something.
        factor = max(1.0, (row.high - row.low) / WIDE) ** 2
        needed = _least(evidence, factor * row.samples, row.samples)
        said.append(_more(evidence, needed, row.samples, f"of {row.group}"))
    others = f", and so on for {len(rows) - MOST_NAMES} others" if len(rows) > MOST_NAMES else ""
    yield f"Label {joined(said)}{others}, and until then do not rely on it there."
