"""Networks over molecules that say how sure they are."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from .._arrays import missing_among, to_numpy
from .._constructors import declared
from .._defaults import LENGTH_SCALE
from .._random import generator
from .._validation import as_weights, check_choice, check_integer, check_number, shorten
from ..estimators.interface import PredictsClasses, PredictsIntervals, Savable, target_names
from ..exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from ..nn import Copy, Trained, Training, keyed, losses, pass_keys, train
from ..nn._outputs import to_prediction
from ..nn.lockstep._settings import as_device
from .features import featurize
from .graphs import MoleculeGraphs
from .network import MessagePassing
from .packed import PackedGraphs
from .splits import rows_of

__all__ = ["METHODS", "MoleculeClassifier", "MoleculeRegressor"]


@dataclass(frozen=True)
class Method:
    """How members come about: copies that train, or passes of one."""

    several: bool = False
    """Whether members are copies."""
    stochastic: str | None = None
    training: Mapping[str, Any] | None = None


METHODS = {
    "ensemble": Method(several=True),
    "bootstrap": Method(several=True),
    "anchored": Method(several=True, training={"anchor": "drawn"}),
    "mc-dropout": Method(stochastic="dropout"),
    "concrete-dropout": Method(stochastic="concrete", training={"penalty_weight": "per-sample"}),
    "map": Method(),
}
"""The methods by name; a new one is a line here."""

_EDGES = 2**17
"""Directed bonds of all passes that are passed at a time."""


@declared(kw_only=True)
class MoleculeNetwork(Savable, BaseEstimator):
    """The base of the networks over molecules; it is not used by itself.

    Parameters
    ----------
    method : {"ensemble", "bootstrap", "anchored", "mc-dropout", "concrete-dropout", "map"}
        Where the members come from: networks with other initial weights ("ensemble"), and other
        samples ("bootstrap"), or pulled to other draws of the prior ("anchored"); passes of one
        network that drops units, with a rate that is given or learned; or one network ("map").
    members : int
        Networks, for the first three methods.
    passes : int
        Monte-Carlo passes, for the two kinds of dropout.
    hidden : int
        Width of messages and of dense layers.
    depth : int
        How often messages are passed.
    dense : int
        Hidden dense layers.
    aggregation : {"mean", "sum", "norm"}
        How atoms make a molecule.
    rate : float
        Probability of dropping a unit; for "concrete-dropout" its start.
    length_scale : float
        For "concrete-dropout": weights have a Gaussian prior with a standard deviation of one over
        this.
    bootstrap_size : int, float or None
        For "bootstrap": how many molecules a member draws with replacement, as a number or a share;
        None is as many as there are.
    prior_std : float, dict of str to float, or None
        For "anchored": standard deviation of the initial weights and of the anchors; a dictionary
        has one for each layer ("edge_input", "edge_update", "atom_output", "dense", "last"). None:
        both are draws of torch's own initial weights, which suit the width of each layer.
    anchor_strength : float, or dict of str to float
        For "anchored": the factor of the squared distance from the anchors, over the number of
        molecules; a dictionary has one for each layer.
    epochs : int
        How often the molecules are seen.
    batch_size : int
        Molecules in a batch; all members see the same batches.
    learning_rate : float
        Learning rate of Adam.
    weight_decay : float
        Weight decay of Adam.
    validation_fraction : float or None
        Share of the molecules with a value that is held out: the weights of the best epoch on it
        are kept.
    patience : int or None
        Epochs without a new best before a member stops.
    column : str or None
        The column of a frame that holds the SMILES.
    cache : path or None
        A folder in which graphs are kept, so that the same molecules are read once.
    n_jobs : int or None
        Processes that read molecules.
    device : str or list of str
        Where the network runs; "auto" is a GPU if there is one. Members are distributed over the
        devices of a list; predictions come from the first.
    random_state : int, Generator, RandomState or None
        Decides initial weights, order of molecules and noise.
    verbose : bool
        Whether to show progress bars.

    Attributes
    ----------
    state_ : dict of str to Tensor
        Weights of all members, stacked along the first axis, on the CPU.
    history_ : list of dict
        For each member "step", "loss" and, with held-out molecules, "validation".
    engine_ : str
        How the members were trained, and why so.
    """

    method: str = "ensemble"
    members: int = 5
    passes: int = 50
    hidden: int = 100
    depth: int = 3
    dense: int = 1
    aggregation: str = "mean"
    rate: float = 0.1
    length_scale: float = LENGTH_SCALE
    bootstrap_size: int | float | None = None
    prior_std: float | dict[str, float] | None = None
    anchor_strength: float | dict[str, float] = 0.1
    epochs: int = 50
    batch_size: int = 50
    learning_rate: float = 0.001
    weight_decay: float = 0.0
    validation_fraction: float | None = 0.1
    patience: int | None = None
    column: str | None = None
    cache: Any = None
    n_jobs: int | None = None
    device: str | Sequence[str] = "auto"
    random_state: Any = None
    verbose: bool = False

    # What the task defines.

    @abstractmethod
    def _encode(self, y: Any, samples: int) -> np.ndarray:
        """Learn classes or scales, and return labels as the network sees them."""

    def _known(self, codes: np.ndarray) -> np.ndarray:
        """Return which molecules have a label, (molecules,)."""
        return np.ones(len(codes), dtype=bool)

    @abstractmethod
    def _outputs(self) -> tuple[int, str, str | None]:
        """Return the number of outputs, the head's name, and the head of the network."""

    @abstractmethod
    def _loss(self) -> Any:
        """Return the loss of a sample."""

    @abstractmethod
    def _finish(self, values: Tensor) -> Any:
        """Return the prediction from raw outputs (members, molecules, ...)."""

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None,
        checkpoint: Any = None,
    ) -> Self:  # fmt: skip
        """Train.

        Parameters
        ----------
        X : list of str, Series, array, frame with ``column``, or MoleculeGraphs
            SMILES of the molecules, or their graphs.
        y : array of shape (molecules,), for a regressor also (molecules, targets)
        sample_weight : array of shape (molecules,), optional
            Only ratios matter.
        validation : array of int, optional
            Rows of X that are held out, in place of ``validation_fraction``, which draws among
            the molecules that have a value.
        checkpoint : path, optional
            A folder to resume a stopped training from.

        Returns
        -------
        self
        """
        method = METHODS[check_choice(self.method, "method", tuple(METHODS))]
        graphs = self._graphs(X)
        codes = self._encode(y, len(graphs))
        weight = as_weights(sample_weight, len(graphs))
        draw = generator(self.random_state)
        self.seed_ = int(draw.integers(2**62))
        rows, held = self._hold_out(codes, validation, draw)
        self.features_ = graphs.atoms.shape[1], graphs.bonds.shape[1]
        count = check_integer(self.members, "members") if method.several else 1
        copies = [
            Copy(
                seed=int(draw.integers(2**62)), rows=rows, validation=held,
                weight=self._weights(len(graphs), rows, weight, draw),
            )
            for _ in range(count)
        ]  # fmt: skip
        trained = train(
            self._network, PackedGraphs(graphs), codes, loss=self._loss(), copies=copies,
            training=self._training(method), checkpoint=checkpoint, progress=bool(self.verbose),
        )  # fmt: skip
        usable = trained.usable
        self.state_ = {name: value[usable].clone() for name, value in trained.state.items()}
        self.history_, self.engine_ = trained.history, trained.engine
        return self

    def _training(self, method: Method) -> Training:
        own = dict(method.training or {})
        if "anchor" in own:
            own["anchor_strength"] = self.anchor_strength
        return Training(
            epochs=self.epochs, batch_size=self.batch_size, learning_rate=self.learning_rate,
            weight_decay=self.weight_decay, patience=self.patience, device=self.device,
            order_seed=self.seed_, **own,
        )  # fmt: skip

    def _graphs(self, X: Any) -> MoleculeGraphs:
        if isinstance(X, MoleculeGraphs):
            return X
        return featurize(
            X, column=self.column, cache=self.cache, n_jobs=self.n_jobs, progress=bool(self.verbose)
        )

    def _hold_out(
        self, codes: np.ndarray, validation: Any, draw: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray | None]:
        everything, known = np.arange(len(codes)), self._known(codes)
        if validation is not None:
            held = _held_rows(validation, everything)
        elif self.validation_fraction is not None:
            share = check_number(self.validation_fraction, "validation_fraction", 0, 1, "neither")
            drawn = draw.permutation(everything)
            held = np.sort(drawn[known[drawn]][: max(1, round(share * known.sum()))])
        elif self.patience is not None:
            raise OptionError("patience needs validation_fraction, or fit(..., validation=rows)")
        else:
            return everything, None
        rows = np.setdiff1d(everything, held)
        if not known[rows].any():
            raise ShapeError("all molecules with a value are held out; leave some to learn from")
        if not known[held].any():
            raise InvalidValueError(
                "no molecule of validation has a value in y; hold out some that have one, or leave "
                "validation= out"
            )
        return rows, held

    def _weights(
        self, samples: int, rows: np.ndarray, weight: Any, draw: np.random.Generator
    ) -> Any:
        """Return the weights of a member; a bootstrap sample is how often each was drawn."""
        if self.method != "bootstrap":
            return weight
        size = self.bootstrap_size
        if size is None:
            size = len(rows)
        elif isinstance(size, float):
            size = max(
                1, round(check_number(size, "bootstrap_size", 0, closed="right") * len(rows))
            )
        drawn = draw.choice(rows, check_integer(size, "bootstrap_size"))
        times = np.bincount(drawn, minlength=samples).astype(np.float64)
        kept = np.ones(samples)
        kept[rows] = times[rows] * (samples and len(rows) / len(drawn))
        return kept if weight is None else kept * weight

    def _network(self) -> MessagePassing:
        """Return a fresh network, drawn from torch's generator."""
        outputs, _, head = self._outputs()
        method = METHODS[self.method]
        network = MessagePassing(
            *self.features_, outputs, hidden=self.hidden, depth=self.depth, dense=self.dense,
            aggregation=self.aggregation, stochastic=method.stochastic, rate=self.rate, head=head,
        )  # fmt: skip
        if self.method == "concrete-dropout":
            from ..nn.layers import stochastic_layers

            scale = check_number(self.length_scale, "length_scale", closed="neither")
            for layer in stochastic_layers(network):
                layer.length_scale = scale  # type: ignore[assignment]
        if self.method == "anchored" and self.prior_std is not None:
            self._draw_prior(network)
        return network

    def _draw_prior(self, network: MessagePassing) -> None:
        names = [name for name, _ in network.named_children() if not name.endswith("drop")]
        given: dict[str, Any] | Any = self.prior_std
        if not isinstance(given, dict):
            given = dict.fromkeys(names, given)
        if set(given) != set(names):
            raise OptionError(f"prior_std must be a number or have {names}; got {sorted(given)}")
        for name, part in network.named_children():
            for parameter in part.parameters():
                std = check_number(given[name], f"prior_std of {name}", closed="neither")
                torch.nn.init.normal_(parameter, 0.0, std)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    def predict_distribution(self, X: Any) -> Any:
        """Return the prediction with its uncertainty: one member for each network or pass.

        Parameters
        ----------
        X : list of str, Series, array, frame with ``column``, or MoleculeGraphs

        Returns
        -------
        Gaussian or Categorical
        """
        check_is_fitted(self)
        packed = PackedGraphs(self._graphs(X))
        if METHODS[self.method].stochastic is None:
            place = str(as_device(self.device))
            values = torch.from_numpy(self._trained().outputs(packed, device=place))
        else:
            values = self._passed(packed)
        return self._finish(values)

    def _trained(self) -> Trained:
        count = len(next(iter(self.state_.values())))
        return Trained(
            self.state_, ["finished"] * count, np.zeros(count), [], self.engine_, 0.0,
            self._network,
        )  # fmt: skip

    def _passed(self, packed: PackedGraphs) -> Tensor:
        """Return the outputs of passes, (passes, molecules, ...); a pass has one mask for all."""
        device = as_device(self.device)
        keys = pass_keys(check_integer(self.passes, "passes"), self.seed_).to(device)
        network = self._trained().module(0).to(device).eval()
        packed = packed.to(device)
        size = max(1, int(_EDGES / len(keys) / packed.weight))

        def one(key: Tensor, batch: Any) -> Tensor:
            with keyed(key, shared=True):
                return network(batch)

        blocks = []
        with torch.no_grad():
            for start in range(0, len(packed), size):
                rows = torch.arange(start, min(start + size, len(packed)), device=device)
                batch = packed.pick(rows)
                blocks.append(torch.vmap(one, in_dims=(0, None))(keys, batch).cpu())
        return torch.cat(blocks, dim=1)


