"""The rows of the fairness study, from what was measured of each run."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._validation import FloatArray
from ._fairness_conclusions import as_printed, side
from ._fairness_paper import EXPERIMENTS, THRESHOLD, Attribute
from ._fairness_result import FairnessRunRow
from ._fairness_runs import Key, Values
from ._table import NAN, compared, counted, most

_SHOWN_OF_WIDTHS = ("accuracy", "aleatoric_uncertainty", "epistemic_uncertainty")
_NOT_PRINTED = "not in the paper"
_UNNUMBERED = "a figure without numbers"


def make_rows(
    name: str, counts: Mapping[Key, int], values: Values, confidence: float
) -> list[FairnessRunRow]:
    """Return every row of the study, in the order of the paper."""
    experiment = EXPERIMENTS[name]
    rows: list[FairnessRunRow] = []
    for attribute in experiment.attributes:
        rows += _counted(attribute, counts)
        for key, found in values.items():
            if key.attribute == attribute.name and key.part in ("test", "expectation"):
                rows.append(_of_table(attribute, key, found, confidence))
    for key, found in values.items():
        if key.part in ("consistency", "scaled consistency"):
            source = experiment.figure
        elif key.part == "capacity" and key.measure in _SHOWN_OF_WIDTHS and not key.reference:
            source = "figure 6"
        else:
            continue
        rows.append(
            FairnessRunRow(
                source=source,
                measure=key.measure,
                **compared(found, "", confidence, _UNNUMBERED),
                **_place(key, key.part),
                **_NO_FLAG,
            )
        )
    return rows


_NO_FLAG: dict[str, Any] = {
    "paper_flag": None,
    "flagged": NAN,
    "symmetric_flagged": NAN,
    "agreeing": None,
    "agreement": "",
}


def _place(key: Key, kind: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "attribute": key.attribute,
        "group": key.group,
        "reference": key.reference,
        "outcome": key.outcome,
        "hidden": key.hidden,
    }


def _counted(attribute: Attribute, counts: Mapping[Key, int]) -> list[FairnessRunRow]:
    printed = attribute.printed()
    return [
        FairnessRunRow(
            source=attribute.source if key.measure == "samples" else "table 4",
            measure=key.measure,
            **counted(value, printed[key.group, "", key.measure]),
            **_place(key, "count"),
            **_NO_FLAG,
        )
        for key, value in counts.items()
        if key.attribute == attribute.name
    ]


def _of_table(
    attribute: Attribute, key: Key, found: FloatArray, confidence: float
) -> FairnessRunRow:
    printed = attribute.printed().get((key.group, key.reference, key.measure), "")
    note = "" if printed else _NOT_PRINTED
    expected = key.part == "expectation"
    numbers = compared(found, printed, confidence, note)
    if expected:
        # The paper's number is of 80 samples, whose own chance this range leaves out.
        numbers["within"] = None
    return FairnessRunRow(
        source=f"{attribute.source}, in expectation" if expected else attribute.source,
        measure=key.measure,
        **numbers,
        **_place(key, "ratio" if key.reference else "group"),
        **(_flags(found, numbers["paper"], confidence) if key.reference else _NO_FLAG),
    )


def _flags(found: FloatArray, paper: float, confidence: float) -> dict[str, Any]:
    """Return the flag of the paper, how often our runs have one, and whether most agree."""
    known = found[np.isfinite(found)]
    if not len(known):
        return _NO_FLAG | ({} if np.isnan(paper) else {"paper_flag": bool(side(paper))})
    limit = -np.log1p(-THRESHOLD) * (1 + 1e-12)
    flags: dict[str, Any] = {
        "flagged": float(np.mean([side(ratio) != 0 for ratio in known])),
        "symmetric_flagged": float((np.abs(np.log(known)) > limit).mean()),
    }
    if not np.isnan(paper):
        agreeing = sum(map(bool, as_printed(known, paper)))
        flags |= {"paper_flag": bool(side(paper)), "agreeing": agreeing}
        flags["agreement"] = most(agreeing, len(known), confidence)
    return _NO_FLAG | flags
