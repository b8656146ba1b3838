"""chemprop 2: networks over molecules, and their checkpoints."""

from pathlib import Path
from typing import Any

import numpy as np

from .._validation import as_floats, check_integer
from ..estimators.sklearn_models import join_predictions
from ..exceptions import FileFormatError, OptionError
from ..predictions import Categorical, Gaussian, Interval
from .networks import evaluating
from .table import samples_are_missing

_ENDINGS = (".pt", ".ckpt")
_BATCH = 64
_HARMLESS = (
    "chemprop.nn.", "torch.nn.modules.", "lightning.fabric.utilities.data.AttributeDict",
    "lightning.pytorch.utilities.parsing.AttributeDict",
)  # fmt: skip
"""What a checkpoint may name beside tensors and containers."""
_MODES = ("V2", "V1", "ORGANIC", "RIGR")
"""The features of atoms that chemprop offers, the usual one first; their numbers differ."""


def from_chemprop(model: Any, X: Any, *, task: int | None = None) -> Any:
    """Read an ``MPNN`` with SMILES or a data loader; its predictor says what it gives."""
    if len(X) and isinstance(next(iter(X)), str):
        X = _loader(model, list(X))
    with evaluating(model):
        parts = [model.predict_step(batch, place) for place, batch in enumerate(X)]
    values = np.concatenate([as_floats(part, "predictions")[0] for part in parts])
    kind = type(model.predictor).__name__
    if kind == "MveFFN":
        return Gaussian(values[..., 0], values[..., 1])
    if kind == "EvidentialFFN":
        mean, evidence, alpha, beta = np.moveaxis(values, -1, 0)
        return Gaussian(mean, beta * (1 + 1 / evidence) / (alpha - 1))
    if kind == "QuantileFFN":
        middle, half = values[..., 0], values[..., 1] / 2
        # Bounds that cross give a negative width.
        return Interval(
            middle - abs(half), middle + abs(half), coverage=1 - model.predictor.criterion.alpha
        )
    if kind == "RegressionFFN":
        return Gaussian(values, 0.0)
    if kind == "BinaryDirichletFFN":
        values = values[..., 0]
    if "Classification" not in kind and "Dirichlet" not in kind:
        raise OptionError(f"no prediction of caveat holds what a {kind} of chemprop gives")
    several = values.shape[1]
    if task is None and several > 1:
        raise OptionError(f"this model has {several} tasks; choose one, such as task=0")
    one = values[:, check_integer(task or 0, "task", least=0, most=several - 1)]
    return Categorical.from_binary(one) if one.ndim == 1 else Categorical(one, normalize=True)


def from_checkpoint(path: Any, X: Any = None, *, task: int | None = None) -> Any:
    """Read a checkpoint of chemprop with SMILES; a folder of them is an ensemble.

    A checkpoint is a pickle, which could run any code: one that names anything but parts of
    chemprop's networks is refused before it is opened.
    """
    path = Path(path)
    if not path.is_dir() and path.suffix not in _ENDINGS:
        raise OptionError(
            f"{str(path)!r} is no checkpoint of chemprop (.pt or .ckpt), nor a folder of them; "
            "what caveat saved is read by caveat.load(path), which then predicts"
        )
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if X is None:
        raise samples_are_missing(path)
    files = [path]
    if path.is_dir():
        files = sorted(path.rglob("*.pt")) or sorted(path.rglob("*.ckpt"))
    if not files:
        raise OptionError(f"the folder {path} has no checkpoint of chemprop: no .pt, no .ckpt")
    parts = [_of_checkpoint(file, X, task) for file in files]
    return parts[0] if len(parts) == 1 else join_predictions(parts)


def _of_checkpoint(path: Path, X: Any, task: int | None) -> Any:
    import pickle

    import torch
    from chemprop.models import MPNN

    try:
        _check_names(path)
        content = torch.load(path, map_location="cpu", weights_only=False)
        hyper = content["hyper_parameters"]
        kind = hyper["message_passing"]["cls"].__name__
        if kind not in ("BondMessagePassing", "AtomMessagePassing"):
            raise OptionError(f"{path} holds a {kind}; from_model reads models of one molecule")
        model = MPNN.load_from_file(path, map_location="cpu")
    except OptionError:
        raise
    except (LookupError, TypeError, AttributeError, RuntimeError, EOFError, ValueError,
            pickle.UnpicklingError) as error:  # fmt: skip
        raise FileFormatError(f"{path} is no checkpoint of chemprop 2 ({error})") from error
    prediction = from_chemprop(model, X, task=task)
    names = content.get("output_columns")
    if names and len(names) == len(getattr(prediction, "targets", ())):
        return prediction._trusted({**prediction._fields(), "targets": np.array(names)})
    return prediction


def _check_names(path: Path) -> None:
    """Raise if opening a checkpoint would call anything but parts of networks."""
    from torch.serialization import get_unsafe_globals_in_checkpoint

    foreign = [
        name for name in get_unsafe_globals_in_checkpoint(path) if not name.startswith(_HARMLESS)
    ]
    if foreign:
        raise OptionError(
            f"opening {path} would run {', '.join(foreign[:3])}, which is no part of a network of "
            "chemprop; if you trust the file, load it with chemprop and pass the model"
        )


def _loader(model: Any, smiles: list[str]) -> Any:
    """Return a data loader of molecules with the features that a model was trained on."""
    from chemprop.data import MoleculeDatapoint, MoleculeDataset, build_dataloader

    more = model.predictor.input_dim - model.message_passing.output_dim
    if more > 0:
        raise OptionError(
            f"this model takes {more} descriptors beside the molecule; pass a data loader of "
            "chemprop that has them, in place of SMILES"
        )
    points = [MoleculeDatapoint(molecule) for molecule in _read(smiles)]
    dataset = MoleculeDataset(points, _featurizer(model))
    return build_dataloader(dataset, _BATCH, num_workers=0, shuffle=False, drop_last=False)


def _read(smiles: list[str]) -> list[Any]:
    from ..molecules.features import read_molecules

    return read_molecules(smiles)


def _featurizer(model: Any) -> Any:
    """Return the featurizer whose features are as many as a model takes."""
    from chemprop.featurizers import SimpleMoleculeMolGraphFeaturizer
    from chemprop.featurizers.atom import get_multi_hot_atom_featurizer
    from chemprop.featurizers.bond import RIGRBondFeaturizer

    wanted = model.message_passing.W_i.in_features
    for mode in _MODES:
        options = {"bond_featurizer": RIGRBondFeaturizer()} if mode == "RIGR" else {}
        made = SimpleMoleculeMolGraphFeaturizer(get_multi_hot_atom_featurizer(mode), **options)
        bonds = made.bond_fdim if type(model.message_passing).__name__.startswith("Bond") else 0
        if made.atom_fdim + bonds == wanted:
            return made
    raise OptionError(
        f"this model takes {wanted} features of atoms and bonds, as no featurizer of chemprop "
        "gives by itself; pass a data loader with those it was trained on, in place of SMILES"
    )
