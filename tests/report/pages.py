"""Read a page as a browser would: elements, attributes, text, and the data in its scripts."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

VOID = {"meta", "link", "input", "path", "circle", "img", "br"}


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.data: dict[str, Any] = {}
        self.texts: list[str] = []
        self.scripts: list[str] = []

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
        elif inside != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def read(path: Path) -> Reader:
    """Read a page; the library that draws is long, the same in all, and left out."""
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8").replace(get_plotlyjs(), "plotly"))
    reader.close()
    assert reader.open == []
    return reader
