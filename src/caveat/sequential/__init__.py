"""Intervals for samples that come one after another, whose distribution may change."""

from .._docstrings import describe_package, entries_of
from .adaptive import AdaptiveConformal
from .aggregated import AggregatedConformal
from .base import SequentialConformal, SequentialRun
from .blockwise import BlockConformal

__all__ = [
    "AdaptiveConformal",
    "AggregatedConformal",
    "BlockConformal",
    "SequentialConformal",
    "SequentialRun",
]

PARAMETERS = entries_of("""\
prediction : Gaussian, Quantiles or Interval
y : array of shape (samples,) or (samples, targets)
path : str or path
""")
describe_package(__name__, PARAMETERS)
