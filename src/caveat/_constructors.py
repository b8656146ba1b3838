"""Constructors from declared fields, with a docstring that lists every parameter.

A class declares and documents its own parameters; `declared` makes the constructor and adds to the
docstring what the bases document, with the defaults that hold for the class. So each parameter is
described once, and editors, ``help`` and the documentation show all of them. A class without an
example gets that of its bases, where ``{name}`` stands for its own name.
"""

import inspect
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from functools import wraps
from typing import Any, TypeVar, dataclass_transform

from ._docstrings import _stated, entries_of, sections_of
from ._renamed import suggestion, suggests_parameters

__all__ = ["Declared", "declared"]

T = TypeVar("T")

_WRITTEN: dict[type, str] = {}
"""The docstrings of declared classes as they stand in the source."""


@dataclass_transform(field_specifiers=(field,))
def declared(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
    """Return a decorator that makes the fields of a class the parameters of its constructor.

    A base class that changes the default of a field must come before the others.

    Parameters
    ----------
    kw_only : bool, default=False
        Whether the fields of this class are keyword-only.
    """

    def decorate(cls: type[T]) -> type[T]:
        _WRITTEN[cls] = inspect.cleandoc(cls.__doc__ or "")
        made = dataclass(eq=False, repr=False, kw_only=kw_only)(cls)
        _show_initial_values(made)
        made.__init__ = _with_advice(made)  # type: ignore[method-assign]
        made.__doc__ = _completed(made)
        return made

    return decorate


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Declared:
    """The base of classes whose fields are the parameters of their constructors, by keyword.

    A class with a constructor of its own keeps it.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = suggests_parameters(cls.__init__)  # type: ignore[method-assign]
        else:
            declared(kw_only=True)(cls)


def _show_initial_values(cls: Any) -> None:
    """Let values that are passed on, and not stored, look like any other parameter."""
    for name, each in cls.__dataclass_fields__.items():
        if isinstance(each.type, InitVar):
            cls.__init__.__annotations__[name] = each.type.type
            # The attribute of that name is the object's own, such as a layer's bias.
            if name in vars(cls):
                delattr(cls, name)


def _with_advice(cls: Any) -> Callable[..., None]:
    """Return the constructor, which suggests the name that was meant for an unknown one.

    Keyword-only parameters stand in the order of the classes that declare them, the class's own
    first.
    """
    store = cls.__init__
    bases = [vars(base).get("__annotations__", {}) for base in cls.__mro__]
    parameters = sorted(
        inspect.signature(store).parameters.values(),
        key=lambda p: (
            p.kind,
            p.kind is p.KEYWORD_ONLY and [p.name in b for b in bases].index(True),
        ),
    )
    known = [parameter.name for parameter in parameters[1:]]

    @wraps(store)
    def construct(self: Any, *args: Any, **options: Any) -> None:
        for name in options.keys() - set(known):
            raise TypeError(f"{cls.__name__} has no parameter {name!r}; {suggestion(name, known)}")
        store(self, *args, **options)

    construct.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return construct


def _completed(cls: type) -> str:
    """Return the docstring with the parameters and attributes that the bases document."""
    written = [sections_of(_WRITTEN.get(base, base.__doc__ or "")) for base in cls.__mro__]
    described = [entries_of(each.get("Parameters", "")) for each in written]
    parameters: dict[str, str] = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        entry = next((entries[name] for entries in described if name in entries), None)
        if entry is not None and entry not in parameters:
            parameters[entry] = _with_default(entry.rstrip(), parameter)
    attributes = [entries_of(each.get("Attributes", "")).values() for each in reversed(written)]
    own = written[0]
    example = next((each["Examples"] for each in written if "Examples" in each), "")
    is_template = "{name}" in own.get("Examples", "")
    own = {
        "": own.pop(""),
        "Parameters": "\n".join(parameters.values()),
        "Attributes": "\n".join(dict.fromkeys(entry.rstrip() for e in attributes for entry in e)),
        **{title: text for title, text in own.items() if title not in ("Parameters", "Attributes")},
        "Examples": "" if is_template else example.replace("{name}", cls.__name__),
    }
    titles = {title: f"{title}\n{'-' * len(title)}\n" if title else "" for title in own}
    return "\n\n".join(titles[title] + own[title].strip() for title in own if own[title].strip())


def _with_default(entry: str, parameter: inspect.Parameter) -> str:
    """Return the entry of a parameter with its default, unless it is there."""
    head, line, text = entry.partition("\n")
    if (
        " : " not in head
        or "default=" in head
        or "optional" in head
        or parameter.default is parameter.empty
    ):
        return entry
    none = parameter.default is None and "None" in head
    return f"{head}, {'default=None' if none else _stated(parameter.default)}{line}{text}"
