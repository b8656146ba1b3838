"""Sums of classification metrics on a device, and the values that follow from them."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .._validation import DOUBLE_TOLERANCE, FloatArray, as_floats
from ..exceptions import InvalidValueError, LabelError, ShapeError
from ..metrics import METRICS, State
from ._loss_inputs import as_codes
from ._metric_cells import CELLS, add_rows, probability_cells, weighted_rows

BINS = 15
"""Equal-width bins of the metrics by default."""

MOST_RANKED = 20
"""With more classes there are no cells for each class: for 20 they take 17 MiB."""

_ENTRIES_CPU, _ENTRIES_GPU = 2**17, 2**22
"""Probabilities that are worked on at once; the scratch space is a few times these doubles."""

_LOG_OF_ZERO = -800.0
"""Below the logarithm of every double, and finite: 0 times it is 0."""


class ClassSums:
    """Sums over samples with probabilities of some classes.

    Parameters
    ----------
    head : {"logits", "probabilities"}
    classes : int
    """

    def __init__(self, head: str, classes: int) -> None:
        self.head, self.classes = head, classes
        ranked = 1 if classes == 2 else classes if classes <= MOST_RANKED else 0
        self.shapes: dict[str, tuple[int, ...]] = {
            "bad": (2,),  # samples with invalid outputs, and with unknown labels
            "scores": (4,),  # samples, log loss, infinite ones, Brier loss
            "counts": (3, classes),  # right, true, predicted
            "top": (BINS, 2),  # gap and samples, by confidence
            "entropy": (BINS, 3),  # entropy, wrong, samples, by entropy
            "ranks": (BINS, classes + 1),  # steps of the samples by rank of the true class
            "classwise": (classes, BINS, 4),  # predicted, happened, samples, squares, by p
            "confidence": (2, CELLS, 2),  # wrong, right: samples and their confidence
            "uncertainty": (2, CELLS, 2),  # right, wrong: samples and their entropy
            "each": (ranked, 2, CELLS, 2),  # other, this class: samples and its probability
        }
        two = (*_OF_TWO, "positive_calibration_error") if classes == 2 else ()
        known = {*_EXACT, *_OF_EVENT, *_OF_RANKING, *_OF_CLASSES} - {"positive_calibration_error"}
        self.names = [name for name in METRICS if name in known or name in two]
        self.unavailable = dict.fromkeys(
            () if ranked else _OF_CLASSES,
            f"it needs cells of each class, which are kept for up to {MOST_RANKED} classes; there "
            f"are {classes:,}",
        )

    def add(self, sums: Mapping[str, Tensor], preds: Tensor, target: Tensor) -> None:
        """Add a batch to the sums, in place.

        Parameters
        ----------
        sums : mapping of str to Tensor
            By the names of ``shapes``.
        preds : Tensor of shape (samples, classes), or (samples,) for the second of two
        target : integer Tensor of shape (samples,)
        """
        rows = self._columns(preds)
        codes = as_codes(target, rows.shape[:1])
        step = max(1, (_ENTRIES_GPU if rows.is_cuda else _ENTRIES_CPU) // self.classes)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            self._add_block(sums, rows[part], codes[part])

    def _columns(self, preds: Tensor) -> Tensor:
        """Return outputs of shape (samples, classes)."""
        single = preds.dim() == 1 or (preds.dim() == 2 and preds.shape[1] == 1)
        if single and self.classes == 2:
            second = preds.reshape(-1).double()  # 1 - p in bfloat16 would be another number
            first = torch.zeros_like(second) if self.head == "logits" else 1 - second
            return torch.stack([first, second], dim=1)
        if preds.dim() != 2 or preds.shape[1] != self.classes:
            single_shape = ", or (samples,) for the second class" if self.classes == 2 else ""
            raise ShapeError(
                f"preds must have shape (samples, {self.classes}){single_shape}, since classes is "
                f"{self.classes}; got {tuple(preds.shape)}"
            )
        return preds

    def _add_block(self, sums: Mapping[str, Tensor], rows: Tensor, codes: Tensor) -> None:
        if self.head == "logits":
            logarithm = rows.double().log_softmax(1)
            p = logarithm.exp()
            usable = p.sum(1) > 0.5  # not if a logit is NaN or infinite
        else:
            p = rows.double()
            whole = p.sum(1, keepdim=True)
            off = (whole - 1).abs()
            usable = (off[:, 0] <= _tolerance(rows.dtype)) & (p.amin(1) >= 0)
            # Rows in a lower precision are divided by their sum, as those of a prediction are.
            p = torch.where(off > DOUBLE_TOLERANCE, p / whole, p)
            logarithm = p.log()
        known = (codes >= 0) & (codes < self.classes)
        sums["bad"].add_(torch.stack([~usable, ~known]).sum(1))
        # `values` raises if anything is invalid; until then it must fit into the tables.
        codes = codes.clamp(0, self.classes - 1)
        p = torch.where(usable[:, None], p, 1 / self.classes)
        true = p.gather(1, codes[:, None])[:, 0]
        loss = torch.where(usable, -logarithm.gather(1, codes[:, None])[:, 0], 0.0)
        top, label = p.max(1)
        right = label == codes
        entropy = (p * logarithm.clamp(min=_LOG_OF_ZERO)).sum(1) / -np.log(self.classes)
        entropy = torch.where(usable, entropy.clamp(0, 1), 1.0)
        brier = 1 - 2 * true + p.square().sum(1)
        # Many small steps cost more than large ones: what can be done at once is.
        keys = torch.stack([top, entropy, true]).clamp(max=1)
        bins, (in_top, in_entropy) = _bins(keys), probability_cells(keys[:2])
        one, hit = torch.ones_like(top), right.double()
        infinite = loss.isinf().double()
        loss = torch.where(infinite > 0, 0.0, loss)
        sums["scores"].add_(torch.stack([one, loss, infinite, brier]).sum(1))
        places = torch.cat([codes, codes + self.classes, label + 2 * self.classes])
        add_rows(sums["counts"], places, torch.cat([hit, one, one]))
        add_rows(sums["top"], bins[0], keys[0] - hit, one)
        add_rows(sums["entropy"], bins[1], entropy, 1 - hit, one)
        add_rows(sums["confidence"], in_top + right * CELLS, one, keys[0])
        add_rows(sums["uncertainty"], in_entropy + ~right * CELLS, one, entropy)
        self._add_ranks(sums["ranks"], bins[1], p, true)
        self._add_classwise(sums["classwise"], codes * BINS + bins[2], p, true)
        if len(sums["each"]):
            self._add_each_class(sums["each"], p, codes)

    def _add_ranks(self, table: Tensor, bins: Tensor, p: Tensor, true: Tensor) -> None:
        better, equal = (p > true[:, None]).sum(1), (p == true[:, None]).sum(1)
        # Classes that tie share their ranks: a step up at the first, and down after the last.
        first = bins * (self.classes + 1) + better
        share = 1 / equal.double()
        add_rows(table, torch.cat([first, first + equal]), torch.cat([share, -share]))

    def _add_classwise(self, table: Tensor, true_bins: Tensor, p: Tensor, true: Tensor) -> None:
        # At most 15 probabilities of a sample reach 1/15; all others are in the first bin.
        several = min(BINS, self.classes)
        label = p.float().topk(several, dim=1, sorted=False).indices
        largest = p.gather(1, label)
        one, none = torch.ones_like(largest), torch.zeros_like(largest)
        add_rows(table, label * BINS + _bins(largest), largest, none, one, largest.square())
        one, none = one[:, 0], none[:, 0]
        add_rows(table, true_bins, none, one, none, 1 - 2 * true)
        if several < self.classes:
            rest = p.scatter(1, label, 0.0)
            table[:, 0, 0] += rest.sum(0)
            table[:, 0, 3] += rest.square().sum(0)

    def _add_each_class(self, table: Tensor, p: Tensor, codes: Tensor) -> None:
        first = self.classes - len(table)  # of two classes, only the second
        key = p[:, first:].clamp(max=1)
        place = torch.arange(len(table), device=p.device)
        happened = codes[:, None] == place + first
        index = probability_cells(key) + (2 * place + happened) * CELLS
        add_rows(table, index, torch.ones_like(key), key)

    def values(self, sums: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the values of all metrics by name; NaN for those that are unavailable.

        Parameters
        ----------
        sums : mapping of str to ndarray
        """
        samples = int(sums["scores"][0])
        self._check(sums["bad"], samples)
        read = _Read(sums, samples, self.classes)
        values = {name: _exact(name, read) for name in self.names if name in _EXACT}
        event, ranked = weighted_rows(sums["confidence"]), weighted_rows(sums["uncertainty"])
        values |= {name: _of_rows(name, event, kind="positive") for name in _OF_EVENT}
        values |= {name: _of_rows(name, ranked) for name in _OF_RANKING}
        values |= self._of_each_class(sums["each"], sums["counts"][1] > 0)
        return {name: values[name] for name in self.names}

    def _of_each_class(self, tables: FloatArray, occurs: NDArray[np.bool_]) -> dict[str, float]:
        if self.unavailable:
            return dict.fromkeys(_OF_CLASSES, np.nan)
        rows = [weighted_rows(table) for table in tables]
        if self.classes == 2:
            return {name: _of_rows(name, rows[0]) for name in (*_OF_CLASSES, *_OF_TWO)}
        # A class against the rest is the second of two.
        areas = [row for row, occurring in zip(rows, occurs, strict=True) if occurring]
        areas = areas if len(areas) > 1 else []
        return {
            name: float(np.mean([_of_rows(name, row) for row in chosen])) if chosen else np.nan
            for name, chosen in zip(_OF_CLASSES, (rows, areas, areas), strict=True)
        }

    def _check(self, bad: FloatArray, samples: int) -> None:
        if samples == 0:
            raise ShapeError("there are no samples yet; call update before compute")
        outputs, labels = (int(count) for count in bad)
        if outputs:
            what = (
                "has logits that are NaN or infinite"
                if self.head == "logits"
                else "is not a distribution: NaN, negative or of another sum than 1; for logits "
                'pass head="logits"'
            )
            raise InvalidValueError(f"preds of {outputs:,} of {samples:,} samples {what}")
        if labels:
            raise LabelError(
                f"target of {labels:,} of {samples:,} samples is not one of the classes 0 to "
                f"{self.classes - 1}; leave samples without a label out of the batch"
            )


