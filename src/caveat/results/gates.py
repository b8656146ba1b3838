"""Conditions on rows that stop a pipeline: ``ece.high > 0.05``."""

import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError
from ..metrics import METRICS
from .judgments import Contrast
from .rows import Row

if TYPE_CHECKING:
    from .tables import RowTable

_COMPARISONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_FIELDS = ("value", "low", "high", "estimate")
_CONTRASTS = {"gap": Contrast.DIFFERENCE, "ratio": Contrast.RATIO, "": Contrast.NONE}
_CONDITION = re.compile(
    r"\s*(?:(?P<contrast>gap|ratio)\s+)?(?P<metric>\w+)(?:\.(?P<field>\w+))?"
    r"(?:\s+in\s+(?P<attribute>[^<>]+?)(?:\s*=\s*(?P<category>[^<>]+?))?)?"
    r"\s*(?P<comparison>[<>]=?)\s*(?P<limit>[-+.\deE]+)\s*"
)


@dataclass(frozen=True)
class Gate:
    """A condition under which a check fails.

    Attributes
    ----------
    text : str
        The condition as it was written.
    metric : str
    field : {"value", "low", "high", "estimate"}
    contrast : Contrast
        Whether the gap or the ratio between groups is meant, or the value.
    attribute, category : str
        The groups that are meant; empty for all samples, or for all groups of the attribute.
    comparison : {">", ">=", "<", "<="}
    limit : float
    """

    text: str
    metric: str
    field: str
    contrast: Contrast
    attribute: str
    category: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> "Gate":
        """Return the condition that a text writes.

        Parameters
        ----------
        text : str
            ``METRIC[.FIELD] [in ATTRIBUTE[=GROUP]] COMPARISON NUMBER``, with "gap" or "ratio"
            before it for two groups: "ece.high > 0.05", "accuracy.low in sex=f < 0.8",
            "gap accuracy.low in sex > 0.1".

        Returns
        -------
        Gate

        Examples
        --------
        >>> from caveat.results.gates import Gate
        >>> Gate.parse("gap accuracy.low in sex > 0.1").attribute
        'sex'
        """
        match = _CONDITION.fullmatch(text) if isinstance(text, str) else None
        parts = (
            {} if match is None else {name: part or "" for name, part in match.groupdict().items()}
        )
        try:
            limit = float(parts["limit"])
        except (KeyError, ValueError):
            raise OptionError(
                f"a condition reads like 'ece.high > 0.05', 'accuracy.low in sex=f < 0.8' or 'gap "
                f"accuracy.low in sex > 0.1'; got {text!r}"
            ) from None
        field = parts["field"] or "value"
        if field not in _FIELDS:
            raise OptionError(f"a row has {', '.join(_FIELDS)}; got {field!r} in {text!r}")
        contrast = _CONTRASTS[parts["contrast"]]
        if contrast is not Contrast.NONE and (not parts["attribute"] or parts["category"]):
            raise OptionError(
                f"a {parts['contrast']} is between the groups of one attribute; got {text!r}"
            )
        return cls(
            text.strip(), METRICS[parts["metric"]].name, field, contrast, parts["attribute"],
            parts["category"], parts["comparison"], limit,
        )  # fmt: skip

    def _means(self, row: Row) -> bool:
        if (row.metric, row.contrast) != (self.metric, self.contrast):
            return False
        if not self.attribute:
            return row.overall
        return row.attribute == self.attribute and self.category in ("", row.category)

    def failing(self, rows: "RowTable[Any] | Iterable[Row]") -> list[str]:
        """Return a sentence for each row that meets the condition; none lets the check pass.

        A number that is not there meets every condition: what was not measured cannot pass.

        Parameters
        ----------
        rows : Evaluation, or rows of one

        Returns
        -------
        list of str
        """
        meant = [row for row in getattr(rows, "rows", rows) if self._means(row)]
        if not meant:
            raise OptionError(
                f"no row is meant by {self.text!r}; see the metrics and groups in the table"
            )
        sentences = []
        for row in meant:
            number = getattr(row, self.field)
            if np.isnan(number) or _COMPARISONS[self.comparison](number, self.limit):
                said = "is not known" if np.isnan(number) else f"is {number:.6g}"
                where = " ".join(part for part in (row.option, row.target, row.group) if part)
                name = f"{self.metric}.{self.field}" + (f" ({where})" if where else "")
                sentences.append(f"{name} {said}; the check fails if {self.text}")
        return sentences
