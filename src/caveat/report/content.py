"""What a page is made of: plain blocks of text, tables and charts, which the template lays out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, groupby
from typing import Any, ClassVar

import numpy as np

from ..results.tables import number
from ._escape import for_script

MOST_ROWS = 60
"""More rows than this behind a chart are counted, not shown."""


class Names:
    """Names for the elements of one page, each given once."""

    def __init__(self) -> None:
        self._count = count(1)

    def __call__(self, kind: str) -> str:
        """Return the next name."""
        return f"{kind}-{next(self._count)}"


@dataclass(frozen=True)
class Target:
    """One target: its name, and a key for the script; both empty where there is only one."""

    key: str = ""
    name: str | None = None

    def has(self, row: Any) -> bool:
        """Whether a row is of this target."""
        return self.name is None or row.target == self.name


@dataclass(frozen=True)
class Cell:
    """One cell: its text, the number it sorts by, and what stands beside or below it."""

    text: str
    value: float | None = None
    short: str = ""
    says: str = ""
    range: str = ""
    mark: str = ""

    @property
    def numeric(self) -> bool:
        """Whether it sorts as a number."""
        return self.value is not None

    @property
    def sort(self) -> str:
        """The number for the script that sorts; nothing where there is none."""
        return "" if self.value is None or np.isnan(self.value) else repr(float(self.value))


@dataclass(frozen=True)
class Table:
    """A table; ``folded`` names what opens it."""

    kind: ClassVar[str] = "table"
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    read: str = ""
    more: str = ""
    folded: str = ""
    target: str = ""
    sortable: bool = False
    heads: bool = False
    narrow: bool = False

    def numeric(self, column: int) -> bool:
        """Whether a column holds numbers."""
        return bool(self.rows) and self.rows[0][column].numeric


@dataclass(frozen=True)
class Chart:
    """A chart as plotly describes it, what it shows in words, and its numbers."""

    kind: ClassVar[str] = "chart"
    id: str
    title: str
    read: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    table: Table | None = None
    value: str = ""
    note: str = ""
    target: str = ""
    wide: bool = False

    @property
    def height(self) -> int:
        """Its height in pixels, so that the page does not jump when it is drawn."""
        return int(self.layout["height"])

    @property
    def label(self) -> str:
        """What a screen reader says of it."""
        told = f" {self.value}." if self.value else ""
        return f"Chart: {self.title}. {self.read}{told} The numbers are in the table that follows."

    @property
    def json(self) -> str:
        """The chart for the script that draws it."""
        return for_script({"data": self.data, "layout": self.layout})


@dataclass(frozen=True)
class Deferral:
    """A chart with a slider: what it says at each step, and what it colors."""

    kind: ClassVar[str] = "deferral"
    id: str
    chart: Chart
    tag: str
    sentences: list[str]
    steps: dict[str, Any]
    """What the script needs to paint a step: a threshold, or the place of a marker."""

    start: int = 0
    target: str = ""

    @property
    def last(self) -> int:
        """The last step."""
        return len(self.sentences) - 1

    @property
    def said(self) -> str:
        """What is said before the slider is moved."""
        return self.sentences[self.start]

    @property
    def json(self) -> str:
        """The steps for the script."""
        return for_script({"sentences": self.sentences, **self.steps})


@dataclass(frozen=True)
class Promise:
    """What a fitted policy decides, and what it guarantees."""

    kind: ClassVar[str] = "promise"
    title: str
    text: str
    remark: str
    table: Table


@dataclass(frozen=True)
class Said:
    """One sentence of the verdict, and the numbers it rests on."""

    level: str
    text: str
    table: Table | None = None
    called: str = ""

    @property
    def word(self) -> str:
        """The level in words: color alone tells nothing to some."""
        levels = {"good": "Good", "bad": "Problem", "unsure": "Unsure"}
        return self.called or levels.get(self.level, "Note")


@dataclass(frozen=True)
class Sentences:
    """The verdict, or the recommendation; the first sentence sums up."""

    kind: ClassVar[str] = "verdict"
    name: str
    statements: list[Said]


@dataclass(frozen=True)
class Chooser:
    """A list from which one target, or one measure, is chosen."""

    kind: ClassVar[str] = "chooser"
    id: str
    label: str
    chooses: str
    choices: list[tuple[str, str]]


@dataclass(frozen=True)
class Definition:
    """What a metric says, and what it cannot see."""

    name: str
    short: str
    says: str
    blind: str


@dataclass(frozen=True)
class Definitions:
    """Notes on the method, and the definition of each metric."""

    kind: ClassVar[str] = "definitions"
    notes: list[str]
    items: list[Definition]


@dataclass(frozen=True)
class Text:
    """A sentence in passing."""

    kind: ClassVar[str] = "text"
    text: str
    target: str = ""


@dataclass(frozen=True)
class Run:
    """Neighbors that share a grid, or a block that stands alone."""

    boxed: bool
    blocks: list[Any]


@dataclass(frozen=True)
class Section:
    """A part of the page with a place in the contents."""

    id: str
    title: str
    short: str
    lead: str = ""
    blocks: list[Any] = field(default_factory=list)

    @property
    def runs(self) -> Iterator[Run]:
        """The blocks, those that share a grid together."""
        for boxed, found in groupby(self.blocks, lambda b: b.kind not in _ALONE):
            blocks = list(found)
            yield Run(boxed, _filled(blocks) if boxed else blocks)


def _filled(blocks: list[Any]) -> list[Any]:
    """Return the blocks of a grid of two columns; a chart that would stand alone takes both."""
    filled, alone = list(blocks), False
    for i, block in enumerate(blocks):
        narrow = block.narrow if block.kind == "table" else block.kind == "chart" and not block.wide
        alone = narrow and not alone
        last = i + 1 == len(blocks) or _target(blocks[i + 1]) != _target(block)
        if alone and block.kind == "chart" and (last or blocks[i + 1].kind != "chart"):
            filled[i], alone = replace(block, wide=True), False
    return filled


def _target(block: Any) -> str:
    return getattr(block, "target", "")


_ALONE = {"verdict", "chooser", "technique", "text"}


@dataclass(frozen=True)
class Technique:
    """One technique of a comparison, folded away until it is asked for."""

    kind: ClassVar[str] = "technique"
    name: str
    about: str
    sections: list[Section]


@dataclass(frozen=True)
class Page:
    """The whole page."""

    eyebrow: str
    title: str
    about: str
    sections: list[Section]


def numbers_table(
    caption: str, *columns: tuple[str, Any], words: Callable[[float], str] = number
) -> Table:
    """Return the table behind a chart: one column of text or numbers for each pair."""
    length = len(columns[0][1])
    rows = [
        [
            Cell(str(values[i])) if isinstance(values[i], str)
            else Cell(words(float(values[i])), float(values[i]))
            for _, values in columns
        ]
        for i in range(min(length, MOST_ROWS))
    ]  # fmt: skip
    more = "" if length <= MOST_ROWS else f"The first {MOST_ROWS} of {length} rows."
    return Table(caption, [name for name, _ in columns], rows, more=more)