class _Read:
    """The sums as the exact metrics declare them."""

    def __init__(self, sums: Mapping[str, FloatArray], samples: int, classes: int) -> None:
        self.samples, self.classes = samples, classes
        _, self.loss, self.infinite, self.brier = sums["scores"]
        self.right, self.true, self.predicted = sums["counts"]
        forecast, happened, mass, self.square = np.moveaxis(sums["classwise"], 2, 0)
        first = samples - mass[:, 1:].sum(axis=1, keepdims=True)
        self.gap, self.mass = forecast - happened, np.concatenate([first, mass[:, 1:]], axis=1)
        self.top = sums["top"].T
        self.entropy, self.wrong, self.held = sums["entropy"].T
        self.ranks = np.maximum(np.cumsum(sums["ranks"], axis=1)[:, :-1], 0.0)


def _exact(name: str, read: _Read) -> float:
    parts = [np.asarray(part).reshape(1, -1) for part in _EXACT[name](read)]
    totals = tuple((np.arange(part.shape[1]), part) for part in parts)
    state = State(name, {}, {"probabilities": read.classes}, read.samples, True, totals, ())
    return METRICS[name].value(state)


def _decisions(read: _Read) -> tuple[Any, ...]:
    return (read.right, read.true), read.predicted


def _top(read: _Read) -> tuple[Any, ...]:
    return (read.top,)


