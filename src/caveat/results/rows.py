"""One number, what it is of, and how sure it is: the rows of evaluations, comparisons, audits."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .judgments import Contrast, Judgment, Pairing, Part
from .words import VERDICTS

NAN = float("nan")
GROUPED = "adaptive"
"""The scale of rows that are of a group, or between two."""

_STATISTICS = {Contrast.NONE: "value", Contrast.DIFFERENCE: "gap", Contrast.RATIO: "ratio"}
_KINDS = {**_STATISTICS, Contrast.NONE: "group", Contrast.DIFFERENCE: "difference"}


class Key(NamedTuple):
    """What tells the rows of single groups apart, whatever these are called."""

    metric: str
    option: str
    target: str
    scale: str
    attribute: str
    category: str

    @property
    def overall(self) -> bool:
        """Whether it is of all samples."""
        return self.scale != GROUPED


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number, what it is of, and how sure it is.

    Attributes
    ----------
    metric : str
    option : str
        What tells rows of one metric apart, in words: ``coverage=0.9545``, ``level=0.1``,
        ``class=ill``.
    scale : {"global", "local", "adaptive"}
        Over all samples; over all, by bins of predicted uncertainty; for one group.
    group : str
        Empty for all; ``sex=f`` for a group; ``sex: gap`` and ``sex: ratio`` between groups.
    target : str
        Empty for classification.
    value, low, high : float
        The value and its confidence interval; NaN where there is none.
    estimate : float
        For binned errors, which chance alone makes positive: the value freed of that bias.
    direction : {"lower", "higher", "target"}
    samples : int
    note : str
        What was converted, what is undefined, how the interval was made.
    attribute, category, reference : str
        The attribute of a group and its value; between two groups that of the worse one, and the
        one that it is compared with. Empty for all samples.
    statistic : {"value", "gap", "ratio"}
    one_class : str or None
        The class that is asked for against the rest.
    coverage, quantile : float or None
        The coverage that an interval promises; the level of a quantile.
    conversion : str
        How the inputs of the metric were made, where the prediction did not have them.
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
        """Whether it is of all samples."""
        return self.scale != GROUPED

    @property
    def option(self) -> str:
        """What tells rows of one metric apart, in words."""
        return option_words(self.one_class, self.coverage, self.quantile)

    @property
    def promised(self) -> float:
        """What is promised of an interval or a quantile: how often it holds the truth."""
        known = self.quantile if self.coverage is None else self.coverage
        return NAN if known is None else known

    @property
    def statistic(self) -> str:
        """What the number is: the value of a group, or a gap or ratio between two."""
        return _STATISTICS[self.contrast]

    @property
    def group(self) -> str:
        """Which samples, in words."""
        if self.overall:
            return ""
        between = self.contrast is not Contrast.NONE
        return f"{self.attribute}: {self.statistic}" if between else self.group_name

    @property
    def group_name(self) -> str:
        """How the group is called in a sentence."""
        return f"{self.attribute}={self.category}"

    @property
    def place(self) -> tuple[str, str]:
        """Which group it is of, whatever that is called."""
        return self.attribute, self.category

    @property
    def key(self) -> Key:
        """What tells it from other rows of single groups."""
        return Key(self.metric, self.option, self.target, self.scale, self.attribute, self.category)


def option_words(one_class: str | None, coverage: float | None, quantile: float | None) -> str:
    """Return what tells rows of one metric apart, in words."""
    if one_class is not None:
        return f"class={one_class}"
    if coverage is not None:
        return f"coverage={coverage:g}"
    return "" if quantile is None else f"level={quantile:g}"


@dataclass(frozen=True, kw_only=True)
class ComparedRow(Row):
    """One technique by one metric: the row of its evaluation, and how it stands.

    Attributes
    ----------
    technique, metric, option, group, target : str
    value, low, high : float
    rank : int
        1 is best; 0 where the metric has no better or worse.
    best : bool
    tied : bool
        Whether the paired difference to the best may be 0, allowing for the number of techniques.
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
    r"""One number of an audit: of a group, or between two.

    Attributes
    ----------
    attribute : str
    kind : {"group", "ratio", "difference"}
    measure : str
    statistic : str
        "mean" or "quantile=0.95" of an uncertainty; "y=0", "y=1" or "farther from 1" of equalized
        odds; otherwise empty.
    label : str
        The class that is compared with the rest, or the target; empty where all are meant.
    group : str
    reference : str
        The group that ``group`` is compared with; empty in the rows of single groups.
    comparison : {"", "reference", "worst pair"}
    value, low, high : float
        The value and its confidence interval; NaN where there is none. Where the data chose which
        groups (or, of "farther from 1", which rate) are compared, it allows for that choice.
    estimate : float
        For calibration errors, which chance alone makes positive: the value freed of that bias.
    samples : int
        The number of samples in the group; of two groups, in the smaller one.
    flag : bool or None
        For a ratio F: whether :math:`|F - 1|` is above the threshold.
    symmetric_flag : bool or None
        For a ratio F: whether :math:`|\log F|` is above :math:`-\log(1 - \text{threshold})`.
    verdict : str
        For a ratio: "a gap beyond the threshold", "a gap, which may or may not exceed the
        threshold",
        "a gap, but within the threshold", "within the threshold" or "the data cannot show whether
        there is a gap beyond the threshold"; of a difference "different" or "the data cannot show
        whether there is a difference"; of either "undefined", with the reason, or "not judged
        without intervals".
    verdict_low, verdict_high : float
        The interval that the verdict rests on, which holds for all comparisons of the attribute at
        once.
    note : str
    judgment : str
        The verdict in a word: "beyond", "gap", "small", "within", "unclear", "different", "equal",
        "not judged" or "undefined"; empty in the rows of single groups.
    one_class : str or None
    target : str
        What ``label`` is: a class, or a target.
    quantile : float or None
        For an uncertainty: its quantile.
    """

    columns: ClassVar[tuple[str, ...]] = (
        "attribute", "kind", "measure", "statistic", "label", "group", "reference", "comparison",
        "value", "low", "high", "estimate", "samples", "flag", "symmetric_flag", "verdict",
        "verdict_low", "verdict_high", "note", "judgment", "one_class", "target", "quantile",
    )  # fmt: skip

    scale: str = GROUPED
    combined: bool = False
    """Whether the attribute is a combination of others, whose names are in its values."""
    part: Part = Part.WHOLE
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
        """The measure: what a metric is called in audits."""
        return self.metric

    @property
    def kind(self) -> str:
        """Whether it is of one group, or what it is of two."""
        return _KINDS[self.contrast]

    @property
    def statistic(self) -> str:
        """Which part of the measure, in words."""
        if self.part is Part.QUANTILE:
            return f"quantile={self.quantile:g}"
        if self.part is Part.FARTHER:
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
        """How the group is called in a sentence."""
        return called(self.attribute, self.category, self.combined)

    @property
    def reference_name(self) -> str:
        """How the group that it is compared with is called in a sentence."""
        return called(self.attribute, self.reference, self.combined)

    @property
    def verdict(self) -> str:
        """What the interval lets one say, in words."""
        return f"undefined ({self.why})" if self.why else VERDICTS[self.judgment]


def called(attribute: str, category: str, combined: bool) -> str:
    """Return how a group is called: ``sex=f``; a combination has its attributes' names in it."""
    return category if combined else f"{attribute}={category}"
