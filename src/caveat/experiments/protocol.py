"""What is swept: sizes of the training set, shares of wrong labels, repeats, training lengths."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import check_choice, check_integer
from ..exceptions import OptionError

NOISE_IN = ("train and test", "train")
SCHEDULES = ("inverse-epochs", "constant-steps", "constant-epochs")


@dataclass(frozen=True)
class Protocol:
    """The two sweeps of a disentanglement experiment.

    Parameters
    ----------
    sizes : sequence of float, default=(0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1)
        Shares of the training set to learn from, above 0 and at most 1; two at least. They are kept
        in rising order.
    noise : sequence of float, default=(0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
        Shares of the labels that are permuted among themselves, from 0 to 1; two at least.
    repeats : int, default=5
        How often both sweeps are run, each time with other subsets, noise and seeds.
    schedule : {"inverse-epochs", "constant-steps", "constant-epochs"}, default="inverse-epochs"
        How long networks train on a part of the samples: epochs divided by the share; as many
        steps of the optimizer as on all samples; or as many epochs, which lets small sets underfit.
    noise_in : {"train and test", "train"}, default="train and test"
        Which labels are permuted. With noise in the labels to learn from alone, the score is that
        on clean test labels: it measures what the noise did to the model, and not how much noise
        there is, which is what the aleatoric uncertainty should follow.

    Examples
    --------
    >>> from caveat.experiments import Protocol
    >>> Protocol(sizes=(1, 0.1, 0.5), noise=(0, 0.5), repeats=3)  # doctest: +NORMALIZE_WHITESPACE
    Protocol(sizes=(0.1, 0.5, 1.0), noise=(0.0, 0.5), repeats=3, schedule='inverse-epochs',
             noise_in='train and test')
    >>> Protocol().conditions
    90
    """

    sizes: Sequence[float] = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
    noise: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    repeats: int = 5
    schedule: str = "inverse-epochs"
    noise_in: str = "train and test"

    def __post_init__(self) -> None:
        # The fields are frozen for users alone.
        object.__setattr__(self, "sizes", _levels(self.sizes, "sizes"))
        object.__setattr__(self, "noise", _levels(self.noise, "noise"))
        if self.sizes[0] == 0:
            raise OptionError("sizes must be above 0; nothing can be learned from no samples")
        object.__setattr__(self, "repeats", check_integer(self.repeats, "repeats"))
        if self.schedule not in SCHEDULES:
            known = ", ".join(map(repr, SCHEDULES))
            raise OptionError(f"schedule must be one of {known}; got {self.schedule!r}")
        check_choice(self.noise_in, "noise_in", NOISE_IN)

    @property
    def conditions(self) -> int:
        """How often a model is fitted."""
        return self.repeats * (len(self.sizes) + len(self.noise))


def _levels(values: Any, name: str) -> tuple[float, ...]:
    try:
        levels = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be a sequence of shares; got {values!r}") from None
    if levels.ndim != 1:
        raise OptionError(f"{name} must be a sequence of shares; got {values!r}")
    wrong = levels[~((levels >= 0) & (levels <= 1))]
    if len(wrong):
        raise OptionError(
            f"{name} must be shares from 0 to 1 (0.25 for 25 %); got {', '.join(_text(wrong))}"
        )
    result = np.unique(levels)
    if len(result) < 2:
        got = ", ".join(_text(result)) or "none"
        raise OptionError(
            f"{name} must have two different levels at least, of which a correlation is made; "
            f"got {got}"
        )
    if len(result) < len(levels):
        raise OptionError(f"{name} names a level twice: {', '.join(_text(np.sort(levels)))}")
    return tuple(result.tolist())


def _text(levels: np.ndarray) -> list[str]:
    return [f"{level:g}" for level in levels]


PROTOCOLS = {
    "paper": Protocol(),
    "cheap": Protocol(sizes=(0.25, 0.5, 0.75, 1), noise=(0, 0.25, 0.5, 0.75), repeats=1),
}


def noise_words(task: str) -> str:
    """Return what the noise permutes."""
    return "labels" if task == "classification" else "targets"


def as_protocol(protocol: Any) -> Protocol:
    """Return a protocol by itself or by its name."""
    if isinstance(protocol, Protocol):
        return protocol
    if isinstance(protocol, str) and protocol in PROTOCOLS:
        return PROTOCOLS[protocol]
    raise OptionError(
        f"protocol must be 'paper', 'cheap' or a caveat.experiments.Protocol; got {protocol!r}"
    )
