"""Experiments that retrain a model to see whether its uncertainties mean what they say.

``disentanglement_error(model, X, y)`` sweeps the amount of training data and the noise of the
labels, and asks whether the aleatoric uncertainty follows the noise alone and the epistemic
uncertainty the amount of data alone. ``class_detection(model, X, y)`` leaves each class out of the
training and asks whether uncertainty finds it. ``shift_curves(model, X, y)`` corrupts the inputs of
a fitted model more and more, and ``domain_shift`` compares predictions in and out of a domain.
"""

from typing import TYPE_CHECKING

from .._docstrings import describe_package, entries_of
from .._renamed import old_names
from ._cost import Cost
from ._detection import class_detection
from ._detection_result import ClassDetection, DetectionRow
from ._disentanglement import disentanglement_error
from ._result import Check, Curve, Disentanglement
from ._shift import domain_shift, gaussian_noise, shift_curves
from ._shift_result import DomainRow, DomainShift, Growth, ShiftCurves, ShiftRow
from .error import UDE, Term
from .protocol import Protocol
from .verdict import DisentanglementVerdict

__all__ = [
    "UDE",
    "Check",
    "ClassDetection",
    "Cost",
    "Curve",
    "DetectionRow",
    "Disentanglement",
    "DisentanglementVerdict",
    "DomainRow",
    "DomainShift",
    "Growth",
    "Protocol",
    "ShiftCurves",
    "ShiftRow",
    "Term",
    "class_detection",
    "disentanglement_error",
    "domain_shift",
    "gaussian_noise",
    "shift_curves",
]

PARAMETERS = entries_of("""\
checkpoint : path
    A folder to resume a stopped run from; needs an integer as ``random_state``.
correlation : {"pearson", "spearman"}
decomposition : str
    By default the first.
""")
describe_package(__name__, PARAMETERS)

if not TYPE_CHECKING:  # pragma: no branch
    __getattr__ = old_names(__name__)
