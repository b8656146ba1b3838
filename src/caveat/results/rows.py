"""The rows of evaluations, comparisons and audits: one number each, with its interval."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .judgments import Contrast, Judgment, MeasurePart, Pairing
from .words import VERDICTS

NAN = float("nan")
GROUPED = "adaptive"
"""The scale of rows of one group, or between two."""

_STATISTICS = {Contrast.NONE: "value", Contrast.DIFFERENCE: "gap", Contrast.RATIO: "ratio"}
_KINDS = {**_STATISTICS, Contrast.NONE: "group", Contrast.DIFFERENCE: "difference"}


class Key(NamedTuple):
    """The fields that identify a row of all samples or of a single group."""

    metric: str
    option: str
    target: str
    scale: str
    attribute: str
    category: str

    @property
    def overall(self) -> bool:
        """Whether it is for all samples."""
        return self.scale != GROUPED


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number with its interval, and what it measures.

    Attributes
    ----------
    metric : str
    option : str
        The option that distinguishes rows of one metric: ``coverage=0.9545``, ``level=0.1``,
        ``class=ill``.
    scale : {"global", "local", "adaptive"}
        Over all samples; over all, by bins of predicted uncertainty; for one group.
    group : str
        Empty for all; ``sex=f`` for a group; ``sex: gap`` and ``sex: ratio`` between groups.
    target : str
        Empty for classification.
    value, low, high : float
        The value and its confidence interval; NaN if there is none.
    estimate : float
        The value without the bias of binned errors, which chance alone makes positive.
    direction : {"lower", "higher", "target"}
    samples : int
    note : str
        Conversions, reasons why a number is undefined, and how the interval was made.
    attribute, category, reference : str
        The attribute and the value of a group; for two groups the value of the worse one, and the
        value of the other. Empty for all samples.
    statistic : {"value", "gap", "ratio"}
    one_class : str or None
        The class that is measured against the rest.
    coverage, quantile : float or None
        The nominal coverage of an interval; the level of a quantile.
    conversion : str
        How the inputs of the metric were derived, if the prediction does not have them.
    """

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "option", "scale", "group", "target", "value", "low", "high", "estimate",
        "direction", "samples", "note", "attribute", "category", "reference", "statistic",
        "one_class", "coverage", "quantile", "conversion",
    )  # fmt: skip

    metric: str
    value: float
    samples: int
    low: float = NAN
    high: float = NAN
    estimate: float = NAN
    scale: str = "global"
    direction: str = "lower"
    attribute: str = ""
    category: str = ""
    reference: str = ""
    contrast: Contrast = Contrast.NONE
    target: str = ""
    one_class: str | None = None
    coverage: float | None = None
    quantile: float | None = None
    conversion: str = ""
    note: str = ""

    @property
    def overall(self) -> bool:
        """Whether it is for all samples."""
        return self.scale != GROUPED

    @property
    def option(self) -> str:
        """The option that distinguishes rows of one metric, in words."""
        return option_words(self.one_class, self.coverage, self.quantile)

    @property
    def promised(self) -> float:
        """The nominal coverage of an interval, or the level of a quantile."""
        known = self.quantile if self.coverage is None else self.coverage
        return NAN if known is None else known

    @property
    def statistic(self) -> str:
        """Whether it is the value of a group, or a gap or ratio between two."""
        return _STATISTICS[self.contrast]

    @property
    def group(self) -> str:
        """The samples, in words."""
        if self.overall:
            return ""
        between = self.contrast is not Contrast.NONE
        return f"{self.attribute}: {self.statistic}" if between else self.group_name

    @property
    def group_name(self) -> str:
        """The name of the group in a sentence."""
        return f"{self.attribute}={self.category}"

    @property
    def place(self) -> tuple[str, str]:
        """The attribute and the value of the group."""
        return self.attribute, self.category

    @property
    def key(self) -> Key:
        """The fields that identify it among rows of all samples or single groups."""
        return Key(self.metric, self.option, self.target, self.scale, self.attribute, self.category)


def option_words(one_class: str | None, coverage: float | None, quantile: float | None) -> str:
    """Return the option that distinguishes rows of one metric, in words."""
    if one_class is not None:
        return f"class={one_class}"
    if coverage is not None:
        return f"coverage={coverage:g}"
    return "" if quantile is None else f"level={quantile:g}"