@declared(kw_only=True)
class MoleculeRegressor(RegressorMixin, MoleculeNetwork, PredictsIntervals):
    """Numbers of molecules, by directed message passing, with their uncertainty.

    Parameters
    ----------
    head : {"mean-std", "mean"}
        Whether a standard deviation is learned for each molecule.

    Attributes
    ----------
    targets_ : ndarray of shape (targets,)
        Names of the targets, where ``y`` was a frame or a Series.

    Examples
    --------
    >>> from caveat.molecules import MoleculeRegressor
    >>> smiles = ["C" * n for n in range(1, 21)]
    >>> model = MoleculeRegressor(members=2, hidden=8, epochs=2, random_state=0)
    >>> model.fit(smiles, [float(n) for n in range(1, 21)]).predict_distribution(smiles)
    Gaussian: 2 members x 20 samples x 1 target (0)
    """

    head: str = "mean-std"

    def _encode(self, y: Any, samples: int) -> np.ndarray:
        check_choice(self.head, "head", ("mean-std", "mean"))
        array = _numbers(y)
        if array.shape[:1] != (samples,) or array.ndim > 2:
            raise ShapeError(
                f"y must have shape ({samples},) or ({samples}, targets); got {array.shape}"
            )
        self.one_target_ = array.ndim == 1
        columns = array.reshape(samples, -1)
        names = target_names(y, columns.shape[1])
        self.targets_ = np.arange(columns.shape[1]) if names is None else names
        if np.isinf(columns).any():
            raise InvalidValueError(
                f"y of molecule {np.isinf(columns).any(1).argmax()} is infinite"
            )
        counts = np.isfinite(columns).sum(axis=0)
        if counts.min() < 2:
            raise InvalidValueError(
                f"target {self.targets_[counts.argmin()]} has {counts.min()} values; at least 2 "
                "are needed"
            )
        self.y_mean_ = np.nanmean(columns, axis=0)
        self.y_scale_ = np.nanstd(columns, axis=0)
        if (self.y_scale_ == 0).any():
            raise InvalidValueError("a target has the same value in all molecules")
        scaled = ((columns - self.y_mean_) / self.y_scale_).astype(np.float32)
        # Missing values weigh nothing; the others as much as if there were none missing.
        known = np.isfinite(scaled)
        weight = (known / known.mean(axis=0)).astype(np.float32)
        return np.stack([np.where(known, scaled, 0), weight], axis=1)

    def _known(self, codes: np.ndarray) -> np.ndarray:
        return np.asarray((codes[:, 1] > 0).any(axis=1))

    def _outputs(self) -> tuple[int, str, str | None]:
        return len(self.y_mean_), self.head, "mean-std" if self.head == "mean-std" else None

    def _loss(self) -> Any:
        return masked_nll if self.head == "mean-std" else masked_squared_error

    def _finish(self, values: Tensor) -> Any:
        mean, scale = (torch.from_numpy(part) for part in (self.y_mean_, self.y_scale_))
        values = values.double()
        if self.head == "mean":
            values = values * scale + mean
        else:
            values = torch.stack([values[:, :, 0] * scale + mean, values[:, :, 1] * scale], dim=2)
        return to_prediction(values, self.head, classes=None, targets=self.targets_, levels=None)

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean of each molecule, (molecules,) or (molecules, targets)."""
        point = np.asarray(self.predict_distribution(X).moments()[0])
        return point[:, 0] if self.one_target_ else point


@declared(kw_only=True)
class MoleculeClassifier(ClassifierMixin, MoleculeNetwork, PredictsClasses):
    """Classes of molecules, by directed message passing, with their uncertainty.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        The labels, in the order of the probabilities.

    Examples
    --------
    >>> from caveat.molecules import MoleculeClassifier
    >>> smiles = ["C" * n for n in range(1, 11)] + ["O" + "C" * n for n in range(1, 11)]
    >>> model = MoleculeClassifier(members=2, hidden=8, epochs=2, random_state=0)
    >>> model.fit(smiles, ["alkane"] * 10 + ["alcohol"] * 10).classes_.tolist()
    ['alcohol', 'alkane']
    """

    def _encode(self, y: Any, samples: int) -> np.ndarray:
        labels = np.asarray(to_numpy(y, "y").array)
        if labels.shape != (samples,):
            raise ShapeError(f"y must have shape ({samples},); got {labels.shape}")
        missing = missing_among(_as_given(y))
        if missing.any():
            raise LabelError(f"y of molecule {missing.argmax()} is missing; leave the molecule out")
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise LabelError(f"y has one class, {self.classes_.tolist()[0]!r}; expected several")
        return codes.astype(np.int64)

    def _outputs(self) -> tuple[int, str, str | None]:
        return len(self.classes_), "logits", None

    def _loss(self) -> Any:
        return losses.nll

    def _finish(self, values: Tensor) -> Any:
        return to_prediction(values, "logits", classes=self.classes_, targets=None, levels=None)


def _held_rows(validation: Any, everything: np.ndarray) -> np.ndarray:
    """Return the rows that a caller holds out."""
    try:
        held = np.unique(rows_of(validation, len(everything)))
    except IndexError:
        held = everything[:0]
    if not len(held):
        raise OptionError(
            f"validation must name rows of X by numbers from 0 to {len(everything) - 1}, or by a "
            f"mask; got [{shorten(np.ravel(np.asarray(validation)))}]"
        )
    return held


def _numbers(y: Any) -> np.ndarray:
    """Return targets as numbers; a missing one is NaN."""
    array = _as_given(y)
    if array.dtype.kind not in "OUS":
        return array.astype(np.float64)
    array = array.astype(object)
    missing = missing_among(array)
    for index in zip(*np.nonzero(~missing), strict=True):
        if not isinstance(array[index], Number):
            raise LabelError(
                f"y of molecule {index[0]} is {array[index]!r}, and no number; give numbers, NaN "
                "for a missing one, or use MoleculeClassifier for classes"
            )
    return np.where(missing, np.nan, array).astype(np.float64)


def _as_given(y: Any) -> np.ndarray:
    """Return an array; in one with text, numpy would make text of numbers and NaN as well."""
    array = np.asarray(to_numpy(y, "y").array)
    mixed = array.dtype.kind == "U" and isinstance(y, list | tuple)
    return np.array(y, dtype=object) if mixed else array


def masked_nll(output: Tensor, target: Tensor) -> Tensor:
    """Return minus log likelihoods; targets are (samples, 2, targets): values and weights."""
    value, weight = target[:, 0], target[:, 1]
    mean, std = output[:, 0], output[:, 1]
    each = std.log() + ((value - mean) / std).square() / 2 + _HALF_LOG
    return (weight * each).sum(1)


def masked_squared_error(output: Tensor, target: Tensor) -> Tensor:
    """Return squared errors; targets are (samples, 2, targets) with weights."""
    return (target[:, 1] * (target[:, 0] - output).square()).sum(1)


_HALF_LOG = float(np.log(2 * np.pi) / 2)
