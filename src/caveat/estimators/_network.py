"""The base of all estimators that train a network: settings, data, training, members."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._arrays import as_array
from .._constructors import declared
from .._defaults import (
    ACTIVATION,
    BATCH_SIZE,
    EPOCHS,
    HELD_LEAST,
    HELD_RAREST,
    HELD_SHARE,
    HIDDEN,
    LEARNING_RATE,
    OPTIMIZER,
    SCHEDULER,
)
from .._random import generator
from .._validation import check_choice
from ..exceptions import OptionError
from . import _data, _modules, _sources, _table
from ._monitoring import as_monitor, as_plateau
from ._problem import Problem
from .interface import Savable

if TYPE_CHECKING:
    from ..nn import Copy, Monitor, Training

_PLANS: "WeakKeyDictionary[NetworkEstimator, tuple[Any, Any, Any]]" = WeakKeyDictionary()
"""How passes of fitted estimators are run; predicting changes nothing in these themselves."""


_NETWORKS: "WeakKeyDictionary[NetworkEstimator, tuple[Any, Any, Any]]" = WeakKeyDictionary()
"""Networks of fitted estimators that have predicted few samples, ready for the next ones."""

FEW = 64
"""Samples up to which a prediction takes less time than making the networks."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem that is ready to be trained: samples, copies, and what makes their network."""

    X: Any
    y: np.ndarray
    copies: "list[Copy]"
    make: Callable[[], Any]
    loss: _data.Loss
    training: "Training"
    signature: str
    """Problems that agree in this can train in one program."""


