"""Conditions on rows that stop a pipeline: ``ece.high > 0.05``."""

import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..exceptions import OptionError
from ..metrics import METRICS
from .judgments import Contrast
from .rows import Row

if TYPE_CHECKING:
    from .tables import RowTable

_COMPARISONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
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
        Whether the gap or the ratio between groups is meant, or the value. A gap is a size, 0.2 for
        accuracies of 0.7 and 0.9; a ratio is that of the worst to the best, below 1 for scores.
    attribute, category : str
        The groups that are meant; empty for all samples, or for all groups of the attribute.
    comparison : {">", ">=", "<", "<="}
    limit : float
    """

    known: ClassVar[tuple[str, ...]] = ("value", "low", "high", "estimate")
    """The fields of a row."""
    usual: ClassVar[str] = "value"
    """The field that is meant without one."""
    of: ClassVar[str] = "row"
    examples: ClassVar[str] = (
        "'ece.high > 0.05', 'accuracy.low in sex=f < 0.8' or 'gap accuracy.low in sex > 0.1'"
    )
    contrasts: ClassVar[bool] = True
    """Whether gaps and ratios of groups can be meant."""

    text: str
    metric: str
    field: str
    contrast: Contrast
    attribute: str
    category: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Self:
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
        parts = {} if match is None else {k: part or "" for k, part in match.groupdict().items()}
        try:
            limit = float("" if parts["contrast"] and not cls.contrasts else parts["limit"])
        except (KeyError, ValueError):
            raise OptionError(f"a condition reads like {cls.examples}; got {text!r}") from None
        field = parts["field"] or cls.usual
        if field not in cls.known:
            raise OptionError(f"a {cls.of} has {', '.join(cls.known)}; got {field!r} in {text!r}")
        contrast = _CONTRASTS[parts["contrast"]]
        if contrast is not Contrast.NONE and (not parts["attribute"] or parts["category"]):
            raise OptionError(
                f"a {parts['contrast']} is between the groups of one attribute; got {text!r}"
            )
        if contrast is Contrast.DIFFERENCE:
            _check_size(parts["comparison"], limit, text)
        return cls(
            text.strip(), cls._measured(parts["metric"]), field, contrast, parts["attribute"],
            parts["category"], parts["comparison"], limit,
        )  # fmt: skip

    @classmethod
    def _measured(cls, name: str) -> str:
        """Return the full name of what is measured."""
        return METRICS[name].name

    def _means(self, row: Row) -> bool:
        if (row.metric, row.contrast) != (self.metric, self.contrast):
            return False
        if not self.attribute:
            return row.overall
        return row.attribute == self.attribute and self.category in ("", row.category)

    def _named(self, row: Any) -> tuple[str, ...]:
        """Return what is measured, and the parts of the prediction that it is of."""
        return self.metric, row.option, row.target, row.group

    def _advice(self, rows: list[Any]) -> str:
        return "see the metrics and groups in the table"

    def failing(self, rows: "RowTable[Any] | Iterable[Any]") -> list[str]:
        """Return a sentence for each row that meets the condition; none lets the check pass.

        A number that is not there meets every condition: what was not measured cannot pass.

        Parameters
        ----------
        rows : Evaluation, or rows of one

        Returns
        -------
        list of str
        """
        known = [*getattr(rows, "rows", rows)]
        meant = [row for row in known if self._means(row)]
        if not meant:
            raise OptionError(f"no row is meant by {self.text!r}; {self._advice(known)}")
        sentences = []
        for row in meant:
            gap = self.contrast is Contrast.DIFFERENCE
            number = _size(row, self.field) if gap else getattr(row, self.field)
            if np.isnan(number) or _COMPARISONS[self.comparison](number, self.limit):
                said = "is not known" if np.isnan(number) else f"is {number:.6g}"
                said += " in size" if gap and row.value < 0 else ""
                what, *parts = self._named(row)
                where = " ".join(filter(None, parts))
                name = f"{what}.{self.field}" + (f" ({where})" if where else "")
                sentences.append(f"{name} {said}; the check fails if {self.text}")
        return sentences


def _check_size(comparison: str, limit: float, text: str) -> None:
    """Raise if a limit says nothing of a size."""
    if limit < 0 or (limit == 0 and comparison == "<"):
        raise OptionError(
            "a gap in a condition is a size, which is never below 0, for scores and losses alike; "
            f"expected a limit such as in 'gap accuracy.low in sex > 0.1', got {text!r}"
        )


def _size(row: Row, field: str) -> float:
    """Return a field of the size of a difference; if both signs are possible, it may be 0."""
    ends = abs(row.low), abs(row.high)
    if field == "low":
        return 0.0 if row.low < 0 < row.high else float(np.minimum(*ends))
    return float(np.maximum(*ends)) if field == "high" else abs(float(getattr(row, field)))
