"""Intervals for samples that come one after another, whose distribution may change."""

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
