"""The page of a map: linked maps of classes, measures, kinds, truth and the image itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..charts import Chart, Image, Text, false_color, label_map, number_map
from ..charts.palettes import KINDS, ends_of_layer, label_colors, shaded
from ..confusion import Confusion
from ..maps import MapLayers, PredictionMap, map_layers
from ..results.tables import number
from ..results.words import joined
from ._confusion import shown_tables
from ._escape import for_script
from ._evaluation import title_line
from ._map_data import LEVELS, MOST_CHARACTERS, packed
from ._png import png_address
from .content import Cell, Names, Page, Said, Section, Sentences, Table

_NARROWEST, _WIDEST = 0.8, 2.0
"""Width divided by height of the frame around a map."""
_EDGE = 8.0
"""Percent of the width: nearer to an end no name begins or stops, as it would be cut off."""
_NEAR = 22.0
"""Percent of the width; a name that is nearer to an end of the map starts, or stops, there."""
_LETTER = 5.2
"""Percent of the width that a letter takes at most: names in the middle are moved inside, too."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One of several linked maps: its chart, and what the script paints in it."""

    chart: Chart
    paints: str
    ends: tuple[float, float] | None = None
    legend: Sequence[tuple[str, str]] = ()

    @property
    def shape(self) -> tuple[float, float]:
        """Height and width."""
        image = next(mark for mark in self.chart.marks if isinstance(mark, Image))
        return image.y[0], image.x[1]

    @cached_property
    def picture(self) -> str:
        """The map as a picture, for paper and without scripts."""
        image = next(mark for mark in self.chart.marks if isinstance(mark, Image))
        return png_address(image.values)

    @property
    def names(self) -> list[tuple[float, float, str, str]]:
        """Words in the map: places in percent, whether near the left or right end, and the text."""
        height, width = self.shape
        words: list[tuple[float, float, str, str]] = []
        for mark in self.chart.marks:
            if isinstance(mark, Text):
                x = min(max(100 * mark.x / width, _EDGE), 100 - _EDGE)
                y = min(max(100 * mark.y / height, 4.0), 96.0)
                side = " left" if x < _NEAR else " right" if x > 100 - _NEAR else ""
                if not side:
                    half = _LETTER * len(mark.text) / 2
                    x = min(max(x, half), 100 - half)
                words.append((round(x, 2), round(y, 2), side, mark.text))
        return words

    @property
    def frame(self) -> tuple[float, float, float]:
        """The frame's width divided by its height; width and height of the map in percent of it."""
        height, width = self.shape
        ratio = min(max(width / height, _NARROWEST), _WIDEST)
        inside = width / height / ratio
        return round(ratio, 4), round(100 * min(1.0, inside), 3), round(100 / max(1.0, inside), 3)

    @property
    def scale(self) -> tuple[str, str] | None:
        """Where the colors of numbers begin and end."""
        return None if self.ends is None else (f"{self.ends[0]:.3g}", f"{self.ends[1]:.3g}")


@dataclass(frozen=True, eq=False)
class LinkedMaps:
    """Maps that zoom together; a pixel that is chosen in one says what the model says of it."""

    kind: ClassVar[str] = "maps"
    id: str
    panels: Sequence[Panel]
    legend: Sequence[tuple[str, str]]
    json: str
    data: str
    remark: str
    target: str = ""


def map_page(result: PredictionMap | MapLayers, title: str | None, source: str) -> Page:
    """Return the page of a map."""
    layers = map_layers(result) if isinstance(result, PredictionMap) else result
    names = Names()
    panels = _panels(layers)
    pictures = sum(len(panel.picture) for panel in panels)
    facts, data = packed(layers, max(MOST_CHARACTERS - pictures, 1))
    linked = LinkedMaps(
        names("maps"),
        panels,
        _legend(layers),
        _for_script(layers, panels, facts),
        data,
        _remark(facts),
    )
    said = [Said(one.level, one.text) for one in layers.verdict().statements]
    sections = [
        Section("verdict", "Verdict", "Verdict", "", [Sentences("Verdict", said)], folded=False),
        Section("maps", "Maps", "Maps", _READ, [linked], folded=False),
        Section("numbers", "Numbers", "Numbers", "", [*_tables(layers)]),
    ]
    pixels = layers.pixels
    height, width = pixels.shape
    some = "" if pixels.valid is None else f", {len(pixels.prediction):,} of them predicted"
    about = title_line(f"{height:,} x {width:,} pixels{some}", source)
    return Page(
        "Map", title or "Where is the map uncertain?", about, sections, parts=("maps",)
    )  # fmt: skip


