"""Flags of ratios between groups: the paper's, and how often runs have them."""

from typing import Any

import numpy as np

from .._validation import FloatArray
from .summary import NAN, majority

THRESHOLD = 0.2
"""The paper calls a ratio F unfair if \\|F - 1\\| is above it."""


def side(ratio: Any) -> Any:
    r"""Return on which side of 1 a ratio is unfair, -1 or 1; 0 if :math:`|F - 1| \le 0.2`."""
    limit = THRESHOLD * (1 + 1e-12)  # 0.8 is 0.2 from 1
    return np.sign(ratio - 1) * (np.abs(ratio - 1) > limit)


def as_printed(ratios: Any, printed: Any) -> FloatArray:
    """Return whether each run is fair, or unfair on the same side of 1, as the printed ratio is."""
    return np.where(np.isnan(ratios), NAN, side(ratios) == side(printed))


def flags(
    fields: dict[str, Any], values: FloatArray, paper: float, confidence: float
) -> dict[str, Any]:
    """Return the flag of a printed ratio, how often our runs have one, and whether most agree."""
    if fields["kind"] != "ratio":
        return {}
    known = values[np.isfinite(values)]
    result: dict[str, Any] = {} if np.isnan(paper) else {"paper_flag": bool(side(paper))}
    if not len(known):
        return result
    limit = -np.log1p(-THRESHOLD) * (1 + 1e-12)
    result["flagged"] = float((side(known) != 0).mean())
    result["symmetric_flagged"] = float((np.abs(np.log(known)) > limit).mean())
    if not np.isnan(paper):
        result["agreeing"] = int(as_printed(known, paper).sum())
        result["agreement"] = majority(result["agreeing"], len(known), confidence)
    return result
