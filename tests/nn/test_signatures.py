"""Signatures and docstrings of networks and estimators agree, parameter by parameter."""

import ast
import inspect
import re

import pytest

pytest.importorskip("torch")

from caveat import _constructors, estimators, nn
from caveat.nn import layers, losses, noise

RESULTS = {nn.PassPlan, nn.Trained}
"""What functions return; nobody calls their constructors."""


def public():
    """Yield the public callables of the packages, each once, by name."""
    seen = {}
    for module in (nn, layers, losses, noise, estimators):
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and value not in seen.values() and value not in RESULTS:
                seen[f"{module.__name__}.{name}"] = value
    return seen


def methods():
    """Yield the methods of public classes whose docstring lists parameters."""
    found = {}
    for name, owner in public().items():
        if not inspect.isclass(owner):
            continue
        for each, method in inspect.getmembers(owner, inspect.isfunction):
            ours = method.__module__.startswith("caveat") and not each.startswith("_")
            if ours and "Parameters\n" in (method.__doc__ or ""):
                found[f"{name}.{each}"] = method
    return found


def documented(doc: str) -> dict[str, str]:
    """Return the parameters that a docstring lists, in order, with what is said of their type."""
    section = re.search(r"(?:^|\n)Parameters\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", doc, re.S)
    entries = re.findall(r"^(\S.*)$", section[1], re.M) if section else []
    pairs = [entry.partition(" : ")[::2] for entry in entries]
    return {name: kind for names, kind in pairs for name in names.split(", ")}


def expected(value) -> dict[str, inspect.Parameter]:
    kinds = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(value).parameters.values()
    return {f"{kinds.get(p.kind, '')}{p.name}": p for p in parameters if p.name != "self"}


def agree(value) -> None:
    listed, wanted = documented(inspect.getdoc(value) or ""), expected(value)
    assert sorted(listed) == sorted(wanted)
    for name, kind in listed.items():
        stated = re.search(r"default=(.+)$", kind)
        if stated:
            try:
                default = ast.literal_eval(stated[1])
            except ValueError:  # a class or an object, named in words
                continue
            assert wanted[name].default == default, name


@pytest.mark.parametrize("name", public())
def test_signature_and_docstring_agree(name):
    agree(public()[name])


@pytest.mark.parametrize("name", methods())
def test_methods_agree_as_well(name):
    agree(methods()[name])


@pytest.mark.parametrize("name", public())
def test_descriptions_are_sentences_about_the_parameter(name):
    doc = inspect.getdoc(public()[name])
    assert not re.search(r"\n +Of ", doc), "name the thing: 'Momentum factor; only used by ...'"
    assert "\n**settings" not in doc


def test_a_missing_parameter_and_a_wrong_default_are_noticed():
    def wrong(first, second=2):
        """Do nothing.

        Parameters
        ----------
        first : int
        second : int, default=3

        Returns
        -------
        None
        """

    with pytest.raises(AssertionError, match="second"):
        agree(wrong)
    wrong.__doc__ = wrong.__doc__.replace("        second : int, default=3\n", "")
    with pytest.raises(AssertionError):
        agree(wrong)


def test_type_checkers_see_declared_constructors():
    assert _constructors.declared.__dataclass_transform__["field_specifiers"]
    for value in (estimators.MAPClassifier, layers.BayesConv2d, nn.MLP):
        assert inspect.signature(value).parameters, value
