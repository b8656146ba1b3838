"""Conclusions of a paper as data: tests of the tidy table that a data file can name.

A claim of a data file has a ``name``, a ``source``, a ``text``, the rows it is about (``where``)
and a test. With ``each``, it is stated for every value of that column; the text may name the value
in braces. The tests are

``above``, ``below``, ``at most``
    Whether each number is above, below or at most a limit.
``larger``
    Pairs: whether the first of each pair is larger than the second, for all pairs. A side is a
    value of the column ``across`` (several columns: a list of values), or ``{"gap": [a, b]}``, the
    absolute difference of two.
``one above``
    Whether at least one of the numbers side by side (``across``) is above a limit.
``smallest``
    Whether this one of the numbers side by side is the smallest; decided if all are there.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .summary import NAN, above, all_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from .study import Said, Table


def stated(
    claim: Mapping[str, Any], table: "Table", words: Callable[[str], str]
) -> "Iterator[Said]":
    """Yield where a claim of a data file is printed, its words, and its outcome in each run."""
    if table.dataset not in claim.get("datasets", [table.dataset]):
        return
    each, where = claim.get("each"), claim.get("where", {})
    values = table.rows(**where)[each].unique() if each else [""]
    for value in values:
        rows = where | ({each: value} if each else {})
        outcomes = _outcomes(claim, table, rows)
        if len(outcomes):
            source = value if each == "source" else claim["source"]
            text = claim["text"].format(**{each: words(value)}) if each else claim["text"]
            yield source, text, outcomes


def _outcomes(claim: Mapping[str, Any], table: "Table", where: Mapping[str, Any]) -> Any:
    if "across" not in claim:
        numbers = table.rows(**where)["value"].to_numpy()
        if "above" in claim:
            return above(numbers, claim["above"])
        if "below" in claim:
            return above(claim["below"], numbers)
        return 1 - above(numbers, claim["at most"])
    wide = table.wide(claim["across"], **where)
    if "one above" in claim:
        return above(wide.max(axis=1), claim["one above"])
    if "smallest" in claim:
        one, several = tuple(claim["smallest"]), wide.notna().to_numpy().all(axis=1)
        if one not in wide or wide.shape[1] != claim["of"]:
            return np.array([])
        return np.where(several, (wide.idxmin(axis=1) == one), NAN)
    try:
        return all_of([above(_side(wide, a), _side(wide, b)) for a, b in claim["larger"]])
    except KeyError:  # one of them was not measured
        return np.array([])


def _side(wide: "DataFrame", side: Any) -> Any:
    if isinstance(side, dict):
        one, other = (_side(wide, part) for part in side["gap"])
        return np.abs(one - other)
    return wide[tuple(side) if isinstance(side, list) else side].to_numpy()
