"""Published experiments run again from start to end, with the printed numbers beside ours.

A study trains its models many times, so that a printed number, which is one run or the mean of a
few, can be compared with what runs usually give; and it says which published conclusions most runs
support. It is a declaration: a data file with the printed tables and conclusions, and a function
that measures.
"""

from typing import TYPE_CHECKING

from .._docstrings import describe_package
from .._renamed import old_names
from .arena import ArenaResult, ArenaRow, run_arena
from .paper import Paper
from .result import StudyResult
from .run import STUDIES, run_study
from .study import Study, StudyRow
from .summary import Conclusion

__all__ = [
    "STUDIES",
    "ArenaResult",
    "ArenaRow",
    "Conclusion",
    "Paper",
    "Study",
    "StudyResult",
    "StudyRow",
    "run_arena",
    "run_study",
]

describe_package(__name__)

if not TYPE_CHECKING:  # pragma: no branch
    __getattr__ = old_names(__name__)
