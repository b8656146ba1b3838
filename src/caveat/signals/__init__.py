"""Signals: segments with their subjects, splits by subject, preprocessing, published data.

Needs nothing beyond numpy and scipy; EDF and WFDB files, MATLAB files of version 7.3 and the
loaders of public data need the extra ``signals``: ``pip install 'caveat[signals]'``.
"""

from .._docstrings import describe_package
from .alarm import CoverageAlarm
from .container import Signals
from .events import StreamEvent, StreamRecord
from .generators import make_af_ppg, make_motor_imagery, make_pressure_ppg
from .live import SignalStream, stream
from .preprocessing import BandPass, QualityIndex, Reject, Resample, Standardize
from .published import load_bci2a, load_d_vlog, load_deepbeat, load_pulsedb
from .quality import (
    Screening,
    check_heart_rate,
    check_pressures,
    heart_rate,
    quality_index,
    screen,
)
from .recordings import cut, read_edf, read_long_csv, read_wfdb
from .splits import SubjectSplit, split_subjects

__all__ = [
    "BandPass",
    "CoverageAlarm",
    "QualityIndex",
    "Reject",
    "Resample",
    "Screening",
    "SignalStream",
    "Signals",
    "Standardize",
    "StreamEvent",
    "StreamRecord",
    "SubjectSplit",
    "check_heart_rate",
    "check_pressures",
    "cut",
    "heart_rate",
    "load_bci2a",
    "load_d_vlog",
    "load_deepbeat",
    "load_pulsedb",
    "make_af_ppg",
    "make_motor_imagery",
    "make_pressure_ppg",
    "quality_index",
    "read_edf",
    "read_long_csv",
    "read_wfdb",
    "screen",
    "split_subjects",
    "stream",
]

describe_package(__name__)
