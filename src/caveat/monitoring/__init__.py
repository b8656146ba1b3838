"""Monitoring: what changed since a reference, and a test that may be looked at every day."""

from .._docstrings import describe_package, entries_of
from ._drift import drift
from .history import DriftHistory, HistoryRow, drift_history
from .monitor import DriftMonitor, MonitorState, WatchState
from .result import Drift, DriftRow, Thresholds

__all__ = [
    "Drift",
    "DriftHistory",
    "DriftMonitor",
    "DriftRow",
    "HistoryRow",
    "MonitorState",
    "Thresholds",
    "WatchState",
    "drift",
    "drift_history",
]

PARAMETERS = entries_of("""\
path : str or path
quantity : str
target : str
alpha : float
resamples : int
    For the intervals of metrics; 0 leaves metrics out.
""")
describe_package(__name__, PARAMETERS)
