"""Signatures and docstrings of the public API name the same parameters, with the same defaults."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from enum import Enum

import pytest

import caveat
from caveat._docstrings import entries_of, sections_of

PACKAGES = [name for name in caveat._MODULES if name != "exceptions"]
BESIDE = ("nn.layers", "nn.losses", "nn.noise", "evaluation.verdict")


def public(package: str) -> Iterator[tuple[str, object]]:
    """Yield the public callables that are defined in a package, with the names they go by."""
    beside = [name for name in BESIDE if name.startswith(f"{package}.")]
    modules = [importlib.import_module(f"caveat.{name}") for name in (package, *beside)]
    names = {name: getattr(module, name) for module in modules for name in module.__all__}
    for name, value in names.items():
        home = getattr(value, "__module__", "")
        if not home.startswith(f"caveat.{package}") or not callable(value):
            continue
        if not inspect.isclass(value):
            yield name, value
        elif not issubclass(value, Enum | BaseException):
            yield name, value
            fields = getattr(value, "__dataclass_fields__", ())
            for method, member in vars(value).items():
                function = getattr(member, "__func__", member)
                if method[0] != "_" and method not in fields and inspect.isfunction(function):
                    yield f"{name}.{method}", function


def parameters_of(value: object) -> dict[str, inspect.Parameter]:
    """Return the parameters that a user gives."""
    try:
        signature = inspect.signature(value)
    except ValueError:  # a class of the standard library that has none
        return {}
    return {
        name: parameter
        for name, parameter in signature.parameters.items()
        if name not in ("self", "cls") and not name.startswith("_")
    }


def stated_default(entry: str) -> str | None:
    """Return the default that an entry states: its text, "" for optional, None for required."""
    head = entry.partition("\n")[0]
    if match := re.search(r", default=(.+)$", head):
        return match[1]
    return "" if re.search(r"\boptional\b", head) else None


def disagreement(value: object) -> str | None:
    """Return what is wrong with the docstring of a callable, or None."""
    documentation = inspect.getdoc(value)
    parameters = parameters_of(value)
    if not documentation:
        return "it has no docstring"
    sections = sections_of(documentation)
    # The fields of a dataclass that the library makes are attributes; bases describe theirs.
    fields = hasattr(value, "__match_args__") and "Parameters" not in sections
    written = entries_of(sections.get("Parameters", ""))
    if fields:
        described = [
            sections_of(base.__doc__ or "").get("Attributes", "") for base in value.__mro__
        ]
        entries = {name: entry for text in described for name, entry in entries_of(text).items()}
        written = {name: entry for name, entry in entries.items() if name in parameters}
    if not written and not fields and len(parameters) == 1 and "." in value.__qualname__:
        return None  # a method of one parameter may explain it in its summary
    if sorted(written) != sorted(parameters) or (not fields and list(written) != list(parameters)):
        return f"the docstring has {list(written)}, the signature {list(parameters)}"
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or fields:
            continue
        stated = stated_default(written[name])
        if parameter.default is parameter.empty:
            wrong = stated is not None
        elif stated is None or stated == "":
            wrong = stated is None or parameter.default is not None
        else:
            wrong = not same(stated, parameter.default)
        if wrong:
            return f"{name}: the docstring states {stated!r}, the default is {parameter.default!r}"
    return None


def same(stated: str, default: object) -> bool:
    try:
        return ast.literal_eval(stated) == default
    except (ValueError, SyntaxError):
        return stated == repr(default) or stated == getattr(default, "__name__", None)


@pytest.mark.parametrize("package", PACKAGES)
def test_signatures_and_docstrings_agree(package):
    wrong = {name: text for name, value in public(package) if (text := disagreement(value))}
    assert wrong == {}


def test_disagreements_are_found():
    def function(a, *, b=1, c=None):
        """Summary.

        Parameters
        ----------
        a : int
        b : int, default=2
        c : int, optional
        """

    assert disagreement(function) == "b: the docstring states '2', the default is 1"
    function.__kwdefaults__["b"] = 2
    assert disagreement(function) is None
    function.__doc__ = function.__doc__.replace("a : int", "a : int, optional")
    assert disagreement(function).startswith("a: the docstring states ''")
    function.__doc__ = function.__doc__.replace("c : int, optional", "d : int")
    assert "the signature ['a', 'b', 'c']" in disagreement(function)
    function.__doc__ = None
    assert disagreement(function) == "it has no docstring"
