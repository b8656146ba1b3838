"""Monitoring: what changed since a reference, and a test that may be looked at every day."""

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
