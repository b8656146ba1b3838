"""Summaries of predictions of any number: they add up, and are read like an evaluation.

Values are exact but for the cells that samples are counted in. Of two classes without weights and
clusters, a probability is known to within 1 / 30,720, and near 0 and 1 to within 1/256 of its
distance from them; the most probable class and the 15 bins of the calibration errors are exact. Of
anything else, means, shares and equal-width bins are exact, and ranks and equal-count bins those of
keys that are known to within 1/128 (see `caveat.metrics.State`).
"""

from .._docstrings import describe_package
from ._evaluation import compare_summaries
from .batches import summarize_batch, summarize_counts
from .parts import Distribution, Part
from .sources import summarize
from .summary import About, Summary, merge

summarise = summarize

__all__ = [
    "About",
    "Distribution",
    "Part",
    "Summary",
    "compare_summaries",
    "merge",
    "summarise",
    "summarize",
    "summarize_batch",
    "summarize_counts",
]

describe_package(__name__)
