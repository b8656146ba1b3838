"""What a study prints."""

from collections.abc import Sequence
from typing import Any

from ._console import say, show_table

_STYLES = {"survives": "green", "does not survive": "red", "open": "yellow"}


def show_study(study: Any, done: str, *, left: int | None = None, more: Sequence[str] = ()) -> None:
    """Print the tables of a study, what survives, and what was read how.

    Parameters
    ----------
    study : FairnessStudy or DisentanglementStudy
    done : str
        What took the time, as "40 runs".
    left : int, optional
        How many columns are words; by default the first, and a second one of groups.
    more : sequence of str
        A headline and its lines, before the conclusions.
    """
    say(study.description, style="bold")
    for title, header, body in study.tables():
        words = left or (2 if header[1] == "group" else 1)
        show_table(title, header, body, left=tuple(range(words)))
    say(study.explanation(), style="dim")
    for place, line in enumerate(more):
        say(line if place else f"\n{line}", style="" if place else "bold")
    say("\nWhat the paper concludes", style="bold")
    for conclusion in study.conclusions:
        say(str(conclusion), style=_STYLES[conclusion.verdict])
    say("\nNotes", style="bold")
    for note in study.notes:
        say(f"- {note}")
    say(f"{done} in {study.seconds:.0f} s", error=True, style="dim")
