"""What `audit` returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

from ..results.judgments import Pairing
from ..results.rows import FairnessRow
from ..results.tables import Drawable, RowTable, ShownTable, html_tables, terminal_table
from ._consistency_result import Consistency
from ._verdict import AuditVerdict, read
from .shown import group_table, ratio_table


@dataclass(frozen=True, repr=False, eq=False)
class FairnessAudit(Drawable, RowTable[FairnessRow]):
    """What `caveat.audit` returns: a tidy table of groups and of comparisons between them.

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
        The prediction in one line.
    decomposition : str
        The method that split the uncertainty.
    privileged : dict of str to str
        The privileged group of each attribute that has one.
    consistency : Consistency or None
        The result of `caveat.fairness.consistency`, if features were given.

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
        """The smallest and the largest ratio within the threshold."""
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
        """Return the comparison of an attribute to look at first.

        With a privileged group, or two groups, it is "reference"; otherwise "worst pair".
        """
        asked = str(attribute) in self.privileged or len(self.groups(attribute)) == 2
        return Pairing.REFERENCE if asked else Pairing.WORST

    def verdict(self) -> AuditVerdict:
        """Return plain sentences: what the audit shows of each attribute, and of individuals."""
        return read(self)

    def __repr__(self) -> str:
        tables, left = self._tables()
        parts = [terminal_table(*table) for table in tables]
        return "\n".join([*parts, str(self.verdict()), f"{left}\n"])

    def _repr_html_(self) -> str:
        tables, left = self._tables()
        return html_tables(tables) + self.verdict()._repr_html_() + f"<p>{escape(left)}</p>"

    def _tables(self) -> tuple[list[ShownTable], str]:
        """Return the tables of each attribute, and how much more there is."""
        shown = [
            make(self, attribute)
            for attribute in self.attributes
            for make in (group_table, ratio_table)
        ]
        left = [words.rstrip(",") for _, more in shown for words in more]
        words = "; ".join([f"{len(self)} rows", *left])
        return [table for table, _ in shown], f"{words}: to_frame() has all of them"
