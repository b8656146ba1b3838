"""Published experiments run again from start to end, with the printed numbers beside ours.

Each study trains its models many times, so that a printed number - one run - can be held against
what runs usually give, and says which of the published conclusions most runs support.
"""

from ._disentanglement_pictures import FeatureSpace
from ._disentanglement_result import DisentanglementStudy
from ._disentanglement_rows import DisentanglementRunRow
from ._fairness_result import FairnessRunRow, FairnessStudy
from ._table import Conclusion, PaperRow
from .disentanglement import run_disentanglement_study
from .fairness import run_fairness_study

__all__ = [
    "Conclusion",
    "DisentanglementRunRow",
    "DisentanglementStudy",
    "FairnessRunRow",
    "FairnessStudy",
    "FeatureSpace",
    "PaperRow",
    "run_disentanglement_study",
    "run_fairness_study",
]
