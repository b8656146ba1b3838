"""Reliability diagrams: what classes were said to be, and what they were."""

from math import log
from typing import Any

import numpy as np

from .._blocks import highest, row_blocks
from .._validation import FloatArray, check_choice
from ..evaluation import Evaluation
from ..evaluation.result import class_probabilities
from ..exceptions import OptionError
from ..metrics._core.equal_width import bin_of
from ..metrics.classification.entropy import entropy_of
from ..metrics.classification.variation import places
from ..resampling.spread import Limits, Spread, effective_size, share_limits
from ..results.rows import option_words
from ..results.words import center
from ._by_group import by_group
from ._diagonal import diagonal_chart, numbers_of
from ._samples import DISTRIBUTIONS, Samples, headline
from .chart import Chart
from .entry import Entry

VIEWS = ("class", "confidence", "entropy", "variation")
BINS = 15
"""As many as the metrics cut."""

CELLS = 60
_DRAWS = 1000

_WORDS = {
    "class": (
        "positive_calibration_error",
        "Reliability of the probability of {0}",
        "predicted probability of {0}",
        "share that was {0}",
    ),
    "confidence": (
        "expected_calibration_error",
        "Reliability of the confidence",
        "probability of the predicted class",
        "share that was right",
    ),
    "entropy": (
        "uncertainty_calibration_error",
        "Entropy against errors",
        "predicted entropy (1 is the largest)",
        "share that was wrong",
    ),
    "variation": (
        "variation_calibration_error",
        "Reliability of the entropy",
        "predicted entropy (1 is the largest)",
        "entropy of what happened",
    ),
}


def reliability(
    evaluation: Evaluation, view: str | None = None, *, label: Any = None, group: str | None = None
) -> Chart:
    """Return a reliability diagram: predicted against observed, with the density of predictions.

    Parameters
    ----------
    view : {"class", "confidence", "entropy", "variation"}, optional
        The probability of one class against its share; the probability of the predicted class
        against the share that was right; the entropy of the prediction against the share that was
        wrong (with two classes the entropy is halved); or the entropy of the prediction against
        that of what happened. By default "class" if there are two, and "confidence" if more.
    label : class label, optional
        Which class, for "class"; by default the second of two.
    group : str, optional
        An attribute of the samples, such as "sex", for "class" and "confidence": a curve for each
        of its values, with bands for up to three. Of more than seven values the largest are drawn.

    Returns
    -------
    With Wilson's limits at the effective sample size for shares. The entropy of what happened has
    limits from 1,000 draws of the frequencies in the bin (Dirichlet, at the effective counts, with
    one sample more spread evenly): the percentiles of their entropies, these mirrored at the
    observed one, or the largest bias there can be above it, whichever reaches furthest, since
    observed entropies are too low in small bins.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.1, 0.9, 0.9])
    >>> chart = reliability(caveat.evaluate(prediction, [0, 1, 1, 1], resamples=0))
    >>> chart.numbers["predicted"], chart.numbers["observed"]
    (array([0.1, 0.9]), array([0.5, 1. ]))
    >>> result = caveat.evaluate(
    ...     prediction, [0, 1, 1, 1], groups={"sex": ["f", "m", "f", "m"]}, resamples=0
    ... )
    >>> chart = reliability(result, group="sex")
    >>> chart.numbers["group"], [float(share) for share in chart.numbers["observed"]]
    (['f', 'f', 'm', 'm'], [0.0, 1.0, 1.0, 1.0])
    """
    result = ENTRY.samples(evaluation)
    p = class_probabilities(evaluation)
    if view is None:
        view = "class" if p.shape[1] == 2 else "confidence"
    check_choice(view, "view", VIEWS)
    code = _code(evaluation, view, label)
    if group is None:
        return _diagram(evaluation, result, p, view, code)
    if view not in ("class", "confidence"):
        raise OptionError(f"group is for view 'class' and 'confidence'; got {group!r} for {view!r}")
    return by_group(
        evaluation,
        group,
        lambda rows: _diagram(evaluation, result.take(rows), p[rows], view, code),
        _READ[view],
    )


