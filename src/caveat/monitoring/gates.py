"""Conditions on changes that stop a pipeline: ``ece.change > 0.02``."""

import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..exceptions import OptionError
from ..metrics import METRICS
from .result import DriftRow

__all__ = ["DriftGate"]

_COMPARISONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_FIELDS = (
    "change", "change_low", "change_high", "effect", "effect_low", "effect_high", "reference",
    "new", "p_value", "adjusted", "standardized",
)  # fmt: skip
_CONDITION = re.compile(
    r"\s*(?P<quantity>\w+)(?:\.(?P<field>\w+))?"
    r"(?:\s+in\s+(?P<attribute>[^<>]+?)(?:\s*=\s*(?P<category>[^<>]+?))?)?"
    r"\s*(?P<comparison>[<>]=?)\s*(?P<limit>[-+.\deE]+)\s*"
)


@dataclass(frozen=True)
class DriftGate:
    """A condition under which a check fails.

    Attributes
    ----------
    text : str
    quantity, field : str
    attribute, category : str
        The groups that are meant; empty for all samples, or for all groups of the attribute.
    comparison : {">", ">=", "<", "<="}
    limit : float
    """

    text: str
    quantity: str
    field: str
    attribute: str
    category: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> "DriftGate":
        """Return the condition that a text writes.

        Parameters
        ----------
        text : str
            ``QUANTITY[.FIELD] [in ATTRIBUTE[=GROUP]] COMPARISON NUMBER``: "ece.change > 0.02",
            "probability.effect in sex=f > 0.2"; the field is "effect" if there is none.

        Examples
        --------
        >>> DriftGate.parse("epistemic > 0.2").field
        'effect'
        """
        match = _CONDITION.fullmatch(text) if isinstance(text, str) else None
        parts = {} if match is None else {k: part or "" for k, part in match.groupdict().items()}
        try:
            limit = float(parts["limit"])
        except (KeyError, ValueError):
            raise OptionError(
                "a condition reads like 'ece.change > 0.02' or 'probability.effect in sex=f > "
                f"0.2'; got {text!r}"
            ) from None
        field = parts["field"] or "effect"
        if field not in _FIELDS:
            raise OptionError(f"a change has {', '.join(_FIELDS)}; got {field!r} in {text!r}")
        return cls(
            text.strip(), parts["quantity"], field, parts["attribute"], parts["category"],
            parts["comparison"], limit,
        )  # fmt: skip

    def failing(self, rows: Iterable[DriftRow]) -> list[str]:
        """Return a sentence for each row that meets the condition; none lets the check pass.

        A number that is not there meets every condition: what was not measured cannot pass.
        """
        known = [*rows]
        aliases = {a for entry in METRICS.values() for a in (entry.name, *entry.aliases)}
        names = {self.quantity}
        if self.quantity in aliases:
            names |= {entry.name for entry in METRICS.find(self.quantity)}
        meant = [
            row
            for row in known
            if row.quantity.partition(" ")[0] in names
            and row.attribute == self.attribute
            and self.category in ("", row.category)
        ]
        if not meant:
            there = dict.fromkeys(row.quantity.partition(" ")[0] for row in known)
            raise OptionError(f"no row is meant by {self.text!r}; there are {', '.join(there)}")
        sentences = []
        for row in meant:
            number = getattr(row, self.field)
            if np.isnan(number) or _COMPARISONS[self.comparison](number, self.limit):
                said = "is not known" if np.isnan(number) else f"is {number:.6g}"
                where = " ".join(part for part in (row.target, row.group) if part)
                name = f"{row.quantity}.{self.field}" + (f" ({where})" if where else "")
                sentences.append(f"{name} {said}; the check fails if {self.text}")
        return sentences
