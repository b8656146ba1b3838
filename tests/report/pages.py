"""Read a page as a browser would: elements, attributes, text, and the data in its scripts."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from caveat.charts.svg import render

VOID = {"meta", "link", "input", "img", "br"}


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.data: dict[str, Any] = {}
        self.texts: list[str] = []
        self.drawn: list[str] = []
        self.scripts: list[str] = []
        self.source = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        tag, attributes = self.elements[-1] if self.elements else ("", {})
        inside = self.open[-1] if self.open else ""
        if inside == "script" and tag == "script":
            if attributes.get("type") == "application/json":
                self.data[str(attributes["id"])] = json.loads(data)
            else:
                self.scripts.append(data)
        elif inside == "text":
            self.drawn.append(data)
        elif inside != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        """What is on the page, without the labels inside of its charts."""
        return " ".join(" ".join(self.texts).split())

    def named(self, tag: str, name: str | None = None) -> list[dict[str, str | None]]:
        """The attributes of all elements of a kind, or those of a class."""
        found = [attributes for kind, attributes in self.elements if kind == tag]
        return found if name is None else [a for a in found if a.get("class") == name]

    @property
    def sections(self) -> list[str | None]:
        return [a["id"] for a in self.named("section")]

    @property
    def titles(self) -> list[str]:
        """The titles of the charts, in their order."""
        labels = [str(a["aria-label"]) for a in self.named("div", "chart")]
        return [label.removeprefix("Chart: ").partition(". ")[0] for label in labels]

    @property
    def steps(self) -> dict[str, Any]:
        """What the only slider needs."""
        (found,) = (value for name, value in self.data.items() if name.startswith("steps"))
        return found

    def shows(self, chart: Any) -> bool:
        """Whether a chart is on the page: its drawing, words, what can be read off, and table."""
        drawing = render(chart, standalone=False)
        words = " ".join(f"{chart.title} {chart.read}".split())
        numbers = [[x, y, said] for x, y, said in drawing.points]
        return drawing.svg in self.source and words in self.text and numbers in self.data.values()


def read(path: Path) -> Reader:
    """Read a page that is well-formed: every element is closed, none is named twice."""
    reader = Reader()
    reader.source = path.read_text(encoding="utf-8")
    reader.feed(reader.source)
    reader.close()
    assert reader.open == []
    names = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(set(names)) == len(names)
    return reader
