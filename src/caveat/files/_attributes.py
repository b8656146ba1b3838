"""The columns of a file other than the prediction: target, groups, ids, weights and clusters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InvalidValueError, OptionError
from ._columns import group as as_group
from ._columns import identifiers, missing_message, missing_rows, numbers
from ._patterns import expand, lay_out, listed
from ._recognize import Choice


@dataclass(frozen=True)
class Attributes:
    """The columns of each attribute."""

    target: tuple[str, ...]
    group: tuple[str, ...]
    id: str | None
    weight: str | None
    cluster: str | None
    named_id: bool
    """Whether the caller named the id; a recognized id that is not unique is ignored."""

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        return [*self.target, *self.group, *filter(None, (self.id, self.weight, self.cluster))]

    def text(self, labels: bool) -> list[str]:
        """The columns to keep as text: an id 007 is not 7."""
        names = {*filter(None, (self.id, self.cluster)), *(self.target if labels else ())}
        return sorted(names - set(self.group) - {self.weight})

    @property
    def needed(self) -> list[str]:
        """The columns without which a sample cannot be used."""
        named = self.id if self.named_id else None
        return [*self.target, *filter(None, (self.weight, self.cluster, named))]

    def read(self, columns: dict[str, Any], notes: list[str], missing: str) -> dict[str, Any]:
        """Return groups, ids, sample_weight and cluster, and note their columns."""
        import pandas as pd

        if self.target:
            notes.append(f"{listed(self.target)}: target")
        groups = None
        if self.group:
            groups = pd.DataFrame({name: as_group(columns[name], name) for name in self.group})
            for name in self.group if missing == "error" else ():
                if (gone := missing_rows(columns[name])).any():
                    words = missing_message(gone, name, "group")
                    raise InvalidValueError(f"{words}; missing='group' makes them a group")
            notes.append(f"{listed(self.group)}: group")
        weight = None
        if self.weight:
            weight = numbers(columns[self.weight], self.weight).astype(np.float64, copy=False)
            notes.append(f"{self.weight!r}: weight of each sample")
        cluster = None
        if self.cluster:
            cluster = identifiers(columns[self.cluster], self.cluster)
            notes.append(f"{self.cluster!r}: cluster of each sample")
        return {
            "groups": groups,
            "ids": self._ids(columns, notes),
            "sample_weight": weight,
            "cluster": cluster,
        }

    def _ids(self, columns: dict[str, Any], notes: list[str]) -> Any:
        if not self.id:
            return None
        try:
            ids = identifiers(columns[self.id], self.id)
            if len(np.unique(ids)) < len(ids):
                raise InvalidValueError(f"id={self.id!r} does not tell all samples apart")
        except InvalidValueError:
            if self.named_id:
                raise
            notes.append(f"{self.id!r}: not used as id, for it does not tell all samples apart")
            return None
        notes.append(f"{self.id!r}: id")
        return ids


def find_attributes(
    choice: Choice,
    names: Sequence[str],
    targets: Sequence[str],
    named_id: bool,
    free: Sequence[str],
) -> Attributes:
    """Find the columns that are named; the targets in the order of the prediction's.

    ``free`` are the columns that are no part of the prediction; a target that is not named is among
    them.
    """
    group = [
        column
        for pattern in choice.group
        for column, _ in expand(pattern, names, ("class",), "group")
    ]
    for argument in ("id", "weight", "cluster"):
        if getattr(choice, argument) is not None:
            expand(getattr(choice, argument), names, (argument,), argument, exact=True)
    return Attributes(
        target=_targets(choice.target, names, targets, free),
        group=tuple(dict.fromkeys(group)),
        id=choice.id,
        weight=choice.weight,
        cluster=choice.cluster,
        named_id=named_id,
    )


def _targets(
    wanted: Any, names: Sequence[str], targets: Sequence[str], free: Sequence[str]
) -> tuple[str, ...]:
    known = [target for target in targets if target]
    if wanted is None:
        return _by_name(free, known)
    layout = lay_out(wanted, names, ("target",), "target")
    if len(layout.names) == 1:
        return layout.names
    if len(layout.names) != len(targets):
        raise OptionError(
            f"target= names {len(layout.names)} columns ({listed(layout.names)}), but the "
            f"prediction has {len(targets)} target{'s' * (len(targets) > 1)}"
        )
    by_label = {key[0]: column for key, column in layout.columns.items()}
    if set(by_label) == set(known):
        return tuple(by_label[target] for target in known)
    return layout.names


def _by_name(names: Sequence[str], targets: Sequence[str]) -> tuple[str, ...]:
    """``price`` or ``y_price`` for the target ``price``; all of them or none."""
    matched = []
    for target in targets:
        spelled = [target, *(f"{start}_{target}" for start in ("y", "target", "true", "y_true"))]
        matched += [name for name in spelled if name in names][:1]
    return tuple(matched) if len(matched) == len(targets) else ()