_READ = (
    "The same pixels in each map. Click a pixel for what the model says of it; drag, use the "
    "buttons, two fingers, or Ctrl and the wheel to zoom all maps together."
)


def _remark(facts: dict[str, Any]) -> str:
    """Return what the maps leave out so that the page stays small."""
    said = []
    if facts["step"] > 1:
        said.append(f"one of {facts['step']} lines and columns is shown")
    if facts["levels"] < LEVELS[0]:
        said.append(f"values are in steps of {100 / facts['levels']:g} %")
    if not said:
        return ""
    return f"To keep the page small, {joined(said)}; pictures and tables are of all pixels."


def _panels(layers: MapLayers) -> list[Panel]:
    pixels, panels = layers.pixels, []
    if layers.image is not None:
        panels.append(Panel(false_color(layers.image, layers.channels), "color"))
    if layers.truth is not None:
        panels.append(
            Panel(label_map(layers.truth, pixels.prediction.classes, "True classes"), "truth")
        )
    if hasattr(pixels.prediction, "classes"):
        chart = label_map(pixels.classes(), pixels.prediction.classes, "Most probable classes")
        panels.append(Panel(chart, "class"))
    for place, (name, layer) in enumerate(layers.numbers.items()):
        chart = number_map(layer, name.replace("_", " ").capitalize())
        panels.append(Panel(chart, f"layer{place}", ends_of_layer(layer)))
    kinds = layers.kinds()
    if kinds is not None:
        texts = [str(kind.value) for kind in Confusion]
        chart = label_map(kinds, texts, "Kinds of uncertainty", KINDS)
        panels.append(Panel(chart, "kind", legend=list(zip(texts, KINDS, strict=True))))
    return panels


def _for_script(layers: MapLayers, panels: Sequence[Panel], facts: dict[str, Any]) -> str:
    """Return names, colors and sizes for the script."""
    classes = getattr(layers.pixels.prediction, "classes", np.array([]))
    colors = label_colors(len(classes)) if len(classes) else np.empty((0, 3))
    return for_script(
        facts
        | {
            "paints": [panel.paints for panel in panels],
            "names": [str(label) for label in classes.tolist()],
            "colors": _bytes(colors),
            "shades": _bytes(shaded(np.linspace(0, 1, facts["levels"] + 1))),
            "kinds": [str(kind.value) for kind in Confusion],
            "kindColors": _bytes(label_colors(len(KINDS), KINDS)),
            "pixels": len(layers.pixels.prediction),
        }
    )


def _bytes(colors: Any) -> Any:
    return np.round(255 * colors).astype(int)


def _legend(layers: MapLayers) -> list[tuple[str, str]]:
    if not hasattr(layers.pixels.prediction, "classes"):
        return []
    names = [str(label) for label in layers.pixels.prediction.classes.tolist()]
    return [
        (name, f"rgb({red} {green} {blue})")
        for name, (red, green, blue) in zip(names, _bytes(label_colors(len(names))), strict=True)
    ]


def _tables(layers: MapLayers) -> list[Table]:
    """Return the classes with their mean uncertainty, the layers, and the kinds."""
    tables = []
    pixels = layers.pixels
    if hasattr(pixels.prediction, "classes"):
        codes = pixels.classes()
        rows = []
        for code, label in enumerate(pixels.prediction.classes.tolist()):
            own = codes == code
            count = int(own.sum())
            share = count / len(pixels.prediction)
            means = [float(layer[own].mean()) if count else np.nan
                     for layer in layers.numbers.values()]  # fmt: skip
            rows.append(
                [Cell(str(label)), Cell(f"{count:,}", float(count)), Cell(f"{share:.1%}", share),
                 *(Cell(number(mean), mean) for mean in means)]
            )  # fmt: skip
        header = ("class", "pixels", "share", *(f"mean {_words(name)}" for name in layers.numbers))
        tables.append(
            Table("Classes", header, rows, title="Classes", heads=True, sortable=True)
        )  # fmt: skip
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    rows = [
        [Cell(_words(name)), *(Cell(number(value), value) for value in
                               map(float, np.nanquantile(layer, levels)))]
        for name, layer in layers.numbers.items()
    ]  # fmt: skip
    header = ("layer", *(f"{100 * level:g} % are at most" for level in levels))
    tables.append(Table("Layers", header, rows, title="Layers", heads=True))
    if layers.explanation is not None:
        tables += shown_tables(layers.explanation.tables())
    return tables


def _words(name: str) -> str:
    return name.replace("_", " ")
