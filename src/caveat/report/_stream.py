"""A section of one signal: what was said over time, beside the signal itself."""

from typing import Any

from .. import charts
from ..evaluation import Evaluation
from ..signals import StreamRecord
from ._evaluation import targets_of
from .content import Figure, Names, Page, Section, before_notes, with_chooser


def with_record(page: Page, evaluation: Evaluation, record: StreamRecord) -> Page:
    """Return the page of an evaluation with its signal over time, before the notes."""
    names = Names("signal-")
    targets = targets_of(evaluation)
    blocks: list[Any] = [
        Figure(names("chart"), charts.stream(record, target=target.name), target.key)
        for target in targets
    ]
    if record.signal is not None:
        blocks.append(Figure(names("chart"), charts.stream(record, signal=True)))
    section = Section(
        "signal", "Signal over time", "Signal", f"{record.summary()}.",
        with_chooser(blocks, targets, names), folded=False,
    )  # fmt: skip
    return before_notes(page, section)
