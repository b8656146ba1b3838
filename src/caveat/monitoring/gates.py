"""Conditions on changes that stop a pipeline: ``ece.change > 0.02``."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ..metrics import METRICS
from ..results.gates import Gate

__all__ = ["DriftGate"]


@dataclass(frozen=True)
class DriftGate(Gate):
    """A condition on a change under which a check fails; ``metric`` is any quantity.

    ``QUANTITY[.FIELD] [in ATTRIBUTE[=GROUP]] COMPARISON NUMBER``: "ece.change > 0.02",
    "probability.effect in sex=f > 0.2"; the field is "effect" if there is none.

    Examples
    --------
    >>> DriftGate.parse("epistemic > 0.2").field
    'effect'
    """

    known: ClassVar[tuple[str, ...]] = (
        "change", "change_low", "change_high", "effect", "effect_low", "effect_high", "reference",
        "new", "p_value", "adjusted", "standardized",
    )  # fmt: skip
    usual: ClassVar[str] = "effect"
    of: ClassVar[str] = "change"
    examples: ClassVar[str] = "'ece.change > 0.02' or 'probability.effect in sex=f > 0.2'"
    contrasts: ClassVar[bool] = False

    @classmethod
    def _measured(cls, name: str) -> str:
        return name

    def _means(self, row: Any) -> bool:
        aliases = {a for entry in METRICS.values() for a in (entry.name, *entry.aliases)}
        names = {self.metric}
        if self.metric in aliases:
            names |= {entry.name for entry in METRICS.find(self.metric)}
        place = row.attribute == self.attribute and self.category in ("", row.category)
        return place and row.quantity.partition(" ")[0] in names

    def _named(self, row: Any) -> tuple[str, ...]:
        return row.quantity, row.target, row.group

    def _advice(self, rows: list[Any]) -> str:
        there = dict.fromkeys(row.quantity.partition(" ")[0] for row in rows)
        return f"there are {', '.join(there)}"
