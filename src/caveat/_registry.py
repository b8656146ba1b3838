"""Tables of methods by name: one line adds one, and a misspelt name gets an answer."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from .exceptions import UnknownNameError


class Named(Protocol):
    """What an entry of a registry has at least."""

    @property
    def name(self) -> str:
        """The full name."""
        ...

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that mean the same."""
        ...


Entry = TypeVar("Entry", bound=Named)


class Registry(Mapping[str, Entry]):
    """A read-only table keyed by full names, which also answers to aliases.

    Iteration and ``len`` count each entry once, under its full name.
    """

    def __init__(self, kind: str, entries: Sequence[Entry]) -> None:
        self.kind = kind
        self._entries = {entry.name: entry for entry in entries}
        self._aliases = {alias: entry.name for entry in entries for alias in entry.aliases}
        names = [*self._entries, *self._aliases]
        if len(set(names)) < len(entries) + sum(len(entry.aliases) for entry in entries):
            raise UnknownNameError(f"two entries of the {kind} registry share a name: {names}")

    def __getitem__(self, name: str) -> Entry:
        key = self._aliases.get(name, name)
        if key in self._entries:
            return self._entries[key]
        near = difflib.get_close_matches(str(name), [*self._entries, *self._aliases], n=1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise UnknownNameError(
            f"unknown {self.kind} {name!r}; {guess}known are {', '.join(self._entries)}"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<{len(self)} {self.kind}s: {', '.join(self)}>"