@dataclass(frozen=True, kw_only=True)
class ComparedRow(Row):
    """The value of one technique by one metric, and its rank.

    Attributes
    ----------
    technique, metric, option, group, target : str
    value, low, high : float
    rank : int
        1 is best; 0 if the metric has no better or worse.
    best : bool
    tied : bool
        Whether the paired difference from the best may be 0, allowing for all pairs.
    """

    columns: ClassVar[tuple[str, ...]] = (
        "technique", "metric", "option", "group", "target", "value", "low", "high", "rank", "best",
        "tied", "scale", "estimate", "direction", "samples", "note", "attribute", "category",
        "one_class", "coverage", "quantile",
    )  # fmt: skip

    technique: str
    rank: int
    best: bool
    tied: bool


@dataclass(frozen=True, kw_only=True)
class FairnessRow(Row):
    r"""One number of an audit: for a group, or between two.

    Attributes
    ----------
    attribute : str
    kind : {"group", "ratio", "difference"}
    measure : str
    statistic : str
        "mean" or "quantile=0.95" for an uncertainty; "y=0", "y=1" or "farther from 1" for equalized
        odds; otherwise empty.
    label : str
        The class that is compared with the rest, or the target; empty for all.
    group : str
    reference : str
        The group that ``group`` is compared with; empty in the rows of single groups.
    comparison : {"", "reference", "worst pair"}
    value, low, high : float
        The value and its confidence interval; NaN if there is none. If the data chose the groups
        (or, for "farther from 1", the rate), the interval allows for that choice.
    estimate : float
        The value without the bias of calibration errors, which chance alone makes positive.
    samples : int
        The number of samples in the group, or in the smaller one of two.
    flag : bool or None
        For a ratio F: whether :math:`|F - 1|` is above the threshold.
    symmetric_flag : bool or None
        For a ratio F: whether :math:`|\log F|` is above :math:`-\log(1 - \text{threshold})`.
    verdict : str
        For a ratio: "a gap beyond the threshold", "a gap, which may or may not exceed the
        threshold", "a gap, but within the threshold", "within the threshold" or "the data cannot
        show whether there is a gap beyond the threshold"; for a difference "different" or "the data
        cannot show whether there is a difference"; for either "undefined", with the reason, or "not
        judged without intervals".
    verdict_low, verdict_high : float
        The interval behind the verdict, which holds for all comparisons of the attribute at once.
    note : str
    judgment : str
        The verdict in a word: "beyond", "gap", "small", "within", "unclear", "different", "equal",
        "not judged" or "undefined"; empty in the rows of single groups.
    one_class : str or None
        The class, if ``label`` is one.
    target : str
        The target, if ``label`` is one.
    quantile : float or None
        The level of the quantile of an uncertainty.
    """

    columns: ClassVar[tuple[str, ...]] = (
        "attribute", "kind", "measure", "statistic", "label", "group", "reference", "comparison",
        "value", "low", "high", "estimate", "samples", "flag", "symmetric_flag", "verdict",
        "verdict_low", "verdict_high", "note", "judgment", "one_class", "target", "quantile",
    )  # fmt: skip

    scale: str = GROUPED
    combined: bool = False
    """Whether the attribute combines others, whose names are in its values."""
    part: MeasurePart = MeasurePart.WHOLE
    comparison: Pairing = Pairing.NONE
    flag: bool | None = None
    symmetric_flag: bool | None = None
    judgment: Judgment = Judgment.NONE
    why: str = ""
    """Why it is undefined."""
    verdict_low: float = NAN
    verdict_high: float = NAN

    @property
    def measure(self) -> str:
        """The name of the measure."""
        return self.metric

    @property
    def kind(self) -> str:
        """Whether it is for one group, or a ratio or difference of two."""
        return _KINDS[self.contrast]

    @property
    def statistic(self) -> str:
        """The part of the measure, in words."""
        if self.part is MeasurePart.QUANTILE:
            return f"quantile={self.quantile:g}"
        if self.part is MeasurePart.FARTHER:
            return f"farther from {1 if self.contrast is Contrast.RATIO else 0}"
        return self.part.value

    @property
    def label(self) -> str:
        """The class that is compared with the rest, or the target."""
        return self.one_class or self.target

    @property
    def group(self) -> str:
        """The value of the attribute."""
        return self.category

    @property
    def group_name(self) -> str:
        """The name of the group in a sentence."""
        return called(self.attribute, self.category, self.combined)

    @property
    def reference_name(self) -> str:
        """The name of the reference group in a sentence."""
        return called(self.attribute, self.reference, self.combined)

    @property
    def verdict(self) -> str:
        """The judgment in words."""
        return f"undefined ({self.why})" if self.why else VERDICTS[self.judgment]


def called(attribute: str, category: str, combined: bool) -> str:
    """Return the name of a group, ``sex=f``; a combination has names of attributes in it."""
    return category if combined else f"{attribute}={category}"
