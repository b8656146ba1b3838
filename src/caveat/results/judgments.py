"""Judgments of numbers; the words for them are made where they are shown."""

from enum import StrEnum


class Word(StrEnum):
    """A state whose repr is its text, also in tuples and lists."""

    def __repr__(self) -> str:
        return repr(self.value)


class Contrast(Word):
    """Whether a number is a difference or a ratio of two groups."""

    NONE = "none"
    DIFFERENCE = "difference"
    RATIO = "ratio"


class Judgment(Word):
    """What an interval shows about a gap between two groups."""

    NONE = ""
    BEYOND = "beyond"
    GAP = "gap"
    SMALL = "small"
    WITHIN = "within"
    UNCLEAR = "unclear"
    DIFFERENT = "different"
    EQUAL = "equal"
    NOT_JUDGED = "not judged"
    UNDEFINED = "undefined"


FINE = (Judgment.SMALL, Judgment.WITHIN)
"""The judgments without a gap beyond the threshold."""

BY_WEIGHT = (Judgment.BEYOND, Judgment.GAP, Judgment.UNCLEAR, *FINE)
"""The judgments of ratios, the weightiest first."""


class GapPattern(Word):
    """What a paragraph of an audit says, for programs."""

    EPISTEMIC_GAP = "epistemic gap"
    ALEATORIC_GAP = "aleatoric gap"
    PREDICTIVE_GAP = "predictive gap"
    POINT_GAP = "point gap"
    POINT_ONLY = "point gap without uncertainty gap"
    UNCERTAINTY_ONLY = "uncertainty gap without point gap"
    UNCLEAR_SIZE = "gap of unclear size"
    SMALL_GAP = "gap within the threshold"
    NO_GAP = "no gap beyond the threshold"
    UNKNOWN = "unclear"
    TOO_FEW = "too few samples"
    NOT_ALL = "not all compared"
    NOTHING = "not judged"
    INDIVIDUAL_GAP = "individual gap"
    NO_INDIVIDUAL_GAP = "no individual gap"


class Pairing(Word):
    """Whether a group is compared with the reference, or the worst pair is."""

    NONE = ""
    REFERENCE = "reference"
    WORST = "worst pair"


class MeasurePart(Word):
    """The part of a measure that a row of an audit has."""

    WHOLE = ""
    MEAN = "mean"
    QUANTILE = "quantile"
    Y1 = "y=1"
    Y0 = "y=0"
    FARTHER = "farther"


class FindingState(Word):
    """The state of an error, a coverage or a quantile, and its direction."""

    RIGHT = "right"
    NEARLY = "nearly"
    OFF = "off"
    NARROW = "narrow"
    WIDE = "wide"
    LOW = "low"
    HIGH = "high"
    MIXED = "mixed"
    SHAPE = "shape"
    OFTEN = "often"
    RARELY = "rarely"
    OVER = "over"
    UNDER = "under"
    EXTREME = "extreme"
    TIMID = "timid"
    BOTH = "both"
    SOMEWHAT = "somewhat"
    UNSURE = "unsure"
    UNMEASURED = "unmeasured"
    ZEROS = "zeros"
    NO_UNCERTAINTY = "none"
    NONE = ""


GOOD = (FindingState.RIGHT, FindingState.NEARLY)
"""The states of reliable numbers."""


class ConditionState(Word):
    """Whether one of the conditions of a split into aleatoric and epistemic parts is met."""

    HOLDS = "holds"
    FAILS = "fails"
    UNCLEAR = "unclear"
    NOT_JUDGED = "not judged"


class Pattern(Word):
    """What the four conditions of a split mean together."""

    SEPARATED = "separated"
    TRAP = "total uncertainty twice"
    LEAK = "leak"
    SWAPPED = "swapped"
    CONSTANT = "constant"
    INCONSISTENT = "inconsistent"
    UNCLEAR = "unclear"
    NOT_JUDGED = "not judged"


class Support(Word):
    """Whether a published statement holds in most runs."""

    SURVIVES = "survives"
    FAILS = "does not survive"
    OPEN = "open"
