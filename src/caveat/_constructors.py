"""Constructors from declared fields, with a docstring that lists every parameter.

A class declares and documents its own parameters; `declared` makes the constructor and adds to the
docstring what the bases document, with the defaults that hold for the class. So each parameter is
described once, and editors, ``help`` and the documentation show all of them. A class without an
example gets that of its bases, where ``{name}`` stands for its own name.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass, field
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar, dataclass_transform

__all__ = ["declared"]

T = TypeVar("T")
Sections = dict[str, list[str]]

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
            close = get_close_matches(name, known, 1)
            advice = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
            raise TypeError(f"{cls.__name__} has no parameter {name!r}; {advice}")
        store(self, *args, **options)

    construct.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return construct


def _completed(cls: type) -> str:
    """Return the docstring with the parameters and attributes that the bases document."""
    written = [_sections(_WRITTEN.get(base, base.__doc__ or "")) for base in cls.__mro__]
    parameters = [dict(_entries(each.get("Parameters", []))) for each in written]
    lines: list[str] = []
    done: set[str] = set()
    for name, parameter in inspect.signature(cls).parameters.items():
        if name in done:
            continue
        names, kind, body = next((e[name] for e in parameters if name in e), ((), "", ()))
        done.update(names)
        if names:
            lines += [f"{', '.join(names)}{_typed(kind, parameter.default)}", *body]
    attributes = {
        names: [f"{', '.join(names)}{kind and ' : ' + kind}", *body]
        for each in reversed(written)
        for _, (names, kind, body) in _entries(each.get("Attributes", []))
    }
    own = written[0]
    text = {"": own.pop("")}
    inherited = {"Parameters": lines, "Attributes": [n for e in attributes.values() for n in e]}
    for title, section in inherited.items():
        own.pop(title, None)
        if section:
            text[title] = section
    example = next((each["Examples"] for each in written if "Examples" in each), [])
    template = any("{name}" in line for line in own.get("Examples", []))
    own["Examples"] = [] if template else [x.replace("{name}", cls.__name__) for x in example]
    return "\n\n".join(
        "\n".join([*([title, "-" * len(title)] if title else []), *section]).strip()
        for title, section in (text | own).items()
        if section or not title
    )


def _sections(doc: str) -> Sections:
    """Return the lines below each heading of a docstring, those before the first under ``""``."""
    lines = inspect.cleandoc(doc).splitlines()
    found: Sections = {"": []}
    title = ""
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        if line and below == "-" * len(line):
            title = line
            found[title] = []
        elif line != "-" * len(title) or not title:
            found[title].append(line)
    return found


def _entries(lines: list[str]) -> Iterator[tuple[str, tuple[tuple[str, ...], str, list[str]]]]:
    """Yield each name of a section with all names of its entry, their type and description."""
    text = "\n".join(lines).strip()
    for entry in re.split(r"\n(?=\S)", text) if text else []:
        head, *body = entry.splitlines()
        names, _, kind = head.partition(" : ")
        for name in (group := tuple(names.split(", "))):
            yield name, (group, kind, [line.rstrip() for line in body if line.strip()])


def _typed(kind: str, default: Any) -> str:
    """Return the type of a parameter with its default, unless it is there."""
    if not kind or "default=" in kind or default is inspect.Parameter.empty:
        return f" : {kind}" if kind else ""
    if default is None:
        return f" : {kind}, {'default=None' if 'None' in kind else 'optional'}"
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    return f" : {kind}, default={shown}"
