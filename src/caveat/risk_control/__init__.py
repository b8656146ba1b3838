"""Keep a risk: thresholds under any bounded loss, several risks at once, and selections."""

from .._docstrings import describe_package
from .conformal_risk import ConformalRiskControl, RiskCurve
from .learn_then_test import LearnThenTest
from .losses import set_losses
from .prices import GroupPrice
from .selection import ConformalSelection, Selection

__all__ = [
    "ConformalRiskControl",
    "ConformalSelection",
    "GroupPrice",
    "LearnThenTest",
    "RiskCurve",
    "Selection",
    "set_losses",
]

describe_package(__name__)
