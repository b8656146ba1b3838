"""Train K copies of a network as one program."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..._random import RandomState, generator
from ...exceptions import OptionError
from ._checkpoint import Checkpoint
from ._factories import Factory, as_factory, fresh_parts, initial_states
from ._features import on_features
from ._problem import Copy, Problem, as_input, check_codes, check_copies, seeds_of, suited
from ._progress import Progress
from ._result import Trained
from ._settings import Training, as_devices
from ._stack import State, check_parts, prepared, tied_names, without_vmap_warnings
from ._work import Work
from .sources import few_samples

_OTHER_DRAW = 0x5EED
"""Added to a copy's seed for the draw of its anchor."""


def train(
    module: nn.Module | Factory,
    X: Any,
    y: Any,
    *,
    loss: Callable[[Tensor, Tensor], Tensor],
    copies: int | Sequence[Copy] = 1,
    training: Training | None = None,
    checkpoint: Any = None,
    progress: bool = False,
    random_state: RandomState = None,
    fresh: str | Sequence[str] | None = None,
) -> Trained:
    """Train copies of a network together: members of an ensemble, replicates, conditions, repeats.

    The weights of all copies are stacked, and each step is taken for all of them by one call. What
    a copy learns depends on its own seed, rows and labels alone, not on what trains beside it: the
    same copies come out one by one, up to rounding.

    Parameters
    ----------
    module : nn.Module or function that makes one
        The network. All copies begin with the weights of a module; a class or function makes new
        ones for each of them. Parameters that do not require a gradient stay as they are.
    X : array of shape (samples, ...)
        Samples. Also a tuple or a dictionary of arrays, a ``Dataset`` or a ``DataLoader`` of torch,
        for which copies train one after another. A tuple or a dictionary are the arguments of a
        module that takes several, and one value for any other.
    y : array of shape (samples, ...)
        Labels; whole numbers are class codes. None takes those in a data set or loader.
    loss : callable
        (output, y) -> one number for each sample; see `caveat.nn.losses`.
    copies : int or sequence of Copy, default=1
        Number of copies, or what each has of its own.
    training : Training, optional
        Settings of the training; by default ``Training()``.
    checkpoint : path, optional
        A folder to resume a stopped training from. The numbers are the same, except for noise that
        a module or a loss draws from torch's own generator.
    random_state : int or Generator, optional
        Gives seeds to copies that have none. torch's own generator, from which a module or a loss
        may draw, is seeded from those of the copies that train together, and afterwards it is as
        it was.
    fresh : str or sequence of str, optional
        Names of the parts of the module whose weights are drawn anew for each copy, by their
        ``reset_parameters``. "head" is the last layer that is called, unless a part has that name;
        "all" is everything.

    Returns
    -------
    Trained
        A copy whose loss is no longer finite stops and is named in a warning; Ctrl-C leaves the
        copies as they are at that moment.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn import MLP, Copy, Training, losses, train
    >>> X = torch.linspace(-1, 1, 64)[:, None]
    >>> y = (X[:, 0] > 0).long()
    >>> halves = [Copy(rows=range(0, 64, 2)), Copy(rows=range(1, 64, 2))]
    >>> trained = train(
    ...     lambda: MLP(1, 2, hidden=(8,)),
    ...     X,
    ...     y,
    ...     loss=losses.nll,
    ...     copies=halves,
    ...     training=Training(epochs=5, learning_rate=0.05),
    ...     random_state=0,
    ... )
    >>> trained.outputs(X).shape
    (2, 64, 2)
    """
    if training is not None and not isinstance(training, Training):
        raise OptionError(
            f"training must be a Training, such as Training(epochs=5); got {training!r}"
        )
    if not callable(loss):
        raise OptionError(f"loss must be a function, such as caveat.nn.losses.nll; got {loss!r}")
    training = training or Training()
    training.check()
    devices = as_devices(training.device)
    if any(device.type == "cuda" for device in devices):  # pragma: no cover - needs a GPU
        torch.cuda.init()  # so that its generator is known, and left as it is
    chosen = [Copy()] * int(copies) if isinstance(copies, int | np.integer) else list(copies)
    check_copies(chosen)
    drawn = generator(random_state).integers(2**62, size=len(chosen)).tolist()
    make = _maker(module, fresh, X)
    original, state = initial_states(make, seeds_of(chosen, drawn))
    problem = Problem(X, y, chosen, drawn, original, training.batch_size)
    _check_validation(training, problem)
    check_parts(original, training.learning_rate, "learning_rate")
    problem.X = suited(problem.X, original)
    ties = tied_names(original)
    for place, copy in enumerate(chosen):
        _begin_with(state, place, copy.state or {}, ties)
    anchors = _anchors(make, training, state, problem.seeds)
    ready = prepared(original, frozen_noise=training.frozen_noise)
    check_codes(problem, ready, loss)
    saved = None
    if checkpoint is not None:
        saved = Checkpoint(checkpoint, problem, training, state, original, loss)
    begun = time.perf_counter()
    ready, note = on_features(problem, ready, state, training, devices[0])
    work = Work(problem, ready, state, anchors, loss, training, devices, saved)
    work.notes += note
    with (
        work.generators.restored(),
        without_vmap_warnings(),
        Progress(progress, int(work.steps.sum()), len(problem)) as bar,
    ):
        work.do(bar)
    return work.result(make, original, time.perf_counter() - begun)


def _maker(module: nn.Module | Factory, fresh: str | Sequence[str] | None, X: Any) -> Factory:
    """Return what makes the network of a copy, with parts of it drawn anew."""
    make = as_factory(module)
    if fresh is None:
        return make
    made, _ = initial_states(make, [0])
    samples = few_samples(suited(as_input(X, made), made), 2)
    return as_factory(module, fresh_parts(made, fresh, samples))


def _begin_with(state: State, place: int, given: dict[str, Any], ties: dict[str, str]) -> None:
    for name, array in given.items():
        value = array if isinstance(array, Tensor) else torch.tensor(np.asarray(array))
        if name not in state or state[name].shape[1:] != value.shape:
            known = {key: tuple(each.shape[1:]) for key, each in state.items()}
            raise OptionError(
                f"state of copy {place} has {name!r} of shape {tuple(value.shape)}; the module has "
                f"{known}"
            )
        first = ties.get(name, name)
        for each in (first, *(other for other in ties if ties[other] == first)):
            state[each] = state[each].contiguous()
            state[each][place] = value


def _anchors(make: Factory, training: Training, state: State, seeds: list[int]) -> State | None:
    if training.anchor == "initial":
        return {name: value.clone() for name, value in state.items()}
    if training.anchor == "drawn":
        return initial_states(make, [seed + _OTHER_DRAW for seed in seeds])[1]
    return None


def _check_validation(training: Training, problem: Problem) -> None:
    for name in ("patience", "plateau", "monitor"):
        if getattr(training, name) is not None and not problem.checked:
            raise OptionError(
                f"{name} needs validation samples; name some in every copy, as in "
                "Copy(validation=...)"
            )
