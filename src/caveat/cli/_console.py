"""Output: results on stdout, messages and progress on stderr."""

import dataclasses
import json
import re
import shlex
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 110
"""The width of output that is not a terminal."""

_DIRECTIONS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that make a terminal show letters in another order than they come."""


def console(error: bool = False) -> "Console":
    """Return a console of stdout or stderr; text from data is never parsed as markup."""
    from rich.console import Console

    made = Console(stderr=error, markup=False, emoji=False, highlight=False)
    if not made.is_terminal:
        made = Console(stderr=error, markup=False, emoji=False, highlight=False, width=_WIDTH)
    return made


def clean(text: Any) -> str:
    """Return text without control characters: a label must not move the cursor or set colors."""
    return "".join(_visible(mark) for mark in str(text))


def _visible(mark: str) -> str:
    hidden = unicodedata.category(mark) in ("Cc", "Cs", "Zl", "Zp") or mark in _DIRECTIONS
    return mark.encode("unicode_escape").decode("ascii") if hidden else mark


_command: ContextVar[Callable[[], Any] | None] = ContextVar("command", default=None)
_RENAMED = {
    "kind": "split", "metrics": "metric", "n_jobs": "jobs", "sizes": "test",
    "sort": "sort_quantiles",
}  # fmt: skip
"""Arguments of functions that have another name as options."""

_ARGUMENT = re.compile(r"""\b([a-z_]+)=(?:True\b|('[^']*'|"[^"]*"|\d[\d.]*\d|\d))?""")


@contextmanager
def speaking_of(command: Callable[[], Any]) -> Iterator[None]:
    """While a command runs, warnings are lines of its own, and `in_options` names its options.

    The command is looked up when it is needed.
    """
    token, shape = _command.set(command), warnings.formatwarning
    warnings.formatwarning = _warning  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.formatwarning = shape
        _command.reset(token)


def _warning(message: Warning | str, *_: Any) -> str:
    """Return a warning as one line; which line of the program gave it tells a user nothing."""
    return f"caveat: warning: {clean(in_options(' '.join(str(message).split())))}\n"


def _options() -> dict[str, str]:
    """Return the options of the command that runs, by the arguments that they are passed as."""
    command = _command.get()
    parameters = () if command is None else command().params
    options = {p.name: p.opts[0] for p in parameters if p.opts[0].startswith("--")}
    renamed = {name: options[option] for name, option in _RENAMED.items() if option in options}
    return options | renamed


def in_options(text: str) -> str:
    """Return a message of the library as the command line says it.

    The library names arguments as ``id=``, ``percent=True`` or ``mean='mu'``; the command that runs
    takes these as ``--id``, ``--percent`` and ``--mean mu``. Other names stay what they are.
    """

    def translate(match: re.Match[str]) -> str:
        option, value = _options().get(match[1]), match[2]
        if option is None:
            return match[0]
        if not value:
            return option
        # A repr is quoted for Python; a shell reads its escapes in $'...'.
        return f"{option} " + (f"${value}" if "\\" in value else shlex.quote(value.strip("'\"")))

    return _ARGUMENT.sub(translate, text)


def say(text: Any, *, error: bool = False, style: str = "") -> None:
    """Print one paragraph, line by line."""
    from rich.text import Text

    out = console(error)
    for line in str(text).split("\n"):
        # A message is one line however long, also in a log.
        out.print(Text(clean(line), style=style), soft_wrap=error)


def show_table(
    title: str, header: Sequence[str], body: Iterable[Sequence[Any]], left: Sequence[int] = (0,)
) -> None:
    """Print a table; the columns in ``left`` are text, the others are numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(clean(title), style="bold"), title_justify="left", box=box.SIMPLE_HEAD)
    for i, name in enumerate(header):
        table.add_column(
            Text(clean(name)), justify="left" if i in left else "right", overflow="fold"
        )
    for cells in body:
        table.add_row(*(Text(clean(cell)) for cell in cells))
    console().print(table)


def print_json(value: Any) -> None:
    """Print one JSON document, valid everywhere: NaN and infinities become null and text."""
    sys.stdout.write(json.dumps(plain(value)) + "\n")


def plain(value: Any) -> Any:
    """Return what JSON can hold; a result becomes its own JSON."""
    if hasattr(value, "to_json"):
        return json.loads(value.to_json())
    if dataclasses.is_dataclass(value):
        return plain(dataclasses.asdict(value))  # type: ignore[arg-type]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)
    return value


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show on a terminal what is being done, and for how long."""
    with steps(text, None):
        yield


@contextmanager
def steps(text: str, total: int | None) -> Iterator[Any]:
    """Show a bar of steps; yields a function that reports one of them as begun."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    out = console(error=True)
    columns = [
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        *([BarColumn(bar_width=30)] if total else []),
        TimeElapsedColumn(),
    ]
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as progress:
        task = progress.add_task(clean(text), total=total)

        def step(name: str, done: int) -> None:
            progress.update(task, completed=done, description=clean(f"{text}: {name}"))

        yield step