def _diagram(evaluation: Evaluation, result: Samples, p: FloatArray, view: str, code: int) -> Chart:
    """Return the diagram of some of the samples."""
    if view == "class":
        position, happened = np.ascontiguousarray(p[:, code]), result.truth == code
    elif view == "confidence":
        labels, position = highest(p)
        happened = labels == result.truth
    else:
        blocks = row_blocks(len(p), p.shape[1])
        position = np.concatenate([entropy_of(p[rows]) for rows in blocks])
        happened = highest(p)[0] != result.truth if view == "entropy" else np.zeros(0, bool)
    scale = 0.5 if view == "entropy" and p.shape[1] == 2 else 1.0
    bins = _rows_of_bins(position, result)
    if view == "variation":
        spread, limits = _variation(p, result, bins, evaluation.confidence)
    else:
        spread = result.spread((happened[rows] * 1.0, rows) for rows in bins)
        limits = share_limits(spread, evaluation.confidence)
    predicted = scale * result.spread((position[rows], rows) for rows in bins).mean
    density = np.bincount(bin_of(position, CELLS), result.weight, CELLS)
    name = f"class={evaluation.prediction.classes[code]}"
    metric, *words = _WORDS[view]
    title, x_label, y_label = (text.format(name) for text in words)
    label = str(evaluation.prediction.classes[code])
    of_one = option_words(label, None, None) if view == "class" and p.shape[1] > 2 else ""
    number = headline(evaluation, metric, option=of_one)
    edges = scale * np.linspace(0, 1, CELLS + 1)
    numbers = numbers_of("predicted", predicted, spread.mean, limits, spread.mass)
    end = float(edges[-1])
    top = 1.0 if end == 1 else max(end, float(limits[1].max()))
    x_label = x_label if scale == 1 else "half of the predicted entropy"
    return diagonal_chart(
        evaluation,
        (title, _READ[view], x_label, y_label),
        numbers,
        number,
        ends=(end, top),
        # The error rate of calibrated predictions is another function of their entropy.
        ideal="perfectly calibrated" if view != "entropy" else "as often wrong as the entropy says",
        density=(edges, density / density.sum()),
    )


_READ = {
    "class": "Below the dotted line the class happens less often than predicted (its risk is "
    "overestimated), above it more often (underestimated).",
    "confidence": "Below the dotted line the model is right less often than it says "
    "(overconfident), above it more often (underconfident).",
    "entropy": "How often predictions of the same entropy are wrong. It should rise from left to "
    "right; the dotted line is a rough guide, as entropy and error rate are different things.",
    "variation": "How varied the outcomes really were, at each predicted entropy. Above the dotted "
    "line the outcomes vary more than the model says (overconfident).",
}


def _code(evaluation: Evaluation, view: str, label: Any) -> int:
    """Return the position of the class of a chart; only one view needs it."""
    labels = [str(name) for name in evaluation.prediction.classes.tolist()]
    if view != "class":
        if label is not None:
            raise OptionError(f"label is for view 'class'; got {label!r} for {view!r}")
        return 0
    if label is None:
        if len(labels) > 2:
            raise OptionError(f"view 'class' needs label=, one of the classes {labels}")
        return 1
    return labels.index(check_choice(str(label), "label", labels))


def _rows_of_bins(position: FloatArray, result: Samples) -> list[np.ndarray]:
    """Return the rows of each bin that holds weight; those without weight are left out."""
    index = bin_of(position, BINS).astype(np.uint8)
    order = np.argsort(index, kind="stable")
    order = order[result.counted[order]]
    ends = np.searchsorted(index[order], np.arange(BINS), side="right")
    return [rows for rows in np.split(order, ends[:-1]) if len(rows)]


