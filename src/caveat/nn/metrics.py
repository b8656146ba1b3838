"""Metrics of a validation loop, whose sums stay on the device."""

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

from .._validation import check_choice, check_integer
from ..exceptions import OptionError
from ..metrics import METRICS
from ._metric_base import Base
from ._metric_classes import ClassSums
from ._metric_gaussian import GaussianSums
from ._metric_graph import BatchGraph

__all__ = ["Metrics"]

_CLASSES, _NUMBERS = ("logits", "probabilities"), ("mean-std", "mean-variance")


class Metrics(Base):
    """Metrics of a validation loop: ``update`` with batches on the device, ``compute`` at its end.

    The batches are added to sums of a fixed size on the device. Outputs are not copied to the host,
    and ``update`` does not wait for the device. Sums of several processes are added up. Where
    torchmetrics is installed this is a ``torchmetrics.Metric``, for a ``MetricCollection`` or
    Lightning.

    Parameters
    ----------
    head : {"logits", "probabilities", "mean-std", "mean-variance"}, default="logits"
        What the outputs are, as in `predict`; mean and spread of one target.
    classes : int, optional
        The number of classes; only used, and needed, by "logits" and "probabilities".
    metrics : sequence of str, optional
        Names or abbreviations of the metrics to compute; by default all that the sums give.

    Notes
    -----
    All arithmetic is in float64, whatever the type of the outputs: the values are those that
    `caveat.metrics` gives for the same numbers. Means, counts, and errors in bins of equal width
    are exact. Metrics of ranks and of bins of equal count treat samples in one cell as ties: areas
    under curves, operating points, the adaptive, debiased and smooth calibration errors, the
    normalized one of regression, and the metrics that rank by uncertainty. A cell of probabilities
    is at most 1/15,360 wide, and at most 1/128 of the distance from 0 or 1; one of variances is at
    most 1/128 of them. So the area under a ROC curve is off by at most half the share of those
    pairs whose samples are in one cell. The `decrease_ratio_score` is left out, as it can jump
    where two samples swap places.

    Invalid values (NaN, a label that is no class) are counted on the device; ``compute`` raises.

    The third batch of one shape on a GPU is recorded as a CUDA graph, which waits once and keeps up
    to some 200 MiB. Devices without float64, such as Apple's "mps", are not supported.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn import Metrics
    >>> metrics = Metrics("logits", classes=3, metrics=["accuracy", "nll", "ece"])
    >>> for seed in range(4):
    ...     generator = torch.Generator().manual_seed(seed)
    ...     logits = torch.randn(100, 3, generator=generator)
    ...     target = torch.randint(3, (100,), generator=generator)
    ...     metrics.update(logits, target)
    >>> {name: round(value.item(), 4) for name, value in metrics.compute().items()}
    {'accuracy_score': 0.3325, 'negative_log_likelihood_loss': 1.3656,
     'expected_calibration_error': 0.2624}
    >>> metrics.reset()
    """

    sums: Tensor

    def __init__(
        self,
        head: str = "logits",
        classes: int | None = None,
        *,
        metrics: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self.head, self.classes = check_choice(head, "head", (*_CLASSES, *_NUMBERS)), classes
        self._kind: ClassSums | GaussianSums
        if head in _CLASSES:
            if classes is None:
                raise OptionError(f'head="{head}" needs classes=, the number of classes')
            self._kind = ClassSums(head, check_integer(classes, "classes", 2))
        elif classes is not None:
            raise OptionError(f'head="{head}" has no use for classes=; leave it out')
        else:
            self._kind = GaussianSums(head)
        self._names = self._kind.names if metrics is None else self._chosen(metrics)
        size = sum(prod(shape) for shape in self._kind.shapes.values())
        self.add_state("sums", torch.zeros(size, dtype=torch.float64), dist_reduce_fx="sum")
        self._graph = BatchGraph()

    def __repr__(self) -> str:
        classes = "" if self.classes is None else f", classes={self.classes}"
        return f"Metrics({self.head!r}{classes})"

    @property
    def unavailable(self) -> dict[str, str]:
        """Metrics that would need too many sums for so many classes, and why; they are NaN."""
        return {name: why for name, why in self._kind.unavailable.items() if name in self._names}

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Add a batch.

        Parameters
        ----------
        preds : Tensor
            Outputs of the network for some samples: (samples, classes), or (samples,) for the
            second of two classes, or (samples, 2) for mean and spread.
        target : Tensor of shape (samples,)
            Codes 0, 1, ... of the true classes, or the true values.
        """
        for value, name in ((preds, "preds"), (target, "target")):
            if not isinstance(value, Tensor):
                raise OptionError(f"{name} must be a Tensor; got a {type(value).__name__}")
        # Tensors made in inference mode could not be changed outside of it.
        with torch.inference_mode(False), torch.no_grad():
            preds, target = preds.detach(), target.to(preds.device)
            if self.sums.is_inference() or self.sums.device != preds.device:
                self.sums = self.sums.to(preds.device, copy=True)
            added = self._graph(self._sums_of, preds, target)
            if added is None:
                self._kind.add(self._views(self.sums), preds, target)
            else:  # pragma: no cover - needs a GPU
                self.sums += added

    def reset(self) -> None:
        """Forget all samples."""
        super().reset()

    def compute(self) -> dict[str, Tensor]:
        """Return the values of all samples so far, those of all processes.

        Returns
        -------
        dict of str to Tensor of shape ()
            By the names of `caveat.metrics`, on the device. NaN where a metric is undefined (an
            area if only one class occurs) or `unavailable`.
        """
        sums = self._all_sums()
        arrays = {name: view.numpy() for name, view in self._views(sums.cpu()).items()}
        values = self._kind.values(arrays)
        numbers = torch.tensor([values[name] for name in self._names], dtype=torch.float64)
        return dict(zip(self._names, numbers.to(sums.device), strict=True))

    def _sums_of(  # pragma: no cover - needs a GPU
        self, preds: Tensor, target: Tensor
    ) -> Tensor:
        """Return the sums of one batch."""
        sums = torch.zeros_like(self.sums)
        self._kind.add(self._views(sums), preds, target)
        return sums

    def _views(self, sums: Tensor) -> dict[str, Tensor]:
        shapes = self._kind.shapes
        parts = sums.split([prod(shape) for shape in shapes.values()])
        return {
            name: part.view(shape)
            for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }

    def _chosen(self, metrics: Any) -> list[str]:
        """Return the full names of metrics."""
        if isinstance(metrics, str) or not isinstance(metrics, Iterable):
            raise OptionError(f"metrics must be a list of names; got {metrics!r}")
        names = []
        for given in metrics:
            fitting = [
                metric.name for metric in METRICS.find(given) if metric.name in self._kind.names
            ]
            if not fitting:
                raise OptionError(
                    f"{given!r} does not follow from the sums of {self!r}; they give "
                    f"{', '.join(self._kind.names)}"
                )
            if fitting[0] in self._kind.unavailable:
                raise OptionError(f"{given!r} is unavailable: {self._kind.unavailable[fitting[0]]}")
            names += fitting
        return names
