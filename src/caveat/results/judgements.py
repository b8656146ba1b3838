"""What was judged of a number; the words for it are made where it is shown."""

from enum import StrEnum


class Contrast(StrEnum):
    """What a number is of two groups, if it is of two."""

    NONE = "none"
    DIFFERENCE = "difference"
    RATIO = "ratio"


class Judgement(StrEnum):
    """What an interval lets one say of a gap between two groups."""

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


BEYOND, GAP, SMALL, WITHIN, UNCLEAR = (
    Judgement.BEYOND, Judgement.GAP, Judgement.SMALL, Judgement.WITHIN, Judgement.UNCLEAR
)  # fmt: skip
DIFFERENT, EQUAL = Judgement.DIFFERENT, Judgement.EQUAL
NOT_JUDGED, UNDEFINED = Judgement.NOT_JUDGED, Judgement.UNDEFINED

BY_WEIGHT = (BEYOND, GAP, UNCLEAR, SMALL, WITHIN)
"""What can be said of a ratio; of several ratios the first of these that holds is said."""

FINE = (SMALL, WITHIN)
"""What shows that there is no gap beyond the threshold."""


class Pairing(StrEnum):
    """Which two groups of an audit are compared."""

    NONE = ""
    REFERENCE = "reference"
    WORST = "worst pair"


class Part(StrEnum):
    """Which part of a measure a row of an audit is."""

    WHOLE = ""
    MEAN = "mean"
    QUANTILE = "quantile"
    Y1 = "y=1"
    Y0 = "y=0"
    FARTHER = "farther"


class State(StrEnum):
    """What a verdict knows of an error, a coverage or a quantile, and which way it is off."""

    RIGHT = "right"
    NEARLY = "nearly"
    OFF = "off"
    NARROW = "narrow"
    WIDE = "wide"
    LOW = "low"
    HIGH = "high"
    MIXED = "mixed"
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


GOOD = (State.RIGHT, State.NEARLY)
"""What shows that something can be relied on."""
