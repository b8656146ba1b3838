"""Which metric decides about the best epoch of a network, and when its learning rate falls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError

if TYPE_CHECKING:
    from ..nn import Monitor, Plateau


@dataclass(frozen=True)
class RegistryMetric:
    """A metric of the registry, of the outputs of a network for held-out samples.

    Classes are codes and targets are scaled as the network learns them, so that one object serves
    problems that train together. Of several targets, coverages or classes it is the mean; of a
    metric that is best at a value in between, the distance from that.
    """

    metric: str
    head: str
    levels: tuple[float, ...] | None = None
    several: bool = False
    """Whether the outputs of a sample are those of several members."""

    def __call__(self, outputs: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        """Return the value."""
        values = []
        for one in self.questions(outputs, y):
            value = one.answer(weight)
            aside = one.metric.direction == "target"
            values.append(abs(value - one.metric.optimum) if aside else value)
        return float(np.mean(values))

    def questions(self, outputs: np.ndarray, y: np.ndarray) -> list[Any]:
        """Return what the metric asks of the outputs, at least one question."""
        import torch

        from ..evaluation.questions import questions
        from ..nn._outputs import to_prediction

        values = torch.from_numpy(np.asarray(outputs, dtype=np.float64))
        values = values.swapaxes(0, 1) if self.several else values[None]
        prediction = to_prediction(
            values, self.head, classes=None, targets=None, levels=self.levels
        )
        return questions(prediction, y, [self.metric])[0]


def as_monitor(
    metric: Any, head: str, row: Sequence[int], levels: Any, several: bool
) -> "Monitor | None":
    """Return what decides which epoch is the best, checked on two made-up samples."""
    from ..nn import Monitor

    if metric is None:
        return None
    if not isinstance(metric, str):
        raise OptionError(f"monitor must be the name of a metric, or None; got {metric!r}")
    measure = RegistryMetric(metric, head, None if levels is None else tuple(levels), several)
    outputs = np.ones((2, *row))
    of_classes = head in ("logits", "gaussian-logits")
    targets = row[1 if several else 0] if head in ("mean", "quantiles") else row[-1]
    y = np.array([0, 1]) if of_classes else np.array([[0.0], [1.0]]).repeat(targets, axis=1)
    kind = measure.questions(outputs, y)[0].metric
    if kind.direction == "target" and kind.optimum is None:
        raise OptionError(
            f"monitor is {metric!r}, which has no best value; name a metric such as 'nll' or 'auc'"
        )
    return Monitor(measure, higher=kind.direction == "higher")


def as_plateau(given: Any) -> "Plateau | None":
    """Return when the learning rate falls, from the entries of a dictionary."""
    from ..nn import Plateau

    if given is None:
        return None
    known = [field.name for field in fields(Plateau)]
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        raise OptionError(f"plateau must be a dictionary of some of {known}; got {given!r}")
    return Plateau(**given)
