"""What a page is made of: plain blocks of text, tables and charts, which the template lays out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, groupby
from typing import Any, ClassVar

import numpy as np

from ..charts import Chart
from ..charts.svg import Drawing, render
from ..metrics import METRICS
from ..results.tables import WITHOUT_CHANCE, number
from ._escape import for_script

MOST_ROWS = 60
"""More rows than this behind a chart are counted, not shown."""


class Names:
    """Names for the elements of one page, each given once; the prefix tells parts of it apart."""

    def __init__(self, prefix: str = "") -> None:
        self._count, self._prefix = count(1), prefix

    def __call__(self, kind: str) -> str:
        """Return the next name."""
        return f"{self._prefix}{kind}-{next(self._count)}"


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
class Figure:
    """A chart on the page: its drawing, what can be read off, and its numbers."""

    kind: ClassVar[str] = "chart"
    id: str
    chart: Chart
    target: str = ""

    @cached_property
    def drawing(self) -> Drawing:
        """The chart as SVG."""
        return render(self.chart, standalone=False)

    @property
    def table(self) -> Table:
        """The numbers behind the chart."""
        return numbers_table(self.chart.title, self.chart.numbers)

    @property
    def value(self) -> str:
        """The number that sums the chart up, in words."""
        headline = self.chart.headline
        if headline is None or np.isnan(headline.value):
            return ""
        low, high = headline.interval
        between = "" if np.isnan(low) else f" ({number(low)} to {number(high)})"
        freed = (
            "" if np.isnan(headline.estimate) else f"; {number(headline.estimate)} {WITHOUT_CHANCE}"
        )
        return f"{METRICS[headline.metric].label}: {number(headline.value)}{between}{freed}"

    @property
    def label(self) -> str:
        """What a screen reader says of it."""
        told = f" {self.value}." if self.value else ""
        return (
            f"Chart: {self.chart.title}. {self.chart.read}{told} The arrow keys read values off; "
            "the numbers are in the table that follows."
        )

    @property
    def json(self) -> str:
        """What can be read off, for the script that shows it."""
        return for_script(self.drawing.points)


@dataclass(frozen=True)
class Slider:
    """A chart with a slider: what it says at each step, and what it colors or moves."""

    kind: ClassVar[str] = "slider"
    id: str
    figure: Figure
    tag: str
    sentences: list[str]
    threshold: Any = ()
    start: int = 20
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
        drawing = self.figure.drawing
        return for_script(
            {
                "sentences": self.sentences,
                "threshold": self.threshold,
                "keyed": drawing.keyed,
                "spot": drawing.spot,
            }
        )


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
    """The verdict, or the recommendation; the first sentence sums up, unless all are details."""

    kind: ClassVar[str] = "verdict"
    name: str
    statements: list[Said]
    details: bool = False


@dataclass(frozen=True)
class Tiles:
    """The few numbers that carry the verdict: a name, a number, what is beside it."""

    kind: ClassVar[str] = "tiles"
    items: list[tuple[str, str, str]]


@dataclass(frozen=True)
class Step:
    """What to do next."""

    kind: ClassVar[str] = "step"
    text: str


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
class Picture:
    """A picture with the text that stands for it, and lines below it."""

    source: str
    text: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Card:
    """Pictures side by side."""

    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Gallery:
    """Cards of pictures below one title."""

    kind: ClassVar[str] = "gallery"
    title: str
    read: str
    cards: Sequence[Card]
    target: str = ""


@dataclass(frozen=True)
class Folded:
    """Charts that few readers need."""

    kind: ClassVar[str] = "folded"
    title: str
    blocks: list[Any]


@dataclass(frozen=True)
class Section:
    """A part of the page with a place in the contents; folded until it is asked for."""

    id: str
    title: str
    short: str
    lead: str = ""
    blocks: list[Any] = field(default_factory=list)
    folded: bool = True

    @property
    def runs(self) -> Iterator[tuple[bool, list[Any]]]:
        """The blocks; those that share a grid together."""
        for boxed, result in groupby(self.blocks, lambda block: block.kind not in _ALONE):
            yield boxed, list(result)


def page_sections(words: str, blocks: Mapping[str, list[Any]], prefix: str = "") -> list[Section]:
    """Return the sections of a page that have blocks, in the order of their words.

    The words of each section are a line ``id | title | short title``, which ends with ``| open`` if
    the section is not folded, and below it, indented, what its lead says. The title is also the
    short title where none is given.
    """
    result = []
    for text in re.split(r"\n(?=\S)", words.strip()):
        first, *lead = text.split("\n")
        name, title, *more = first.split(" | ")
        folded = more[-1:] != ["open"]
        short = (more if folded else more[:-1]) or [title]
        if blocks.get(name):
            told = " ".join(line.strip() for line in lead)
            result.append(Section(prefix + name, title, short[0], told, blocks[name], folded))
    return result


_ALONE = {"verdict", "tiles", "step", "chooser", "technique", "text", "folded"}


@dataclass(frozen=True)
class Technique:
    """One technique of a comparison, folded away until it is asked for."""

    kind: ClassVar[str] = "technique"
    name: str
    about: str
    sections: list[Section]


@dataclass(frozen=True)
class Page:
    """The whole page; ``parts`` names scripts and style sheets that only some pages need."""

    eyebrow: str
    title: str
    about: str
    sections: list[Section]
    parts: tuple[str, ...] = ()


def before_notes(page: Page, section: Section) -> Page:
    """Return a page with one more section before the last, which is on its method."""
    return replace(page, sections=[*page.sections[:-1], section, page.sections[-1]])


def with_chooser(blocks: list[Any], targets: list[Target], names: Names) -> list[Any]:
    """Return the blocks with a list of targets before them, if they have several."""
    if not any(getattr(block, "target", "") for block in blocks):
        return blocks
    choices = [(target.key, str(target.name)) for target in targets]
    return [Chooser(names("chooser"), "Target", "target", choices), *blocks]


def numbers_table(caption: str, numbers: Any) -> Table:
    """Return the table behind a chart: one column of text or numbers for each entry."""
    columns = {name: list(values) for name, values in numbers.items()}
    length = len(next(iter(columns.values()), []))
    step = -(-length // MOST_ROWS) if _is_curve(columns) else 1
    shown = range(0, length, step)[:MOST_ROWS]
    rows = [[_number_cell(values[i]) for values in columns.values()] for i in shown]
    more = "" if len(rows) * step >= length else f"The first {MOST_ROWS} of {length} rows."
    return Table(caption, list(columns), rows, more=more)


def _is_curve(columns: dict[str, list[Any]]) -> bool:
    """Whether all columns are numbers along a line: some rows then stand for all."""
    return not any(isinstance(value, str) for values in columns.values() for value in values[:1])


def _number_cell(value: Any) -> Cell:
    if isinstance(value, str):
        return Cell(str(value))
    value = float(value)
    if np.isinf(value):
        return Cell("infinite" if value > 0 else "minus infinite", value)
    return Cell(number(value) or "undefined", value)
