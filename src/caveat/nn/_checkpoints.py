"""Members from files of weights; loading them never runs code from the file."""

import os
import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..exceptions import FileFormatError, OptionError
from ._copies import unwrap
from .generators import Generators

_WRAPPED = ("state_dict", "model_state_dict", "model_state", "model")
"""Keys under which training loops keep the weights beside the rest."""

_PREFIXES = ("module.", "_orig_mod.", "model.", "net.")
"""What DataParallel, torch.compile and modules around a module put before its names."""

_SHOWN = 3


def load_members(
    paths: Sequence[str | os.PathLike[str]], make_module: Callable[[], nn.Module]
) -> list[nn.Module]:
    """Return modules with the weights of files of your own, for `predict` as members.

    A file holds a state dict, as safetensors or from ``torch.save``, alone or under "state_dict",
    "model_state_dict", "model_state" or "model"; prefixes of names that ``DataParallel``,
    ``torch.compile`` and Lightning add are removed where the module has none. Files are read with
    ``weights_only=True``: nothing in them is executed, and a pickled module is refused.

    Parameters
    ----------
    paths : sequence of str or path
        The files, one for each member.
    make_module : callable
        Called without arguments for each file; returns a new module, on the device where it is to
        stay.

    Returns
    -------
    list of torch.nn.Module
        In evaluation mode.

    Examples
    --------
    >>> import pathlib, tempfile, torch
    >>> from caveat.nn import load_members, predict
    >>> def make_module():
    ...     return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [pathlib.Path(folder, f"fold-{i}.pt") for i in range(5)]
    ...     for path in paths:
    ...         torch.save({"epoch": 9, "state_dict": make_module().state_dict()}, path)
    ...     members = load_members(paths, make_module)
    >>> predict(members, torch.randn(6, 4), head="logits")
    Categorical: 5 members x 6 samples x 3 classes (0, 1, 2)
    """
    if isinstance(paths, str | os.PathLike) or not len(paths):
        raise OptionError(
            f"paths must be a list of at least one file, one for each member; got {paths!r}"
        )
    if isinstance(make_module, nn.Module) or not callable(make_module):
        raise OptionError(
            "make_module must be a function that returns a new module, such as lambda: Net(3); got "
            f"{type(make_module).__name__}"
        )
    members: list[nn.Module] = []
    for path in map(Path, paths):
        state = state_of(path)
        with Generators().kept():  # the weights that it draws are replaced
            module = make_module()
        if any(module is other for other in members):
            raise OptionError(
                "make_module must return a new module at each call; it returned the same one twice"
            )
        fill(module, state, path)
        members.append(module.eval())
    return members


def state_of(path: Path) -> dict[str, Any]:
    """Return the state dict in a file, without what is around it."""
    content = _read(path)
    for key in _WRAPPED:
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping) or not any(isinstance(v, Tensor) for v in content.values()):
        held = f"the keys {list(content)[:8]}" if isinstance(content, Mapping) else type(content)
        raise FileFormatError(
            f"{path} holds no state dict, alone or under one of {', '.join(_WRAPPED)}; got {held}. "
            "Write it by torch.save(module.state_dict(), path)"
        )
    return {str(key): value for key, value in content.items()}


def _read(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            start = file.read(9)
        if start[8:] == b"{":  # safetensors: a length, then JSON
            return _read_safetensors(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of another protocol of pickle
            return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}") from None
    except pickle.UnpicklingError as error:
        reason = str(error).partition("\n")[0]
        raise FileFormatError(
            f"{path} is damaged, or holds Python objects other than tensors, which are not loaded "
            "because that could run code from the file. Where you trust it, write its weights by "
            f"torch.save(module.state_dict(), path). torch says: {reason}"
        ) from None
    except (RuntimeError, EOFError, ValueError, KeyError) as error:
        raise FileFormatError(f"{path} is damaged, or no file of weights: {error}") from None


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path, device="cpu")
    except SafetensorError as error:
        raise RuntimeError(f"{error}") from error


def fill(module: Any, state: dict[str, Any], path: Path) -> None:
    """Give a module its weights; raise if they are not its own."""
    inner = unwrap(module)
    own = inner.state_dict()
    state = _without_prefix(state, own)
    problems = [
        _listed("names that the file lacks", [key for key in own if key not in state]),
        _listed("names that the module lacks", [key for key in state if key not in own]),
        _listed(
            "other shapes",
            [
                f"{key} is {tuple(state[key].shape)}, the module's {tuple(value.shape)}"
                for key, value in own.items()
                if isinstance(value, Tensor)
                and isinstance(state.get(key), Tensor)
                and state[key].shape != value.shape
            ],
        ),
    ]
    if any(problems):
        raise FileFormatError(
            f"the weights in {path} do not fit the module {type(inner).__name__}: "
            f"{'; '.join(filter(None, problems))}. Build the module as it was "
            "trained"
        )
    try:
        inner.load_state_dict(state)
    except RuntimeError as error:
        raise FileFormatError(
            f"the weights in {path} do not fit the module {type(inner).__name__}: {error}"
        ) from None


def _without_prefix(state: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state dict without what wrappers put before its names."""
    while set(state).isdisjoint(own):
        prefix = next((p for p in _PREFIXES if all(key.startswith(p) for key in state)), None)
        if prefix is None:
            break
        state = {key.removeprefix(prefix): value for key, value in state.items()}
    return state


def _listed(what: str, entries: list[str]) -> str:
    """Return the first entries of a list in words; nothing if there are none."""
    more = f" and {len(entries) - _SHOWN} more" if len(entries) > _SHOWN else ""
    return f"{what}: {', '.join(entries[:_SHOWN])}{more}" if entries else ""
