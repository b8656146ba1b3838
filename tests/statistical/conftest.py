"""Promises that simulations check: recorded by the tests, printed as a table by ``make promises``."""

import re
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest

_COLUMNS = ("promise", "design", "sets", "seen", "wanted", "width / ideal")
_BEGIN, _END = "<!-- promises: begin -->", "<!-- promises: end -->"


def pytest_addoption(parser):
    parser.addoption(
        "--promises", metavar="PAGE", help="print the promises, and write them into this page"
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "promises: a simulation that records rows of the table")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if "promise" in item.fixturenames:
            item.add_marker("promises")


@pytest.fixture
def promise(record_property) -> Callable[..., None]:
    """Record one row of the table; the assertion stays with the test.

    ``seen`` is the figure that the simulation gave and ``wanted`` what was promised, both as they
    are shown; ``width`` is the mean width over that of the best interval known for the design.
    """

    def record(
        section: str,
        promise: str,
        design: str,
        sets: int,
        seen: float | str,
        wanted: str,
        width: float | None = None,
    ) -> None:
        shown = seen if isinstance(seen, str) else f"{seen:.3f}"
        ratio = "" if width is None else f"{width:.2f}"
        record_property("promise", [section, promise, design, f"{sets:,}", shown, wanted, ratio])

    return record


@pytest.fixture
def fuzz_calls(record_property):
    """Count the hostile calls that a test makes; the sums are printed at the end."""
    from . import fuzzing

    @contextmanager
    def counted():
        before = dict(fuzzing.CALLS)
        try:
            yield
        finally:
            made = {key: fuzzing.CALLS[key] - before[key] for key in before}
            record_property("fuzz calls", made)

    return counted


def pytest_terminal_summary(terminalreporter, config):
    _print_calls(terminalreporter)
    page = config.getoption("--promises")
    if page is None:
        return
    rows = {tuple(value): None for value in _properties(terminalreporter, "promise")}
    text = "\n".join(_tables(sorted(rows)))
    terminalreporter.write_line(text)
    old = Path(page).read_text(encoding="utf-8")
    between = re.compile(f"(?<={_BEGIN}\n).*?(?={_END})", re.DOTALL)
    Path(page).write_text(between.sub(lambda _: f"\n{text}\n", old), encoding="utf-8")


def _properties(terminalreporter, wanted):
    return [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == wanted
    ]


def _print_calls(terminalreporter):
    found = _properties(terminalreporter, "fuzz calls")
    if found:
        made, answered, refused = (
            sum(one[key] for one in found) for key in ("made", "answered", "refused")
        )
        terminalreporter.write_line(
            f"fuzzing: {made:,} hostile calls in {len(found)} tests, {answered:,} answered and "
            f"{refused:,} refused"
        )


def _tables(rows):
    """Yield the lines of one Markdown table for each section."""
    for section in dict.fromkeys(row[0] for row in rows):
        yield f"## {section}\n"
        yield f"| {' | '.join(_COLUMNS)} |\n|{' --- |' * len(_COLUMNS)}"
        for _, *cells in (row for row in rows if row[0] == section):
            yield f"| {' | '.join(cells)} |"
        yield ""
