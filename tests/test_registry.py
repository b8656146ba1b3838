from dataclasses import dataclass

import pytest

from caveat._registry import Registry
from caveat.exceptions import UnknownNameError


@dataclass
class Entry:
    name: str
    aliases: tuple[str, ...] = ()


def test_lookups():
    table = Registry("thing", [Entry("first", ("one", "both")), Entry("second", ("both",))])
    assert list(table) == ["first", "second"]
    assert len(table) == 2
    assert table["one"].name == "first"
    assert "second" in table
    assert "third" not in table
    assert table.get("third") is None
    assert repr(table) == "<2 things: first, second>"
    table.kind = "study"
    assert repr(table) == "<2 studies: first, second>"
    table.kind = "thing"
    with pytest.raises(
        UnknownNameError, match="'both' is short for first and for second; use a full"
    ):
        table["both"]
    with pytest.raises(
        UnknownNameError, match=r"^unknown thing 'frist'; did you mean 'first'\? known"
    ):
        table["frist"]
    with pytest.raises(UnknownNameError, match="unknown thing 'xyz'; known are first, second"):
        table["xyz"]


@pytest.mark.parametrize(
    "entries", [[Entry("a"), Entry("a")], [Entry("a"), Entry("b", ("a",))]], ids=["name", "alias"]
)
def test_a_full_name_stands_for_one(entries):
    with pytest.raises(UnknownNameError, match="stands for two"):
        Registry("thing", entries)