def _variation(
    p: FloatArray, result: Samples, bins: list[np.ndarray], confidence: float
) -> tuple[Spread, Limits]:
    """Return the entropies of the ranks in each bin, and limits.

    The entropy is the mean of -log q over the ranks of the samples, and by the delta method its
    variance is that of this mean. That gives the effective size, at which ranks are drawn.
    """
    classes = p.shape[1]
    surprise, frequencies = np.zeros(len(p)), np.empty((len(bins), classes))
    for i, rows in enumerate(bins):
        weight = np.ones(len(rows)) if result.weight is None else result.weight[rows]
        better, equal = _ranks(p, result.truth, rows)
        frequencies[i] = _rank_shares(better, equal, weight, classes)
        # A tie stands on several ranks at once: the mean over them, by differences of sums.
        logs = np.log(np.maximum(frequencies[i], np.finfo(np.float64).tiny)) / -log(classes)
        sums = np.r_[0.0, np.cumsum(np.where(frequencies[i] > 0, logs, 0.0))]
        surprise[rows] = (sums[better + equal] - sums[better]) / equal
    spread = result.spread((surprise[rows], rows) for rows in bins)
    size = effective_size(_variance_of_one(frequencies), spread, confidence)
    return spread, _drawn_limits(frequencies, size, confidence)


def _ranks(p: FloatArray, truth: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    better, equal = np.empty((2, len(rows)), dtype=np.intp)
    for block in row_blocks(len(rows), p.shape[1]):
        better[block], equal[block] = places(p[rows[block]], truth[rows[block]])
    return better, equal


def _rank_shares(
    better: np.ndarray, equal: np.ndarray, weight: FloatArray, classes: int
) -> FloatArray:
    """Return how much of the weight is on each rank, ties in equal parts."""
    share = weight / equal
    steps = np.bincount(better, share, classes + 1) - np.bincount(
        better + equal, share, classes + 1
    )
    # Sums of steps up and down leave rounding where nothing is.
    result = np.cumsum(steps[:classes])
    result[result < 1e-12 * weight.sum()] = 0.0
    return result / result.sum()


def _variance_of_one(frequencies: FloatArray) -> FloatArray:
    """Return the variance of -log q, in units of log K, over the ranks of each bin."""
    tiny = np.finfo(np.float64).tiny
    logs = np.log(np.maximum(frequencies, tiny)) / log(frequencies.shape[1])
    mean = (frequencies * logs).sum(axis=1)
    return np.maximum((frequencies * logs**2).sum(axis=1) - mean**2, 0.0)


def _drawn_limits(frequencies: FloatArray, size: FloatArray, confidence: float) -> Limits:
    rng = np.random.default_rng(0)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    observed = entropy_of(frequencies)
    low, high = np.empty((2, len(size)))
    for i, counts in enumerate(frequencies * size[:, None] + 1 / frequencies.shape[1]):
        drawn = rng.standard_gamma(counts, (_DRAWS, len(counts)))
        drawn /= drawn.sum(axis=1, keepdims=True)
        lower, upper = np.quantile(entropy_of(drawn), ends)
        low[i] = min(lower, 2 * observed[i] - upper, observed[i])
        # What ranks that were not seen may add: Paninski's bound of the bias.
        unseen = np.log1p((len(counts) - 1) / size[i]) / log(len(counts))
        high[i] = max(upper, 2 * observed[i] - lower, observed[i] + unseen)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def _views(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Which diagrams a page shows: of the second of two classes; of more, of the worst as well."""
    more = [{"view": "entropy"}, {"view": "variation"}]
    if len(evaluation.prediction.classes) == 2:
        own = [part.name for part in evaluation.attributes if part.name != evaluation.true_class]
        grouped = [{"view": "class", "group": name} for name in own]
        return [{"view": "class"}, {"view": "confidence"}, *more, *grouped]
    rows = evaluation.matching(metric="positive_calibration_error", group="")
    worst = max(rows, key=center, default=None)
    one = [] if worst is None else [{"view": "class", "label": worst.one_class}]
    return [{"view": "confidence"}, *one, *more]


ENTRY = Entry(
    "reliability",
    reliability,
    applies=lambda evaluation, _: isinstance(evaluation.prediction, DISTRIBUTIONS),
    needs="a probability for each class",
    section="calibration",
    views=_views,
    folded=lambda options: options.get("view") in ("entropy", "variation") or "group" in options,
)
