"""What a paper prints: its tables as data, and what each number was before it was rounded."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np


class Printed(NamedTuple):
    """A printed number, and the range that it was rounded from."""

    value: float
    low: float
    high: float


def printed_number(text: str, exact: bool = False) -> Printed:
    """Return a printed number: "0.95", rounded or cut off, may have been 0.945 to 0.96."""
    cleaned = text.replace(",", "")  # of thousands
    value = float(cleaned)
    digits, _, power = cleaned.lower().partition("e")
    decimals = len(digits.partition(".")[2])
    unit = 0.0 if exact else 10.0 ** (int(power or 0) - decimals)
    return Printed(value, value - unit / 2, value + unit)


def fits(printed: Printed, low: float, high: float) -> bool | None:
    """Whether a printed number, before rounding, can lie in a range; None without a range."""
    if np.isnan(low):
        return None
    # A printed end and ours are the same number up to the rounding of decimals.
    slack = 1e-9 * max(abs(printed.low), abs(printed.high))
    return bool(printed.high >= low - slack and printed.low <= high + slack)


@dataclass(frozen=True, eq=False)
class Paper:
    """A published paper as a data file has it.

    Attributes
    ----------
    title, reference : str
    datasets : mapping of str to mapping
        What a study knows of each data set; ``notes`` are those of that data set.
    notes : tuple of str
        How the paper was read, for all data sets.
    tables : sequence of mapping
        Printed tables. ``source`` and ``section`` say where a table stands; each line of ``cells``
        begins with the values of the fields named in ``rows``, and has one number for each of
        ``names``, the values of the field ``columns``; ``fixed`` holds for all of them. A number
        may be followed by its spread: "0.778 ± .031".
        An empty text is a number that the paper does not print and the study measures.
    claims : sequence of mapping
        Conclusions of the paper; see `caveat.studies.claims`.
    charts : sequence of mapping
        Which charts there are; see `caveat.studies._charts`.
    titles : mapping of str to str
        What each table and figure shows.
    words : mapping of str to str
        Names for a reader; "table 5: error" is the name of "error" in table 5.
    notes_where : mapping of str to str
        Notes that only some runs need.

    Examples
    --------
    >>> from caveat.studies import Paper
    >>> Paper.read("fairness").datasets["sd1"]["title"]
    'SD1: group 0 lies close to the boundary between the classes'
    """

    title: str
    reference: str
    datasets: Mapping[str, Mapping[str, Any]]
    notes: tuple[str, ...] = ()
    tables: tuple[Mapping[str, Any], ...] = ()
    claims: tuple[Mapping[str, Any], ...] = ()
    charts: tuple[Mapping[str, Any], ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    notes_where: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str) -> "Paper":
        """Return the paper from the data file of this name in the package."""
        place = files(__package__).joinpath("data", f"{name}.json")
        return cls(**json.loads(place.read_text(encoding="utf-8")))

    def word(self, name: str, source: str = "") -> str:
        """Return a name for a reader.

        Parameters
        ----------
        name : str
        source : str, default=""
            The table or figure that shows it.
        """
        return self.words.get(f"{source}: {name}") or self.words.get(name, name.replace("_", " "))

    def cells(self, dataset: str) -> Iterator[tuple[dict[str, str], str, str]]:
        """Yield each printed number of a data set: its fields, its text and that of its spread."""
        for table in self.tables:
            count = len(table["rows"])
            for line in table["cells"]:
                fields = {"source": table["source"], **table.get("fixed", {})}
                fields |= dict(zip(table["rows"], line[:count], strict=True))
                if fields.pop("dataset", dataset) not in (dataset, "any"):
                    continue
                for name, cell in zip(table["names"], line[count:], strict=True):
                    text, _, spread = cell.partition(" ± ")
                    yield {**fields, table["columns"]: name}, text, spread
