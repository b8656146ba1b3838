"""A section of drawings: the molecules that a chemist should see, beside what the model knew."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import charts
from ..charts import Sample
from ..evaluation import Evaluation
from ..exceptions import ShapeError
from ..molecules import Structures, draw_molecule
from ..results.tables import number
from ._evaluation import targets_of
from .content import (
    Card,
    Gallery,
    Names,
    Page,
    Picture,
    Section,
    Target,
    before_notes,
    with_chooser,
)

_SHOWN = 6
"""Molecules in each list."""

_LISTS = {
    "most_uncertain": ("Most uncertain", "Where the model says itself that it does not know."),
    "most_confidently_wrong": (
        "Most confidently wrong",
        "Large errors for the uncertainty that was said: look for wrong values, and for chemistry "
        "that the model has not seen.",
    ),
}
_CLIFFS = (
    "Worst activity cliffs",
    "Similar to a molecule that the model learned from, and yet of another value: similarity alone "
    "would mislead here.",
)


def with_molecules(page: Page, evaluation: Evaluation, structures: Structures) -> Page:
    """Return the page of an evaluation with a section of drawings, before the notes."""
    if len(structures) != evaluation.samples:
        raise ShapeError(
            f"molecules has {len(structures)} molecules; the evaluation has {evaluation.samples} "
            "samples"
        )
    blocks: list[Any] = []
    targets = targets_of(evaluation)
    for place, target in enumerate(targets):
        blocks += _galleries(evaluation, structures, target, place)
    if not blocks:
        return page
    lead = (
        "Each beside the most similar molecule that the model learned from. A colored disk marks "
        "an atom that has these bonds and direct neighbors in no molecule that the model learned "
        "from."
    )
    section = Section(
        "molecules",
        "Molecules to look at",
        "Molecules",
        lead if structures.near is not None else "",
        with_chooser(blocks, targets, Names("molecules-")),
    )
    return before_notes(page, section)


def _galleries(
    evaluation: Evaluation, structures: Structures, target: Target, place: int
) -> list[Gallery]:
    if "confidence_curve" not in charts.available(evaluation, target.name):
        return []
    every = charts.extremes(evaluation, evaluation.samples, target.name)
    by_row = {sample.row: sample for sample in every.most_uncertain}
    lists = [(words, getattr(every, name)[:_SHOWN]) for name, words in _LISTS.items()]
    counted = np.array(sorted(by_row))
    cliffs = structures.cliffs([by_row[row].truth for row in counted], counted, target=place)
    lists.append((_CLIFFS, [by_row[row] for row in cliffs[:_SHOWN].tolist()]))
    of = f" ({target.name})" if target.name is not None else ""
    return [
        Gallery(title + of, read, _cards(samples, structures, place), target.key)
        for (title, read), samples in lists
        if samples
    ]


def _cards(samples: Sequence[Sample], structures: Structures, place: int) -> list[Card]:
    values, near = structures.nearest_values(place), structures.near
    cards = []
    for sample in samples:
        text = structures.smiles[sample.row]
        words = [
            f"id {sample.id}",
            f"truth {_said(sample.truth)}, predicted {_said(sample.predicted)}",
            f"uncertainty {number(sample.uncertainty)}",
        ]
        unseen = structures.unseen(sample.row)
        if unseen is not None and unseen.any():
            words.append(f"{unseen.sum()} of {len(unseen)} atoms in a new neighborhood")
        pictures = [_picture(text, words, unseen)]
        if near is not None:
            row = int(near.nearest[sample.row])
            words = ["nearest known molecule", f"similarity {near.similarity[sample.row]:.2f}"]
            words += [] if values is None else [f"its value {_said(values[sample.row])}"]
            pictures.append(_picture(structures.known[row], words))
        cards.append(Card(pictures))
    return cards


def _said(value: Any) -> str:
    return number(float(value)) if isinstance(value, float | int | np.number) else str(value)


def _picture(smiles: str, words: list[str], marked: Any = None) -> Picture:
    drawn = draw_molecule(smiles, marked=marked)
    # As a picture from data nothing in it can act as markup or script.
    source = f"data:image/svg+xml;base64,{b64encode(drawn.encode()).decode()}" if drawn else ""
    return Picture(source, smiles, words)
