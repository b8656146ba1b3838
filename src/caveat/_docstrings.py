"""Parameters that many functions share are described once, and added to each docstring."""

import re
from collections.abc import Callable, Mapping
from inspect import cleandoc, unwrap
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Callable[..., Any])

_SECTION = re.compile(r"^(?=\S.*\n-{3,}$)", re.MULTILINE)
_ENTRY = re.compile(r"\n(?=\S)")


def describe_parameters(*tables: Mapping[str, str]) -> Callable[[Documented], Documented]:
    """Return a decorator that completes the parameters of a numpy-style docstring.

    The docstring describes what is special; parameters that it leaves out are taken from
    ``tables``, the first that has the name. All are listed in the order of the signature, and the
    defaults of those from the tables are read from the signature.

    Parameters
    ----------
    *tables : mapping of str to str
        By name of the parameter, its entry without default: a line ``name : type``, then indented
        lines that describe it. One entry may describe several: ``mean, variance : arrays``.

    Examples
    --------
    >>> from caveat._docstrings import describe_parameters
    >>> table = {"bins": "bins : int, the number of them"}
    >>> @describe_parameters(table)
    ... def count(bins=15):
    ...     "Count."
    >>> count.__doc__.splitlines()[-1]
    'bins : int, the number of them, default=15'
    """

    def decorate(documented: Documented) -> Documented:
        if documented.__doc__ is not None:  # as it is under python -OO
            documented.__doc__ = _completed(documented.__doc__, _defaults(documented), tables)
        return documented

    return decorate


def entries_of(section: str) -> dict[str, str]:
    """Return the entries of the text of a section by the names they describe."""
    entries = _ENTRY.split(section.strip("\n")) if section.strip() else []
    return {
        name.strip().lstrip("*"): entry
        for entry in entries
        for name in entry.partition("\n")[0].partition(" : ")[0].split(",")
    }


def sections_of(docstring: str) -> dict[str, str]:
    """Return the sections of a numpy-style docstring by title; the summary's title is empty."""
    sections = {}
    for text in _SECTION.split(cleandoc(docstring)):
        title, underline, body = [*text.split("\n", 2), "", ""][:3]
        if underline and not underline.strip("-"):
            sections[title] = body
        else:
            sections[""] = text
    return sections


def _completed(docstring: str, defaults: dict[str, Any], tables: tuple[Any, ...]) -> str:
    sections = sections_of(docstring)
    written = entries_of(sections.pop("Parameters", ""))
    entries = []
    for name, default in defaults.items():
        entry = written.get(name)
        if entry is None:
            entry = next((table[name] for table in tables if name in table), None)
            if entry is not None and default is not _REQUIRED:
                head, line, text = entry.partition("\n")
                entry = f"{head}, {_stated(default)}{line}{text}"
        if entry is not None and entry not in entries:
            entries.append(entry.rstrip())
    parts = [sections.pop("").rstrip()]
    if entries:
        parts.append("\n".join(["Parameters", "-" * 10, *entries]))
    parts += [f"{title}\n{'-' * len(title)}\n{body.rstrip()}" for title, body in sections.items()]
    return "\n\n".join(parts) + "\n"


_REQUIRED = object()


def _stated(default: Any) -> str:
    if default is None:
        return "optional"
    return f'default="{default}"' if isinstance(default, str) else f"default={default!r}"


def _defaults(documented: Any) -> dict[str, Any]:
    """Return the parameters of a function or constructor with their defaults, in their order."""
    is_class = isinstance(documented, type)
    function: Any = unwrap(documented.__init__ if is_class else documented)
    code = function.__code__
    positional, keywords = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[: positional + keywords]
    defaults = dict.fromkeys(names, _REQUIRED)
    given = function.__defaults__ or ()
    defaults.update(zip(names[positional - len(given) : positional], given, strict=True))
    defaults.update(function.__kwdefaults__ or {})
    if is_class:
        del defaults[names[0]]
    return defaults
