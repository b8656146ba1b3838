"""Docstrings and messages read as plain English, and the library does not speak command line."""

import ast
import re
from pathlib import Path

import pytest

import caveat

ROOT = Path(caveat.__file__).parent
PACKAGES = sorted(path.name for path in ROOT.iterdir() if (path / "__init__.py").exists())
OPENING = re.compile(r"^ *[*\w, ]+(?: : .*)?\n +Of [^\n]*", re.MULTILINE)
FLAG = re.compile(r"(?<![-\w])--[a-z]{2,}")
METAPHORS = {"found", "look", "needy", "rooms", "shelf", "tired"}


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def strings(path: Path) -> list[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def names(path: Path) -> set[str]:
    """The identifiers that a module defines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
    return {name.strip("_").lower() for name in defined}


@pytest.mark.parametrize("package", PACKAGES)
def test_descriptions_of_parameters_do_not_open_with_of(package):
    bad = [
        f"{path.relative_to(ROOT)}: {match[0].strip()!r}"
        for path in modules(package)
        for _, text in strings(path)
        for match in OPENING.finditer(text)
    ]
    assert bad == []


@pytest.mark.parametrize("package", PACKAGES)
def test_names_are_no_metaphors(package):
    bad = {
        str(p.relative_to(ROOT)): sorted(b) for p in modules(package) if (b := names(p) & METAPHORS)
    }
    assert bad == {}


@pytest.mark.parametrize("package", [package for package in PACKAGES if package != "cli"])
def test_only_the_command_line_names_its_options(package):
    bad = [
        f"{path.relative_to(ROOT)}:{line}: {text[:80]!r}"
        for path in modules(package)
        if path.name != "svg.py"  # a style sheet names its variables so
        for line, text in strings(path)
        if FLAG.search(text)
    ]
    assert bad == []


def test_what_is_looked_for_is_seen():
    assert OPENING.search("    momentum : float\n        Of 'sgd'.\n")
    assert not OPENING.search("    momentum : float\n        Momentum; only used by 'sgd'.\n")
    assert FLAG.search("name one with --target y")
    assert not FLAG.search("a -- b, x--y")
