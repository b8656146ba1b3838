"""The page of a map: the classes beside the measures of uncertainty."""

from ..charts import CHARTS
from ..exceptions import UnsupportedPredictionError
from ..maps import PredictionMap
from ._evaluation import title_line
from .content import Cell, Figure, Names, Page, Section, Table


def map_page(pixels: PredictionMap, title: str | None, source: str) -> Page:
    """Return the page of a map."""
    entries = [entry for entry in CHARTS.of(pixels) if entry.applies(pixels)]
    if not entries:
        raise UnsupportedPredictionError(
            "a page of maps needs class probabilities on two axes; take one slice of a volume, or "
            "draw a layer of your own"
        )
    names = Names()
    made = [entry.function(pixels, **one) for entry in entries for one in entry.views(pixels)]
    figures = [Figure(names("chart"), chart) for chart in made]
    counts = made[0].numbers
    rows = [
        [Cell(name), Cell(f"{count:,}", float(count)), Cell(f"{share:.1%}", float(share))]
        for name, count, share in zip(*counts.values(), strict=True)
    ]
    table = Table("Classes", ("class", "pixels", "share"), rows, title="Classes", heads=True)
    read = "The same pixels in each: where a map is bright, its classes are uncertain."
    sections = [
        Section("maps", "Maps", "Maps", read, [*figures], folded=False),
        Section("classes", "Classes", "Classes", "", [table]),
    ]
    height, width = pixels.shape
    some = "" if pixels.valid is None else f", {len(pixels.prediction):,} of them predicted"
    about = title_line(f"{height:,} x {width:,} pixels{some}", source)
    return Page("Map", title or "Where is the map uncertain?", about, sections)
