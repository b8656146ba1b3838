"""Parameters that many functions share are described once, and added to each docstring."""

import re
import sys
from collections.abc import Callable, Mapping
from inspect import cleandoc, unwrap
from textwrap import fill
from types import FunctionType
from typing import Any, Self, TypeVar

Documented = TypeVar("Documented", bound=Callable[..., Any])

_ORDER = ("", "Parameters", "Returns", "", "References", "Examples")
"""The sections that can be added, and those around them; all others stand before the references."""
_SECTION = re.compile(r"^(?=\S.*\n-{3,}$)", re.MULTILINE)
_IMPORTS = re.compile(r"Examples\n-{8}\n(>>> import .*\n)*")
_ENTRY = re.compile(r"\n(?=\S)")


def describe_parameters(
    *tables: Mapping[str, str], returns: tuple[str, str] = ("", ""), package: str = ""
) -> Callable[[Documented], Documented]:
    """Return a decorator that completes a numpy-style docstring.

    The docstring describes what is special; parameters that it leaves out are taken from
    ``tables``, the first that has the name. All are listed in the order of the signature, and the
    defaults of those from the tables are read from the signature.

    Parameters
    ----------
    *tables : mapping of str to str
        By name of the parameter, its entry without default: a line ``name : type``, then indented
        lines that describe it. One entry may describe several: ``mean, variance : arrays``. The
        text under "Returns" or "References" is that of the section, where there is none.
    returns : pair of str, default=("", "")
        The type that is returned, and a sentence that describes it. A section "Returns" without a
        type gets the type, and the sentence unless it has one that begins with "From".
    package : str, default=""
        From which examples import what they show.

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
            text = _completed(documented.__doc__, _defaults(documented), tables, returns)
            name = documented.__name__
            used = re.search(rf"^(>>>|\.\.\.) .*(?<![.\w]){name}\(", text, re.MULTILINE)
            known = rf"^>>> from (caveat|{package}) import .*\b{name}\b"
            if package and used and not re.search(known, text, re.MULTILINE):
                text = _IMPORTS.sub(rf"\g<0>>>> from {package} import {name}\n", text)
            documented.__doc__ = text
        return documented

    return decorate


def describe_package(name: str, *tables: Mapping[str, str]) -> None:
    """Complete the docstrings of the functions of a package and of the methods of its classes.

    Where parameters are described and the result is the object itself, or one of a class of caveat,
    the section "Returns" says so. What is imported only when it is used is left as it is.
    Examples of functions get the import of what they show.

    Parameters
    ----------
    name : str
        The package, which has all that it offers in ``__all__``.
    *tables : mapping of str to str
        As in `describe_parameters`; parameters of many packages, such as ``random_state``, need no
        entry.
    """
    package = vars(sys.modules[name])
    for offered in (package[each] for each in package["__all__"] if each in package):
        is_class = isinstance(offered, type)
        methods = vars(offered).values() if is_class else [offered]
        for method in methods:
            # A class method holds a function, and so does a method that is not always there.
            function = getattr(method, "__func__", getattr(method, "fn", method))
            if not isinstance(function, FunctionType) or function.__name__.startswith("_"):
                continue
            itself = offered.__name__ if isinstance(method, classmethod) else "self"
            told = *tables, _SHARED, _result(function, itself)
            describe_parameters(*told, package="" if is_class else name)(function)


def _result(function: FunctionType, itself: str) -> dict[str, str]:
    """Return the section on the result of a function, as far as its annotation says it."""
    kind: Any = function.__annotations__.get("return")
    if kind is Self:
        return {"Returns": itself}
    ours = isinstance(kind, type) and kind.__module__.startswith("caveat.")
    return {"Returns": kind.__name__} if ours else {}


def entries_of(section: str) -> dict[str, str]:
    """Return the entries of the text of a section by the names they describe."""
    entries = _ENTRY.split(section.strip("\n")) if section.strip() else []
    return {
        name.strip().lstrip("*"): entry
        for entry in entries
        for name in entry.partition("\n")[0].partition(" : ")[0].split(",")
    }


_SHARED = entries_of("""\
confidence : float
    Confidence of the intervals.
progress : bool
    Whether to show a progress bar.
random_state : int, Generator or None
resamples : int
    The number of bootstrap resamples; 0 gives no intervals.
""")


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


def _completed(
    docstring: str, defaults: dict[str, Any], tables: tuple[Any, ...], returns: tuple[str, str]
) -> str:
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
    # Those of ``*names`` and ``**options`` come last.
    entries += dict.fromkeys(e.rstrip() for e in written.values() if e.rstrip() not in entries)
    sections["Parameters"] = "\n".join(entries)
    sections["Returns"] = _described(sections.get("Returns", ""), *returns)
    for title in ("Returns", "References") if entries else ():
        found = next((table[title] for table in tables if title in table), "")
        sections[title] = sections.get(title) or found
    titles = sorted(sections, key=lambda title: _ORDER.index(title) if title in _ORDER else 3)
    parts = [
        f"{title}\n{'-' * len(title)}\n" * bool(title) + sections[title].rstrip()
        for title in titles
        if sections[title].strip()
    ]
    return "\n\n".join(parts) + "\n"


def _described(section: str, kind: str, told: str) -> str:
    """Return the section on what is returned, with its type and a first sentence if it has none."""
    has_type = "\n    " in section or not section.rstrip().endswith(".")
    if not kind or (section and has_type):
        return section
    told = section if section.startswith("From") else f"{told} {section}"
    return f"{kind}\n" + fill(" ".join(told.split()), 96, **_INDENTED) if told.strip() else kind


_REQUIRED = object()
_INDENTED: Any = {
    "initial_indent": "    ", "subsequent_indent": "    ", "break_on_hyphens": False,
}  # fmt: skip


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
