"""The documentation is complete, its links lead somewhere, and what it shows is what comes out."""

import contextlib
import doctest
import importlib
import inspect
import io
import os
import re
import runpy
import shlex
from pathlib import Path

import pytest

import caveat

ROOT = Path(__file__).parents[2]
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
PAGES = sorted(
    page.relative_to(DOCS).as_posix() for page in (*DOCS.glob("*.md"), *DOCS.glob("api/*.rst"))
)
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
BESIDE = ("nn.layers", "nn.losses", "nn.noise", "evaluation.verdict", "loading")
NOT_FOR_USERS = {"ENTRIES"}


def listed() -> set[str]:
    """The names that the pages of the API have, with their modules."""
    found = set()
    for page in DOCS.glob("api/*.rst"):
        module, inside = "", False
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            elif match := re.match(r"\.\. py:data:: (\w+)", line):
                found.add(f"{module}.{match[1]}")
            if line.strip() and not line.startswith(" "):
                inside = line.startswith(".. autosummary::")
            elif inside and (match := re.fullmatch(r"   (\w+)", line)):
                found.add(f"{module}.{match[1]}")
    return found


def public() -> set[str]:
    """The names that the API has: under caveat itself, or else under the first module with them."""
    found, seen = set(), set()
    for module in (*caveat._MODULES, *BESIDE):
        members = importlib.import_module(f"caveat.{module}")
        for name in members.__all__:
            value = getattr(members, name)
            if not inspect.ismodule(value) and (name, id(value)) not in seen:
                seen.add((name, id(value)))
                flat = name in caveat.__all__ and getattr(caveat, name) is value
                found.add(f"caveat.{name}" if flat else f"caveat.{module}.{name}")
    return {name for name in found if name.rpartition(".")[2] not in NOT_FOR_USERS}


def test_every_public_name_is_in_the_api_pages():
    assert public() - listed() == set(), "put these into docs/api/"


def test_the_api_pages_name_nothing_else():
    assert listed() - public() == set(), "these are not public names"


def test_names_of_caveat_itself_are_on_the_first_page_of_the_api():
    text = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")
    missing = [name for name in caveat._HOMES if f"`{name}`" not in text]
    assert missing == []
    modules = [name for name in caveat._MODULES if f":doc:`{name}`" not in text]
    assert modules == []


def contents(page: str) -> list[str]:
    """The entries of the tables of contents of a page, as files of the documentation."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", text, re.S)
    blocks += re.findall(r"\.\. toctree::\n((?:\n|   .*\n?)+)", text)
    entries = [line.strip() for block in blocks for line in block.splitlines()]
    names = [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries if entry and entry[0] != ":"]
    paths = [(Path(page).parent / name).as_posix() for name in names]
    return [
        next((f"{p}{e}" for e in (".md", ".rst") if (DOCS / f"{p}{e}").exists()), p) for p in paths
    ]


def test_every_page_is_reached_from_the_first():
    reached, waiting = set(), ["index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and (DOCS / page).is_file():
            reached.add(page)
            waiting += contents(page)
    assert set(PAGES) - reached == set(), "put these into a toctree"


def test_tables_of_contents_name_pages_that_exist():
    entries = {entry for page in PAGES for entry in contents(page)}
    # The gallery is there once the site has been built.
    assert {entry for entry in entries if not (DOCS / entry).exists()} <= {"gallery/index"}


def exists(target: Path) -> bool:
    """Whether a link leads somewhere; the pages of the gallery are made from the examples."""
    if target.is_relative_to(DOCS / "gallery"):
        name = re.sub(r"^sphx_glr_|_\d{3}$", "", target.stem)
        return name == "index" or (EXAMPLES / f"{name}.py").exists()
    return target.exists()


@pytest.mark.parametrize(
    "page", [*DOCS.glob("*.md"), *ROOT.glob("*.md")], ids=lambda page: page.name
)
def test_relative_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    relative = [t.partition("#")[0] for t in targets if not re.match(r"\w+:|#", t)]
    dead = [target for target in relative if not exists((page.parent / target).resolve())]
    assert dead == []


def test_the_links_of_the_test_above_are_found():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert "](tutorial.md)" in text
    assert not exists(DOCS / "gallery" / "plot_nothing.rst")
    assert not exists(DOCS / "nothing.md")
    assert exists(DOCS / "gallery" / "images" / "sphx_glr_plot_reliability_001.png")


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def test_the_terminal_of_the_tutorial_shows_what_comes_out():
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    before, shown = re.match(r"(.*?)```text\n\$ (.*?)```", text, re.S).groups()
    assert "```text" not in text[len(before) + 10 :], "run every terminal of the page here"
    tutorial: dict = {}
    for example in doctest.DocTestParser().get_examples(before):
        if not example.want:  # the page is a doctest itself; here only what it prepares counts
            exec(example.source, tutorial)
    command, output = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n(.*)", shown, re.S).groups()
    program, *arguments = shlex.split(command.replace("\\\n", " "))
    assert program == "caveat"
    here, printed = os.getcwd(), io.StringIO()
    from caveat.cli import main

    with tutorial["folder"] as folder, contextlib.redirect_stdout(printed):
        try:
            os.chdir(folder)
            assert main(arguments) == 0
        finally:
            os.chdir(here)
    assert lines(printed.getvalue()) == lines(output)


LONG = ("plot_methods", "plot_dropout_rate")
"""Examples that take as long as all others; building the documentation runs them."""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_examples_run(script):
    if script.stem in LONG:
        pytest.skip("it takes long, and building the documentation runs it")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    assert script.stem.startswith("plot_"), "the gallery runs only these"
    try:
        runpy.run_path(str(script))
        assert plt.get_fignums()
    finally:
        plt.close("all")
