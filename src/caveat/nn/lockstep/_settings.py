"""How copies are trained."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from ..._defaults import BATCH_SIZE, EPOCHS, LEARNING_RATE, OPTIMIZER
from ..._renamed import suggests_parameters
from ..._validation import check_choice, check_integer, check_number
from ...exceptions import OptionError
from ._schedules import SCHEDULES


@dataclass(frozen=True)
class Monitor:
    """What decides which epoch of a copy is its best, in place of the validation loss.

    Parameters
    ----------
    measure : callable
        (outputs, y, weight) -> float, with arrays of the validation samples of one copy: outputs of
        the network without noise, labels as the loss gets them, weights or None.
    higher : bool, default=False
        Whether more is better.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.nn import Monitor
    >>> def accuracy(outputs, y, weight):
    ...     return np.average(outputs.argmax(axis=1) == y, weights=weight)
    >>> Monitor(accuracy, higher=True).measure(np.array([[2.0, 1.0], [0.0, 3.0]]), [0, 0], None)
    np.float64(0.5)
    """

    measure: Callable[[np.ndarray, np.ndarray, np.ndarray | None], float]
    higher: bool = False


@dataclass(frozen=True)
class Plateau:
    """Lower the learning rate of a copy when its validation loss, or its monitor, is no new best.

    Parameters
    ----------
    factor : float, default=0.1
        The rate is multiplied by this.
    patience : int, default=10
        Epochs without a new best before the rate is lowered.
    minimum : float, default=0.0
        Smallest learning rate.
    """

    factor: float = 0.1
    patience: int = 10
    minimum: float = 0.0


@dataclass(frozen=True)
class Training:
    """How copies are trained; what differs between copies is in `Copy`.

    Parameters
    ----------
    epochs : int, default=100
        How often a copy sees its samples, unless the copy says otherwise.
    batch_size : int, default=64
        Samples in a batch.
    optimizer : {"adam", "adamw", "sgd"}, or class or function, default="adam"
        Name of the optimizer, or what makes one of torch's: it is called with the parameters and,
        where it takes them, ``lr`` and ``weight_decay``. Copies then train one after another.
    learning_rate : float, or dict of str to float, default=0.005
        Learning rate of the optimizer; a dictionary has a rate for each part of the module, by its
        name, and may have one for all others as "".
    scheduler : {"constant", "cosine", "linear"}, or class or function, default="constant"
        How the learning rate changes: not at all, or it rises in the first twentieth of a copy's
        steps and then falls to 0 along half a cosine or a line. What makes one of torch's
        schedulers is called with the optimizer, and its ``step`` after each epoch, with the loss
        for ``ReduceLROnPlateau``; copies then train one after another.
    weight_decay : float, default=0.0
        Weight decay of the optimizer; for "adamw" decoupled from the gradient.
    gradient_clip : float, optional
        Largest Euclidean norm of the gradient of a copy; a longer one is shortened to it.
    momentum : float, default=0.0
        Momentum factor; only used by "sgd".
    likelihood_weight : float, default=1.0
        Factor of the mean loss of a batch.
    penalty_weight : float or "per-sample", optional
        Factor of the penalties of the layers (divergences, regularizers); "per-sample" is one over
        the number of samples of the copy, which makes the objective an evidence lower bound per
        sample. None leaves the penalty out.
    draws : int, default=1
        Forward passes of a step, each with its own noise; losses and gradients are averaged. More
        passes make the gradient less noisy, and a step takes that many times as long.
    anchor : {"zero", "initial", "drawn"}, optional
        The values that the weights are pulled to: 0 (a Gaussian prior), their initial values, or
        another draw of the initial weights (anchored ensembles).
    anchor_strength : float, or dict of str to float, default=0.0
        The objective gets this, over the number of samples of the copy, times the squared distance;
        a dictionary has a number for each layer, by its name in the module.
    patience : int, optional
        Epochs without a new best before a copy stops.
    monitor : Monitor, optional
        What decides which epoch is the best, for patience, plateau and restore_best; by default the
        validation loss. Needs validation samples, as these do.
    restore_best : bool, default=True
        Whether a copy with validation samples keeps the weights of its best epoch.
    plateau : Plateau, optional
        When to lower the learning rate; needs validation samples, as patience does.
    precision : {"float32", "bfloat16"}, default="float32"
        Precision of the passes; weights are kept as they are.
    compile : bool, default=False
        Whether passes of copies that run side by side on a GPU go through ``torch.compile``: some
        ten seconds at the start, and half the time of a step for convolutions. It has no effect
        elsewhere.
    device : str, or list of str, default="auto"
        "auto" is a GPU if there is one. Copies are distributed over the devices of a list, each of
        which trains its share in a thread of its own.
    engine : {"auto", "stacked", "sequential"}, default="auto"
        Whether copies train as one program or one after another. "auto" takes the faster: a stack,
        but for convolutions one after another on a CPU, and on a GPU side by side in streams of one
        recorded program.
    memory : int, optional
        Bytes that copies may take at a time; by default a share of what is free.
    order_seed : int, optional
        All copies see their samples in one order, drawn from this; by default each in its own.
        Copies on `Ragged` samples always share it (0 by default), so that a batch is packed once.
    on_epoch : callable, optional
        Called after each epoch of a copy with a dictionary: "copy", "epoch", "step", "loss" and,
        with validation samples, "validation" and "monitor". If it returns True, the copy stops.
    cache_features : bool, default=True
        Whether what comes before all trained parts, if it is frozen, is computed once for all
        samples, copies and epochs. Not if a data set changes its samples: 32 of them are read
        twice, by which rare changes may not be seen.
    frozen_noise : bool, default=False
        Whether dropout inside of frozen parts stays on in training. Frozen parts are those without
        a trained parameter: they run as in evaluation, so batch norm keeps its statistics.
    """

    epochs: int = EPOCHS
    batch_size: int = BATCH_SIZE
    optimizer: str | Callable[..., Any] = OPTIMIZER
    learning_rate: float | Mapping[str, float] = LEARNING_RATE
    scheduler: str | Callable[..., Any] = "constant"
    weight_decay: float = 0.0
    gradient_clip: float | None = None
    momentum: float = 0.0
    likelihood_weight: float = 1.0
    penalty_weight: float | Literal["per-sample"] | None = None
    draws: int = 1
    anchor: Literal["zero", "initial", "drawn"] | None = None
    anchor_strength: float | Mapping[str, float] = 0.0
    patience: int | None = None
    monitor: Monitor | None = None
    restore_best: bool = True
    plateau: Plateau | None = None
    precision: str = "float32"
    compile: bool = False
    device: str | Sequence[str] = "auto"
    engine: str = "auto"
    memory: int | None = None
    order_seed: int | None = None
    on_epoch: Callable[[dict[str, Any]], Any] | None = None
    cache_features: bool = True
    frozen_noise: bool = False

    @property
    def own(self) -> bool:
        """Whether optimizer or scheduler are torch's, which work on one copy at a time."""
        return callable(self.optimizer) or callable(self.scheduler)

    @property
    def base_rate(self) -> float:
        """The learning rate, or the largest one of all parts."""
        rate = self.learning_rate
        return float(max(rate.values()) if isinstance(rate, Mapping) else rate)

    @property
    def rate_factors(self) -> dict[str, float] | None:
        """The learning rates of parts, over the largest one."""
        if not isinstance(self.learning_rate, Mapping):
            return None
        return {name: rate / self.base_rate for name, rate in self.learning_rate.items()}

    def batches(self, lengths: np.ndarray) -> np.ndarray:
        """Return how many batches some numbers of samples make."""
        return -(-lengths // self.batch_size)

    def check(self) -> None:
        """Raise if a setting is invalid."""
        for name in ("epochs", "batch_size", "draws"):
            check_integer(getattr(self, name), name)
        for name, known in (("optimizer", ("adam", "adamw", "sgd")), ("scheduler", SCHEDULES)):
            if not callable(getattr(self, name)):
                advice = "a class or function that makes one of torch's"
                check_choice(getattr(self, name), name, tuple(known), advice)
        check_choice(self.precision, "precision", ("float32", "bfloat16"))
        check_choice(self.engine, "engine", ("auto", "stacked", "sequential"))
        check_choice(self.anchor, "anchor", (None, "zero", "initial", "drawn"))
        if self.own and self.engine == "stacked":
            raise OptionError(
                "optimizers and schedulers of torch work on one copy at a time; leave "
                "engine='stacked' out, or name the optimizer and the scheduler"
            )
        if callable(self.scheduler) and self.plateau is not None:
            raise OptionError("plateau and a scheduler of torch both set the rate; leave one out")
        self._check_best()
        if self.on_epoch is not None and not callable(self.on_epoch):
            raise OptionError(f"on_epoch must be a function; got {self.on_epoch!r}")
        as_devices(self.device)
        self._check_rates()
        for name in ("weight_decay", "momentum", "likelihood_weight"):
            check_number(getattr(self, name), name)
        strengths = self.anchor_strength
        if not isinstance(strengths, Mapping):
            strengths = {"": strengths}
        for name, strength in strengths.items():
            check_number(strength, f"anchor_strength of {name}" if name else "anchor_strength")
        if isinstance(self.penalty_weight, str) and self.penalty_weight != "per-sample":
            raise OptionError(
                f"penalty_weight must be a number or 'per-sample'; got {self.penalty_weight!r}"
            )
        if self.anchor_strength and self.anchor is None:
            raise OptionError(
                f"anchor_strength is {self.anchor_strength!r}, but there is no anchor; set anchor "
                "to 'zero', 'initial' or 'drawn'"
            )
        if self.gradient_clip is not None:
            check_number(self.gradient_clip, "gradient_clip", closed="neither")
        if self.order_seed is not None:
            check_integer(self.order_seed, "order_seed", 0, 2**63 - 1)

    def _check_best(self) -> None:
        if self.patience is not None:
            check_integer(self.patience, "patience")
        monitor, plateau = self.monitor, self.plateau
        if monitor is not None and not (isinstance(monitor, Monitor) and callable(monitor.measure)):
            raise OptionError(f"monitor must be a Monitor with a function; got {monitor!r}")
        if plateau is not None:
            if not isinstance(plateau, Plateau):
                raise OptionError(f"plateau must be a Plateau; got {plateau!r}")
            check_number(plateau.factor, "factor of plateau", 0, 1)
            check_integer(plateau.patience, "patience of plateau")
            check_number(plateau.minimum, "minimum of plateau")

    def _check_rates(self) -> None:
        if not isinstance(self.learning_rate, Mapping):
            check_number(self.learning_rate, "learning_rate", closed="neither")
            return
        for name, rate in self.learning_rate.items():
            check_number(rate, f"learning_rate of {name!r}")
        if not self.learning_rate or self.base_rate == 0:
            raise OptionError("learning_rate must have a rate above 0 for one part at least")


Training.__init__ = suggests_parameters(Training.__init__)  # type: ignore[method-assign]


def as_devices(names: str | Sequence[str] | torch.device) -> list[torch.device]:
    """Return devices that are there, at least one."""
    several = not isinstance(names, str | torch.device)
    if several and not len(names):  # type: ignore[arg-type]
        raise OptionError("device must name at least one device; got an empty list")
    return [as_device(name) for name in (names if several else [names])]  # type: ignore[union-attr]


def as_device(name: Any) -> torch.device:
    """Return a device that is there, the first one of a list."""
    if not isinstance(name, str | torch.device):
        return as_devices(name)[0]
    if str(name) == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise OptionError(f"device must be 'auto', 'cpu' or such as 'cuda:0'; got {str(name)!r}")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise OptionError(
            f"device is {str(name)!r}, but torch finds no GPU here; use 'cpu' or 'auto'"
        )
    return device
