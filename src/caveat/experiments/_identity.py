"""What decides a result, as text that is the same in every process: by content, not by name."""

import re
from collections.abc import Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_DEEPEST = 12


def identity(value: Any) -> str:
    """Return a text that two settings share if they do the same.

    Functions are their instructions and what they close over, so that two lambdas differ; arrays
    and weights of networks their content; other objects their class and attributes.
    """
    return _text(value, ())


def _text(value: Any, above: tuple[int, ...]) -> str:
    if id(value) in above or len(above) > _DEEPEST:
        return type(value).__qualname__
    inner = (*above, id(value))

    def of(*parts: Any) -> str:
        return f"({', '.join(_text(part, inner) for part in parts)})"

    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(of(*item) for item in value.items()))}}}"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(_text(item, inner) for item in value))}}}"
    if isinstance(value, tuple | list):
        return type(value).__qualname__ + of(*value)
    if isinstance(value, type | ModuleType):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
    if isinstance(value, partial):
        return "partial" + of(value.func, value.args, value.keywords)
    if isinstance(value, MethodType):
        return "method" + of(value.__func__, value.__self__)
    if isinstance(value, FunctionType):
        closed = [_contents(cell) for cell in value.__closure__ or ()]
        return value.__qualname__ + of(
            value.__code__, value.__defaults__, value.__kwdefaults__, closed
        )
    if isinstance(value, CodeType):
        return "code" + of(value.co_code, value.co_consts, value.co_names)
    return _object(value, of)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None


def _object(value: Any, of: Any) -> str:
    """Return class and content of anything else."""
    name = type(value).__qualname__
    if callable(getattr(value, "__array__", None)):
        import joblib

        from .._arrays import to_numpy

        return name + joblib.hash(to_numpy(value, "a setting").array)
    if hasattr(value, "get_params"):
        return name + of(value.get_params(deep=False))
    # Weights of a network count, and its many attributes do not; its text has the structure.
    if hasattr(value, "state_dict"):
        return name + of(_plain(value), dict(value.state_dict()))
    if hasattr(value, "__dict__"):
        return name + of(vars(value))
    return _plain(value)


def _plain(value: Any) -> str:
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
