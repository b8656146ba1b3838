"""Tables of methods by name: one line adds one, and a misspelled name gets an answer."""

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

    Iteration and ``len`` count each entry once, under its full name. An alias that several entries
    share is answered with an error that names them.
    """

    def __init__(self, kind: str, entries: Sequence[Entry]) -> None:
        self.kind = kind
        self._replace(entries)

    def _replace(self, entries: Sequence[Entry]) -> None:
        """Replace all entries of the table."""
        named = {entry.name: entry for entry in entries}
        aliases: dict[str, list[Entry]] = {}
        for entry in entries:
            for alias in entry.aliases:
                aliases.setdefault(alias, []).append(entry)
        if len(named) < len(entries) or named.keys() & aliases.keys():
            names = [entry.name for entry in entries] + list(aliases)
            twice = next(name for name in named if names.count(name) > 1)
            raise UnknownNameError(
                f"the name {twice!r} of a {self.kind} stands for two; each full name is used once"
            )
        self._entries, self._aliases = named, aliases

    def find(self, name: str) -> list[Entry]:
        """Return all entries of this full name or alias; an unknown name is an error."""
        if not isinstance(name, str):
            raise UnknownNameError(f"the name of a {self.kind} is a str; got {name!r}")
        if name in self._entries:
            return [self._entries[name]]
        if name in self._aliases:
            return self._aliases[name]
        near = difflib.get_close_matches(name, [*self._entries, *self._aliases], n=1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise UnknownNameError(
            f"unknown {self.kind} {name!r}; {guess}known are {', '.join(self._entries)}"
        )

    def __getitem__(self, name: str) -> Entry:
        matches = self.find(name)
        if len(matches) > 1:
            raise UnknownNameError(
                f"{name!r} is short for {' and for '.join(entry.name for entry in matches)}; use a "
                "full name"
            )
        return matches[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        plural = f"{self.kind[:-1]}ies" if self.kind.endswith("y") else f"{self.kind}s"
        return f"<{len(self)} {plural}: {', '.join(self)}>"


class OpenRegistry(Registry[Entry]):
    """A table that users add entries to, by ``register`` of the subclass."""

    def unregister(self, name: str) -> None:
        """Take an entry out of the table again."""
        gone = self[name]
        self._replace([entry for entry in self.values() if entry is not gone])
