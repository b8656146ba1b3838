"""Monte-Carlo passes that repeat only what is random."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._defaults import PASSES
from .._random import RandomState, generator
from .._validation import check_integer
from ..exceptions import OptionError, ShapeError
from . import noise
from ._copies import unwrap
from ._graph import clones
from ._inputs import as_inputs, first_rows, place, precision
from ._kept_plans import plan_for
from ._loaders import batches, is_loader
from ._outputs import Prediction, choose_head, to_prediction
from ._plan import PassPlan
from ._prepare import make_plan
from ._run import run
from .generators import Generators

__all__ = ["PassPlan", "explain", "monte_carlo", "pass_keys", "predict"]


def predict(
    module: nn.Module | PassPlan | Sequence[nn.Module | PassPlan],
    X: Any,
    *,
    passes: int | None = None,
    head: str = "auto",
    classes: Any = None,
    targets: Any = None,
    levels: Any = None,
    batch_size: int | None = None,
    device: Any = None,
    random_state: RandomState = None,
    progress: bool = False,
) -> Prediction:
    """Return the prediction of a trained module, one member for each Monte-Carlo pass.

    A list of modules is an ensemble: its modules are the members.

    What does not depend on noise runs once, the rest for every pass; see `explain`. Noise comes
    from the stochastic layers of caveat and from torch's dropout, as module or as function. A pass
    is one sampled network: it has one mask or one set of weights for all rows, so the prediction of
    a row depends neither on its neighbors nor on the size of the batches. A copy of the module
    in evaluation mode does the work; the module itself does not change.

    Parameters
    ----------
    module : torch.nn.Module, or PassPlan from `explain`; or a list of them
        Returns a tensor whose first axis are the rows, or a tuple of such tensors of one shape,
        which are stacked as the second axis (a mean and a standard deviation).
    X : array, tensor or frame whose first axis are the rows; or a tuple of them, one for each input
        Floats are cast to the precision of the module. Whole numbers in arrays and frames too,
        unless it has an embedding. Also a ``Dataset``, a ``DataLoader`` that keeps the order of
        its rows, or an iterator of batches. A batch is a tensor, a sequence that begins with as
        many inputs as the module requires (what follows, the target, is left out), or a dictionary
        with the names of the module's inputs, without "y", "target", "targets", "label", "labels".
    passes : int, optional
        Number of passes: by default 50, and 1 for each module of a list. With 1, or if nothing is
        random, there is one member, computed without noise.
    head : str, default="auto"
        What the output of the module means:

        ==================  ====================================  ==========================
        head                output                                prediction
        ==================  ====================================  ==========================
        "logits"            (rows, classes)                       `caveat.Categorical`
        "probabilities"     (rows, classes)                       `caveat.Categorical`
        "gaussian-logits"   (rows, 2, classes): mean, deviation   `caveat.GaussianLogits`
        "mean-std"          (rows, 2, targets): mean, deviation   `caveat.Gaussian`
        "mean-variance"     (rows, 2, targets): mean, variance    `caveat.Gaussian`
        "mean"              (rows, targets)                       `caveat.Gaussian`, variance 0
        "quantiles"         (rows, targets, levels)               `caveat.Quantiles`
        ==================  ====================================  ==========================

        A single target may lack its axis, and a single logit or probability is that of the second
        of two classes. "auto" recognizes the heads of `caveat.nn.layers` as last layer; nothing
        is guessed from numbers.
    classes, targets : sequences of labels, optional
        Names of the classes or of the targets.
    levels : sequence of float, optional
        Levels of quantiles; a `QuantileHead` knows its own.
    batch_size : int, optional
        The most rows at once; by default what fits in 16 MiB for the largest operation on a CPU
        (up to 256 MiB where weights are drawn), and in 4 GiB or a quarter of what is free on a GPU.
        A ``Dataset`` is read in batches of 64 by default.
    device : str or torch.device, optional
        By default the module's; each module of a list has its own.
    random_state : int or Generator, optional
        The seed of the passes; see `pass_keys`.

    Returns
    -------
    Categorical, GaussianLogits, Gaussian or Quantiles

    Examples
    --------
    >>> import torch
    >>> module = torch.nn.Sequential(
    ...     torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(8, 3)
    ... )
    >>> predict(module, torch.randn(5, 4), passes=20, head="logits", random_state=0)
    Categorical: 20 members x 5 samples x 3 classes (0, 1, 2)

    An ensemble, on the batches of a loader:

    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> loader = DataLoader(TensorDataset(torch.randn(5, 4), torch.zeros(5)), batch_size=2)
    >>> predict([torch.nn.Linear(4, 3) for _ in range(4)], loader, head="logits")
    Categorical: 4 members x 5 samples x 3 classes (0, 1, 2)
    """
    members: list[Any]
    if several := isinstance(module, list | tuple | nn.ModuleList):
        members = list(module)
    else:
        members = [module]
    _check_members(members)
    if passes is None:
        passes = 1 if several else PASSES
    check_integer(passes, "passes")
    batch_size = _checked_size(batch_size)
    keys = pass_keys(passes * len(members), random_state).split(passes)
    loading = is_loader(X)
    first = members[0].module if isinstance(members[0], PassPlan) else unwrap(members[0])
    parts: Iterable[Any] = batches(X, first, batch_size, progress) if loading else [X]
    blocks = []
    plans: list[Any] = members
    for number, part in enumerate(parts):
        planned = [_planned(plan, part, device) for plan in plans]
        plans = [plan for plan, _ in planned]
        if number == 0:
            meaning = _common_head(plans, head, levels)
            _check_passes(plans, passes)
        outputs = [
            run(plan, inputs, _keys(plan, own), batch_size, progress and not loading)
            for (plan, inputs), own in zip(planned, keys, strict=True)
        ]
        # All outputs of a loader may be more than a GPU can hold, and members may be on several.
        blocks.append(_joined([each.cpu() for each in outputs] if loading or several else outputs))
    name, levels = meaning
    values = torch.cat(blocks, dim=1) if loading else blocks[0]
    return to_prediction(values, name, classes=classes, targets=targets, levels=levels)


def monte_carlo(
    module: nn.Module | PassPlan,
    X: Any,
    passes: int = PASSES,
    *,
    batch_size: int | None = None,
    device: Any = None,
    random_state: RandomState = None,
    progress: bool = False,
) -> Tensor:
    """Return the raw outputs of the passes; `predict` gives them a meaning.

    Parameters
    ----------
    module : torch.nn.Module, or PassPlan from `explain`
        The module, as in `predict`.
    X : array, tensor or frame whose first axis are the rows; or a tuple of them, one for each input
        The inputs, as in `predict`.
    passes : int, default=50
        Number of passes. With 1, or if nothing is random, there is one, computed without noise.
    batch_size : int, optional
        The most rows at once; by default as in `predict`.
    device : str or torch.device, optional
        By default the module's.
    random_state : int or Generator, optional
        The seed of the passes; see `pass_keys`.

    Returns
    -------
    Tensor of shape (passes, rows, ...)
        On the device of the passes.

    Examples
    --------
    >>> import torch
    >>> module = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(4, 3))
    >>> X = torch.randn(5, 4)
    >>> outputs = monte_carlo(module, X, 100, random_state=0)
    >>> outputs.shape
    torch.Size([100, 5, 3])
    >>> torch.allclose(outputs[:20], monte_carlo(module, X, 20, random_state=0))
    True
    """
    plan, inputs = _planned(module, X, device)
    keys = pass_keys(passes, random_state)
    _check_passes([plan], passes)
    return run(plan, inputs, _keys(plan, keys), _checked_size(batch_size), progress)


def explain(module: nn.Module, X: Any, *, device: Any = None) -> PassPlan:
    """Return how the passes of a module would be run: what once, what repeated, and why.

    Parameters
    ----------
    module : torch.nn.Module
        The module whose passes are planned.
    X : array, tensor or frame whose first axis are the rows; or a tuple of them, one for each input
        Some rows; the first three are used.
    device : str or torch.device, optional
        By default the module's.

    Returns
    -------
    PassPlan
        To print, and to pass to `predict` in place of the module, again and again.

    Examples
    --------
    >>> import torch
    >>> module = torch.nn.Sequential(
    ...     torch.nn.Linear(40, 8), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(8, 5)
    ... )
    >>> explain(module, torch.zeros(1, 40))
    Plan: 11.1% of the arithmetic is repeated, many passes at once
      once: 0 (Linear), 1 (ReLU)
      repeated: 2 (Dropout), 3 (Linear)
    """
    return _planned(module, X, device)[0]


def pass_keys(passes: int, random_state: RandomState = None) -> Tensor:
    """Return the keys of Monte-Carlo passes.

    In pass t the stochastic layers draw the same noise as inside of
    ``keyed(pass_keys(...)[t], shared=True)``, after `number_layers` has numbered them. The first
    keys do not depend on the number of passes.

    Parameters
    ----------
    passes : int
        Number of passes.
    random_state : int or Generator, optional
        An integer is the seed itself; otherwise a seed is drawn.

    Returns
    -------
    int32 Tensor of shape (passes, 2)

    Examples
    --------
    >>> import torch
    >>> torch.equal(pass_keys(50, 7)[:3], pass_keys(3, 7))
    True
    """
    count = check_integer(passes, "passes")
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        generator(random_state)  # refuses a negative one
        seed = int(random_state) % 2**63
    else:
        seed = int(generator(random_state).integers(2**63))
    key = noise.make_keys([seed])[0]
    return noise.derive_key(key, torch.arange(count, dtype=torch.int32))


def _planned(
    module: nn.Module | PassPlan, X: Any, device: Any
) -> tuple[PassPlan, tuple[Tensor, ...]]:
    """Return the plan of a module and its inputs as tensors."""
    if isinstance(module, PassPlan):
        if device is not None and place(module.module, device) != module.device:
            raise OptionError(
                f"the plan is for device {module.device}; got device={device!r}. Make another one "
                "with explain(module, X, device=...)"
            )
        return module, as_inputs(X, module.module)
    module = unwrap(module)
    inputs = as_inputs(X, module)
    dtype, target = precision(module), place(module, device)

    def make() -> PassPlan:
        with torch.inference_mode(False), torch.no_grad(), Generators(target).kept():
            # Rows of the inference mode have no versions, by which changes in place are seen.
            two, three = (clones(first_rows(inputs, count, dtype, target)) for count in (2, 3))
            return make_plan(module, two, three, dtype)

    rows = tuple((part.shape[1:], part.dtype) for part in inputs)
    mixed = torch.is_autocast_enabled(target.type) and torch.get_autocast_dtype(target.type)
    return plan_for(module, (dtype, target, rows, mixed), make), inputs


def _check_members(members: list[Any]) -> None:
    if not members:
        raise OptionError("the list of modules must have at least one member; got an empty one")
    if len({id(each) for each in members}) < len(members):
        raise OptionError(
            "the list holds the same module twice, and members that are equal show no uncertainty; "
            "pass modules that were trained apart"
        )


def _common_head(plans: list[PassPlan], head: str, levels: Any) -> tuple[str, Any]:
    """Return the head of all members; raise if they differ in it or in the shape of a row."""
    meaning, *others = [choose_head(head, plan.last, levels) for plan in plans]
    for number, (plan, (name, own)) in enumerate(zip(plans[1:], others, strict=True), start=1):
        if name != meaning[0] or not np.array_equal(own, meaning[1]):
            raise OptionError(
                f"the modules of the list must have one head; that of module 0 is {meaning[0]!r} "
                f"with levels {meaning[1]}, that of module {number} is {name!r} with levels {own}"
            )
        if plan.row_shape != plans[0].row_shape:
            shapes = [", ".join(["rows", *map(str, p.row_shape)]) for p in (plans[0], plan)]
            raise ShapeError(
                "the modules of the list must return one shape; module 0 returns "
                f"({shapes[0]}), module {number} ({shapes[1]})"
            )
    return meaning


def _check_passes(plans: list[PassPlan], passes: int) -> None:
    """Raise if members would have unequal weights; warn of noise that stays off."""
    if passes == 1:
        return
    fixed = [number for number, plan in enumerate(plans) if not plan.random]
    if 0 < len(fixed) < len(plans):
        raise OptionError(
            f"passes={passes} would give modules unequal weights: nothing is random in module "
            f"{fixed[0]} of the list, so it has one pass; leave passes= out"
        )
    off = dict.fromkeys(name for plan in plans if plan.random for name in plan.off)
    if off:
        warnings.warn(
            f"torch offers no way to draw {', '.join(off)} in evaluation mode; it stays off",
            stacklevel=3,
        )


def _checked_size(batch_size: Any) -> int | None:
    return None if batch_size is None else check_integer(batch_size, "batch_size")


def _keys(plan: PassPlan, keys: Tensor) -> Tensor | None:
    """Return the keys of the passes on their device; None for a single one without noise."""
    return None if len(keys) == 1 or not plan.random else keys.to(plan.device)


def _joined(outputs: list[Tensor]) -> Tensor:
    return torch.cat(outputs) if len(outputs) > 1 else outputs[0]