@declared(kw_only=True)
class NetworkEstimator(Savable, BaseEstimator):
    """The base of all estimators that train a network; it is not used by itself.

    Inputs are tables, images or signals as arrays, frames or tensors. Without ``module`` a dense
    network is built for the data; its inputs, and the targets of a regression, are standardized, so
    no scaler is needed before it. Tables are taken as they are: columns of a frame may hold
    categories or texts, and numbers may be missing (see ``columns_``).

    Parameters
    ----------
    module : torch.nn.Module, or class or function that makes one
        The network. It takes (samples, ...) and must return, for a classifier, logits of shape
        (samples, classes), or (samples, 2, classes) with ``head="gaussian-logits"``; for a
        regressor, of targets with mean 0 and variance 1, means and standard deviations of shape
        (samples, 2, targets), or means (samples, targets) with ``head="mean"``. A module is taken
        as it is: the training begins with its weights, and the module itself does not change. A
        class or function makes new weights for each member. Parameters that do not require a
        gradient stay as they are. The output is checked on two samples before the training.
    fresh : str, sequence of str or None
        Names of the parts of ``module`` whose weights are drawn anew for each member: by them
        members differ that begin with the same weights. "head" is the last layer that is called,
        unless a part has that name; "all" is everything.
    hidden : int or sequence of int
        Widths of the hidden layers, a number for a single one; only used without ``module``.
    activation : {"relu", "elu", "gelu", "selu", "silu", "tanh"}
        Activation function; only used without ``module``.
    epochs : int
        How often the samples are seen.
    batch_size : int
        Samples in a batch.
    optimizer : {"adam", "adamw", "sgd"}, or class or function
        Name of the optimizer, or what makes one of torch's: it is called with the parameters and,
        where it takes them, ``lr`` and ``weight_decay``. Members then train one after another.
    learning_rate : float, or dict of str to float
        Learning rate of the optimizer; a dictionary has a rate for each part of ``module``, by its
        name, and may have one for all others as "".
    weight_decay : float
        Weight decay of the optimizer; priors are settings of the methods.
    scheduler : {"constant", "cosine", "linear"}, or class or function
        How the learning rate changes: not at all, or it rises in the first twentieth of the steps
        and then falls to 0, along half a cosine or a line. What makes one of torch's schedulers is
        called with the optimizer, and steps after each epoch; members train one after another.
    gradient_clip : float or None
        Largest norm of the gradient of a member; a longer one is shortened to it.
    standardize : {"robust", True, False, None}
        How the inputs are scaled, each by itself; the constants are part of the network. "robust":
        the median is subtracted, the distance between the quartiles divides, and a smooth bound
        keeps a value far out from moving the network further than 5 such distances would. True: to
        mean 0 and variance 1, without bounds. None: "robust" without ``module``, else not at all.
    validation_fraction : float, "auto" or None
        Share of the samples that is held out, another one for each member: the weights of the epoch
        with the least loss on it are kept, and members that fail on it are left out. Classes have
        the same shares in both parts. "auto": a tenth from 10,000 samples on, for classes from
        1,000 on if the rarest has 20; not for variational methods and anchored ensembles, whose
        objective is more than the likelihood. None: nothing is held out.
    patience : int
        Epochs without a new best before a member stops; needs held-out samples.
    monitor : str or None
        Name of the metric on held-out samples that decides which epoch is the best, such as "auc"
        or "ece"; None takes the loss.
    plateau : dict or None
        Entries of `caveat.nn.Plateau`: ``{"factor": 0.5, "patience": 8}`` halves the learning rate
        of a member after 8 epochs without a new best; needs held-out samples.
    precision : {"float32", "bfloat16"}
        Precision of the passes in training.
    compile : bool
        Whether passes of convolutional networks on a GPU go through ``torch.compile``, which takes
        half a minute and makes them up to twice as fast.
    device : str or list of str
        Where the network runs; "auto" is a GPU if there is one. Members are distributed over the
        devices of a list; predictions come from the first.
    on_epoch : callable or None
        Called after each epoch of a member with a dictionary: "copy" (the number of the member),
        "epoch", "step", "loss" and, with held-out samples, "validation" and what ``monitor`` names,
        "monitor". If it returns True, the member stops.
    cache_features : bool
        Whether what comes before all trained parts of a module, if it is frozen, is computed once
        for all samples, members and epochs. Not if a data set is seen to change its samples: 32 of
        them are read twice.
    random_state : int, Generator, RandomState or None
        Decides initial weights, order of samples and noise. With an integer a second fit gives the
        same model, and a fitted one always the same prediction.
    verbose : bool
        Whether to show a progress bar.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    shape_ : tuple of int or None
        Shape of one sample, as the network gets it; None if samples were no array.
    columns_ : list of dict
        For tables with categories or missing values, what each column holds. Up to 16 categories
        are inputs of their own, more are embedded; a category that ``fit`` did not see is 0 in all.
        A missing number is the median of its column, and another input says that it is missing.
    fresh_ : list of str
        Names of the parts of ``module`` that were drawn anew; "" is everything.
    state_ : dict of str to Tensor
        Weights and buffers of all members, stacked along the first axis, on the CPU. Members that
        diverged are left out, with a warning that names them.
    history_ : list of dict
        For each member "step", "loss" and, with held-out samples, "validation" and "monitor", where
        targets are scaled as the network learns them.
    n_iter_ : int
        Steps of the member that took the most.
    engine_ : str
        How the members were trained, and why so.
    seed_ : int
        Seed of the noise in predictions.

    Examples
    --------
    >>> from caveat.estimators import MAPClassifier, NetworkEstimator
    >>> issubclass(MAPClassifier, NetworkEstimator)
    True
    """

    module: Any = None
    fresh: str | Sequence[str] | None = None
    hidden: int | Sequence[int] = HIDDEN
    activation: str = ACTIVATION
    epochs: int | str = EPOCHS
    batch_size: int = BATCH_SIZE
    optimizer: str | Callable[..., Any] = OPTIMIZER
    learning_rate: float | Mapping[str, float] = LEARNING_RATE
    weight_decay: float = 0.0
    scheduler: str | Callable[..., Any] = SCHEDULER
    gradient_clip: float | None = None
    standardize: bool | str | None = None
    validation_fraction: float | str | None = "auto"
    patience: int | None = None
    monitor: str | None = None
    plateau: Mapping[str, Any] | None = None
    precision: str = "float32"
    compile: bool = False
    device: str | Sequence[str] = "auto"
    on_epoch: Callable[[dict[str, Any]], Any] | None = None
    cache_features: bool = True
    random_state: Any = None
    verbose: bool = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.module is None
        return tags

    # What a method may override.

    def _random_layers(self) -> dict[str, Any]:
        """Options of the network's stochastic part."""
        return {}

    def _setting(self, name: str) -> Any:
        """Return the value of a setting that a method may leave to the data."""
        return getattr(self, name)

    def _adjust(self, network: Any) -> None:
        """Change a network that was just built for the data; its weights are drawn."""

    def _own_training(self) -> dict[str, Any]:
        """Settings of the training that belong to the method."""
        return {}

    def _members(self, rows: np.ndarray, draw: np.random.Generator) -> list[np.ndarray]:
        """Return the rows that each member learns from."""
        return [rows]

    def _pass_count(self) -> int | None:
        """Return the Monte-Carlo passes of a prediction; None for methods without."""
        return None

    _early_stopping = True
    """Whether the epoch with the least loss on held-out samples is the one to keep."""

    # What the task defines: the mixins for classes and for numbers.

    _numbers = False
    """Whether labels are numbers, of which a sample may have several."""

    def _encode(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Learn the classes, or the scale of the targets, from the labels of the rows."""
        raise NotImplementedError

    def _codes(self, y: np.ndarray, *, known: bool) -> np.ndarray:
        """Return labels as the network sees them; `known` refuses those that are not."""
        raise NotImplementedError

    def _read_names(self, y: Any) -> None:
        """Remember what the labels are called, where they came with names."""

    def _strata(self, codes: np.ndarray) -> np.ndarray | None:
        """Return what has the same shares in both parts when samples are held out."""
        return None

    def _rarest(self, codes: np.ndarray) -> float:
        """Return how many samples the rarest class has; numbers have none."""
        return np.inf

    def _head(self) -> tuple[str, dict[str, Any], tuple[int, ...]]:
        """Return the head's name, options for the network, and the shape of a row of outputs."""
        raise NotImplementedError

    def _constant_loss(self, codes: np.ndarray, copy: "Copy") -> float:
        """Return the loss on held-out samples of what is the best constant for those learned from.

        Weights are left out: all held-out samples have the same.
        """
        rows = slice(None) if copy.rows is None else copy.rows
        return float(np.mean(self._constant_losses(codes[rows], codes[copy.validation])))

    def _constant_losses(self, codes: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Return the loss of each held-out sample if one prediction serves all."""
        raise NotImplementedError

    def _bound(self, head: Any) -> None:
        """Set the bounds of the last layer of a network that was built for the data."""

    def _loss(self) -> _data.Loss:
        raise NotImplementedError

    def _likelihood(self) -> _data.Loss:
        """Return the loss by which settings are judged: a trained one may weight samples."""
        return self._loss()

    def _finish(self, values: Any) -> Any:
        """Return the prediction from raw outputs (members, samples, ...)."""
        raise NotImplementedError

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, validation: Any = None
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : array of shape (samples, ...)
            Tables, images, signals; also frames and tensors. With ``module`` also a tuple or a
            dictionary of arrays, a ``Dataset`` or a ``DataLoader`` of torch, which need not fit
            into memory; members then train one after another.
        y : array of shape (samples,), for a regressor also (samples, targets), optional
            Labels. Those of a ``DataLoader`` come with its batches; without ``y``, those of a
            ``Dataset`` are read from it.
        sample_weight : array of shape (samples,), optional
            Only ratios matter; a weight of 0 leaves the sample out.
        validation : pair (X, y), optional
            Held-out samples that decide which epoch is kept, in place of ``validation_fraction``;
            beside a ``Dataset`` or ``DataLoader`` also another one.
        """
        from ._fitting import train_together

        problem = Problem(X, y, sample_weight=sample_weight, validation=validation)
        train_together([self], [self._prepare(problem)], bool(self.verbose))
        return self

    def _prepare(self, problem: Problem, cache: _data.SampleCache | None = None) -> Prepared:
        """Check a problem and return what is to be trained for it."""
        from .. import nn

        _data.forget(self)
        samples = (cache or _data.SampleCache()).samples(self, problem)
        y = _data.labels(self, samples.y, range(samples.given))
        rows, weight = _data.used_rows(problem, samples)
        own = self._encode(y[rows], None if weight is None else weight[rows])
        self._read_names(as_array(samples.y))
        codes = self._codes(y, known=False)
        draw = generator(self.random_state)
        self.seed_ = int(draw.integers(2**62))
        held = None
        streamed = _sources.is_stream(samples.X)
        if problem.validation is not None and not streamed:
            behind = self._codes(_data.held_labels(self, samples), known=True)
            codes = np.concatenate([codes, behind])
            held = np.arange(samples.given, len(samples.X))
        share = None
        if streamed:
            self._check_stream(problem)
        elif held is None:
            share = self._held_share(rows, own)
        self.offset_ = samples.offset
        self.shape_: Any = samples.X.shape[1:] if isinstance(samples.X, np.ndarray) else None
        if samples.columns is not None:
            self.columns_ = samples.columns
        training = self._training()
        _modules.try_out(self, samples.X)
        self.fresh_ = _modules.drawn_anew(self, samples.X)
        state = self._scaling(samples, rows, weight)
        everything = held is None and len(rows) == len(samples.X)
        copies = []
        members = self._members(rows, draw)
        if streamed and any(member is not rows for member in members):
            raise OptionError(
                f"{type(self).__name__} draws samples, and those of a {type(problem.X).__name__} "
                "have no numbers; pass a Dataset, or arrays"
            )
        self._warn_alike(members)
        for member in members:
            seed, mine, checked = int(draw.integers(2**62)), member, held
            if share is not None:
                mine, checked = _data.hold_out(
                    member, share, partial(self._held_strata, codes), draw
                )
            whole = everything and mine is rows and problem.rows is None
            copies.append(
                nn.Copy(
                    seed=seed,
                    rows=None if whole else mine,
                    weight=weight,
                    validation=checked,
                    state=state,
                )
            )
        signature = self._signature(copies[0].validation is None, samples.X)
        return Prepared(
            samples.X, codes, copies, self._network, self._loss(), training, signature
        )  # fmt: skip

    def _check_stream(self, problem: Problem) -> None:
        """Raise if samples of a loader would have to be held out."""
        wanted = self.validation_fraction not in ("auto", None) or self._needs_held is not None
        if wanted and problem.validation is None:
            raise OptionError(
                f"samples of a {type(problem.X).__name__} cannot be divided; pass "
                "fit(..., validation=another one)"
            )

    def _warn_alike(self, members: Sequence[np.ndarray]) -> None:
        """Warn of members that differ by the order of their samples alone."""
        from torch.nn import Module

        alike = len(members) > 1 and members[0] is members[1]
        if alike and self.fresh is None and isinstance(self.module, Module):
            warnings.warn(
                f"all {len(members)} members begin with the weights of the module and see the same "
                "samples, so that they may agree on more than is known; pass fresh='head' to draw "
                "the last layer anew for each, a class or function for new networks, or fresh=() "
                "if that is meant",
                stacklevel=4,
            )

    def held_out_share(self, samples: int) -> float | None:
        """Return the share of so many samples that ``fit`` holds out, or None.

        With "auto" nothing is held out either where a class has too few samples.

        Parameters
        ----------
        samples : int
            How many there are to learn from.

        Returns
        -------
        float or None

        Examples
        --------
        >>> from caveat.estimators import MAPClassifier
        >>> MAPClassifier().held_out_share(500), MAPClassifier().held_out_share(50_000)
        (None, 0.1)
        """
        share = self.validation_fraction
        if not isinstance(share, str):
            return share
        check_choice(share, "validation_fraction", ("auto", None), "a share of the samples")
        enough = self._early_stopping and samples >= self._held_least()
        return HELD_SHARE if enough or self._needs_held is not None else None

    @property
    def _needs_held(self) -> str | None:
        """The name of a setting that needs held-out samples, if there is one."""
        names = ("patience", "monitor", "plateau")
        return next((name for name in names if getattr(self, name) is not None), None)

    def _held_least(self) -> int:
        """Return from how many samples on some are held out."""
        return HELD_LEAST

    def _held_share(self, rows: np.ndarray, codes: np.ndarray) -> float | None:
        """Return the share of these samples to hold out, or None."""
        needs = self._needs_held
        if self.validation_fraction is None and needs is not None:
            raise OptionError(f"{needs} needs validation_fraction, or fit(..., validation=...)")
        share = self.held_out_share(len(np.unique(rows)))
        free = self.validation_fraction == "auto" and needs is None
        return None if free and self._rarest(codes) < HELD_RAREST else share

    def _held_strata(self, codes: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
        return self._strata(codes[rows])

    def _training(self) -> "Training":
        from ..nn import Training
        from ..nn.lockstep._settings import as_device

        as_device(self.device)
        training = Training(
            epochs=self._setting("epochs"),
            batch_size=self.batch_size,
            optimizer=self.optimizer,
            learning_rate=_modules.part_names(self, self.learning_rate),
            weight_decay=self.weight_decay,
            scheduler=self.scheduler,
            gradient_clip=self.gradient_clip,
            patience=self.patience,
            monitor=self._monitor(),
            plateau=as_plateau(self.plateau),
            precision=self.precision,
            compile=bool(self.compile),
            device=self.device,
            on_epoch=self.on_epoch,
            cache_features=bool(self.cache_features),
            frozen_noise=self._pass_count() is not None,
            **self._own_training(),
        )
        training.check()
        return training

    def _monitor(self) -> "Monitor | None":
        name, options, row = self._head()
        return as_monitor(self.monitor, name, row, options.get("levels"), self._several_in_one)

    _several_in_one = False
    """Whether one network returns the outputs of several members."""

    _free = frozenset(
        {"epochs", "members", "module", "passes", "random_state", "validation_fraction", "verbose"}
    )
    """Settings in which problems may differ that train together."""

    def _signature(self, unchecked: bool, X: Any) -> str:
        settings = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in self._free
        }
        samples = self.shape_ if self.shape_ is not None else id(X)
        sizes = _table.embedded_sizes(getattr(self, "columns_", None))
        words = type(self), settings, id(self.module), samples, sizes, self._head(), unchecked
        return repr(words)

    def _scaling(
        self, samples: _data.NetworkInputs, rows: np.ndarray, weight: Any
    ) -> dict[str, Any] | None:
        """Return the mean and scale of the inputs as buffers of the network's first layer."""
        if samples.offset is None:
            return None
        import torch

        part = samples.X[rows].astype(np.float64)
        robust = self._scaling_kind() == "robust"
        measure = _data.median_and_spread if robust else _data.mean_and_scale
        mean, scale = measure(
            part, None if weight is None else weight[rows], samples.offset, samples.rounding
        )
        # A constant column carries nothing; dividing by rounding errors would make it noise.
        nothing = np.inf if robust else 1.0
        scale = np.where(scale > 0, scale, nothing)
        buffers = {"0.mean": mean, "0.scale": scale}
        if robust:
            buffers["0.limit"] = np.full(self.shape_, _modules.CLIP)
        if samples.columns is not None:
            count = _table.count_numbers(samples.columns)
            for name, value in {"0.mean": 0.0, "0.scale": 1.0, "0.limit": np.inf}.items():
                if name in buffers:
                    buffers[name][count:] = value
        return {name: torch.tensor(value, dtype=torch.float32) for name, value in buffers.items()}

    def _scaling_kind(self) -> str | None:
        """Return how the inputs are scaled: "robust", "moments" or not at all."""
        known = {None: "robust" if self.module is None else None, "robust": "robust",
                 True: "moments", False: None}  # fmt: skip
        if not isinstance(self.standardize, str | bool | np.bool_ | None) or (
            isinstance(self.standardize, str) and self.standardize != "robust"
        ):
            raise OptionError(
                "standardize must be 'robust', True, False or None, which is 'robust' without "
                f"module; got {self.standardize!r}"
            )
        return known[self.standardize]

    def _network(self) -> Any:
        """Return a fresh network, drawn from torch's generator."""
        return _modules.make(self)

    def _take_over(
        self, trained: Any, places: Sequence[int], left_out: Sequence[int] = ()
    ) -> list[int]:
        """Keep the trained copies at some places but those left out; return which diverged."""
        kept = [place for member, place in enumerate(places) if member not in left_out]
        usable = [place for place in kept if trained.usable[place]]
        self.history_ = [trained.history[place] for place in places]
        self.engine_ = trained.engine
        self.n_iter_ = int(max(trained.steps[place] for place in places))
        if usable:
            # What all members share is kept once.
            self.state_ = {
                name: value[usable].clone() if value.stride()[0] else value[: len(usable)]
                for name, value in trained.state.items()
            }
        return [member for member, place in enumerate(places) if not trained.usable[place]]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    def predict_distribution(self, X: Any) -> Any:
        """Return the prediction with its uncertainty: one member for each network or pass.

        Parameters
        ----------
        X : array of shape (samples, ...)
            Also what else ``fit`` takes; a ``DataLoader`` must keep the order of its samples.

        Returns
        -------
        Categorical, GaussianLogits, Gaussian or Quantiles
        """
        check_is_fitted(self)
        values = self._values(_data.new_inputs(self, X))
        _modules.check_spread(self, values)
        return self._finish(values)

    def _values(self, X: Any) -> Any:
        """Return raw outputs as a tensor (members, samples, ...)."""
        import torch

        from ..nn import monte_carlo
        from ..nn.lockstep.sources import Source, block_size, blocks

        if self._pass_count() is None:
            apart = self.engine_.startswith("one after another")
            few = isinstance(X, np.ndarray) and len(X) <= FEW
            if self.module is not None and apart and few:
                return self._by_networks(X)
            return torch.from_numpy(self._trained().outputs(X, device=self.device))
        passes = self._pass_count() or 1
        parts: Iterable[Any] = [X]
        if isinstance(X, Source):
            parts = blocks(X, torch.device("cpu"), block_size(X, 2**16))
        values = [
            monte_carlo(self._plan(part), part, passes, random_state=self.seed_).cpu()
            for part in parts
        ]
        return torch.cat(values, dim=1)

    def _by_networks(self, X: np.ndarray) -> Any:
        """Return raw outputs by networks that are kept between calls, as a stream needs them."""
        import torch

        from ..nn.lockstep._settings import as_device

        device = as_device(self.device)
        seen, place, networks = _NETWORKS.get(self, ({}, None, None))
        if place != device or not self._has_weights(seen):
            trained = self._trained()
            networks = [trained.module(i).to(device).eval() for i in range(len(trained))]
            _NETWORKS[self] = self._weights(), device, networks
        rows = torch.from_numpy(np.require(X, requirements=["C", "W"])).to(device)
        with torch.no_grad():
            return torch.stack([network(rows).float().cpu() for network in networks])

    def _weights(self) -> dict[str, tuple[Any, int]]:
        """Return the weights, and how often each was changed in place."""
        return {
            name: (value, -1 if value.is_inference() else value._version)
            for name, value in self.state_.items()
        }

    def _has_weights(self, seen: Mapping[str, tuple[Any, int]]) -> bool:
        """Whether the weights are those that something was made from."""
        now = self._weights()
        return now.keys() == seen.keys() and all(
            value is seen[name][0] and version == seen[name][1]
            for name, (value, version) in now.items()
        )

    def _trained(self) -> Any:
        """Return the members as the training gave them."""
        from ..nn.lockstep import Trained

        count = len(next(iter(self.state_.values())))
        return Trained(
            self.state_, ["finished"] * count, np.zeros(count), [], self.engine_, 0.0,
            self._network,
        )  # fmt: skip

    def _plan(self, X: Any) -> Any:
        """Return how passes are run; prepared once for a fitted network and a device."""
        from ..nn import explain
        from ..nn.lockstep._settings import as_device

        device = as_device(self.device)
        seen, place, plan = _PLANS.get(self, ({}, None, None))
        if place != device or not self._has_weights(seen):
            plan = explain(self._trained().module(0), X, device=device)
            _PLANS[self] = self._weights(), device, plan
        return plan
