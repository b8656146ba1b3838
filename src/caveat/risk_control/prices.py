"""What a promise for each group costs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..results.words import counted


@dataclass(frozen=True)
class GroupPrice:
    """How many samples of a group are accepted, with and without a promise of its own.

    Attributes
    ----------
    group : str
    samples : int
    accepted : int
        How many are accepted under the promise for the group.
    together : int
        How many one promise for all samples together, which promises nothing for the group, would
        accept.
    threshold : float
        The threshold of the group.
    """

    group: str
    samples: int
    accepted: int
    together: int
    threshold: float

    def __str__(self) -> str:
        return (
            f"{self.group}: {self.accepted:,} of {counted(self.samples, 'sample')} "
            f"({self.together:,} under one promise for all)"
        )


def price_frame(prices: Sequence[GroupPrice]) -> Any:
    """Return a pandas frame with one row for each group."""
    import pandas as pd

    return pd.DataFrame([asdict(price) for price in prices])


def price_words(prices: Sequence[GroupPrice], what: str = "accepted") -> str:
    """Return the price of the promises for groups, in one sentence."""
    own, together = (sum(getattr(p, name) for p in prices) for name in ("accepted", "together"))
    parts = "; ".join(map(str, prices))
    return (
        f"The promises for groups change the number of samples {what} from {together:,} to "
        f"{own:,}: {parts}."
    )
