"""One file for one fitted model: weights as safetensors, the rest as JSON in its header.

Reading builds objects of a fixed list of classes from numbers, texts and arrays; no code of a file
is ever run.
"""

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..exceptions import CaveatError, FileFormatError, OptionError
from ._network import NetworkEstimator

VERSION = 2
_HEADER = "caveat"
_HIGHEST_CHARACTER = 0x10FFFF

_FIRST_SETTINGS = {
    "gradient_clip": None,
    "max_std": None,
    "scheduler": "constant",
    "validation_fraction": None,
}
"""What models of version 1 had before it could be set."""


def save(model: Any, path: str | PathLike[str], *, recalibrator: Any = None) -> None:
    """Write a fitted estimator to one file, which `caveat.load` reads back.

    Parameters
    ----------
    model : fitted estimator
        One of caveat's networks, an ensemble of them, or a `Repaired` one.
    path : str or path
        Any name; the format is safetensors.
    recalibrator : Recalibrator, optional
        A recalibrator that was fitted to predictions of the model; the model that `caveat.load`
        returns has it as ``recalibrator_``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import caveat
    >>> from caveat.estimators import MAPRegressor, save
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model = MAPRegressor(hidden=(8,), epochs=5, random_state=0).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.safetensors")
    ...     save(model, path)
    ...     again = caveat.load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    from safetensors.torch import save as as_bytes

    held = {**_classes(), **_holders()}.values()
    if not isinstance(model, BaseEstimator) or type(model) not in held:
        raise OptionError(_foreign(model))
    check_is_fitted(model)
    if hasattr(model, "_to_file"):
        if recalibrator is not None:
            raise OptionError(f"a {type(model).__name__} has its repair already; save it as it is")
        model = model._to_file()
    writer = _Writer()
    content = writer.encode(model, "model")
    if recalibrator is not None:
        if type(recalibrator) not in _recalibrators().values():
            raise OptionError(
                f"recalibrator must be one of caveat's, fitted; got a {type(recalibrator).__name__}"
            )
        check_is_fitted(recalibrator)
        content["learned"]["recalibrator_"] = writer.encode(recalibrator, "recalibrator")
    header = {"version": VERSION, "model": content}
    metadata = {_HEADER: json.dumps(header, allow_nan=False)}
    Path(path).write_bytes(as_bytes(writer.tensors, metadata))


def load_model(path: str | PathLike[str], *, module: Any = None) -> Any:
    """Read a fitted estimator that `save` wrote.

    Parameters
    ----------
    path : str or path
        The file.
    module : torch module or function that makes one, optional
        The network, if the model was given one: a file holds its weights, not its code.

    Returns
    -------
    fitted estimator
        It predicts what the saved one did, bit for bit on the same machine. If a recalibrator was
        saved with it, that is its ``recalibrator_``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from caveat import TemperatureScaling
    >>> from caveat.estimators import MAPClassifier
    >>> import caveat
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> model = MAPClassifier(hidden=(8,), epochs=5, random_state=0).fit(X, y)
    >>> scaling = TemperatureScaling().fit(model.predict_distribution(X), y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.safetensors")
    ...     model.save(path, recalibrator=scaling)
    ...     again = caveat.load(path)
    >>> again.recalibrator_.transform(again.predict_distribution(X))
    Categorical: 1 member x 40 samples x 2 classes ('no', 'yes')
    """
    path = Path(path)
    try:
        header, tensors = _read(path)
        reader = _Reader(tensors, module, header["version"])
        model = reader.decode(header["model"])
    except OptionError:
        raise
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except (OSError, ValueError, LookupError, TypeError, RecursionError, AttributeError) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from error
    if not isinstance(model, BaseEstimator):
        raise FileFormatError(f"{path} holds no model")
    if module is not None and not reader.used_module:
        raise OptionError(f"module was given, but the model in {path} builds its network itself")
    _check_fitted(model, path)
    return model


def _check_fitted(model: Any, path: Path) -> None:
    """Raise if a model cannot predict: not fitted, or with weights of another network."""
    if type(model) in _holders().values():
        model = _held(model)
    parts = getattr(model, "estimators_", None)
    if isinstance(parts, list) and parts:
        for part in parts:
            _check_fitted(part, path)
        return
    if not getattr(model, "state_", None):
        raise FileFormatError(f"{path} holds a model that was not fitted")
    try:
        difference = _difference(model)
    except (CaveatError, AttributeError, LookupError, TypeError) as error:
        if isinstance(error, OptionError) and _module(model) is not None:
            raise
        raise FileFormatError(f"{path} cannot be read: {error}") from error
    if difference and _module(model) is not None:
        raise OptionError(f"module is not the network whose weights are in {path}: {difference}")
    if difference:
        raise FileFormatError(f"{path} holds weights of another network: {difference}")


def _held(model: Any) -> Any:
    """Return the network that a `Repaired` model or a wrapper holds; None if it is not there."""
    if not all(hasattr(model, name) for name in getattr(model, "_learned", ())):
        return None
    inner = getattr(model, "estimator_", model)
    return getattr(inner, "model_", getattr(inner, "model", None))


def _module(model: Any) -> Any:
    return getattr(model, "module", None)


def _difference(model: Any) -> str:
    """Return where the weights of a model differ in name or shape from those of its network."""
    from ..nn.generators import Generators

    with Generators().kept():
        network = model._network()
    expected = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    stored = {name: tuple(value.shape[1:]) for name, value in model.state_.items()}
    for name in sorted(expected.keys() ^ stored.keys()):
        return f"{name} is in the {'file' if name in stored else 'network'} alone"
    for name, shape in expected.items():
        if stored[name] != shape:
            return f"{name} has shape {stored[name]} in the file and {shape} in the network"
    members = {len(value) for value in model.state_.values()}
    if len(members) != 1 or 0 in members:
        return f"the numbers of members are {sorted(members)}, and must be one and the same"
    return ""


def _classes() -> dict[str, type[BaseEstimator]]:
    """Return what a file may hold as a model, by name."""
    from .. import estimators
    from .ensemble import EnsembleClassifier, EnsembleRegressor

    public = [getattr(estimators, name) for name in estimators.__all__]
    kinds = (NetworkEstimator, EnsembleClassifier, EnsembleRegressor)
    own = {k.__name__: k for k in public if isinstance(k, type) and issubclass(k, kinds)}
    return {**own, **_of_molecules()}


def _of_molecules() -> dict[str, type[BaseEstimator]]:
    from ..molecules.estimators import MoleculeClassifier, MoleculeRegressor

    return {kind.__name__: kind for kind in (MoleculeClassifier, MoleculeRegressor)}


def _holders() -> dict[str, type[BaseEstimator]]:
    """Return what a file may hold around a model."""
    from ..repairing import Repaired
    from .sklearn_models import Wrapped

    return {kind.__name__: kind for kind in (Repaired, Wrapped)}


def _recalibrators() -> dict[str, type[BaseEstimator]]:
    from ..recalibration import RECALIBRATORS

    return {name: entry.recalibrator for name, entry in RECALIBRATORS.items()}


def _priors() -> dict[str, type]:
    from ..nn.layers import GaussianPrior, ScaleMixturePrior

    return {kind.__name__: kind for kind in (GaussianPrior, ScaleMixturePrior)}


def _foreign(model: Any) -> str:
    return (
        f"a {type(model).__name__} cannot be saved: files hold caveat's networks and ensembles of "
        "them. For models of scikit-learn use skops.io or joblib"
    )


class _Writer:
    """Turns the content of a model into JSON, and arrays into tensors beside it."""

    def __init__(self) -> None:
        self.tensors: dict[str, Any] = {}
        self.known = {**_classes(), **_holders(), **_recalibrators()}

    def encode(self, value: Any, name: str) -> Any:
        """Return JSON for a value; messages call it ``name``."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value, name)
        if type(value) in (list, tuple):
            parts = [self.encode(part, f"{name}[{i}]") for i, part in enumerate(value)]
            return {type(value).__name__: parts}
        if type(value) is dict:
            pairs = [
                [self.encode(key, f"a key of {name}"), self.encode(part, f"{name}[{key!r}]")]
                for key, part in value.items()
            ]
            return {"dict": pairs}
        if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
            return {"tensor": self._keep(value.detach().cpu())}
        if isinstance(value, BaseEstimator):
            return self._object(value, name)
        if type(value) in _priors().values():
            numbers = {k: self.encode(v, f"{name}.{k}") for k, v in vars(value).items()}
            return {"prior": type(value).__name__, "numbers": numbers}
        return self._refuse(name, value)

    def _object(self, value: BaseEstimator, name: str) -> dict[str, Any]:
        kind = type(value).__name__
        if self.known.get(kind) is not type(value):
            raise OptionError(f"{name}: {_foreign(value)}")
        settings = value.get_params(deep=False)
        learned = {k: v for k, v in vars(value).items() if k not in settings and _is_learned(k)}
        return {
            "object": kind,
            "settings": {k: self._setting(v, k, name) for k, v in settings.items()},
            "learned": {k: self.encode(v, f"{name}.{k}") for k, v in learned.items()},
        }

    def _setting(self, value: Any, name: str, owner: str) -> Any:
        if name == "module" and value is not None:
            return {"module": type(value).__name__}
        if name == "cache":  # a place on this machine
            return None
        return self.encode(value, f"{owner}.{name}")

    def _array(self, value: Any, name: str) -> dict[str, Any]:
        import torch

        array = np.asarray(value)
        tag = "array" if isinstance(value, np.ndarray) else "scalar"
        if array.dtype == object:
            shape = list(array.shape)
            return {"objects": [self.encode(v, name) for v in array.ravel()], "shape": shape}
        if array.dtype.kind == "U":
            wide = array.astype(f"<U{max(1, array.dtype.itemsize // 4)}")
            codes = np.frombuffer(wide.tobytes(), dtype="<u4").reshape(*wide.shape, -1)
            key = self._keep(torch.from_numpy(codes.astype(np.int32)))
            return {"text": key, "scalar": tag == "scalar"}
        if array.dtype.kind not in "fiub":
            self._refuse(name, value)
        native = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
        return {tag: self._keep(torch.from_numpy(native))}

    def _keep(self, tensor: Any) -> str:
        key = str(len(self.tensors))
        self.tensors[key] = tensor.contiguous().clone()
        return key

    def _refuse(self, name: str, value: Any) -> Any:
        raise OptionError(
            f"{name} holds a {type(value).__name__}, which a file cannot; set it to a number, a "
            "text or None before saving"
        )


class _Reader:
    """Turns JSON and tensors back into the content of a model."""

    def __init__(self, tensors: dict[str, Any], module: Any, version: int) -> None:
        self.tensors, self.module, self.version = tensors, module, version
        self.used_module = False
        self.known = {**_classes(), **_holders(), **_recalibrators()}

    def decode(self, value: Any) -> Any:
        """Return the value that JSON stands for."""
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise FileFormatError("a list without a type")
            return value
        tag = next(iter(value), "")
        if tag in ("list", "tuple"):
            parts = [self.decode(part) for part in value[tag]]
            return parts if tag == "list" else tuple(parts)
        readers = {
            "array": lambda: self._numpy(value[tag]),
            "dict": lambda: {self.decode(k): self.decode(v) for k, v in value[tag]},
            "float": lambda: float(value[tag]),
            "module": lambda: self._module(value[tag]),
            "object": lambda: self._object(value),
            "objects": lambda: self._objects(value),
            "prior": lambda: self._prior(value),
            "scalar": lambda: self._numpy(value[tag])[()],
            "tensor": lambda: self.tensors[value[tag]],
            "text": lambda: self._text(value),
        }
        if tag not in readers:
            raise FileFormatError(f"it holds a value of the unknown kind {tag!r}")
        return readers[tag]()

    def _object(self, value: dict[str, Any]) -> Any:
        kind = self.known.get(value["object"])
        if kind is None:
            raise FileFormatError(f"it holds a {value['object']!r}, which is no class of caveat's")
        settings, learned = value["settings"], value["learned"]
        if not isinstance(settings, dict) or not isinstance(learned, dict):
            raise FileFormatError("settings and what was learned must have names")
        given = {k: self.decode(v) for k, v in settings.items()}
        if self.version == 1 and issubclass(kind, NetworkEstimator):
            given = _as_before(kind, given)
        made = kind(**given)
        for name, part in learned.items():
            if not _is_learned(name):
                raise FileFormatError(f"{name!r} is no name of something learned")
            setattr(made, name, self.decode(part))
        return made

    def _prior(self, value: dict[str, Any]) -> Any:
        numbers = {k: self.decode(v) for k, v in dict(value["numbers"]).items()}
        try:
            return _priors()[value["prior"]](**numbers)
        except OptionError as error:
            raise FileFormatError(str(error)) from error

    def _module(self, kind: str) -> Any:
        if self.module is None:
            raise OptionError(
                f"the model was given its own network (a {kind}), and a file holds the weights "
                "alone; pass load(path, module=...), with the same network"
            )
        self.used_module = True
        return self.module

    def _numpy(self, key: str) -> np.ndarray:
        return self.tensors[key].numpy()

    def _objects(self, value: dict[str, Any]) -> np.ndarray:
        parts = [self.decode(part) for part in value["objects"]]
        array = np.empty(len(parts), dtype=object)
        array[:] = parts
        return array.reshape(value["shape"])

    def _text(self, value: dict[str, Any]) -> Any:
        codes = self._numpy(value["text"])
        if codes.dtype != np.int32 or codes.ndim < 1 or not codes.shape[-1]:
            raise FileFormatError("a text is not stored as characters")
        if codes.size and not 0 <= codes.min() <= codes.max() <= _HIGHEST_CHARACTER:
            raise FileFormatError("a text holds something that is no character")
        raw = np.ascontiguousarray(codes.astype("<u4")).tobytes()
        array = np.frombuffer(raw, dtype=f"<U{codes.shape[-1]}").reshape(codes.shape[:-1]).copy()
        return array[()] if value.get("scalar") else array


def _is_learned(name: str) -> bool:
    """Whether an attribute has the name of something learned; a conformal method has one more."""
    public = name.isidentifier() and name.endswith("_") and not name.startswith("_")
    return public or name == "_few"


def _as_before(kind: type[NetworkEstimator], settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a file of version 1 as they are written today."""
    known = {
        name: value for name, value in _FIRST_SETTINGS.items() if name in kind._get_param_names()
    }
    scaled = settings.get("standardize")
    if scaled is None:
        scaled = settings.get("module") is None
    return {**known, **settings, "standardize": scaled}


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header of a file, of a version that is known, and its tensors."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            header = _header(file.metadata())
            names = list(file.keys())
            # A copy: what is only mapped would be lost with the file.
            return header, {name: file.get_tensor(name).clone() for name in names}
    except SafetensorError as error:
        raise FileFormatError(f"no safetensors file, or a damaged one ({error})") from error


def _header(metadata: Any) -> dict[str, Any]:
    if not metadata or _HEADER not in metadata:
        raise FileFormatError("a safetensors file without the header that caveat writes")
    header = json.loads(metadata[_HEADER])
    if not isinstance(header, dict) or type(header.get("version")) is not int:
        raise FileFormatError("its header does not name a version of the format")
    if header["version"] < 1:
        raise FileFormatError(f"there is no version {header['version']} of the format")
    if header["version"] > VERSION:
        raise FileFormatError(
            f"written in version {header['version']} of the format, and this caveat reads up to "
            f"{VERSION}; install a newer one"
        )
    return header