def _classwise(read: _Read) -> tuple[Any, ...]:
    return ((read.gap, read.mass),)


def _uncertainty(read: _Read) -> tuple[Any, ...]:
    # The metric halves the entropy of two classes.
    entropy = read.entropy / 2 if read.classes == 2 else read.entropy
    return ((entropy - read.wrong, read.held),)


_EXACT: dict[str, Callable[[_Read], tuple[Any, ...]]] = {
    "accuracy_score": lambda read: ((read.samples, read.right.sum()),),
    "balanced_accuracy_score": _decisions,
    "f1_score": _decisions,
    "matthews_correlation_score": _decisions,
    "cohen_kappa_score": _decisions,
    "negative_log_likelihood_loss": lambda read: ((read.samples, read.loss, read.infinite),),
    "brier_loss": lambda read: ((read.samples, read.brier, 0.0),),
    "brier_calibration_error": _classwise,
    "brier_refinement_loss": lambda read: ((read.gap, read.square, read.mass),),
    "expected_calibration_error": _top,
    "maximum_calibration_error": _top,
    "classwise_calibration_error": _classwise,
    "positive_calibration_error": lambda read: ((read.gap[1], read.mass[1]),),
    "uncertainty_calibration_error": _uncertainty,
    "variation_calibration_error": lambda read: ((read.entropy, read.held), read.ranks),
}
"""The sums of each part of a metric, in the order of its declaration."""

_OF_EVENT = ("smooth_calibration_error", "debiased_calibration_error")
_OF_RANKING = tuple(
    name
    for name, metric in METRICS.items()
    # How often the error falls from one step to the next is not continuous in the order.
    if metric.task == "ranking" and name != "decrease_ratio_score"
)
_OF_CLASSES = ("adaptive_calibration_error", "roc_auc_score", "average_precision_score")
_OF_TWO = ("specificity_at_sensitivity_score", "sensitivity_at_specificity_score")


def _of_rows(name: str, rows: Any, **options: Any) -> float:
    happened, key, weight = rows
    return float(METRICS[name].function(happened, key, sample_weight=weight, **options))


def _bins(key: Tensor) -> Tensor:
    return (key * BINS).long().clamp(max=BINS - 1)


@cache
def _tolerance(dtype: torch.dtype) -> float:
    """Return how far the sum of a row may be from 1, as for arrays of this type."""
    return as_floats(torch.ones(1, dtype=dtype), "preds")[2]
