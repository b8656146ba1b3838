"""What `audit` returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np

from ..results.judgments import Pairing
from ..results.rows import FairnessRow
from ..results.tables import (
    Drawable,
    RowTable,
    ShownTable,
    html_tables,
    interval_words,
    number,
    terminal_table,
)
from ._consistency_result import Consistency
from ._verdict import AuditVerdict, read
from .measures import MEASURES

_MOST_LINES = 40
_MOST_GROUPS = 6


@dataclass(frozen=True, repr=False, eq=False)
class FairnessAudit(Drawable, RowTable[FairnessRow]):
    """What `caveat.audit` returns: a tidy table of groups and of what lies between them.

    Attributes
    ----------
    rows : tuple of FairnessRow
        One number each; `to_frame` and `to_json` give them as a table.
    confidence : float
        The confidence level of the intervals.
    threshold : float
        A ratio is within it from ``1 - threshold`` to ``1 / (1 - threshold)``.
    samples : int
    description : str
        What was audited.
    decomposition : str
        How the uncertainty was split.
    privileged : dict of str to str
        The privileged group of each attribute that has one.
    consistency : Consistency or None
        Individual fairness, where features were given: what `caveat.fairness.consistency` returns.

    Examples
    --------
    >>> import caveat
    >>> from caveat.fairness import audit
    >>> prediction = caveat.Categorical.from_binary([0.9, 0.8, 0.3, 0.6])
    >>> result = audit(prediction, [1, 1, 0, 1], ["f", "f", "m", "m"], resamples=0)
    >>> (row,) = result.select(measure="statistical_parity", kind="ratio")
    >>> row.group, row.reference, row.value, row.flag
    ('m', 'f', 0.5, True)
    """

    row_type: ClassVar[Any] = FairnessRow
    rows: tuple[FairnessRow, ...]
    confidence: float
    threshold: float
    samples: int
    description: str
    decomposition: str
    privileged: Mapping[str, str]
    consistency: Consistency | None = None

    @property
    def fair_band(self) -> tuple[float, float]:
        """The ratios between which groups count as treated alike."""
        return 1 - self.threshold, 1 / (1 - self.threshold)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes, in their order."""
        return tuple(dict.fromkeys(row.attribute for row in self.rows))

    def groups(self, attribute: str) -> tuple[str, ...]:
        """Return the values of an attribute, in their order."""
        rows = self.matching(attribute=attribute, kind="group")
        return tuple(dict.fromkeys(row.group for row in rows))

    def comparison(self, attribute: str) -> Pairing:
        """Return which comparison of an attribute to look at first.

        That with the privileged group if there is one; otherwise, of more than two groups, the
        worst pair.
        """
        asked = str(attribute) in self.privileged or len(self.groups(attribute)) == 2
        return Pairing.REFERENCE if asked else Pairing.WORST

    def verdict(self) -> AuditVerdict:
        """Say in plain words what was found: of each attribute, and of individuals."""
        return read(self)

    def __repr__(self) -> str:
        parts = [terminal_table(*table) for table in self._tables()]
        return "\n".join([*parts, str(self.verdict()), self._rest()])

    def _repr_html_(self) -> str:
        parts = [html_tables(self._tables()), self.verdict()._repr_html_()]
        return "".join([*parts, f"<p>{escape(self._rest())}</p>"])

    def _rest(self) -> str:
        return f"{len(self)} rows: to_frame() has all of them\n"

    def _tables(self) -> list[ShownTable]:
        tables = []
        for attribute in self.attributes:
            tables.append(self._table_of_groups(attribute))
            tables.append(self._table_of_ratios(attribute))
        return tables

    def _table_of_groups(self, attribute: str) -> ShownTable:
        """A line for each rate and a column for each group; all groups are in the frame."""
        groups = self.groups(attribute)
        chosen = groups[:_MOST_GROUPS]
        lines: dict[tuple[str, str], dict[str, FairnessRow]] = {}
        for row in self.matching(attribute=attribute, kind="group"):
            if row.measure != "samples" and row.quantile is None:
                lines.setdefault((row.measure, row.label), {})[row.group] = row
        sizes = {row.group: row.samples for row in self.matching(measure="samples")}
        body = [["samples", *(f"{sizes[group]:,}" for group in chosen)]]
        for (measure, label), result in lines.items():
            name = " ".join(filter(None, (measure.replace("_", " "), label)))
            body.append([name, *(_cell(result.get(group)) for group in chosen)])
        more = f" (the first {len(chosen)} of {len(groups)} groups)" if chosen != groups else ""
        return f"{self.description}{more}", [attribute, *chosen], body[:_MOST_LINES]

    def _table_of_ratios(self, attribute: str) -> ShownTable:
        from .shown import farthest

        comparison = self.comparison(attribute)
        every = self.matching(attribute=attribute, kind="ratio", comparison=comparison)
        rows = farthest(self, every)
        header = ["measure", "", "ratio", "interval", "verdict"]
        body = [
            [
                " ".join(filter(None, (MEASURES[row.measure].symbol, row.statistic, row.label))),
                f"{row.group} / {row.reference}",
                number(row.value),
                interval_words(row.verdict_low, row.verdict_high),
                row.verdict,
            ]
            for row in rows
        ]
        pairs = "worst pairs of " if comparison is Pairing.WORST else ""
        sure = f"{self.confidence:.0%} intervals for all comparisons, threshold {self.threshold:g}"
        less = f"the {len(rows)} of {len(every)} ratios farthest from 1"
        more = (
            f" ({less}; the others are closer to 1 or undefined)" if len(rows) < len(every) else ""
        )
        return f"{pairs}{attribute}, {sure}{more}", header, body


def _cell(row: FairnessRow | None) -> str:
    """Return the value of a group and its interval."""
    if row is None or np.isnan(row.value):
        return ""
    ends = interval_words(row.low, row.high)
    return number(row.value) + (f" ({ends})" if ends else "")
